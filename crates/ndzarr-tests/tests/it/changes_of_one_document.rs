//! Changes that other calls wait for, because they need the same document.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Waker};

use ndarray::Array1;
use ndzarr::{Array, FsStore, RunOptions, Storage, asynchronous};
use ndzarr_store::{Fetched, Key, KeyLock, Locked, Of, Pin, Store, StoreError, Wait, Want};
use ndzarr_testkit::{block_on, forward};
use serde_json::json;

/// A gate that writers of a key pass under its lock.
#[derive(Debug)]
struct Gate {
    key: &'static str,
    before: Step,
    state: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct GateState {
    has_come: bool,
    is_open: bool,
}

/// What a writer does under a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Append,
    Publish,
}

impl Gate {
    fn before(before: Step, key: &'static str) -> Arc<Self> {
        Arc::new(Self {
            key,
            before,
            state: Mutex::default(),
            changed: Condvar::new(),
        })
    }

    fn pass(&self) {
        let mut state = self.state.lock().expect("no panic");
        state.has_come = true;
        self.changed.notify_all();
        drop(
            self.changed
                .wait_while(state, |state| !state.is_open)
                .expect("no panic"),
        );
    }

    fn has_come(&self) -> bool {
        self.state.lock().expect("no panic").has_come
    }

    fn wait(&self) {
        let state = self.state.lock().expect("no panic");
        drop(
            self.changed
                .wait_while(state, |state| !state.has_come)
                .expect("no panic"),
        );
    }

    fn open(&self) {
        self.state.lock().expect("no panic").is_open = true;
        self.changed.notify_all();
    }
}

/// A folder with gates.
#[derive(Debug)]
struct Gated {
    inner: FsStore,
    gates: Vec<Arc<Gate>>,
}

impl Store for Gated {
    forward!(inner: name, fetch, put, erase, list_dir, list_prefix);

    fn lock(&self, key: &Key, wait: Wait<'_>) -> Result<Locked, StoreError> {
        let gate = self
            .gates
            .iter()
            .find(|gate| gate.key == key.as_str())
            .cloned();
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

impl Lock {
    fn pass(&self, step: Step) {
        self.gate
            .iter()
            .filter(|gate| gate.before == step)
            .for_each(|gate| gate.pass());
    }
}

impl KeyLock for Lock {
    fn fetch(&mut self, of: Of, want: Want) -> Result<Fetched, StoreError> {
        self.lock.fetch(of, want)
    }

    fn append(&mut self, part: &[u8]) -> Result<u64, StoreError> {
        self.pass(Step::Append);
        self.lock.append(part)
    }

    fn write_at(&mut self, at: u64, part: &[u8]) -> Result<(), StoreError> {
        self.lock.write_at(at, part)
    }

    fn publish(self: Box<Self>) -> Result<Pin, StoreError> {
        self.pass(Step::Publish);
        self.lock.publish()
    }

    fn erase(self: Box<Self>) -> Result<(), StoreError> {
        self.lock.erase()
    }
}

/// A change waits for an append, up to the publication of the document. It is then dropped, and the
/// append is not.
#[test]
fn a_dropped_change_does_not_end_an_append_that_it_waited_for() {
    let folder = tempfile::tempdir().expect("a folder");
    Array::<u8>::builder([0])
        .chunks([4])
        .create((folder.path(), "a"))
        .expect("created");
    let chunk = Gate::before(Step::Append, "a/c/0");
    let document = Gate::before(Step::Append, "a/zarr.json");
    let gates = vec![Arc::clone(&chunk), Arc::clone(&document)];
    let store = Storage::blocking(Gated {
        inner: FsStore::new(folder.path()),
        gates,
    });
    let a = Array::<u8>::open((&store, "a")).expect("opens");
    let mut other = asynchronous::Array::from(a.clone());
    let mut a = asynchronous::Array::from(a);

    let data = Array1::from_elem(4, 1);
    let mut append = Box::pin(a.append(0, &data));
    let mut context = Context::from_waker(Waker::noop());
    while !chunk.has_come() {
        assert!(append.as_mut().poll(&mut context).is_pending());
        std::thread::yield_now();
    }
    let mut change = Box::pin(other.merge_attributes(json!({"k": 1})));
    assert!(change.as_mut().poll(&mut context).is_pending());
    // From here on, the append is not polled.
    chunk.open();
    document.wait();
    drop(change);
    document.open();
    block_on(append).expect("the append was not dropped");
    let a = Array::<u8>::open((folder.path(), "a")).expect("opens");
    assert_eq!(
        a.read(..).expect("read").into_raw_vec_and_offset().0,
        [1; 4]
    );
}

/// Dropping an append waits for the publication of its document. Meanwhile later appends wait for
/// the document's lock, on any thread, without a busy loop.
#[test]
fn later_appends_do_not_spin_while_a_dropped_one_publishes() {
    let folder = tempfile::tempdir().expect("a folder");
    Array::<u8>::builder([0])
        .chunks([4])
        .create((folder.path(), "a"))
        .expect("created");
    let document = Gate::before(Step::Publish, "a/zarr.json");
    let gates = vec![Arc::clone(&document)];
    let store = Arc::new(Gated {
        inner: FsStore::new(folder.path()),
        gates,
    });
    let in_use = Arc::downgrade(&store);
    let a = Array::<u8>::open((Storage::blocking(store), "a")).expect("opens");
    let mut a = asynchronous::Array::from(a);
    let mut b = a.clone();
    let mut c = a.clone();

    let ones = Array1::from_elem(4, 1);
    let twos = Array1::from_elem(4, 2);
    let threes = Array1::from_elem(4, 3);
    let mut append = Box::pin(a.append(0, &ones));
    let mut context = Context::from_waker(Waker::noop());
    while !document.has_come() {
        assert!(append.as_mut().poll(&mut context).is_pending());
        std::thread::yield_now();
    }
    let mut second = Box::pin(b.append(0, &twos));
    let mut third = Box::pin(c.append(0, &threes));
    let mut poll_both = || {
        // They come far enough to wait for the first one. A busy machine may hide a fault here, but
        // cannot cause a false one.
        for _ in 0..1000 {
            assert!(second.as_mut().poll(&mut context).is_pending());
            assert!(third.as_mut().poll(&mut context).is_pending());
            std::thread::yield_now();
        }
    };
    poll_both();
    std::thread::scope(|scope| {
        scope.spawn(|| drop(append));
        poll_both();
        assert_eq!(
            Array::<u8>::open((folder.path(), "a"))
                .expect("opens")
                .shape(),
            [0]
        );
        document.open();
    });
    block_on(second).expect("appended");
    block_on(third).expect("appended");
    drop((a, b, c));
    while in_use.strong_count() > 0 {
        std::thread::yield_now();
    }
    let a = Array::<u8>::open((folder.path(), "a")).expect("opens");
    let all = a.read(..).expect("read").into_raw_vec_and_offset().0;
    let (first, others) = all.split_at(4);
    assert_eq!(first, [1; 4]);
    assert!(
        [[2, 2, 2, 2, 3, 3, 3, 3], [3, 3, 3, 3, 2, 2, 2, 2]]
            .iter()
            .any(|order| order == others)
    );
}

/// A change waits for an append whose progress callback panics: that ends the append, not the
/// change.
#[test]
fn a_panic_stays_in_its_own_call() {
    let folder = tempfile::tempdir().expect("a folder");
    Array::<u8>::builder([0])
        .chunks([4])
        .create((folder.path(), "a"))
        .expect("created");
    let chunk = Gate::before(Step::Append, "a/c/0");
    let store = Storage::blocking(Gated {
        inner: FsStore::new(folder.path()),
        gates: vec![Arc::clone(&chunk)],
    });
    let a = Array::<u8>::open((&store, "a")).expect("opens");
    let panics = RunOptions::default().progress(|_| panic!("in the callback"));
    let mut other = asynchronous::Array::from(a.clone());
    let mut a = asynchronous::Array::from(a.with_options(panics));

    let ones = Array1::from_elem(4, 1);
    let mut append = Box::pin(a.append(0, &ones));
    let mut context = Context::from_waker(Waker::noop());
    while !chunk.has_come() {
        assert!(append.as_mut().poll(&mut context).is_pending());
        std::thread::yield_now();
    }
    let twos = Array1::from_elem(4, 2);
    let mut second = Box::pin(other.append(0, &twos));
    assert!(second.as_mut().poll(&mut context).is_pending());
    chunk.open();
    // The first one is not polled meanwhile.
    block_on(second).expect("appended");
    let panic = catch_unwind(AssertUnwindSafe(|| block_on(append))).expect_err("its own panic");
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"in the callback"));
    let a = Array::<u8>::open((folder.path(), "a")).expect("opens");
    assert_eq!(
        a.read(..).expect("read").into_raw_vec_and_offset().0,
        [2; 4]
    );
}
