//! Options of a read or write: threads, cancelling, progress, fill chunks.

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use ndzarr_model::ConcurrentUpdate;

use crate::{Cancel, CancelOnDrop, Damaged};

/// How a region is read or written.
///
/// ```
/// use std::num::NonZeroUsize;
///
/// use ndzarr_engine::{Cancel, FillChunks, OnProgress, RunOptions};
///
/// let cancel = Cancel::new();
/// let options = RunOptions {
///     threads: NonZeroUsize::new(2),
///     cancel: Some(cancel.clone()),
///     progress: Some(OnProgress::new(|progress| println!("{} of {}", progress.done, progress.total))),
///     fill_chunks: FillChunks::Store,
///     ..RunOptions::default()
/// };
/// // From any thread, while a call runs with these options:
/// cancel.cancel();
/// assert!(options.cancel.is_some_and(|cancel| cancel.is_cancelled()));
/// ```
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// How many threads take part, of those that the machine has and the calling one; `None`: as
    /// many as the machine has. With 1, no pool is used. With more, a write to a store whose
    /// [writes wait](ndzarr_store::Store::writes_wait) has 16 to 64, the more the larger the chunks
    /// are, and no fewer than twice as many, of which no more than were asked for compute at once.
    pub threads: Option<NonZeroUsize>,
    /// How many chunks an asynchronous store is asked for at once.
    pub requests_in_flight: NonZeroUsize,
    /// How many bytes are asked for and not decoded yet at once, with an asynchronous store. A
    /// single larger request goes ahead alone.
    pub bytes_in_flight: u64,
    /// Lets another thread stop the work.
    pub cancel: Option<Cancel>,
    /// Hears of every chunk that is done.
    pub progress: Option<OnProgress>,
    /// Reads: what happens with chunks that are broken.
    pub damaged: Damaged,
    /// Writes: whether chunks of nothing but the fill value are stored.
    pub fill_chunks: FillChunks,
    /// Writes: what happens when others write the same chunk.
    pub concurrent_update: ConcurrentUpdate,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            threads: None,
            requests_in_flight: NonZeroUsize::new(64).expect("sixty-four is not zero"),
            bytes_in_flight: 512 << 20,
            cancel: None,
            progress: None,
            damaged: Damaged::default(),
            fill_chunks: FillChunks::default(),
            concurrent_update: ConcurrentUpdate::default(),
        }
    }
}

impl RunOptions {
    /// The same options for a part of a call, and what stops that part when it is dropped.
    #[must_use]
    pub fn part(&self) -> (CancelOnDrop, Self) {
        let stop = CancelOnDrop::part_of(self.cancel.as_ref());
        let options = Self { cancel: Some(stop.cancel().clone()), ..self.clone() };
        (stop, options)
    }

    /// Counts one more chunk as done.
    pub(crate) fn report(&self, done: &AtomicU64, total: u64) {
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        if let Some(progress) = &self.progress {
            progress.report(Progress { done, total });
        }
    }
}

/// Whether chunks of nothing but the fill value are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FillChunks {
    /// They are not, and one that is there is erased. The comparison is bitwise; a chunk of an
    /// array whose fill value is undefined is stored whatever it holds.
    #[default]
    Erase,
    /// They are, like any other.
    Store,
}

/// How far a call has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Chunks that are done.
    pub done: u64,
    /// Chunks that the call touches.
    pub total: u64,
}

/// A function that hears of progress, on whichever thread made it.
#[derive(Clone)]
pub struct OnProgress(pub(crate) Arc<dyn Fn(Progress) + Send + Sync>);

impl OnProgress {
    /// Wraps a function.
    pub fn new(hear: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        Self(Arc::new(hear))
    }

    /// Tells it.
    pub fn report(&self, progress: Progress) {
        (self.0)(progress);
    }
}

impl fmt::Debug for OnProgress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnProgress")
    }
}
