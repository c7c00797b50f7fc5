//! Changes of stores, which may wait for locks: they queue as jobs for a few threads of each store.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use crate::sync::{Arc, Mutex, MutexGuard, PoisonError};
use crate::threads::{pause, start_change};

/// After this long without any change of a store being begun although some wait, another thread is
/// started for them. The time doubles with each thread beyond the usual number.
const PATIENCE: Duration = Duration::from_millis(10);
const MOST_DOUBLINGS: usize = 6;

/// The most threads that a store ever has. All but the first few replace blocked threads.
const MOST_OF_ONE: usize = 500;

type Job = Box<dyn FnOnce() + Send>;

/// The changes of all stores.
pub(crate) struct Changes {
    lines: Mutex<Lines>,
    /// The number of threads that a store has as long as its changes begin and end.
    usual: usize,
}

#[derive(Default)]
struct Lines {
    /// By the name of the store, as long as it has jobs or threads.
    of_stores: HashMap<String, Line>,
    /// The number of the next job.
    next: u64,
}

/// The jobs of a store, and its threads.
#[derive(Default)]
struct Line {
    /// By ascending numbers.
    waiting: VecDeque<(u64, Job)>,
    threads: usize,
    /// How many jobs were begun so far.
    begun: u64,
    /// Whether a thread looks after the jobs that wait.
    watched: bool,
}

/// Which job a new thread begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum First {
    Oldest,
    /// The jobs that have threads may wait for what the newest one does.
    Newest,
}

impl Lines {
    fn of(&mut self, store: &str) -> &mut Line {
        if !self.of_stores.contains_key(store) {
            self.of_stores.insert(store.to_owned(), Line::default());
        }
        self.of_stores.get_mut(store).expect("it was just added")
    }

    fn forget_unused(&mut self, store: &str) {
        let is_unused = |line: &Line| line.threads == 0 && !line.watched && line.waiting.is_empty();
        if self.of_stores.get(store).is_some_and(is_unused) {
            self.of_stores.remove(store);
        }
    }
}

impl Changes {
    /// Each store has this number of threads. Jobs are numbered from `first` on.
    pub(crate) fn new(usual: usize, first: u64) -> Arc<Self> {
        let lines = Lines { of_stores: HashMap::new(), next: first };
        Arc::new(Self { lines: Mutex::new(lines), usual })
    }

    fn lines(&self) -> MutexGuard<'_, Lines> {
        // No foreign code runs under this lock.
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a job in, and returns its number.
    ///
    /// # Errors
    /// No thread can be started, and there is none.
    pub(crate) fn push(self: &Arc<Self>, store: &str, job: Job) -> io::Result<u64> {
        let mut lines = self.lines();
        let number = lines.next;
        lines.next += 1;
        let line = lines.of(store);
        line.waiting.push_back((number, job));
        if line.threads >= self.usual {
            // Without a watcher it waits for one of these threads.
            line.watched = line.watched || self.start_watcher(store).is_ok();
        } else if let Err(error) = self.add_thread(line, store, First::Oldest)
            && line.threads == 0
        {
            let refused = line.waiting.pop_back();
            lines.forget_unused(store);
            drop(lines);
            drop(refused);
            return Err(error);
        }
        Ok(number)
    }

    /// Takes a job back, and drops it. It does nothing if the job has begun.
    pub(crate) fn withdraw(&self, store: &str, number: u64) -> Withdrawn {
        let mut lines = self.lines();
        let job = lines.of_stores.get_mut(store).and_then(|line| {
            let at = line.waiting.binary_search_by_key(&number, |(number, _)| *number).ok()?;
            line.waiting.remove(at)
        });
        drop(lines);
        // What it holds is dropped here, not under the lock.
        if job.is_some() { Withdrawn::Yes } else { Withdrawn::HasBegun }
    }

    fn add_thread(self: &Arc<Self>, line: &mut Line, store: &str, first: First) -> io::Result<()> {
        let (own, store) = (Arc::clone(self), store.to_owned());
        start_change(move || own.work(&store, first))?;
        line.threads += 1;
        Ok(())
    }

    fn start_watcher(self: &Arc<Self>, store: &str) -> io::Result<()> {
        let (own, store) = (Arc::clone(self), store.to_owned());
        start_change(move || own.watch(&store))
    }

    /// The life of a thread: it ends when no job waits, or when there are more threads than usual and
    /// others begin jobs, too.
    fn work(&self, store: &str, first: First) {
        let mut first = Some(first);
        let mut begun_then = 0;
        let mut lines = self.lines();
        loop {
            let line = lines.of(store);
            let next = match first.take() {
                Some(First::Newest) => line.waiting.pop_back(),
                None if line.threads > self.usual && line.begun > begun_then => None,
                Some(First::Oldest) | None => line.waiting.pop_front(),
            };
            let Some((_, job)) = next else {
                line.threads -= 1;
                lines.forget_unused(store);
                return;
            };
            line.begun += 1;
            begun_then = line.begun;
            drop(lines);
            let _ = catch_unwind(AssertUnwindSafe(job));
            lines = self.lines();
        }
    }

    /// Adds a thread whenever no job was begun for some time, until none waits.
    fn watch(self: &Arc<Self>, store: &str) {
        let mut lines = self.lines();
        loop {
            let line = lines.of(store);
            if line.waiting.is_empty() {
                line.watched = false;
                lines.forget_unused(store);
                return;
            }
            let begun = line.begun;
            let doublings = line.threads.saturating_sub(self.usual).min(MOST_DOUBLINGS);
            drop(lines);
            pause(PATIENCE * (1 << doublings));
            lines = self.lines();
            let line = lines.of(store);
            let is_stuck = line.begun == begun && !line.waiting.is_empty();
            if is_stuck && line.threads < MOST_OF_ONE {
                // Where the system starts no more threads, the jobs wait for those that there are.
                let _ = self.add_thread(line, store, First::Newest);
            }
        }
    }

    /// Whether no job waits and no thread is left.
    #[cfg(test)]
    #[allow(dead_code, reason = "the model in ndzarr-orders asks")]
    pub(crate) fn is_unused(&self) -> bool {
        self.lines().of_stores.is_empty()
    }
}

/// Whether a job was taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Withdrawn {
    /// It will not run.
    Yes,
    /// It runs, or has ended.
    HasBegun,
}
