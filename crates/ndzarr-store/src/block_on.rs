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
    /// The thread's own token may be used up by a call within this one.
    woken: AtomicBool,
}

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.woken.store(true, Ordering::Release);
        self.thread.unpark();
    }
}

/// Runs a future on the calling thread, which sleeps while there is nothing to do. It is not a
/// runtime: other threads must advance what the future waits for.
///
/// ```
/// assert_eq!(ndzarr_store::block_on(async { 1 + 1 }), 2);
/// ```
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    // Most are ready at once, and need no waker.
    if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        return output;
    }
    let own = Arc::new(Unpark { thread: thread::current(), woken: AtomicBool::new(true) });
    let waker = Arc::clone(&own).into();
    let mut context = Context::from_waker(&waker);
    loop {
        while !own.woken.swap(false, Ordering::Acquire) {
            thread::park();
        }
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            // The token that was used up here may have been meant for an executor around this one.
            own.thread.unpark();
            return output;
        }
    }
}

impl dyn AsyncStore + '_ {
    /// Runs a future that makes requests of this store on the calling thread, by the store's
    /// [`block_on`](AsyncStore::block_on). Where the store refuses, the future is not polled at
    /// all.
    ///
    /// # Errors
    /// The store does not let this thread wait.
    pub fn wait<F: Future>(&self, future: F) -> Result<F::Output, StoreError> {
        let mut output = None;
        self.block_on(pin!(async { output = Some(future.await) }))?;
        output.ok_or(StoreError::Unsupported("run a future: its `block_on` returned before the future ended"))
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::pin::Pin as Pinned;

    use bytes::Bytes;
    use futures_util::future::BoxFuture;

    use super::*;
    use crate::{Fetch, Fetched, Key, Precondition, Put};

    /// A store that says that a future has ended, and has not polled it.
    #[derive(Debug)]
    struct Untrue;

    impl AsyncStore for Untrue {
        fn name(&self) -> String {
            "untrue".to_owned()
        }
        fn fetch<'a>(&'a self, _: &'a Fetch) -> BoxFuture<'a, Result<Fetched, StoreError>> {
            unreachable!("it is not polled")
        }
        fn put<'a>(
            &'a self,
            _: &'a Key,
            _: &'a [Bytes],
            _: Precondition,
        ) -> BoxFuture<'a, Result<Put, StoreError>> {
            unreachable!("it is not polled")
        }
        fn erase<'a>(&'a self, _: &'a Key, _: Precondition) -> BoxFuture<'a, Result<Put, StoreError>> {
            unreachable!("it is not polled")
        }
        fn block_on(&self, _: Pinned<&mut dyn Future<Output = ()>>) -> Result<(), StoreError> {
            Ok(())
        }
    }

    #[test]
    fn a_future_that_was_not_run_has_no_output() {
        let store: &dyn AsyncStore = &Untrue;
        assert!(matches!(store.wait(async { 1 }), Err(StoreError::Unsupported(_))));
    }

    /// Ready at the second poll, when another thread has woken it.
    fn woken_by_another_thread() -> impl Future<Output = ()> {
        let mut begun = false;
        poll_fn(move |context| {
            if std::mem::replace(&mut begun, true) {
                return Poll::Ready(());
            }
            let waker = context.waker().clone();
            let other = thread::spawn(move || waker.wake());
            other.join().expect("no panic");
            Poll::Pending
        })
    }

    #[test]
    fn a_call_within_a_call_loses_no_wake_up() {
        // The outer future is woken while the inner call sleeps, which takes the token of the
        // thread.
        let mut begun = false;
        let outer = poll_fn(|context| {
            if std::mem::replace(&mut begun, true) {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            block_on(woken_by_another_thread());
            block_on(woken_by_another_thread());
            // As if it had slept once more.
            thread::park_timeout(std::time::Duration::ZERO);
            Poll::Pending
        });
        block_on(outer);
    }
}
