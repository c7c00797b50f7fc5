//! Circles of locks are found.

use ndzarr_store::{Key, KeyLock, Locked, Precondition, Prefix, Store, StoreError, Wait};
use ndzarr_store_fs::FsStore;
use ndzarr_testkit::LockOrder;

type Outcome = Result<(), StoreError>;

fn held(store: &impl Store, key: &str) -> Result<Box<dyn KeyLock>, StoreError> {
    match store.lock(&Key::new(key)?, Wait::Block)? {
        Locked::Held(lock) => Ok(lock),
        other => panic!("{other:?}"),
    }
}

#[test]
fn documents_before_chunks_are_an_order() -> Outcome {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let order = LockOrder::new();
    let store = order.caller(FsStore::new(folder.path()));
    assert!(
        matches!(store.lock(&Key::new("a/0.0")?, Wait::Try)?, Locked::Busy),
        "once"
    );
    assert!(matches!(
        store.lock(&Key::new("a/0.0")?, Wait::Try)?,
        Locked::Held(_)
    ));
    let document = held(&store, "a/.zarray")?;
    held(&store, "a/0.0")?.publish()?;
    store.put(&Key::new("a/0.1")?, &["x".into()], Precondition::None)?;
    drop(document);
    held(&store, "a/.zarray")?.erase()?;
    assert_eq!(order.pairs(), [(".zarray".to_owned(), "chunk".to_owned())]);
    order.check();
    Ok(())
}

#[test]
#[should_panic(expected = "in a circle")]
fn two_callers_in_opposite_orders_are_a_circle() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let order = LockOrder::new();
    for [first, second] in [["a/zarr.json", "a/c/0"], ["b/c/0", "b/zarr.json"]] {
        let store = order.caller(FsStore::new(folder.path()));
        let first = held(&store, first).expect("it is free");
        drop(held(&store, second).expect("it is free"));
        drop(first);
    }
    order.check();
}

#[test]
#[should_panic(expected = "in a circle")]
fn two_chunks_at_a_time_are_a_circle() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let order = LockOrder::new();
    let store = order.caller(FsStore::new(folder.path()));
    let _first = held(&store, "a/c/0").expect("it is free");
    drop(held(&store, "a/c/1").expect("it is free"));
    order.check();
}

#[test]
fn a_caller_does_not_wait_for_itself() -> Outcome {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let order = LockOrder::new();
    let store = order.caller(FsStore::new(folder.path()));
    let _lock = held(&store, "a/c/0")?;
    assert!(held(&store, "a/c/0").is_err());
    assert!(
        store
            .put(&Key::new("a/c/0")?, &[], Precondition::None)
            .is_err()
    );
    assert!(store.erase_prefix(&Prefix::root(), Wait::Block).is_err());
    Ok(())
}
