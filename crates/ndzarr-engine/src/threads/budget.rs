//! Limits for futures on the amount in flight.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::task::{Poll, Waker};

use super::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A number of units that can be held at once. Waiters are served in order; a request for more than
/// the total gets all of it.
#[derive(Clone, Debug)]
pub(crate) struct Budget(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    total: u64,
    free: u64,
    next_ticket: u64,
    waiting: VecDeque<(u64, Waker)>,
}

/// Units that are held until this is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    budget: Budget,
    units: u64,
}

impl Budget {
    pub(crate) fn new(total: u64) -> Self {
        let total = total.max(1);
        Self(Arc::new(Mutex::new(State {
            total,
            free: total,
            next_ticket: 0,
            waiting: VecDeque::new(),
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for units and takes them.
    pub(crate) async fn take(&self, units: u64) -> Share {
        let units = units.min(self.state().total);
        let mut waiting = Waiting {
            budget: self,
            ticket: None,
        };
        poll_fn(|context| {
            let mut state = self.state();
            let my_turn = match waiting.ticket {
                None => state.waiting.is_empty(),
                Some(ticket) => state
                    .waiting
                    .front()
                    .is_some_and(|(first, _)| *first == ticket),
            };
            if my_turn && state.free >= units {
                state.free -= units;
                if waiting.ticket.take().is_some() {
                    state.waiting.pop_front();
                }
                wake_first(state);
                return Poll::Ready(());
            }
            match waiting.ticket {
                None => {
                    let ticket = state.next_ticket;
                    state.next_ticket += 1;
                    state.waiting.push_back((ticket, context.waker().clone()));
                    waiting.ticket = Some(ticket);
                }
                Some(ticket) => {
                    if let Some(entry) = state
                        .waiting
                        .iter_mut()
                        .find(|(waiter, _)| *waiter == ticket)
                    {
                        entry.1 = context.waker().clone();
                    }
                }
            }
            Poll::Pending
        })
        .await;
        Share {
            budget: self.clone(),
            units,
        }
    }
}

/// A place in the queue, released when the waiting future is dropped.
struct Waiting<'b> {
    budget: &'b Budget,
    ticket: Option<u64>,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            let mut state = self.budget.state();
            state.waiting.retain(|(waiter, _)| *waiter != ticket);
            wake_first(state);
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut state = self.budget.state();
        state.free += self.units;
        wake_first(state);
    }
}

/// Outside the lock: an executor may poll in its `wake`.
fn wake_first(state: MutexGuard<'_, State>) {
    let first = state.waiting.front().map(|(_, waker)| waker.clone());
    drop(state);
    if let Some(waker) = first {
        waker.wake();
    }
}
