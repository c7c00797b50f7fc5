//! Every store of the workspace, and every wrapper around one, behaves alike.

use std::cell::RefCell;
use std::future::ready;
use std::pin::Pin;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use ndzarr_store::{AsyncStore, Can, DirListing, MemoryStore, Prefix, Store, StoreError, block_on};
use ndzarr_store_fs::{Durability, FsStore, Links, Locking};
use ndzarr_testkit::{
    AsyncMemoryStore, CountingStore, FaultStore, Latency, check_async_store, check_store, forward,
};
use tempfile::TempDir;

use crate::folder_files::files_below;

const WITHOUT_LOCKS: Can = Can {
    write: true,
    put_if: true,
    erase_if: true,
    lock: false,
    list: true,
};
const ALL: Can = Can {
    lock: true,
    ..WITHOUT_LOCKS
};

#[test]
fn memory() {
    assert_eq!(check_store(|| Box::new(MemoryStore::new())), WITHOUT_LOCKS);
}

#[test]
fn stores_in_pointers() {
    let shared = || -> Arc<dyn Store> { Arc::new(MemoryStore::new()) };
    assert_eq!(check_store(|| Box::new(shared())), WITHOUT_LOCKS);
    assert_eq!(
        check_store(|| Box::new(Box::new(MemoryStore::new()))),
        WITHOUT_LOCKS
    );
}

/// The defaults_of_the_traits of the trait, over the three required methods and the listing.
#[test]
fn defaults_of_the_traits() {
    assert_eq!(
        check_store(|| Box::new(Bare(MemoryStore::new()))),
        WITHOUT_LOCKS
    );
    assert_eq!(
        check_async_store(|| Box::new(Bare(MemoryStore::new()))),
        WITHOUT_LOCKS
    );
}

#[derive(Debug)]
struct Bare(MemoryStore);

impl Store for Bare {
    forward!(0: name, fetch, put, erase, list_dir);
}

impl AsyncStore for Bare {
    fn name(&self) -> String {
        self.0.name()
    }
    ready!(0);
    fn list_dir<'a>(&'a self, prefix: &'a Prefix) -> BoxFuture<'a, Result<DirListing, StoreError>> {
        Box::pin(ready(self.0.list_dir(prefix)))
    }
    fn block_on(&self, future: Pin<&mut dyn Future<Output = ()>>) -> Result<(), StoreError> {
        block_on(future);
        Ok(())
    }
}

#[test]
fn slow_memory() {
    let slow = || AsyncMemoryStore::new(Latency::default()).with_polls(3);
    assert_eq!(check_async_store(|| Box::new(slow())), WITHOUT_LOCKS);
}

#[test]
fn counting() {
    assert_eq!(
        check_store(|| Box::new(CountingStore::new(MemoryStore::new()))),
        WITHOUT_LOCKS
    );
    check_files(|root| Box::new(CountingStore::new(FsStore::new(root))));
}

#[test]
fn fault_free() {
    check_files(|root| Box::new(FaultStore::new(FsStore::new(root))));
}

#[test]
fn files() {
    check_files(|root| Box::new(FsStore::new(root)));
}

#[test]
fn files_synced() {
    check_files(|root| Box::new(FsStore::builder(root).durability(Durability::Data).build()));
    check_files(|root| Box::new(FsStore::builder(root).durability(Durability::Full).build()));
}

#[test]
fn files_confined() {
    check_files(|root| Box::new(FsStore::builder(root).links(Links::Confine).build()));
}

#[test]
fn files_by_the_portable_protocol() {
    check_files(|root| Box::new(FsStore::builder(root).locking(Locking::Portable).build()));
}

fn check_files(make: impl Fn(std::path::PathBuf) -> Box<dyn Store>) {
    let folders = RefCell::new(Vec::<TempDir>::new());
    let can = check_store(|| {
        let folder = tempfile::tempdir().expect("the system has a folder for temporaries");
        // Does not exist yet, to show that the store creates it.
        let store = make(folder.path().join("data").join("root"));
        folders.borrow_mut().push(folder);
        store
    });
    assert_eq!(can, ALL);
    for folder in folders.borrow().iter() {
        let left = files_below(folder.path());
        assert!(
            left.iter().all(|name| !name.contains(".__lock")),
            "{left:?}"
        );
    }
}
