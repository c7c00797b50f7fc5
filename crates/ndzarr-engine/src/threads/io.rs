//! `Io`: the data path's access to stores and threads. The path is written once, as `async` code
//! over it.

use std::future::{Future, Ready, ready};
use std::pin::pin;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::{StreamExt, TryStreamExt, stream};
use ndzarr_pool::Queue;
use ndzarr_store::{
    AsyncStore, DirListing, Fetch, Fetched, Key, Precondition, Prefix, Put, RangeMerging, Store, StoreError,
};

use crate::cache::with_files;
use crate::reading::damage::OnDamage;
use crate::reading::wanted::Job;
use crate::threads::budget::{Budget, Share};
use crate::threads::cancel::{Patience, check_cancel, publishing};
use crate::threads::for_each::{Sequence, for_each, for_each_waiting, n_threads};
use crate::threads::other_threads::on_pool;
use crate::threads::scratch::{Permit, Permits, with_workspace};
use crate::writing::encode_job::EncodeJob;
use crate::{EngineCause, EngineError, RunOptions, Source};

/// Requests to a store, and the computations beside them. A type parameter of the data path, so
/// that nothing is boxed for a store with blocking calls. Every future declares that it is
/// [`Send`], so that the compiler can prove it for the data path, whatever the store.
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
    fn share(&self, byte_len: impl FnOnce() -> u64 + Send) -> impl Future<Output = Option<Shares>> + Send;

    fn fetch(&self, fetch: &Fetch) -> impl Future<Output = Result<Fetched, StoreError>> + Send;

    /// Stores a value without a lock, unless the call was cancelled.
    fn put(
        &self,
        key: &Key,
        parts: &[Bytes],
        only_if: Precondition,
    ) -> impl Future<Output = Result<Put, EngineCause>> + Send;

    /// Like [`put`](Self::put), but removes a value.
    fn erase(
        &self,
        key: &Key,
        only_if: Precondition,
    ) -> impl Future<Output = Result<Put, EngineCause>> + Send;

    /// Keys below a prefix, and the names of the folders there that contain the others.
    fn list(
        &self,
        prefix: &Prefix,
    ) -> impl Future<Output = Result<(Vec<String>, Vec<String>), StoreError>> + Send;

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

    /// Like [`for_each`](Self::for_each), for chunks to be written.
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
        busy.lock().unwrap_or_else(PoisonError::into_inner).extend(item);
        Ok::<_, EngineError>(())
    };
    io.for_each_write(items, attempt).await?;
    Ok(std::mem::take(&mut *busy.lock().unwrap_or_else(PoisonError::into_inner)))
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
        let (job, result) = (&jobs[i as usize], &results[i as usize]);
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

/// The output of a future over a store with blocking calls, which is always ready.
pub(crate) fn now<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => unreachable!("what blocks has ended when it returns"),
    }
}

/// A store with blocking calls. The calling thread makes requests, decodes and encodes, with the
/// help of the pool; every future is ready at once.
pub(crate) struct Here<'r> {
    store: &'r dyn Store,
    options: &'r RunOptions,
    threads: usize,
    /// Where writes wait: how many threads write, and which of them may compute.
    waiting: Option<(usize, Permits)>,
}

impl<'r> Here<'r> {
    pub(crate) fn new(store: &'r dyn Store, options: &'r RunOptions) -> Self {
        Self { store, options, threads: n_threads(options.threads), waiting: None }
    }

    /// For a chunk whose neighbours are in progress as well.
    pub(crate) fn alone(store: &'r dyn Store, options: &'r RunOptions) -> Self {
        Self { store, options, threads: 1, waiting: None }
    }

    /// For a write: with more threads where writes wait.
    pub(crate) fn writing(self, waiting: impl FnOnce() -> usize) -> Self {
        let waits = self.threads > 1 && self.store.writes_wait();
        let waiting = waits.then(|| (waiting().max(2 * self.threads), Permits::new(self.threads)));
        Self { waiting, ..self }
    }
}

impl Io for Here<'_> {
    type Permit<'p>
        = Option<Permit<'p>>
    where
        Self: 'p;

    type Loop<'a, E: Send + 'a>
        = Ready<Result<(), E>>
    where
        Self: 'a;

    fn name(&self) -> String {
        self.store.name()
    }

    fn merging(&self) -> RangeMerging {
        self.store.range_merging()
    }

    fn blocking(&self) -> Option<&dyn Store> {
        Some(self.store)
    }

    fn permit(&self) -> Self::Permit<'_> {
        self.waiting.as_ref().map(|(_, permits)| permits.take())
    }

    async fn share(&self, _: impl FnOnce() -> u64 + Send) -> Option<Shares> {
        None
    }

    async fn fetch(&self, fetch: &Fetch) -> Result<Fetched, StoreError> {
        with_files(|| self.store.fetch(fetch))
    }

    async fn put(&self, key: &Key, parts: &[Bytes], only_if: Precondition) -> Result<Put, EngineCause> {
        let put = || with_files(|| self.store.put(key, parts, only_if.clone()));
        publishing(self.options.cancel.as_ref(), put)
    }

    async fn erase(&self, key: &Key, only_if: Precondition) -> Result<Put, EngineCause> {
        publishing(self.options.cancel.as_ref(), || with_files(|| self.store.erase(key, only_if.clone())))
    }

    async fn list(&self, prefix: &Prefix) -> Result<(Vec<String>, Vec<String>), StoreError> {
        // Folder by folder, so that few names are in memory.
        let DirListing { keys, mut prefixes } = with_files(|| self.store.list_dir(prefix))?;
        prefixes.extend(with_files(|| self.store.links_up(prefix))?);
        Ok((keys.into_iter().map(|name| format!("{prefix}{name}")).collect(), prefixes))
    }

    fn lanes(&self) -> usize {
        self.threads
    }

    fn inner_lanes(&self, n_chunks: u64) -> usize {
        // A call on many chunks runs them in parallel; one on few shards, their inner chunks.
        if n_chunks >= 4 * self.threads as u64 { 1 } else { self.threads }
    }

    fn for_each<'a, S, E, F>(
        &'a self,
        items: S,
        lanes: usize,
        each: impl Fn(S::Item) -> F + Send + Sync + 'a,
    ) -> Self::Loop<'a, E>
    where
        S: Sequence + 'a,
        E: Send + 'a,
        F: Future<Output = Result<(), E>> + Send + 'a,
    {
        ready(for_each(items, lanes, |item| now(each(item))))
    }

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
        ready(match &self.waiting {
            Some((threads, _)) => for_each_waiting(items, *threads, |item| now(each(item))),
            None => for_each(items, self.threads, |item| now(each(item))),
        })
    }

    async fn decode(&self, job: Job<'_>, damage: &OnDamage<'_>) -> Result<(), EngineCause> {
        damage.run(job)
    }

    async fn encode(&self, job: &EncodeJob, source: &dyn Source) -> Result<Option<Vec<u8>>, EngineCause> {
        with_workspace(|workspace| job.run(source, workspace))
    }
}

/// Bytes in flight: of a call, and of all calls that share the limit.
pub(crate) type Shares = (Share, Option<Share>);

/// A store with asynchronous calls. Decoding and encoding run on the library's pool, in memory that
/// belongs to the jobs; the polling task puts results in place.
pub(crate) struct Awaited<'r> {
    store: &'r dyn AsyncStore,
    options: &'r RunOptions,
    bytes: Budget,
}

impl<'r> Awaited<'r> {
    pub(crate) fn new(store: &'r dyn AsyncStore, options: &'r RunOptions) -> Self {
        Self { store, options, bytes: Budget::new(options.bytes_in_flight) }
    }

    /// A place among the requests of all calls that share the limit. It is the last thing that a
    /// call waits for before it makes the request.
    async fn request(&self) -> Option<Share> {
        match &self.options.in_flight {
            Some(shared) => Some(shared.budgets().requests.take(1).await),
            None => None,
        }
    }
}

impl Io for Awaited<'_> {
    type Permit<'p>
        = ()
    where
        Self: 'p;

    type Loop<'a, E: Send + 'a>
        = BoxFuture<'a, Result<(), E>>
    where
        Self: 'a;

    fn name(&self) -> String {
        self.store.name()
    }

    fn merging(&self) -> RangeMerging {
        RangeMerging { piece: None, ..self.store.range_merging() }
    }

    fn blocking(&self) -> Option<&dyn Store> {
        None
    }

    fn permit(&self) {}

    async fn share(&self, byte_len: impl FnOnce() -> u64 + Send) -> Option<Shares> {
        let byte_len = byte_len();
        let own = self.bytes.take(byte_len).await;
        let common = match &self.options.in_flight {
            Some(shared) => Some(shared.budgets().bytes.take(byte_len).await),
            None => None,
        };
        Some((own, common))
    }

    async fn fetch(&self, fetch: &Fetch) -> Result<Fetched, StoreError> {
        let _request = self.request().await;
        self.store.fetch(fetch).await
    }

    async fn put(&self, key: &Key, parts: &[Bytes], only_if: Precondition) -> Result<Put, EngineCause> {
        let _request = self.request().await;
        check_cancel(self.options.cancel.as_ref())?;
        Ok(self.store.put(key, parts, only_if).await?)
    }

    async fn erase(&self, key: &Key, only_if: Precondition) -> Result<Put, EngineCause> {
        let _request = self.request().await;
        check_cancel(self.options.cancel.as_ref())?;
        Ok(self.store.erase(key, only_if).await?)
    }

    async fn list(&self, prefix: &Prefix) -> Result<(Vec<String>, Vec<String>), StoreError> {
        let _request = self.request().await;
        // In a single request, which many of these stores support.
        let keys = self.store.list_prefix(prefix).await?;
        Ok((keys.iter().map(|key| key.as_str().to_owned()).collect(), Vec::new()))
    }

    fn lanes(&self) -> usize {
        self.options.requests_in_flight.get()
    }

    fn inner_lanes(&self, _: u64) -> usize {
        8
    }

    fn for_each<'a, S, E, F>(
        &'a self,
        mut items: S,
        lanes: usize,
        each: impl Fn(S::Item) -> F + Send + Sync + 'a,
    ) -> Self::Loop<'a, E>
    where
        S: Sequence + 'a,
        E: Send + 'a,
        F: Future<Output = Result<(), E>> + Send + 'a,
    {
        let items = stream::iter(std::iter::from_fn(move || items.next()));
        Box::pin(items.map(Ok).try_for_each_concurrent(lanes, each))
    }

    async fn decode(&self, mut job: Job<'_>, damage: &OnDamage<'_>) -> Result<(), EngineCause> {
        let Some(decode) = job.detach() else {
            // Only copies, which need the output anyway.
            return damage.run(job);
        };
        let decoded = on_pool(Queue::COMPUTE, move || with_workspace(decode)).await;
        match decoded.and_then(|decoded| job.put(&decoded)) {
            Err(cause) if damage.fills(&cause) => {
                damage.report([job.fill_over(cause)?]);
                Ok(())
            }
            result => result,
        }
    }

    async fn encode(&self, job: &EncodeJob, source: &dyn Source) -> Result<Option<Vec<u8>>, EngineCause> {
        let (job, owned) = job.detach(source)?;
        on_pool(Queue::COMPUTE, move || with_workspace(|workspace| job.run(&*owned, workspace))).await
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use ndzarr_store::MemoryStore;

    use super::*;

    fn held<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
        mutex.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Another writer holds the locks of all eight items, and lets go of them at one moment.
    #[test]
    fn after_a_wait_the_items_left_are_tried_together() {
        let store = MemoryStore::new();
        let options = RunOptions::default();
        let io = Here::new(&store, &options);
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
