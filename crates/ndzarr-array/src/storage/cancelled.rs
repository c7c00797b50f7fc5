//! Ends calls that wait for an asynchronous store when they are cancelled.

use std::future::{Future, pending, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

use futures_util::future::{Either, select};
use ndzarr_engine::Cancel;

use crate::error::{Error, ErrorKind, Result};

/// How long values that are being stored at that moment may take: without the answer it is not known whether
/// they were.
const GRACE: Duration = Duration::from_millis(500);

/// The output of a call, which ends when its own cancellation or that of the thread is requested: its
/// requests are dropped.
pub(super) async fn unless_cancelled<T>(
    own: Option<&Cancel>,
    call: impl Future<Output = Result<T>>,
) -> Result<T> {
    let scope = Cancel::of_scope();
    let of_scope = scope.as_ref();
    if own.is_none() && of_scope.is_none() {
        return call.await;
    }
    let (call, one, other) = (pin!(call), pin!(requested(own)), pin!(requested(of_scope)));
    let call = match select(call, select(one, other)).await {
        Either::Left((output, _)) => return output,
        Either::Right((_, call)) => call,
    };
    if !own.into_iter().chain(of_scope).all(Cancel::is_settled)
        && let Either::Left((output, _)) = select(call, pin!(after(GRACE))).await
    {
        return output;
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
    if std::thread::Builder::new().spawn(sleep).is_err() {
        return;
    }
    poll_fn(|context| {
        let mut timer = lock(&timer);
        timer.waker = Some(context.waker().clone());
        if timer.is_over { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}
