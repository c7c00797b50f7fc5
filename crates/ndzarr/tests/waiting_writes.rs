//! Where writes wait, more threads take part than were asked for, but no more of them compute at once.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::Duration;

use bytes::Bytes;
use ndarray::{ArrayD, IxDyn};
use ndzarr::fs::{Durability, FsStore};
use ndzarr::ndzarr_codec::{BytesToBytes, CodecError, Dst, Workspace};
use ndzarr::ndzarr_store::{DirListing, Fetch, Fetched, Key, Precondition, Prefix, Put, StoreError};
use ndzarr::{Array, CodecRegistry, MemoryStore, RunOptions, Storage, Store, codec, s};

/// How many are at something, and how many were at most.
#[derive(Debug, Default)]
struct AtOnce {
    now: AtomicUsize,
    most: AtomicUsize,
}

impl AtOnce {
    /// Takes a while, so that others come in if they may.
    fn stay(&self) {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        sleep(Duration::from_millis(5));
        self.now.fetch_sub(1, Ordering::SeqCst);
    }

    fn most(&self) -> usize {
        self.most.load(Ordering::SeqCst)
    }
}

/// A codec that changes nothing, and takes a while to encode.
#[derive(Debug)]
struct Slow(Arc<AtOnce>);

impl BytesToBytes for Slow {
    fn name(&self) -> &'static str {
        "slow"
    }

    fn decode(&self, src: &[u8], dst: Dst<'_>, _: &mut Workspace) -> Result<usize, CodecError> {
        match dst {
            Dst::Exact(dst) if dst.len() == src.len() => dst.copy_from_slice(src),
            Dst::Grow { buf, max } if src.len() <= max => {
                buf.clear();
                buf.extend_from_slice(src);
            }
            _ => return Err(CodecError::corrupt("slow", "has another length")),
        }
        Ok(src.len())
    }

    fn encode(&self, src: &[u8], dst: &mut Vec<u8>, _: &mut Workspace) -> Result<(), CodecError> {
        self.0.stay();
        dst.clear();
        dst.extend_from_slice(src);
        Ok(())
    }
}

/// A store on which every write waits.
#[derive(Debug)]
struct Waiting {
    inner: MemoryStore,
    writers: Arc<AtOnce>,
}

impl Store for Waiting {
    fn name(&self) -> String {
        self.inner.name()
    }

    fn fetch(&self, fetch: &Fetch) -> Result<Fetched, StoreError> {
        self.inner.fetch(fetch)
    }

    fn put(&self, key: &Key, parts: &[Bytes], only_if: Precondition) -> Result<Put, StoreError> {
        self.writers.stay();
        self.inner.put(key, parts, only_if)
    }

    fn erase(&self, key: &Key, only_if: Precondition) -> Result<Put, StoreError> {
        self.inner.erase(key, only_if)
    }

    fn list_dir(&self, prefix: &Prefix) -> Result<DirListing, StoreError> {
        self.inner.list_dir(prefix)
    }

    fn list_prefix(&self, prefix: &Prefix) -> Result<Vec<Key>, StoreError> {
        self.inner.list_prefix(prefix)
    }

    fn writes_wait(&self) -> bool {
        true
    }
}

/// The codec, and how many encode with it at once.
fn slow() -> (CodecRegistry, Arc<AtOnce>) {
    let encoders = Arc::new(AtOnce::default());
    let made = Arc::clone(&encoders);
    (CodecRegistry::new().with("slow", move |_| Ok(Arc::new(Slow(Arc::clone(&made))))), encoders)
}

fn threads(n: usize) -> RunOptions {
    RunOptions { threads: NonZeroUsize::new(n), ..RunOptions::default() }
}

/// Writes 64 chunks with so many threads; how many encoded and how many wrote at once.
fn write(n_threads: usize) -> (usize, usize) {
    let ((registry, encoders), writers) = (slow(), Arc::new(AtOnce::default()));
    let store = Waiting { inner: MemoryStore::new(), writers: Arc::clone(&writers) };
    let array = Array::<u16>::builder([64, 64])
        .chunks([8, 8])
        .codecs([codec::named("slow", serde_json::json!({}))])
        .registry(registry)
        .create(Storage::blocking(store), "a")
        .expect("an array")
        .with_options(threads(n_threads));
    let data = ArrayD::from_shape_fn(IxDyn(&[64, 64]), |at| (at[0] * 64 + at[1] + 1) as u16);
    array.write(.., &data).expect("a write");
    assert_eq!(array.read(..).expect("a read"), data);
    (encoders.most(), writers.most())
}

#[test]
fn no_more_encode_at_once_than_were_asked_for() {
    assert_eq!(write(1), (1, 1));
    let (encoders, writers) = write(2);
    assert_eq!(encoders, 2);
    assert!(writers > 2, "{writers} threads wrote at once, which the limit does not hold for");
}

/// Shards that a synced folder gets piece by piece.
#[test]
fn no_more_encode_at_once_where_shards_are_large() {
    let (registry, encoders) = slow();
    let folder = tempfile::tempdir().expect("a folder");
    let store = FsStore::builder(folder.path()).durability(Durability::Full).build();
    let piece = store.range_merging().piece.expect("large shards are written in pieces");
    let array = Array::<u16>::builder([9, 512, 512])
        .shards([1, 512, 512])
        .chunks([1, 256, 256])
        .codecs([codec::named("slow", serde_json::json!({}))])
        .registry(registry)
        .create(Storage::blocking(store), "a")
        .expect("an array")
        .with_options(threads(2));
    assert!(512 * 512 * 2 > piece);
    let data = ArrayD::from_shape_fn(IxDyn(&[9, 512, 512]), |at| (at[0] * 512 + at[1] + at[2] + 1) as u16);
    array.write(.., &data).expect("a write");
    assert_eq!(array.read(..).expect("a read"), data);
    assert_eq!(encoders.most(), 2);
}

/// Four writers of a synced folder have the chunks at their borders in common, and are at them at once.
#[test]
fn writers_that_share_chunks_lose_nothing() {
    for shards in [None, Some([32, 32])] {
        let folder = tempfile::tempdir().expect("a folder");
        let store = FsStore::builder(folder.path()).durability(Durability::Full).build();
        let builder = Array::<u16>::builder([100, 64]).chunks([16, 16]);
        let builder = if let Some(shape) = shards { builder.shards(shape) } else { builder };
        let array = builder.create(Storage::blocking(store), "a").expect("an array").with_options(threads(2));
        let data = ArrayD::from_shape_fn(IxDyn(&[100, 64]), |at| (at[0] * 64 + at[1] + 1) as u16);
        std::thread::scope(|scope| {
            for first in [0, 25, 50, 75] {
                let rows = s![first..first + 25, ..];
                let (array, part) = (&array, data.slice(rows).to_owned());
                scope.spawn(move || array.write(rows, &part).expect("a write"));
            }
        });
        assert_eq!(array.read(..).expect("a read"), data, "shards of {shards:?}");
    }
}
