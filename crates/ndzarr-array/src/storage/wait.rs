//! Blocking calls wait here for their store. Those that wait for an asynchronous one end when they
//! are cancelled.

use std::future::{Future, pending, poll_fn};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

use futures_util::future::{Either, select};
use ndzarr_engine::{AnyStore, Cancel, scoped, wait_for_dropped_futures};
use ndzarr_store::block_on;

use super::Storage;
use crate::error::{Error, ErrorKind, Result};

/// How long values that are being stored at that moment may take: without the answer it is not
/// known whether they were.
const GRACE: Duration = Duration::from_millis(500);

impl Storage {
    /// Runs a future that waits only for this store, on the calling thread. Every blocking call
    /// comes through here.
    pub(crate) fn wait<T, E: Into<Error>>(
        &self,
        future: impl Future<Output = Result<T, E>>,
    ) -> Result<T> {
        self.wait_unless(None, future)
    }

    /// [`wait`](Self::wait) for a call that `cancel` stops: over an asynchronous store it ends
    /// even if the store never answers.
    pub(crate) fn wait_unless<T, E: Into<Error>>(
        &self,
        cancel: Option<&Cancel>,
        future: impl Future<Output = Result<T, E>>,
    ) -> Result<T> {
        wait_for_dropped_futures(&self.store, cancel);
        self.wait_within(cancel, future)
    }

    /// [`wait_unless`](Self::wait_unless) in the middle or at the end of a call: not for what other
    /// calls still store.
    pub(crate) fn wait_within<T, E: Into<Error>>(
        &self,
        cancel: Option<&Cancel>,
        future: impl Future<Output = Result<T, E>>,
    ) -> Result<T> {
        match &self.store {
            // The library's threads do whatever is left to wait for.
            AnyStore::Blocking(_) => block_on(future).map_err(E::into),
            AnyStore::Async(store) => {
                let mut output = None;
                // Boxed: each layer around a future that lies on the stack takes its size once
                // more, and is compiled for it.
                let call: Call<'_> =
                    Box::pin(async { output = Some(future.await.map_err(E::into)) });
                let ended = store.wait(unless_cancelled(cancel, call));
                ended.map_err(|refused| Error::from(refused).in_store(|| self.name()))??;
                output.expect("the call has ended")
            }
        }
    }

    /// [`wait`](Self::wait) for a call that changes the store until `cancel` stops it.
    pub(crate) fn wait_change<T>(
        &self,
        cancel: Option<&Cancel>,
        future: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        self.wait_unless(cancel, scoped(cancel, future))
    }
}

/// A call, which keeps its output.
type Call<'c> = Pin<Box<dyn Future<Output = ()> + 'c>>;

/// Runs a call, which ends when its own cancellation or that of the thread is requested: its
/// requests are dropped.
async fn unless_cancelled(own: Option<&Cancel>, call: Call<'_>) -> Result<()> {
    let scope = Cancel::of_scope();
    let of_scope = scope.as_ref();
    if own.is_none() && of_scope.is_none() {
        call.await;
        return Ok(());
    }
    let one = pin!(requested(own));
    let other = pin!(requested(of_scope));
    let call = match select(call, select(one, other)).await {
        Either::Left(((), _)) => return Ok(()),
        Either::Right((_, call)) => call,
    };
    if !own.into_iter().chain(of_scope).all(Cancel::is_settled)
        && let Either::Left(_) = select(call, pin!(after(GRACE))).await
    {
        return Ok(());
    }
    Err(Error::new(ErrorKind::Cancelled, "it was cancelled"))
}

async fn requested(cancel: Option<&Cancel>) {
    match cancel {
        Some(cancel) => cancel.cancelled().await,
        None => pending().await,
    }
}

#[derive(Default)]
struct Timer {
    is_over: bool,
    waker: Option<Waker>,
}

/// Ends after a time, by a thread of its own.
async fn after(time: Duration) {
    fn lock(timer: &Mutex<Timer>) -> MutexGuard<'_, Timer> {
        timer.lock().unwrap_or_else(PoisonError::into_inner)
    }
    let timer = Arc::new(Mutex::new(Timer::default()));
    let set = Arc::clone(&timer);
    let sleep = move || {
        std::thread::sleep(time);
        let waker = {
            let mut timer = lock(&set);
            timer.is_over = true;
            timer.waker.take()
        };
        waker.into_iter().for_each(Waker::wake);
    };
    if std::thread::Builder::new()
        .name("ndzarr-grace".to_owned())
        .spawn(sleep)
        .is_err()
    {
        return;
    }
    poll_fn(|context| {
        let mut timer = lock(&timer);
        timer.waker = Some(context.waker().clone());
        if timer.is_over {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
}
