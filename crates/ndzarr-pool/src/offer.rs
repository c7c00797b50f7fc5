//! Work that several threads do together, and that may borrow from the caller.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crate::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The reason why a thread returns from shared work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stay {
    /// No work is left to begin.
    Ended,
    /// Work is left, but the thread was needed elsewhere.
    Interrupted,
}

/// An invitation to help with some work. It is valid until the caller closes it.
pub(crate) struct Offer {
    work: ErasedWork,
    state: Mutex<State>,
    /// Notified when the last helper leaves.
    all_left: Condvar,
}

struct State {
    /// The lanes that no thread has; empty when no thread may begin any more.
    free_lanes: Vec<usize>,
    /// The number of helpers at work.
    n_active: usize,
    closed: bool,
    panic: Option<Box<dyn Any + Send>>,
}

/// The work, without the lifetime of what it borrows.
struct ErasedWork(*const (dyn Fn(usize) -> Stay + Sync));

// SAFETY: the pointer leads to a value that is `Sync`, so any thread may use it. `Offer::run` says
// when it is valid.
#[allow(unsafe_code)]
unsafe impl Send for ErasedWork {}
// SAFETY: as above.
#[allow(unsafe_code)]
unsafe impl Sync for ErasedWork {}

/// Runs `work` in lane 0 on this thread, after `publish` has shown the offer to helpers, who get
/// lanes 1 to `helpers`. Returns when the work has ended on every thread that began it. `withdraw`
/// is called before that wait.
///
/// # Panics
/// With the first panic of the work, after all threads have left it.
pub(crate) fn run_with_helpers(
    helpers: usize,
    work: &(dyn Fn(usize) -> Stay + Sync),
    publish: impl FnOnce(&Arc<Offer>),
    withdraw: impl Fn(&Arc<Offer>),
) {
    /// Closes the offer, also when the caller's own part panics.
    struct CloseOnDrop<F: Fn(&Arc<Offer>)> {
        offer: Arc<Offer>,
        withdraw: F,
    }
    impl<F: Fn(&Arc<Offer>)> Drop for CloseOnDrop<F> {
        fn drop(&mut self) {
            self.offer.close();
            (self.withdraw)(&self.offer);
            self.offer.wait();
        }
    }

    let work: *const (dyn Fn(usize) -> Stay + Sync + '_) = work;
    // SAFETY: only the lifetime of the trait object changes, which has no part in how a pointer is
    // laid out. `Offer::run` says why the pointer is never used after that lifetime.
    #[allow(unsafe_code)]
    let erased = ErasedWork(unsafe {
        std::mem::transmute::<
            *const (dyn Fn(usize) -> Stay + Sync + '_),
            *const (dyn Fn(usize) -> Stay + Sync + 'static),
        >(work)
    });
    let state = State {
        free_lanes: (1..=helpers).rev().collect(),
        n_active: 0,
        closed: false,
        panic: None,
    };
    let offer = Arc::new(Offer {
        work: erased,
        state: Mutex::new(state),
        all_left: Condvar::new(),
    });
    let close = CloseOnDrop {
        offer: Arc::clone(&offer),
        withdraw,
    };
    publish(&offer);
    offer.run(0);
    drop(close);
    let panic = offer.state().panic.take();
    if let Some(panic) = panic {
        resume_unwind(panic);
    }
}

impl Offer {
    fn state(&self) -> MutexGuard<'_, State> {
        // No foreign code runs under this lock, so the state of a poisoned one is intact.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes part in the work, if a lane is free. `None` if no lane is free, now or ever again.
    pub(crate) fn help(&self) -> Option<Stay> {
        let lane = {
            let mut state = self.state();
            if state.closed {
                return None;
            }
            let lane = state.free_lanes.pop()?;
            state.n_active += 1;
            lane
        };
        let result = catch_unwind(AssertUnwindSafe(|| self.run(lane)));
        let mut state = self.state();
        let stay = match result {
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
        state.n_active -= 1;
        if state.n_active == 0 {
            self.all_left.notify_all();
        }
        Some(stay)
    }

    /// True if a thread that comes now would find a lane.
    pub(crate) fn has_free_lane(&self) -> bool {
        let state = self.state();
        !state.closed && !state.free_lanes.is_empty()
    }

    fn run(&self, lane: usize) -> Stay {
        // SAFETY: the pointer was made from a reference that lives until `run_with_helpers`
        // returns. `run_with_helpers` runs lane 0 itself, before that. A helper comes here after it
        // has counted itself in `n_active`, under the lock and while the offer was not closed.
        // `run_with_helpers` does not return, and does not unwind, before `CloseOnDrop` has closed
        // the offer and waited until no helper is active. Both happen under the same lock: a later
        // helper finds the offer closed and does not begin.
        #[allow(unsafe_code)]
        let work = unsafe { &*self.work.0 };
        work(lane)
    }

    fn close(&self) {
        self.state().closed = true;
    }

    fn wait(&self) {
        let mut state = self.state();
        while state.n_active > 0 {
            state = self
                .all_left
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}
