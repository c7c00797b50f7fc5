//! The node of a handle, and the calls that change it one after another.

use std::process;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock};
use std::thread;
use std::time::Duration;

use ndzarr::{Result, RunOptions};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

use crate::error::of_kind;
use crate::run::{Watch, run};

/// An array or a group as a handle knows it. A call works on a clone, so that only calls that
/// change it wait for each other.
pub(crate) struct Known<N> {
    /// Locked only with the GIL, which a thread that forks holds: a child never finds it locked.
    node: RwLock<N>,
    /// Held while the shape or the attributes change, so that the newest are stored last.
    changes: Turn,
}

impl<N: Clone + Send + Sync> Known<N> {
    pub(crate) fn new(node: N) -> Self {
        Self {
            node: RwLock::new(node),
            changes: Turn::default(),
        }
    }

    pub(crate) fn get(&self, _: Python<'_>) -> N {
        self.node
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Runs a call that changes the node, which is known from then on.
    pub(crate) fn change(
        &self,
        py: Python<'_>,
        watch: &Watch,
        options: RunOptions,
        change: impl FnOnce(N, RunOptions) -> Result<N> + Send,
    ) -> PyResult<()> {
        let _turn = self.changes.take(py, watch)?;
        let node = self.get(py);
        let mut changed = None;
        // The thread that runs it must not use Python: at the end of the interpreter it could not.
        let ran = run(py, watch, options, |options| {
            changed = Some(change(node, options)?);
            Ok(())
        });
        let Some(changed) = changed else { return ran };
        *self.node.write().unwrap_or_else(PoisonError::into_inner) = changed;
        match ran {
            // Only the report of progress failed. The change is stored and must not look as if it
            // were not: a caller that tries again would append twice.
            Err(error) if error.is_instance_of::<PyException>(py) => {
                error.write_unraisable(py, None);
                Ok(())
            }
            ran => ran,
        }
    }
}

/// The longest wait between two attempts to take a turn.
const LONGEST: Duration = Duration::from_millis(20);

/// Held by one call of a process at a time. A forked child may take one that was held in its
/// parent: the thread that held it does not exist in the child.
#[derive(Default)]
struct Turn {
    /// The process and the thread that hold it, or 0.
    holder: AtomicU64,
}

impl Turn {
    /// Waits for the turn, and handles signals meanwhile.
    fn take(&self, py: Python<'_>, watch: &Watch) -> PyResult<Held<'_>> {
        let own = caller();
        let mut pause = Duration::from_micros(50);
        loop {
            let seen = self.holder.load(Ordering::Relaxed);
            if process_of(seen) != process_of(own)
                && self
                    .holder
                    .compare_exchange(seen, own, Ordering::Acquire, Ordering::Relaxed)
                    .is_ok()
            {
                return Ok(Held(self));
            }
            if seen == own {
                // A finaliser, a handler of a signal, or the progress.
                let what = "the same thread is changing this array or group, and this call comes in between";
                return Err(of_kind(py, "Conflict", what));
            }
            if watch.is_stopped() {
                return Err(of_kind(py, "Cancelled", "it was cancelled before its turn"));
            }
            py.check_signals()?;
            py.detach(|| thread::sleep(pause));
            pause = LONGEST.min(pause * 2);
        }
    }
}

/// The id of this process, and a number of this thread.
fn caller() -> u64 {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    thread_local!(static THREAD: u32 = NEXT.fetch_add(1, Ordering::Relaxed));
    u64::from(process::id()) << 32 | THREAD.with(|number| u64::from(*number))
}

fn process_of(caller: u64) -> u64 {
    caller >> 32
}

/// A turn, which ends when it is dropped.
struct Held<'t>(&'t Turn);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.holder.store(0, Ordering::Release);
    }
}
