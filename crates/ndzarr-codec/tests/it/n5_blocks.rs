//! Tests N5 blocks: those that five peers wrote, and unusual ones.

use std::collections::HashMap;

use ndzarr_codec::{CodecChain, CodecError, Workspace};
use ndzarr_model::{
    BloscCname, BloscConfig, BloscShuffle, CodecConfig, CodecSpec, DataType, EdgeBlocks,
    LzmaConfig, LzmaFormat, N5BlockConfig,
};
use serde_json::Value;

use crate::it::support::*;

fn n5(compression: Option<CodecConfig>) -> CodecConfig {
    let compression = compression.map(CodecSpec::from);
    CodecConfig::N5Block(Box::new(N5BlockConfig {
        compression,
        edge_blocks: EdgeBlocks::default(),
    }))
}

const ZLIB: CodecConfig = CodecConfig::N5Gzip {
    level: -1,
    use_zlib: true,
};
const LZ4: CodecConfig = CodecConfig::N5Lz4 { block_size: 65_536 };

/// The compression in an attributes.json.
fn compression(attributes: &Value) -> Option<CodecConfig> {
    let compression = &attributes["compression"];
    Some(match compression["type"].as_str().expect("a type") {
        "raw" => return None,
        "gzip" => CodecConfig::N5Gzip {
            level: -1,
            use_zlib: compression["useZlib"].as_bool().unwrap_or(false),
        },
        "bzip2" => CodecConfig::Bz2 { level: 9 },
        "xz" => CodecConfig::Lzma(LzmaConfig {
            format: LzmaFormat::Xz,
            check: -1,
            preset: Some(6),
            filters: None,
        }),
        "lz4" => CodecConfig::N5Lz4 {
            block_size: compression["blockSize"].as_u64().unwrap_or(0) as u32,
        },
        "zstd" => CodecConfig::Zstd {
            level: 3,
            checksum: false,
        },
        "blosc" => CodecConfig::Blosc(BloscConfig {
            cname: BloscCname::BloscLz,
            clevel: 6,
            shuffle: BloscShuffle::None,
            typesize: Some(1),
            blocksize: 0,
        }),
        other => panic!("unknown compression {other}"),
    })
}

fn numbers(value: &Value) -> Vec<u64> {
    value
        .as_array()
        .expect("a list")
        .iter()
        .map(|n| n.as_u64().expect("a number"))
        .collect()
}

#[test]
fn blocks_of_five_peers_decode() {
    let mut attributes = HashMap::new();
    let mut n_blocks = 0;
    for line in include_str!("n5_vectors.tsv")
        .lines()
        .filter(|line| !line.starts_with('#'))
    {
        let [writer, path, kind, content] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        if writer == "java-extra" || path.starts_with("rank0") {
            // These are tested one by one below.
            continue;
        }
        if kind == "json" {
            let dataset = path
                .trim_end_matches("attributes.json")
                .trim_end_matches('/');
            let json: Value = serde_json::from_str(content).expect("json");
            attributes.insert((writer, dataset.to_owned()), json);
            continue;
        }
        let parts: Vec<&str> = path.split('/').collect();
        let first = parts
            .iter()
            .position(|part| part.parse::<u64>().is_ok())
            .expect("a grid position");
        let attributes = &attributes[&(writer, parts[..first].join("/"))];
        let at: Vec<u64> = parts[first..]
            .iter()
            .map(|part| part.parse().expect("a number"))
            .collect();
        check_common_block(attributes, &at, &hex(content), &format!("{writer} {path}"));
        n_blocks += 1;
    }
    assert_eq!(n_blocks, 132);
}

/// A block of the array that all peers wrote: uint16, 5x4, value 1+x+5y.
fn check_common_block(attributes: &Value, at: &[u64], block: &[u8], what: &str) {
    assert_eq!(numbers(&attributes["dimensions"]), [5, 4]);
    assert_eq!(numbers(&attributes["blockSize"]), [3, 2]);
    // The stored axes are the reversed ones: y, x. And with a transpose, N5's own order: x, y.
    for own_order in [false, true] {
        let codec = n5(compression(attributes));
        let configs = if own_order {
            vec![transpose(&[1, 0]), codec]
        } else {
            vec![codec]
        };
        let shape = if own_order { [3, 2] } else { [2, 3] };
        let (bytes, extent) = decode(&bind(&configs, &U16, 2), block, &shape).expect(what);
        let values = bytes.as_chunks::<2>().0;
        for (index, value) in indices(&extent).iter().zip(values) {
            let [a, b] = [index[0] as u64, index[1] as u64];
            let (x, y) = if own_order { (a, b) } else { (b, a) };
            let x = at[0] * 3 + x;
            let y = at[1] * 2 + y;
            let inside = x < 5 && y < 4;
            let expected = if inside { 1 + x + 5 * y } else { 0 };
            assert_eq!(
                u64::from(u16::from_ne_bytes(*value)),
                expected,
                "{what} at {x}, {y}"
            );
        }
        // Truncated or padded, it has all elements inside the array.
        let inside: Vec<usize> = if own_order {
            vec![
                (5 - at[0] * 3).min(3) as usize,
                (4 - at[1] * 2).min(2) as usize,
            ]
        } else {
            vec![
                (4 - at[1] * 2).min(2) as usize,
                (5 - at[0] * 3).min(3) as usize,
            ]
        };
        assert!(
            extent
                .iter()
                .zip(&inside)
                .all(|(found, inside)| found >= inside),
            "{what}: {extent:?}"
        );
    }
}

/// Checks that a block contains these elements, in N5's own order of dimensions.
fn check_block(
    block: &str,
    codec: Option<CodecConfig>,
    data_type: DataType,
    size: &[u64],
    native: &[u8],
) {
    let reversed: Vec<u64> = size.iter().rev().copied().collect();
    let chain = bind(&[n5(codec)], &data_type, size.len());
    let (bytes, extent) = decode(&chain, &hex(block), &reversed).expect(block);
    assert_eq!(bytes, native, "{block}");
    assert_eq!(
        extent.iter().product::<usize>() * data_type.elem_size().expect("fixed"),
        native.len()
    );
}

#[test]
fn vectors_of_section_7() {
    let s = "00000003000000010000000200000003";
    let six = u16s(1..=6);
    let xz = LzmaConfig {
        format: LzmaFormat::Xz,
        check: -1,
        preset: Some(6),
        filters: None,
    };
    for (payload, codec) in [
        ("000100020003000400050006", None),
        (
            "425a6839314159265359023e0dd200000040007f002000310c010d31a87394337c5dc914e1424008f83748",
            Some(CodecConfig::Bz2 { level: 9 }),
        ),
        (
            "1f8b08000000000000006360646062606660616065600300aaea6dbf0c000000",
            Some(ZLIB),
        ),
        ("785e636064606260666061606560030000670016", Some(ZLIB)),
        (
            "fd377a585a000004e6d6b4460200210116000000742fe5a301000b000100020003000400050006000d0309ca34ec15a70001\
             240ca618d8d81fb6f37d010000000004595a",
            Some(CodecConfig::Lzma(xz)),
        ),
        (
            "4c5a34426c6f636b160c0000000c00000090258b06000100020003000400050006\
             4c5a34426c6f636b16000000000000000000000000",
            Some(LZ4),
        ),
        (
            "04224d186440a70c000080000100020003000400050006 00000000 41373308",
            Some(LZ4),
        ),
        (
            "020196020c0000000c0000001c000000 000100020003000400050006",
            compression(&serde_json::json!({"compression": {"type": "blosc"}})),
        ),
        ("28b52ffd0058610000000100020003000400050006", Some(ZSTD)),
    ] {
        check_block(&format!("{s}{payload}"), codec, U16, &[1, 2, 3], &six);
    }
    // In N5's own order it is [[[1, 3, 5], [2, 4, 6]]].
    let chain = bind(&[transpose(&[2, 1, 0]), n5(None)], &U16, 3);
    let block = hex(&format!("{s}000100020003000400050006"));
    assert_eq!(
        decode_full(&chain, &block, &[1, 2, 3]).expect("it decodes"),
        u16s([1, 3, 5, 2, 4, 6])
    );
    assert_eq!(
        encode(&chain, &u16s([1, 3, 5, 2, 4, 6]), &[1, 2, 3]).expect("it encodes"),
        block
    );
    // java-extra.
    let floats: Vec<u8> = [1.5f32, -2.0]
        .iter()
        .flat_map(|value| value.to_ne_bytes())
        .collect();
    check_block(
        "0000000100000002 3fc00000c0000000",
        None,
        DataType::Float { bits: 32 },
        &[2],
        &floats,
    );
    let doubles: Vec<u8> = [1.5f64, -2.0]
        .iter()
        .flat_map(|value| value.to_ne_bytes())
        .collect();
    let block = "0000000100000002 3ff8000000000000c000000000000000";
    check_block(block, None, DataType::Float { bits: 64 }, &[2], &doubles);
    let block = "0000000100000001fffffffffffffffe";
    check_block(
        block,
        None,
        DataType::Int { bits: 64 },
        &[1],
        &(-2i64).to_ne_bytes(),
    );
    // No dimensions, and no elements.
    check_block(
        "00000000002a",
        None,
        DataType::Int { bits: 16 },
        &[],
        &42i16.to_ne_bytes(),
    );
    let empty = "000000020000000000000000 1f8b08000000000000ff03000000000000000000";
    check_block(empty, Some(ZLIB), U8, &[2, 2], &[]);
    // Java before 1.2: without a mode, and with 32 bits for the number of dimensions, the bytes are
    // the same; truncated edges.
    check_block("000000020000000200000001 0303", None, U8, &[5, 4], &[3, 3]);
    check_block(
        "00000002000000140000000a 4c5a34426c6f636b 26 37000000 c8000000 b5a9eb08 1f000100001f010100001f020100001f030100\
         001f040100001f050100001f060100001f070100001f080100001a0901005009090909 09 4c5a34426c6f636b16000000000000000000000000",
        Some(LZ4),
        U8,
        &[20, 10],
        &(0..200).map(|i| i / 20).collect::<Vec<u8>>(),
    );
}

#[test]
fn smaller_blocks_have_a_smaller_extent() {
    // tensorstore's partial block: [[[1, 3, 0], [2, 4, 0]]] in a block size of [1, 2, 3].
    let chain = bind(&[transpose(&[2, 1, 0]), n5(None)], &U16, 3);
    let block = hex("00000003000000010000000200000002 0001000200030004");
    let (bytes, extent) = decode(&chain, &block, &[1, 2, 3]).expect("it decodes");
    assert_eq!((bytes, extent), (u16s([1, 3, 2, 4]), vec![1, 2, 2]));
    // A size of 0 has no elements.
    let (bytes, extent) =
        decode(&chain, &hex("00000003000000010000000000000002"), &[1, 2, 3]).expect("it decodes");
    assert_eq!((bytes.len(), extent), (0, vec![1, 0, 2]));
}

#[test]
fn odd_blocks() {
    // Section 4, [rec]; the first six are tensorstore's tests.
    let plain = bind(&[n5(None)], &U16, 2);
    let packed = bind(&[n5(Some(ZLIB))], &U16, 2);
    let refused = |chain: &CodecChain, block: &str, part: &str| {
        let error = decode(chain, &hex(block), &[2, 3]).expect_err(block);
        assert!(
            matches!(
                &error,
                CodecError::Corrupt { .. } | CodecError::OtherCount { .. }
            ) && error.to_string().contains(part),
            "{block}: {error}"
        );
    };
    let good = "0000000200000003 00000002 000100020003000400050006";
    assert_eq!(
        decode_full(&plain, &hex(good), &[2, 3]).expect("it decodes"),
        u16s(1..=6)
    );
    for (block, part) in [
        (
            "0000000200000003 00000002 0001000200030004000500",
            "11 bytes",
        ),
        (
            "0000000200000003 00000002 00010002000300040005000600",
            "13 bytes",
        ),
        ("000000020000", "shorter than its header"),
        ("", "shorter than its header"),
        ("0002 00000003 090807", "mode 2"),
        (
            "0003000200000003 00000002 000100020003000400050006",
            "mode 3",
        ),
        (
            "ffff000200000003 00000002 000100020003000400050006",
            "mode 65535",
        ),
        (
            "0000000300000003 00000002 00000001 000100020003000400050006",
            "3 dimensions",
        ),
        ("0000000100000006 000100020003000400050006", "1 dimensions"),
        ("0000ffff00000003 00000002", "65535 dimensions"),
        (
            "0000000200000004 00000002 00010002000300040005000600070008",
            "size of 4",
        ),
        (
            "0000000200000003 00000003 000100020003000400050006000700080009",
            "size of 3",
        ),
        (
            "00000002ffffffff 00000002 000100020003000400050006",
            "size of 4294967295",
        ),
        (
            "0001000200000003 00000002 00000003 000100020003",
            "3 elements",
        ),
        (
            "0001000200000003 00000002 ffffffff 000100020003",
            "4294967295 elements",
        ),
        ("0001000200000003 00000002 0000", "shorter than its header"),
    ] {
        refused(&plain, block, part);
    }
    // A full varlength block reads like one of mode 0.
    let full = "0001000200000003 00000002 00000006 000100020003000400050006";
    assert_eq!(
        decode_full(&plain, &hex(full), &[2, 3]).expect("it decodes"),
        u16s(1..=6)
    );
    // Compressed payloads that are longer or shorter than the header states.
    let zlib = |values: std::ops::RangeInclusive<u16>| {
        let bytes: Vec<u8> = values.flat_map(u16::to_be_bytes).collect();
        let chain = bind(&[PLAIN, CodecConfig::Zlib { level: 1 }], &U8, 1);
        encode(&chain, &bytes, &[bytes.len() as u64]).expect("it encodes")
    };
    let header = hex("0000000200000003 00000002");
    let with = |payload: Vec<u8>| [header.clone(), payload].concat();
    assert_eq!(
        decode_full(&packed, &with(zlib(1..=6)), &[2, 3]).expect("it decodes"),
        u16s(1..=6)
    );
    for values in [1..=5, 1..=7, 1..=6000] {
        decode(&packed, &with(zlib(values)), &[2, 3]).expect_err("another length");
    }
    // z5 fills missing elements with zeros; ndzarr does not.
    decode(&packed, &header, &[2, 3]).expect_err("no payload");
}

#[test]
fn blocks_as_they_are_written() {
    let chain = bind(&[n5(None)], &U16, 2);
    let block = "000000020000000300000002 000100020003000600070008";
    check(&chain, &u16s([1, 2, 3, 6, 7, 8]), &[2, 3], block);
    // A truncated edge is encoded as the smaller array that it is.
    assert!(chain.truncates());
    check(
        &chain,
        &u16s([14, 15, 19, 20]),
        &[2, 2],
        "000000020000000200000002 000e000f00130014",
    );
    let padded = N5BlockConfig {
        compression: None,
        edge_blocks: EdgeBlocks::Padded,
    };
    assert!(!bind(&[CodecConfig::N5Block(Box::new(padded))], &U16, 2).truncates());
    check(
        &bind(&[n5(None)], &DataType::Int { bits: 16 }, 0),
        &42i16.to_ne_bytes(),
        &[],
        "00000000002a",
    );
    for codec in [ZLIB, LZ4, ZSTD, CodecConfig::Bz2 { level: 9 }] {
        let chain = bind(&[transpose(&[1, 0]), n5(Some(codec))], &U16, 2);
        let value = encode(&chain, &u16s(1..=6), &[3, 2]).expect("it encodes");
        assert!(value.starts_with(&hex("000000020000000300000002")));
        assert_eq!(
            decode_full(&chain, &value, &[3, 2]).expect("it decodes"),
            u16s(1..=6)
        );
        for len in 0..value.len() {
            decode(&chain, &value[..len], &[3, 2]).expect_err("it is not whole");
        }
    }
}

#[test]
fn nothing_goes_around_an_n5_block() {
    let error = try_bind(&[n5(None), GZIP], &U16, &[0, 0], 2)
        .expect_err("N5 has nothing behind the header");
    assert!(matches!(error, CodecError::Config { .. }));
    // Blocks larger than Java can read.
    let chain = bind(&[n5(None)], &U8, 2);
    let error = chain
        .encode(&[], &[0, 1 << 31], &mut Workspace::new(), &mut Vec::new())
        .expect_err("too long");
    assert!(matches!(error, CodecError::Encode { .. }), "{error}");
}

#[test]
fn blocks_of_any_number_of_elements() {
    // java-extra var/0/0 and var32/0/1: 3 elements in a block of 5x2.
    let mut workspace = Workspace::new();
    let u8s = bind(&[n5(None)], &U8, 2);
    let u32s = bind(&[n5(None)], &DataType::UInt { bits: 32 }, 2);
    let bytes = hex("00010002000000050000000200000003 010203");
    let ints = hex("00010002000000050000000200000003 000000010000000200000003");
    let native: Vec<u8> = (1..=3u32).flat_map(u32::to_ne_bytes).collect();
    for (chain, block, elements) in [(&u8s, &bytes, &[1, 2, 3][..]), (&u32s, &ints, &native)] {
        let (size, decoded) = chain
            .decode_n5_block(block, &[2, 5], &mut workspace)
            .expect("it decodes");
        assert_eq!((size, &decoded[..]), (vec![2, 5], elements));
        let mut out = Vec::new();
        chain
            .encode_n5_block(elements, &[2, 5], &mut workspace, &mut out)
            .expect("it encodes");
        assert_eq!(&out, block);
        // It is not a part of an array.
        let error = decode(chain, block, &[2, 5]).expect_err("3 elements for 10 places");
        assert!(matches!(error, CodecError::OtherCount { .. }), "{error}");
        for len in 0..block.len() {
            chain
                .decode_n5_block(&block[..len], &[2, 5], &mut workspace)
                .expect_err("it is not whole");
        }
    }
    // The size is given over the logical axes.
    let own_order = bind(&[transpose(&[1, 0]), n5(None)], &U8, 2);
    let (size, _) = own_order
        .decode_n5_block(&bytes, &[5, 2], &mut workspace)
        .expect("it decodes");
    assert_eq!(size, [5, 2]);
    // A false number of elements does not allocate memory.
    for stated in ["ffffffff", "7fffffff", "00000004"] {
        let block = hex(&format!("000100020000000500000002{stated} 010203"));
        u8s.decode_n5_block(&block, &[2, 5], &mut workspace)
            .expect_err("there are three");
        let chain = bind(&[n5(Some(ZLIB))], &U8, 2);
        chain
            .decode_n5_block(&block, &[2, 5], &mut workspace)
            .expect_err("there is no zlib stream");
    }
    let half = u32s.encode_n5_block(&[1, 2, 3], &[2, 5], &mut workspace, &mut Vec::new());
    half.expect_err("no whole element");
    u8s.encode_n5_block(&[1], &[2], &mut workspace, &mut Vec::new())
        .expect_err("one axis");
    bind(&[PLAIN], &U8, 2)
        .decode_n5_block(&bytes, &[2, 5], &mut workspace)
        .expect_err("no block");
    // Only by these calls: through the others a block must be a whole array.
    u8s.encode_stored(&mut [1, 2, 3], &[2, 5], &mut workspace, &mut Vec::new())
        .expect_err("3 for 10");
}
