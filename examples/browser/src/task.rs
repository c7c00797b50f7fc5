//! Runs one future at a time, as far as the answers that have come allow.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake};

/// A future, and a flag that is set while it can continue.
pub(crate) struct Task<T> {
    future: Pin<Box<dyn Future<Output = T>>>,
    woken: Arc<Woken>,
}

struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl<T> Task<T> {
    pub(crate) fn new(future: impl Future<Output = T> + 'static) -> Self {
        Self {
            future: Box::pin(future),
            woken: Arc::new(Woken(AtomicBool::new(true))),
        }
    }

    /// Polls until it is done or waits for an answer.
    pub(crate) fn run(&mut self) -> Poll<T> {
        let waker = Arc::clone(&self.woken).into();
        while self.woken.0.swap(false, Ordering::Relaxed) {
            if let Poll::Ready(output) = self.future.as_mut().poll(&mut Context::from_waker(&waker))
            {
                return Poll::Ready(output);
            }
        }
        Poll::Pending
    }
}
