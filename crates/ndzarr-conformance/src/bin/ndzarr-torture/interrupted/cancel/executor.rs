//! The executors that run the writers.

use std::sync::Arc;
use std::thread;

use futures_util::future::{BoxFuture, FutureExt};
use ndzarr_testkit::block_on;

use super::call::{Fate, watch};
use super::spawner::{Queue, Spawner};
use crate::common::torture::Outcome;

/// Who polls the tasks.
#[derive(Clone, Copy, Debug)]
pub(super) enum Executor {
    /// Each writer polls its calls on its own thread.
    Threads,
    /// tokio's runtime of one thread.
    CurrentThread,
    /// tokio's runtime of one thread, with tasks that stay in a `LocalSet`.
    LocalSet,
    /// tokio's runtime of several threads.
    MultiThread,
    /// smol's threads.
    Smol,
    /// A queue and two threads, written here.
    ByHand,
}

impl Executor {
    pub(super) const ALL: [Self; 6] = [
        Self::Threads,
        Self::CurrentThread,
        Self::LocalSet,
        Self::MultiThread,
        Self::Smol,
        Self::ByHand,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Threads => "threads",
            Self::CurrentThread => "tokio, one thread",
            Self::LocalSet => "tokio, LocalSet",
            Self::MultiThread => "tokio, several threads",
            Self::Smol => "smol",
            Self::ByHand => "by hand",
        }
    }

    /// Runs `n` writers to their ends, each in its own task.
    pub(super) fn run(
        self,
        n: u64,
        writer: impl Fn(u64, Spawner) -> BoxFuture<'static, Outcome> + Sync,
    ) -> Outcome {
        match self {
            Self::Threads => thread::scope(|scope| {
                let writer = &writer;
                let threads: Vec<_> = (0..n)
                    .map(|i| scope.spawn(move || block_on(writer(i, Spawner::Inline))))
                    .collect();
                threads
                    .into_iter()
                    .try_for_each(|thread| thread.join().map_err(|_| "a thread panicked")?)
            }),
            Self::CurrentThread => {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_time()
                    .build()?;
                runtime.block_on(all(n, Spawner::Tokio(runtime.handle().clone()), writer))
            }
            Self::LocalSet => {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_time()
                    .build()?;
                tokio::task::LocalSet::new().block_on(&runtime, all(n, Spawner::Local, writer))
            }
            Self::MultiThread => {
                let mut builder = tokio::runtime::Builder::new_multi_thread();
                let runtime = builder.worker_threads(2).enable_time().build()?;
                runtime.block_on(all(n, Spawner::Tokio(runtime.handle().clone()), writer))
            }
            Self::Smol => smol::block_on(all(n, Spawner::Smol, writer)),
            Self::ByHand => {
                let queue = Arc::new(Queue::default());
                thread::scope(|scope| {
                    (0..2).for_each(|_| drop(scope.spawn(|| queue.work())));
                    let result = block_on(all(n, Spawner::ByHand(Arc::clone(&queue)), writer));
                    queue.close();
                    result
                })
            }
        }
    }
}

async fn all(
    n: u64,
    spawner: Spawner,
    writer: impl Fn(u64, Spawner) -> BoxFuture<'static, Outcome>,
) -> Outcome {
    let mut tasks = Vec::new();
    for i in 0..n {
        let (task, fate) = watch(writer(i, spawner.clone()));
        tasks.push((spawner.spawn(task.boxed()), fate));
    }
    for (_task, fate) in tasks {
        match fate.recv().await? {
            Fate::Done(outcome) => outcome?,
            Fate::Dropped | Fate::NeverPolled => return Err("a writer panicked".into()),
        }
    }
    Ok(())
}
