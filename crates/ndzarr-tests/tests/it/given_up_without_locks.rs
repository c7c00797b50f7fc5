//! Abandoned calls in a store without locks.

use std::task::{Context, Waker};
use std::thread;
use std::time::Duration;

use ndarray::arr1;
use ndzarr::{Array, ConcurrentUpdate, MemoryStore, RunOptions, Storage, asynchronous, codec};
use ndzarr_store::{Key, Precondition, Put, Store, StoreError};
use ndzarr_testkit::{PlainStore, forward};
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
    forward!(inner: name, fetch, put, list_dir, can);

    fn erase(&self, key: &Key, only_if: Precondition) -> Result<Put, StoreError> {
        self.gate.pass();
        self.inner.erase(key, only_if)
    }
}

/// Without locks nothing but the drop itself keeps a later call away until the append is undone
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
    let opener = thread::spawn({
        let gate = gate.clone();
        move || {
            gate.wait_for(1);
            // Time for the drop to return too early.
            thread::sleep(Duration::from_millis(200));
            gate.open();
        }
    });
    drop(future);
    assert_eq!(
        memory.get("a/c/0"),
        None,
        "it is undone when the future is gone"
    );
    a.resize([8]).expect("it works");
    assert_eq!(vec(&a), [0; 8]);
    encoders.open();
    opener.join().expect("no panic");
    assert_eq!(vec(&a), [0; 8]);
}
