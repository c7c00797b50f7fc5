//! `AsyncIo`: a store whose calls are futures.

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::{StreamExt, TryStreamExt, stream};
use ndzarr_pool::Queue;
use ndzarr_store::{
    AsyncStore, Fetch, Fetched, Key, Precondition, Prefix, Put, RangeMerging, Store, StoreError,
};

use super::{Below, Io, Shares};
use crate::reading::damage::OnDamage;
use crate::reading::job::Job;
use crate::threads::budget::{Budget, Share};
use crate::threads::cancel::check_cancel;
use crate::threads::for_each::Sequence;
use crate::threads::other_threads::on_pool;
use crate::threads::scratch::with_workspace;
use crate::writing::encode_job::EncodeJob;
use crate::{EngineCause, RunOptions, Source};

/// A store with asynchronous calls. Decoding and encoding run on the library's pool, in memory that
/// belongs to the jobs; the polling task puts results in place.
pub(crate) struct AsyncIo<'r> {
    store: &'r dyn AsyncStore,
    options: &'r RunOptions,
    bytes: Budget,
}

impl<'r> AsyncIo<'r> {
    pub(crate) fn new(store: &'r dyn AsyncStore, options: &'r RunOptions) -> Self {
        Self {
            store,
            options,
            bytes: Budget::new(options.bytes_in_flight),
        }
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

impl Io for AsyncIo<'_> {
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
        RangeMerging {
            piece: None,
            ..self.store.range_merging()
        }
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

    async fn put(
        &self,
        key: &Key,
        parts: &[Bytes],
        only_if: Precondition,
    ) -> Result<Put, EngineCause> {
        let _request = self.request().await;
        check_cancel(self.options.cancel.as_ref())?;
        Ok(self.store.put(key, parts, only_if).await?)
    }

    async fn erase(&self, key: &Key, only_if: Precondition) -> Result<Put, EngineCause> {
        let _request = self.request().await;
        check_cancel(self.options.cancel.as_ref())?;
        Ok(self.store.erase(key, only_if).await?)
    }

    async fn list(&self, prefix: &Prefix) -> Result<Below, StoreError> {
        let _request = self.request().await;
        // In a single request, which many of these stores support.
        let keys = self.store.list_prefix(prefix).await?;
        Ok(Below {
            keys: keys.iter().map(|key| key.as_str().to_owned()).collect(),
            folders: Vec::new(),
        })
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

    async fn encode(
        &self,
        job: &EncodeJob,
        source: &dyn Source,
    ) -> Result<Option<Vec<u8>>, EngineCause> {
        let (job, owned) = job.detach(source)?;
        on_pool(Queue::COMPUTE, move || {
            with_workspace(|workspace| job.run(&*owned, workspace))
        })
        .await
    }
}
