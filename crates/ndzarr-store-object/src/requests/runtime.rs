//! The runtime that requests run on, and tasks that end with the future that waits for them.

use std::pin::Pin;
use std::sync::Mutex;
use std::task::{Context, Poll};

use ndzarr_store::PerProcess;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::JoinHandle;

/// The runtime for requests. Threads do not survive a fork, so a child makes its own. It is never
/// dropped, since dropping a runtime inside a task panics.
static RUNTIME: PerProcess<Mutex<Option<Runtime>>> = PerProcess::new();

/// The number of tasks after which a thread looks for answers (tokio: 61). Hundreds of requests
/// begin together, and the first connections would be idle until all of them have begun.
const TASKS_BETWEEN_POLLS: u32 = 8;

/// The runtime of this process, started at the first call.
pub(crate) fn runtime() -> std::io::Result<Handle> {
    let mut runtime = RUNTIME.lock();
    if let Some(runtime) = &*runtime {
        return Ok(runtime.handle().clone());
    }
    let new = Builder::new_multi_thread()
        .worker_threads(2)
        .event_interval(TASKS_BETWEEN_POLLS)
        .thread_name("ndzarr-io")
        .enable_all()
        .build()?;
    Ok(runtime.insert(new).handle().clone())
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
        Pin::new(&mut self.0)
            .poll(context)
            .map(|joined| match joined {
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
