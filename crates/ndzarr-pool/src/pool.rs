//! The threads of the process-wide pool and the queues of jobs they take from.

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

use crate::offer::{Offer, Stay, offered};

/// Threads do not survive a fork.
static POOL: PerProcess<Pool> = PerProcess::new();

thread_local! {
    /// The pool that this thread belongs to.
    static OWN: Cell<Option<&'static Pool>> = const { Cell::new(None) };
}

/// Whether this system has threads at all. WebAssembly has none: all work is done where it is handed
/// over.
pub const HAS_THREADS: bool = !cfg!(target_family = "wasm");

/// How often an idle thread looks for work before it sleeps: calls often follow each other closely.
const LOOKS: usize = 32;

/// After this long without any job being begun, another thread is started for those that wait. The
/// time doubles with each further thread that is in jobs of the same store.
const PATIENCE: Duration = Duration::from_millis(10);
const MOST_DOUBLINGS: usize = 6;

/// The most threads that are in jobs of one store. All but the first few replace blocked threads.
const MOST_OF_ONE: usize = 500;

/// Queues without a job are kept for the next one, up to this many.
const KEPT_QUEUES: usize = 16;

/// Which jobs a job queues with: those that one hung store would hold up together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queue(u64);

impl Queue {
    /// That of jobs which only compute.
    pub const COMPUTE: Self = Self(0);

    /// That of jobs which use the store of this name.
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
    /// Notified when a job comes for which the watching thread should wait less.
    hurry: Condvar,
    /// How many offers have not been withdrawn.
    offers: AtomicUsize,
    /// How many jobs a thread may begin.
    waiting: AtomicUsize,
}

#[derive(Default)]
struct State {
    queues: Vec<Jobs>,
    offers: VecDeque<Arc<Offer>>,
    threads: usize,
    /// Threads that sleep, and how many of them have been told to wake.
    asleep: usize,
    woken: usize,
    /// How many jobs were begun so far.
    begun: u64,
    /// How long the thread that watches over the jobs waits for one to begin; `None` without such a
    /// thread.
    watched: Option<Duration>,
}

/// The jobs of one queue.
struct Jobs {
    queue: Queue,
    waiting: VecDeque<Job>,
    running: usize,
    /// The number of the job that was begun last.
    last: u64,
}

impl Jobs {
    fn is_open(&self) -> bool {
        !self.waiting.is_empty() && self.running < MOST_OF_ONE
    }

    fn patience(&self) -> Duration {
        PATIENCE * (1 << self.running.saturating_sub(available()).min(MOST_DOUBLINGS))
    }
}

impl State {
    /// The jobs of a queue.
    fn of(&mut self, queue: Queue) -> &mut Jobs {
        if let Some(at) = self.queues.iter().position(|jobs| jobs.queue == queue) {
            return &mut self.queues[at];
        }
        if self.queues.len() >= KEPT_QUEUES {
            self.queues.retain(|jobs| jobs.running > 0 || !jobs.waiting.is_empty());
        }
        self.queues.push(Jobs { queue, waiting: VecDeque::new(), running: 0, last: 0 });
        let at = self.queues.len() - 1;
        &mut self.queues[at]
    }

    /// The queue whose turn it is: that with the fewest threads.
    fn next_jobs(&mut self) -> Option<&mut Jobs> {
        self.queues.iter_mut().filter(|jobs| jobs.is_open()).min_by_key(|jobs| (jobs.running, jobs.last))
    }
}

/// How many threads there is a processor for. The system reads files to find out, so it is not asked
/// again.
#[must_use]
pub fn available() -> usize {
    /// 0 before it is known.
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
/// Returns when the work has ended on every thread that began it. A helper should look at
/// [`gives_way`] between two pieces and return [`Stay::Interrupted`] where it says so; the lane is
/// given again later.
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
    offered(helpers, work, |offer| pool.publish(offer, helpers), |offer| pool.withdraw(offer));
}

/// Runs a job on a thread of the pool. A panic of it is lost.
///
/// The job may block. When no job has begun for some milliseconds although some wait, another
/// thread is started for them. Jobs of one queue begin in order; queues take turns, and those with few
/// jobs at work come first, so that a store that hangs does not hold up the others. Where the system
/// starts no thread at all, the job runs here and now.
pub fn spawn(queue: Queue, job: impl FnOnce() + Send + 'static) {
    if !HAS_THREADS {
        return job();
    }
    if let Err(job) = pool().push(queue, Box::new(job)) {
        job();
    }
}

/// Whether this thread belongs to the pool.
#[must_use]
pub fn is_own_thread() -> bool {
    OWN.get().is_some()
}

/// Whether a helper should leave shared work: this thread belongs to the pool, and a job waits.
#[must_use]
pub fn gives_way() -> bool {
    OWN.get().is_some_and(|pool| pool.waiting.load(Relaxed) > 0)
}

/// The pool; made at the first use, and again in a forked child.
fn pool() -> &'static Pool {
    POOL.get(|_| Pool {
        state: Mutex::default(),
        wake: Condvar::new(),
        hurry: Condvar::new(),
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
        // One more is woken than may help, and the first ones do: the system often queues a woken
        // thread behind the calling one, for milliseconds, while another processor is idle.
        self.wake_up(&mut state, helpers + 1);
    }

    fn withdraw(&self, offer: &Arc<Offer>) {
        self.state().offers.retain(|other| !Arc::ptr_eq(offer, other));
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
                if thread::Builder::new().name(name).spawn(|| self.work()).is_err() {
                    return;
                }
                state.threads += 1;
            }
        }
    }

    /// Takes a job in; gives it back if there is no thread and none can be started.
    fn push(&'static self, queue: Queue, job: Job) -> Result<(), Job> {
        let mut state = self.state();
        state.of(queue).waiting.push_back(job);
        self.wake_up(&mut state, 1);
        if state.threads == 0 {
            return state.of(queue).waiting.pop_back().map_or(Ok(()), Err);
        }
        self.count(&state);
        self.watch_over(&mut state);
        Ok(())
    }

    fn count(&self, state: &State) {
        let open = state.queues.iter().filter(|jobs| jobs.is_open());
        self.waiting.store(open.map(|jobs| jobs.waiting.len()).sum(), Relaxed);
    }

    /// Ensures that jobs are begun even if every thread is blocked.
    fn watch_over(&'static self, state: &mut State) {
        let one_sleeps = state.asleep - state.woken > 0;
        if one_sleeps {
            return;
        }
        let Some(patience) = state.next_jobs().map(|jobs| jobs.patience()) else { return };
        match state.watched {
            Some(watched) if watched <= patience => return,
            Some(_) => self.hurry.notify_one(),
            None => {
                let watcher = thread::Builder::new().name("ndzarr-extra".to_owned());
                if watcher.spawn(|| self.watch()).is_err() {
                    return;
                }
            }
        }
        state.watched = Some(patience);
    }

    /// Waits until no job was begun for some time, and then runs those that wait. Without any, it ends:
    /// not sooner, since bursts of jobs that follow each other would start a thread each.
    fn watch(&'static self) {
        OWN.set(Some(self));
        let mut state = self.state();
        loop {
            let begun = state.begun;
            let waiting = state.next_jobs().map(|jobs| jobs.patience());
            let patience = waiting.unwrap_or(PATIENCE);
            state.watched = Some(patience);
            let waited = self.hurry.wait_timeout(state, patience).unwrap_or_else(PoisonError::into_inner);
            state = waited.0;
            if state.begun != begun || !waited.1.timed_out() {
                continue;
            }
            match (waiting, state.next_jobs()) {
                (None, None) => {
                    state.watched = None;
                    return;
                }
                (Some(_), Some(_)) => break,
                _ => {}
            }
        }
        state.watched = None;
        while let Some(next) = self.begin(&mut state) {
            self.watch_over(&mut state);
            state = self.run(state, next);
        }
    }

    /// Takes the next job.
    fn begin(&self, state: &mut State) -> Option<(Queue, Job)> {
        let begun = state.begun + 1;
        let jobs = state.next_jobs()?;
        let job = jobs.waiting.pop_front()?;
        jobs.running += 1;
        jobs.last = begun;
        let queue = jobs.queue;
        state.begun = begun;
        self.count(state);
        Some((queue, job))
    }

    fn run<'s>(&'s self, state: MutexGuard<'s, State>, (queue, job): (Queue, Job)) -> MutexGuard<'s, State> {
        drop(state);
        let _ = catch_unwind(AssertUnwindSafe(job));
        let mut state = self.state();
        state.of(queue).running -= 1;
        self.count(&state);
        state
    }

    /// The life of a thread: jobs first, since a caller waits for each; then what others offer.
    fn work(&'static self) {
        OWN.set(Some(self));
        let mut state = self.state();
        loop {
            if let Some(next) = self.begin(&mut state) {
                state = self.run(state, next);
            } else if let Some(offer) = state.offers.pop_front() {
                // The next thread is to find it too, behind the others.
                state.offers.push_back(Arc::clone(&offer));
                let found = offer.has_room().then_some(offer).or_else(|| {
                    let at = state.offers.iter().position(|offer| offer.has_room())?;
                    state.offers.get(at).cloned()
                });
                match found {
                    None => state = self.rest(state),
                    Some(offer) => {
                        drop(state);
                        offer.help();
                        state = self.state();
                    }
                }
            } else {
                state = self.rest(state);
            }
        }
    }

    /// Looks for work for a moment, then sleeps until there is some.
    fn rest<'s>(&'s self, state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
        let offers = state.offers.len();
        drop(state);
        for _ in 0..LOOKS {
            thread::yield_now();
            if self.waiting.load(Relaxed) > 0 || self.offers.load(Relaxed) > offers {
                return self.state();
            }
        }
        let mut state = self.state();
        if self.waiting.load(Relaxed) > 0 || state.offers.iter().any(|offer| offer.has_room()) {
            return state;
        }
        state.asleep += 1;
        while state.woken == 0 {
            state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.woken -= 1;
        state.asleep -= 1;
        state
    }
}
