//! The threads of the process-wide pool, and the queues from which they take jobs.

use std::cell::Cell;
use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use ndzarr_store::PerProcess;

use crate::offer::{Offer, Stay, run_with_helpers};

/// Threads do not survive a fork, so a child has its own pool.
static POOL: PerProcess<Pool> = PerProcess::new();

thread_local! {
    /// The pool that this thread belongs to.
    static POOL_OF_THREAD: Cell<Option<&'static Pool>> = const { Cell::new(None) };
}

/// True if this system has threads. WebAssembly has none: all work is done on the calling thread.
pub const HAS_THREADS: bool = !cfg!(target_family = "wasm");

/// The number of times that an idle thread looks for work before it sleeps: calls often follow each
/// other closely.
const IDLE_CHECKS: usize = 32;

/// If no job begins for this long, another thread is started for those that wait. The time doubles
/// with each further thread that runs jobs of the same store.
const PATIENCE: Duration = Duration::from_millis(10);
const MAX_DOUBLINGS: usize = 6;

/// The most threads that run jobs of one store. All but the first few replace blocked threads.
const MAX_THREADS_PER_STORE: usize = 500;

/// Queues without a job are kept for later jobs until this many queues exist.
const MAX_KEPT_QUEUES: usize = 16;

/// The queue of a job: the jobs in it are those that one hung store would hold up together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue(u64);

impl Queue {
    /// The queue of jobs that only compute.
    pub const COMPUTE: Self = Self(0);

    /// The queue of jobs that use the store of this name.
    #[must_use]
    pub fn of_store(name: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        Self(hasher.finish())
    }
}

type Job = Box<dyn FnOnce() + Send>;

struct Pool {
    state: Mutex<State>,
    wake: Condvar,
    /// Notified when a job arrives for which the watching thread should wait less.
    watch_sooner: Condvar,
    /// The number of offers that have not been withdrawn.
    offers: AtomicUsize,
    /// The number of jobs that a thread may begin.
    waiting: AtomicUsize,
}

#[derive(Default)]
struct State {
    queues: Vec<Jobs>,
    offers: VecDeque<Arc<Offer>>,
    threads: usize,
    /// The number of threads that sleep.
    asleep: usize,
    /// The number of sleeping threads that were notified and have not woken yet.
    woken: usize,
    /// The number of jobs begun so far.
    begun: u64,
    /// The time that the thread which watches over the jobs waits for one to begin; `None` if no
    /// thread watches.
    watched: Option<Duration>,
}

/// The jobs of one queue.
struct Jobs {
    queue: Queue,
    waiting: VecDeque<Job>,
    running: usize,
    /// The number of the job that was begun last.
    last_begun: u64,
}

impl Jobs {
    fn is_open(&self) -> bool {
        !self.waiting.is_empty() && self.running < MAX_THREADS_PER_STORE
    }

    fn patience(&self) -> Duration {
        PATIENCE * (1 << self.running.saturating_sub(available()).min(MAX_DOUBLINGS))
    }
}

impl State {
    /// The jobs of a queue.
    fn jobs_of(&mut self, queue: Queue) -> &mut Jobs {
        if let Some(index) = self.queues.iter().position(|jobs| jobs.queue == queue) {
            return &mut self.queues[index];
        }
        if self.queues.len() >= MAX_KEPT_QUEUES {
            self.queues
                .retain(|jobs| jobs.running > 0 || !jobs.waiting.is_empty());
        }
        self.queues.push(Jobs {
            queue,
            waiting: VecDeque::new(),
            running: 0,
            last_begun: 0,
        });
        let index = self.queues.len() - 1;
        &mut self.queues[index]
    }

    /// The jobs to take from next: those of the queue with the fewest threads.
    fn next_jobs(&mut self) -> Option<&mut Jobs> {
        self.queues
            .iter_mut()
            .filter(|jobs| jobs.is_open())
            .min_by_key(|jobs| (jobs.running, jobs.last_begun))
    }
}

/// The number of threads that the processors can run at once. Finding out makes the system read
/// files, so the number is kept.
#[must_use]
pub fn available() -> usize {
    /// 0 while it is unknown.
    static AVAILABLE: AtomicUsize = AtomicUsize::new(0);
    let known = AVAILABLE.load(Relaxed);
    if known > 0 {
        return known;
    }
    let found = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    AVAILABLE.store(found, Relaxed);
    found
}

/// Runs `work` on the calling thread, in lane 0, and on up to `helpers` threads of the pool, each
/// in its own lane. Each call of `work` should take pieces of the work until none is left.
///
/// Returns when the work has ended on every thread that began it. A helper should call
/// [`gives_way`] between two pieces and return [`Stay::Interrupted`] if that is true; its lane is
/// then free for another helper.
///
/// # Panics
/// With the first panic of `work`, after all threads have left it.
pub fn share(helpers: usize, work: &(dyn Fn(usize) -> Stay + Sync)) {
    let helpers = helpers.min(available());
    if helpers == 0 || !HAS_THREADS {
        work(0);
        return;
    }
    let pool = pool();
    run_with_helpers(
        helpers,
        work,
        |offer| pool.publish(offer, helpers),
        |offer| pool.withdraw(offer),
    );
}

/// Runs a job on a thread of the pool. If the job panics, the panic is lost.
///
/// The job may block. When no job has begun for some milliseconds although some wait, another
/// thread is started for them. Jobs of one queue begin in order; queues take turns, and those with
/// few running jobs come first, so that a store that hangs does not hold up the others. If the
/// system starts no thread at all, the job runs on the calling thread.
pub fn spawn(queue: Queue, job: impl FnOnce() + Send + 'static) {
    if !HAS_THREADS {
        return job();
    }
    if let Err(job) = pool().push(queue, Box::new(job)) {
        job();
    }
}

/// True if this thread belongs to the pool.
#[must_use]
pub fn is_own_thread() -> bool {
    POOL_OF_THREAD.get().is_some()
}

/// True if a helper should leave shared work: this thread belongs to the pool, and a job waits.
#[must_use]
pub fn gives_way() -> bool {
    POOL_OF_THREAD
        .get()
        .is_some_and(|pool| pool.waiting.load(Relaxed) > 0)
}

/// The pool; made at the first use, and again in a forked child.
fn pool() -> &'static Pool {
    POOL.get(|_| Pool {
        state: Mutex::default(),
        wake: Condvar::new(),
        watch_sooner: Condvar::new(),
        offers: AtomicUsize::new(0),
        waiting: AtomicUsize::new(0),
    })
}

impl Pool {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn publish(&'static self, offer: &Arc<Offer>, helpers: usize) {
        let mut state = self.state();
        state.offers.push_back(Arc::clone(offer));
        self.offers.fetch_add(1, Relaxed);
        // One more is woken than may help, and the first ones do: the system often runs a woken
        // thread after the calling one, milliseconds later, while another processor is idle.
        self.wake_up(&mut state, helpers + 1);
    }

    fn withdraw(&self, offer: &Arc<Offer>) {
        self.state()
            .offers
            .retain(|other| !Arc::ptr_eq(offer, other));
        self.offers.fetch_sub(1, Relaxed);
    }

    /// Wakes sleeping threads, or starts new ones where not all have been started.
    fn wake_up(&'static self, state: &mut State, n: usize) {
        for _ in 0..n {
            if state.woken < state.asleep {
                state.woken += 1;
                self.wake.notify_one();
            } else if state.threads < available() {
                let name = format!("ndzarr-{}", state.threads);
                if thread::Builder::new()
                    .name(name)
                    .spawn(|| self.work())
                    .is_err()
                {
                    return;
                }
                state.threads += 1;
            }
        }
    }

    /// Adds a job; returns it if the pool has no thread and none can be started.
    fn push(&'static self, queue: Queue, job: Job) -> Result<(), Job> {
        let mut state = self.state();
        state.jobs_of(queue).waiting.push_back(job);
        self.wake_up(&mut state, 1);
        if state.threads == 0 {
            return state.jobs_of(queue).waiting.pop_back().map_or(Ok(()), Err);
        }
        self.update_waiting(&state);
        self.watch_over(&mut state);
        Ok(())
    }

    fn update_waiting(&self, state: &State) {
        let open = state.queues.iter().filter(|jobs| jobs.is_open());
        self.waiting
            .store(open.map(|jobs| jobs.waiting.len()).sum(), Relaxed);
    }

    /// Ensures that jobs are begun even if every thread is blocked.
    fn watch_over(&'static self, state: &mut State) {
        let one_sleeps = state.asleep - state.woken > 0;
        if one_sleeps {
            return;
        }
        let Some(patience) = state.next_jobs().map(|jobs| jobs.patience()) else {
            return;
        };
        match state.watched {
            Some(watched) if watched <= patience => return,
            Some(_) => self.watch_sooner.notify_one(),
            None => {
                let watcher = thread::Builder::new().name("ndzarr-extra".to_owned());
                if watcher.spawn(|| self.watch()).is_err() {
                    return;
                }
            }
        }
        state.watched = Some(patience);
    }

    /// Waits until no job was begun for some time, then runs those that wait. Ends if no job has
    /// been waiting for that time: ended sooner, each of a series of bursts would start a thread.
    fn watch(&'static self) {
        POOL_OF_THREAD.set(Some(self));
        let mut state = self.state();
        loop {
            let begun = state.begun;
            let patience_of_next = state.next_jobs().map(|jobs| jobs.patience());
            let patience = patience_of_next.unwrap_or(PATIENCE);
            state.watched = Some(patience);
            let (guard, waited) = self
                .watch_sooner
                .wait_timeout(state, patience)
                .unwrap_or_else(PoisonError::into_inner);
            state = guard;
            if state.begun != begun || !waited.timed_out() {
                continue;
            }
            match (patience_of_next, state.next_jobs()) {
                (None, None) => {
                    state.watched = None;
                    return;
                }
                (Some(_), Some(_)) => break,
                _ => {}
            }
        }
        state.watched = None;
        while let Some(next) = self.take_next(&mut state) {
            self.watch_over(&mut state);
            state = self.run(state, next);
        }
    }

    /// Takes the next job.
    fn take_next(&self, state: &mut State) -> Option<(Queue, Job)> {
        let begun = state.begun + 1;
        let jobs = state.next_jobs()?;
        let job = jobs.waiting.pop_front()?;
        jobs.running += 1;
        jobs.last_begun = begun;
        let queue = jobs.queue;
        state.begun = begun;
        self.update_waiting(state);
        Some((queue, job))
    }

    fn run<'s>(
        &'s self,
        state: MutexGuard<'s, State>,
        (queue, job): (Queue, Job),
    ) -> MutexGuard<'s, State> {
        drop(state);
        let _ = catch_unwind(AssertUnwindSafe(job));
        let mut state = self.state();
        state.jobs_of(queue).running -= 1;
        self.update_waiting(&state);
        state
    }

    /// The loop of a thread: jobs first, since a caller waits for each; then offers of shared work.
    fn work(&'static self) {
        POOL_OF_THREAD.set(Some(self));
        let mut state = self.state();
        loop {
            if let Some(next) = self.take_next(&mut state) {
                state = self.run(state, next);
            } else if let Some(offer) = state.offers.pop_front() {
                // The next thread must find it too, after the other offers.
                state.offers.push_back(Arc::clone(&offer));
                let found = if offer.has_free_lane() {
                    Some(offer)
                } else {
                    state
                        .offers
                        .iter()
                        .find(|offer| offer.has_free_lane())
                        .cloned()
                };
                match found {
                    None => state = self.idle(state),
                    Some(offer) => {
                        drop(state);
                        offer.help();
                        state = self.state();
                    }
                }
            } else {
                state = self.idle(state);
            }
        }
    }

    /// Looks for work for a moment, then sleeps until it is woken.
    fn idle<'s>(&'s self, state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        let offers = state.offers.len();
        drop(state);
        for _ in 0..IDLE_CHECKS {
            thread::yield_now();
            if self.waiting.load(Relaxed) > 0 || self.offers.load(Relaxed) > offers {
                return self.state();
            }
        }
        let mut state = self.state();
        if self.waiting.load(Relaxed) > 0 || state.offers.iter().any(|offer| offer.has_free_lane())
        {
            return state;
        }
        state.asleep += 1;
        while state.woken == 0 {
            state = self
                .wake
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
        state.woken -= 1;
        state.asleep -= 1;
        state
    }
}
