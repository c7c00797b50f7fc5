//! What blocking stores still store for futures that were dropped. Dropping does not wait for it;
//! later calls do.

use std::pin::pin;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::select;
use ndzarr_pool::{is_change_thread, is_own_thread, start_change};
use ndzarr_store::PerProcess;

use crate::threads::cancel::{Cancel, CancelOnDrop};
use crate::threads::other_threads::reporting;

/// How long later calls wait for a request after its future was dropped.
const LIMIT: Duration = Duration::from_secs(10);

/// How often a blocking call that waits looks whether it was cancelled.
const LOOK: Duration = Duration::from_millis(10);

/// Work of a dropped future that is storing something without a lock.
#[derive(Clone, Debug)]
struct Dropped {
    store: String,
    work: Cancel,
    until: Instant,
}

static DROPPED: PerProcess<Mutex<Vec<Dropped>>> = PerProcess::new();

/// False only if there are none.
static SOME: AtomicBool = AtomicBool::new(false);

/// Stops the work of a future when it is dropped, wherever parts of it run. Later calls on the
/// store wait for what is being stored without a lock then.
#[derive(Debug)]
pub struct StopOnDrop {
    stop: CancelOnDrop,
    store: String,
}

impl StopOnDrop {
    /// Stops a part of a call, which uses the store of this name, and can also be stopped as a
    /// whole.
    #[must_use]
    pub fn part_of(whole: Option<&Cancel>, store: &str) -> Self {
        Self {
            stop: CancelOnDrop::part_of(whole),
            store: store.to_owned(),
        }
    }

    /// The work that it stops.
    #[must_use]
    pub fn cancel(&self) -> &Cancel {
        self.stop.cancel()
    }
}

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        let work = self.cancel();
        work.cancel();
        if work.stores_unlocked() {
            let dropped = Dropped {
                store: self.store.clone(),
                work: work.clone(),
                until: Instant::now() + LIMIT,
            };
            let mut all = DROPPED.lock();
            all.push(dropped);
            SOME.store(true, Ordering::SeqCst);
        }
    }
}

/// Those whose store has this name.
fn of_store(name: impl FnOnce() -> String) -> Vec<Dropped> {
    // The library's threads work for calls that have waited, or for what others wait for.
    if !SOME.load(Ordering::SeqCst) || is_own_thread() || is_change_thread() {
        return Vec::new();
    }
    let now = Instant::now();
    let name = name();
    let mut all = DROPPED.lock();
    all.retain(|dropped| dropped.until > now && dropped.work.stores_unlocked());
    SOME.store(!all.is_empty(), Ordering::SeqCst);
    all.iter()
        .filter(|dropped| dropped.store == name)
        .cloned()
        .collect()
}

/// Blocks until all are done, one of the calls is cancelled, or the time of each is over.
fn wait(all: &[Dropped], cancels: &[Option<Cancel>]) {
    let is_cancelled = || cancels.iter().flatten().any(Cancel::is_cancelled);
    for Dropped { work, until, .. } in all {
        while work.stores_unlocked() && !is_cancelled() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            work.settle_unlocked(left.min(LOOK));
        }
    }
}

/// Before a blocking call on the store of this name: waits for what it stores for dropped futures,
/// for 10 s after the drop at most.
pub fn wait_for_dropped_futures(store: impl FnOnce() -> String, cancel: Option<&Cancel>) {
    let all = of_store(store);
    if !all.is_empty() {
        wait(&all, &[cancel.cloned(), Cancel::of_scope()]);
    }
}

/// Before an asynchronous call: see [`wait_for_dropped_futures`].
pub async fn pass_dropped_futures(store: &str, cancel: Option<&Cancel>) {
    let all = of_store(|| store.to_owned());
    if all.is_empty() {
        return;
    }
    let work = Cancel::part_of(cancel);
    let (job, done) = {
        let (all, cancels) = (all.clone(), [Some(work.clone()), Cancel::of_scope()]);
        reporting(move || wait(&all, &cancels))
    };
    match start_change(job) {
        Ok(()) => drop(select(done, pin!(work.cancelled())).await),
        // Without a thread for it, this one waits.
        Err(_) => wait(&all, &[Some(work)]),
    }
}
