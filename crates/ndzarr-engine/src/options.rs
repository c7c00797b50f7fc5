//! Options of a read or write: threads, cancelling, progress, fill chunks.

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ndzarr_model::{ConcurrentUpdate, Foreign};
use ndzarr_store::PerProcess;

use crate::threads::budget::Budget;
use crate::{AnyStore, Cancel, CancelOnDrop, DamageReport, Damaged, StopOnDrop};

/// How a region is read or written.
///
/// ```
/// use std::num::NonZeroUsize;
///
/// use ndzarr::{Cancel, RunOptions};
///
/// let cancel = Cancel::new();
/// let options = RunOptions::default()
///     .threads(NonZeroUsize::new(2))
///     .cancel(cancel.clone())
///     .progress(|progress| println!("{} of {}", progress.done, progress.total))
///     .store_fill_chunks();
/// // From any thread, while a call runs with these options:
/// cancel.cancel();
/// assert!(options.cancel.is_some_and(|cancel| cancel.is_cancelled()));
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RunOptions {
    /// Maximum number of threads, including the calling one; `None`: as many as the machine has.
    /// With 1, no pool is used. With more, a write to a store whose [writes
    /// wait](ndzarr_store::Store::writes_wait) uses 16 to 64 threads, at least twice this number
    /// and more for larger chunks, of which no more than this number compute at once.
    pub threads: Option<NonZeroUsize>,
    /// Maximum number of concurrent chunk requests to an asynchronous store.
    pub requests_in_flight: NonZeroUsize,
    /// Maximum number of bytes requested and not yet decoded, with an asynchronous store. A single
    /// larger request is made when no other one is in flight.
    pub bytes_in_flight: u64,
    /// Lets another thread stop the work.
    pub cancel: Option<Cancel>,
    /// Called for every finished chunk.
    pub progress: Option<OnProgress>,
    /// Reads: how to treat broken chunks.
    pub damaged: Damaged,
    /// Reads: how the elements of a new result lie in memory.
    pub memory_order: MemoryOrder,
    /// Writes: what happens to chunks that contain only the fill value.
    pub fill_chunks: FillChunks,
    /// Writes: what happens if other writers write the same chunk.
    pub concurrent_update: ConcurrentUpdate,
    /// Removals of nodes: what happens to files that do not belong to the node.
    pub foreign: Foreign,
    /// Limits of all calls with these options together.
    pub(crate) in_flight: Option<InFlight>,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            threads: None,
            requests_in_flight: NonZeroUsize::new(256).expect("256 is not zero"),
            bytes_in_flight: 512 << 20,
            cancel: None,
            progress: None,
            damaged: Damaged::default(),
            memory_order: MemoryOrder::default(),
            fill_chunks: FillChunks::default(),
            concurrent_update: ConcurrentUpdate::default(),
            foreign: Foreign::default(),
            in_flight: None,
        }
    }
}

impl RunOptions {
    /// Sets [`threads`](Self#structfield.threads).
    #[must_use]
    pub fn threads(mut self, threads: impl Into<Option<NonZeroUsize>>) -> Self {
        self.threads = threads.into();
        self
    }

    /// Sets [`requests_in_flight`](Self#structfield.requests_in_flight).
    #[must_use]
    pub fn requests_in_flight(mut self, n: NonZeroUsize) -> Self {
        self.requests_in_flight = n;
        self
    }

    /// Sets [`bytes_in_flight`](Self#structfield.bytes_in_flight).
    #[must_use]
    pub fn bytes_in_flight(mut self, bytes: u64) -> Self {
        self.bytes_in_flight = bytes;
        self
    }

    /// Sets [`cancel`](Self#structfield.cancel).
    #[must_use]
    pub fn cancel(mut self, cancel: impl Into<Option<Cancel>>) -> Self {
        self.cancel = cancel.into();
        self
    }

    /// Sets [`progress`](Self#structfield.progress): a function that is called for each finished
    /// chunk.
    #[must_use]
    pub fn progress(mut self, hear: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        self.progress = Some(OnProgress::new(hear));
        self
    }

    /// Reads: chunks that are damaged become the fill value, and are added to this report, which
    /// clones share. Default: an error.
    #[must_use]
    pub fn fill_damaged(mut self, report: &DamageReport) -> Self {
        self.damaged = Damaged::FillAndReport(report.clone());
        self
    }

    /// Sets [`memory_order`](Self#structfield.memory_order) to that of the stored chunks.
    #[must_use]
    pub fn stored_order(mut self) -> Self {
        self.memory_order = MemoryOrder::Stored;
        self
    }

    /// Writes: chunks that contain only the fill value are stored like any other. Default: they are
    /// not stored, and an existing one is erased.
    #[must_use]
    pub fn store_fill_chunks(mut self) -> Self {
        self.fill_chunks = FillChunks::Store;
        self
    }

    /// Sets [`concurrent_update`](Self#structfield.concurrent_update).
    #[must_use]
    pub fn concurrent_update(mut self, concurrent_update: ConcurrentUpdate) -> Self {
        self.concurrent_update = concurrent_update;
        self
    }

    /// Removals of nodes: files that do not belong to the node are removed as well. Default: they
    /// are an error, and nothing is removed.
    #[must_use]
    pub fn force(mut self) -> Self {
        self.foreign = Foreign::Remove;
        self
    }

    /// From here on, all calls with these options and clones of them, on any number of arrays,
    /// together have no more than the present
    /// [`requests_in_flight`](Self#structfield.requests_in_flight) and
    /// [`bytes_in_flight`](Self#structfield.bytes_in_flight). Each call still has its own limits,
    /// which may be lower.
    ///
    /// A future that is neither polled nor dropped holds its share.
    ///
    /// ```
    /// use std::num::NonZeroUsize;
    ///
    /// use ndzarr::RunOptions;
    ///
    /// let at_most = NonZeroUsize::new(32).expect("32 is not zero");
    /// let options = RunOptions::default().requests_in_flight(at_most).bytes_in_flight(1 << 30).shared();
    /// // For each array of a service: `array.with_options(options.clone())`.
    /// ```
    #[must_use]
    pub fn shared(mut self) -> Self {
        let requests = self.requests_in_flight.get() as u64;
        self.in_flight = Some(InFlight {
            requests,
            bytes: self.bytes_in_flight,
            budgets: Arc::default(),
        });
        self
    }

    /// Options for a part of a call, and a guard that stops that part when it is dropped.
    #[doc(hidden)]
    #[must_use]
    pub fn part(&self) -> (CancelOnDrop, Self) {
        let stop = CancelOnDrop::part_of(self.cancel.as_ref());
        let options = self.clone().cancel(stop.cancel().clone());
        (stop, options)
    }

    /// Options for the work of a future that changes this store, and a guard that stops it when it
    /// is dropped.
    #[doc(hidden)]
    #[must_use]
    pub fn part_of_future(&self, store: &AnyStore) -> (StopOnDrop, Self) {
        let stop = StopOnDrop::part_of(self.cancel.as_ref(), store);
        let options = self.clone().cancel(stop.cancel().clone());
        (stop, options)
    }

    /// Counts one more chunk as done, and reports it.
    pub(crate) fn report(&self, done: &AtomicU64, total: u64) {
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        if let Some(progress) = &self.progress {
            progress.report(Progress { done, total });
        }
    }
}

/// The limits on requests and bytes that many calls share.
#[derive(Clone, Debug)]
pub(crate) struct InFlight {
    requests: u64,
    bytes: u64,
    /// A forked child has its own, since the shares that calls of its parent hold are never
    /// returned.
    budgets: Arc<PerProcess<Budgets>>,
}

/// The budget of requests, and that of bytes.
#[derive(Debug)]
pub(crate) struct Budgets {
    pub(crate) requests: Budget,
    pub(crate) bytes: Budget,
}

impl InFlight {
    pub(crate) fn budgets(&self) -> &Budgets {
        self.budgets.get(|_| Budgets {
            requests: Budget::new(self.requests),
            bytes: Budget::new(self.bytes),
        })
    }
}

/// How the elements of a result lie in memory. Its indices are the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum MemoryOrder {
    /// The last index varies fastest.
    #[default]
    C,
    /// As in the chunks: the first index varies fastest if they are stored so. Then nothing is
    /// transposed.
    Stored,
}

/// When chunks that contain only the fill value are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum FillChunks {
    /// They are not stored, and an existing one is erased. The comparison is bitwise; in an array
    /// with an undefined fill value all chunks are stored.
    #[default]
    Erase,
    /// They are stored like any other chunk.
    Store,
}

/// Progress of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// Chunks that are done.
    pub done: u64,
    /// Chunks that the call touches.
    pub total: u64,
}

impl Progress {
    /// The progress after `done` of `total` chunks.
    #[must_use]
    pub fn new(done: u64, total: u64) -> Self {
        Self { done, total }
    }
}

/// A callback for progress, called on any thread.
#[derive(Clone)]
pub struct OnProgress(pub(crate) Arc<dyn Fn(Progress) + Send + Sync>);

impl OnProgress {
    /// Wraps a function.
    pub fn new(hear: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        Self(Arc::new(hear))
    }

    /// Calls it.
    pub fn report(&self, progress: Progress) {
        (self.0)(progress);
    }
}

impl fmt::Debug for OnProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnProgress")
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::threads::cancel::{Publishing, Under};

    #[test]
    fn calls_wait_for_requests_without_locks_up_to_a_limit() {
        let stop = CancelOnDrop::part_of(None);
        let request = Publishing::begin(Some(stop.cancel()), Under::Nothing).expect("it goes on");
        stop.cancel().settle_unlocked(Duration::from_millis(1));
        assert!(!stop.cancel().is_settled(), "the store has not answered");
        std::thread::scope(|scope| {
            scope.spawn(move || drop(request));
            stop.cancel().settle_unlocked(Duration::from_secs(3600));
        });
        assert!(stop.cancel().is_settled());
    }
}
