//! Chunks of deflate decoded two at a time, compared with the written elements.

use std::num::NonZeroUsize;
use std::ops::Range;

use ndarray::{ArrayD, IxDyn, Slice};
use ndzarr::Store;
use ndzarr::store::Prefix;
use ndzarr::{Array, DamageReport, ErrorKind, Format, MemoryStore, RunOptions, Storage, codec};
use ndzarr_testkit::PiecesStore;

/// Chunks along each axis, the last ones in part; an odd number of them.
const SHAPE: [usize; 3] = [90, 80, 95];
/// 64 KiB.
const CHUNK: [u64; 3] = [32, 32, 32];

/// Numbers that deflate encodes as literals and short matches.
fn noise() -> ArrayD<u16> {
    let mut state = 1u32;
    ArrayD::from_shape_simple_fn(IxDyn(&SHAPE), || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        3000 + (state >> 26) as u16
    })
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Zarr2Zlib,
    Zarr2GzipF,
    Zarr3Gzip,
    Shards,
    N5Gzip,
}

const KINDS: [Kind; 5] = [
    Kind::Zarr2Zlib,
    Kind::Zarr2GzipF,
    Kind::Zarr3Gzip,
    Kind::Shards,
    Kind::N5Gzip,
];

fn create(kind: Kind, store: &MemoryStore) -> Array<u16> {
    let builder = Array::<u16>::builder(SHAPE.map(|n| n as u64)).chunks(CHUNK);
    let builder = match kind {
        Kind::Zarr2Zlib => builder.format(Format::Zarr2).codecs([codec::zlib(1)]),
        Kind::Zarr2GzipF => builder
            .format(Format::Zarr2)
            .order(ndzarr::Order::F)
            .codecs([codec::gzip(1)]),
        Kind::Zarr3Gzip => builder.codecs([codec::gzip(1)]),
        Kind::Shards => builder.shards([96, 96, 96]).codecs([codec::gzip(1)]),
        Kind::N5Gzip => builder.format(Format::N5).codecs([codec::gzip(1)]),
    };
    builder.create((store, "a")).expect("an array")
}

/// Unchanged, with one thread, and with a store from which inner chunks are read piece by piece.
fn readers(store: &MemoryStore, options: &RunOptions) -> Vec<Array<u16>> {
    let one = options.clone().threads(NonZeroUsize::MIN);
    let two = options.clone().threads(NonZeroUsize::new(2));
    let open = |storage: Storage, options: RunOptions| {
        Array::<u16>::open((storage, "a"))
            .expect("it opens")
            .with_options(options)
    };
    let pieces = || Storage::blocking(PiecesStore::new(store.clone(), 200_000));
    vec![
        open(Storage::from(store), one.clone()),
        open(Storage::from(store), two.clone()),
        open(pieces(), one),
        open(pieces(), two),
    ]
}

fn part(data: &ArrayD<u16>, region: &[Range<u64>; 3]) -> ArrayD<u16> {
    let slice = |range: &Range<u64>| Slice::from(range.start as usize..range.end as usize);
    data.slice_each_axis(|axis| slice(&region[axis.axis.index()]))
        .to_owned()
}

#[test]
fn what_is_read_is_what_was_written() {
    let data = noise();
    let regions = [
        [0..90, 0..80, 0..95],
        [5..88, 31..65, 1..94],
        [40..41, 0..80, 10..20],
    ];
    for kind in KINDS {
        let store = MemoryStore::new();
        create(kind, &store).write(.., &data).expect("a write");
        for array in readers(&store, &RunOptions::default()) {
            for region in &regions {
                assert!(
                    array.read(&region[..]).expect("a read") == part(&data, region),
                    "{kind:?} {region:?}"
                );
            }
            // Several chunks of several regions at once.
            let many = array
                .read_many(regions.iter().map(|region| &region[..]))
                .expect("a read");
            assert!(
                many.iter()
                    .zip(&regions)
                    .all(|(read, region)| *read == part(&data, region)),
                "{kind:?}"
            );
        }
    }
}

#[test]
fn missing_and_other_chunks_among_them_are_read() {
    for kind in KINDS {
        let store = MemoryStore::new();
        let array = create(kind, &store);
        let mut data = noise();
        // Two chunks with only the fill value, and one with repetitions.
        data.slice_mut(ndarray::s![0..32, 32..64, 0..64]).fill(0);
        data.slice_mut(ndarray::s![32..64, 0..32, 32..64]).fill(9);
        array.write(.., &data).expect("a write");
        for array in readers(&store, &RunOptions::default()) {
            assert!(array.read(..).expect("a read") == data, "{kind:?}");
        }
    }
}

/// The keys of chunks.
fn chunk_keys(store: &MemoryStore) -> Vec<String> {
    let keys = store.list_prefix(&Prefix::root()).expect("a listing");
    let is_document = |key: &str| key.contains("json") || key.contains(".z");
    keys.iter()
        .map(|key| key.as_str().to_owned())
        .filter(|key| !is_document(key))
        .collect()
}

#[test]
fn a_broken_chunk_is_found_and_only_that_one() {
    let data = noise();
    for kind in [Kind::Zarr2Zlib, Kind::Zarr3Gzip, Kind::N5Gzip] {
        let store = MemoryStore::new();
        create(kind, &store).write(.., &data).expect("a write");
        let keys = chunk_keys(&store);
        assert_eq!(keys.len(), 27, "{kind:?}");
        for key in [&keys[0], &keys[1], &keys[13], &keys[26]] {
            let whole = store.get(key).expect("it exists");
            let mut broken = whole.to_vec();
            let middle = broken.len() / 2;
            broken[middle] ^= 0x10;
            store.set(key, broken).expect("a key");
            for array in readers(&store, &RunOptions::default()) {
                let error = array.read(..).expect_err("the chunk is broken");
                assert_eq!(
                    (error.kind(), error.key()),
                    (ErrorKind::Corrupt, Some(key.as_str())),
                    "{kind:?}"
                );
            }
            let report = DamageReport::new();
            let options = RunOptions::default().fill_damaged(&report);
            for array in readers(&store, &options) {
                let read = array.read(..).expect("what is broken is filled");
                let found = report.take();
                let at: Vec<&str> = found.iter().map(|chunk| chunk.place.key.as_str()).collect();
                assert_eq!(at, [key.as_str()], "{kind:?}");
                let n_wrong = read
                    .iter()
                    .zip(&data)
                    .filter(|(read, right)| read != right)
                    .count();
                let n_filled = read.iter().filter(|&&element| element == 0).count();
                assert_eq!(n_wrong, n_filled);
                assert!(n_filled > 10_000, "{kind:?}: {n_filled}");
            }
            store.set(key, whole).expect("a key");
        }
    }
}
