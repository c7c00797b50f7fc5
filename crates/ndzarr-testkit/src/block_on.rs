use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use bytes::Bytes;
use ndzarr_store::{
    AsyncStore, DirListing, Fetch, Fetched, Key, Precondition, Prefix, Put, RangeMerging, Store, StoreError,
};

/// Runs a future on this thread until it is done.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}

/// An async store with blocking calls.
#[derive(Debug)]
pub struct BlockOn<S: ?Sized>(pub Box<S>);

impl<S: AsyncStore + ?Sized> Store for BlockOn<S> {
    fn name(&self) -> String {
        self.0.name()
    }

    fn fetch(&self, fetch: &Fetch) -> Result<Fetched, StoreError> {
        block_on(self.0.fetch(fetch))
    }

    fn put(&self, key: &Key, parts: &[Bytes], only_if: Precondition) -> Result<Put, StoreError> {
        block_on(self.0.put(key, parts, only_if))
    }

    fn erase(&self, key: &Key, only_if: Precondition) -> Result<Put, StoreError> {
        block_on(self.0.erase(key, only_if))
    }

    fn list_dir(&self, prefix: &Prefix) -> Result<DirListing, StoreError> {
        block_on(self.0.list_dir(prefix))
    }

    fn list_prefix(&self, prefix: &Prefix) -> Result<Vec<Key>, StoreError> {
        block_on(self.0.list_prefix(prefix))
    }

    fn erase_prefix(&self, prefix: &Prefix) -> Result<(), StoreError> {
        block_on(self.0.erase_prefix(prefix))
    }

    fn range_merging(&self) -> RangeMerging {
        self.0.range_merging()
    }
}
