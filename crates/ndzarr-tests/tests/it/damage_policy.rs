//! Reads that fill broken parts and report them.

use std::fs;
use std::num::NonZeroUsize;

use ndzarr::ndarray::{Array2, ArrayD, array};
use ndzarr::store::StoreError;
use ndzarr::{
    Array, DamageReport, DamagedChunk, ErrorKind, Format, MemoryStore, RunOptions, Storage,
    asynchronous, codec, s,
};
use ndzarr_testkit::{AsyncMemoryStore, Call, FaultStore, Latency, PiecesStore, block_on};

use crate::in_place::CutFiles;

const CALLS: [&str; 5] = [
    "blocking",
    "one thread",
    "in pieces",
    "pooled",
    "asynchronous",
];

/// Reads all of the array `a` by each kind of call, filling broken parts.
fn read_by_each_call(store: &MemoryStore) -> Vec<(ArrayD<u16>, Vec<DamagedChunk>)> {
    let run = |name: &str| {
        let report = DamageReport::new();
        let options = RunOptions::default()
            .fill_damaged(&report)
            .threads((name == "one thread").then_some(NonZeroUsize::MIN));
        let storage = match name {
            "asynchronous" => {
                Storage::asynchronous(AsyncMemoryStore::over(store.clone(), Latency::default()))
            }
            "in pieces" => Storage::blocking(PiecesStore::new(store.clone(), 1)),
            _ => Storage::from(store),
        };
        let a = Array::<u16>::open((storage, "a"))
            .expect("opens")
            .with_options(options);
        let all: Vec<_> = a.shape().iter().map(|&n| 0..n).collect();
        let read = if name == "pooled" || name == "asynchronous" {
            block_on(asynchronous::Array::from(a.clone()).read(&all[..]))
        } else {
            a.read(&all[..])
        };
        let read = read.unwrap_or_else(|error| panic!("{name}: {error:?}"));
        // Again, with the indexes of shards cached: the same parts are found, and listed again.
        let mut found = report.take();
        let again = a
            .read(&all[..])
            .unwrap_or_else(|error| panic!("{name}: {error:?}"));
        assert_eq!(again, read, "{name}");
        let mut found_again = report.take();
        let place = |found: &DamagedChunk| (found.place.key.clone(), found.inner_chunk.clone());
        found.sort_by_key(place);
        found_again.sort_by_key(place);
        let places = |found: &[DamagedChunk]| found.iter().map(place).collect::<Vec<_>>();
        assert_eq!(places(&found_again), places(&found), "{name}");
        assert!(report.take().is_empty());
        (read, found)
    };
    CALLS.map(run).into()
}

/// A damaged value: its key, the inner chunks of it, the codec that found it.
type Finding<'a> = (&'a str, &'a [&'a [u64]], Option<&'a str>);

fn check_filled(store: &MemoryStore, expected: &Array2<u16>, keys: &[Finding<'_>]) {
    for ((read, found), name) in read_by_each_call(store).into_iter().zip(CALLS) {
        assert_eq!(read, expected.clone().into_dyn(), "{name}: {found:?}");
        let found: Vec<_> = found
            .iter()
            .map(|chunk| {
                assert!(
                    !chunk.what.is_empty() && !chunk.place.store.is_empty(),
                    "{chunk:?}"
                );
                let inner: Vec<&[u64]> = chunk.inner_chunk.iter().map(Vec::as_slice).collect();
                (chunk.place.key.as_str(), inner, chunk.codec.as_deref())
            })
            .collect();
        let keys: Vec<_> = keys
            .iter()
            .map(|(key, inner, codec)| (*key, inner.to_vec(), *codec))
            .collect();
        assert_eq!(found, keys, "{name}");
    }
    // By default the read fails, and says where.
    let error = Array::<u16>::open((store, "a"))
        .and_then(|a| a.read(..))
        .expect_err("something is broken");
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error:?}");
    assert!(
        error.chunk().is_some() && error.store().is_some(),
        "{error:?}"
    );
    assert!(
        keys.iter()
            .any(|(key, _, codec)| error.key() == Some(key) && error.codec() == *codec),
        "{error:?}"
    );
    let text = error.to_string();
    assert!(
        error.key().is_some_and(|key| text.contains(key)) && text.contains("chunk ["),
        "{text}"
    );
    assert!(
        error.codec().is_none_or(|codec| text.contains(codec)),
        "{text}"
    );
}

/// 8 by 8 elements that are all different, and none is the fill value 9.
fn elements() -> Array2<u16> {
    Array2::from_shape_fn((8, 8), |(y, x)| 100 + (8 * y + x) as u16)
}

fn cut(store: &MemoryStore, key: &str, n: usize) {
    let value = store.get(key).expect("is stored");
    store
        .set(key, value.slice(..value.len() - n))
        .expect("the key is valid");
}

fn flip(store: &MemoryStore, key: &str, at: usize) {
    let mut value = store.get(key).expect("is stored").to_vec();
    value[at] ^= 0x10;
    store.set(key, value).expect("the key is valid");
}

#[test]
fn damaged_chunks_of_zarr2_and_n5_are_filled() {
    let store = MemoryStore::new();
    let a = Array::<u16>::builder([8, 8])
        .chunks([4, 4])
        .fill_value(9)
        .codecs([codec::gzip(1)]);
    let a = a
        .format(Format::Zarr2)
        .create((&store, "a"))
        .expect("is created");
    a.write(s![.., ..], &elements()).expect("is written");
    cut(&store, "a/0.1", 3);
    flip(&store, "a/1.0", 20);
    let mut expected = elements();
    expected.slice_mut(s![0..4, 4..8]).fill(9);
    expected.slice_mut(s![4..8, 0..4]).fill(9);
    check_filled(
        &store,
        &expected,
        &[("a/0.1", &[], Some("gzip")), ("a/1.0", &[], Some("gzip"))],
    );

    let store = MemoryStore::new();
    let a = Array::<u16>::builder([8, 8])
        .chunks([4, 4])
        .codecs([codec::gzip(1)])
        .format(Format::N5);
    let a = a.create((&store, "a")).expect("is created");
    a.write(s![.., ..], &elements()).expect("is written");
    cut(&store, "a/1/1", 1);
    // An invalid mode.
    flip(&store, "a/0/0", 1);
    let mut expected = elements();
    expected.slice_mut(s![0..4, 0..4]).fill(0);
    expected.slice_mut(s![4..8, 4..8]).fill(0);
    check_filled(
        &store,
        &expected,
        &[
            ("a/0/0", &[], Some("n5_block")),
            ("a/1/1", &[], Some("gzip (N5)")),
        ],
    );
}

#[test]
fn damaged_raw_chunks_of_zarr3_are_filled() {
    let store = MemoryStore::new();
    let a = Array::<u16>::builder([8, 8])
        .chunks([4, 8])
        .fill_value(9)
        .create((&store, "a"))
        .expect("is created");
    a.write(s![.., ..], &elements()).expect("is written");
    cut(&store, "a/c/1/0", 1);
    let mut expected = elements();
    expected.slice_mut(s![4..8, ..]).fill(9);
    check_filled(&store, &expected, &[("a/c/1/0", &[], Some("bytes"))]);
    // Windows of a broken chunk are as broken as the whole.
    let report = DamageReport::new();
    let options = RunOptions::default().fill_damaged(&report);
    let a = a.with_options(options);
    assert_eq!(
        a.read(s![3..5, 1]).expect("reads"),
        ndzarr::ndarray::arr1(&[125, 9])
    );
    assert_eq!(report.take().len(), 1);
}

#[test]
fn a_damaged_inner_chunk_fills_only_itself() {
    for sub in [false, true] {
        let store = MemoryStore::new();
        let codecs = [codec::crc32c()];
        let a = Array::<u16>::builder([8, 8])
            .chunks([2, 2])
            .shards([8, 4])
            .fill_value(9)
            .codecs(codecs);
        let a = a.create((&store, "a")).expect("is created");
        a.write(s![.., ..], &elements()).expect("is written");
        // 8 inner chunks of 12 bytes each, then the index with its checksum.
        let len = store.get("a/c/0/0").expect("is stored").len();
        assert_eq!(len, 8 * 12 + 8 * 16 + 4);
        let mut expected = elements();
        if sub {
            // The third: row 1, column 0.
            flip(&store, "a/c/0/0", 2 * 12 + 1);
            expected.slice_mut(s![2..4, 0..2]).fill(9);
            check_filled(
                &store,
                &expected,
                &[("a/c/0/0", &[&[1, 0]], Some("crc32c"))],
            );
        } else {
            // The index: nothing can be found.
            flip(&store, "a/c/0/0", 8 * 12 + 1);
            expected.slice_mut(s![.., 0..4]).fill(9);
            check_filled(&store, &expected, &[("a/c/0/0", &[], Some("crc32c"))]);
            // Too short for an index.
            store
                .set("a/c/0/1", vec![1, 2, 3])
                .expect("the key is valid");
            expected.fill(9);
            for ((read, found), name) in read_by_each_call(&store).into_iter().zip(CALLS) {
                assert_eq!(read, expected.clone().into_dyn(), "{name}");
                assert_eq!(found.len(), 2, "{name}");
                assert_eq!(found[1].place.key, "a/c/0/1", "{name}");
            }
        }
    }
}

/// An index without checksum, so that its entries can have any value.
fn shard_document(nested: bool) -> String {
    let bytes = r#"{"name":"bytes","configuration":{"endian":"little"}}"#;
    let sharding = |shape: &str, codecs: &str| {
        format!(
            r#"{{"name":"sharding_indexed","configuration":{{"chunk_shape":{shape},"codecs":[{codecs}],
            "index_codecs":[{bytes}],"index_location":"end"}}}}"#
        )
    };
    let inner = if nested {
        sharding("[2,2]", bytes)
    } else {
        bytes.to_owned()
    };
    let codecs = sharding("[4,4]", &inner);
    format!(
        r#"{{"zarr_format":3,"node_type":"array","shape":[8,8],"data_type":"uint16","fill_value":9,
        "chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[8,8]}}}},
        "chunk_key_encoding":{{"name":"default"}},"codecs":[{{"name":"transpose","configuration":{{"order":[1,0]}}}},
        {codecs}]}}"#
    )
}

#[test]
fn inner_chunks_with_bad_index_entries_are_filled() {
    let store = MemoryStore::new();
    store
        .set("a/zarr.json", shard_document(false))
        .expect("the key is valid");
    let a = Array::<u16>::open((&store, "a")).expect("opens");
    a.write(s![.., ..], &elements()).expect("is written");
    let mut value = store.get("a/c/0/0").expect("is stored").to_vec();
    let index = value.len() - 4 * 16;
    // Stored axis 0 is array axis 1: entry 1 is the inner chunk [1, 0].
    value[index + 16..index + 24].copy_from_slice(&(u64::MAX - 3).to_le_bytes());
    // Entry 2 is too short for a raw inner chunk.
    value[index + 40..index + 48].copy_from_slice(&31u64.to_le_bytes());
    store.set("a/c/0/0", value).expect("the key is valid");
    let mut expected = elements();
    expected.slice_mut(s![4..8, 0..4]).fill(9);
    expected.slice_mut(s![0..4, 4..8]).fill(9);
    check_filled(
        &store,
        &expected,
        &[
            ("a/c/0/0", &[&[0, 1]], Some("bytes")),
            ("a/c/0/0", &[&[1, 0]], Some("sharding_indexed")),
        ],
    );
}

#[test]
fn the_report_names_the_inner_chunk_of_nested_shards() {
    let store = MemoryStore::new();
    store
        .set("a/zarr.json", shard_document(true))
        .expect("the key is valid");
    let a = Array::<u16>::open((&store, "a")).expect("opens");
    a.write(s![.., ..], &elements()).expect("is written");
    let mut value = store.get("a/c/0/0").expect("is stored").to_vec();
    // Each inner shard: 4 inner chunks of 8 bytes, then 4 entries. In the last, entry 1 (array: [1,
    // 0]) is cut.
    let last = 3 * (4 * 8 + 4 * 16);
    value[last + 32 + 24..last + 32 + 32].copy_from_slice(&7u64.to_le_bytes());
    store.set("a/c/0/0", value).expect("the key is valid");
    let mut expected = elements();
    expected.slice_mut(s![6..8, 4..6]).fill(9);
    check_filled(
        &store,
        &expected,
        &[("a/c/0/0", &[&[1, 1], &[1, 0]], Some("bytes"))],
    );
}

#[test]
fn chunks_with_invalid_elements_are_filled() {
    let store = MemoryStore::new();
    let a = Array::<bool>::builder([8])
        .chunks([4])
        .fill_value(true)
        .create((&store, "a"))
        .expect("is created");
    store
        .set("a/c/0", vec![0, 1, 2, 0])
        .expect("the key is valid");
    store
        .set("a/c/1", vec![0, 1, 0, 0])
        .expect("the key is valid");
    assert_eq!(
        a.read(..).expect_err("2 is no bool").kind(),
        ErrorKind::Corrupt
    );
    let report = DamageReport::new();
    let options = RunOptions::default().fill_damaged(&report);
    let a = a.with_options(options);
    let expected = [true, true, true, true, false, true, false, false];
    assert_eq!(a.read(..).expect("reads").as_slice(), Some(&expected[..]));
    assert_eq!(report.take().len(), 1);
    let mut out = ndzarr::ndarray::arr1(&[false; 6]);
    a.read_into([1..7], &mut out).expect("reads");
    assert_eq!(out.as_slice(), Some(&expected[1..7]));
}

#[test]
fn failures_of_the_store_are_never_filled() {
    let memory = MemoryStore::new();
    let a = Array::<u16>::builder([8])
        .chunks([4])
        .create((&memory, "a"))
        .expect("is created");
    a.fill(.., 1).expect("is written");
    let store = FaultStore::new(memory);
    let error = StoreError::Other {
        action: "read",
        key: String::new(),
        what: "the disk is broken".to_owned(),
    };
    let report = DamageReport::new();
    let options = RunOptions::default().fill_damaged(&report);
    let a = Array::<u16>::open((Storage::blocking(store.clone()), "a"))
        .expect("opens")
        .with_options(options);
    store.fail_key(Call::Fetch, "a/c/1", error);
    assert_eq!(
        a.read(..).expect_err("the store fails").kind(),
        ErrorKind::Store
    );
    assert!(report.take().is_empty());
}

/// A part of a raw chunk, and a shard: their size and their index are looked at before any codec.
#[test]
fn a_value_that_is_being_written_in_place_is_not_damaged() {
    let plain = Array::<u16>::builder([4]).chunks([4]);
    for builder in [plain.clone(), plain.chunks([2]).shards([4])] {
        let folder = tempfile::tempdir().expect("a folder");
        let files = CutFiles::new(folder.path());
        let report = DamageReport::new();
        let a = builder
            .create((files.storage(), "a"))
            .expect("is created")
            .with_options(RunOptions::default().fill_damaged(&report));
        a.write(.., &array![1, 2, 3, 4]).expect("is written");
        let path = folder.path().join("a/c/0");
        let whole = fs::read(&path).expect("it exists");
        for len in 0..whole.len() {
            files.cut(&path, &whole[..len], Some(&whole));
            assert_eq!(a.read([1..3]).expect("reads"), array![2, 3], "{len}");
            assert!(report.take().is_empty(), "{len}");
        }
    }
}
