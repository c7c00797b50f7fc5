//! Abandoned calls in a store without locks.

use std::task::{Context, Waker};
use std::thread;
use std::time::{Duration, Instant};

use ndarray::arr1;
use ndzarr::{
    Array, Cancel, ConcurrentUpdate, CopyOptions, ErrorKind, MemoryStore, RunOptions, Storage,
    asynchronous, codec,
};
use ndzarr_store::{Key, Precondition, Put, Store, StoreError};
use ndzarr_testkit::{PlainStore, block_on, forward};
use serde_json::json;

use crate::gate::Gate;
use crate::given_up::{GateCodec, vec};

/// A store without locks, whose removals wait at a gate.
#[derive(Debug)]
struct SlowToErase {
    inner: PlainStore<MemoryStore>,
    gate: Gate,
}

impl Store for SlowToErase {
    forward!(inner: fetch, put, list_dir, can);

    /// Calls of other tests do not wait for this store.
    fn name(&self) -> String {
        "slow to erase".to_owned()
    }

    fn erase(&self, key: &Key, only_if: Precondition) -> Result<Put, StoreError> {
        self.gate.pass();
        self.inner.erase(key, only_if)
    }
}

/// Without locks nothing but the library itself keeps a later call away until the append is undone
/// (history 765 of the torture, once in some thousand runs).
#[test]
fn growing_shows_nothing_of_a_dropped_append_without_locks() {
    let gate = Gate::default();
    let encoders = Gate::default();
    let memory = MemoryStore::new();
    let store = SlowToErase {
        inner: PlainStore::new(memory.clone()),
        gate: gate.clone(),
    };
    let storage = Storage::blocking(store);
    let options = RunOptions::default().concurrent_update(ConcurrentUpdate::LastWriterWins);
    let mut a = Array::<u8>::builder([0])
        .chunks([4])
        .codecs([codec::named("gate", json!({}))])
        .registry(GateCodec::registry(&encoders))
        .create((&storage, "a"))
        .expect("it works")
        .with_options(options);
    // The first chunk is stored. The second one stays at the gate of the encoders, so that the
    // append cannot end.
    let mut appended = asynchronous::Array::from(a.clone());
    let elements = arr1(&[5, 5, 5, 5, 1, 1, 1, 1]);
    let mut future = Box::pin(appended.append(0, &elements));
    while memory.get("a/c/0").is_none() {
        assert!(
            future
                .as_mut()
                .poll(&mut Context::from_waker(Waker::noop()))
                .is_pending()
        );
        thread::yield_now();
    }
    let start = Instant::now();
    drop(future);
    assert!(
        start.elapsed() < Duration::from_secs(5),
        "dropping does not wait"
    );
    gate.wait_for(1);
    assert!(memory.get("a/c/0").is_some(), "it is being undone");
    // Neither a blocking call nor an asynchronous one waits if it is cancelled, or concerns another
    // store.
    let cancel = Cancel::new();
    cancel.cancel();
    let mut cancelled = a.clone().with_options(RunOptions::default().cancel(cancel));
    let error = cancelled.resize([8]).expect_err("it was cancelled");
    assert_eq!(error.kind(), ErrorKind::Cancelled, "{error:?}");
    let error = block_on(asynchronous::Array::from(cancelled).resize([8]));
    let error = error.expect_err("it was cancelled");
    assert_eq!(error.kind(), ErrorKind::Cancelled, "{error:?}");
    let elsewhere = tempfile::tempdir().expect("it works");
    let other = Array::<u8>::builder([1]).create((elsewhere.path(), "b"));
    other.expect("it works").fill([0..1], 1).expect("it works");
    assert!(!gate.is_open() && memory.get("a/c/0").is_some());
    // All others wait.
    let opener = thread::spawn({
        let gate = gate.clone();
        move || {
            // Time for the calls to return too early.
            thread::sleep(Duration::from_millis(200));
            gate.open();
        }
    });
    let reader = thread::spawn({
        let (storage, gate, a) = (storage.clone(), gate.clone(), a.clone());
        move || {
            block_on(asynchronous::Array::from(a).read(..)).expect("it works");
            assert!(gate.is_open(), "reading waits");
            storage.read_key("a/c/0", 100).expect("it works")
        }
    });
    let copier = thread::spawn({
        let (storage, gate) = (storage.clone(), gate.clone());
        move || {
            let target = tempfile::tempdir().expect("it works");
            let options = CopyOptions::new();
            let copy = asynchronous::copy((storage, "a"), (target.path(), "a"), &options);
            // The codec is not one of the library.
            let _ = block_on(copy);
            assert!(gate.is_open(), "copying waits");
        }
    });
    a.resize([8]).expect("it works");
    copier.join().expect("no panic");
    assert_eq!(memory.get("a/c/0"), None, "it is undone");
    assert_eq!(reader.join().expect("no panic"), None);
    assert_eq!(vec(&a), [0; 8]);
    encoders.open();
    opener.join().expect("no panic");
    assert_eq!(vec(&a), [0; 8]);
}
