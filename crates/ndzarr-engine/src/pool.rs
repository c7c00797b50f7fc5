//! Runs work on threads shared by all calls, and on threads that may wait for locks.

use ndzarr_pool::{HAS_THREADS, is_own_thread};
use ndzarr_store::StoreError;

use crate::{EngineCause, RunOptions};

/// Runs `work` on the pool and awaits the result. Dropping the future does not stop it.
///
/// On a thread of the pool it runs directly: waiting would keep that thread from running it.
pub(crate) async fn on_pool<R: Send + 'static>(work: impl FnOnce() -> R + Send + 'static) -> R {
    if is_own_thread() {
        return work();
    }
    let (send, receive) = futures_channel::oneshot::channel();
    ndzarr_pool::spawn(move || {
        // A panic is passed to the caller, as if the work had run there.
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        let _ = send.send(result);
    });
    match receive.await {
        Ok(Ok(result)) => result,
        Ok(Err(panic)) => std::panic::resume_unwind(panic),
        Err(_) => unreachable!("the job sends before it ends, and the pool runs every job"),
    }
}

/// Runs work on the library's threads. Dropping the future stops the work, which gets its own
/// options for that.
pub async fn pooled<T: Send + 'static>(
    options: &RunOptions,
    work: impl FnOnce(RunOptions) -> T + Send + 'static,
) -> T {
    let (_stop, options) = options.part();
    on_pool(move || work(options)).await
}

/// Like [`pooled`], on a separate thread, for work that may wait for locks. Dropping the future
/// does not stop it. On a system without threads it runs here: no other thread holds a lock.
///
/// # Errors
/// No thread can be started; the work panics.
pub async fn on_own_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, EngineCause> + Send + 'static,
) -> Result<T, EngineCause> {
    if !HAS_THREADS {
        return work();
    }
    let (send, receive) = futures_channel::oneshot::channel();
    std::thread::Builder::new()
        .name("ndzarr-lock".to_owned())
        .spawn(move || drop(send.send(work())))
        .map_err(|error| StoreError::io("start a thread to lock", "", error))?;
    receive.await.unwrap_or(Err(EngineCause::Cancelled))
}
