//! The library's own pool of threads, and loops over it.

use std::cell::Cell;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::available_parallelism;

use ndzarr_codec::Workspace;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// The process id that the pool was made in, and the pool: threads do not survive a fork.
static POOL: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

thread_local! {
    static WORKSPACE: Cell<Option<Box<Workspace>>> = const { Cell::new(None) };
}

/// The pool; made at the first use, and again in a forked child. `None` where no thread can be started.
pub(crate) fn pool() -> Option<Arc<ThreadPool>> {
    let mut slot = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if let Some((made_in, pool)) = slot.as_ref() {
        if *made_in == process {
            return Some(Arc::clone(pool));
        }
        // The threads of the parent are not here: waiting for them, as dropping does, would never end.
        std::mem::forget(slot.take());
    }
    let pool = ThreadPoolBuilder::new()
        .num_threads(available())
        .thread_name(|i| format!("ndzarr-{i}"))
        .build()
        .ok()?;
    let pool = Arc::new(pool);
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

/// How many threads a call may use, the calling one included.
pub(crate) fn n_threads(wanted: Option<NonZeroUsize>) -> usize {
    wanted.map_or_else(available, NonZeroUsize::get)
}

/// How many threads there is a processor for. The system reads files to find out, so it is asked once.
fn available() -> usize {
    static AVAILABLE: OnceLock<usize> = OnceLock::new();
    *AVAILABLE.get_or_init(|| available_parallelism().map_or(1, NonZeroUsize::get))
}

/// Runs `each` on all items, on up to `threads` threads, the calling one among them. Items are taken one by one, so that
/// uneven ones balance. The first error stops the rest.
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
    let queue = Queue::new(items);
    pool.in_place_scope(|scope| {
        for _ in 1..threads {
            scope.spawn(|_| queue.work(&each));
        }
        queue.work(&each);
    });
    queue.result()
}

/// As [`for_each`], on threads of its own: for work that mostly waits, and would keep the pool from what computes.
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
    let queue = Queue::new(items);
    std::thread::scope(|scope| {
        for i in 1..threads {
            let thread = std::thread::Builder::new().name(format!("ndzarr-waiting-{i}"));
            if thread.spawn_scoped(scope, || queue.work(&each)).is_err() {
                // There are enough, as the system sees it.
                break;
            }
        }
        queue.work(&each);
    });
    queue.result()
}

/// Items that several threads take one by one, and the first error of any.
struct Queue<I, E>(Mutex<(I, Option<E>)>);

impl<T, E, I: Iterator<Item = T>> Queue<I, E> {
    fn new(items: I) -> Self {
        Self(Mutex::new((items, None)))
    }

    /// Works until nothing is left, or something failed.
    fn work(&self, each: impl Fn(T) -> Result<(), E>) {
        loop {
            let item = {
                let mut queue = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                if queue.1.is_some() { None } else { queue.0.next() }
            };
            let Some(item) = item else { return };
            if let Err(error) = each(item) {
                self.0.lock().unwrap_or_else(PoisonError::into_inner).1.get_or_insert(error);
                return;
            }
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
    let mut places: Vec<(Option<T>, Option<R>)> = items.into_iter().map(|item| (Some(item), None)).collect();
    // Several at a time, so that short ones do not wait for each other's turn; few enough that uneven ones balance.
    let at_a_time = places.len().div_ceil(threads.saturating_mul(8));
    let done: Result<(), std::convert::Infallible> =
        for_each(places.chunks_mut(at_a_time), threads, |places| {
            for (item, result) in places {
                *result = item.take().map(&each);
            }
            Ok(())
        });
    let Ok(()) = done;
    places.into_iter().filter_map(|(_, result)| result).collect()
}

/// Runs `work` on the pool and waits for it without blocking. A dropped future does not stop it.
pub(crate) async fn on_pool<R: Send + 'static>(work: impl FnOnce() -> R + Send + 'static) -> R {
    let Some(pool) = pool() else { return work() };
    let (send, receive) = futures_channel::oneshot::channel();
    pool.spawn(move || {
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
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

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
