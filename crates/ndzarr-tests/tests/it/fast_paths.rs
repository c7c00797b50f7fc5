//! The fast paths of the file-system store, compared with the general ones of the in-memory store.

use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use ndarray::{ArrayD, IxDyn, ShapeBuilder};
use ndzarr::Store;
use ndzarr::store::{Fetch, Fetched, Key, Precondition, Put, StoreError};
use ndzarr::{Array, Endian, ErrorKind, FsStore, MemoryStore, Order, RunOptions, Storage, codec};
use ndzarr_testkit::PiecesStore;
use proptest::prelude::*;
use serde_json::json;

fn small_array() -> impl Strategy<Value = (Vec<u64>, Vec<u64>)> {
    prop::collection::vec((1u64..40, 1u64..20), 1..4).prop_map(|axes| axes.into_iter().unzip())
}

fn regions(shape: &[u64], picks: &[(u8, u8)]) -> Vec<Vec<Range<u64>>> {
    picks
        .chunks(shape.len())
        .filter(|picks| picks.len() == shape.len())
        .map(|picks| {
            let range = |(&n, &(a, b)): (&u64, &(u8, u8))| {
                let (a, b) = (u64::from(a) * n / 255, u64::from(b) * n / 255);
                a.min(b)..a.max(b)
            };
            shape.iter().zip(picks).map(range).collect()
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn files_and_memory_agree(
        (shape, chunks) in small_array(),
        big in any::<bool>(),
        zstd in any::<bool>(),
        f_order in any::<bool>(),
        threads in 1usize..4,
        missing in any::<bool>(),
        picks in prop::collection::vec(any::<(u8, u8)>(), 9),
    ) {
        let folder = tempfile::tempdir().expect("a folder");
        let n: usize = shape.iter().map(|&n| n as usize).product();
        let extent: Vec<usize> = shape.iter().map(|&n| n as usize).collect();
        let data = ArrayD::from_shape_vec(IxDyn(&extent), (0..n as u32).map(|i| i.wrapping_mul(2_654_435_761)).collect())
            .expect("as many elements");
        let options = RunOptions::default().threads(NonZeroUsize::new(threads));
        let stores = [Storage::from(FsStore::new(folder.path())), Storage::from(MemoryStore::new())];
        let mut read = Vec::new();
        for store in &stores {
            let mut builder = Array::<u32>::builder(&shape)
                .format(ndzarr::Format::Zarr2)
                .chunks(&chunks)
                .fill_value(77)
                .order(if f_order { Order::F } else { Order::C })
                .endian(if big { Endian::Big } else { Endian::Little });
            if zstd {
                builder = builder.codecs([codec::zstd(1)]);
            }
            let array = builder.create((store, "a")).expect("an array").with_options(options.clone());
            if !missing {
                array.write(.., &data).expect("a write");
            }
            let whole = array.read(..).expect("a read");
            let regions = regions(&shape, &picks);
            let singly: Vec<ArrayD<u32>> = regions.iter().map(|region| array.read(region).expect("a read")).collect();
            prop_assert_eq!(&array.read_many(&regions).expect("a read"), &singly);
            let mut reversed = ArrayD::<u32>::zeros(IxDyn(&extent).f());
            array.read_into(.., &mut reversed).expect("a read");
            prop_assert_eq!(&reversed, &whole);
            read.push((whole, singly));
        }
        if !missing {
            prop_assert_eq!(&read[0].0, &data);
        }
        prop_assert_eq!(&read[0], &read[1]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Inner chunks fetched group by group just before they are decoded, and all at once.
    #[test]
    fn shards_in_pieces_and_at_once_agree(
        (shape, chunks) in small_array(),
        per_shard in prop::collection::vec(1u64..4, 3),
        piece in 0u64..600,
        codecs in 0..3,
        threads in 1usize..4,
        missing in any::<bool>(),
        picks in prop::collection::vec(any::<(u8, u8)>(), 9),
    ) {
        let store = MemoryStore::new();
        let shards: Vec<u64> = chunks.iter().zip(&per_shard).map(|(chunk, n)| chunk * n).collect();
        let mut builder = Array::<u32>::builder(&shape).chunks(&chunks).shards(&shards).fill_value(77);
        builder = match codecs {
            0 => builder,
            1 => builder.codecs([codec::crc32c()]),
            _ => builder.codecs([codec::transpose((0..shape.len()).rev().collect::<Vec<_>>()), codec::zstd(1)]),
        };
        let array = builder.create((&store, "a")).expect("an array");
        let mut n = 0u32;
        let regions = regions(&shape, &picks);
        let all: Vec<Range<u64>> = shape.iter().map(|&n| 0..n).collect();
        let written = if missing { regions.first().cloned().unwrap_or(all) } else { all };
        let extent: Vec<usize> = written.iter().map(|range| (range.end - range.start) as usize).collect();
        let data = ArrayD::from_shape_simple_fn(IxDyn(&extent), || {
            n = n.wrapping_add(2_654_435_761);
            n
        });
        array.write(&written, &data).expect("a write");
        let options = RunOptions::default().threads(NonZeroUsize::new(threads));
        let pieces = Storage::blocking(PiecesStore::new(store.clone(), piece));
        let in_pieces = Array::<u32>::open((pieces, "a")).expect("it was made").with_options(options);
        let at_once = Array::<u32>::open((&store, "a")).expect("it was made");
        // The second time, the indexes are cached; the third time, they are outdated.
        for round in 0..3 {
            if round == 2 {
                array.write(&written, &data.map(|element| element ^ 1)).expect("a write");
            }
            prop_assert_eq!(in_pieces.read(..).expect("a read"), at_once.read(..).expect("a read"));
            for region in &regions {
                prop_assert_eq!(in_pieces.read(region).expect("a read"), at_once.read(region).expect("a read"));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Shards written inner chunk by inner chunk have the same bytes as those assembled in memory.
    #[test]
    fn shards_written_in_pieces_and_at_once_are_the_same(
        (shape, chunks) in small_array(),
        per_shard in prop::collection::vec(1u64..5, 3),
        piece in 0u64..600,
        at_start in any::<bool>(),
        zstd in any::<bool>(),
        fill_chunks in any::<bool>(),
        threads in 1usize..4,
        writes in prop::collection::vec((any::<bool>(), prop::collection::vec(any::<(u8, u8)>(), 3)), 1..5),
    ) {
        let folder = tempfile::tempdir().expect("a folder");
        let shards: Vec<u64> = chunks.iter().zip(&per_shard).map(|(chunk, n)| chunk * n).collect();
        let bytes = json!({"name": "bytes", "configuration": {"endian": "little"}});
        let zstd = zstd.then(|| json!({"name": "zstd", "configuration": {"level": 1, "checksum": false}}));
        let inner: Vec<_> = [bytes.clone()].into_iter().chain(zstd).collect();
        let codecs = json!([{"name": "sharding_indexed", "configuration": {
            "chunk_shape": chunks,
            "codecs": inner,
            "index_codecs": [bytes, {"name": "crc32c"}],
            "index_location": if at_start { "start" } else { "end" },
        }}]);
        let options = RunOptions::default().threads(NonZeroUsize::new(threads));
        let options = if fill_chunks { options.store_fill_chunks() } else { options };
        let memory = MemoryStore::new();
        let files = PiecesStore::new(FsStore::new(folder.path()), piece);
        let arrays = [Storage::from(&memory), Storage::blocking(files)].map(|storage| {
            let builder = Array::<u32>::builder(&shape).chunks(&shards).codecs_json(codecs.clone()).fill_value(7);
            builder.create((storage, "a")).expect("an array").with_options(options.clone())
        });
        let mut n = 0u32;
        for (fill, picks) in writes {
            let picks = &picks[..shape.len()];
            let region = regions(&shape, picks).remove(0);
            let extent: Vec<usize> = region.iter().map(|range| (range.end - range.start) as usize).collect();
            let data = ArrayD::from_shape_simple_fn(IxDyn(&extent), || {
                n = n.wrapping_add(2_654_435_761);
                if fill { 7 } else { n }
            });
            for array in &arrays {
                array.write(&region, &data).expect("a write");
            }
            let mut keys = memory.keys();
            keys.sort();
            let mut stored = files_below(&folder.path().join("a"));
            stored.sort();
            let names: Vec<&str> = keys.iter().filter_map(|key| key.strip_prefix("a/")).collect();
            prop_assert_eq!(&stored, &names);
            for name in &stored {
                let file = std::fs::read(folder.path().join("a").join(name)).expect("it was listed");
                prop_assert_eq!(Some(Bytes::from(file)), memory.get(&format!("a/{name}")), "{}", name);
            }
        }
    }
}

/// The paths of all files, with `/` between their segments.
fn files_below(folder: &Path) -> Vec<String> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).expect("it exists") {
        let path = entry.expect("an entry").path();
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .expect("text")
            .to_owned();
        if path.is_dir() {
            files.extend(
                files_below(&path)
                    .into_iter()
                    .map(|below| format!("{name}/{below}")),
            );
        } else {
            files.push(name);
        }
    }
    files
}

/// A shard whose index gives many inner chunks the same bytes is not made as large as their sum.
#[test]
fn an_index_that_repeats_itself_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let files = Storage::blocking(PiecesStore::new(FsStore::new(folder.path()), 1));
    let array = Array::<u8>::builder([1 << 16])
        .chunks([64])
        .shards([1 << 16])
        .create((files, "a"));
    let array = array.expect("an array");
    array
        .write(.., &ArrayD::from_elem(IxDyn(&[1 << 16]), 1))
        .expect("a write");
    let path = folder.path().join("a/c/0");
    let shard = std::fs::read(&path).expect("a shard");
    // 1,024 times the same 64 KiB.
    let entries: Vec<u8> = [0u64.to_le_bytes(), (1u64 << 16).to_le_bytes()]
        .concat()
        .repeat(1024);
    let crc = crc32c(&entries).to_le_bytes();
    std::fs::write(&path, [&shard[..1 << 16], &entries, &crc].concat()).expect("a file");
    let error = array
        .write([0..1], &ndarray::array![2])
        .expect_err("64 MiB of 64 KiB");
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    assert!(error.to_string().contains("a/c/0"), "{error}");
}

fn crc32c(bytes: &[u8]) -> u32 {
    let bit = |crc: u32| {
        if crc & 1 == 1 {
            (crc >> 1) ^ 0x82f6_3b78
        } else {
            crc >> 1
        }
    };
    !bytes.iter().fold(!0, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| bit(crc))
    })
}

/// Returns alternating shards after each fetch.
#[derive(Debug)]
struct Replaced {
    inner: MemoryStore,
    shards: [Bytes; 2],
    fetches: AtomicUsize,
}

impl Store for Replaced {
    fn name(&self) -> String {
        self.inner.name()
    }

    fn fetch(&self, fetch: &Fetch) -> Result<Fetched, StoreError> {
        let fetched = self.inner.fetch(fetch);
        if fetch.key.as_str() == "a/c/0" {
            let n = self.fetches.fetch_add(1, Ordering::Relaxed);
            self.inner.set("a/c/0", self.shards[n % 2].clone())?;
        }
        fetched
    }

    fn put(&self, _: &Key, _: &[Bytes], _: Precondition) -> Result<Put, StoreError> {
        Err(StoreError::Unsupported("write"))
    }

    fn erase(&self, _: &Key, _: Precondition) -> Result<Put, StoreError> {
        Err(StoreError::Unsupported("erase"))
    }
}

/// All elements come from one state of a shard, though it is read in pieces and replaced between
/// them.
#[test]
fn a_shard_that_is_replaced_between_its_pieces_is_read_as_it_was() {
    let store = MemoryStore::new();
    let array = Array::<u16>::builder([64])
        .chunks([4])
        .shards([64])
        .codecs([codec::crc32c()]);
    let array = array.create((&store, "a")).expect("an array");
    let states = [3, 8].map(|element| {
        array
            .write(.., &ArrayD::from_elem(IxDyn(&[64]), element))
            .expect("a write");
        store.get("a/c/0").expect("it was written")
    });
    let replaced = Arc::new(Replaced {
        inner: store,
        shards: states,
        fetches: AtomicUsize::new(0),
    });
    let pieces = Storage::blocking(PiecesStore::new(
        Arc::clone(&replaced) as Arc<dyn Store>,
        24,
    ));
    let array = Array::<u16>::open((pieces, "a")).expect("it was made");
    for _ in 0..4 {
        let before = replaced.fetches.load(Ordering::Relaxed);
        let read = array.read(..).expect("a read");
        let first = read[[0]];
        assert!(
            [3, 8].contains(&first) && read.iter().all(|&element| element == first),
            "{read}"
        );
        assert!(
            replaced.fetches.load(Ordering::Relaxed) - before > 8,
            "it was not read in pieces"
        );
    }
}
