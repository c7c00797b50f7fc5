//! Work that is handed over to other threads: the pool, and threads for changes.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::pin;

use futures_channel::oneshot::{self, Canceled, Receiver};
use futures_util::future::{Either, select};
use ndzarr_pool::{
    HAS_THREADS, Queue, Withdrawn, is_change_thread, is_own_thread, queue_change, start_change,
};
use ndzarr_store::StoreError;

use crate::threads::cancel::Cancel;
use crate::{EngineCause, RunOptions};

/// Runs `work` on the pool and awaits the result. Dropping the future does not stop it.
///
/// On a thread of the pool it runs directly: waiting would keep that thread from running it.
pub(crate) async fn on_pool<R: Send + 'static>(
    queue: Queue,
    work: impl FnOnce() -> R + Send + 'static,
) -> R {
    if is_own_thread() {
        return work();
    }
    let (job, receive) = reporting(work);
    ndzarr_pool::spawn(queue, job);
    passed_on(receive.await)
}

/// Work for another thread, and where its result comes.
fn reporting<R: Send + 'static>(
    work: impl FnOnce() -> R + Send + 'static,
) -> (
    impl FnOnce() + Send + 'static,
    Receiver<std::thread::Result<R>>,
) {
    let (send, receive) = oneshot::channel();
    let job = move || drop(send.send(catch_unwind(AssertUnwindSafe(work))));
    (job, receive)
}

/// The result of work on another thread. A panic of it continues here, as if the work had run here.
fn passed_on<R>(result: Result<std::thread::Result<R>, Canceled>) -> R {
    match result {
        Ok(Ok(result)) => result,
        Ok(Err(panic)) => resume_unwind(panic),
        Err(_) => unreachable!("a thread that was started for work sends its result"),
    }
}

/// Runs work that uses the store of this name on the pool, which takes turns between stores.
/// Dropping the future stops the work, which gets its own options for that.
pub async fn pooled<T: Send + 'static>(
    store: &str,
    options: &RunOptions,
    work: impl FnOnce(RunOptions) -> T + Send + 'static,
) -> T {
    let (_stop, options) = options.part();
    on_pool(Queue::of_store(store), move || work(options)).await
}

/// Runs work that changes the store of this name and may wait for locks, on a thread for changes,
/// when it is its turn. Until it has begun, it ends when it is cancelled, and is dropped with the
/// future. Once it has, it goes on.
///
/// On a thread for changes it runs at once: its turn might come after that of the work which waits
/// for it. On a system without threads it runs here: no other thread holds a lock.
///
/// # Errors
/// It was cancelled before it began; no thread can be started.
///
/// # Panics
/// When the work panics.
pub async fn queued<T: Send + 'static>(
    store: &str,
    cancel: Option<&Cancel>,
    work: impl FnOnce() -> Result<T, EngineCause> + Send + 'static,
) -> Result<T, EngineCause> {
    if !HAS_THREADS || is_change_thread() {
        return work();
    }
    waiting(store, cancel, work).await
}

/// Runs work as [`queued`] does, but never on the polling thread.
///
/// If the polling thread is one for changes, or one of the pool, which encodes for them, a change
/// that holds a document may wait for it, and all other changes of the store for that document. So
/// the work does not queue then, but gets a thread of its own.
pub(crate) async fn waiting<T: Send + 'static>(
    store: &str,
    cancel: Option<&Cancel>,
    work: impl FnOnce() -> Result<T, EngineCause> + Send + 'static,
) -> Result<T, EngineCause> {
    if !HAS_THREADS {
        return work();
    }
    let (job, mut receive) = reporting(work);
    if is_change_thread() || is_own_thread() {
        start_change(job).map_err(no_thread)?;
        return passed_on(receive.await);
    }
    let queued = queue_change(store, job).map_err(no_thread)?;
    if let Some(cancel) = cancel {
        let cancelled = pin!(cancel.cancelled());
        match select(&mut receive, cancelled).await {
            Either::Left((result, _)) => return passed_on(result),
            Either::Right(_) if queued.withdraw() == Withdrawn::Yes => {
                return Err(EngineCause::Cancelled);
            }
            Either::Right(_) => {}
        }
    }
    passed_on(receive.await)
}

fn no_thread(error: std::io::Error) -> EngineCause {
    StoreError::io("start a thread to lock", "", error).into()
}
