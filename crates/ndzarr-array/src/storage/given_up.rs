//! Tracks whether the futures of calls handed to the library's threads have been dropped.

use std::cell::RefCell;

use ndzarr_engine::{Cancel, EngineCause, RunOptions, publishing};
use ndzarr_store::StoreError;

/// Whether a call may block its thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Colour {
    Blocking,
    Async,
}

thread_local! {
    /// For the call that this thread runs: whether its future still exists.
    static CALL: RefCell<Option<RunOptions>> = const { RefCell::new(None) };
}

/// Sets the call that this thread works for.
pub(super) fn begin(options: RunOptions) {
    CALL.set(Some(options));
}

/// The cancellation of the call that this thread runs, which ends its waits.
pub(super) fn cancel() -> Option<Cancel> {
    CALL.with_borrow(|call| call.as_ref()?.cancel.clone())
}

/// Changes a blocking store, unless this thread runs a call that was cancelled.
pub(super) fn unless_given_up<T>(change: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
    let Some(options) = CALL.with_borrow(Clone::clone) else { return change() };
    publishing(options.cancel.as_ref(), change).map_err(|cause| match cause {
        EngineCause::Store(error) => error,
        _ => StoreError::Unsupported("go on with a call that was given up"),
    })
}
