//! The executors, and the tasks that are spawned on them.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Wake, Waker};
use std::thread;
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt, select};
use ndzarr_testkit::block_on;

use super::call::{Fate, watch};
use crate::Outcome;

/// Who polls the tasks.
#[derive(Clone, Copy, Debug)]
pub(super) enum Executor {
    /// Each writer polls its calls on a thread of its own.
    Threads,
    /// tokio's runtime of one thread.
    CurrentThread,
    /// The same, with tasks that stay in a `LocalSet`.
    LocalSet,
    /// tokio's runtime of several threads.
    MultiThread,
    /// smol's threads.
    Smol,
    /// A queue and two threads, written here.
    ByHand,
}

impl Executor {
    pub(super) const ALL: [Self; 6] =
        [Self::Threads, Self::CurrentThread, Self::LocalSet, Self::MultiThread, Self::Smol, Self::ByHand];

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

    /// Runs `n` writers to their ends, each as a task of its own.
    pub(super) fn run(
        self,
        n: u64,
        writer: impl Fn(u64, Spawner) -> BoxFuture<'static, Outcome> + Sync,
    ) -> Outcome {
        match self {
            Self::Threads => thread::scope(|scope| {
                let writer = &writer;
                let threads: Vec<_> =
                    (0..n).map(|i| scope.spawn(move || block_on(writer(i, Spawner::Inline)))).collect();
                threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a thread panicked")?)
            }),
            Self::CurrentThread => {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
                runtime.block_on(all(n, Spawner::Tokio(runtime.handle().clone()), writer))
            }
            Self::LocalSet => {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
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

/// Spawns tasks on an executor.
#[derive(Clone)]
pub(super) enum Spawner {
    /// Nothing is spawned: the writer's own task does it.
    Inline,
    Tokio(tokio::runtime::Handle),
    Local,
    Smol,
    ByHand(Arc<Queue>),
}

/// A task, which ends at the latest when this is dropped.
pub(super) enum Task {
    Tokio(tokio::task::JoinHandle<()>),
    Smol(#[expect(dead_code, reason = "what counts is when it is dropped")] smol::Task<()>),
    ByHand(Arc<Job>),
}

impl Drop for Task {
    fn drop(&mut self) {
        match self {
            Self::Tokio(task) => task.abort(),
            Self::Smol(_) => {}
            Self::ByHand(job) => drop(lock(&job.future).take()),
        }
    }
}

impl Spawner {
    pub(super) fn is_inline(&self) -> bool {
        matches!(self, Self::Inline)
    }

    pub(super) fn spawn(&self, future: BoxFuture<'static, ()>) -> Task {
        match self {
            Self::Tokio(handle) => Task::Tokio(handle.spawn(future)),
            Self::Local => Task::Tokio(tokio::task::spawn_local(future)),
            Self::Inline | Self::Smol => Task::Smol(smol::spawn(future)),
            Self::ByHand(queue) => {
                let job = Arc::new(Job {
                    future: Mutex::new(Some(future)),
                    is_queued: AtomicBool::new(false),
                    queue: Arc::clone(queue),
                });
                Arc::clone(&job).wake();
                Task::ByHand(job)
            }
        }
    }

    /// The future with a time limit, by the executor's clock.
    pub(super) fn limited(
        &self,
        limit: Duration,
        future: impl Future<Output = ()> + Send + Unpin + 'static,
    ) -> BoxFuture<'static, ()> {
        match self {
            Self::Tokio(_) | Self::Local => {
                async move { drop(tokio::time::timeout(limit, future).await) }.boxed()
            }
            _ => select(future, smol::Timer::after(limit)).map(drop).boxed(),
        }
    }
}

/// The executor that is written here: jobs that were woken, in their order.
#[derive(Default)]
pub(super) struct Queue {
    jobs: Mutex<(VecDeque<Arc<Job>>, bool)>,
    changed: Condvar,
}

/// A task of it.
pub(super) struct Job {
    /// `None` when it ended.
    future: Mutex<Option<BoxFuture<'static, ()>>>,
    is_queued: AtomicBool,
    queue: Arc<Queue>,
}

impl Wake for Job {
    fn wake(self: Arc<Self>) {
        if !self.is_queued.swap(true, SeqCst) {
            let queue = Arc::clone(&self.queue);
            lock(&queue.jobs).0.push_back(self);
            queue.changed.notify_one();
        }
    }
}

impl Queue {
    fn work(&self) {
        while let Some(job) = self.next() {
            job.is_queued.store(false, SeqCst);
            let waker = Waker::from(Arc::clone(&job));
            let mut future = lock(&job.future);
            let is_ready = |future: &mut BoxFuture<'_, ()>| {
                future.as_mut().poll(&mut Context::from_waker(&waker)).is_ready()
            };
            if future.as_mut().is_some_and(is_ready) {
                *future = None;
            }
        }
    }

    fn next(&self) -> Option<Arc<Job>> {
        let mut jobs = lock(&self.jobs);
        loop {
            if let Some(job) = jobs.0.pop_front() {
                return Some(job);
            }
            if jobs.1 {
                return None;
            }
            jobs = self.changed.wait(jobs).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn close(&self) {
        lock(&self.jobs).1 = true;
        self.changed.notify_all();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
