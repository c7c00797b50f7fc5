//! Calls that change the store, and what cancels them.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ndzarr_engine::{Cancel, EngineCause, EngineError, publishing};
use ndzarr_store::StoreError;

thread_local! {
    static CURRENT: RefCell<Call> = const { RefCell::new(Call { cancel: None }) };
}

/// A call of a user, or the part of it that a thread does.
#[derive(Clone, Default)]
pub(crate) struct Call {
    /// Ends its waits for documents, and keeps it from changing them.
    pub(crate) cancel: Option<Cancel>,
}

impl Call {
    /// A call with this cancellation.
    pub(crate) fn new(cancel: Option<&Cancel>) -> Self {
        Self { cancel: cancel.cloned() }
    }

    /// The call that this thread works for.
    pub(crate) fn current() -> Self {
        CURRENT.with_borrow(Clone::clone)
    }

    /// Works for this call until the guard is dropped.
    pub(crate) fn enter(self) -> Entered {
        Entered { before: CURRENT.replace(self) }
    }

    /// Polls a future that works for this call.
    pub(crate) async fn run<T>(self, work: impl Future<Output = T>) -> T {
        let mut work = pin!(work);
        poll_fn(move |context| {
            let _entered = self.clone().enter();
            work.as_mut().poll(context)
        })
        .await
    }

    /// Fails if the call was cancelled.
    pub(crate) fn check(&self) -> Result<(), EngineError> {
        match &self.cancel {
            Some(cancel) if cancel.is_cancelled() => Err(EngineCause::Cancelled.into()),
            _ => Ok(()),
        }
    }
}

/// While it lives, its thread works for a call.
#[must_use]
pub(crate) struct Entered {
    before: Call,
}

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(std::mem::take(&mut self.before));
    }
}

/// Changes a blocking store, unless the current call was cancelled.
pub(super) fn unless_cancelled<T>(change: impl FnOnce() -> Result<T, StoreError>) -> Result<T, EngineError> {
    Ok(publishing(Call::current().cancel.as_ref(), change)?)
}

pub(super) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic leaves nothing guarded here half-changed.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
