//! Shards, raw chunks and documents that declare huge sizes.

use std::fs;

use ndzarr::codec::{BloscCname, BloscShuffle, CodecConfig};
use ndzarr::{AnyArray, ErrorKind, FsStore, MemoryStore, Storage, codec};
use ndzarr_testkit::in_own_process;
use serde_json::{Value, json};

use crate::bombs::{CHUNK, CONSTANT, INSIDE, explode, v2, zeros};
use crate::with_peak;

/// A shard of 16 inner chunks of 4 KiB with this index, and bytes that it can point to.
fn shard(entries: &[[u64; 2]; 16], inner: &Value) -> (Value, Vec<u8>) {
    let bytes = json!({"name": "bytes", "configuration": {"endian": "little"}});
    let document = json!({"zarr_format": 3, "node_type": "array", "shape": [CHUNK], "data_type": "uint8",
        "fill_value": 0, "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [CHUNK]}},
        "chunk_key_encoding": {"name": "default"}, "codecs": [{"name": "sharding_indexed", "configuration": {
            "chunk_shape": [CHUNK / 16], "codecs": [bytes, inner], "index_codecs": [bytes]}}]});
    let index = entries.iter().flatten().flat_map(|n| n.to_le_bytes());
    (
        document,
        vec![0x11; CHUNK].into_iter().chain(index).collect(),
    )
}

#[test]
fn shard_indexes() {
    in_own_process!();
    const EMPTY: [u64; 2] = [u64::MAX; 2];
    let gzip = json!({"name": "gzip", "configuration": {"level": 1}});
    for entry in [
        [u64::MAX - 1, 1 << 40],
        [0, u64::MAX - 1],
        [0, 1 << 40],
        [CHUNK as u64 + 256, 1],
        [CHUNK as u64, 257],
        [u64::MAX, 0],
        [0, u64::MAX],
        [1 << 63, 1 << 63],
        [0, 0],
    ] {
        let mut entries = [EMPTY; 16];
        entries[3] = entry;
        let (document, value) = shard(&entries, &gzip);
        explode(
            &format!("shard entry {entry:?}"),
            ("zarr.json", &document),
            "c/0",
            value,
        );
    }
    // All of them the same bomb.
    let bomb = zeros(&[codec::gzip(9)], INSIDE);
    let (document, _) = shard(&[EMPTY; 16], &gzip);
    let entries = [[0, bomb.len() as u64]; 16];
    let index = entries.iter().flatten().flat_map(|n: &u64| n.to_le_bytes());
    let value: Vec<u8> = bomb.into_iter().chain(index).collect();
    explode(
        "a shard of one bomb",
        ("zarr.json", &document),
        "c/0",
        value,
    );
}

/// A raw chunk with a declared size of 4 GiB, of which one byte in every 16 KiB is wanted: a layer
/// of it is 2 GiB. A fourth of that on 32 bits.
#[test]
fn a_few_bytes_of_a_huge_raw_chunk_take_no_layer_of_it() {
    in_own_process!();
    const ROWS: u64 = if cfg!(target_pointer_width = "64") {
        1 << 17
    } else {
        1 << 15
    };
    let shape = [2, ROWS, 1 << 14];
    let n = 2 * ROWS as usize;
    let document = json!({"zarr_format": 2, "shape": shape, "chunks": shape, "dtype": "|u1", "order": "C",
        "fill_value": 0, "filters": null, "compressor": null});
    let folder = tempfile::tempdir().expect("a folder");
    let memory = MemoryStore::new();
    fs::write(folder.path().join(".zarray"), document.to_string()).expect("a file");
    memory
        .set(".zarray", document.to_string())
        .expect("the key is valid");
    for storage in [
        Storage::from(&memory),
        Storage::from(FsStore::new(folder.path())),
    ] {
        let array = AnyArray::open(&storage).expect("opens");
        let region = [0..2, 0..ROWS, 0..1];
        let ((), taken) = with_peak(|| {
            assert_eq!(array.read_bytes(&region).expect("reads"), vec![0; n]);
            fs::write(folder.path().join("0.0.0"), [1; 100]).expect("a file");
            memory.set("0.0.0", vec![1; 100]).expect("the key is valid");
            let error = array
                .read_bytes(&region)
                .expect_err("the chunk is too short");
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{error:?}");
        });
        assert!(taken <= n + CONSTANT, "{taken} bytes");
        fs::remove_file(folder.path().join("0.0.0")).expect("the file exists");
    }
}

/// Documents that declare impossible sizes, over values that are nearly empty.
#[test]
fn declared_sizes_cost_nothing() {
    in_own_process!();
    let n: u64 = if cfg!(target_pointer_width = "64") {
        1 << 38
    } else {
        1 << 30
    };
    let document = json!({"zarr_format": 2, "shape": [n, n], "chunks": [n, 1], "dtype": "|u1", "order": "C",
        "fill_value": 0, "filters": null, "compressor": {"id": "gzip", "level": 1}});
    let store = MemoryStore::new();
    store
        .set(".zarray", document.to_string())
        .expect("the key is valid");
    store
        .set("0.0", zeros(&[codec::gzip(9)], 1 << 20))
        .expect("the key is valid");
    let array = AnyArray::open(&store).expect("opens");
    let (read, taken) = with_peak(|| array.read_bytes(&[0..2, 0..1]));
    let error = read.expect_err("the chunk is too short");
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error:?}");
    // The existing data have 1 MiB.
    assert!(taken <= 8 << 20, "{taken} bytes");
    // And a missing chunk only needs the wanted part.
    assert_eq!(
        array.read_bytes(&[n - 2..n, n - 1..n]).expect("reads"),
        [0, 0]
    );
    let error = array
        .read_bytes(&[0..n, 0..n])
        .expect_err("no machine has it");
    assert_eq!(error.kind(), ErrorKind::OutOfMemory, "{error:?}");
}

mod long {
    use super::*;

    #[test]
    #[ignore = "long; `.ci/run all` runs it"]
    fn every_compressor() {
        in_own_process!();
        let lzma = |format| json!({"id": "lzma", "format": format, "check": -1, "preset": 1, "filters": null});
        let lzma_alone = CodecConfig::Lzma(ndzarr_model::LzmaConfig {
            format: ndzarr_model::LzmaFormat::Alone,
            check: -1,
            preset: Some(1),
            filters: None,
        });
        let compressors = [
            ("gzip", codec::gzip(1), json!({"id": "gzip", "level": 1})),
            ("zlib", codec::zlib(1), json!({"id": "zlib", "level": 1})),
            ("zstd", codec::zstd(1), json!({"id": "zstd", "level": 1})),
            (
                "bz2",
                codec::CodecConfig::Bz2 { level: 9 }.into(),
                json!({"id": "bz2", "level": 9}),
            ),
            ("xz", codec::xz(1), lzma(1)),
            ("lzma alone", lzma_alone.into(), lzma(2)),
            ("lz4", codec::lz4(), json!({"id": "lz4", "acceleration": 1})),
            (
                "blosc",
                codec::blosc(BloscCname::Lz4, 5, BloscShuffle::Byte),
                json!({"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1}),
            ),
        ];
        for (name, spec, config) in compressors {
            let value = zeros(std::slice::from_ref(&spec), INSIDE);
            explode(
                name,
                (".zarray", &v2(Value::Null, config.clone())),
                "0",
                value.clone(),
            );
            // A bomb in a bomb: the data between two codecs are limited too.
            let nested = zeros(&[spec.clone(), codec::gzip(9)], INSIDE);
            let filters = json!([config, {"id": "gzip", "level": 1}]);
            explode(
                &format!("{name} in gzip"),
                (".zarray", &v2(filters, Value::Null)),
                "0",
                nested,
            );
            // Only headers, cut off where the content begins.
            for end in [8, 16, 32, value.len() / 2] {
                let cut = value[..end.min(value.len())].to_vec();
                explode(
                    &format!("{name} cut at {end}"),
                    (".zarray", &v2(Value::Null, config.clone())),
                    "0",
                    cut,
                );
            }
        }
    }
}
