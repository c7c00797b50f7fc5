//! A change of an array's shape that is not published yet, and how it ends if it is given up.

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Wake, Waker};

use bytes::Bytes;
use futures_util::future::{Either, select};
use ndzarr_engine::{Cancel, CancelOnDrop, ConcurrentUpdate, EngineError, Publishing, RunOptions};

use crate::error::{Error, ErrorKind, Result};
use crate::storage::{HeldDocument, Published};

/// A change of the shape that is not published yet. Dropping it ends it: nothing more of it is
/// published, and the document is held until no trace of it is visible.
///
/// If the call is cancelled while its thread is in a codec, another thread ends it.
pub(super) struct Unfinished(Arc<Work>);

struct Work {
    held: Mutex<Option<ExclusiveDocument>>,
    stop: CancelOnDrop,
    /// Something else than the end of the call can cancel it.
    can_be_cancelled: bool,
}

/// The document, and what keeps others away from it in the place of a lock: calls that begin after
/// the future was dropped wait for it.
struct ExclusiveDocument {
    document: HeldDocument,
    _without_lock: Option<Publishing>,
}

impl Unfinished {
    /// A part of the current call, which holds this document.
    pub(super) fn new(held: impl Into<Option<HeldDocument>>) -> Result<Self, EngineError> {
        let call = Cancel::of_scope();
        let stop = CancelOnDrop::part_of(call.as_ref());
        let hold = |document: HeldDocument| {
            if let Some(condition) = document.condition() {
                stop.only_while(condition);
            }
            let needs_wait = document.is_of_blocking_store() && !document.excludes_others();
            let without_lock = needs_wait
                .then(|| Publishing::without_locks(call.as_ref()))
                .transpose()?;
            Ok::<_, EngineError>(ExclusiveDocument {
                document,
                _without_lock: without_lock,
            })
        };
        let held = held.into().map(hold).transpose()?;
        Ok(Self(Arc::new(Work {
            held: Mutex::new(held),
            stop,
            can_be_cancelled: call.is_some(),
        })))
    }

    /// Does this unless it is published, before others can hold the document.
    pub(super) fn unless_published(&self, undo: impl FnOnce(&HeldDocument) + Send + 'static) {
        if let Some(held) = &mut *self.0.held() {
            held.document.unless_published(undo);
        }
    }

    /// The options for what is done for it.
    pub(super) fn options(&self, options: &RunOptions) -> RunOptions {
        options.clone().cancel(self.0.stop.cancel().clone())
    }

    /// Runs work of this thread, which borrows what it works on. When the call is cancelled
    /// meanwhile, the document is given up at once, and the work publishes nothing more.
    pub(super) fn in_place<R>(&self, work: impl FnOnce() -> R) -> R {
        if !self.0.can_be_cancelled {
            return work();
        }
        let mut cancelled = pin!(self.0.stop.cancel().cancelled());
        let waker = Waker::from(Arc::clone(&self.0));
        // Once it was cancelled, the work ends by itself.
        let _ = cancelled.as_mut().poll(&mut Context::from_waker(&waker));
        work()
    }

    /// Awaits work of other threads. When the call is cancelled, it is dropped.
    pub(super) async fn unless_cancelled<T>(
        &self,
        work: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let cancelled = pin!(self.0.stop.cancel().cancelled());
        match select(pin!(work), cancelled).await {
            Either::Left((done, _)) => done,
            Either::Right(_) => Err(Error::new(ErrorKind::Cancelled, "it was cancelled")),
        }
    }

    pub(super) async fn publish(
        &self,
        document: &Bytes,
        policy: ConcurrentUpdate,
    ) -> Result<Published> {
        let held = self.0.held().take();
        match held {
            Some(held) => held.document.publish(document, policy).await,
            None => Err(Error::new(
                ErrorKind::Cancelled,
                "it was cancelled, and the document given up",
            )),
        }
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl Work {
    fn held(&self) -> MutexGuard<'_, Option<ExclusiveDocument>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cancel(&self) -> &Cancel {
        self.stop.cancel()
    }

    /// Ensures that nothing more is published and that everything written outside the shape is
    /// gone. Then releases the document. Who comes second waits for the first.
    fn end(&self) {
        self.cancel().cancel();
        let mut held = self.held();
        self.cancel().settle();
        *held = None;
    }
}

impl Wake for Work {
    /// The call was cancelled. Who cancels it must not wait for what is being published.
    fn wake(self: Arc<Self>) {
        // Without a thread, the document is given up by the call itself when its work ends.
        let _ = std::thread::Builder::new()
            .name("ndzarr-tidy".to_owned())
            .spawn(move || self.end());
    }
}
