//! Where writes wait, more threads take part than were asked for, but no more of them compute at once.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::Duration;

use bytes::Bytes;
use ndarray::{ArrayD, IxDyn};
use ndzarr::ndzarr_codec::{BytesToBytes, CodecError, Dst, Workspace};
use ndzarr::ndzarr_store::{DirListing, Fetch, Fetched, Key, Precondition, Prefix, Put, StoreError};
use ndzarr::{Array, CodecRegistry, MemoryStore, RunOptions, Storage, Store, codec};

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

/// Writes 64 chunks with so many threads; how many encoded and how many wrote at once.
fn write(threads: usize) -> (usize, usize) {
    let (encoders, writers) = (Arc::new(AtOnce::default()), Arc::new(AtOnce::default()));
    let made = Arc::clone(&encoders);
    let registry = CodecRegistry::new().with("slow", move |_| Ok(Arc::new(Slow(Arc::clone(&made)))));
    let store = Waiting { inner: MemoryStore::new(), writers: Arc::clone(&writers) };
    let options = RunOptions { threads: NonZeroUsize::new(threads), ..RunOptions::default() };
    let array = Array::<u16>::builder([64, 64])
        .chunks([8, 8])
        .codecs([codec::named("slow", serde_json::json!({}))])
        .registry(registry)
        .create(Storage::blocking(store), "a")
        .expect("an array")
        .with_options(options);
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
