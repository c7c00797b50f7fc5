//! Changes that other calls poll, because they wait for the same document.

use std::future::Future;
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Waker};

use ndarray::Array1;
use ndzarr::{Array, FsStore, Storage, asynchronous};
use ndzarr_store::{Fetched, Key, KeyLock, Locked, Of, Pin, Store, StoreError, Wait, Want};
use ndzarr_testkit::{block_on, forward};
use serde_json::json;

/// A gate that writers of a key pass after they took its lock.
#[derive(Debug)]
struct Gate {
    key: &'static str,
    /// Whether a writer came, and whether it is open.
    state: Mutex<(bool, bool)>,
    changed: Condvar,
}

impl Gate {
    fn new(key: &'static str) -> Arc<Self> {
        Arc::new(Self { key, state: Mutex::default(), changed: Condvar::new() })
    }

    fn pass(&self) {
        let mut state = self.state.lock().expect("no panic");
        state.0 = true;
        self.changed.notify_all();
        drop(self.changed.wait_while(state, |(_, is_open)| !*is_open).expect("no panic"));
    }

    fn has_come(&self) -> bool {
        self.state.lock().expect("no panic").0
    }

    fn wait(&self) {
        let state = self.state.lock().expect("no panic");
        drop(self.changed.wait_while(state, |(came, _)| !*came).expect("no panic"));
    }

    fn open(&self) {
        self.state.lock().expect("no panic").1 = true;
        self.changed.notify_all();
    }
}

/// A folder with gates.
#[derive(Debug)]
struct Gated {
    inner: FsStore,
    gates: [Arc<Gate>; 2],
}

impl Store for Gated {
    forward!(inner: name, fetch, put, erase, list_dir, list_prefix);

    fn lock(&self, key: &Key, wait: Wait<'_>) -> Result<Locked, StoreError> {
        let gate = self.gates.iter().find(|gate| gate.key == key.as_str()).cloned();
        Ok(match self.inner.lock(key, wait)? {
            Locked::Held(lock) => Locked::Held(Box::new(Lock { lock, gate })),
            other => other,
        })
    }
}

struct Lock {
    lock: Box<dyn KeyLock>,
    gate: Option<Arc<Gate>>,
}

impl KeyLock for Lock {
    fn fetch(&mut self, of: Of, want: Want) -> Result<Fetched, StoreError> {
        self.lock.fetch(of, want)
    }

    fn append(&mut self, part: &[u8]) -> Result<u64, StoreError> {
        self.gate.iter().for_each(|gate| gate.pass());
        self.lock.append(part)
    }

    fn write_at(&mut self, at: u64, part: &[u8]) -> Result<(), StoreError> {
        self.lock.write_at(at, part)
    }

    fn publish(self: Box<Self>) -> Result<Pin, StoreError> {
        self.lock.publish()
    }

    fn erase(self: Box<Self>) -> Result<(), StoreError> {
        self.lock.erase()
    }
}

/// A change that waits for an append polls it, up to the publication of the document. It is then
/// dropped, and the append is not.
#[test]
fn a_dropped_change_does_not_end_an_append_that_it_polled() {
    let folder = tempfile::tempdir().expect("a folder");
    Array::<u8>::builder([0]).chunks([4]).create((folder.path(), "a")).expect("created");
    let (chunk, document) = (Gate::new("a/c/0"), Gate::new("a/zarr.json"));
    let gates = [Arc::clone(&chunk), Arc::clone(&document)];
    let store = Storage::blocking(Gated { inner: FsStore::new(folder.path()), gates });
    let a = Array::<u8>::open((&store, "a")).expect("opens");
    let (mut a, mut other) = (asynchronous::Array::from(a.clone()), asynchronous::Array::from(a));

    let data = Array1::from_elem(4, 1);
    let mut append = Box::pin(a.append(0, &data));
    let mut context = Context::from_waker(Waker::noop());
    while !chunk.has_come() {
        assert!(append.as_mut().poll(&mut context).is_pending());
        std::thread::yield_now();
    }
    let mut change = Box::pin(other.merge_attributes(json!({"k": 1})));
    assert!(change.as_mut().poll(&mut context).is_pending());
    // From here on, only the thread of the change polls the append.
    chunk.open();
    document.wait();
    drop(change);
    document.open();
    block_on(append).expect("the append was not dropped");
    let a = Array::<u8>::open((folder.path(), "a")).expect("opens");
    assert_eq!(a.read(..).expect("read").into_raw_vec_and_offset().0, [1; 4]);
}
