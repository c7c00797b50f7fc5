//! A call in its own task, which is dropped at a random moment.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt, select};
use ndzarr_testkit::Random;
use smol::channel::{Receiver, Sender, bounded};

use super::spawner::Spawner;

/// How a future ended.
#[derive(Debug)]
pub(super) enum Fate<T> {
    Done(T),
    /// It was dropped while it was pending.
    Dropped,
    /// It was dropped before it was polled.
    NeverPolled,
}

/// A future that reports how it ended, once it is dropped.
pub(super) struct Watched<T> {
    future: Option<BoxFuture<'static, T>>,
    is_polled: bool,
    fate: Sender<Fate<T>>,
}

pub(super) fn watch<T>(
    future: impl Future<Output = T> + Send + 'static,
) -> (Watched<T>, Receiver<Fate<T>>) {
    let (fate, receiver) = bounded(1);
    (
        Watched {
            future: Some(future.boxed()),
            is_polled: false,
            fate,
        },
        receiver,
    )
}

impl<T> Future for Watched<T> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        self.is_polled = true;
        let Some(future) = &mut self.future else {
            return Poll::Ready(());
        };
        let Poll::Ready(value) = future.as_mut().poll(context) else {
            return Poll::Pending;
        };
        self.future = None;
        // The receiver may be gone.
        drop(self.fate.try_send(Fate::Done(value)));
        Poll::Ready(())
    }
}

impl<T> Drop for Watched<T> {
    fn drop(&mut self) {
        if self.future.take().is_some() {
            drop(self.fate.try_send(if self.is_polled {
                Fate::Dropped
            } else {
                Fate::NeverPolled
            }));
        }
    }
}

/// When a call is dropped.
#[derive(Clone, Copy, Debug)]
pub(super) enum GiveUp {
    Never,
    /// After this many polls.
    Polls(u64),
    /// When another future is ready first, which is polled this many times.
    Select(u64),
    /// After a time.
    Timeout(Duration),
    /// Its task is aborted, after another future was polled this many times.
    Abort(u64),
}

impl GiveUp {
    /// A random one, mostly while the call is pending.
    pub(super) fn any(random: &mut Random) -> Self {
        let polls = [1, 2, 3, 5, 10, 30, 100][random.below(7) as usize];
        match random.below(16) {
            0 => Self::Never,
            1..=6 => Self::Polls(1 + random.below(4)),
            7..=10 => Self::Select(polls),
            11 => Self::Timeout(Duration::from_micros(
                [0, 20, 100, 500][random.below(4) as usize],
            )),
            _ => Self::Abort(polls),
        }
    }
}

/// Makes a call in a task of its own, and abandons it as `give_up` says.
pub(super) async fn call<T: Send + 'static>(
    spawner: &Spawner,
    give_up: GiveUp,
    future: impl Future<Output = T> + Send + 'static,
) -> Fate<T> {
    let (watched, fate) = watch(future);
    let work = match give_up {
        GiveUp::Never => watched.boxed(),
        GiveUp::Polls(n) => polls(n, watched).boxed(),
        GiveUp::Select(n) => select(watched, ready_after(n)).map(drop).boxed(),
        GiveUp::Timeout(limit) => spawner.limited(limit, watched),
        GiveUp::Abort(n) if spawner.is_inline() => {
            select(watched, ready_after(n)).map(drop).boxed()
        }
        GiveUp::Abort(n) => {
            let task = spawner.spawn(watched.boxed());
            ready_after(n).await;
            drop(task);
            return ended(fate).await;
        }
    };
    if spawner.is_inline() {
        work.await;
        return ended(fate).await;
    }
    let _task = spawner.spawn(work);
    ended(fate).await
}

async fn ended<T>(fate: Receiver<Fate<T>>) -> Fate<T> {
    fate.recv()
        .await
        .expect("a watched future says how it ended, unless it panics")
}

/// Polls the future `n` times, and drops it.
async fn polls(mut n: u64, future: impl Future<Output = ()> + Unpin) {
    let mut future = Some(future);
    poll_fn(move |context| {
        let is_ready = future
            .as_mut()
            .is_none_or(|future| future.poll_unpin(context).is_ready());
        n = n.saturating_sub(1);
        if is_ready || n == 0 {
            future = None;
            return Poll::Ready(());
        }
        Poll::Pending
    })
    .await;
}

/// Ready after `n` polls, between which other tasks run.
fn ready_after(mut n: u64) -> impl Future<Output = ()> + Send + Unpin {
    poll_fn(move |context| {
        if n == 0 {
            return Poll::Ready(());
        }
        n -= 1;
        context.waker().wake_by_ref();
        Poll::Pending
    })
}
