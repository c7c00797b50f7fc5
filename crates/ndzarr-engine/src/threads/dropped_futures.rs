//! What blocking stores still store for futures that were dropped. Dropping does not wait for it;
//! later calls do.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use futures_util::future::{join_all, select};
use ndzarr_pool::{is_change_thread, is_own_thread, start_change};
use ndzarr_store::{PerProcess, Prefix, Store};

use crate::any_store::AnyStore;
use crate::threads::cancel::{Cancel, CancelOnDrop};

/// How long later calls wait for a request after its future was dropped.
const LIMIT: Duration = Duration::from_secs(10);

/// How often a blocking call that waits looks whether it was cancelled.
const LOOK: Duration = Duration::from_millis(10);

static DROPPED: PerProcess<Mutex<Vec<Dropped>>> = PerProcess::new();

/// False only if there are none.
static SOME: AtomicBool = AtomicBool::new(false);

/// Stops the work of a future when it is dropped, wherever parts of it run. Later calls on the
/// store wait for what is being stored without a lock then.
#[derive(Debug)]
pub struct StopOnDrop {
    stop: CancelOnDrop,
    store: AnyStore,
}

impl StopOnDrop {
    /// Stops a part of a call, which changes this store, and can also be stopped as a whole.
    #[must_use]
    pub fn part_of(whole: Option<&Cancel>, store: &AnyStore) -> Self {
        Self {
            stop: CancelOnDrop::part_of(whole),
            store: store.clone(),
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
        if let AnyStore::Blocking(store) = &self.store
            && work.stores_unlocked()
        {
            let dropped = Dropped {
                store: Arc::downgrade(store),
                work: work.clone(),
                until: Instant::now() + LIMIT,
                waiting: Arc::default(),
            };
            let mut all = DROPPED.lock();
            all.push(dropped);
            SOME.store(true, Ordering::SeqCst);
        }
    }
}

/// Work of a dropped future that is storing something without a lock.
#[derive(Clone, Debug)]
struct Dropped {
    /// The work itself keeps it.
    store: Weak<dyn Store>,
    work: Cancel,
    until: Instant,
    waiting: Arc<Mutex<Waiting>>,
}

/// The futures that wait for it.
#[derive(Debug, Default)]
struct Waiting {
    wakers: Vec<Waker>,
    /// A thread will wake them.
    watched: bool,
}

impl Dropped {
    fn is_over(&self) -> bool {
        !self.work.stores_unlocked() || Instant::now() >= self.until
    }

    fn is_in(&self, store: &dyn Store) -> bool {
        self.store
            .upgrade()
            .is_some_and(|own| shares_values(&*own, store))
    }

    /// Blocks until it is over, or one of the calls is cancelled.
    fn wait(&self, cancels: &[Option<Cancel>]) {
        let is_cancelled = || cancels.iter().flatten().any(Cancel::is_cancelled);
        while !self.is_over() && !is_cancelled() {
            let left = self.until.saturating_duration_since(Instant::now());
            self.work.settle_unlocked(left.min(LOOK));
        }
    }

    /// Ends when it is over. One thread waits for all futures.
    async fn over(&self) {
        poll_fn(|context| {
            if self.is_over() {
                return Poll::Ready(());
            }
            let mut waiting = self.waiting();
            // A future that is polled again and again has one.
            let own = context.waker();
            if !waiting.wakers.iter().any(|waker| waker.will_wake(own)) {
                waiting.wakers.push(own.clone());
            }
            if waiting.watched {
                return Poll::Pending;
            }
            let watched = self.clone();
            waiting.watched = start_change(move || watched.watch()).is_ok();
            if waiting.watched {
                return Poll::Pending;
            }
            drop(waiting);
            self.wait(&[]);
            Poll::Ready(())
        })
        .await;
    }

    fn watch(&self) {
        self.wait(&[]);
        let wakers = {
            let mut waiting = self.waiting();
            waiting.watched = false;
            std::mem::take(&mut waiting.wakers)
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Folders share values if one lies in the other, other stores if they have one name.
fn shares_values(a: &dyn Store, b: &dyn Store) -> bool {
    let root = Prefix::root();
    match (a.folder(&root), b.folder(&root)) {
        (Some(a), Some(b)) => a.starts_with(&b) || b.starts_with(&a),
        _ => a.name() == b.name(),
    }
}

/// Those that a call on this store waits for.
fn before_call_on(store: &AnyStore) -> Vec<Dropped> {
    let AnyStore::Blocking(store) = store else {
        return Vec::new();
    };
    // The library's threads work for calls that have waited, or for what others wait for.
    if !SOME.load(Ordering::SeqCst) || is_own_thread() || is_change_thread() {
        return Vec::new();
    }
    let mut all = {
        let mut all = DROPPED.lock();
        all.retain(|dropped| !dropped.is_over());
        SOME.store(!all.is_empty(), Ordering::SeqCst);
        all.clone()
    };
    all.retain(|dropped| dropped.is_in(&**store));
    all
}

/// Before a blocking call on the store: waits for what is still stored there for dropped futures,
/// for 10 s after the drop at most.
pub fn wait_for_dropped_futures(store: &AnyStore, cancel: Option<&Cancel>) {
    let all = before_call_on(store);
    if !all.is_empty() {
        let cancels = [cancel.cloned(), Cancel::of_scope()];
        all.iter().for_each(|dropped| dropped.wait(&cancels));
    }
}

/// Before an asynchronous call: see [`wait_for_dropped_futures`].
pub async fn pass_dropped_futures(store: &AnyStore, cancel: Option<&Cancel>) {
    let all = before_call_on(store);
    if all.is_empty() {
        return;
    }
    // One that is never cancelled, if there is none.
    let cancel = cancel
        .cloned()
        .or_else(Cancel::of_scope)
        .unwrap_or_default();
    let over = pin!(join_all(all.iter().map(Dropped::over)));
    select(over, pin!(cancel.cancelled())).await;
}
