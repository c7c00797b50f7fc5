//! Tests the formats of lzma.

use super::vectors::{check, refuse};
use super::*;

#[test]
fn xz() {
    let xz = lzma(LzmaFormat::Xz, &[]);
    let auto = lzma(LzmaFormat::Auto, &[]);
    // Python's lzma.compress(b"aaaa", check=0, 1, 4, 10).
    let checked = "fd377a585a000004e6d6b4460200210110000000a8708e860100036161616100a1356e989877ad1c00011c046f2c9cc11fb6f37d\
        010000000004595a";
    for chunk in [
        "fd377a585a000000ff12d9410200210110000000a8708e8601000361616161000001140467a6450906729e7a010000000000595a",
        "fd377a585a0000016922de360200210110000000a8708e86010003616161610045e598ad000118046be9f0a59042990d01000000\
        0001595a",
        checked,
        "fd377a585a00000ae1fb0ca10200210110000000a8708e86010003616161610061be55a8e2f6b4e172338bddf184d6dbee29c988\
        53e0a0485ecee7f27b9af0b400013404c582c19c189b4b9a01000000000a595a",
    ] {
        check(&xz, chunk, b"aaaa");
        check(&auto, chunk, b"aaaa");
    }
    // Consecutive streams, with padding of a multiple of 4 bytes between and after them.
    check(&xz, &format!("{checked}{checked}"), b"aaaaaaaa");
    check(
        &xz,
        &format!("{checked}00000000{checked}00000000"),
        b"aaaaaaaa",
    );
    refuse(&xz, &format!("{checked}0000"), 4);
    refuse(&xz, &format!("{checked}01"), 4);
    // The stream names its filters itself: delta and x86 (Python), whatever the configuration.
    let sixteen: Vec<u8> = (0..16).collect();
    for config in [
        &xz,
        &lzma(LzmaFormat::Xz, &[(3, &[("dist", 7)]), (LZMA2, &[])]),
    ] {
        check(
            config,
            "fd377a585a000004e6d6b44602010301002101104c85a707e0000f00075d00000093558600000000565398b621e4647a000123\
            102ed298831fb6f37d010000000004595a",
            &sixteen,
        );
        check(
            config,
            "fd377a585a000004e6d6b44602010400210110008b216f4901000f000102030405060708090a0b0c0d0e0f00565398b621e464\
            7a00012810e50b6c601fb6f37d010000000004595a",
            &sixteen,
        );
    }
    // The chunk of CRC-32 marked as check 2, which does not exist, is refused. (The CRC-32s of
    // header and footer are from Python's zlib.crc32.)
    refuse(
        &xz,
        "fd377a585a000002d373d7af0200210110000000a8708e86010003616161610045e598ad000118046be9f0a52a13909401000000\
        0002595a",
        4,
    );
}

#[test]
fn lzma_alone_and_raw() {
    let alone = lzma(LzmaFormat::Alone, &[]);
    // Python's lzma.compress(b"aaaa", FORMAT_ALONE, preset=1); with the size stated, which needs no
    // end mark.
    let chunk = "5d 00001000 ffffffffffffffff 0030e8bdffffffffe0000000";
    check(&alone, chunk, b"aaaa");
    check(&lzma(LzmaFormat::Auto, &[]), chunk, b"aaaa");
    refuse(&alone, &format!("{chunk}00"), 4);
    // A dictionary of 4 GiB.
    refuse(
        &alone,
        "5d ffffffff ffffffffffffffff 0030e8bdffffffffe0000000",
        4,
    );
    // The third is from Python.
    let raw = |filters| lzma(LzmaFormat::Raw, filters);
    check(
        &raw(&[(LZMA2, &[("preset", 1)])]),
        "0100036161616100",
        b"aaaa",
    );
    check(
        &raw(&[(3, &[("dist", 2)]), (LZMA2, &[("preset", 1)])]),
        "010007010001000100010000",
        &hex("0100020003000400"),
    );
    check(
        &raw(&[(LZMA1, &[("preset", 1)])]),
        "0030e8bdffffffffe0000000",
        b"aaaa",
    );
    let thirty_two: Vec<u8> = (0..32).collect();
    check(
        &raw(&[(
            LZMA1,
            &[("dict_size", 65_536), ("lc", 0), ("lp", 2), ("pb", 1)],
        )]),
        "000000404131348fc9dc86da3e10966fd9c6a7de55c27abd1922086e42b9e9402ee2393be8cafffe587000",
        &thirty_two,
    );
    check(
        &raw(&[(4, &[("start_offset", 0)]), (LZMA2, &[("preset", 1)])]),
        "e0001d00145d0074017c193df4bf00bbb48215b302872f6832736000",
        &hex(&"e801000000".repeat(6)),
    );
    // The other branch filters, also from Python; the start offset of the data matters to them.
    for (id, start, chunk, content) in [
        (
            5,
            0,
            "01000f4800010148000105480001094800010d00",
            "48000101".repeat(4),
        ),
        (
            5,
            64,
            "01000f4800014148000145480001494800014d00",
            "48000101".repeat(4),
        ),
        (
            6,
            0,
            "e0002f001c5d00083e9fbcdd0e74e8b918034adbc29e7cf345e33f40dc2b6c85bc000000",
            "10fac40e823d92840c2ba65c70962957".repeat(3),
        ),
        (
            7,
            0,
            "01000f120000eb130000eb140000eb150000eb00",
            "100000eb".repeat(4),
        ),
        (
            8,
            0,
            "01000f00f012f800f014f800f016f800f018f800",
            "00f010f8".repeat(4),
        ),
        (
            9,
            64,
            "01000f4000002040000021400000224000002300",
            "40000010".repeat(4),
        ),
    ] {
        let config = LzmaConfig {
            format: LzmaFormat::Raw,
            check: -1,
            preset: None,
            filters: Some(vec![
                LzmaFilter {
                    id,
                    options: vec![("start_offset".into(), start)],
                },
                LzmaFilter {
                    id: LZMA2,
                    options: vec![("preset".into(), 1)],
                },
            ]),
        };
        check(&CodecConfig::Lzma(config), chunk, &hex(&content));
    }
    // A dictionary of 4 GiB in the metadata takes no memory.
    check(
        &raw(&[(LZMA2, &[("dict_size", 0xffff_ffff)])]),
        "0100036161616100",
        b"aaaa",
    );
}

#[test]
fn lzma_configurations_that_make_no_sense() {
    let bind = |config: &CodecConfig| bytes_codec(config, None);
    for filters in [
        &[][..],
        &[(3, &[("dist", 1)][..])],
        &[(LZMA2, &[]), (LZMA2, &[])],
        &[(3, &[("dist", 0)]), (LZMA2, &[])],
        &[(3, &[("dist", 257)]), (LZMA2, &[])],
        &[(77, &[]), (LZMA2, &[])],
        &[(LZMA1, &[("lc", 5)])],
        &[(LZMA1, &[("lc", 4), ("lp", 1)])],
        &[(LZMA1, &[("pb", 5)])],
        &[(LZMA2, &[("preset", 10)])],
        &[(LZMA2, &[("dict_size", 1)])],
        &[(LZMA2, &[("dict_size", 1 << 32)])],
    ] {
        let error = bind(&lzma(LzmaFormat::Raw, filters)).expect_err("it cannot be decoded");
        assert!(matches!(error, CodecError::Config { .. }), "{error}");
    }
    let encode = |config: CodecConfig| {
        codec(&config).encode(b"aaaa", &mut Vec::new(), &mut Workspace::new())
    };
    let base = LzmaConfig {
        format: LzmaFormat::Xz,
        check: -1,
        preset: None,
        filters: None,
    };
    for config in [
        LzmaConfig {
            format: LzmaFormat::Auto,
            ..base.clone()
        },
        LzmaConfig {
            check: 7,
            ..base.clone()
        },
        LzmaConfig {
            preset: Some(10),
            ..base.clone()
        },
        LzmaConfig {
            format: LzmaFormat::Alone,
            check: 4,
            ..base.clone()
        },
    ] {
        // They only affect encoding: such a chunk is still read.
        let error = encode(CodecConfig::Lzma(config)).expect_err("it cannot be encoded");
        assert!(matches!(error, CodecError::Encode { .. }), "{error}");
    }
    for check in [0, 1, 4, 10] {
        let extreme = LzmaConfig {
            check,
            preset: Some(1 | 0x8000_0000),
            ..base.clone()
        };
        let config = CodecConfig::Lzma(extreme);
        assert_eq!(
            exact(&config, &encoded(&config, b"aaaa"), 4)
                .as_deref()
                .ok(),
            Some(&b"aaaa"[..])
        );
    }
    // Java and Python write the same bytes.
    let n5 = CodecConfig::Lzma(LzmaConfig {
        preset: Some(6),
        ..base
    });
    let expected = "fd377a585a000004e6d6b4460200210116000000742fe5a301000b000100020003000400050006000d0309ca34ec15a70001\
        240ca618d8d81fb6f37d010000000004595a";
    assert_eq!(
        encoded(&n5, &hex("000100020003000400050006")),
        hex(expected)
    );
}
