//! Runs a future on the calling thread, without a runtime.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use crate::{AsyncStore, StoreError};

struct Unpark {
    thread: Thread,
    /// The thread's own token may be consumed by a call nested in this one.
    woken: AtomicBool,
}

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.woken.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

/// Runs a future on the calling thread, which sleeps while there is nothing to do. This is not a
/// runtime: other threads must advance what the future waits for.
///
/// ```
/// assert_eq!(ndzarr::store::block_on(async { 1 + 1 }), 2);
/// ```
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    // Most are ready at once, and need no waker.
    if let Poll::Ready(output) = future
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
    {
        return output;
    }
    let mut output = None;
    sleep_until(&mut |context| {
        let poll = future.as_mut().poll(context);
        poll.map(|ready| output = Some(ready))
    });
    output.expect("the future has ended")
}

/// Polls on the calling thread until `poll` is ready, and sleeps in between. Compiled once for all
/// futures.
fn sleep_until(poll: &mut dyn FnMut(&mut Context<'_>) -> Poll<()>) {
    let own = Arc::new(Unpark {
        thread: thread::current(),
        woken: AtomicBool::new(true),
    });
    let waker = Arc::clone(&own).into();
    let mut context = Context::from_waker(&waker);
    loop {
        while !own.woken.swap(false, Ordering::Acquire) {
            thread::park();
        }
        if poll(&mut context).is_ready() {
            // A token that was consumed here may have been meant for an executor around this one.
            own.thread.unpark();
            return;
        }
    }
}

impl dyn AsyncStore + '_ {
    /// Runs a future that makes requests of this store on the calling thread, by the store's
    /// [`block_on`](AsyncStore::block_on). Where the store refuses, the future is not polled at
    /// all.
    ///
    /// # Errors
    /// If the store does not let this thread wait.
    pub fn wait<F: Future>(&self, future: F) -> Result<F::Output, StoreError> {
        let mut output = None;
        self.block_on(pin!(async { output = Some(future.await) }))?;
        output.ok_or(StoreError::Unsupported(
            "run a future: it stopped waiting before the future ended",
        ))
    }
}
