//! `Io`: the data path's access to stores and threads. The path is written once, as `async` code
//! over it.

mod asynchronous;
mod blocking;

use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use ndzarr_store::{
    Fetch, Fetched, Key, Precondition, Prefix, Put, RangeMerging, Store, StoreError,
};

pub(crate) use self::asynchronous::AsyncIo;
pub(crate) use self::blocking::{BlockingIo, now};
use crate::reading::damage::OnDamage;
use crate::reading::job::Job;
use crate::threads::budget::Share;
use crate::threads::for_each::Sequence;
use crate::threads::turn::Patience;
use crate::writing::encode_job::EncodeJob;
use crate::{EngineCause, EngineError, Source};

/// Bytes in flight: of a call, and of all calls that share the limit.
pub(crate) type Shares = (Share, Option<Share>);

/// What [`Io::list`] finds below a prefix.
pub(crate) struct Below {
    /// Whole keys.
    pub(crate) keys: Vec<String>,
    /// The last segments of the folders that contain the other keys.
    pub(crate) folders: Vec<String>,
}

/// Requests to a store, and computations. A type parameter of the data path, so that nothing is
/// boxed for a store with blocking calls. Every future declares that it is [`Send`], so that the
/// compiler can prove it for the data path, whatever the store.
pub(crate) trait Io: Sync {
    /// The right to compute, if more threads write than may compute.
    type Permit<'p>: Send
    where
        Self: 'p;

    /// A running loop.
    type Loop<'a, E: Send + 'a>: Future<Output = Result<(), E>> + Send
    where
        Self: 'a;

    fn name(&self) -> String;

    fn merging(&self) -> RangeMerging;

    /// The store, if its calls block: for operations that only such a store has.
    fn blocking(&self) -> Option<&dyn Store>;

    fn permit(&self) -> Self::Permit<'_>;

    /// Waits until this number of bytes may be in flight.
    fn share(
        &self,
        byte_len: impl FnOnce() -> u64 + Send,
    ) -> impl Future<Output = Option<Shares>> + Send;

    fn fetch(&self, fetch: &Fetch) -> impl Future<Output = Result<Fetched, StoreError>> + Send;

    /// Stores a value without a lock, unless the call was cancelled.
    fn put(
        &self,
        key: &Key,
        parts: &[Bytes],
        only_if: Precondition,
    ) -> impl Future<Output = Result<Put, EngineCause>> + Send;

    /// Removes a value without a lock, unless the call was cancelled.
    fn erase(
        &self,
        key: &Key,
        only_if: Precondition,
    ) -> impl Future<Output = Result<Put, EngineCause>> + Send;

    fn list(&self, prefix: &Prefix) -> impl Future<Output = Result<Below, StoreError>> + Send;

    /// The number of chunks in progress at once.
    fn lanes(&self) -> usize;

    /// The number of inner chunks of one chunk in progress at once, in a call on `n_chunks`.
    fn inner_lanes(&self, n_chunks: u64) -> usize;

    /// Runs `each` on all items, `lanes` at a time. The first error stops the rest.
    fn for_each<'a, S, E, F>(
        &'a self,
        items: S,
        lanes: usize,
        each: impl Fn(S::Item) -> F + Send + Sync + 'a,
    ) -> Self::Loop<'a, E>
    where
        S: Sequence + 'a,
        E: Send + 'a,
        F: Future<Output = Result<(), E>> + Send + 'a;

    /// Runs `each` on all chunks to be written. The first error stops the rest.
    fn for_each_write<'a, S, E, F>(
        &'a self,
        items: S,
        each: impl Fn(S::Item) -> F + Send + Sync + 'a,
    ) -> Self::Loop<'a, E>
    where
        S: Sequence + 'a,
        E: Send + 'a,
        F: Future<Output = Result<(), E>> + Send + 'a,
    {
        self.for_each(items, self.lanes(), each)
    }

    /// Decodes and fills the tile.
    fn decode(
        &self,
        job: Job<'_>,
        damage: &OnDamage<'_>,
    ) -> impl Future<Output = Result<(), EngineCause>> + Send;

    /// Encodes; `None` if the value is all fill value and must not be stored.
    fn encode(
        &self,
        job: &EncodeJob,
        source: &dyn Source,
    ) -> impl Future<Output = Result<Option<Vec<u8>>, EngineCause>> + Send;
}

/// Runs `each` on all items. An item whose key is locked by another writer is returned: no thread
/// of the pool waits for a lock. The calling thread does, when it holds none, for one item after
/// another; after each wait all threads try those that are left.
pub(crate) async fn in_turns<S, F>(
    io: &impl Io,
    items: S,
    each: impl Fn(S::Item, Patience) -> F + Send + Sync,
) -> Result<(), EngineError>
where
    S: Sequence,
    F: Future<Output = Result<Option<S::Item>, EngineError>> + Send,
{
    let mut busy = attempt(io, items, &each).await?;
    while let Some(item) = busy.pop() {
        each(item, Patience::Wait).await?;
        busy = attempt(io, busy.into_iter(), &each).await?;
    }
    Ok(())
}

/// Runs `each` on all items, and returns those whose keys are locked.
async fn attempt<S, F>(
    io: &impl Io,
    items: S,
    each: &(impl Fn(S::Item, Patience) -> F + Send + Sync),
) -> Result<Vec<S::Item>, EngineError>
where
    S: Sequence,
    F: Future<Output = Result<Option<S::Item>, EngineError>> + Send,
{
    let busy = &Mutex::new(Vec::new());
    let attempt = |item| async move {
        let item = each(item, Patience::Try).await?;
        busy.lock()
            .unwrap_or_else(PoisonError::into_inner)
            .extend(item);
        Ok::<_, EngineError>(())
    };
    io.for_each_write(items, attempt).await?;
    Ok(std::mem::take(
        &mut *busy.lock().unwrap_or_else(PoisonError::into_inner),
    ))
}

/// Encodes several at once; the results are in the order of the jobs.
pub(crate) async fn encode_all(
    io: &impl Io,
    jobs: &[EncodeJob],
    source: &dyn Source,
    lanes: usize,
) -> Result<Vec<Option<Vec<u8>>>, EngineCause> {
    let results: Vec<Mutex<Option<Vec<u8>>>> = jobs.iter().map(|_| Mutex::new(None)).collect();
    let encode = |i: u64| {
        let job = &jobs[i as usize];
        let result = &results[i as usize];
        async move {
            let encoded = io.encode(job, source).await?;
            *result.lock().unwrap_or_else(PoisonError::into_inner) = encoded;
            Ok::<_, EngineCause>(())
        }
    };
    io.for_each(0..jobs.len() as u64, lanes, encode).await?;
    let result = |result: Mutex<_>| result.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(results.into_iter().map(result).collect())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::future::ready;

    use ndzarr_store::MemoryStore;

    use super::*;
    use crate::RunOptions;

    fn held<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
        mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Another writer holds the locks of all eight items, and lets go of them at one moment.
    #[test]
    fn after_a_wait_the_items_left_are_tried_together() {
        let store = MemoryStore::new();
        let options = RunOptions::default();
        let io = BlockingIo::new(&store, &options);
        let waited_for = Mutex::new(Vec::new());
        let done = Mutex::new(BTreeSet::new());
        let each = |item: u64, patience| {
            if patience == Patience::Wait {
                held(&waited_for).push(item);
            }
            let is_busy = held(&waited_for).is_empty();
            if !is_busy {
                held(&done).insert(item);
            }
            ready(Ok(is_busy.then_some(item)))
        };
        now(in_turns(&io, 0..8, each)).expect("all are done");
        assert_eq!(*held(&done), BTreeSet::from_iter(0..8));
        assert_eq!(held(&waited_for).len(), 1);
    }
}
