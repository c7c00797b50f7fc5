//! A call over very many chunks.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use ndzarr::{
    Array, ChunkEdges, CopyOptions, CustomChunkGrid, MemoryStore, Storage, asynchronous, copy,
};
use ndzarr_store::{
    DirListing, Fetch, Fetched, Key, Pin, Precondition, Prefix, Put, Store, StoreError, Want,
};
use ndzarr_testkit::{AsyncMemoryStore, Latency, block_on, forward, in_own_process};

use crate::with_peak;

/// The most memory that a call takes, in bytes.
fn extra(call: impl FnOnce()) -> usize {
    with_peak(call).1
}

/// Memory limit for the work in flight of a call.
const MOST: usize = 16 << 20;

/// Memory is for the chunks in progress, not for all that a call reads or writes.
#[test]
fn chunks_of_a_regular_grid() {
    in_own_process!();
    let a = Array::<u8>::builder([CHUNKS]).chunks([1]);
    chunks(&a.create((MemoryStore::new(), "a")).expect("it works"));
}

const CHUNKS: u64 = 1_000_000;

fn chunks(a: &Array<u8>) {
    const RESULT: usize = CHUNKS as usize;
    let read = extra(|| assert_eq!(a.read(..).expect("it works").len(), RESULT));
    assert!(read < RESULT + MOST, "read: {read}");
    // 300 bytes for each of these would exceed the limit, too.
    let part = 0..CHUNKS / 8;
    let read = extra(|| {
        drop(block_on(asynchronous::Array::from(a.clone()).read([part.clone()])).expect("it works"))
    });
    assert!(read < RESULT + MOST, "read_async: {read}");
    // Nothing is stored, so that the store is not involved.
    let fill = extra(|| a.fill([part], 0).expect("it works"));
    assert!(fill < MOST, "fill: {fill}");
}

/// Memory limit for the inner chunks in progress in a call.
const FEW: usize = 4 << 20;

/// Besides the work in flight, the index of a shard is in memory: 16 bytes for each inner chunk,
/// and a checksum.
#[test]
fn inner_chunks_of_a_shard() {
    in_own_process!();
    let folder = tempfile::tempdir().expect("a folder");
    let memory = Storage::from(MemoryStore::new());
    let asynchronous = Storage::asynchronous(AsyncMemoryStore::new(Latency::default()));
    inner_chunks_in("memory", &memory, 1 << 16);
    inner_chunks_in("async", &asynchronous, 1 << 16);
    inner_chunks_in("folder", &Storage::from(folder.path()), 1 << 16);
}

fn inner_chunks_in(name: &str, storage: &Storage, chunks: u64) {
    let result = chunks as usize;
    let index = 16 * chunks as usize + 4;
    // The store's content, and the value that it is given.
    let stored = if name == "folder" {
        0
    } else {
        2 * (result + index)
    };
    let shards = Array::<u8>::builder([chunks]).chunks([1]).shards([chunks]);
    let a = shards.create((storage, "a")).expect("it works");
    let read = extra(|| assert!(a.read(..).expect("it works").iter().all(|&n| n == 0)));
    assert!(
        read < result + index + FEW,
        "{name}, nothing stored: {read}"
    );
    let write = extra(|| a.fill(.., 7).expect("it works"));
    assert!(write < stored + index + FEW, "{name}, write: {write}");
    let read = extra(|| assert!(a.read(..).expect("it works").iter().all(|&n| n == 7)));
    assert!(read < result + index + FEW, "{name}, read: {read}");
    let read = extra(|| {
        let read = block_on(asynchronous::Array::from(a.clone()).read(..)).expect("it works");
        assert!(read.iter().all(|&n| n == 7));
    });
    assert!(read < result + index + FEW, "{name}, read_async: {read}");
    let every_other = ndzarr::s![..; 2];
    let read = extra(|| drop(a.read(every_other).expect("it works")));
    assert!(
        read < result + index + FEW,
        "{name}, every other one: {read}"
    );
    let write = extra(|| a.fill([5..6], 9).expect("it works"));
    assert!(
        write < stored + 2 * index + FEW,
        "{name}, write of one: {write}"
    );
    assert_eq!(
        a.read([4..7]).expect("it works").as_slice(),
        Some(&[7, 9, 7][..])
    );
}

/// The file is almost all index.
#[test]
fn one_inner_chunk_of_a_sparse_shard() {
    const CHUNKS: u64 = 1 << 21;
    const INDEX: usize = 16 * CHUNKS as usize + 4;
    in_own_process!();
    let folder = tempfile::tempdir().expect("a folder");
    let shards = Array::<u8>::builder([CHUNKS]).chunks([1]).shards([CHUNKS]);
    shards
        .create((folder.path(), "a"))
        .expect("it works")
        .fill([5..6], 9)
        .expect("it works");
    let a = Array::<u8>::open((folder.path(), "a")).expect("it works");
    let read = extra(|| assert_eq!(a.read([5..6]).expect("it works")[[0]], 9));
    assert!(read < INDEX + FEW, "{read}");
}

/// Lists a million chunks, in a folder for each row, and counts those that are removed.
#[derive(Debug, Default)]
struct Listed {
    documents: MemoryStore,
    removed: AtomicU64,
}

const ROWS: u64 = 1000;

impl Store for Listed {
    forward!(documents: name, put, list_prefix);

    fn fetch(&self, fetch: &Fetch) -> Result<Fetched, StoreError> {
        if fetch.want == Want::Size && fetch.key.as_str().starts_with("a/c/") {
            return Ok(Fetched::Parts {
                pin: Pin::new(()),
                size: 1,
                parts: Vec::new(),
            });
        }
        self.documents.fetch(fetch)
    }

    fn list_dir(&self, prefix: &Prefix) -> Result<DirListing, StoreError> {
        let documents = self.documents.list_dir(prefix)?;
        if documents.keys.is_empty() && prefix.as_str() == "a/" {
            // The array does not exist yet.
            return Ok(documents);
        }
        let numbers = || (0..ROWS).map(|n| n.to_string()).collect();
        Ok(match prefix.as_str().matches('/').count() {
            1 => DirListing {
                prefixes: vec!["c".into()],
                ..documents
            },
            2 => DirListing {
                keys: Vec::new(),
                prefixes: numbers(),
            },
            _ => DirListing {
                keys: numbers(),
                prefixes: Vec::new(),
            },
        })
    }

    fn erase(&self, _key: &Key, _only_if: Precondition) -> Result<Put, StoreError> {
        self.removed.fetch_add(1, Ordering::Relaxed);
        Ok(Put::Done(None))
    }
}

/// Besides the work in flight, the names in one folder are in memory.
#[test]
fn chunks_that_are_removed() {
    in_own_process!();
    let store = Arc::new(Listed::default());
    let storage = Storage::blocking(Arc::clone(&store));
    let mut a = Array::<u8>::builder([ROWS, ROWS])
        .chunks([1, 1])
        .create((storage, "a"))
        .expect("it works");
    let shrink = extra(|| a.resize([ROWS, 0]).expect("it works"));
    assert!(shrink < FEW, "shrink: {shrink}");
    assert_eq!(store.removed.load(Ordering::Relaxed), ROWS * ROWS);
}

/// Keeps only documents.
#[derive(Debug, Default)]
struct Forgetful(MemoryStore);

impl Store for Forgetful {
    forward!(0: name, fetch, erase, list_dir, list_prefix);

    fn put(&self, key: &Key, parts: &[Bytes], only_if: Precondition) -> Result<Put, StoreError> {
        if key.as_str().starts_with("a/c/") {
            return Ok(Put::Done(None));
        }
        self.0.put(key, parts, only_if)
    }
}

mod long {
    use super::*;

    #[test]
    #[ignore = "long; `.ci/run all` runs it"]
    fn chunks_of_a_custom_grid() {
        in_own_process!();
        // Each has a run of its own.
        let single = ChunkEdges::Listed(vec![(1, 1); CHUNKS as usize]);
        let a = Array::<u8>::builder([CHUNKS])
            .chunk_grid(CustomChunkGrid::new("example.single", [single]));
        chunks(&a.create((MemoryStore::new(), "a")).expect("it works"));
    }

    #[test]
    #[ignore = "long; `.ci/run all` runs it"]
    fn a_million_inner_chunks() {
        const CHUNKS: u64 = 1_000_000;
        const RESULT: usize = CHUNKS as usize;
        const INDEX: usize = 16 * CHUNKS as usize + 4;
        in_own_process!();
        let folder = tempfile::tempdir().expect("a folder");
        let shards = Array::<u8>::builder([CHUNKS]).chunks([1]).shards([CHUNKS]);
        let a = shards.create((folder.path(), "a")).expect("it works");
        // The index is in memory twice while it is being encoded.
        let write = extra(|| a.fill(.., 7).expect("it works"));
        assert!(write < 2 * INDEX + FEW, "write: {write}");
        let read = extra(|| assert!(a.read(..).expect("it works").iter().all(|&n| n == 7)));
        assert!(read < RESULT + INDEX + FEW, "read: {read}");
    }

    /// Going over a grid takes no memory. A list of the stored chunks takes a number and a length
    /// for each: twice while it is made, with room to grow.
    #[test]
    #[ignore = "long; `.ci/run all` runs it"]
    fn chunks_that_are_counted_and_listed() {
        in_own_process!();
        let storage = Storage::blocking(Listed::default());
        let a = Array::<u8>::builder([ROWS, ROWS])
            .chunks([1, 1])
            .create((storage, "a"))
            .expect("it works");
        let counted = extra(|| assert_eq!(a.chunks().count() as u64, ROWS * ROWS));
        assert!(counted < FEW, "count: {counted}");
        let every_other = extra(|| {
            let chunks = a.chunks_in(ndzarr::s![..; 2, ..; 2]).expect("it fits");
            assert_eq!(chunks.count() as u64, ROWS * ROWS / 4);
        });
        assert!(every_other < FEW, "every other one: {every_other}");
        let listed = extra(|| {
            let stored = a.units().stored().expect("a list");
            assert_eq!(stored.len() as u64, ROWS * ROWS);
            assert_eq!(
                stored.filter_map(|unit| unit.byte_len).sum::<u64>(),
                ROWS * ROWS
            );
        });
        assert!(listed < 64 * (ROWS * ROWS) as usize + FEW, "list: {listed}");
    }

    /// Besides the blocks, the list of the source's keys is in memory, and a few numbers for each
    /// chunk.
    #[test]
    #[ignore = "long; `.ci/run all` runs it"]
    fn chunks_that_are_copied() {
        in_own_process!();
        let from = MemoryStore::new();
        let a = Array::<u8>::builder([CHUNKS])
            .chunks([1])
            .create((&from, "a"))
            .expect("it works");
        a.fill(.., 7).expect("it works");
        let to = Storage::blocking(Forgetful::default());
        let memory = 8 << 20;
        let options = CopyOptions::new().chunks([4]).memory(memory);
        let copied = extra(|| drop(copy((&from, "a"), (&to, "a"), &options).expect("it works")));
        assert!(copied < memory as usize + 30 * CHUNKS as usize, "{copied}");
    }
}
