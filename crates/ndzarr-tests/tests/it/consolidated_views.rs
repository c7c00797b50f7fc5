//! Groups whose consolidated metadata were read before a change: they see it.

use std::fmt;
use std::pin::pin;
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context, Waker};

use bytes::Bytes;
use ndzarr::store::{BoxFuture, Fetch, Fetched, Key, Precondition, Put, StoreError};
use ndzarr::{
    Array, AsyncStore, ConcurrentUpdate, Group, MemoryStore, NewArray, Result, RunOptions, Storage,
    Store, asynchronous,
};
use ndzarr_testkit::{AsyncMemoryStore, Latency, block_on, forward};

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

/// A store that has put a value before it says so.
#[derive(Debug)]
struct AnswersLate(AsyncMemoryStore);

impl AsyncStore for AnswersLate {
    fn inner(&self) -> Option<&dyn AsyncStore> {
        Some(&self.0)
    }

    fn name(&self) -> String {
        self.0.name()
    }

    fn fetch<'a>(&'a self, fetch: &'a Fetch) -> BoxFuture<'a, Result<Fetched, StoreError>> {
        self.0.fetch(fetch)
    }

    fn put<'a>(
        &'a self,
        key: &'a Key,
        parts: &'a [Bytes],
        only_if: Precondition,
    ) -> BoxFuture<'a, Result<Put, StoreError>> {
        Box::pin(async move {
            let put = self.0.put(key, parts, only_if).await;
            // A request that is answered after another poll.
            let _ = self.0.has(key).await;
            put
        })
    }

    fn erase<'a>(
        &'a self,
        key: &'a Key,
        only_if: Precondition,
    ) -> BoxFuture<'a, Result<Put, StoreError>> {
        self.0.erase(key, only_if)
    }
}

#[test]
fn a_change_that_is_dropped_is_seen_as_far_as_it_came() -> Result<()> {
    for format in FORMATS {
        let mut n_polls = 0;
        let mut is_done = false;
        while !is_done {
            n_polls += 1;
            let memory = MemoryStore::new();
            made(&Storage::from(memory.clone()), format);
            let store = AsyncMemoryStore::over(memory.clone(), Latency::default()).with_polls(1);
            let store: Arc<dyn AsyncStore> = Arc::new(AnswersLate(store));
            let root = block_on(asynchronous::Group::open(&Storage::from(store)))?;
            let mut a = block_on(root.array::<u16>("a"))?;
            {
                let mut change = pin!(a.resize([6]));
                let mut context = Context::from_waker(Waker::noop());
                is_done = (0..n_polls).any(|_| change.as_mut().poll(&mut context).is_ready());
            }
            let seen = block_on(root.array::<u16>("a"))?;
            let stored = Group::open(&memory)?.array::<u16>("a")?;
            assert_eq!(
                seen.shape(),
                stored.shape(),
                "{format}, after {n_polls} polls"
            );
        }
        assert!(n_polls > 4, "it has several requests");
    }
    Ok(())
}
