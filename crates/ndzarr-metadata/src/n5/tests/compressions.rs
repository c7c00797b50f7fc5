//! Tests of compressions, read and written.

use super::*;

fn xz(preset: u32) -> CodecConfig {
    CodecConfig::Lzma(LzmaConfig {
        format: LzmaFormat::Xz,
        check: 4,
        preset: Some(preset),
        filters: None,
    })
}

fn blosc(cname: BloscCname, clevel: u8, shuffle: BloscShuffle) -> CodecConfig {
    CodecConfig::Blosc(BloscConfig {
        cname,
        clevel,
        shuffle,
        typesize: Some(2),
        blocksize: 0,
    })
}

fn gzip(level: i32, use_zlib: bool) -> CodecConfig {
    CodecConfig::N5Gzip { level, use_zlib }
}

/// n5_vectors.tsv: what five programs wrote for the same array.
#[test]
fn n5_every_peers_document_opens() {
    let lz4 = CodecConfig::N5Lz4 { block_size: 65_536 };
    let lz4_blosc = || blosc(BloscCname::Lz4, 5, BloscShuffle::Byte);
    for (document, expected) in [
        (
            r#"{"dataType":"uint16","compression":{"type":"bzip2","blockSize":9},"blockSize":[3,2],"dimensions":[5,4]}"#,
            Some(CodecConfig::Bz2 { level: 9 }),
        ),
        (
            r#"{"dataType":"uint16","compression":{"type":"gzip","useZlib":false,"level":6},"blockSize":[3,2],"dimensions":[5,4]}"#,
            Some(gzip(6, false)),
        ),
        (
            r#"{"dataType":"uint16","compression":{"type":"lz4","blockSize":65536},"blockSize":[3,2],"dimensions":[5,4]}"#,
            Some(lz4.clone()),
        ),
        (
            r#"{"dataType":"uint16","compression":{"type":"raw"},"blockSize":[3,2],"dimensions":[5,4]}"#,
            None,
        ),
        (
            r#"{"dataType":"uint16","compression":{"type":"xz","preset":6},"blockSize":[3,2],"dimensions":[5,4]}"#,
            Some(xz(6)),
        ),
        (
            r#"{"dataType":"uint16","compression":{"type":"gzip","useZlib":true,"level":6},"blockSize":[3,2],"dimensions":[5,4]}"#,
            Some(gzip(6, true)),
        ),
        (
            r#"{"blockSize":[3,2],"compression":{"blocksize":0,"clevel":5,"cname":"lz4","nthreads":1,"shuffle":1,"type":"blosc"},"dataType":"uint16","dimensions":[5,4]}"#,
            Some(lz4_blosc()),
        ),
        (
            r#"{"blockSize":[3,2],"compression":{"blockSize":5,"type":"bzip2"},"dataType":"uint16","dimensions":[5,4]}"#,
            Some(CodecConfig::Bz2 { level: 5 }),
        ),
        (
            r#"{"blockSize":[3,2],"compression":{"level":5,"type":"gzip"},"dataType":"uint16","dimensions":[5,4]}"#,
            Some(gzip(5, false)),
        ),
        (
            r#"{"blockSize":[3,2],"compression":{"blockSize":6,"type":"lz4"},"dataType":"uint16","dimensions":[5,4]}"#,
            Some(lz4.clone()),
        ),
        (
            r#"{"blockSize":[3,2],"compression":{"level":3,"type":"zstd"},"dataType":"uint16","dimensions":[5,4]}"#,
            Some(CodecConfig::Zstd {
                level: 3,
                checksum: false,
            }),
        ),
        (
            r#"{"blockSize":[3,2],"compression":{"blocksize":0,"clevel":5,"cname":"lz4","shuffle":1,"type":"blosc"},"dataType":"uint16","dimensions":[5,4]}"#,
            Some(lz4_blosc()),
        ),
        (
            r#"{"blockSize":[3,2],"compression":{"acceleration":1,"id":"lz4","type":"lz4"},"dataType":"uint16","dimensions":[5,4]}"#,
            Some(lz4),
        ),
        (
            r#"{"blockSize":[3,2],"compression":{"checksum":false,"id":"zstd","level":0,"type":"zstd"},"dataType":"uint16","dimensions":[5,4]}"#,
            Some(CodecConfig::Zstd {
                level: 0,
                checksum: false,
            }),
        ),
        (
            r#"{"blockSize":[3,2],"compression":{"level":-1,"type":"gzip","useZlib":false},"dataType":"uint16","dimensions":[5,4]}"#,
            Some(gzip(-1, false)),
        ),
        (
            r#"{"blockSize":[3,2],"compression":{"level":-1,"type":"gzip"},"dataType":"uint16","dimensions":[5,4]}"#,
            Some(gzip(-1, false)),
        ),
    ] {
        let spec = dataset(document).expect(document);
        assert_eq!(
            (spec.shape.as_slice(), spec.unit_shape.as_slice()),
            (&[5, 4][..], &[3, 2][..])
        );
        assert_eq!(spec.data_type, DataType::UInt { bits: 16 });
        assert_eq!(
            compression(&spec),
            expected.map(CodecSpec::from),
            "{document}"
        );
    }
}

/// Java's backward-compatibility sets.
#[test]
fn n5_compression_type_of_version_1_is_read() {
    for (name, expected) in [
        ("raw", None),
        ("gzip", Some(gzip(-1, false))),
        ("bzip2", Some(CodecConfig::Bz2 { level: 9 })),
        ("lz4", Some(CodecConfig::N5Lz4 { block_size: 65_536 })),
        ("xz", Some(xz(6))),
    ] {
        let document = format!(
            r#"{{"dataType":"uint8","compressionType":"{name}","blockSize":[5,4],"dimensions":[7,5]}}"#
        );
        assert_eq!(
            compression(&dataset(&document).expect(name)),
            expected.map(CodecSpec::from)
        );
    }
    let both = r#"{"dataType":"uint8","compressionType":"xz","compression":{"type":"raw"},"blockSize":[5,4],"dimensions":[7,5]}"#;
    assert_eq!(compression(&dataset(both).expect("compression wins")), None);
    let node = open(
        &[(
            "attributes.json",
            r#"{"n5":"1.5.0","dataType":"uint8","compressionType":"raw","blockSize":[5],"dimensions":[7]}"#,
        )],
        "",
    );
    let node = node.expect("valid").expect("there");
    assert!(node.warnings[0].contains("compressionType"));
    assert!(node.attributes.is_empty());
}

#[test]
fn n5_missing_parameters_take_javas_defaults() {
    let with = |compression: &str| {
        let document = format!(
            r#"{{"dataType":"uint16","compression":{compression},"blockSize":[3],"dimensions":[5]}}"#
        );
        super::compression(&dataset(&document).expect("valid")).expect("not raw")
    };
    assert_eq!(with(r#"{"type":"gzip"}"#).config, gzip(-1, false));
    assert_eq!(
        with(r#"{"type":"bzip2"}"#).config,
        CodecConfig::Bz2 { level: 9 }
    );
    assert_eq!(with(r#"{"type":"xz"}"#).config, xz(6));
    assert_eq!(
        with(r#"{"type":"lz4"}"#).config,
        CodecConfig::N5Lz4 { block_size: 65_536 }
    );
    assert_eq!(
        with(r#"{"type":"lz4","blockSize":64}"#).config,
        CodecConfig::N5Lz4 { block_size: 64 }
    );
    assert_eq!(
        with(r#"{"type":"zstd"}"#).config,
        CodecConfig::Zstd {
            level: 3,
            checksum: false
        }
    );
    assert_eq!(
        with(r#"{"type":"blosc"}"#).config,
        blosc(BloscCname::BloscLz, 6, BloscShuffle::None)
    );
    let auto = with(
        r#"{"type":"blosc","cname":"zstd","clevel":3,"shuffle":-1,"blocksize":0,"typesize":1,"nthreads":1}"#,
    );
    assert_eq!(auto.config, blosc(BloscCname::Zstd, 3, BloscShuffle::Auto));
    assert_eq!(auto.unwritable, None);
}

#[test]
fn n5_odd_encoding_parameters_hinder_writing_alone() {
    for compression in [
        r#"{"type":"gzip","level":"5"}"#,
        r#"{"type":"gzip","level":10}"#,
        r#"{"type":"gzip","level":5,"useZlib":"yes"}"#,
        r#"{"type":"bzip2","blockSize":0}"#,
        r#"{"type":"xz","preset":10}"#,
        r#"{"type":"zstd","level":23}"#,
        r#"{"type":"zstd","level":-131073}"#,
        r#"{"type":"blosc","clevel":10}"#,
        r#"{"type":"blosc","shuffle":3}"#,
        r#"{"type":"blosc","cname":"lizard"}"#,
    ] {
        let document = format!(
            r#"{{"dataType":"uint16","compression":{compression},"blockSize":[3],"dimensions":[5]}}"#
        );
        let codec = super::compression(&dataset(&document).expect(compression)).expect("not raw");
        assert!(codec.unwritable.is_some(), "{compression}");
    }
}

/// As a strict writer spells it.
#[test]
fn n5_compressions_are_written_with_all_members_and_no_others() {
    let lzma = |check, preset| LzmaConfig {
        format: LzmaFormat::Xz,
        check,
        preset,
        filters: None,
    };
    let blosc = |shuffle| BloscConfig {
        cname: BloscCname::Zstd,
        clevel: 3,
        shuffle,
        typesize: None,
        blocksize: 0,
    };
    let written = |codec: CodecConfig| {
        let mut request = request(&[5, 4], &[3, 2]);
        request.codecs = CodecRequest::Neutral(vec![codec.into()]);
        let creation = create(&[], "a", &request, &n5())?;
        Ok::<Value, MetadataError>(
            json_of(&creation, "a/attributes.json").expect("written")["compression"].clone(),
        )
    };
    for (codec, expected) in [
        (
            CodecConfig::N5Gzip {
                level: -1,
                use_zlib: true,
            },
            json!({"type": "gzip", "level": -1, "useZlib": true}),
        ),
        (
            CodecConfig::Gzip { level: 5 },
            json!({"type": "gzip", "level": 5, "useZlib": false}),
        ),
        (
            CodecConfig::Zlib { level: 5 },
            json!({"type": "gzip", "level": 5, "useZlib": true}),
        ),
        (
            CodecConfig::Bz2 { level: 9 },
            json!({"type": "bzip2", "blockSize": 9}),
        ),
        (
            CodecConfig::Lzma(lzma(4, Some(6))),
            json!({"type": "xz", "preset": 6}),
        ),
        (
            CodecConfig::Lzma(lzma(-1, None)),
            json!({"type": "xz", "preset": 6}),
        ),
        (
            CodecConfig::N5Lz4 { block_size: 65_536 },
            json!({"type": "lz4", "blockSize": 65_536}),
        ),
        (
            CodecConfig::N5Lz4 { block_size: 6 },
            json!({"type": "lz4", "blockSize": 65_536}),
        ),
        (
            CodecConfig::Zstd {
                level: 3,
                checksum: false,
            },
            json!({"type": "zstd", "level": 3}),
        ),
        (
            CodecConfig::Blosc(blosc(BloscShuffle::Bit)),
            json!({"type": "blosc", "cname": "zstd", "clevel": 3, "shuffle": 2, "blocksize": 0}),
        ),
        (
            CodecConfig::Blosc(blosc(BloscShuffle::Auto)),
            json!({"type": "blosc", "cname": "zstd", "clevel": 3, "shuffle": 1, "blocksize": 0}),
        ),
    ] {
        assert_eq!(
            written(codec.clone()).expect("has a form"),
            expected,
            "{codec:?}"
        );
    }
    for codec in [
        CodecConfig::Zstd {
            level: 3,
            checksum: true,
        },
        CodecConfig::Zstd {
            level: 23,
            checksum: false,
        },
        CodecConfig::Gzip { level: 10 },
        CodecConfig::Bz2 { level: 0 },
        CodecConfig::Lzma(lzma(10, None)),
        CodecConfig::Lzma(lzma(4, Some(6 | 0x8000_0000))),
        CodecConfig::Bytes {
            endian: Some(Endian::Big),
        },
        CodecConfig::Transpose { order: vec![1, 0] },
    ] {
        assert!(
            matches!(
                written(codec.clone()),
                Err(MetadataError::Inexpressible { .. })
            ),
            "{codec:?}"
        );
    }
}

#[test]
fn n5_compressions_are_taken_as_json() {
    let written = |compression: Value| {
        let mut request = request(&[5, 4], &[3, 2]);
        request.codecs = CodecRequest::Json(compression);
        let creation = create(&[], "a", &request, &n5())?;
        Ok::<Value, MetadataError>(
            json_of(&creation, "a/attributes.json").expect("written")["compression"].clone(),
        )
    };
    let expect =
        |given: Value, expected: Value| assert_eq!(written(given).expect("has a form"), expected);
    expect(json!({"type": "raw"}), json!({"type": "raw"}));
    expect(
        json!({"type": "gzip"}),
        json!({"type": "gzip", "level": -1, "useZlib": false}),
    );
    expect(
        json!({"type": "lz4", "blockSize": 6}),
        json!({"type": "lz4", "blockSize": 65_536}),
    );
    expect(
        json!({"type": "zstd", "level": 0, "id": "zstd", "checksum": false}),
        json!({"type": "zstd", "level": 0}),
    );
    for bad in [
        json!({"type": "gzip", "level": 10}),
        json!({"type": "jpeg"}),
        json!("gzip"),
        json!({}),
    ] {
        assert!(written(bad.clone()).is_err(), "{bad}");
    }
}
