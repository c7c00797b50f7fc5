//! The threads of the process-wide pool and the queue of jobs they take from.

use std::cell::Cell;
use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use crate::offer::{Offer, Stay, offered};

/// The process id that the pool was made in, and the pool: threads do not survive a fork.
static POOL: Mutex<Option<(u32, Arc<Pool>)>> = Mutex::new(None);

/// How many jobs of the pool no thread has begun.
static WAITING: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static IS_OWN: Cell<bool> = const { Cell::new(false) };
}

/// Whether this system has threads at all. WebAssembly has none: all work is done where it is handed
/// over.
pub const HAS_THREADS: bool = !cfg!(target_family = "wasm");

/// How often an idle thread looks for work before it sleeps: calls often follow each other closely.
const LOOKS: usize = 32;

/// After this long without any job being begun, another thread is started for those that wait.
const PATIENCE: Duration = Duration::from_millis(10);

/// Threads beyond those that there are processors for, at most. Each one replaces a blocked thread.
const MOST_EXTRA: usize = 500;

type Job = Box<dyn FnOnce() + Send>;

struct Pool {
    state: Mutex<State>,
    wake: Condvar,
    /// How many offers have not been withdrawn.
    offers: AtomicUsize,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    offers: VecDeque<Arc<Offer>>,
    threads: usize,
    /// Threads that sleep, and how many of them have been told to wake.
    asleep: usize,
    woken: usize,
    /// How many jobs were begun so far.
    begun: u64,
    /// Whether a thread watches over the jobs that wait.
    is_watched: bool,
    extra: usize,
}

/// How many threads there is a processor for. The system reads files to find out, so it is asked
/// once.
#[must_use]
pub fn available() -> usize {
    static AVAILABLE: OnceLock<usize> = OnceLock::new();
    *AVAILABLE.get_or_init(|| thread::available_parallelism().map_or(1, NonZeroUsize::get))
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
/// thread is started for them. Where the system starts no thread at all, the job runs here and now.
pub fn spawn(job: impl FnOnce() + Send + 'static) {
    if !HAS_THREADS {
        return job();
    }
    if let Err(job) = pool().push(Box::new(job)) {
        job();
    }
}

/// Whether this thread belongs to the pool.
#[must_use]
pub fn is_own_thread() -> bool {
    IS_OWN.get()
}

/// Whether a helper should leave shared work: this thread belongs to the pool, and a job waits.
#[must_use]
pub fn gives_way() -> bool {
    IS_OWN.get() && WAITING.load(Relaxed) > 0
}

/// The pool; made at the first use, and again in a forked child.
fn pool() -> Arc<Pool> {
    let mut slot = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    match slot.as_ref() {
        Some((made_in, pool)) if *made_in == process => Arc::clone(pool),
        _ => {
            // The memory of the parent's threads cannot be freed here.
            std::mem::forget(slot.take());
            WAITING.store(0, Relaxed);
            let (state, wake) = (Mutex::default(), Condvar::new());
            let pool = Arc::new(Pool { state, wake, offers: AtomicUsize::new(0) });
            *slot = Some((process, Arc::clone(&pool)));
            pool
        }
    }
}

impl Pool {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn publish(self: &Arc<Self>, offer: &Arc<Offer>, helpers: usize) {
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
    fn wake_up(self: &Arc<Self>, state: &mut State, n: usize) {
        for _ in 0..n {
            if state.woken < state.asleep {
                state.woken += 1;
                self.wake.notify_one();
            } else if state.threads < available() {
                let pool = Arc::clone(self);
                let name = format!("ndzarr-{}", state.threads);
                if thread::Builder::new().name(name).spawn(move || pool.work()).is_err() {
                    return;
                }
                state.threads += 1;
            }
        }
    }

    /// Takes a job in; gives it back if there is no thread and none can be started.
    fn push(self: &Arc<Self>, job: Job) -> Result<(), Job> {
        let mut state = self.state();
        state.jobs.push_back(job);
        WAITING.fetch_add(1, Relaxed);
        self.wake_up(&mut state, 1);
        if state.threads == 0 {
            WAITING.fetch_sub(1, Relaxed);
            return state.jobs.pop_back().map_or(Ok(()), Err);
        }
        self.watch_over(&mut state);
        Ok(())
    }

    /// Ensures that jobs are begun even if every thread is blocked.
    fn watch_over(self: &Arc<Self>, state: &mut State) {
        let all_sleep = state.asleep - state.woken > 0;
        if state.is_watched || all_sleep || state.jobs.is_empty() || state.extra >= MOST_EXTRA {
            return;
        }
        let pool = Arc::clone(self);
        let watcher = thread::Builder::new().name("ndzarr-extra".to_owned());
        state.is_watched = watcher.spawn(move || pool.watch()).is_ok();
    }

    /// Waits until no job was begun for some time, and then runs those that wait. Without any, it ends:
    /// not sooner, since bursts of jobs that follow each other would start a thread each.
    fn watch(self: &Arc<Self>) {
        IS_OWN.set(true);
        let never = Condvar::new();
        let mut state = self.state();
        loop {
            let (begun, was_empty) = (state.begun, state.jobs.is_empty());
            let patience = PATIENCE * (1 << state.extra.min(6));
            state = never.wait_timeout(state, patience).unwrap_or_else(PoisonError::into_inner).0;
            match (state.begun == begun, state.jobs.is_empty()) {
                (true, true) => {
                    state.is_watched = false;
                    return;
                }
                (true, false) if !was_empty => break,
                _ => {}
            }
        }
        state.is_watched = false;
        state.extra += 1;
        while let Some(job) = self.next_job(&mut state) {
            self.watch_over(&mut state);
            drop(state);
            run(job);
            state = self.state();
        }
        state.extra -= 1;
    }

    fn next_job(&self, state: &mut State) -> Option<Job> {
        let job = state.jobs.pop_front()?;
        WAITING.fetch_sub(1, Relaxed);
        state.begun += 1;
        Some(job)
    }

    /// The life of a thread: jobs first, since a caller waits for each; then what others offer.
    fn work(self: Arc<Self>) {
        IS_OWN.set(true);
        let mut state = self.state();
        loop {
            if let Some(job) = self.next_job(&mut state) {
                drop(state);
                run(job);
                state = self.state();
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
            if WAITING.load(Relaxed) > 0 || self.offers.load(Relaxed) > offers {
                return self.state();
            }
        }
        let mut state = self.state();
        if !state.jobs.is_empty() || state.offers.iter().any(|offer| offer.has_room()) {
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

fn run(job: Job) {
    let _ = catch_unwind(AssertUnwindSafe(job));
}
