//! Blocks of N5 and headers of blosc that claim far more than their chunk has.

use ndzarr::codec::CodecConfig;
use ndzarr::{ErrorKind, MemoryStore, codec};
use ndzarr_testkit::in_own_process;
use serde_json::{Value, json};

use crate::bombs::{CHUNK, CONSTANT, INSIDE, explode, zeros};
use crate::with_peak;

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
            explode(
                &format!("{compression}: larger than the block size"),
                (document, &config),
                "0",
                value,
            );
        }
        for n in [u32::MAX, i32::MAX as u32, CHUNK as u32 + 1] {
            let value = [n5_header(1, CHUNK as u32, Some(n)), vec![0; 64]].concat();
            explode(
                &format!("{compression}: mode 1, {n} elements"),
                (document, &config),
                "0",
                value,
            );
        }
    }
    for (name, spec, config) in [
        ("gzip", codec::gzip(1), json!({"type": "gzip"})),
        (
            "bzip2",
            codec::CodecConfig::Bz2 { level: 9 }.into(),
            json!({"type": "bzip2"}),
        ),
        ("xz", codec::xz(1), json!({"type": "xz"})),
        ("zstd", codec::zstd(1), json!({"type": "zstd"})),
        (
            "lz4",
            CodecConfig::N5Lz4 {
                block_size: 32 << 20,
            }
            .into(),
            json!({"type": "lz4"}),
        ),
    ] {
        let value = [n5_header(0, CHUNK as u32, None), zeros(&[spec], INSIDE)].concat();
        explode(&format!("N5 {name}"), (document, &n5(config)), "0", value);
    }
    // The lz4 of Java: sub-blocks that state 2 GiB.
    for size in [u32::MAX, i32::MAX as u32, 1 << 30] {
        let mut value = [
            n5_header(0, CHUNK as u32, None),
            b"LZ4Block".to_vec(),
            vec![0x2f],
        ]
        .concat();
        value.extend(64u32.to_le_bytes());
        value.extend(size.to_le_bytes());
        value.resize(value.len() + 80, 0);
        explode(
            "lz4 sub-block",
            (document, &n5(json!({"type": "lz4"}))),
            "0",
            value,
        );
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
fn n5_blocks_with_a_false_count() {
    in_own_process!();
    let blosc = |cname: &str| json!({"type": "blosc", "cname": cname, "clevel": 5, "shuffle": 1});
    let claims = [
        ("raw", json!({"type": "raw"}), vec![0; 64]),
        (
            "gzip",
            json!({"type": "gzip"}),
            zeros(&[codec::gzip(1)], 1 << 10),
        ),
        (
            "bzip2",
            json!({"type": "bzip2"}),
            zeros(&[codec::CodecConfig::Bz2 { level: 9 }.into()], 1 << 10),
        ),
        ("xz", json!({"type": "xz"}), zeros(&[codec::xz(1)], 1 << 10)),
        (
            "zstd",
            json!({"type": "zstd"}),
            zeros(&[codec::zstd(1)], 1 << 10),
        ),
        (
            "a bare block of lz4",
            json!({"type": "lz4"}),
            vec![0x11; 64],
        ),
    ];
    for n in [CHUNK as u32 + 1, 32 << 20, 512 << 20] {
        let of_blosc = [
            ("blosclz", 0x10),
            ("lz4", 0x30),
            ("snappy", 0x50),
            ("zlib", 0x70),
            ("zstd", 0x90),
        ]
        .map(|(cname, flags)| (cname, blosc(cname), blosc_claim(flags, n)));
        for (name, config, payload) in claims.iter().cloned().chain(of_blosc) {
            let store = MemoryStore::new();
            store
                .set("attributes.json", n5(config).to_string())
                .expect("the key is valid");
            let value = [n5_header(1, CHUNK as u32, Some(n)), payload].concat();
            store.set("0", value).expect("the key is valid");
            let array = ndzarr::Array::<u8>::open(&store).expect("opens");
            let (result, taken) = with_peak(|| array.n5_blocks().read(&[0]));
            let error = result.expect_err(name);
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{name}, {n}: {error:?}");
            assert!(taken <= CONSTANT, "{name}, {n}: {taken} bytes");
        }
    }
}

/// Only the value states the length of strings.
#[test]
fn texts_that_only_a_blosc_header_claims() {
    in_own_process!();
    let document = json!({"zarr_format": 2, "shape": [4], "chunks": [4], "dtype": "|O", "order": "C", "fill_value": "",
        "filters": [{"id": "vlen-utf8"}], "compressor": {"id": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1}});
    for flags in [0x10, 0x30, 0x50, 0x70, 0x90] {
        let store = MemoryStore::new();
        store
            .set(".zarray", document.to_string())
            .expect("the key is valid");
        store
            .set("0", blosc_claim(flags, 512 << 20))
            .expect("the key is valid");
        let array = ndzarr::Array::<String>::open(&store).expect("opens");
        let (result, taken) = with_peak(|| array.read([0..4]));
        assert_eq!(
            result.expect_err("the texts are missing").kind(),
            ErrorKind::Corrupt
        );
        assert!(taken <= CONSTANT, "{flags:#x}: {taken} bytes");
    }
}
