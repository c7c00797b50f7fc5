//! Tests each codec with encoded bytes whose content is known.

use super::*;

/// Checks that `chunk` decodes to `expected`, into memory of either kind.
fn check(config: &CodecConfig, chunk: &str, expected: &[u8]) {
    let chunk = hex(chunk);
    assert_eq!(exact(config, &chunk, expected.len()).as_deref().ok(), Some(expected), "{config:?}");
    assert_eq!(grown(config, &chunk, expected.len()).as_deref().ok(), Some(expected), "{config:?}");
    let stated = codec(config).decoded_len(&chunk).expect("its header is right");
    assert!(stated.is_none_or(|len| len == expected.len() as u64));
}

fn refuse(config: &CodecConfig, chunk: &str, len: usize) {
    let chunk = hex(chunk);
    exact(config, &chunk, len).expect_err("it is broken");
    grown(config, &chunk, len).expect_err("it is broken");
}

#[test]
fn gzip() {
    // Python's gzip with a file name; two members with padding; empty, as N5 stores it.
    check(&GZIP, "1f8b08080500000002ff782e62696e004b4c4c4c040045e598ad04000000", b"aaaa");
    let member = "1f8b0800000000000000 4b4c4c4c0400 45e598ad 04000000";
    check(&GZIP, member, b"aaaa");
    check(&GZIP, &format!("{member}{member}0000"), b"aaaaaaaa");
    check(&GZIP, "1f8b08000000000000ff03000000000000000000", b"");
    for broken in [
        "1f8b0800000000000000 4b4c4c4c0400 45e598ae 04000000",
        "1f8b0800000000000000 4b4c4c4c0400 45e598ad 05000000",
        "1f8b0700000000000000 4b4c4c4c0400 45e598ad 04000000",
        "1f8b0820000000000000 4b4c4c4c0400 45e598ad 04000000",
        "1f8c0800000000000000 4b4c4c4c0400 45e598ad 04000000",
        "1f8b0800000000000000 4b4c4c4c0400 45e598ad 04000000 01",
        "",
    ] {
        refuse(&GZIP, broken, 4);
    }
    // RFC 1952: FEXTRA of 2 bytes, FCOMMENT "c" and FHCRC; the CRC-16 is from Python's zlib.crc32.
    check(&GZIP, "1f8b0816000000000000 0200 6162 6300 c235 4b4c4c4c0400 45e598ad 04000000", b"aaaa");
    refuse(&GZIP, "1f8b0816000000000000 0200 6162 6300 c335 4b4c4c4c0400 45e598ad 04000000", 4);
    // One member, without a time.
    assert_eq!(encoded(&GZIP, b"aaaa")[..10], hex("1f8b08000000000000ff"));
}

#[test]
fn v2_t30_zlib() {
    // The tail is ignored (V2-T30).
    check(&ZLIB, "78014b4c4c4c040003ce0185", b"aaaa");
    check(&ZLIB, "78014b4c4c4c040003ce0185 0102", b"aaaa");
    refuse(&ZLIB, "78014b4c4c4c040003ce0186", 4);
    refuse(&ZLIB, "78204b4c4c4c040003ce0185", 4);
    refuse(&ZLIB, "1f8b0800000000000000 4b4c4c4c0400 45e598ad 04000000", 4);
    for level in [-2, 10] {
        let codec = codec(&CodecConfig::Zlib { level });
        let error = codec.encode(b"a", &mut Vec::new(), &mut Workspace::new()).expect_err("no such level");
        assert!(matches!(error, CodecError::Encode { .. }));
    }
}

#[test]
fn n5_gzip_reads_either_wrapper_whatever_the_flag() {
    for use_zlib in [false, true] {
        let config = CodecConfig::N5Gzip { level: -1, use_zlib };
        check(&config, "1f8b0800000000000000 4b4c4c4c0400 45e598ad 04000000", b"aaaa");
        check(&config, "78014b4c4c4c040003ce0185", b"aaaa");
        refuse(&config, "61616161", 4);
        assert_eq!(encoded(&config, b"aaaa")[0], if use_zlib { 0x78 } else { 0x1f });
    }
}

#[test]
fn v2_t30_zstd() {
    // Without content size, as N5 stores it; V2-T30 (consecutive frames); a skippable frame.
    check(&ZSTD, "28b52ffd200421000061616161", b"aaaa");
    check(&ZSTD, "28b52ffd24042100006161616132bf84bf", b"aaaa");
    check(&ZSTD, "28b52ffd0058610000000100020003000400050006", &hex("000100020003000400050006"));
    let two = "28b52ffd200421000061616161 28b52ffd0058610000000100020003000400050006";
    check(&ZSTD, two, &[&b"aaaa"[..], &hex("000100020003000400050006")].concat());
    check(&ZSTD, "502a4d18 03000000 010203 28b52ffd200421000061616161", b"aaaa");
    // numcodecs 0.16.6: Zstd(level=3).encode(np.zeros(5000, "u1")).
    check(&ZSTD, "28b52ffd6088124d0000100000010083d3032c", &[0; 5000]);
    for broken in [
        "28b52ffd24042100006161616132bf84be",     // checksum
        "28b52ffd20042100006161616100",           // after the frame
        "28b52ffd200521000061616161",             // content size
        "28b52ffd280421000061616161",             // reserved bit
        "28b52ffd200427000061616161",             // reserved block type
        "27b52ffd200421000061616161",             // zstd 0.7
        "502a4d18 03000000 010203",               // nothing but a skippable frame is no chunk of 4 bytes
        "502a4d18 04000000 010203",               // and a cut one
        "28b52ffd23 01000000 04 210000 61616161", // an unknown dictionary
        "",
    ] {
        exact(&ZSTD, &hex(broken), 4).expect_err(broken);
    }
    assert_eq!(encoded(&ZSTD, b"aaaa"), hex("28b52ffd200421000061616161"));
    assert_eq!(encoded(&ZSTD_CHECKED, b"aaaa"), hex("28b52ffd24042100006161616132bf84bf"));
    // Levels are clamped to the existing ones.
    for level in [i32::MIN, -5, 23, i32::MAX] {
        let config = CodecConfig::Zstd { level, checksum: false };
        assert_eq!(exact(&config, &encoded(&config, b"aaaa"), 4).as_deref().ok(), Some(&b"aaaa"[..]));
    }
}

#[test]
fn zstd_windows_take_no_memory() {
    // No single segment, window descriptor ff: nearly 4 TiB. The library refuses it; with 2 GiB
    // (a8), on 32 bits with 1 GiB (a0), it decodes, straight into the output.
    let [huge, large, small] = ["ff", "a8", "a0"].map(|window| format!("28b52ffd00{window} 210000 61616161"));
    check(&ZSTD, &small, b"aaaa");
    if cfg!(target_pointer_width = "64") {
        check(&ZSTD, &large, b"aaaa");
        refuse(&ZSTD, &huge, 4);
    } else {
        for frame in [large, huge] {
            let error = exact(&ZSTD, &hex(&frame), 4);
            assert!(matches!(error, Err(CodecError::OutOfMemory { .. })), "{error:?}");
        }
    }
}

#[test]
fn v2_t31_lz4() {
    // V2-T31
    check(&LZ4, "180000001e610100506161616161", &[b'a'; 24]);
    check(&LZ4, "0300000030616263", b"abc");
    refuse(&LZ4, "170000001e610100506161616161", 24);
    refuse(&LZ4, "190000001e610100506161616161", 25);
    refuse(&LZ4, "180000001e6101005061616161", 24);
    refuse(&LZ4, "180000001e61010050616161616161", 24);
    refuse(&LZ4, "0000000000", 0);
    refuse(&LZ4, "ffffffff1e610100506161616161", 24);
    refuse(&LZ4, "0000007e30616263", 3);
    assert_eq!(encoded(&LZ4, &[b'a'; 24]), hex("180000001e610100506161616161"));
    assert_eq!(encoded(&LZ4, b"abc"), hex("0300000030616263"));
    let nothing = codec(&LZ4).encode(b"", &mut Vec::new(), &mut Workspace::new());
    assert!(matches!(nothing, Err(CodecError::Encode { .. })));
    // An acceleration of 0 and below means 1.
    let slow = CodecConfig::Lz4 { acceleration: -7 };
    assert_eq!(encoded(&slow, &[b'a'; 24]), encoded(&LZ4, &[b'a'; 24]));
}

const JAVA: &str = "4c5a34426c6f636b 16 0c000000 0c000000 90258b06 000100020003000400050006";
const JAVA_END: &str = "4c5a34426c6f636b 16 00000000 00000000 00000000";

#[test]
fn n5_lz4_reads_four_framings() {
    let values = hex("000100020003000400050006");
    let java = format!("{JAVA}{JAVA_END}");
    check(&N5_LZ4, &java, &values);
    assert_eq!(encoded(&N5_LZ4, &values), hex(&java));
    check(&N5_LZ4, JAVA_END, b"");
    // rust-n5 (frame), zarr 2 (length and block), z5 (bare block).
    let other = hex("000100020003000600070008");
    check(&N5_LZ4, "04224d187440bd0c000080000100020003000600070008258e37c800000000258e37c8", &other);
    check(&N5_LZ4, "04224d186440a70c000080000100020003000400050006 00000000 41373308", &values);
    check(&N5_LZ4, "0c000000c0000100020003000600070008", &other);
    let bare = hex("c0000100020003000600070008");
    assert_eq!(exact(&N5_LZ4, &bare, 12).as_deref().ok(), Some(&other[..]));
    grown(&N5_LZ4, &bare, 12).expect_err("nothing says that it is whole");
    // A truncated frame, one with trailing bytes, one with changed content or checksum.
    for broken in [
        "04224d187440bd0c000080000100020003000600070008258e37c800000000258e37",
        "04224d187440bd0c000080000100020003000600070008258e37c800000000258e37c800",
        "04224d187440bd0c000080000100020003000600070009258e37c800000000258e37c8",
        "04224d187440bd0c000080000100020003000600070008258e37c800000000258e37c9",
        "04224d187440be0c000080000100020003000600070008258e37c800000000258e37c8",
    ] {
        refuse(&N5_LZ4, broken, 12);
    }
}

#[test]
fn n5_lz4_checks_each_sub_block() {
    // uint8 20x10, byte i = i / 20, compressed.
    let compressed = "4c5a34426c6f636b 26 37000000 c8000000 b5a9eb08 \
        1f000100001f010100001f020100001f030100001f040100001f050100001f060100001f070100001f080100001a0901005009090909 09";
    let values: Vec<u8> = (0..200).map(|i| i / 20).collect();
    check(&N5_LZ4, &format!("{compressed}{JAVA_END}"), &values);
    assert_eq!(encoded(&N5_LZ4, &values), hex(&format!("{compressed}{JAVA_END}")));
    let small = CodecConfig::N5Lz4 { block_size: 64 };
    let chunk = encoded(&small, &values);
    // Sub-blocks of 64, 64, 64 and 8 bytes, the last stored (n5_vectors.tsv, comp/lz4_64).
    assert!(chunk.starts_with(&hex("4c5a34426c6f636b 20 14000000 40000000 fd93ef03 1f00010000")));
    assert!(chunk.ends_with(&hex(
        "4c5a34426c6f636b 10 08000000 08000000 5b70d40b 0909090909090909 4c5a34426c6f636b10 000000000000000000000000"
    )));
    // z5's level is not a block size.
    assert_eq!(encoded(&CodecConfig::N5Lz4 { block_size: 6 }, &values), encoded(&N5_LZ4, &values));
    for broken in [
        JAVA.to_owned(),                                                 // no end mark
        format!("{JAVA}{JAVA_END}00"),                                   // something after it
        format!("{JAVA}4c5a34426c6f636b 16 00000000 00000000 01000000"), // a checksum in it
        format!("{JAVA}4c5a34426c6f636b 26 00000000 00000000 00000000"), // compressed nothing
        format!("{JAVA}4c5a34426c6f636b 36 00000000 00000000 00000000"), // unknown method
        format!("{JAVA}4c5a34426c6f636c 16 00000000 00000000 00000000"), // magic
        format!("4c5a34426c6f636b 16 0c000000 0c000000 90258b16 000100020003000400050006{JAVA_END}"), // checksum
        format!("4c5a34426c6f636b 16 0c000000 0d000000 90258b06 000100020003000400050006{JAVA_END}"), // lengths
        format!("4c5a34426c6f636b 16 0c000000 00000000 90258b06 000100020003000400050006{JAVA_END}"),
        format!("4c5a34426c6f636b 26 01000000 00010000 90258b06 00{JAVA_END}"), // more than LZ4 can hold
        format!("4c5a34426c6f636b 20 0c000000 01040000 90258b06 000100020003000400050006{JAVA_END}"), // level
        format!("4c5a34426c6f636b 2f ffffffff 00000002 90258b06 000100020003000400050006{JAVA_END}"),
    ] {
        refuse(&N5_LZ4, &broken, 12);
    }
}

#[test]
fn bz2() {
    // Python's bz2.compress(b"aaaa", 1); two streams of "aa", of levels 1 and 9.
    let one = "425a6831314159265359881233a600000241004000200020002100820b177245385090881233a6";
    check(&BZ2, one, b"aaaa");
    let two = "425a6831314159265359e4d0db14000000810020002000211846c2ee48a70a121c9a1b6280\
        425a6839314159265359e4d0db14000000810020002000211846c2ee48a70a121c9a1b6280";
    check(&BZ2, two, b"aaaa");
    refuse(&BZ2, &format!("{one}00"), 4);
    refuse(&BZ2, "", 0);
    for level in [0, 10] {
        let codec = codec(&CodecConfig::Bz2 { level });
        codec.encode(b"a", &mut Vec::new(), &mut Workspace::new()).expect_err("no such level");
    }
}

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
    check(&xz, &format!("{checked}00000000{checked}00000000"), b"aaaaaaaa");
    refuse(&xz, &format!("{checked}0000"), 4);
    refuse(&xz, &format!("{checked}01"), 4);
    // The stream names its filters itself: delta and x86 (Python), whatever the configuration.
    let sixteen: Vec<u8> = (0..16).collect();
    for config in [&xz, &lzma(LzmaFormat::Xz, &[(3, &[("dist", 7)]), (LZMA2, &[])])] {
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
    refuse(&alone, "5d ffffffff ffffffffffffffff 0030e8bdffffffffe0000000", 4);
    // The third is from Python.
    let raw = |filters| lzma(LzmaFormat::Raw, filters);
    check(&raw(&[(LZMA2, &[("preset", 1)])]), "0100036161616100", b"aaaa");
    check(
        &raw(&[(3, &[("dist", 2)]), (LZMA2, &[("preset", 1)])]),
        "010007010001000100010000",
        &hex("0100020003000400"),
    );
    check(&raw(&[(LZMA1, &[("preset", 1)])]), "0030e8bdffffffffe0000000", b"aaaa");
    let thirty_two: Vec<u8> = (0..32).collect();
    check(
        &raw(&[(LZMA1, &[("dict_size", 65_536), ("lc", 0), ("lp", 2), ("pb", 1)])]),
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
        (5, 0, "01000f4800010148000105480001094800010d00", "48000101".repeat(4)),
        (5, 64, "01000f4800014148000145480001494800014d00", "48000101".repeat(4)),
        (
            6,
            0,
            "e0002f001c5d00083e9fbcdd0e74e8b918034adbc29e7cf345e33f40dc2b6c85bc000000",
            "10fac40e823d92840c2ba65c70962957".repeat(3),
        ),
        (7, 0, "01000f120000eb130000eb140000eb150000eb00", "100000eb".repeat(4)),
        (8, 0, "01000f00f012f800f014f800f016f800f018f800", "00f010f8".repeat(4)),
        (9, 64, "01000f4000002040000021400000224000002300", "40000010".repeat(4)),
    ] {
        let config = LzmaConfig {
            format: LzmaFormat::Raw,
            check: -1,
            preset: None,
            filters: Some(vec![
                LzmaFilter { id, options: vec![("start_offset".into(), start)] },
                LzmaFilter { id: LZMA2, options: vec![("preset".into(), 1)] },
            ]),
        };
        check(&CodecConfig::Lzma(config), chunk, &hex(&content));
    }
    // A dictionary of 4 GiB in the metadata takes no memory.
    check(&raw(&[(LZMA2, &[("dict_size", 0xffff_ffff)])]), "0100036161616100", b"aaaa");
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
    let encode = |config: CodecConfig| codec(&config).encode(b"aaaa", &mut Vec::new(), &mut Workspace::new());
    let base = LzmaConfig { format: LzmaFormat::Xz, check: -1, preset: None, filters: None };
    for config in [
        LzmaConfig { format: LzmaFormat::Auto, ..base.clone() },
        LzmaConfig { check: 7, ..base.clone() },
        LzmaConfig { preset: Some(10), ..base.clone() },
        LzmaConfig { format: LzmaFormat::Alone, check: 4, ..base.clone() },
    ] {
        // They only affect encoding: such a chunk is still read.
        let error = encode(CodecConfig::Lzma(config)).expect_err("it cannot be encoded");
        assert!(matches!(error, CodecError::Encode { .. }), "{error}");
    }
    for check in [0, 1, 4, 10] {
        let extreme = LzmaConfig { check, preset: Some(1 | 0x8000_0000), ..base.clone() };
        let config = CodecConfig::Lzma(extreme);
        assert_eq!(exact(&config, &encoded(&config, b"aaaa"), 4).as_deref().ok(), Some(&b"aaaa"[..]));
    }
    // Java and Python write the same bytes.
    let n5 = CodecConfig::Lzma(LzmaConfig { preset: Some(6), ..base });
    let expected = "fd377a585a000004e6d6b4460200210116000000742fe5a301000b000100020003000400050006000d0309ca34ec15a70001\
        240ca618d8d81fb6f37d010000000004595a";
    assert_eq!(encoded(&n5, &hex("000100020003000400050006")), hex(expected));
}

#[test]
fn crc32c() {
    check(&CRC32C, "0102 529ff803", &[1, 2]);
    check(&CRC32C, "313233343536373839 839206e3", b"123456789");
    check(&CRC32C, "00000000", b"");
    let start = CodecConfig::Crc32c { location: ChecksumLocation::Start };
    check(&start, "839206e3 313233343536373839", b"123456789");
    assert_eq!(encoded(&CRC32C, &[1, 2]), hex("0102529ff803"));
    assert_eq!(encoded(&start, b"123456789"), hex("839206e3 313233343536373839"));
    refuse(&CRC32C, "0102 529ff804", 2);
    refuse(&CRC32C, "529ff8", 0);
    refuse(&start, "839206e4 313233343536373839", 9);
    assert_eq!(codec(&CRC32C).encoded_len(32), Some(36));
}

#[test]
fn v2_t28_blosc_takes_element_sizes_from_the_chain() {
    let typesize = |elem_size, stated: Option<usize>, shuffle| {
        let config =
            BloscConfig { cname: BloscCname::Lz4, clevel: 5, shuffle, typesize: stated, blocksize: 0 };
        let raw = StoredType::native(DataType::Raw { bytes: elem_size });
        let codec = bytes_codec(&CodecConfig::Blosc(config), Some(&raw)).expect("it binds");
        let mut out = Vec::new();
        codec.encode(&[3; 600], &mut out, &mut Workspace::new()).map(|()| (out[3], out[2] & 5))
    };
    assert_eq!(typesize(4, None, BloscShuffle::Auto).ok(), Some((4, 1)));
    assert_eq!(typesize(1, None, BloscShuffle::Auto).ok(), Some((1, 4)));
    assert_eq!(typesize(4, Some(2), BloscShuffle::Byte).ok(), Some((2, 1)));
    assert_eq!(typesize(300, None, BloscShuffle::Bit).ok(), Some((1, 4)));
    assert_eq!(typesize(4, None, BloscShuffle::None).ok(), Some((4, 0)));
    assert!(matches!(typesize(4, Some(0), BloscShuffle::None), Err(CodecError::Encode { .. })));
    // The stored bytes decide, whatever the configuration says (V2-T28): a chunk of zstd read as
    // one of lz4.
    let chunk = encoded(&blosc(BloscCname::Zstd, BloscShuffle::Bit), &[3; 600]);
    assert_eq!(
        exact(&blosc(BloscCname::Lz4, BloscShuffle::None), &chunk, 600).as_deref().ok(),
        Some(&[3; 600][..])
    );
    // Blosc2's version.
    let mut other = chunk;
    other[0] = 5;
    let error = exact(&blosc(BloscCname::Lz4, BloscShuffle::None), &other, 600).expect_err("it is of Blosc2");
    assert!(error.to_string().contains("Blosc2"), "{error}");
}
