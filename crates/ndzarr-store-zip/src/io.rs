//! `Io`: access to the store that has an archive. Reading is written once, as `async` code that
//! uses it.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use ndzarr_store::{AsyncStore, Fetch, Fetched, Store, StoreError};

/// Requests to a store, blocking or not. The future is declared to be [`Send`], so that the
/// compiler can prove the same for the futures of its users.
pub(crate) trait Io: Sync {
    /// The most bytes between two ranges that may be read unnecessarily.
    fn gap(&self) -> u64;

    fn fetch(&self, fetch: &Fetch) -> impl Future<Output = Result<Fetched, StoreError>> + Send;
}

/// Requests to a store whose calls block: every future is ready at once.
pub(crate) struct BlockingIo<'s, S>(pub(crate) &'s S);

impl<S: Store> Io for BlockingIo<'_, S> {
    fn gap(&self) -> u64 {
        self.0.range_merging().gap
    }

    async fn fetch(&self, fetch: &Fetch) -> Result<Fetched, StoreError> {
        self.0.fetch(fetch)
    }
}

/// Requests to a store whose calls are futures.
pub(crate) struct AsyncIo<'s, S>(pub(crate) &'s S);

impl<S: AsyncStore> Io for AsyncIo<'_, S> {
    fn gap(&self) -> u64 {
        self.0.range_merging().gap
    }

    async fn fetch(&self, fetch: &Fetch) -> Result<Fetched, StoreError> {
        self.0.fetch(fetch).await
    }
}

/// The output of a future that uses [`BlockingIo`], which is always ready.
pub(crate) fn run_ready<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => unreachable!("a blocking call has ended when it returns"),
    }
}
