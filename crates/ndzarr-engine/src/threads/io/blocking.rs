//! `BlockingIo`: a store with blocking calls.

use std::future::{Future, Ready, ready};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use ndzarr_store::{
    DirListing, Fetch, Fetched, Key, Precondition, Prefix, Put, RangeMerging, Store, StoreError,
};

use super::{Below, Io, Shares};
use crate::cache::with_files;
use crate::reading::damage::OnDamage;
use crate::reading::job::Job;
use crate::threads::cancel::publishing;
use crate::threads::for_each::{Sequence, for_each, for_each_waiting, n_threads};
use crate::threads::scratch::{Permit, Permits, with_workspace};
use crate::writing::encode_job::EncodeJob;
use crate::{EngineCause, RunOptions, Source};

/// The output of a future over a store with blocking calls, which is always ready.
pub(crate) fn now<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => unreachable!("what blocks has ended when it returns"),
    }
}

/// A store with blocking calls. The calling thread makes requests, decodes and encodes, with the
/// help of the pool; every future is ready at once.
pub(crate) struct BlockingIo<'r> {
    store: &'r dyn Store,
    options: &'r RunOptions,
    threads: usize,
    /// For a store whose writes wait.
    writers: Option<Writers>,
}

/// More threads than may compute, since most of them wait for the store.
struct Writers {
    threads: usize,
    permits: Permits,
}

impl<'r> BlockingIo<'r> {
    pub(crate) fn new(store: &'r dyn Store, options: &'r RunOptions) -> Self {
        Self {
            store,
            options,
            threads: n_threads(options.threads),
            writers: None,
        }
    }

    /// For a chunk whose neighbours are in progress as well.
    pub(crate) fn one_thread(store: &'r dyn Store, options: &'r RunOptions) -> Self {
        Self {
            store,
            options,
            threads: 1,
            writers: None,
        }
    }

    /// For a write: with `n_writers` threads at least, if the store's writes wait.
    pub(crate) fn writing(self, n_writers: impl FnOnce() -> usize) -> Self {
        let waits = self.threads > 1 && self.store.writes_wait();
        let writers = waits.then(|| Writers {
            threads: n_writers().max(2 * self.threads),
            permits: Permits::new(self.threads),
        });
        Self { writers, ..self }
    }
}

impl Io for BlockingIo<'_> {
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
        self.writers.as_ref().map(|writers| writers.permits.take())
    }

    async fn share(&self, _: impl FnOnce() -> u64 + Send) -> Option<Shares> {
        None
    }

    async fn fetch(&self, fetch: &Fetch) -> Result<Fetched, StoreError> {
        with_files(|| self.store.fetch(fetch))
    }

    async fn put(
        &self,
        key: &Key,
        parts: &[Bytes],
        only_if: Precondition,
    ) -> Result<Put, EngineCause> {
        let put = || with_files(|| self.store.put(key, parts, only_if.clone()));
        publishing(self.options.cancel.as_ref(), put)
    }

    async fn erase(&self, key: &Key, only_if: Precondition) -> Result<Put, EngineCause> {
        publishing(self.options.cancel.as_ref(), || {
            with_files(|| self.store.erase(key, only_if.clone()))
        })
    }

    async fn list(&self, prefix: &Prefix) -> Result<Below, StoreError> {
        // Folder by folder, so that few names are in memory.
        let DirListing {
            keys,
            prefixes: mut folders,
        } = with_files(|| self.store.list_dir(prefix))?;
        folders.extend(with_files(|| self.store.links_up(prefix))?);
        let keys = keys.iter().map(|name| format!("{prefix}{name}")).collect();
        Ok(Below { keys, folders })
    }

    fn lanes(&self) -> usize {
        self.threads
    }

    fn inner_lanes(&self, n_chunks: u64) -> usize {
        // A call on many chunks runs them in parallel; one on few shards, their inner chunks.
        if n_chunks >= 4 * self.threads as u64 {
            1
        } else {
            self.threads
        }
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
        ready(match &self.writers {
            Some(writers) => for_each_waiting(items, writers.threads, |item| now(each(item))),
            None => for_each(items, self.threads, |item| now(each(item))),
        })
    }

    async fn decode(&self, job: Job<'_>, damage: &OnDamage<'_>) -> Result<(), EngineCause> {
        damage.run(job)
    }

    async fn encode(
        &self,
        job: &EncodeJob,
        source: &dyn Source,
    ) -> Result<Option<Vec<u8>>, EngineCause> {
        with_workspace(|workspace| job.run(source, workspace))
    }
}
