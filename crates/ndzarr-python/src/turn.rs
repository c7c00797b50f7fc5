//! What a handle knows of its node, and the calls that change it one after another.

use std::process;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{PoisonError, RwLock};
use std::thread;
use std::time::Duration;

use ndzarr::{Cancel, Result, RunOptions};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;

use crate::error::of_kind;
use crate::run::{Watch, run};

/// An array or a group as a handle knows it. A call works on a clone, so that none waits for another,
/// but for those that change it.
pub(crate) struct Known<N> {
    /// Locked only with the GIL, which a thread that forks holds: a child never finds it locked.
    node: RwLock<N>,
    /// Held while the shape or the attributes change, so that the newest of them stay.
    changes: Turn,
}

impl<N: Clone + Send + Sync> Known<N> {
    pub(crate) fn new(node: N) -> Self {
        Self { node: RwLock::new(node), changes: Turn::default() }
    }

    pub(crate) fn get(&self, _: Python<'_>) -> N {
        self.node.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Runs a call that changes the node, which is known from then on.
    pub(crate) fn change(
        &self,
        py: Python<'_>,
        watch: &Watch,
        options: RunOptions,
        change: impl FnOnce(N, RunOptions) -> Result<N> + Send,
    ) -> PyResult<()> {
        let mut done = false;
        let ran = run(py, watch, options, |options| {
            let Some(_turn) = self.changes.take(options.cancel.as_ref()) else { return Ok(()) };
            let changed = change(Python::attach(|py| self.get(py)), options)?;
            Python::attach(|_| *self.node.write().unwrap_or_else(PoisonError::into_inner) = changed);
            done = true;
            Ok(())
        });
        match ran {
            Ok(()) if !done => Err(of_kind(py, "Cancelled", "it was cancelled before its turn")),
            // The progress failed. What is stored must not look as if it were not: who tries again
            // would append twice.
            Err(error) if done && error.is_instance_of::<PyException>(py) => {
                error.write_unraisable(py, None);
                Ok(())
            }
            ran => ran,
        }
    }
}

/// The longest wait between two looks.
const LONGEST: Duration = Duration::from_millis(20);

/// Held by one call of a process at a time. A forked child may take one that was held in its parent:
/// the thread that held it is not there. What takes a turn does not hold the GIL.
#[derive(Default)]
struct Turn {
    /// The id of the process that holds it, or 0.
    holder: AtomicU32,
}

impl Turn {
    /// Waits for the turn; `None` if the call was cancelled meanwhile.
    fn take(&self, cancel: Option<&Cancel>) -> Option<Held<'_>> {
        let own = process::id();
        let mut pause = Duration::from_micros(50);
        loop {
            let seen = self.holder.load(Ordering::Relaxed);
            if seen != own
                && self.holder.compare_exchange(seen, own, Ordering::Acquire, Ordering::Relaxed).is_ok()
            {
                return Some(Held(self));
            }
            if cancel.is_some_and(Cancel::is_cancelled) {
                return None;
            }
            thread::sleep(pause);
            pause = LONGEST.min(pause * 2);
        }
    }
}

/// A turn, which ends when it is dropped.
struct Held<'t>(&'t Turn);

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.holder.store(0, Ordering::Release);
    }
}
