//! A loop over independent pieces of work, on several threads.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::failure::Failure;

/// Calls `each` with every item, on this number of threads, and `take` with the results in the
/// order of the items, until one fails. Each thread has a state of its own, made by `new_state`.
/// Returns the states of all threads.
///
/// # Errors
/// The first failure.
pub(crate) fn in_order<T: Send, S: Send, R: Send>(
    threads: NonZeroUsize,
    items: impl Iterator<Item = T> + Send,
    new_state: impl Fn() -> S + Sync,
    each: impl Fn(&mut S, T) -> Result<R, Failure> + Sync,
    take: impl FnMut(R) + Send,
) -> Result<Vec<S>, Failure> {
    struct Results<R, F> {
        /// The number of the item whose result is taken next.
        next: usize,
        /// The results that came before their turn, by the number of their item.
        early: BTreeMap<usize, R>,
        take: F,
    }
    let results = Mutex::new(Results {
        next: 0,
        early: BTreeMap::new(),
        take,
    });
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
    fold(threads, items.enumerate(), new_state, each)
}

/// Calls `each` with every item, on this number of threads, until one fails. Each thread has a
/// state of its own, made by `new_state`. Returns the states of all threads.
///
/// # Errors
/// The first failure.
pub(crate) fn fold<T: Send, S: Send>(
    threads: NonZeroUsize,
    items: impl Iterator<Item = T> + Send,
    new_state: impl Fn() -> S + Sync,
    each: impl Fn(&mut S, T) -> Result<(), Failure> + Sync,
) -> Result<Vec<S>, Failure> {
    let max_items = items.size_hint().1.unwrap_or(usize::MAX);
    let items = Mutex::new(items);
    let failed = AtomicBool::new(false);
    let first_failure = Mutex::new(None);
    let states = Mutex::new(Vec::new());
    let work = || {
        let mut state = new_state();
        while !failed.load(Ordering::Relaxed) {
            let Some(item) = items.lock().unwrap_or_else(PoisonError::into_inner).next() else {
                break;
            };
            if let Err(failure) = each(&mut state, item) {
                failed.store(true, Ordering::Relaxed);
                first_failure
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .get_or_insert(failure);
            }
        }
        states
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(state);
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.get().min(max_items) {
            if std::thread::Builder::new()
                .spawn_scoped(scope, work)
                .is_err()
            {
                // The system allows no more threads.
                break;
            }
        }
        work();
    });
    match first_failure
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner)
    {
        Some(failure) => Err(failure),
        None => Ok(states.into_inner().unwrap_or_else(PoisonError::into_inner)),
    }
}
