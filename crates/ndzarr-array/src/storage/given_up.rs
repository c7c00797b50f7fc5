//! Calls that threads of the library were handed, and whose futures may be dropped meanwhile.

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
    /// Of the call that this thread was handed: whether its future still wants it.
    static CALL: RefCell<Option<RunOptions>> = const { RefCell::new(None) };
}

/// Says for which call this thread works.
pub(super) fn begin(options: RunOptions) {
    CALL.set(Some(options));
}

/// What ends the waits of the call that this thread was handed.
pub(super) fn cancel() -> Option<Cancel> {
    CALL.with_borrow(|call| call.as_ref()?.cancel.clone())
}

/// Changes a blocking store, unless this thread was handed a call that was given up.
pub(super) fn unless_given_up<T>(change: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
    let Some(options) = CALL.with_borrow(Clone::clone) else { return change() };
    publishing(options.cancel.as_ref(), change).map_err(|cause| match cause {
        EngineCause::Store(error) => error,
        _ => StoreError::Unsupported("go on with a call that was given up"),
    })
}
