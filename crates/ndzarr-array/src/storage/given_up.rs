//! Tracks whether the futures of calls handed to the library's threads have been dropped.

use std::cell::RefCell;

use ndzarr_engine::{Cancel, EngineCause, publishing};
use ndzarr_store::StoreError;

/// Whether a call may block its thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Colour {
    Blocking,
    Async,
}

thread_local! {
    /// Cancellation of the call that this thread runs, if it was handed one.
    static CALL: RefCell<Option<Cancel>> = const { RefCell::new(None) };
}

/// While it lives, this thread runs a call.
#[must_use]
pub(crate) struct Running {
    before: Option<Cancel>,
}

impl Running {
    /// Runs the call with this cancellation; `None` for a call that was not handed to a thread.
    pub(crate) fn begin(call: Option<Cancel>) -> Self {
        Self { before: CALL.replace(call) }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        CALL.set(self.before.take());
    }
}

/// The cancellation of the call that this thread runs.
pub(crate) fn call() -> Option<Cancel> {
    CALL.with_borrow(Clone::clone)
}

/// Changes a blocking store, unless this thread runs a call that was cancelled.
pub(super) fn unless_given_up<T>(change: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
    let Some(cancel) = call() else { return change() };
    publishing(Some(&cancel), change).map_err(|cause| match cause {
        EngineCause::Store(error) => error,
        _ => StoreError::Unsupported("continue a call that was cancelled"),
    })
}
