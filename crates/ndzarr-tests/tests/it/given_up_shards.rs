//! Abandoned calls that finish a shard.

use std::future::Future;
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Waker};
use std::thread;
use std::time::{Duration, Instant};

use ndarray::Array1;
use ndzarr::{Array, FsStore, Storage, asynchronous};
use ndzarr_testkit::forward;

use crate::given_up::{until_gone, vec};

#[test]
fn a_dropped_finish_of_a_shard_publishes_nothing_later() {
    use ndzarr_store::{Key, Locked, Store, Wait};
    let folder = tempfile::tempdir().expect("it works");
    let store = Arc::new(FsStore::new(folder.path()));
    let weak = Arc::downgrade(&store);
    let a = Array::<u8>::builder([16]).chunks([4]).shards([16]);
    let a = a.create((Storage::blocking(store), "a")).expect("it works");
    // Another process holds the shard's lock, so that the finish waits.
    let store = FsStore::new(folder.path());
    let Locked::Held(lock) = store
        .lock(&Key::new("a/c/0").expect("it works"), Wait::Try)
        .expect("it works")
    else {
        panic!()
    };
    let writer = a.shard_writer(&[0]).expect("it works");
    writer
        .write_chunk(&[0], &Array1::from_elem(4, 1))
        .expect("it works");
    let mut future = Box::pin(asynchronous::ShardWriter::from(writer).finish());
    assert!(
        future
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
            .is_pending()
    );
    drop(future);
    drop(lock);
    a.fill([0..16], 2).expect("it works");
    drop(a);
    until_gone(&weak);
    assert_eq!(
        vec(&Array::open((folder.path(), "a")).expect("it works")),
        [2; 16]
    );
}

/// A store without locks, which stores the first value together with the second, or after a while
/// without one.
#[derive(Clone, Debug, Default)]
struct FirstIsSlow {
    inner: ndzarr::MemoryStore,
    /// The number of shards to store so far.
    came: Arc<(Mutex<usize>, Condvar)>,
}

impl ndzarr::Store for FirstIsSlow {
    forward!(inner: fetch, erase);

    /// Calls of other tests do not wait for this store.
    fn name(&self) -> String {
        "the first is slow".to_owned()
    }

    fn put(
        &self,
        key: &ndzarr_store::Key,
        parts: &[bytes::Bytes],
        only_if: ndzarr_store::Precondition,
    ) -> Result<ndzarr_store::Put, ndzarr_store::StoreError> {
        if key.as_str() != "a/c/0" {
            return self.inner.put(key, parts, only_if);
        }
        let mut came = self.came.0.lock().expect("no panic");
        *came += 1;
        self.came.1.notify_all();
        if *came > 1 {
            return self.inner.put(key, parts, only_if);
        }
        drop(came);
        // Nothing announces that there is no second one: then the first has to finish, long before
        // the 10 s that later calls wait for it.
        let start = Instant::now();
        let has_second = || *self.came.0.lock().expect("no panic") > 1;
        let waits = |_: &usize| !has_second() && start.elapsed() < Duration::from_secs(1);
        (0..10_000)
            .take_while(waits)
            .for_each(|_| thread::yield_now());
        self.inner.put(key, parts, only_if)
    }
}

#[test]
fn a_dropped_finish_without_locks_publishes_nothing_later() {
    let store = FirstIsSlow::default();
    let a = Array::<u8>::builder([16])
        .chunks([4])
        .shards([16])
        .create((Storage::blocking(store.clone()), "a"));
    let a = a.expect("it works");
    let writer = a.shard_writer(&[0]).expect("it works");
    for inner in 0..4 {
        writer
            .write_chunk(&[inner], &Array1::from_elem(4, 1))
            .expect("it works");
    }
    let mut future = Box::pin(asynchronous::ShardWriter::from(writer).finish());
    assert!(
        future
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
            .is_pending()
    );
    let came = store.came.0.lock().expect("no panic");
    drop(
        store
            .came
            .1
            .wait_while(came, |came| *came < 1)
            .expect("no panic"),
    );
    drop(future);
    a.fill([0..16], 2).expect("it works");
    let memory = store.inner.clone();
    let came = Arc::downgrade(&store.came);
    drop((a, store));
    until_gone(&came);
    assert_eq!(
        vec(&Array::open((&memory, "a")).expect("it works")),
        [2; 16]
    );
}
