//! Loops over items, on threads shared by all calls.

use std::cell::Cell;
use std::num::NonZeroUsize;
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::{Mutex, MutexGuard, PoisonError};

use ndzarr_pool::{Stay, available, gives_way, share};

thread_local! {
    /// The number of this thread in its loop; `None` outside of loops.
    static LANE: Cell<Option<u32>> = const { Cell::new(None) };
}

/// Where the calling thread begins with `n` items that the other threads of its loop process at the
/// same time: as far from them as possible, at halves, quarters, and so on.
///
/// Threads that touch a new page of the result at the same time both clear it, and threads that
/// write to one page slow each other down.
pub(crate) fn begin_of(n: usize) -> usize {
    // As a fraction of 2^32.
    let begin = LANE.get().unwrap_or(0).reverse_bits();
    ((n as u128 * u128::from(begin)) >> 32) as usize
}

/// How many threads a call may use, including the calling one: the number of processors, unless it
/// wants another one.
#[must_use]
pub fn n_threads(wanted: Option<NonZeroUsize>) -> usize {
    wanted.map_or_else(available, NonZeroUsize::get)
}

/// Runs `each` on all items, on up to `threads` threads, including the calling one. The first error
/// stops the rest.
///
/// Each thread begins with its own stretch of neighbours, since adjacent chunks share pages of the
/// result: see [`begin_of`]. A thread that is done takes single items from the ends of the other
/// stretches, which balances uneven ones.
pub(crate) fn for_each<S: Sequence, E: Send>(
    items: S,
    threads: usize,
    each: impl Fn(S::Item) -> Result<(), E> + Sync,
) -> Result<(), E> {
    let threads = threads.min(items.len()).min(available() + 1);
    if threads <= 1 {
        let mut items = items;
        while let Some(item) = items.next() {
            each(item)?;
        }
        return Ok(());
    }
    let queue = Queue::of_stretches(items, threads);
    share(threads - 1, &|lane| queue.work(lane, &each));
    queue.result()
}

/// Runs `each` on all items, taken one by one, on separate threads: for work that mostly waits and
/// would keep the pool from computing. The first error stops the rest.
///
/// # Panics
/// With a panic of `each`, after all threads have ended.
pub(crate) fn for_each_waiting<S: Sequence, E: Send>(
    items: S,
    threads: usize,
    each: impl Fn(S::Item) -> Result<(), E> + Sync,
) -> Result<(), E> {
    let threads = threads.min(items.len());
    let queue = Queue::of_stretches(items, 1);
    std::thread::scope(|scope| {
        let mut others = Vec::new();
        for i in 1..threads {
            let thread = std::thread::Builder::new().name(format!("ndzarr-waiting-{i}"));
            let Ok(other) = thread.spawn_scoped(scope, || queue.work(0, &each)) else {
                // The system allows no more threads.
                break;
            };
            others.push(other);
        }
        queue.work(0, &each);
        for other in others {
            // The scope would replace the panic of an unjoined thread by its own.
            if let Err(panic) = other.join() {
                resume_unwind(panic);
            }
        }
    });
    queue.result()
}

/// Says that a thread is in a loop, until it is dropped. A panic ends this, too: otherwise a thread
/// of the pool would never help again.
struct Lane {
    outer: Option<u32>,
}

impl Lane {
    fn enter(own: u32) -> Self {
        Self {
            outer: LANE.replace(Some(own)),
        }
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        LANE.set(self.outer);
    }
}

/// Items that several threads take, and the first error of any.
struct Queue<S, E> {
    /// Separate locks: threads wait there only when they help each other.
    stretches: Vec<Mutex<S>>,
    failed: Mutex<Option<E>>,
}

impl<S: Sequence, E> Queue<S, E> {
    /// All items, in `n` stretches of equal length.
    fn of_stretches(mut items: S, n: usize) -> Self {
        let len = items.len();
        let ends = (1..=n).map(|i| (len as u128 * i as u128 / n as u128) as usize);
        let mut start = 0;
        let stretch = |end| {
            let stretch = items.split_front(end - start);
            start = end;
            Mutex::new(stretch)
        };
        Self {
            stretches: ends.map(stretch).collect(),
            failed: Mutex::new(None),
        }
    }

    /// The next item of stretch `own`, or the last one of the longest other.
    fn take(&self, own: usize) -> Option<S::Item> {
        if lock(&self.failed).is_some() {
            return None;
        }
        let next = self
            .stretches
            .get(own)
            .and_then(|stretch| lock(stretch).next());
        if next.is_some() {
            return next;
        }
        loop {
            let lens = self.stretches.iter().map(|stretch| lock(stretch).len());
            let (longest, len) = lens.enumerate().max_by_key(|(_, len)| *len)?;
            if len == 0 {
                return None;
            }
            // Another thread may have taken the last one in the meantime.
            let last = lock(&self.stretches[longest]).next_back();
            if last.is_some() {
                return last;
            }
        }
    }

    /// Works until nothing is left, something failed, or a job waits for this thread.
    fn work(&self, own: usize, each: impl Fn(S::Item) -> Result<(), E>) -> Stay {
        let _lane = Lane::enter(own as u32);
        while let Some(item) = self.take(own) {
            if let Err(error) = each(item) {
                lock(&self.failed).get_or_insert(error);
                break;
            }
            if own > 0 && gives_way() {
                return Stay::Interrupted;
            }
        }
        Stay::Ended
    }

    fn result(self) -> Result<(), E> {
        self.failed
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
            .map_or(Ok(()), Err)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The results of `each` for all items, in order, computed on up to [`RunOptions::threads`]
/// threads. If the items are few, the calling thread processes all of them.
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
    /// With fewer items, waking another thread costs as much as it saves.
    const FEW: usize = 8;
    let threads = if items.len() < FEW {
        1
    } else {
        n_threads(threads)
    };
    if threads == 1 {
        return items.into_iter().map(each).collect();
    }
    // An item and its result share a slot: both can be large and numerous.
    enum Slot<T, R> {
        Item(T),
        Result(R),
        Taken,
    }
    let mut slots: Vec<Slot<T, R>> = items.into_iter().map(Slot::Item).collect();
    // Several at a time, so that short ones do not wait for each other; few enough to balance
    // uneven ones.
    let at_a_time = slots.len().div_ceil(threads.saturating_mul(8));
    let done: Result<(), std::convert::Infallible> = for_each(
        slots.chunks_mut(at_a_time).collect::<Vec<_>>().into_iter(),
        threads,
        |slots| {
            for slot in slots {
                if let Slot::Item(item) = std::mem::replace(slot, Slot::Taken) {
                    *slot = Slot::Result(each(item));
                }
            }
            Ok(())
        },
    );
    let Ok(()) = done;
    let result = |slot| match slot {
        Slot::Result(result) => Some(result),
        Slot::Item(_) | Slot::Taken => None,
    };
    slots.into_iter().filter_map(result).collect()
}

/// Items that may be made as they are taken, so that a call over very many of them holds few.
pub(crate) trait Sequence: Sized + Send {
    type Item: Send;

    /// The number of items left.
    fn len(&self) -> usize;

    fn next(&mut self) -> Option<Self::Item>;

    fn next_back(&mut self) -> Option<Self::Item>;

    /// Removes and returns the first `n` items. It has at least that many.
    fn split_front(&mut self, n: usize) -> Self;
}

impl<T: Send> Sequence for std::vec::IntoIter<T> {
    type Item = T;

    fn len(&self) -> usize {
        ExactSizeIterator::len(self)
    }

    fn next(&mut self) -> Option<T> {
        Iterator::next(self)
    }

    fn next_back(&mut self) -> Option<T> {
        DoubleEndedIterator::next_back(self)
    }

    fn split_front(&mut self, n: usize) -> Self {
        self.take(n).collect::<Vec<_>>().into_iter()
    }
}

impl Sequence for Range<u64> {
    type Item = u64;

    fn len(&self) -> usize {
        usize::try_from(self.end - self.start).unwrap_or(usize::MAX)
    }

    fn next(&mut self) -> Option<u64> {
        Iterator::next(self)
    }

    fn next_back(&mut self) -> Option<u64> {
        DoubleEndedIterator::next_back(self)
    }

    fn split_front(&mut self, n: usize) -> Self {
        let front = self.start..self.start.saturating_add(n as u64).min(self.end);
        self.start = front.end;
        front
    }
}

/// The items of another sequence in pairs; the last one may have no partner.
pub(crate) struct Twos<S>(pub(crate) S);

impl<S: Sequence> Sequence for Twos<S> {
    type Item = (S::Item, Option<S::Item>);

    fn len(&self) -> usize {
        self.0.len().div_ceil(2)
    }

    fn next(&mut self) -> Option<Self::Item> {
        let first = self.0.next()?;
        Some((first, self.0.next()))
    }

    fn next_back(&mut self) -> Option<Self::Item> {
        let is_last_single = self.0.len() % 2 == 1;
        let last = self.0.next_back()?;
        if is_last_single {
            return Some((last, None));
        }
        match self.0.next_back() {
            Some(first) => Some((first, Some(last))),
            None => Some((last, None)),
        }
    }

    fn split_front(&mut self, n: usize) -> Self {
        let n = n.saturating_mul(2).min(self.0.len());
        Self(self.0.split_front(n))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn threads_that_wait_are_as_many_as_asked_for() {
        // No thread passes it before all of them wait.
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
            let all = for_each(0..n, threads, |i| {
                taken[i as usize].fetch_add(1, Ordering::Relaxed);
                Ok::<_, ()>(())
            });
            assert_eq!(all, Ok(()));
            assert!(
                taken.into_iter().all(|taken| taken.into_inner() == 1),
                "{n} items, {threads} threads"
            );
        }
    }

    #[test]
    fn threads_of_a_loop_begin_far_from_each_other() {
        let begin = |own| {
            let begun = Mutex::new(None);
            Queue::<_, ()>::of_stretches(0..1, 1).work(own, |_| {
                *begun.lock().expect("no panic") =
                    Some([begin_of(16), begin_of(3), begin_of(1), begin_of(0)]);
                Ok(())
            });
            begun.into_inner().expect("no panic").expect("one item")
        };
        assert_eq!(begin(0), [0, 0, 0, 0]);
        assert_eq!(
            [1, 2, 3, 4].map(|own| begin(own)[..2].to_vec()),
            [[8, 1], [4, 0], [12, 2], [2, 0]]
        );
        // Outside of a loop, a thread counts as the first one.
        assert_eq!(begin_of(16), 0);
    }

    #[test]
    fn a_thread_goes_through_its_own_stretch_then_helps_the_longest() {
        let queue = Queue::<_, ()>::of_stretches(0..10, 3);
        // 0..3, 3..6, 6..10
        assert_eq!(
            [queue.take(1), queue.take(1), queue.take(1)],
            [Some(3), Some(4), Some(5)]
        );
        assert_eq!(
            [queue.take(1), queue.take(0), queue.take(1)],
            [Some(9), Some(0), Some(8)]
        );
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
            assert!(error.is_err_and(|i| (5..5 + threads as u64).contains(&i)));
            assert!(begun.into_inner() <= 5 + threads);
        }
    }

    #[test]
    fn twos_come_from_both_ends() {
        let mut twos = Twos(0..7);
        assert_eq!(twos.len(), 4);
        assert_eq!(twos.next_back(), Some((6, None)));
        assert_eq!(twos.next(), Some((0, Some(1))));
        assert_eq!(twos.next_back(), Some((4, Some(5))));
        assert_eq!(twos.next(), Some((2, Some(3))));
        assert_eq!((twos.next(), twos.next_back()), (None, None));
        let mut twos = Twos(0..7);
        assert_eq!(twos.split_front(2).0, 0..4);
        assert_eq!(twos.split_front(2).0, 4..7);
    }
}
