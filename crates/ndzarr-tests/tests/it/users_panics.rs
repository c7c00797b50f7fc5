//! A panic of the user's code reaches the caller as that panic, on whatever thread the code ran.

use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ThreadId};

use bytes::Bytes;
use ndzarr::store::{
    Fetched, Key, KeyLock, Locked, Of, Pin, Precondition, Put, StoreError, Wait, Want,
};
use ndzarr::{Array, FsStore, MemoryStore, RunOptions, Storage, Store, asynchronous};
use ndzarr_testkit::{block_on, forward};

const BUG: &str = "a bug of the caller";

/// The message of the panic that the call ends with.
fn panic_of<R>(call: impl FnOnce() -> R) -> String {
    let panic = catch_unwind(AssertUnwindSafe(call))
        .err()
        .expect("the call panics");
    panic.downcast_ref::<String>().expect("a message").clone()
}

fn buggy(_: Option<u32>) -> u32 {
    panic!("{BUG}")
}

#[test]
fn a_panic_of_a_closure_that_changes_an_attribute_is_passed_on() {
    let folder = tempfile::tempdir().expect("a folder");
    for storage in [
        Storage::from(folder.path()),
        Storage::from(MemoryStore::new()),
    ] {
        let mut array = Array::<u8>::builder([4])
            .create((&storage, "a"))
            .expect("it is new");
        let mut other = asynchronous::Array::from(array.clone());
        assert_eq!(panic_of(|| array.update_attribute("n", buggy)), BUG);
        assert_eq!(
            panic_of(|| block_on(other.update_attribute("n", buggy))),
            BUG
        );
        // No lock is left.
        array
            .update_attribute("n", |_: Option<u32>| 5)
            .expect("a change");
        assert_eq!(array.attribute::<u32>("n").expect("a number"), Some(5));
    }
}

/// Files whose document panics when it is published or erased, from a certain moment on.
#[derive(Debug)]
struct Broken {
    inner: FsStore,
    is_broken: &'static AtomicBool,
}

struct BrokenLock {
    inner: Box<dyn KeyLock>,
    of_document: bool,
    is_broken: &'static AtomicBool,
}

impl Store for Broken {
    forward!(inner: name, fetch, put, erase, list_dir);

    fn lock(&self, key: &Key, wait: Wait<'_>) -> Result<Locked, StoreError> {
        let of_document = key.as_str().ends_with("zarr.json");
        Ok(match self.inner.lock(key, wait)? {
            Locked::Held(inner) => Locked::Held(Box::new(BrokenLock {
                inner,
                of_document,
                is_broken: self.is_broken,
            })),
            other => other,
        })
    }
}

impl BrokenLock {
    fn fail_if_broken(&self) {
        // As after a poisoned mutex: each later call panics, too.
        assert!(!self.is_broken.load(Ordering::SeqCst), "{BUG}");
    }
}

impl KeyLock for BrokenLock {
    fn fetch(&mut self, of: Of, want: Want) -> Result<Fetched, StoreError> {
        self.fail_if_broken();
        self.inner.fetch(of, want)
    }

    fn append(&mut self, part: &[u8]) -> Result<u64, StoreError> {
        self.inner.append(part)
    }

    fn write_at(&mut self, at: u64, part: &[u8]) -> Result<(), StoreError> {
        self.inner.write_at(at, part)
    }

    fn publish(self: Box<Self>) -> Result<Pin, StoreError> {
        if self.of_document {
            self.is_broken.store(true, Ordering::SeqCst);
        }
        self.fail_if_broken();
        self.inner.publish()
    }

    fn erase(self: Box<Self>) -> Result<(), StoreError> {
        self.fail_if_broken();
        self.inner.erase()
    }
}

/// The append is undone by more calls of the store, which panic while the thread unwinds: that
/// would end the process.
#[test]
fn a_panic_of_a_store_while_a_change_is_undone_does_not_end_the_process() {
    static IS_BROKEN: AtomicBool = AtomicBool::new(false);
    let folder = tempfile::tempdir().expect("a folder");
    let plain = Array::<u8>::builder([6])
        .chunks([4])
        .create((folder.path(), "a"))
        .expect("it is new");
    let store = Storage::blocking(Broken {
        inner: FsStore::new(folder.path()),
        is_broken: &IS_BROKEN,
    });
    let mut array = Array::<u8>::open((store, "a")).expect("it opens");
    assert_eq!(panic_of(|| array.append(0, &[1, 2, 3, 4])), BUG);
    assert_eq!(plain.shape(), [6]);
    assert_eq!(
        Array::<u8>::open((folder.path(), "a"))
            .expect("it opens")
            .shape(),
        [6]
    );
}

/// Two chunks are stored at the same time, and a thread other than the caller's panics.
#[derive(Debug)]
struct Waiting {
    inner: MemoryStore,
    caller: ThreadId,
    both: Barrier,
}

impl Store for Waiting {
    forward!(inner: name, fetch, erase, list_dir);

    fn put(&self, key: &Key, parts: &[Bytes], only_if: Precondition) -> Result<Put, StoreError> {
        if key.as_str().starts_with("a/c/") {
            self.both.wait();
            assert!(thread::current().id() == self.caller, "{BUG}");
        }
        self.inner.put(key, parts, only_if)
    }

    fn writes_wait(&self) -> bool {
        true
    }
}

#[test]
fn a_panic_of_a_store_on_a_thread_that_waits_is_passed_on() {
    let store = Storage::blocking(Waiting {
        inner: MemoryStore::new(),
        caller: thread::current().id(),
        both: Barrier::new(2),
    });
    let array = Array::<u8>::builder([8])
        .chunks([4])
        .create((store, "a"))
        .expect("it is new")
        .with_options(RunOptions::default().threads(NonZeroUsize::new(2)));
    assert_eq!(panic_of(|| array.fill(.., 1)), BUG);
}
