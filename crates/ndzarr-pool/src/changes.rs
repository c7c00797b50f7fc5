//! Changes of stores, which may wait for locks: they queue as jobs for a few threads of each store.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use crate::sync::{Arc, Mutex, MutexGuard, PoisonError};
use crate::threads::{pause, start_change};

/// If no change of a store begins for this long although some wait, another thread is started for
/// them. The time doubles with each thread beyond the usual number.
const PATIENCE: Duration = Duration::from_millis(10);
const MAX_DOUBLINGS: usize = 6;

/// The most threads that a store ever has. All but the first few replace blocked threads.
const MAX_THREADS_PER_STORE: usize = 500;

type Job = Box<dyn FnOnce() + Send>;

/// The changes of all stores.
pub(crate) struct Changes {
    queues: Mutex<Queues>,
    /// The number of threads that a store has as long as its changes begin and end.
    usual_threads: usize,
}

#[derive(Default)]
struct Queues {
    /// By the name of the store, as long as it has jobs or threads.
    by_store: HashMap<String, StoreQueue>,
    /// The number of the next job.
    next: u64,
}

/// The jobs of a store, and its threads.
#[derive(Default)]
struct StoreQueue {
    /// By ascending numbers.
    waiting: VecDeque<(u64, Job)>,
    threads: usize,
    /// The number of jobs begun so far.
    begun: u64,
    /// A thread watches over the jobs that wait.
    watched: bool,
}

/// The job with which a new thread begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum First {
    Oldest,
    /// Running jobs may wait for the newest one.
    Newest,
}

impl Queues {
    fn queue_of(&mut self, store: &str) -> &mut StoreQueue {
        if !self.by_store.contains_key(store) {
            self.by_store
                .insert(store.to_owned(), StoreQueue::default());
        }
        self.by_store.get_mut(store).expect("it was just added")
    }

    fn forget_unused(&mut self, store: &str) {
        let is_unused =
            |queue: &StoreQueue| queue.threads == 0 && !queue.watched && queue.waiting.is_empty();
        if self.by_store.get(store).is_some_and(is_unused) {
            self.by_store.remove(store);
        }
    }
}

impl Changes {
    /// Gives each store `usual_threads` threads. Jobs are numbered from `first` on.
    pub(crate) fn new(usual_threads: usize, first: u64) -> Arc<Self> {
        let queues = Queues {
            by_store: HashMap::new(),
            next: first,
        };
        Arc::new(Self {
            queues: Mutex::new(queues),
            usual_threads,
        })
    }

    fn queues(&self) -> MutexGuard<'_, Queues> {
        // No foreign code runs under this lock.
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a job, and returns its number.
    ///
    /// # Errors
    /// The store has no thread, and none can be started.
    pub(crate) fn push(self: &Arc<Self>, store: &str, job: Job) -> io::Result<u64> {
        let mut queues = self.queues();
        let number = queues.next;
        queues.next += 1;
        let queue = queues.queue_of(store);
        queue.waiting.push_back((number, job));
        if queue.threads >= self.usual_threads {
            // If no watcher can be started, the job waits for one of these threads.
            queue.watched = queue.watched || self.start_watcher(store).is_ok();
        } else if let Err(error) = self.add_thread(queue, store, First::Oldest)
            && queue.threads == 0
        {
            let rejected = queue.waiting.pop_back();
            queues.forget_unused(store);
            drop(queues);
            drop(rejected);
            return Err(error);
        }
        Ok(number)
    }

    /// Withdraws a job, and drops it. Does nothing if the job has begun.
    pub(crate) fn withdraw(&self, store: &str, number: u64) -> Withdrawn {
        let mut queues = self.queues();
        let job = queues.by_store.get_mut(store).and_then(|queue| {
            let index = queue
                .waiting
                .binary_search_by_key(&number, |(number, _)| *number)
                .ok()?;
            queue.waiting.remove(index)
        });
        drop(queues);
        // The job is dropped here, not under the lock.
        if job.is_some() {
            Withdrawn::Yes
        } else {
            Withdrawn::HasBegun
        }
    }

    fn add_thread(
        self: &Arc<Self>,
        queue: &mut StoreQueue,
        store: &str,
        first: First,
    ) -> io::Result<()> {
        let changes = Arc::clone(self);
        let store = store.to_owned();
        start_change(move || changes.work(&store, first))?;
        queue.threads += 1;
        Ok(())
    }

    fn start_watcher(self: &Arc<Self>, store: &str) -> io::Result<()> {
        let changes = Arc::clone(self);
        let store = store.to_owned();
        start_change(move || changes.watch(&store))
    }

    /// The loop of a thread. It ends when no job waits, or when the store has more threads than
    /// usual and others begin jobs, too.
    fn work(&self, store: &str, first: First) {
        let mut first = Some(first);
        let mut begun_before = 0;
        let mut queues = self.queues();
        loop {
            let queue = queues.queue_of(store);
            let next = match first.take() {
                Some(First::Newest) => queue.waiting.pop_back(),
                None if queue.threads > self.usual_threads && queue.begun > begun_before => None,
                Some(First::Oldest) | None => queue.waiting.pop_front(),
            };
            let Some((_, job)) = next else {
                queue.threads -= 1;
                queues.forget_unused(store);
                return;
            };
            queue.begun += 1;
            begun_before = queue.begun;
            drop(queues);
            let _ = catch_unwind(AssertUnwindSafe(job));
            queues = self.queues();
        }
    }

    /// Adds a thread whenever no job was begun for some time, until none waits.
    fn watch(self: &Arc<Self>, store: &str) {
        let mut queues = self.queues();
        loop {
            let queue = queues.queue_of(store);
            if queue.waiting.is_empty() {
                queue.watched = false;
                queues.forget_unused(store);
                return;
            }
            let begun = queue.begun;
            let doublings = queue
                .threads
                .saturating_sub(self.usual_threads)
                .min(MAX_DOUBLINGS);
            drop(queues);
            pause(PATIENCE * (1 << doublings));
            queues = self.queues();
            let queue = queues.queue_of(store);
            let is_stuck = queue.begun == begun && !queue.waiting.is_empty();
            if is_stuck && queue.threads < MAX_THREADS_PER_STORE {
                // If the system starts no more threads, the jobs wait for the existing ones.
                let _ = self.add_thread(queue, store, First::Newest);
            }
        }
    }

    /// True if no job waits and no thread is left.
    #[cfg(test)]
    #[allow(dead_code, reason = "the model in ndzarr-orders calls it")]
    pub(crate) fn is_unused(&self) -> bool {
        self.queues().by_store.is_empty()
    }
}

/// The result of withdrawing a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Withdrawn {
    /// It will not run.
    Yes,
    /// It runs, or has ended.
    HasBegun,
}
