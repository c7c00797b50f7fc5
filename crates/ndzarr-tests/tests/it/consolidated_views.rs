//! Groups whose consolidated metadata were read before a change: they see it.

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock};

use bytes::Bytes;
use ndzarr::store::{Key, Precondition, Put, StoreError};
use ndzarr::{
    Array, ConcurrentUpdate, Group, MemoryStore, NewArray, Result, RunOptions, Storage, Store,
};
use ndzarr_testkit::forward;

use crate::consolidated::{FORMATS, made, paths};

#[test]
fn a_new_array_is_seen_once_it_is_finished() -> Result<()> {
    for format in FORMATS {
        let storage = Storage::from(MemoryStore::new());
        let root = made(&storage, format);
        assert_eq!(paths(&root), ["a", "g", "g/b"]);
        let new = NewArray::begin_in(&root, "new", Array::<u8>::builder([2]).chunks([2]))?;
        new.array().fill(.., 1)?;
        assert_eq!(paths(&root), ["a", "g", "g/b"]);
        new.finish()?;
        assert_eq!(paths(&root), ["a", "g", "g/b", "new"]);
    }
    Ok(())
}

#[test]
fn arrays_that_were_opened_before_metadata_are_consolidated_keep_them_fresh() -> Result<()> {
    for format in FORMATS {
        let storage = Storage::from(MemoryStore::new());
        let mut root = Group::create(&storage, format)?;
        let mut a = root.create_array("a", Array::<u8>::builder([2]))?;
        let clone = root.clone();
        root.consolidate()?;
        for group in [&root, &clone] {
            assert_eq!(group.array::<u8>("a")?.attribute::<u32>("n")?, None);
        }
        a.set_attribute("n", &1)?;
        for group in [&root, &clone] {
            assert_eq!(group.array::<u8>("a")?.attribute::<u32>("n")?, Some(1));
        }
    }
    Ok(())
}

/// A store without locks, in which this happens before a key is written for the first time.
struct Before {
    inner: MemoryStore,
    key: &'static str,
    other: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl fmt::Debug for Before {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Before")
    }
}

impl Store for Before {
    forward!(inner: name, fetch, erase, list_dir, list_prefix, can);

    fn put(&self, key: &Key, parts: &[Bytes], only_if: Precondition) -> Result<Put, StoreError> {
        if key.as_str() == self.key {
            let other = self.other.lock().expect("no panic").take();
            other.into_iter().for_each(|other| other());
        }
        self.inner.put(key, parts, only_if)
    }
}

#[test]
fn what_is_read_while_the_copies_are_written_is_not_kept() -> Result<()> {
    type Change = fn(&Group) -> Result<()>;
    let changes: [(Change, &[&str]); 3] = [
        (|root| root.erase("a"), &["g", "g/b"]),
        (
            |root| root.array::<u16>("a")?.resize([6]),
            &["a", "g", "g/b"],
        ),
        (
            |root| root.create_array("c", Array::<u8>::builder([1])).map(drop),
            &["a", "c", "g", "g/b"],
        ),
    ];
    for (change, expected) in changes {
        let memory = MemoryStore::new();
        made(&Storage::from(memory.clone()), FORMATS[0]);
        let shared = Arc::new(OnceLock::<Group>::new());
        let own = Arc::clone(&shared);
        let store = Before {
            inner: memory,
            key: ".zmetadata",
            other: Mutex::new(Some(Box::new(move || {
                let root = own.get().expect("it is open");
                // As the copies are: without the change.
                assert_eq!(root.array::<u16>("a").expect("the array").shape(), [4]);
            }))),
        };
        let run = RunOptions::default().concurrent_update(ConcurrentUpdate::LastWriterWins);
        let root = Group::open(Storage::blocking(store))?.with_options(run);
        let root = shared.get_or_init(|| root);
        change(root)?;
        assert_eq!(paths(root), expected);
        if let Ok(a) = root.array::<u16>("a") {
            let len = if expected.len() == 3 { 6 } else { 4 };
            assert_eq!(a.shape(), [len]);
        }
    }
    Ok(())
}
