//! The limit of requests in flight. It falls while the service refuses requests because there are
//! too many, and grows with each other answer.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;

use crate::answers::call::Answer;
use crate::requests::backoff::backoff;

#[derive(Debug)]
pub(crate) struct Limit {
    permits: Semaphore,
    max: usize,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    current: usize,
    /// The number of permits that are dropped when they are returned: they were in use when the
    /// limit fell.
    n_to_forget: usize,
    /// Refusals in a row while only one request was in flight.
    n_single_refusals: u32,
    /// When the next request may be sent.
    not_before: Option<Instant>,
    /// Since when all requests are refused, and the last refusal.
    refused: Option<(Instant, Answer)>,
}

/// The right to send a request.
pub(crate) struct Permit<'l> {
    limit: &'l Limit,
    permit: Option<SemaphorePermit<'l>>,
    /// No other request was allowed at the same time.
    is_single: bool,
}

impl Limit {
    pub(crate) fn new(max: usize) -> Self {
        let state = State {
            current: max,
            n_to_forget: 0,
            n_single_refusals: 0,
            not_before: None,
            refused: None,
        };
        Self {
            permits: Semaphore::new(max),
            max,
            state: Mutex::new(state),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until a request may be sent.
    ///
    /// # Errors
    /// The last refusal, if the service has refused all requests for `give_up_after`.
    pub(crate) async fn acquire(&self, give_up_after: Duration) -> Result<Permit<'_>, Answer> {
        let mut permit = std::pin::pin!(self.wait_for_permit());
        loop {
            let wait = give_up_after.max(Duration::from_secs(1));
            if let Ok(permit) = tokio::time::timeout(wait, &mut permit).await {
                return Ok(permit);
            }
            if let Some((since, answer)) = &self.state().refused
                && since.elapsed() >= give_up_after
            {
                return Err(answer.clone());
            }
        }
    }

    async fn wait_for_permit(&self) -> Permit<'_> {
        // It cannot fail, since the semaphore is never closed.
        let permit = self.permits.acquire().await.ok();
        let (is_single, not_before) = {
            let state = self.state();
            (state.current == 1, state.not_before)
        };
        let permit = Permit {
            limit: self,
            permit,
            is_single,
        };
        if let Some(time) = not_before {
            tokio::time::sleep_until(time).await;
        }
        permit
    }

    /// A permit without waiting, if one is free and the service refuses nothing.
    pub(crate) fn try_acquire(&self) -> Option<Permit<'_>> {
        let state = self.state();
        if state.refused.is_some() {
            return None;
        }
        let permit = self.permits.try_acquire().ok()?;
        Some(Permit {
            limit: self,
            permit: Some(permit),
            is_single: false,
        })
    }
}

impl Permit<'_> {
    /// Adapts the limit to the answer of the service.
    pub(crate) fn answered(self, answer: &Answer) {
        let limit = self.limit;
        let mut state = limit.state();
        match answer.status {
            // There may have been no answer.
            0 => {}
            429 | 503 => {
                let since = state
                    .refused
                    .take()
                    .map_or_else(Instant::now, |(since, _)| since);
                state.refused = Some((since, answer.clone()));
                if self.is_single {
                    state.n_single_refusals += 1;
                    let wait = backoff(state.n_single_refusals).max(answer.requested_pause());
                    state.not_before = Some(Instant::now() + wait);
                } else {
                    let fewer = state.current / 2;
                    state.current -= fewer;
                    state.n_to_forget += fewer - limit.permits.forget_permits(fewer);
                }
            }
            _ => {
                state.n_single_refusals = 0;
                state.not_before = None;
                state.refused = None;
                if state.current < limit.max {
                    state.current += 1;
                    match state.n_to_forget {
                        0 => limit.permits.add_permits(1),
                        _ => state.n_to_forget -= 1,
                    }
                }
            }
        }
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        let mut state = self.limit.state();
        if state.n_to_forget > 0
            && let Some(permit) = self.permit.take()
        {
            state.n_to_forget -= 1;
            permit.forget();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn answer(status: u16) -> Answer {
        Answer {
            status,
            sent: true,
            ..Answer::default()
        }
    }

    /// All permits that are free.
    fn all(limit: &Limit) -> Vec<Permit<'_>> {
        std::iter::from_fn(|| limit.wait_for_permit().now_or_never()).collect()
    }

    #[test]
    fn refusals_halve_it_and_answers_let_it_grow() {
        let limit = Limit::new(8);
        for (before, after) in [(8, 4), (4, 2), (2, 1)] {
            let mut permits = all(&limit);
            assert_eq!(permits.len(), before);
            permits
                .pop()
                .expect("there are some")
                .answered(&answer(503));
            // Permits in use count until they are returned.
            assert!(limit.wait_for_permit().now_or_never().is_none());
            drop(permits);
            assert_eq!(all(&limit).len(), after);
        }
        for n in 2..=8 {
            all(&limit)
                .pop()
                .expect("there is one")
                .answered(&answer(200));
            assert_eq!(all(&limit).len(), n);
        }
        all(&limit)
            .pop()
            .expect("there is one")
            .answered(&answer(404));
        assert_eq!(all(&limit).len(), 8);
        // A request without an answer changes nothing.
        all(&limit)
            .pop()
            .expect("there is one")
            .answered(&answer(0));
        assert_eq!(all(&limit).len(), 8);
    }

    #[test]
    fn one_salvo_of_refusals_leaves_one_and_is_no_outage() {
        let limit = Limit::new(64);
        for permit in all(&limit) {
            permit.answered(&answer(429));
        }
        let single = all(&limit);
        assert!(single.len() == 1 && single[0].is_single);
        assert_eq!(limit.state().n_single_refusals, 0);
        for permit in single {
            permit.answered(&answer(429));
        }
        assert_eq!(limit.state().n_single_refusals, 1);
        assert!(limit.state().not_before.is_some());
    }
}
