//! An append that is dropped while its document is being written.

use std::sync::Arc;
use std::thread;

use ndarray::arr1;
use ndzarr::{Array, FsStore, Storage, asynchronous};
use ndzarr_store::{Fetched, Key, KeyLock, Locked, Of, StoreError, Wait, Want};
use ndzarr_testkit::forward;

use crate::gate::Gate;
use crate::given_up::{begin_and_drop, until_gone, vec};

/// A folder in which writing a new document waits at a gate, and the thread that tidies up after a
/// dropped call waits at another one before it takes the document's lock.
#[derive(Debug)]
struct SlowDocuments {
    inner: FsStore,
    gate: Gate,
    late: Gate,
}

struct SlowLock {
    inner: Box<dyn KeyLock>,
    gate: Gate,
}

impl ndzarr::Store for SlowDocuments {
    forward!(inner: name, fetch, fetch_pieces, has, put, erase, temporary, list_dir, list_prefix);

    fn lock(&self, key: &Key, wait: Wait<'_>) -> Result<Locked, StoreError> {
        if key.as_str() != "a/zarr.json" {
            return self.inner.lock(key, wait);
        }
        if thread::current().name() == Some("ndzarr-tidy") {
            self.late.pass();
        }
        Ok(match self.inner.lock(key, wait)? {
            Locked::Held(inner) => Locked::Held(Box::new(SlowLock {
                inner,
                gate: self.gate.clone(),
            })),
            other => other,
        })
    }
}

impl KeyLock for SlowLock {
    fn fetch(&mut self, of: Of, want: Want) -> Result<Fetched, StoreError> {
        self.inner.fetch(of, want)
    }

    fn append(&mut self, part: &[u8]) -> Result<u64, StoreError> {
        self.gate.pass();
        self.inner.append(part)
    }

    fn write_at(&mut self, at: u64, part: &[u8]) -> Result<(), StoreError> {
        self.inner.write_at(at, part)
    }

    fn publish(self: Box<Self>) -> Result<ndzarr_store::Pin, StoreError> {
        self.inner.publish()
    }

    fn erase(self: Box<Self>) -> Result<(), StoreError> {
        self.inner.erase()
    }
}

/// The elements are stored, and the document is being written when the call is dropped. No other
/// writer may hold the document before the elements are removed.
#[test]
fn growing_shows_nothing_of_an_append_dropped_at_its_end() {
    let folder = tempfile::tempdir().expect("it works");
    let gate = Gate::default();
    let late = Gate::default();
    let store = SlowDocuments {
        inner: FsStore::new(folder.path()),
        gate: gate.clone(),
        late: late.clone(),
    };
    let store = Arc::new(store);
    let weak = Arc::downgrade(&store);
    gate.open();
    let a = Array::<u8>::builder([2])
        .chunks([4])
        .create((Storage::blocking(store), "a"));
    let a = a.expect("it works");
    a.fill([0..2], 3).expect("it works");
    gate.shut();
    let mut b = a.clone();
    begin_and_drop(
        &gate,
        asynchronous::Array::from(a).append(0, &arr1(&[1, 1])),
    );
    let resize = thread::spawn(move || b.resize([4]));
    gate.open();
    resize.join().expect("no panic").expect("it works");
    late.open();
    until_gone(&weak);
    assert_eq!(
        vec(&Array::open((folder.path(), "a")).expect("it works")),
        [3, 3, 0, 0]
    );
}
