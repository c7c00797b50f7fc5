//! The runtime that requests run on, and tasks that end with the future that waits for them.

use std::pin::Pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll};

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::JoinHandle;

/// The process that started it, and the runtime. Threads do not survive a fork, so a child makes its
/// own and leaks the other. It is never dropped: dropping one inside of a task panics.
static RUNTIME: Mutex<Option<(u32, Runtime)>> = Mutex::new(None);

/// A thread looks for answers after this many tasks (tokio: 61): hundreds of requests begin together, and
/// the first connections would be idle until all of them have begun.
const TASKS_BETWEEN_LOOKS: u32 = 8;

/// The runtime of this process, started at the first call.
pub(crate) fn runtime() -> std::io::Result<Handle> {
    let mut runtime = RUNTIME.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if let Some((owner, runtime)) = &*runtime
        && *owner == process
    {
        return Ok(runtime.handle().clone());
    }
    let new = Builder::new_multi_thread()
        .worker_threads(2)
        .event_interval(TASKS_BETWEEN_LOOKS)
        .thread_name("ndzarr-io")
        .enable_all()
        .build()?;
    let handle = new.handle().clone();
    if let Some(old) = runtime.replace((process, new)) {
        std::mem::forget(old);
    }
    Ok(handle)
}

/// A task that is aborted when its future is dropped.
pub(crate) struct Task<T>(JoinHandle<T>);

impl<T: Send + 'static> Task<T> {
    pub(crate) fn spawn(on: &Handle, future: impl Future<Output = T> + Send + 'static) -> Self {
        Self(on.spawn(future))
    }
}

impl<T> Future for Task<T> {
    /// `None` if the runtime ended before the task.
    type Output = Option<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        Pin::new(&mut self.0).poll(context).map(|joined| match joined {
            Ok(output) => Some(output),
            Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            Err(_) => None,
        })
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
