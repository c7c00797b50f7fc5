//! Stored values that need far more memory than their chunk has: each is an error, within the
//! declared chunk and a constant. Rust's allocations are counted; the memory of codecs in C shows
//! in the peak size of the process, if the system reports it.

mod declared_sizes;
mod n5_blocks;

use std::fs;

use ndzarr::CodecRegistry;
use ndzarr::Endian;
use ndzarr::codec::Workspace;
use ndzarr::codec::{CodecConfig, CodecSpec};
use ndzarr::{AnyArray, DataType, ErrorKind, FillValue, MemoryStore};
use ndzarr_codec::CodecChain;
use ndzarr_testkit::in_own_process;
use serde_json::{Value, json};

use crate::with_peak;

/// Size of the chunk that every document here declares, in bytes.
pub(crate) const CHUNK: usize = 64 << 10;

/// Additional memory of a read: contexts of codecs, buffers of a few times the chunk.
pub(crate) const CONSTANT: usize = 4 << 20;

/// Memory of codecs in C: their contexts have up to 12 MiB each, and the allocator keeps what was
/// freed.
const CONSTANT_RESIDENT: u64 = 48 << 20;

/// The content of a bomb.
pub(crate) const INSIDE: usize = 64 << 20;

/// Reads one chunk of a stored value, which must be an error within the bounds.
pub(crate) fn explode(name: &str, document: (&str, &Value), key: &str, value: Vec<u8>) {
    let store = MemoryStore::new();
    store
        .set(document.0, document.1.to_string())
        .expect("the key is valid");
    store.set(key, value).expect("the key is valid");
    let array = AnyArray::open(&store).unwrap_or_else(|error| panic!("{name}: {error:?}"));
    let chunk: Vec<_> = array.spec().unit_shape.iter().map(|&n| 0..n).collect();
    // A context created at the first use may stay.
    for _ in 0..2 {
        let resident = Resident::reset();
        let (result, taken) = with_peak(|| array.read_bytes(&chunk));
        let error = result.map(|bytes| bytes.len()).expect_err(name);
        let is_other_count = error.to_string().contains("a varlength block of");
        let kind = if is_other_count {
            ErrorKind::Unsupported
        } else {
            ErrorKind::Corrupt
        };
        assert_eq!(error.kind(), kind, "{name}: {error:?}");
        assert_eq!(error.key(), Some(key), "{name}: {error:?}");
        assert!(error.codec().is_some(), "{name}: {error:?}");
        // The result, the decoded chunk, and the data between two codecs.
        assert!(taken <= 6 * CHUNK + CONSTANT, "{name}: {taken} bytes");
        let grown = resident.grown();
        assert!(
            grown <= CONSTANT_RESIDENT,
            "{name}: the process grew by {grown} bytes"
        );
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
        self.0
            .and_then(|before| Some(Self::peak()?.saturating_sub(before)))
            .unwrap_or(0)
    }

    fn peak() -> Option<u64> {
        let status = fs::read_to_string("/proc/self/status").ok()?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))?;
        Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
    }
}

/// Zeros, encoded.
pub(crate) fn zeros(codecs: &[CodecSpec], n: usize) -> Vec<u8> {
    let bytes = CodecSpec::from(CodecConfig::Bytes {
        endian: Some(Endian::Little),
    });
    let specs: Vec<CodecSpec> = [bytes].into_iter().chain(codecs.iter().cloned()).collect();
    let fill = FillValue::defined([0]);
    let chain = CodecChain::bind(
        &specs,
        &DataType::UInt { bits: 8 },
        &fill,
        1,
        &CodecRegistry::new(),
    );
    let mut value = Vec::new();
    let chain = chain.expect("the chain is valid");
    chain
        .encode(&vec![0; n], &[n as u64], &mut Workspace::new(), &mut value)
        .expect("zeros can be encoded");
    value
}

pub(crate) fn v2(filters: Value, compressor: Value) -> Value {
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
        let bytes = CodecConfig::Bytes {
            endian: Some(Endian::Little),
        };
        let specs: Vec<CodecSpec> = [bytes]
            .into_iter()
            .chain(codecs)
            .map(CodecSpec::from)
            .collect();
        CodecChain::bind(
            &specs,
            &u16,
            &FillValue::defined([0; 2]),
            1,
            &CodecRegistry::new(),
        )
        .expect("it binds")
    };
    let zeros = |chain: CodecChain| {
        let mut value = Vec::new();
        let n = (INSIDE / 2) as u64;
        chain
            .encode(&vec![0; INSIDE], &[n], &mut Workspace::new(), &mut value)
            .expect("zeros are encoded");
        value
    };
    let document = |filters: Value, compressor: Value| {
        json!({"zarr_format": 2, "shape": [CHUNK / 2], "chunks": [CHUNK / 2], "dtype": "<u2", "order": "C",
            "fill_value": 0, "filters": filters, "compressor": compressor})
    };
    let pcodec = CodecConfig::Pcodec(ndzarr_model::PcodecConfig::default());
    let value = zeros(bind(vec![pcodec.clone()]));
    let config = json!({"id": "pcodec", "level": 8});
    explode(
        "pcodec",
        (".zarray", &document(Value::Null, config.clone())),
        "0",
        value.clone(),
    );
    // A dictionary of 2^25 - 1 numbers, and a window of 2^24, claimed by sixteen bytes (pco's
    // format.md).
    for claim in [&b"\xf4\xff\xff\x1f\0\0\0\0"[..], b"\x20\x17\0\0\0\0\0\0"] {
        let value = [b"pco!\x02\0\x03\x07\x04\0\0", claim].concat();
        explode(
            "a claim of pcodec",
            (".zarray", &document(Value::Null, config.clone())),
            "0",
            value,
        );
    }
    let nested = zeros(bind(vec![pcodec, CodecConfig::Gzip { level: 9 }]));
    let filters = json!([config, {"id": "gzip", "level": 1}]);
    explode(
        "pcodec in gzip",
        (".zarray", &document(filters, Value::Null)),
        "0",
        nested,
    );
    let base64 = zeros(bind(vec![
        CodecConfig::Base64,
        CodecConfig::Gzip { level: 9 },
    ]));
    let filters = json!([{"id": "base64"}, {"id": "gzip", "level": 1}]);
    explode(
        "base64 in gzip",
        (".zarray", &document(filters, Value::Null)),
        "0",
        base64,
    );
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
        explode(
            &name,
            (".zarray", &document(filters, Value::Null)),
            "0",
            plain.clone(),
        );
    }
}

#[test]
fn codec_headers_with_false_sizes() {
    in_own_process!();
    let lz4 = v2(Value::Null, json!({"id": "lz4", "acceleration": 1}));
    for size in [u32::MAX, i32::MAX as u32, CHUNK as u32 + 1] {
        let value = [&size.to_le_bytes()[..], &[0; 40]].concat();
        explode("lz4 prefix", (".zarray", &lz4), "0", value);
    }
    let blosc = v2(
        Value::Null,
        json!({"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1}),
    );
    for (nbytes, blocksize) in [
        (i32::MAX, 1 << 30),
        (-1, 1),
        (CHUNK as i32, i32::MAX),
        (CHUNK as i32, 0),
    ] {
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
        let value = vec![
            0x28, 0xb5, 0x2f, 0xfd, 0x80, window, 0, 0, 0, 0x40, 0x03, 0, 0x10, 0xff,
        ];
        explode("zstd window", (".zarray", &zstd), "0", value);
    }
    // A .lzma header with a dictionary of 4 GiB, and one with the largest that is still tried.
    let lzma = v2(
        Value::Null,
        json!({"id": "lzma", "format": 2, "check": -1, "preset": 1, "filters": null}),
    );
    for dict_size in [u32::MAX, 128 << 20] {
        let value = [&[0x5d][..], &dict_size.to_le_bytes(), &[0xff; 8], &[0; 32]].concat();
        explode("lzma dictionary", (".zarray", &lzma), "0", value);
    }
}
