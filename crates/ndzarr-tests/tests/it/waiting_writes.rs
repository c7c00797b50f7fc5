//! Where writes wait, more threads work than requested, but no more of them compute at once.

use std::num::NonZeroUsize;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::yield_now;

use bytes::Bytes;
use ndarray::{ArrayD, IxDyn};
use ndzarr::FsStore;
use ndzarr::codec::{BytesToBytes, CodecError, Dst, Workspace};
use ndzarr::store::Durability;
use ndzarr::store::{Key, Precondition, Put, StoreError};
use ndzarr::{Array, CodecRegistry, MemoryStore, RunOptions, Storage, Store, codec, s};
use ndzarr_testkit::forward;

/// Counts the threads inside at once. The first `n` threads wait for each other inside, so that the
/// counts do not depend on speed.
#[derive(Debug)]
struct Rendezvous {
    n: usize,
    inside: Mutex<Inside>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Inside {
    now: usize,
    most: usize,
    /// How many of the first `n` threads came.
    n_waited: usize,
}

impl Rendezvous {
    fn new(n: usize) -> Arc<Self> {
        Arc::new(Self {
            n,
            inside: Mutex::default(),
            changed: Condvar::new(),
        })
    }

    /// The first `n` threads wait for each other. If fewer are ever let in, the test hangs here.
    fn pass(&self) {
        let mut inside = self.inside.lock().expect("no panic");
        inside.now += 1;
        inside.most = inside.most.max(inside.now);
        self.changed.notify_all();
        if inside.n_waited < self.n {
            inside.n_waited += 1;
            drop(
                self.changed
                    .wait_while(inside, |inside| inside.most < self.n)
                    .expect("no panic"),
            );
            // If more threads may come in, let them.
            (0..20).for_each(|_| yield_now());
            inside = self.inside.lock().expect("no panic");
        }
        inside.now -= 1;
    }

    fn most(&self) -> usize {
        self.inside.lock().expect("no panic").most
    }
}

/// A codec that changes nothing, and encodes at a rendezvous.
#[derive(Debug)]
struct Gated(Arc<Rendezvous>);

impl BytesToBytes for Gated {
    fn name(&self) -> &'static str {
        "gated"
    }

    fn decode(&self, src: &[u8], dst: Dst<'_>, _: &mut Workspace) -> Result<usize, CodecError> {
        match dst {
            Dst::Exact(dst) if dst.len() == src.len() => dst.copy_from_slice(src),
            Dst::Grow { buf, max } if src.len() <= max => {
                buf.clear();
                buf.extend_from_slice(src);
            }
            _ => return Err(CodecError::corrupt("gated", "has another length")),
        }
        Ok(src.len())
    }

    fn encode(&self, src: &[u8], dst: &mut Vec<u8>, _: &mut Workspace) -> Result<(), CodecError> {
        self.0.pass();
        dst.clear();
        dst.extend_from_slice(src);
        Ok(())
    }
}

/// A store on which every write of a chunk passes a rendezvous.
#[derive(Debug)]
struct Waiting {
    inner: MemoryStore,
    writers: Arc<Rendezvous>,
}

impl Store for Waiting {
    forward!(inner: name, fetch, erase, list_dir, list_prefix);

    fn put(&self, key: &Key, parts: &[Bytes], only_if: Precondition) -> Result<Put, StoreError> {
        if key.as_str().starts_with("a/c/") {
            self.writers.pass();
        }
        self.inner.put(key, parts, only_if)
    }

    fn writes_wait(&self) -> bool {
        true
    }
}

fn registry(encoders: &Arc<Rendezvous>) -> CodecRegistry {
    let encoders = Arc::clone(encoders);
    CodecRegistry::new().with("gated", move |_| Ok(Arc::new(Gated(Arc::clone(&encoders)))))
}

fn threads(n: usize) -> RunOptions {
    RunOptions::default().threads(NonZeroUsize::new(n))
}

/// Writes 64 chunks with `n_threads`, which all encode at once at some time, while `n_writers`
/// write at once at another. Returns the maximum that encoded and the maximum that wrote at once.
fn write(n_threads: usize, n_writers: usize) -> (usize, usize) {
    let encoders = Rendezvous::new(n_threads);
    let writers = Rendezvous::new(n_writers);
    let store = Waiting {
        inner: MemoryStore::new(),
        writers: Arc::clone(&writers),
    };
    let array = Array::<u16>::builder([64, 64])
        .chunks([8, 8])
        .codecs([codec::named("gated", serde_json::json!({}))])
        .registry(registry(&encoders))
        .create((Storage::blocking(store), "a"))
        .expect("an array")
        .with_options(threads(n_threads));
    let data = ArrayD::from_shape_fn(IxDyn(&[64, 64]), |at| (at[0] * 64 + at[1] + 1) as u16);
    array.write(.., &data).expect("a write");
    assert_eq!(array.read(..).expect("a read"), data);
    (encoders.most(), writers.most())
}

#[test]
fn no_more_threads_encode_at_once_than_requested() {
    assert_eq!(write(1, 1), (1, 1));
    // More writes wait at once than threads were requested.
    assert_eq!(write(2, 3).0, 2);
}

/// Shards written piece by piece to a synced folder.
#[test]
fn no_more_threads_encode_at_once_where_shards_are_large() {
    let encoders = Rendezvous::new(2);
    let folder = tempfile::tempdir().expect("a folder");
    let store = FsStore::builder(folder.path())
        .durability(Durability::Full)
        .build();
    let piece = store
        .range_merging()
        .piece
        .expect("large shards are written in pieces");
    let array = Array::<u16>::builder([9, 512, 512])
        .shards([1, 512, 512])
        .chunks([1, 256, 256])
        .codecs([codec::named("gated", serde_json::json!({}))])
        .registry(registry(&encoders))
        .create((Storage::blocking(store), "a"))
        .expect("an array")
        .with_options(threads(2));
    assert!(512 * 512 * 2 > piece);
    let data = ArrayD::from_shape_fn(IxDyn(&[9, 512, 512]), |at| {
        (at[0] * 512 + at[1] + at[2] + 1) as u16
    });
    array.write(.., &data).expect("a write");
    assert_eq!(array.read(..).expect("a read"), data);
    assert_eq!(encoders.most(), 2);
}

/// Four writers of a synced folder share the chunks at their borders and write them at the same
/// time.
#[test]
fn writers_that_share_chunks_lose_nothing() {
    for shards in [None, Some([32, 32])] {
        let folder = tempfile::tempdir().expect("a folder");
        let store = FsStore::builder(folder.path())
            .durability(Durability::Full)
            .build();
        let builder = Array::<u16>::builder([100, 64]).chunks([16, 16]);
        let builder = if let Some(shape) = shards {
            builder.shards(shape)
        } else {
            builder
        };
        let array = builder
            .create((Storage::blocking(store), "a"))
            .expect("an array")
            .with_options(threads(2));
        let data = ArrayD::from_shape_fn(IxDyn(&[100, 64]), |at| (at[0] * 64 + at[1] + 1) as u16);
        std::thread::scope(|scope| {
            for first in [0, 25, 50, 75] {
                let rows = s![first..first + 25, ..];
                let array = &array;
                let part = data.slice(rows).to_owned();
                scope.spawn(move || array.write(rows, &part).expect("a write"));
            }
        });
        assert_eq!(
            array.read(..).expect("a read"),
            data,
            "shards of {shards:?}"
        );
    }
}
