//! Methods of stores by the names and types of before: what implements or calls them compiles.
#![expect(deprecated, reason = "they are deprecated")]

use std::ops::Range;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::stream;
use ndzarr::store::{
    BoxFuture, BoxStream, Fetch, Fetched, Key, KeyLock, Pin, Precondition, Prefix, Put, StoreError,
    Temporary, bytes::Bytes,
};
use ndzarr::{AsyncStore, MemoryStore, Storage, Store};
use ndzarr_testkit::{AsyncMemoryStore, Latency, block_on, forward};

use crate::everyday::Tested;

/// A store that lists lengths as stores did.
#[derive(Debug)]
struct Former(MemoryStore);

impl Store for Former {
    forward!(0: name, fetch, put, erase, list_dir);

    fn list_sizes(
        &self,
        _prefix: &Prefix,
        take: &mut dyn FnMut(&Key, u64),
    ) -> Result<(), StoreError> {
        take(&Key::new("former")?, 7);
        Ok(())
    }
}

#[derive(Debug)]
struct FormerAsync(AsyncMemoryStore);

impl AsyncStore for FormerAsync {
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
        self.0.put(key, parts, only_if)
    }

    fn erase<'a>(
        &'a self,
        key: &'a Key,
        only_if: Precondition,
    ) -> BoxFuture<'a, Result<Put, StoreError>> {
        self.0.erase(key, only_if)
    }

    fn list_sizes<'a>(
        &'a self,
        _prefix: &'a Prefix,
    ) -> BoxStream<'a, Result<Vec<(Key, u64)>, StoreError>> {
        stream::empty().boxed()
    }
}

/// A temporary that exchanges values as those of files did.
#[derive(Debug)]
struct Exchanging;

impl Temporary for Exchanging {
    fn append(&self, _part: &[u8]) -> Result<u64, StoreError> {
        Ok(0)
    }

    fn write_at(&self, _at: u64, _part: &[u8]) -> Result<(), StoreError> {
        Ok(())
    }

    fn read(&self, _range: Range<u64>) -> Result<Bytes, StoreError> {
        Ok(Bytes::new())
    }

    fn publish(self: Box<Self>, lock: Box<dyn KeyLock>) -> Result<Pin, StoreError> {
        lock.publish()
    }

    fn exchange(
        self: Box<Self>,
        lock: Box<dyn KeyLock>,
        _old: &Pin,
    ) -> Result<ndzarr_store::Exchanged, StoreError> {
        Ok((lock.publish()?, Some(Box::new(Self))))
    }

    fn shorten(&self, len: u64) -> Result<bool, StoreError> {
        Ok(len == 0)
    }
}

#[test]
fn lengths_are_listed_by_the_former_names() -> Tested {
    let memory = MemoryStore::new();
    memory.set("a/b", vec![1, 2, 3])?;
    let mut listed = Vec::new();
    memory.list_sizes(&Prefix::root(), &mut |key, len| {
        listed.push((key.to_string(), len));
    })?;
    Storage::from(&memory).each_key("a/", |key, len| listed.push((key.to_owned(), len)))?;
    let own = AsyncMemoryStore::over(memory.clone(), Latency::default());
    let root = Prefix::root();
    let pages: Vec<_> = block_on(own.list_sizes(&root).collect());
    for page in pages {
        let lengths = page?.into_iter().map(|(key, len)| (key.to_string(), len));
        listed.extend(lengths);
    }
    assert_eq!(listed, vec![("a/b".to_owned(), 3); 3]);
    let former = Arc::new(Former(memory));
    let mut lengths = Vec::new();
    former.list_sizes(&Prefix::root(), &mut |key, len| {
        lengths.push((key.to_string(), len))
    })?;
    assert_eq!(lengths, [("former".to_owned(), 7)]);
    // The library looks by itself.
    let storage = Storage::blocking(former);
    let mut lengths = Vec::new();
    storage.each_listed("", |key, listed| {
        lengths.push((key.to_owned(), listed.byte_len()))
    })?;
    assert_eq!(lengths, [("a/b".to_owned(), Some(3))]);
    let _ = (Storage::asynchronous(FormerAsync(own)), Exchanging);
    Ok(())
}

#[cfg(unix)]
#[test]
fn what_cannot_be_looked_at_is_an_error_there() -> Tested {
    let folder = tempfile::tempdir()?;
    std::os::unix::fs::symlink("nowhere", folder.path().join("a"))?;
    let storage = Storage::from(ndzarr::FsStore::new(folder.path()));
    let error = storage
        .each_key("", |_, _| {})
        .expect_err("a link leads nowhere");
    assert!(error.to_string().contains('a'), "{error}");
    Ok(())
}
