//! Locks that another writer holds for too long, or took over before anything was published.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ndarray::{Array1, array};
use ndzarr::store::{Fetch, Fetched, Key, KeyLock, Locked, Of, Pin, StoreError, Wait, Want};
use ndzarr::{Array, Error, ErrorKind, FsStore, Group, Storage, Store, asynchronous};
use ndzarr_testkit::{Call, FaultStore, block_on, forward};
use serde_json::json;
use tempfile::TempDir;

/// Chunks `a/c/0` and `a/c/1` of 0 to 7, in a folder.
fn made() -> (TempDir, FaultStore<FsStore>, Array<u8>) {
    let folder = tempfile::tempdir().expect("a folder");
    let store = FaultStore::new(FsStore::new(folder.path()));
    let a = Array::<u8>::builder([8]).chunks([4]);
    let a = a
        .create((Storage::blocking(store.clone()), "a"))
        .expect("an array");
    a.write([0..8], &Array1::from_iter(0..8)).expect("elements");
    (folder, store, a)
}

fn elements(folder: &Path, array: &str) -> Vec<u8> {
    let a = Array::<u8>::open((folder, array)).expect("the array");
    a.read(..).expect("elements").into_iter().collect()
}

fn lost(key: &str) -> StoreError {
    StoreError::LockLost {
        action: "publish",
        key: key.to_owned(),
    }
}

fn busy(key: &str) -> StoreError {
    let holder = Some("process 7 on another host".to_owned());
    StoreError::Busy {
        key: key.to_owned(),
        waited: Duration::from_secs(3),
        holder,
    }
}

fn check_conflict(error: &Error, key: &str) {
    assert_eq!(
        (error.kind(), error.key()),
        (ErrorKind::Conflict, Some(key)),
        "{error}"
    );
}

/// Nothing was written, so the write is repeated.
#[test]
fn a_write_goes_on_when_its_lock_was_lost() {
    let (folder, store, a) = made();
    let mut expected = elements(folder.path(), "a");
    for (i, future) in [(1, false), (5, true)] {
        store.fail_nth(Call::Publish, 0, lost("a/c/0"));
        let range = i..i + 2;
        if future {
            block_on(asynchronous::Array::from(a.clone()).write([range], &array![90, 91]))
                .expect("a write");
        } else {
            a.write([range], &array![90, 91]).expect("a write");
        }
        assert_eq!(store.heal_unused(), 0, "it was lost");
        expected[i as usize..i as usize + 2].copy_from_slice(&[90, 91]);
        assert_eq!(elements(folder.path(), "a"), expected);
    }
}

#[test]
fn shrinking_goes_on_when_a_lock_was_lost() {
    for call in [Call::Publish, Call::Erase] {
        let (folder, store, mut a) = made();
        store.fail_nth(call, 0, lost("a/c/0"));
        a.resize([2]).expect("a resize");
        assert_eq!(store.heal_unused(), 0, "it was lost");
        a.resize([8]).expect("a resize");
        assert_eq!(elements(folder.path(), "a"), [0, 1, 0, 0, 0, 0, 0, 0]);
    }
}

#[test]
fn attributes_are_merged_when_the_lock_was_lost() {
    let (folder, store, mut a) = made();
    store.fail_nth(Call::Publish, 0, lost("a/zarr.json"));
    a.merge_attributes(json!({"x": 1})).expect("a change");
    assert_eq!(store.heal_unused(), 0, "it was lost");
    let a = Array::<u8>::open((folder.path(), "a")).expect("the array");
    assert_eq!(a.attributes()["x"], 1);
}

/// The call always ends, with an error that says what to do.
#[test]
fn locks_that_are_always_lost_are_conflicts() {
    let (folder, store, mut a) = made();
    store.fail_key(Call::Publish, "a/c/0", lost("a/c/0"));
    store.fail_key(Call::Publish, "a/zarr.json", lost("a/zarr.json"));
    check_conflict(
        &a.write([1..3], &array![90, 91]).expect_err("it is lost"),
        "a/c/0",
    );
    check_conflict(
        &block_on(asynchronous::Array::from(a.clone()).write([1..3], &array![90, 91]))
            .expect_err("it is lost"),
        "a/c/0",
    );
    check_conflict(
        &a.merge_attributes(json!({"x": 1})).expect_err("it is lost"),
        "a/zarr.json",
    );
    check_conflict(&a.resize([9]).expect_err("it is lost"), "a/zarr.json");
    check_conflict(
        &a.append(0, &array![8]).expect_err("it is lost"),
        "a/zarr.json",
    );
    assert_eq!(elements(folder.path(), "a"), [0, 1, 2, 3, 4, 5, 6, 7]);
    store.heal();
    a.append(0, &array![8]).expect("an append");
    a.resize([10]).expect("a resize");
    assert_eq!(elements(folder.path(), "a"), [0, 1, 2, 3, 4, 5, 6, 7, 8, 0]);
}

#[test]
fn the_end_of_a_shard_whose_lock_was_lost_is_a_conflict() {
    let (folder, store, _) = made();
    let storage = Storage::blocking(store.clone());
    let a = Array::<u8>::builder([4])
        .chunks([2])
        .shards([4])
        .create((storage, "s"))
        .expect("an array");
    a.fill(.., 1).expect("elements");
    let finish = || {
        let writer = a.shard_writer(&[0]).expect("a writer");
        writer
            .write_chunk(&[1], &array![2, 2])
            .expect("an inner chunk");
        writer.finish()
    };
    store.fail_nth(Call::Publish, 0, lost("s/c/0"));
    check_conflict(&finish().expect_err("it is lost"), "s/c/0");
    assert_eq!(elements(folder.path(), "s"), [1, 1, 1, 1]);
    finish().expect("a shard");
    assert_eq!(elements(folder.path(), "s"), [1, 1, 2, 2]);
}

#[test]
fn a_lock_that_others_have_for_too_long_is_a_conflict() {
    let (folder, store, mut a) = made();
    store.fail_key(Call::Lock, "a/c/0", busy("a/c/0"));
    let error = a.write([1..3], &array![90, 91]).expect_err("it is busy");
    check_conflict(&error, "a/c/0");
    assert!(
        error.to_string().contains("process 7 on another host"),
        "{error}"
    );
    store.fail_key(Call::Lock, "a/zarr.json", busy("a/zarr.json"));
    check_conflict(
        &a.merge_attributes(json!({"x": 1})).expect_err("it is busy"),
        "a/zarr.json",
    );
    check_conflict(
        &a.append(0, &array![8]).expect_err("it is busy"),
        "a/zarr.json",
    );
    assert_eq!(elements(folder.path(), "a"), [0, 1, 2, 3, 4, 5, 6, 7]);
}

/// The array has its new shape: appending again would append twice.
#[test]
fn copies_that_cannot_be_locked_after_an_append_are_no_conflict() {
    let (folder, store, mut a) = made();
    Group::open(folder.path())
        .expect("the root")
        .consolidate()
        .expect("copies");
    store.fail_nth(Call::Publish, 2, lost("zarr.json"));
    a.append(0, &array![8]).expect("an append");
    assert_eq!(store.heal_unused(), 0, "it was lost");
    store.fail_key(Call::Lock, "zarr.json", busy("zarr.json"));
    let error = a.append(0, &array![9]).expect_err("it is busy");
    assert_eq!(error.kind(), ErrorKind::Store, "{error}");
    assert!(
        error.to_string().starts_with("the array has its new shape"),
        "{error}"
    );
    assert_eq!(elements(folder.path(), "a").len(), 10);
}

/// A folder in which a document's lock is lost: before it is used, or before the lock of the first
/// chunk is taken, another writer appends 2, 2.
#[derive(Debug)]
struct TakenOver {
    inner: FsStore,
    folder: PathBuf,
    /// The lock was lost already.
    lost: Arc<AtomicBool>,
    before_chunks: bool,
}

/// A lock that was lost, or will be.
struct Lost {
    store: FsStore,
    folder: PathBuf,
    lost: Arc<AtomicBool>,
}

/// Another writer appends, once.
fn take_over(folder: &Path, lost: &AtomicBool) {
    if !lost.swap(true, Ordering::SeqCst) {
        let mut other = Array::<u8>::open((folder, "a")).expect("the array");
        other.append(0, &array![2, 2]).expect("an append");
    }
}

impl Store for TakenOver {
    forward!(inner: fetch, put, erase, list_dir, list_prefix);

    /// Another name, as on another host: changes of stores with one name queue for the same
    /// threads.
    fn name(&self) -> String {
        "taken over".to_owned()
    }

    fn lock(&self, key: &Key, wait: Wait<'_>) -> Result<Locked, StoreError> {
        if key.as_str() != "a/zarr.json" {
            if self.before_chunks {
                take_over(&self.folder, &self.lost);
            }
            return self.inner.lock(key, wait);
        }
        Ok(Locked::Held(Box::new(Lost {
            store: FsStore::new(&self.folder),
            folder: self.folder.clone(),
            lost: Arc::clone(&self.lost),
        })))
    }
}

impl KeyLock for Lost {
    fn fetch(&mut self, of: Of, want: Want) -> Result<Fetched, StoreError> {
        let key = Key::new("a/zarr.json").expect("a key");
        self.store.fetch(&Fetch { key, of, want })
    }

    fn append(&mut self, _: &[u8]) -> Result<u64, StoreError> {
        take_over(&self.folder, &self.lost);
        Err(lost("a/zarr.json"))
    }

    fn check(&mut self) -> Result<(), StoreError> {
        if self.lost.load(Ordering::SeqCst) {
            Err(lost("a/zarr.json"))
        } else {
            Ok(())
        }
    }

    fn write_at(&mut self, _: u64, _: &[u8]) -> Result<(), StoreError> {
        Err(lost("a/zarr.json"))
    }

    fn publish(self: Box<Self>) -> Result<Pin, StoreError> {
        Err(lost("a/zarr.json"))
    }

    fn erase(self: Box<Self>) -> Result<(), StoreError> {
        Err(lost("a/zarr.json"))
    }
}

/// It takes back its own elements, and not those of the writer that took over.
#[test]
fn an_append_whose_lock_was_lost_removes_nothing_of_others() {
    let folder = tempfile::tempdir().expect("a folder");
    let a = Array::<u8>::builder([2])
        .chunks([4])
        .create((folder.path(), "a"))
        .expect("an array");
    a.fill(.., 3).expect("elements");
    let mut a = Array::<u8>::open((taken_over(folder.path(), false), "a")).expect("the array");
    check_conflict(
        &a.append(0, &array![1, 1]).expect_err("it is lost"),
        "a/zarr.json",
    );
    assert_eq!(elements(folder.path(), "a"), [3, 3, 2, 2]);
}

fn taken_over(folder: &Path, before_chunks: bool) -> Storage {
    Storage::blocking(TakenOver {
        inner: FsStore::new(folder),
        folder: folder.to_owned(),
        lost: Arc::default(),
        before_chunks,
    })
}

/// A writer that was stopped for longer than a lease goes on in the middle.
#[test]
fn without_its_document_a_call_writes_no_more_chunks() {
    let made = || {
        let folder = tempfile::tempdir().expect("a folder");
        let a = Array::<u8>::builder([2])
            .chunks([4])
            .create((folder.path(), "a"))
            .expect("an array");
        a.fill(.., 3).expect("elements");
        let lost = Array::<u8>::open((taken_over(folder.path(), true), "a")).expect("the array");
        (folder, lost)
    };
    let check = |error: Error| {
        assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
        assert!(
            error
                .to_string()
                .contains("a/zarr.json: another writer took over its lock"),
            "{error}"
        );
    };
    let (folder, mut a) = made();
    check(a.append(0, &array![1, 1]).expect_err("it is lost"));
    assert_eq!(elements(folder.path(), "a"), [3, 3, 2, 2]);
    let (folder, a) = made();
    let mut a = asynchronous::Array::from(a);
    check(block_on(a.append(0, &array![1, 1])).expect_err("it is lost"));
    assert_eq!(elements(folder.path(), "a"), [3, 3, 2, 2]);
    let (folder, mut a) = made();
    check(a.resize([1]).expect_err("it is lost"));
    assert_eq!(elements(folder.path(), "a"), [3, 3, 2, 2]);
}
