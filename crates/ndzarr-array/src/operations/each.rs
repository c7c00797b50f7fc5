//! A loop over chunks, on threads.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ndzarr_engine::{Cancel, OnProgress, Progress, RunOptions, in_scope};

use crate::error::{Error, ErrorKind, Result};
use crate::storage::Storage;

/// Counts the chunks, or shards, of all arrays of a call.
#[derive(Debug)]
pub(crate) struct Counter {
    done: AtomicU64,
    total: u64,
    progress: Option<OnProgress>,
}

impl Counter {
    pub(crate) fn new(total: u64, run: &RunOptions) -> Self {
        Self {
            done: AtomicU64::new(0),
            total,
            progress: run.progress.clone(),
        }
    }

    pub(crate) fn add(&self, n: u64) {
        let done = self.done.fetch_add(n, Ordering::Relaxed).saturating_add(n);
        if let Some(progress) = self.progress.as_ref().filter(|_| n > 0) {
            progress.report(Progress::new(done.min(self.total), self.total));
        }
    }
}

/// Runs `each` on all items, on this number of threads: each of them makes requests. Meanwhile the
/// calling thread waits in the way that both stores define, because their runtime may have no other
/// thread.
pub(crate) fn each_on_threads<T: Send, F: Future<Output = Result<()>> + Send>(
    [source, target]: [&Storage; 2],
    run: &RunOptions,
    threads: usize,
    items: impl IntoIterator<Item = T, IntoIter: Send>,
    each: impl Fn(T) -> F + Sync,
) -> Result<()> {
    let items = items.into_iter();
    let most = items.size_hint().1.unwrap_or(usize::MAX);
    let items = Mutex::new(items);
    let failed = AtomicBool::new(false);
    let (error, panic) = (Mutex::new(None), Mutex::new(None));
    let call = Cancel::of_scope();
    let each = &each;
    let run_all = || {
        while !failed.load(Ordering::Relaxed) {
            let Some(item) = lock(&items).next() else {
                return;
            };
            let cancel = run.cancel.as_ref();
            let in_target = |item| async move { target.wait_unless(cancel, each(item)) };
            let one = |item| source.wait_unless(cancel, in_target(item));
            // A panic stops the other threads as an error does, and is passed on as it is.
            let one = AssertUnwindSafe(|| check_cancel(run).and_then(|()| one(item)));
            match catch_unwind(one) {
                Ok(Ok(())) => continue,
                Ok(Err(found)) => {
                    lock(&error).get_or_insert(found);
                }
                Err(found) => {
                    lock(&panic).get_or_insert(found);
                }
            }
            failed.store(true, Ordering::Relaxed);
        }
    };
    let work = || in_scope(call.as_ref(), run_all);
    std::thread::scope(|scope| {
        for _ in 1..threads.min(most) {
            let thread = std::thread::Builder::new().name("ndzarr-loop".to_owned());
            if thread.spawn_scoped(scope, work).is_err() {
                // The system allows no more threads.
                break;
            }
        }
        work();
    });
    let (error, panic) = (lock(&error).take(), lock(&panic).take());
    match panic {
        Some(panic) => resume_unwind(panic),
        None => error.map_or(Ok(()), Err),
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn check_cancel(run: &RunOptions) -> Result<()> {
    match &run.cancel {
        Some(cancel) if cancel.is_cancelled() => {
            Err(Error::new(ErrorKind::Cancelled, "it was cancelled"))
        }
        _ => Ok(()),
    }
}
