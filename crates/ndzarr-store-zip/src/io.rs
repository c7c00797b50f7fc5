//! `Io`: access to the store that has an archive. Reading is written once, as `async` code over it.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use ndzarr_store::{AsyncStore, Fetch, Fetched, Store, StoreError};

/// Requests to a store, blocking or not. Its future declares that it is [`Send`], so that the
/// compiler can prove it for what is written over it.
pub(crate) trait Io: Sync {
    /// The most bytes between two ranges that may be read unnecessarily.
    fn gap(&self) -> u64;

    fn fetch(&self, fetch: &Fetch) -> impl Future<Output = Result<Fetched, StoreError>> + Send;
}

/// A store whose calls block: every future is ready at once.
pub(crate) struct Here<'s, S>(pub(crate) &'s S);

impl<S: Store> Io for Here<'_, S> {
    fn gap(&self) -> u64 {
        self.0.range_merging().gap
    }

    async fn fetch(&self, fetch: &Fetch) -> Result<Fetched, StoreError> {
        self.0.fetch(fetch)
    }
}

/// A store whose calls are futures.
pub(crate) struct Awaited<'s, S>(pub(crate) &'s S);

impl<S: AsyncStore> Io for Awaited<'_, S> {
    fn gap(&self) -> u64 {
        self.0.range_merging().gap
    }

    async fn fetch(&self, fetch: &Fetch) -> Result<Fetched, StoreError> {
        self.0.fetch(fetch).await
    }
}

/// The output of a future over [`Here`], which is always ready.
pub(crate) fn now<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => unreachable!("what blocks has ended when it returns"),
    }
}
