//! Calls that change the store: what cancels them, and changes that other calls poll to the end.

use std::any::Any;
use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;
use std::sync::{Arc, PoisonError, TryLockError, Weak};
use std::task::{Context, Poll, Wake, Waker};

use futures_util::future::BoxFuture;
use ndzarr_engine::{Cancel, EngineCause, EngineError, publishing};
use ndzarr_store::StoreError;

use super::sync::{Mutex, MutexGuard};

/// Whether a call may block its thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Colour {
    Blocking,
    Async,
}

thread_local! {
    static CURRENT: RefCell<Call> = const { RefCell::new(Call { cancel: None, change: None }) };
}

/// A call of a user, or the part of it that a thread does.
#[derive(Clone, Default)]
pub(crate) struct Call {
    /// Ends its waits for documents, and keeps it from changing them.
    pub(crate) cancel: Option<Cancel>,
    /// The change that a future makes. The tasks that poll it must not be blocked by other holders
    /// of the document.
    pub(crate) change: Option<Weak<Change>>,
}

impl Call {
    /// A call with this cancellation.
    pub(crate) fn new(cancel: Option<&Cancel>) -> Self {
        Self { cancel: cancel.cloned(), change: None }
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

    /// Whether it may block its thread.
    pub(crate) fn colour(&self) -> Colour {
        if self.change.is_some() { Colour::Async } else { Colour::Blocking }
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

/// A call that changes a document. It owns everything it needs, so any thread can poll it.
///
/// Two futures on one thread may need the same document, or a blocking call may need it on a thread
/// whose own future holds it. A call that finds the document held by a future of this process polls
/// that future until it releases the document.
#[derive(Default)]
pub(crate) struct Change {
    cancel: Option<Cancel>,
    /// `None` once it has ended or was cancelled.
    future: Mutex<Option<BoxFuture<'static, ()>>>,
    /// What it panicked with, for the call that it belongs to.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    pollers: Mutex<Pollers>,
}

#[derive(Default)]
struct Pollers {
    wakers: Vec<Waker>,
    /// The wakers of tasks that came while another thread polled.
    missed: Vec<Waker>,
    has_ended: bool,
}

/// Runs a change. Dropping the future cancels the change, whatever other tasks poll it.
pub(crate) async fn run_change<T: Send + 'static>(
    cancel: Option<Cancel>,
    work: impl Future<Output = T> + Send + 'static,
) -> T {
    /// Cancels the change, unless it has ended.
    struct Owner(Arc<Change>);
    impl Drop for Owner {
        fn drop(&mut self) {
            let future = lock(&self.0.future).take();
            // Dropping the future may wait for a publication; those who help must not.
            self.0.end();
            drop(future);
        }
    }

    let owner = Owner(Arc::new(Change { cancel, ..Change::default() }));
    let output = Arc::new(Mutex::new(None));
    let slot = Arc::clone(&output);
    *lock(&owner.0.future) = Some(Box::pin(async move {
        let result = work.await;
        *lock(&slot) = Some(result);
    }));
    owner.0.help().await;
    let (output, panic) = (lock(&output).take(), lock(&owner.0.panic).take());
    match panic {
        Some(panic) => resume_unwind(panic),
        None => output.expect("a change that was not given up ends with its result"),
    }
}

impl Change {
    /// Polls the change until it has ended or was cancelled.
    pub(crate) async fn help(self: &Arc<Self>) {
        poll_fn(|context| self.poll(context)).await;
    }

    fn poll(self: &Arc<Self>, context: &mut Context<'_>) -> Poll<()> {
        {
            // Registers before polling, because the thread that polls it now may end it.
            let mut pollers = lock(&self.pollers);
            if pollers.has_ended {
                return Poll::Ready(());
            }
            add(&mut pollers.wakers, context.waker());
        }
        let slot = self.try_future().or_else(|| {
            add(&mut lock(&self.pollers).missed, context.waker());
            // The thread that polled it may have collected the missed wakers just before.
            self.try_future()
        });
        let Some(mut slot) = slot else { return Poll::Pending };
        let Some(future) = slot.as_mut() else { return Poll::Ready(()) };
        let waker = Waker::from(Arc::clone(self));
        // The task that polls it may be that of another call, whose cancellation is not this one's.
        let call = Call { cancel: self.cancel.clone(), change: Some(Arc::downgrade(self)) };
        let _entered = call.enter();
        let poll = AssertUnwindSafe(|| future.as_mut().poll(&mut Context::from_waker(&waker)));
        let polled = catch_unwind(poll).unwrap_or_else(|panic| {
            // It must not end the call that helps.
            *lock(&self.panic) = Some(panic);
            Poll::Ready(())
        });
        if polled.is_pending() {
            drop(slot);
            // They may have been woken for progress that came after this poll, and this may be the
            // last poll here.
            let missed = std::mem::take(&mut lock(&self.pollers).missed);
            missed.into_iter().for_each(Waker::wake);
            return Poll::Pending;
        }
        *slot = None;
        drop(slot);
        self.end();
        Poll::Ready(())
    }

    /// The future, unless another thread polls it.
    fn try_future(&self) -> Option<MutexGuard<'_, Option<BoxFuture<'static, ()>>>> {
        match self.future.try_lock() {
            Ok(slot) => Some(slot),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Whether helping has no effect any more.
    pub(super) fn has_ended(&self) -> bool {
        lock(&self.pollers).has_ended
    }

    fn end(&self) {
        let wakers = {
            let mut pollers = lock(&self.pollers);
            pollers.has_ended = true;
            std::mem::take(&mut pollers.wakers)
        };
        wakers.into_iter().for_each(Waker::wake);
    }
}

impl Wake for Change {
    fn wake(self: Arc<Self>) {
        let wakers = std::mem::take(&mut lock(&self.pollers).wakers);
        wakers.into_iter().for_each(Waker::wake);
    }
}

fn add(wakers: &mut Vec<Waker>, waker: &Waker) {
    if !wakers.iter().any(|known| known.will_wake(waker)) {
        wakers.push(waker.clone());
    }
}

pub(super) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic leaves nothing guarded here half-changed.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
