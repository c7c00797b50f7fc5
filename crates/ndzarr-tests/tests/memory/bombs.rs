//! Stored values that need far more memory than their chunk has: each is an error, within the
//! declared chunk and a constant. Rust's allocations are counted; the memory of codecs in C shows
//! in the peak size of the process, if the system reports it.

use std::fs;

use ndzarr::CodecRegistry;
use ndzarr::Endian;
use ndzarr::codec::Workspace;
use ndzarr::codec::{BloscCname, BloscShuffle, CodecConfig, CodecSpec};
use ndzarr::{AnyArray, DataType, ErrorKind, FillValue, FsStore, MemoryStore, Storage, codec};
use ndzarr_codec::CodecChain;
use ndzarr_testkit::in_own_process;
use serde_json::{Value, json};

use crate::ALLOCATOR;

/// Size of the chunk that every document here declares, in bytes.
const CHUNK: usize = 64 << 10;

/// Additional memory of a read: contexts of codecs, buffers of a few times the chunk.
const CONSTANT: usize = 4 << 20;

/// Memory of codecs in C: their contexts have up to 12 MiB each, and the allocator keeps what was
/// freed.
const CONSTANT_RESIDENT: u64 = 48 << 20;

/// The content of a bomb.
const INSIDE: usize = 64 << 20;

/// Reads one chunk of a stored value, which must be an error within the bounds.
fn explode(name: &str, document: (&str, &Value), key: &str, value: Vec<u8>) {
    let store = MemoryStore::new();
    store.set(document.0, document.1.to_string()).expect("the key is valid");
    store.set(key, value).expect("the key is valid");
    let array = AnyArray::open(&store).unwrap_or_else(|error| panic!("{name}: {error:?}"));
    let chunk: Vec<_> = array.spec().unit_shape.iter().map(|&n| 0..n).collect();
    // A context created at the first use may stay.
    for _ in 0..2 {
        let resident = Resident::reset();
        let before = ALLOCATOR.current_usage();
        ALLOCATOR.reset_peak_usage();
        let result = array.read_bytes(&chunk);
        let taken = ALLOCATOR.peak_usage().saturating_sub(before);
        let error = result.map(|bytes| bytes.len()).expect_err(name);
        let is_other_count = error.to_string().contains("a varlength block of");
        let kind = if is_other_count { ErrorKind::Unsupported } else { ErrorKind::Corrupt };
        assert_eq!(error.kind(), kind, "{name}: {error:?}");
        assert_eq!(error.key(), Some(key), "{name}: {error:?}");
        assert!(error.codec().is_some(), "{name}: {error:?}");
        // The result, the decoded chunk, and the data between two codecs.
        assert!(taken <= 6 * CHUNK + CONSTANT, "{name}: {taken} bytes");
        let grown = resident.grown();
        assert!(grown <= CONSTANT_RESIDENT, "{name}: the process grew by {grown} bytes");
    }
}

/// Memory of the process as Linux reports it.
struct Resident(Option<u64>);

impl Resident {
    fn reset() -> Self {
        // Resets the peak to the current use.
        if fs::write("/proc/self/clear_refs", "5").is_err() {
            return Self(None);
        }
        Self(Self::peak())
    }

    fn grown(&self) -> u64 {
        self.0.and_then(|before| Some(Self::peak()?.saturating_sub(before))).unwrap_or(0)
    }

    fn peak() -> Option<u64> {
        let status = fs::read_to_string("/proc/self/status").ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
    }
}

/// Zeros, encoded.
fn zeros(codecs: &[CodecSpec], n: usize) -> Vec<u8> {
    let bytes = CodecSpec::from(CodecConfig::Bytes { endian: Some(Endian::Little) });
    let specs: Vec<CodecSpec> = [bytes].into_iter().chain(codecs.iter().cloned()).collect();
    let fill = FillValue::defined([0]);
    let chain = CodecChain::bind(&specs, &DataType::UInt { bits: 8 }, &fill, 1, &CodecRegistry::new());
    let mut value = Vec::new();
    let chain = chain.expect("the chain is valid");
    chain.encode(&vec![0; n], &[n as u64], &mut Workspace::new(), &mut value).expect("zeros can be encoded");
    value
}

fn v2(filters: Value, compressor: Value) -> Value {
    json!({"zarr_format": 2, "shape": [CHUNK], "chunks": [CHUNK], "dtype": "|u1", "order": "C", "fill_value": 0,
        "filters": filters, "compressor": compressor})
}

/// Elements of two bytes for pco, which does not support single ones; base64 of zeros in a
/// compressor; and filters whose output is larger than their input.
#[test]
fn codecs_of_elements() {
    in_own_process!();
    let u16 = DataType::UInt { bits: 16 };
    let bind = |codecs: Vec<CodecConfig>| {
        let bytes = CodecConfig::Bytes { endian: Some(Endian::Little) };
        let specs: Vec<CodecSpec> = [bytes].into_iter().chain(codecs).map(CodecSpec::from).collect();
        CodecChain::bind(&specs, &u16, &FillValue::defined([0; 2]), 1, &CodecRegistry::new())
            .expect("it binds")
    };
    let zeros = |chain: CodecChain| {
        let mut value = Vec::new();
        let n = (INSIDE / 2) as u64;
        chain.encode(&vec![0; INSIDE], &[n], &mut Workspace::new(), &mut value).expect("zeros are encoded");
        value
    };
    let document = |filters: Value, compressor: Value| {
        json!({"zarr_format": 2, "shape": [CHUNK / 2], "chunks": [CHUNK / 2], "dtype": "<u2", "order": "C",
            "fill_value": 0, "filters": filters, "compressor": compressor})
    };
    let pcodec = CodecConfig::Pcodec(ndzarr_model::PcodecConfig::default());
    let value = zeros(bind(vec![pcodec.clone()]));
    let config = json!({"id": "pcodec", "level": 8});
    explode("pcodec", (".zarray", &document(Value::Null, config.clone())), "0", value.clone());
    // A dictionary of 2^25 - 1 numbers, and a window of 2^24, claimed by sixteen bytes (pco's
    // format.md).
    for claim in [&b"\xf4\xff\xff\x1f\0\0\0\0"[..], b"\x20\x17\0\0\0\0\0\0"] {
        let value = [b"pco!\x02\0\x03\x07\x04\0\0", claim].concat();
        explode("a claim of pcodec", (".zarray", &document(Value::Null, config.clone())), "0", value);
    }
    let nested = zeros(bind(vec![pcodec, CodecConfig::Gzip { level: 9 }]));
    let filters = json!([config, {"id": "gzip", "level": 1}]);
    explode("pcodec in gzip", (".zarray", &document(filters, Value::Null)), "0", nested);
    let base64 = zeros(bind(vec![CodecConfig::Base64, CodecConfig::Gzip { level: 9 }]));
    let filters = json!([{"id": "base64"}, {"id": "gzip", "level": 1}]);
    explode("base64 in gzip", (".zarray", &document(filters, Value::Null)), "0", base64);
    let plain = zeros(bind(vec![CodecConfig::Gzip { level: 9 }]));
    for filter in [
        json!({"id": "packbits"}),
        json!({"id": "astype", "encode_dtype": "|u1", "decode_dtype": "<f8"}),
        json!({"id": "delta", "dtype": "<u8", "astype": "|u1"}),
        json!({"id": "shuffle", "elementsize": 2}),
        json!({"id": "crc32"}),
    ] {
        let name = format!("{filter} in gzip");
        let filters = json!([filter, {"id": "gzip", "level": 1}]);
        explode(&name, (".zarray", &document(filters, Value::Null)), "0", plain.clone());
    }
}

#[test]
fn headers_that_lie() {
    in_own_process!();
    let lz4 = v2(Value::Null, json!({"id": "lz4", "acceleration": 1}));
    for size in [u32::MAX, i32::MAX as u32, CHUNK as u32 + 1] {
        let value = [&size.to_le_bytes()[..], &[0; 40]].concat();
        explode("lz4 prefix", (".zarray", &lz4), "0", value);
    }
    let blosc = v2(Value::Null, json!({"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1}));
    for (nbytes, blocksize) in [(i32::MAX, 1 << 30), (-1, 1), (CHUNK as i32, i32::MAX), (CHUNK as i32, 0)] {
        let mut value = vec![2, 1, 1, 1];
        for n in [nbytes, blocksize, 64] {
            value.extend(n.to_le_bytes());
        }
        value.resize(64, 0xff);
        explode("blosc header", (".zarray", &blosc), "0", value);
    }
    // A zstd frame with a window of 2 GiB and a content of 1 GiB, all of it missing.
    let zstd = v2(Value::Null, json!({"id": "zstd", "level": 1}));
    for window in [0xa8, 0xf8] {
        let value = vec![0x28, 0xb5, 0x2f, 0xfd, 0x80, window, 0, 0, 0, 0x40, 0x03, 0, 0x10, 0xff];
        explode("zstd window", (".zarray", &zstd), "0", value);
    }
    // A .lzma header with a dictionary of 4 GiB, and one with the largest that is still tried.
    let lzma = v2(Value::Null, json!({"id": "lzma", "format": 2, "check": -1, "preset": 1, "filters": null}));
    for dict_size in [u32::MAX, 128 << 20] {
        let value = [&[0x5d][..], &dict_size.to_le_bytes(), &[0xff; 8], &[0; 32]].concat();
        explode("lzma dictionary", (".zarray", &lzma), "0", value);
    }
}

fn n5(compression: Value) -> Value {
    json!({"dimensions": [CHUNK], "blockSize": [CHUNK], "dataType": "uint8", "compression": compression})
}

fn n5_header(mode: u16, size: u32, n: Option<u32>) -> Vec<u8> {
    let mut header = [mode.to_be_bytes(), 1u16.to_be_bytes()].concat();
    header.extend(size.to_be_bytes());
    header.extend(n.into_iter().flat_map(u32::to_be_bytes));
    header
}

#[test]
fn n5_blocks() {
    in_own_process!();
    let document = "attributes.json";
    for compression in ["raw", "gzip", "bzip2", "xz", "lz4", "zstd", "blosc"] {
        let config = match compression {
            "blosc" => json!({"type": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1}),
            name => json!({"type": name}),
        };
        let config = n5(config);
        for size in [u32::MAX, CHUNK as u32 + 1] {
            let value = [n5_header(0, size, None), vec![0; 64]].concat();
            explode(&format!("{compression}: larger than the block size"), (document, &config), "0", value);
        }
        for n in [u32::MAX, i32::MAX as u32, CHUNK as u32 + 1] {
            let value = [n5_header(1, CHUNK as u32, Some(n)), vec![0; 64]].concat();
            explode(&format!("{compression}: mode 1, {n} elements"), (document, &config), "0", value);
        }
    }
    for (name, spec, config) in [
        ("gzip", codec::gzip(1), json!({"type": "gzip"})),
        ("bzip2", codec::CodecConfig::Bz2 { level: 9 }.into(), json!({"type": "bzip2"})),
        ("xz", codec::xz(1), json!({"type": "xz"})),
        ("zstd", codec::zstd(1), json!({"type": "zstd"})),
        ("lz4", CodecConfig::N5Lz4 { block_size: 32 << 20 }.into(), json!({"type": "lz4"})),
    ] {
        let value = [n5_header(0, CHUNK as u32, None), zeros(&[spec], INSIDE)].concat();
        explode(&format!("N5 {name}"), (document, &n5(config)), "0", value);
    }
    // The lz4 of Java: sub-blocks that state 2 GiB.
    for size in [u32::MAX, i32::MAX as u32, 1 << 30] {
        let mut value = [n5_header(0, CHUNK as u32, None), b"LZ4Block".to_vec(), vec![0x2f]].concat();
        value.extend(64u32.to_le_bytes());
        value.extend(size.to_le_bytes());
        value.resize(value.len() + 80, 0);
        explode("lz4 sub-block", (document, &n5(json!({"type": "lz4"}))), "0", value);
    }
}

/// A chunk of blosc: this header, then the start of its one block and a stream that is cut off.
fn blosc_claim(flags: u8, n: u32) -> Vec<u8> {
    let mut value = vec![2, 1, flags, 1];
    for n in [n, n, 64, 20, 40] {
        value.extend(n.to_le_bytes());
    }
    value.resize(64, 0x11);
    value
}

/// Blocks that state their own number of elements may have more than the block size: as many as
/// they really contain.
#[test]
fn n5_blocks_with_a_count_that_lies() {
    in_own_process!();
    let blosc = |cname: &str| json!({"type": "blosc", "cname": cname, "clevel": 5, "shuffle": 1});
    let claims = [
        ("raw", json!({"type": "raw"}), vec![0; 64]),
        ("gzip", json!({"type": "gzip"}), zeros(&[codec::gzip(1)], 1 << 10)),
        ("bzip2", json!({"type": "bzip2"}), zeros(&[codec::CodecConfig::Bz2 { level: 9 }.into()], 1 << 10)),
        ("xz", json!({"type": "xz"}), zeros(&[codec::xz(1)], 1 << 10)),
        ("zstd", json!({"type": "zstd"}), zeros(&[codec::zstd(1)], 1 << 10)),
        ("a bare block of lz4", json!({"type": "lz4"}), vec![0x11; 64]),
    ];
    for n in [CHUNK as u32 + 1, 32 << 20, 512 << 20] {
        let of_blosc = [("blosclz", 0x10), ("lz4", 0x30), ("snappy", 0x50), ("zlib", 0x70), ("zstd", 0x90)]
            .map(|(cname, flags)| (cname, blosc(cname), blosc_claim(flags, n)));
        for (name, config, payload) in claims.iter().cloned().chain(of_blosc) {
            let store = MemoryStore::new();
            store.set("attributes.json", n5(config).to_string()).expect("the key is valid");
            let value = [n5_header(1, CHUNK as u32, Some(n)), payload].concat();
            store.set("0", value).expect("the key is valid");
            let array = ndzarr::Array::<u8>::open(&store).expect("opens");
            let before = ALLOCATOR.current_usage();
            ALLOCATOR.reset_peak_usage();
            let result = array.n5_blocks().read(&[0]);
            let taken = ALLOCATOR.peak_usage() - before;
            let error = result.expect_err(name);
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{name}, {n}: {error:?}");
            assert!(taken <= CONSTANT, "{name}, {n}: {taken} bytes");
        }
    }
}

/// Only the value states the length of strings.
#[test]
fn texts_in_blosc_that_are_not_there() {
    in_own_process!();
    let document = json!({"zarr_format": 2, "shape": [4], "chunks": [4], "dtype": "|O", "order": "C", "fill_value": "",
        "filters": [{"id": "vlen-utf8"}], "compressor": {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1}});
    for flags in [0x10, 0x30, 0x50, 0x70, 0x90] {
        let store = MemoryStore::new();
        store.set(".zarray", document.to_string()).expect("the key is valid");
        store.set("0", blosc_claim(flags, 512 << 20)).expect("the key is valid");
        let array = ndzarr::Array::<String>::open(&store).expect("opens");
        let before = ALLOCATOR.current_usage();
        ALLOCATOR.reset_peak_usage();
        let result = array.read([0..4]);
        let taken = ALLOCATOR.peak_usage() - before;
        assert_eq!(result.expect_err("it is not there").kind(), ErrorKind::Corrupt);
        assert!(taken <= CONSTANT, "{flags:#x}: {taken} bytes");
    }
}

/// A shard of 16 inner chunks of 4 KiB with this index, and bytes that it can point to.
fn shard(entries: &[[u64; 2]; 16], inner: &Value) -> (Value, Vec<u8>) {
    let bytes = json!({"name": "bytes", "configuration": {"endian": "little"}});
    let document = json!({"zarr_format": 3, "node_type": "array", "shape": [CHUNK], "data_type": "uint8",
        "fill_value": 0, "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [CHUNK]}},
        "chunk_key_encoding": {"name": "default"}, "codecs": [{"name": "sharding_indexed", "configuration": {
            "chunk_shape": [CHUNK / 16], "codecs": [bytes, inner], "index_codecs": [bytes]}}]});
    let index = entries.iter().flatten().flat_map(|n| n.to_le_bytes());
    (document, vec![0x11; CHUNK].into_iter().chain(index).collect())
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
        explode(&format!("shard entry {entry:?}"), ("zarr.json", &document), "c/0", value);
    }
    // All of them the same bomb.
    let bomb = zeros(&[codec::gzip(9)], INSIDE);
    let (document, _) = shard(&[EMPTY; 16], &gzip);
    let entries = [[0, bomb.len() as u64]; 16];
    let index = entries.iter().flatten().flat_map(|n: &u64| n.to_le_bytes());
    let value: Vec<u8> = bomb.into_iter().chain(index).collect();
    explode("a shard of one bomb", ("zarr.json", &document), "c/0", value);
}

/// A raw chunk with a declared size of 4 GiB, of which one byte in every 16 KiB is wanted: a layer
/// of it is 2 GiB. A fourth of that on 32 bits.
#[test]
fn layers_of_a_raw_chunk_that_nobody_has() {
    in_own_process!();
    const ROWS: u64 = if cfg!(target_pointer_width = "64") { 1 << 17 } else { 1 << 15 };
    let (shape, n) = ([2, ROWS, 1 << 14], 2 * ROWS as usize);
    let document = json!({"zarr_format": 2, "shape": shape, "chunks": shape, "dtype": "|u1", "order": "C",
        "fill_value": 0, "filters": null, "compressor": null});
    let folder = tempfile::tempdir().expect("a folder");
    let memory = MemoryStore::new();
    fs::write(folder.path().join(".zarray"), document.to_string()).expect("a file");
    memory.set(".zarray", document.to_string()).expect("the key is valid");
    for storage in [Storage::from(&memory), Storage::from(FsStore::new(folder.path()))] {
        let array = AnyArray::open(&storage).expect("opens");
        let region = [0..2, 0..ROWS, 0..1];
        let before = ALLOCATOR.current_usage();
        ALLOCATOR.reset_peak_usage();
        assert_eq!(array.read_bytes(&region).expect("reads"), vec![0; n]);
        fs::write(folder.path().join("0.0.0"), [1; 100]).expect("a file");
        memory.set("0.0.0", vec![1; 100]).expect("the key is valid");
        let error = array.read_bytes(&region).expect_err("the chunk is too short");
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error:?}");
        let taken = ALLOCATOR.peak_usage().saturating_sub(before);
        assert!(taken <= n + CONSTANT, "{taken} bytes");
        fs::remove_file(folder.path().join("0.0.0")).expect("it is there");
    }
}

/// Documents that declare impossible sizes, over values that are nearly empty.
#[test]
fn declarations_alone_cost_nothing() {
    in_own_process!();
    let n: u64 = if cfg!(target_pointer_width = "64") { 1 << 38 } else { 1 << 30 };
    let document = json!({"zarr_format": 2, "shape": [n, n], "chunks": [n, 1], "dtype": "|u1", "order": "C",
        "fill_value": 0, "filters": null, "compressor": {"id": "gzip", "level": 1}});
    let store = MemoryStore::new();
    store.set(".zarray", document.to_string()).expect("the key is valid");
    store.set("0.0", zeros(&[codec::gzip(9)], 1 << 20)).expect("the key is valid");
    let array = AnyArray::open(&store).expect("opens");
    let before = ALLOCATOR.current_usage();
    ALLOCATOR.reset_peak_usage();
    let error = array.read_bytes(&[0..2, 0..1]).expect_err("the chunk is too short");
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error:?}");
    // The existing data have 1 MiB.
    let taken = ALLOCATOR.peak_usage().saturating_sub(before);
    assert!(taken <= 8 << 20, "{taken} bytes");
    // And a missing chunk only needs the wanted part.
    assert_eq!(array.read_bytes(&[n - 2..n, n - 1..n]).expect("reads"), [0, 0]);
    let error = array.read_bytes(&[0..n, 0..n]).expect_err("no machine has it");
    assert_eq!(error.kind(), ErrorKind::OutOfMemory, "{error:?}");
}

mod long {
    use super::*;

    #[test]
    #[ignore = "long; `.ci/run all` runs it"]
    fn every_compressor() {
        in_own_process!();
        let lzma =
            |format| json!({"id": "lzma", "format": format, "check": -1, "preset": 1, "filters": null});
        let alone = CodecConfig::Lzma(ndzarr_model::LzmaConfig {
            format: ndzarr_model::LzmaFormat::Alone,
            check: -1,
            preset: Some(1),
            filters: None,
        });
        let compressors = [
            ("gzip", codec::gzip(1), json!({"id": "gzip", "level": 1})),
            ("zlib", codec::zlib(1), json!({"id": "zlib", "level": 1})),
            ("zstd", codec::zstd(1), json!({"id": "zstd", "level": 1})),
            ("bz2", codec::CodecConfig::Bz2 { level: 9 }.into(), json!({"id": "bz2", "level": 9})),
            ("xz", codec::xz(1), lzma(1)),
            ("lzma alone", alone.into(), lzma(2)),
            ("lz4", codec::lz4(), json!({"id": "lz4", "acceleration": 1})),
            (
                "blosc",
                codec::blosc(BloscCname::Lz4, 5, BloscShuffle::Byte),
                json!({"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1}),
            ),
        ];
        for (name, spec, config) in compressors {
            let value = zeros(std::slice::from_ref(&spec), INSIDE);
            explode(name, (".zarray", &v2(Value::Null, config.clone())), "0", value.clone());
            // A bomb in a bomb: the data between two codecs are limited too.
            let nested = zeros(&[spec.clone(), codec::gzip(9)], INSIDE);
            let filters = json!([config, {"id": "gzip", "level": 1}]);
            explode(&format!("{name} in gzip"), (".zarray", &v2(filters, Value::Null)), "0", nested);
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
