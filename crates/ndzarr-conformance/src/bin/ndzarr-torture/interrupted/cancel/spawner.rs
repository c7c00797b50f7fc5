//! Spawns tasks on an executor, also on one that is written here.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt, select};

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
    state: Mutex<QueueState>,
    changed: Condvar,
}

#[derive(Default)]
struct QueueState {
    jobs: VecDeque<Arc<Job>>,
    is_closed: bool,
}

/// A task of the queue.
pub(super) struct Job {
    /// `None` once it has ended.
    future: Mutex<Option<BoxFuture<'static, ()>>>,
    is_queued: AtomicBool,
    queue: Arc<Queue>,
}

impl Wake for Job {
    fn wake(self: Arc<Self>) {
        if !self.is_queued.swap(true, SeqCst) {
            let queue = Arc::clone(&self.queue);
            lock(&queue.state).jobs.push_back(self);
            queue.changed.notify_one();
        }
    }
}

impl Queue {
    pub(super) fn work(&self) {
        while let Some(job) = self.next() {
            job.is_queued.store(false, SeqCst);
            let waker = Waker::from(Arc::clone(&job));
            let mut future = lock(&job.future);
            let is_ready = |future: &mut BoxFuture<'_, ()>| {
                future
                    .as_mut()
                    .poll(&mut Context::from_waker(&waker))
                    .is_ready()
            };
            if future.as_mut().is_some_and(is_ready) {
                *future = None;
            }
        }
    }

    fn next(&self) -> Option<Arc<Job>> {
        let mut state = lock(&self.state);
        loop {
            if let Some(job) = state.jobs.pop_front() {
                return Some(job);
            }
            if state.is_closed {
                return None;
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    pub(super) fn close(&self) {
        lock(&self.state).is_closed = true;
        self.changed.notify_all();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
