//! A loop over independent pieces of work, on several threads.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::failure::Failure;

/// Calls `each` with every item, on this number of threads, and `take` with the results in the order of
/// the items, until one fails. Each thread has a value of its own, made by `first`; the result has those
/// of all.
///
/// # Errors
/// The first failure.
pub(crate) fn in_order<T: Send, S: Send, R: Send>(
    threads: NonZeroUsize,
    items: impl Iterator<Item = T> + Send,
    first: impl Fn() -> S + Sync,
    each: impl Fn(&mut S, T) -> Result<R, Failure> + Sync,
    take: impl FnMut(R) + Send,
) -> Result<Vec<S>, Failure> {
    struct Results<R, F> {
        next: usize,
        /// Those that came before their turn, by the number of their item.
        early: BTreeMap<usize, R>,
        take: F,
    }
    let results = Mutex::new(Results { next: 0, early: BTreeMap::new(), take });
    let each = |value: &mut S, (number, item): (usize, T)| {
        let result = each(value, item)?;
        let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
        let Results { next, early, take } = &mut *results;
        early.insert(number, result);
        while let Some(result) = early.remove(next) {
            take(result);
            *next += 1;
        }
        Ok::<_, Failure>(())
    };
    fold(threads, items.enumerate(), first, each)
}

/// Calls `each` with every item, on this number of threads, until one fails. Each thread has a value of
/// its own, made by `first`; the result has those of all.
///
/// # Errors
/// The first failure.
pub(crate) fn fold<T: Send, S: Send>(
    threads: NonZeroUsize,
    items: impl Iterator<Item = T> + Send,
    first: impl Fn() -> S + Sync,
    each: impl Fn(&mut S, T) -> Result<(), Failure> + Sync,
) -> Result<Vec<S>, Failure> {
    let most = items.size_hint().1.unwrap_or(usize::MAX);
    let (items, failed) = (Mutex::new(items), AtomicBool::new(false));
    let failure = Mutex::new(None);
    let values = Mutex::new(Vec::new());
    let work = || {
        let mut value = first();
        while !failed.load(Ordering::Relaxed) {
            let Some(item) = items.lock().unwrap_or_else(PoisonError::into_inner).next() else { break };
            if let Err(found) = each(&mut value, item) {
                failed.store(true, Ordering::Relaxed);
                failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(found);
            }
        }
        values.lock().unwrap_or_else(PoisonError::into_inner).push(value);
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.get().min(most) {
            if std::thread::Builder::new().spawn_scoped(scope, work).is_err() {
                // The system allows no more threads.
                break;
            }
        }
        work();
    });
    match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(failure) => Err(failure),
        None => Ok(values.into_inner().unwrap_or_else(PoisonError::into_inner)),
    }
}
