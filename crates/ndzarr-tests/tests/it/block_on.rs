//! Blocking on the futures of asynchronous stores.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use std::thread;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use ndzarr_store::{AsyncStore, Fetch, Fetched, Key, Precondition, Put, StoreError, block_on};

/// A store that reports a future as finished without having polled it.
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
    fn block_on(&self, _: Pin<&mut dyn Future<Output = ()>>) -> Result<(), StoreError> {
        Ok(())
    }
}

#[test]
fn a_future_that_was_not_run_has_no_output() {
    let store: &dyn AsyncStore = &Untrue;
    assert!(matches!(
        store.wait(async { 1 }),
        Err(StoreError::Unsupported(_))
    ));
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
    // The outer future is woken while the inner call sleeps, which consumes the thread's token.
    let mut begun = false;
    let outer = poll_fn(|context| {
        if std::mem::replace(&mut begun, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        block_on(woken_by_another_thread());
        block_on(woken_by_another_thread());
        // As if it had slept again.
        thread::park_timeout(std::time::Duration::ZERO);
        Poll::Pending
    });
    block_on(outer);
}
