//! 0-d arrays of the draft's dialect B whose value is under `c`, as other writers have it, and not
//! under `c0`.

use ndarray::{Array0, arr0};
use ndzarr::{Array, Format, MemoryStore, Storage, Store, asynchronous};
use ndzarr_testkit::{AsyncMemoryStore, Latency, PlainStore, block_on};

/// A five under `c`, and nothing under `c0` unless `also` has a value for it.
fn foreign(also: Option<u8>) -> MemoryStore {
    let store = MemoryStore::new();
    let a = Array::<u8>::builder([0u64; 0])
        .format(Format::DraftB)
        .create((&store, "a"))
        .expect("a new array");
    a.write((), &arr0(5)).expect("a write");
    store
        .set(
            "data/root/a/c",
            store.get("data/root/a/c0").expect("a value"),
        )
        .expect("a key");
    let own = ndzarr::store::Key::new("data/root/a/c0").expect("a key");
    store
        .erase(&own, ndzarr::store::Precondition::None)
        .expect("it is erased");
    if let Some(value) = also {
        store.set("data/root/a/c0", vec![value]).expect("a key");
    }
    store
}

fn value(storage: &Storage) -> u8 {
    let read: Array0<u8> = Array::<u8>::open((storage, "a"))
        .expect("an array")
        .read(())
        .expect("a read");
    read.into_scalar()
}

#[test]
fn every_write_replaces_the_value() {
    for also in [None, Some(6)] {
        let memory = foreign(also);
        let stores = [
            Storage::from(&memory),
            Storage::blocking(PlainStore::new(foreign(also))),
        ];
        for storage in stores {
            assert_eq!(value(&storage), also.unwrap_or(5));
            let a = Array::<u8>::open((&storage, "a")).expect("an array");
            a.fill(.., 0).expect("a write");
            assert_eq!(value(&storage), 0);
        }
        let storage = Storage::from(foreign(also));
        let a = Array::<u8>::open((&storage, "a")).expect("an array");
        a.write((), &arr0(7)).expect("a write");
        assert_eq!(value(&storage), 7);
        block_on(asynchronous::Array::from(a.clone()).write((), &arr0(0))).expect("a write");
        assert_eq!(value(&storage), 0);
    }
}

#[test]
fn a_write_to_an_asynchronous_store_replaces_the_value() {
    let memory = foreign(None);
    let storage = Storage::asynchronous(AsyncMemoryStore::over(memory, Latency::default()));
    Array::<u8>::open((&storage, "a"))
        .expect("an array")
        .fill(.., 0)
        .expect("a write");
    assert_eq!(value(&storage), 0);
}
