//! The library's own pool of threads, and loops over it.

use std::cell::Cell;
use std::num::NonZeroUsize;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::available_parallelism;

use ndzarr_codec::Workspace;
use rayon::{ThreadPool, ThreadPoolBuilder, Yield};

/// The process id that the pool was made in, and the pool: threads do not survive a fork.
static POOL: Mutex<Option<(u32, Arc<Pool>)>> = Mutex::new(None);

thread_local! {
    static WORKSPACE: Cell<Option<Box<Workspace>>> = const { Cell::new(None) };
    /// Which of the threads of a loop this is; `None` outside of loops.
    static LANE: Cell<Option<u32>> = const { Cell::new(None) };
}

/// Threads that all calls share.
pub(crate) struct Pool {
    threads: ThreadPool,
    /// How many jobs no thread has begun.
    waiting: AtomicUsize,
}

impl Pool {
    /// Lets the jobs begin that wait for a thread now, if this is one of the pool's. All of them: a loop within a loop offers
    /// its own ones on its thread, which come first there.
    fn give_way(&self) {
        for _ in 0..self.waiting.load(Relaxed) {
            if self.threads.yield_now() != Some(Yield::Executed) {
                break;
            }
        }
    }
}

/// The pool; made at the first use, and again in a forked child. `None` where no thread can be started.
fn pool() -> Option<Arc<Pool>> {
    let mut slot = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if let Some((made_in, pool)) = slot.as_ref() {
        if *made_in == process {
            return Some(Arc::clone(pool));
        }
        // The threads of the parent are not here: waiting for them, as dropping does, would never end.
        std::mem::forget(slot.take());
    }
    let threads = ThreadPoolBuilder::new()
        .num_threads(available())
        .thread_name(|i| format!("ndzarr-{i}"))
        .build()
        .ok()?;
    let pool = Arc::new(Pool { threads, waiting: AtomicUsize::new(0) });
    *slot = Some((process, Arc::clone(&pool)));
    Some(pool)
}

/// Lends the calling thread's workspace. A call within a call gets one of its own.
pub(crate) fn with_workspace<R>(run: impl FnOnce(&mut Workspace) -> R) -> R {
    let mut workspace = WORKSPACE.take().unwrap_or_default();
    let result = run(&mut workspace);
    WORKSPACE.set(Some(workspace));
    result
}

/// Makes another workspace the calling thread's, and returns the one that it had.
pub(crate) fn exchange_workspace(workspace: Option<Box<Workspace>>) -> Option<Box<Workspace>> {
    WORKSPACE.replace(workspace)
}

/// Where the calling thread begins with `n` things that the others of its loop go through at the same time, as far from them as
/// can be: the halves, the quarters, and so on.
///
/// Threads that touch a new page of the result at the same time both clear it, and those that write to one page are in each
/// other's way.
pub(crate) fn begin_of(n: usize) -> usize {
    let part = LANE.get().unwrap_or(0).reverse_bits();
    ((n as u128 * u128::from(part)) >> 32) as usize
}

/// How many threads a call may use, the calling one included.
pub(crate) fn n_threads(wanted: Option<NonZeroUsize>) -> usize {
    wanted.map_or_else(available, NonZeroUsize::get)
}

/// How many threads there is a processor for. The system reads files to find out, so it is asked once.
fn available() -> usize {
    static AVAILABLE: OnceLock<usize> = OnceLock::new();
    *AVAILABLE.get_or_init(|| available_parallelism().map_or(1, NonZeroUsize::get))
}

/// Runs `each` on all items, on up to `threads` threads, the calling one among them. The first error stops the rest.
///
/// Each thread begins with a stretch of neighbours of its own, since chunks that lie beside each other share pages of the
/// result: see [`begin_of`]. Who is done takes single items from the ends of the other stretches, so that uneven ones balance.
///
/// The call ends when all its jobs on the pool have, and these must not wait for the end of another call: a thread of the pool
/// looks for them between two items. Being in a loop already, it does not help, and the job is offered again later.
pub(crate) fn for_each<T, E, I>(
    items: I,
    threads: usize,
    each: impl Fn(T) -> Result<(), E> + Sync,
) -> Result<(), E>
where
    T: Send,
    E: Send,
    I: ExactSizeIterator<Item = T> + Send,
{
    let threads = threads.min(items.len());
    let pool = if threads > 1 { pool() } else { None };
    let Some(pool) = pool else {
        let mut items = items;
        return items.try_for_each(each);
    };
    let threads = threads.min(pool.threads.current_num_threads() + 1);
    let queue = Queue::of_stretches(items, threads);
    let begun = AtomicUsize::new(1);
    let declined = AtomicUsize::new(0);
    let help = || {
        pool.waiting.fetch_sub(1, Relaxed);
        if begun.load(Relaxed) >= threads {
            return;
        }
        if LANE.get().is_some() {
            declined.fetch_add(1, Relaxed);
            return;
        }
        let lane = begun.fetch_add(1, Relaxed);
        if lane < threads {
            queue.work(lane, &each, || pool.give_way());
        }
    };
    pool.threads.in_place_scope(|scope| {
        let offer = |n| {
            for _ in 0..n {
                pool.waiting.fetch_add(1, Relaxed);
                scope.spawn(|_| help());
            }
        };
        // One more is woken than may work, and who comes first does: the system often leaves a thread that it wakes behind the
        // calling one, for milliseconds, while another processor has nothing to do. Where jobs wait, all are awake.
        let awake = pool.waiting.load(Relaxed) > 0;
        offer(threads - usize::from(awake));
        queue.work(0, &each, || {
            pool.give_way();
            // One at a time: threads that are busy would look at all of them after each item.
            if declined.load(Relaxed) > 0 {
                declined.fetch_sub(1, Relaxed);
                offer(1);
            }
        });
    });
    queue.result()
}

/// Runs `each` on all items, taken one by one, on threads of its own: for work that mostly waits, and would keep the pool from
/// what computes. The first error stops the rest.
pub(crate) fn for_each_waiting<T, E, I>(
    items: I,
    threads: usize,
    each: impl Fn(T) -> Result<(), E> + Sync,
) -> Result<(), E>
where
    T: Send,
    E: Send,
    I: ExactSizeIterator<Item = T> + Send,
{
    let threads = threads.min(items.len());
    let queue = Queue::of_stretches(items, 1);
    std::thread::scope(|scope| {
        for i in 1..threads {
            let thread = std::thread::Builder::new().name(format!("ndzarr-waiting-{i}"));
            if thread.spawn_scoped(scope, || queue.work(0, &each, || ())).is_err() {
                // There are enough, as the system sees it.
                break;
            }
        }
        queue.work(0, &each, || ());
    });
    queue.result()
}

/// A thread's stay in a loop. A panic ends it too: a thread of the pool would else never help again.
struct Lane {
    outer: Option<u32>,
}

impl Lane {
    fn enter(own: u32) -> Self {
        Self { outer: LANE.replace(Some(own)) }
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        LANE.set(self.outer);
    }
}

/// Items that several threads take, and the first error of any.
struct Queue<T, E>(Mutex<(Vec<std::vec::IntoIter<T>>, Option<E>)>);

impl<T, E> Queue<T, E> {
    /// All items, in `n` stretches that are as long as each other.
    fn of_stretches(items: impl ExactSizeIterator<Item = T>, n: usize) -> Self {
        let (len, mut items) = (items.len(), items);
        let stretch =
            |i: usize| items.by_ref().take(len * (i + 1) / n - len * i / n).collect::<Vec<_>>().into_iter();
        Self(Mutex::new(((0..n).map(stretch).collect(), None)))
    }

    /// The next item of stretch `own`, or the last one of the longest other.
    fn take(&self, own: usize) -> Option<T> {
        let (stretches, error) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if error.is_some() {
            return None;
        }
        let next = stretches.get_mut(own).and_then(Iterator::next);
        next.or_else(|| stretches.iter_mut().max_by_key(|stretch| stretch.len())?.next_back())
    }

    /// Works until nothing is left, or something failed. Calls `between` after each item.
    fn work(&self, own: usize, each: impl Fn(T) -> Result<(), E>, between: impl Fn()) {
        let _lane = Lane::enter(own as u32);
        while let Some(item) = self.take(own) {
            if let Err(error) = each(item) {
                self.0.lock().unwrap_or_else(PoisonError::into_inner).1.get_or_insert(error);
                break;
            }
            between();
        }
    }

    fn result(self) -> Result<(), E> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner).1.map_or(Ok(()), Err)
    }
}

/// What `each` makes of all items, in their order, on up to as many threads as [`RunOptions::threads`] allows. Few items are
/// the caller's own work.
///
/// ```
/// let squares = ndzarr_engine::in_parallel(vec![1, 2, 3], None, |n| n * n);
/// assert_eq!(squares, [1, 4, 9]);
/// ```
///
/// [`RunOptions::threads`]: crate::RunOptions::threads
pub fn in_parallel<T: Send, R: Send>(
    items: Vec<T>,
    threads: Option<NonZeroUsize>,
    each: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    /// Below, waking another thread costs as much as it saves.
    const FEW: usize = 8;
    let threads = if items.len() < FEW { 1 } else { n_threads(threads) };
    if threads == 1 {
        return items.into_iter().map(each).collect();
    }
    // An item and what becomes of it have one place: both can be large, and many.
    enum Place<T, R> {
        Item(T),
        Result(R),
        Taken,
    }
    let mut places: Vec<Place<T, R>> = items.into_iter().map(Place::Item).collect();
    // Several at a time, so that short ones do not wait for each other's turn; few enough that uneven ones balance.
    let at_a_time = places.len().div_ceil(threads.saturating_mul(8));
    let done: Result<(), std::convert::Infallible> =
        for_each(places.chunks_mut(at_a_time), threads, |places| {
            for place in places {
                if let Place::Item(item) = std::mem::replace(place, Place::Taken) {
                    *place = Place::Result(each(item));
                }
            }
            Ok(())
        });
    let Ok(()) = done;
    let result = |place| match place {
        Place::Result(result) => Some(result),
        Place::Item(_) | Place::Taken => None,
    };
    places.into_iter().filter_map(result).collect()
}

/// Runs `work` on the pool and waits for it without blocking. A dropped future does not stop it.
pub(crate) async fn on_pool<R: Send + 'static>(work: impl FnOnce() -> R + Send + 'static) -> R {
    let Some(pool) = pool() else { return work() };
    let (send, receive) = futures_channel::oneshot::channel();
    pool.waiting.fetch_add(1, Relaxed);
    let own = Arc::clone(&pool);
    pool.threads.spawn(move || {
        own.waiting.fetch_sub(1, Relaxed);
        // A panic is carried to who waits, as if the work had run there.
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
        let _ = send.send(result);
    });
    match receive.await {
        Ok(Ok(result)) => result,
        Ok(Err(panic)) => std::panic::resume_unwind(panic),
        Err(_) => unreachable!("the job sends before it ends, and the pool runs every job"),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::sync::{Barrier, MutexGuard};
    use std::time::{Duration, Instant};

    use super::*;

    /// For tests that need a thread of the pool, or have all of them.
    pub(crate) fn pool_alone() -> MutexGuard<'static, ()> {
        static ALONE: Mutex<()> = Mutex::new(());
        ALONE.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[test]
    fn threads_that_wait_are_as_many_as_asked_for() {
        // Nobody comes past it alone.
        let barrier = Barrier::new(6);
        let done = AtomicUsize::new(0);
        let all = for_each_waiting(0..12, 6, |_| {
            barrier.wait();
            done.fetch_add(1, Ordering::Relaxed);
            Ok::<_, ()>(())
        });
        assert_eq!((all, done.into_inner()), (Ok(()), 12));
    }

    #[test]
    fn every_item_is_taken_once() {
        for (n, threads) in [(0, 1), (1, 3), (2, 3), (7, 3), (100, 4)] {
            let taken: Vec<AtomicUsize> = (0..n).map(|_| AtomicUsize::new(0)).collect();
            let all = for_each(taken.iter(), threads, |taken| {
                taken.fetch_add(1, Ordering::Relaxed);
                Ok::<_, ()>(())
            });
            assert_eq!(all, Ok(()));
            assert!(taken.into_iter().all(|taken| taken.into_inner() == 1), "{n} items, {threads} threads");
        }
    }

    /// A loop that has all threads of the pool, until it is told to end.
    struct Busy {
        end: Arc<AtomicBool>,
        thread: std::thread::JoinHandle<()>,
    }

    impl Busy {
        /// With loops within its loop, or without.
        fn begin(nested: bool) -> Self {
            let end = Arc::new(AtomicBool::new(false));
            let n = available() + 1;
            let (begun, told) = (Arc::new(Barrier::new(n + 1)), Arc::clone(&end));
            let all = Arc::clone(&begun);
            let thread = std::thread::spawn(move || {
                let items: Vec<usize> = (0..n * 100_000).collect();
                let begins = AtomicUsize::new(0);
                let stopped = for_each(items.into_iter(), n, |_| {
                    if begins.fetch_add(1, Ordering::Relaxed) < n {
                        all.wait();
                    }
                    let wait = |_| {
                        std::thread::sleep(Duration::from_millis(1));
                        if told.load(Ordering::Relaxed) { Err(()) } else { Ok(()) }
                    };
                    if nested { for_each(0..100_000, n, wait) } else { wait(0) }
                });
                assert_eq!(stopped, Err(()));
            });
            begun.wait();
            Self { end, thread }
        }

        fn end(self) {
            self.end.store(true, Ordering::Relaxed);
            self.thread.join().expect("no panic");
        }
    }

    #[test]
    fn a_call_does_not_wait_for_the_end_of_another() {
        let _alone = pool_alone();
        for nested in [false, true] {
            let busy = Busy::begin(nested);
            let (send, receive) = std::sync::mpsc::channel();
            std::thread::spawn(move || {
                let all = for_each(0..4, 2, |_| Ok::<_, ()>(()));
                let asynchronous = crate::block_on::block_on(on_pool(|| 7));
                let _ = send.send((all, asynchronous));
            });
            let done = receive.recv_timeout(Duration::from_secs(60));
            busy.end();
            assert_eq!(done, Ok((Ok(()), 7)), "loops within loops: {nested}");
        }
    }

    #[test]
    fn a_call_gets_help_when_another_ends() {
        let _alone = pool_alone();
        let busy = Mutex::new(Some(Busy::begin(false)));
        let own = std::thread::current().id();
        let since = Instant::now();
        let helped = for_each(0..200_000, 2, |i| {
            if i == 5
                && let Some(busy) = busy.lock().expect("no panic").take()
            {
                busy.end();
            }
            std::thread::sleep(Duration::from_millis(1));
            match std::thread::current().id() == own {
                true if since.elapsed() < Duration::from_secs(60) => Ok(()),
                alone => Err(!alone),
            }
        });
        assert_eq!(helped, Err(true));
    }

    #[test]
    fn threads_help_after_a_panic() {
        let _alone = pool_alone();
        let n = available() + 1;
        // Each thread has one item, and all panic together.
        let all = Barrier::new(n);
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for_each(0..n, n, |_| -> Result<(), ()> {
                all.wait();
                panic!("as a store of somebody's may")
            })
        }));
        assert!(panicked.is_err());
        let since = Instant::now();
        let threads = Mutex::new(std::collections::HashSet::new());
        let helped = for_each(0..200_000, n, |_| {
            let mut threads = threads.lock().expect("no panic");
            threads.insert(std::thread::current().id());
            if threads.len() == n || since.elapsed() > Duration::from_secs(60) {
                return Err(threads.len());
            }
            drop(threads);
            std::thread::sleep(Duration::from_millis(1));
            Ok(())
        });
        assert_eq!(helped, Err(n));
    }

    #[test]
    fn threads_of_a_loop_begin_far_from_each_other() {
        let begin = |own| {
            let begun = Mutex::new(None);
            Queue::<_, ()>::of_stretches(0..1, 1).work(
                own,
                |_| {
                    *begun.lock().expect("no panic") =
                        Some([begin_of(16), begin_of(3), begin_of(1), begin_of(0)]);
                    Ok(())
                },
                || (),
            );
            begun.into_inner().expect("no panic").expect("there is an item")
        };
        assert_eq!(begin(0), [0, 0, 0, 0]);
        assert_eq!([1, 2, 3, 4].map(|own| begin(own)[..2].to_vec()), [[8, 1], [4, 0], [12, 2], [2, 0]]);
        // Outside of a loop, a thread is the first of one.
        assert_eq!(begin_of(16), 0);
    }

    #[test]
    fn a_thread_goes_through_its_own_stretch_then_helps_the_longest() {
        let queue = Queue::<_, ()>::of_stretches(0..10, 3);
        // 0..3, 3..6, 6..10
        assert_eq!([queue.take(1), queue.take(1), queue.take(1)], [Some(3), Some(4), Some(5)]);
        assert_eq!([queue.take(1), queue.take(0), queue.take(1)], [Some(9), Some(0), Some(8)]);
        let mut rest: Vec<_> = std::iter::from_fn(|| queue.take(0)).collect();
        rest.sort_unstable();
        assert_eq!(rest, [1, 2, 6, 7]);
    }

    #[test]
    fn the_first_error_stops_the_rest() {
        for threads in [1, 3] {
            let begun = AtomicUsize::new(0);
            let error = for_each_waiting(0..1000, threads, |i| {
                begun.fetch_add(1, Ordering::Relaxed);
                if i < 5 { Ok(()) } else { Err(i) }
            });
            assert!(error.is_err_and(|i| (5..5 + threads).contains(&i)));
            assert!(begun.into_inner() <= 5 + threads);
        }
    }
}
