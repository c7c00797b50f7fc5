//! A loop over independent pieces of work, on several threads.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::failure::Failure;

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
