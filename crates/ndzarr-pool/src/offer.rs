//! Work that several threads do together, while the caller's borrows last.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Why a thread comes back from shared work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stay {
    /// There is nothing left to begin.
    Ended,
    /// Something is left, but the thread was needed elsewhere.
    Interrupted,
}

/// An invitation to help with some work. It stands until the caller closes it.
pub(crate) struct Offer {
    work: Erased,
    state: Mutex<State>,
    /// Notified when the last helper leaves.
    left: Condvar,
}

struct State {
    /// The lanes that no thread is in; none when no thread may begin any more.
    free_lanes: Vec<usize>,
    /// How many helpers are at work.
    inside: usize,
    closed: bool,
    panic: Option<Box<dyn Any + Send>>,
}

/// The work, without the lifetime of what it borrows.
struct Erased(*const (dyn Fn(usize) -> Stay + Sync));

// SAFETY: the pointer leads to a value that is `Sync`, so any thread may use it. `Offer::help` says
// when it is valid.
#[allow(unsafe_code)]
unsafe impl Send for Erased {}
// SAFETY: as above.
#[allow(unsafe_code)]
unsafe impl Sync for Erased {}

/// Runs `work` in lane 0 on this thread, after `publish` has shown the offer to helpers, who get
/// lanes 1 to `helpers`. Returns when the work has ended on every thread that began it. `withdraw`
/// is called before that wait.
///
/// # Panics
/// With the first panic of the work, after all have left.
pub(crate) fn offered(
    helpers: usize,
    work: &(dyn Fn(usize) -> Stay + Sync),
    publish: impl FnOnce(&Arc<Offer>),
    withdraw: impl Fn(&Arc<Offer>),
) {
    /// Closes the offer, also when the caller's own part panics.
    struct Close<F: Fn(&Arc<Offer>)>(Arc<Offer>, F);
    impl<F: Fn(&Arc<Offer>)> Drop for Close<F> {
        fn drop(&mut self) {
            self.0.close();
            self.1(&self.0);
            self.0.wait();
        }
    }

    let work: *const (dyn Fn(usize) -> Stay + Sync + '_) = work;
    // SAFETY: only the lifetime of the trait object changes, which has no part in how a pointer is
    // laid out. `Offer::help` says why the pointer is never used after that lifetime.
    #[allow(unsafe_code)]
    let erased = Erased(unsafe {
        std::mem::transmute::<
            *const (dyn Fn(usize) -> Stay + Sync + '_),
            *const (dyn Fn(usize) -> Stay + Sync + 'static),
        >(work)
    });
    let state = State { free_lanes: (1..=helpers).rev().collect(), inside: 0, closed: false, panic: None };
    let close =
        Close(Arc::new(Offer { work: erased, state: Mutex::new(state), left: Condvar::new() }), withdraw);
    publish(&close.0);
    close.0.run(0);
    let offer = Arc::clone(&close.0);
    drop(close);
    let panic = offer.state().panic.take();
    if let Some(panic) = panic {
        resume_unwind(panic);
    }
}

impl Offer {
    fn state(&self) -> MutexGuard<'_, State> {
        // No foreign code runs under it, so a poisoned one is intact.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes part, if there is a lane left. `None`: there was none, now or for good.
    pub(crate) fn help(&self) -> Option<Stay> {
        let lane = {
            let mut state = self.state();
            if state.closed {
                return None;
            }
            let lane = state.free_lanes.pop()?;
            state.inside += 1;
            lane
        };
        let done = catch_unwind(AssertUnwindSafe(|| self.run(lane)));
        let mut state = self.state();
        let stay = match done {
            Ok(Stay::Interrupted) => {
                state.free_lanes.push(lane);
                Stay::Interrupted
            }
            Ok(Stay::Ended) => {
                state.free_lanes.clear();
                Stay::Ended
            }
            Err(panic) => {
                state.free_lanes.clear();
                state.panic.get_or_insert(panic);
                Stay::Ended
            }
        };
        state.inside -= 1;
        if state.inside == 0 {
            self.left.notify_all();
        }
        Some(stay)
    }

    /// Whether a thread that comes now would find a lane.
    pub(crate) fn has_room(&self) -> bool {
        let state = self.state();
        !state.closed && !state.free_lanes.is_empty()
    }

    fn run(&self, lane: usize) -> Stay {
        // SAFETY: the pointer was made from a reference that lives until `offered` returns.
        // `offered` runs lane 0 itself, before that. A helper comes here after it has counted
        // itself as inside, under the lock and while the offer was not closed. `offered` does not
        // return, and does not unwind, before `Close` has closed the offer and waited until no
        // helper is inside. Both happen under the same lock: a later helper finds the offer closed
        // and stays out.
        #[allow(unsafe_code)]
        let work = unsafe { &*self.work.0 };
        work(lane)
    }

    fn close(&self) {
        self.state().closed = true;
    }

    fn wait(&self) {
        let mut state = self.state();
        while state.inside > 0 {
            state = self.left.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}
