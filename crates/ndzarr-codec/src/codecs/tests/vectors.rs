//! Tests each codec with encoded bytes whose content is known.

use super::*;

/// Checks that `chunk` decodes to `expected`, into memory of either kind.
pub(super) fn check(config: &CodecConfig, chunk: &str, expected: &[u8]) {
    let chunk = hex(chunk);
    assert_eq!(
        exact(config, &chunk, expected.len()).as_deref().ok(),
        Some(expected),
        "{config:?}"
    );
    assert_eq!(
        grown(config, &chunk, expected.len()).as_deref().ok(),
        Some(expected),
        "{config:?}"
    );
    let stated = codec(config)
        .decoded_len(&chunk)
        .expect("its header is right");
    assert!(stated.is_none_or(|len| len == expected.len() as u64));
}

/// Checks that `chunk` is no value of this length.
pub(super) fn refuse(config: &CodecConfig, chunk: &str, len: usize) {
    let chunk = hex(chunk);
    exact(config, &chunk, len).expect_err("it is broken");
    grown(config, &chunk, len).expect_err("it is broken");
}

#[test]
fn gzip() {
    // Python's gzip with a file name; two members with padding; empty, as N5 stores it.
    check(
        &GZIP,
        "1f8b08080500000002ff782e62696e004b4c4c4c040045e598ad04000000",
        b"aaaa",
    );
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
    check(
        &GZIP,
        "1f8b0816000000000000 0200 6162 6300 c235 4b4c4c4c0400 45e598ad 04000000",
        b"aaaa",
    );
    refuse(
        &GZIP,
        "1f8b0816000000000000 0200 6162 6300 c335 4b4c4c4c0400 45e598ad 04000000",
        4,
    );
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
    refuse(
        &ZLIB,
        "1f8b0800000000000000 4b4c4c4c0400 45e598ad 04000000",
        4,
    );
    for level in [-2, 10] {
        let codec = codec(&CodecConfig::Zlib { level });
        let error = codec
            .encode(b"a", &mut Vec::new(), &mut Workspace::new())
            .expect_err("no such level");
        assert!(matches!(error, CodecError::Encode { .. }));
    }
}

#[test]
fn n5_gzip_reads_either_wrapper_whatever_the_flag() {
    for use_zlib in [false, true] {
        let config = CodecConfig::N5Gzip {
            level: -1,
            use_zlib,
        };
        check(
            &config,
            "1f8b0800000000000000 4b4c4c4c0400 45e598ad 04000000",
            b"aaaa",
        );
        check(&config, "78014b4c4c4c040003ce0185", b"aaaa");
        refuse(&config, "61616161", 4);
        assert_eq!(
            encoded(&config, b"aaaa")[0],
            if use_zlib { 0x78 } else { 0x1f }
        );
    }
}

#[test]
fn v2_t30_zstd() {
    // Without content size, as N5 stores it; V2-T30 (consecutive frames); a skippable frame.
    check(&ZSTD, "28b52ffd200421000061616161", b"aaaa");
    check(&ZSTD, "28b52ffd24042100006161616132bf84bf", b"aaaa");
    check(
        &ZSTD,
        "28b52ffd0058610000000100020003000400050006",
        &hex("000100020003000400050006"),
    );
    let two = "28b52ffd200421000061616161 28b52ffd0058610000000100020003000400050006";
    check(
        &ZSTD,
        two,
        &[&b"aaaa"[..], &hex("000100020003000400050006")].concat(),
    );
    check(
        &ZSTD,
        "502a4d18 03000000 010203 28b52ffd200421000061616161",
        b"aaaa",
    );
    // numcodecs 0.16.6: Zstd(level=3).encode(np.zeros(5000, "u1")).
    check(&ZSTD, "28b52ffd6088124d0000100000010083d3032c", &[0; 5000]);
    for broken in [
        "28b52ffd24042100006161616132bf84be",     // checksum
        "28b52ffd20042100006161616100",           // after the frame
        "28b52ffd200521000061616161",             // content size
        "28b52ffd280421000061616161",             // reserved bit
        "28b52ffd200427000061616161",             // reserved block type
        "27b52ffd200421000061616161",             // zstd 0.7
        "502a4d18 03000000 010203", // nothing but a skippable frame is no chunk of 4 bytes
        "502a4d18 04000000 010203", // and a cut one
        "28b52ffd23 01000000 04 210000 61616161", // an unknown dictionary
        "",
    ] {
        exact(&ZSTD, &hex(broken), 4).expect_err(broken);
    }
    assert_eq!(encoded(&ZSTD, b"aaaa"), hex("28b52ffd200421000061616161"));
    assert_eq!(
        encoded(&ZSTD_CHECKED, b"aaaa"),
        hex("28b52ffd24042100006161616132bf84bf")
    );
    // Levels are clamped to the existing ones.
    for level in [i32::MIN, -5, 23, i32::MAX] {
        let config = CodecConfig::Zstd {
            level,
            checksum: false,
        };
        assert_eq!(
            exact(&config, &encoded(&config, b"aaaa"), 4)
                .as_deref()
                .ok(),
            Some(&b"aaaa"[..])
        );
    }
}

#[test]
fn zstd_windows_take_no_memory() {
    // No single segment, window descriptor ff: nearly 4 TiB. The library refuses it; with 2 GiB
    // (a8), on 32 bits with 1 GiB (a0), it decodes, straight into the output.
    let [huge, large, small] =
        ["ff", "a8", "a0"].map(|window| format!("28b52ffd00{window} 210000 61616161"));
    check(&ZSTD, &small, b"aaaa");
    if cfg!(target_pointer_width = "64") {
        check(&ZSTD, &large, b"aaaa");
        refuse(&ZSTD, &huge, 4);
    } else {
        for frame in [large, huge] {
            let error = exact(&ZSTD, &hex(&frame), 4);
            assert!(
                matches!(error, Err(CodecError::OutOfMemory { .. })),
                "{error:?}"
            );
        }
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
        codec
            .encode(b"a", &mut Vec::new(), &mut Workspace::new())
            .expect_err("no such level");
    }
}

#[test]
fn v2_t28_blosc_takes_element_sizes_from_the_chain() {
    let typesize = |elem_size, stated: Option<usize>, shuffle| {
        let config = BloscConfig {
            cname: BloscCname::Lz4,
            clevel: 5,
            shuffle,
            typesize: stated,
            blocksize: 0,
        };
        let raw = StoredType::native(DataType::Raw { bytes: elem_size });
        let codec = bytes_codec(&CodecConfig::Blosc(config), Some(&raw)).expect("it binds");
        let mut out = Vec::new();
        codec
            .encode(&[3; 600], &mut out, &mut Workspace::new())
            .map(|()| (out[3], out[2] & 5))
    };
    assert_eq!(typesize(4, None, BloscShuffle::Auto).ok(), Some((4, 1)));
    assert_eq!(typesize(1, None, BloscShuffle::Auto).ok(), Some((1, 4)));
    assert_eq!(typesize(4, Some(2), BloscShuffle::Byte).ok(), Some((2, 1)));
    assert_eq!(typesize(300, None, BloscShuffle::Bit).ok(), Some((1, 4)));
    assert_eq!(typesize(4, None, BloscShuffle::None).ok(), Some((4, 0)));
    assert!(matches!(
        typesize(4, Some(0), BloscShuffle::None),
        Err(CodecError::Encode { .. })
    ));
    // The stored bytes decide, whatever the configuration says (V2-T28): a chunk of zstd read as
    // one of lz4.
    let chunk = encoded(&blosc(BloscCname::Zstd, BloscShuffle::Bit), &[3; 600]);
    assert_eq!(
        exact(&blosc(BloscCname::Lz4, BloscShuffle::None), &chunk, 600)
            .as_deref()
            .ok(),
        Some(&[3; 600][..])
    );
    // Blosc2's version.
    let mut other = chunk;
    other[0] = 5;
    let error = exact(&blosc(BloscCname::Lz4, BloscShuffle::None), &other, 600)
        .expect_err("it is of Blosc2");
    assert!(error.to_string().contains("Blosc2"), "{error}");
}
