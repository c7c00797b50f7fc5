//! Tests that open N5 groups and datasets.

use super::*;

fn xz(preset: u32) -> CodecConfig {
    CodecConfig::Lzma(LzmaConfig { format: LzmaFormat::Xz, check: 4, preset: Some(preset), filters: None })
}

fn blosc(cname: BloscCname, clevel: u8, shuffle: BloscShuffle) -> CodecConfig {
    CodecConfig::Blosc(BloscConfig { cname, clevel, shuffle, typesize: Some(2), blocksize: 0 })
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
        (r#"{"dataType":"uint16","compression":{"type":"raw"},"blockSize":[3,2],"dimensions":[5,4]}"#, None),
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
            Some(CodecConfig::Zstd { level: 3, checksum: false }),
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
            Some(CodecConfig::Zstd { level: 0, checksum: false }),
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
        assert_eq!((spec.shape.as_slice(), spec.unit_shape.as_slice()), (&[5, 4][..], &[3, 2][..]));
        assert_eq!(spec.data_type, DataType::UInt { bits: 16 });
        assert_eq!(compression(&spec), expected.map(CodecSpec::from), "{document}");
    }
}

#[test]
fn n5_axes_are_native_or_reversed() {
    let document = r#"{"dataType":"uint16","compression":{"type":"raw"},"blockSize":[1,2,3],"dimensions":[5,6,7],"axes":["x","y","z"]}"#;
    let store = [("a/attributes.json", document)];
    let native = dataset(document).expect("valid");
    assert_eq!((&native.shape[..], &native.unit_shape[..]), (&[5, 6, 7][..], &[1, 2, 3][..]));
    assert_eq!(native.codecs[0].config, CodecConfig::Transpose { order: vec![2, 1, 0] });
    assert_eq!(native.codecs.len(), 2);
    assert_eq!(native.keys.key(&[1, 2, 3]), "a/1/2/3");
    assert_eq!(native.dimension_names, Some(["x", "y", "z"].map(|n| Some(n.to_owned())).to_vec()));
    assert_eq!(native.fill_value, FillValue::zero(&DataType::UInt { bits: 16 }));

    let options = OpenOptions { n5_axes: N5Axes::Reversed, ..OpenOptions::default() };
    let node = open_with(&store, "a", &options).expect("valid").expect("there");
    let reversed = node.kind.array().expect("a dataset");
    assert_eq!((&reversed.shape[..], &reversed.unit_shape[..]), (&[7, 6, 5][..], &[3, 2, 1][..]));
    assert_eq!(reversed.codecs.len(), 1);
    assert_eq!(reversed.keys.key(&[3, 2, 1]), "a/1/2/3");
    assert_eq!(reversed.dimension_names, Some(["z", "y", "x"].map(|n| Some(n.to_owned())).to_vec()));
    assert_eq!(node.context.n5_axes, N5Axes::Reversed);
    assert_eq!(node.attributes["axes"], json!(["x", "y", "z"]), "attributes are never turned round");

    let line =
        dataset(r#"{"dataType":"int64","compression":{"type":"raw"},"blockSize":[1],"dimensions":[1]}"#);
    assert_eq!(line.expect("valid").codecs.len(), 1);
}

#[test]
fn n5_rank_0_has_one_block_named_0() {
    let spec = dataset(r#"{"blockSize":[],"compression":{"type":"raw"},"dataType":"int16","dimensions":[]}"#)
        .expect("tensorstore writes it");
    assert!(spec.shape.is_empty() && spec.unit_shape.is_empty());
    assert_eq!(spec.keys.key(&[]), "a/0");
    assert_eq!(spec.keys.encoding, KeyEncoding::N5 { reversed: false });
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
        assert_eq!(compression(&dataset(&document).expect(name)), expected.map(CodecSpec::from));
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
    assert_eq!(with(r#"{"type":"bzip2"}"#).config, CodecConfig::Bz2 { level: 9 });
    assert_eq!(with(r#"{"type":"xz"}"#).config, xz(6));
    assert_eq!(with(r#"{"type":"lz4"}"#).config, CodecConfig::N5Lz4 { block_size: 65_536 });
    assert_eq!(with(r#"{"type":"lz4","blockSize":64}"#).config, CodecConfig::N5Lz4 { block_size: 64 });
    assert_eq!(with(r#"{"type":"zstd"}"#).config, CodecConfig::Zstd { level: 3, checksum: false });
    assert_eq!(with(r#"{"type":"blosc"}"#).config, blosc(BloscCname::BloscLz, 6, BloscShuffle::None));
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

#[test]
fn n5_all_types_open_and_no_others() {
    for name in [
        "string", "object", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64",
        "float32", "float64",
    ] {
        let document = format!(
            r#"{{"dataType":"{name}","compression":{{"type":"raw"}},"blockSize":[3],"dimensions":[5]}}"#
        );
        assert_eq!(dataset(&document).expect(name).data_type.to_string(), name);
    }
    for name in [
        "json",
        "bytes",
        "bool",
        "int4",
        "float16",
        "complex64",
        "datetime64[s]",
        "UINT8",
        "bfloat16",
        "r8",
        "",
    ] {
        let document = format!(
            r#"{{"dataType":"{name}","compression":{{"type":"raw"}},"blockSize":[3],"dimensions":[5]}}"#
        );
        let error = dataset(&document).expect_err(name);
        assert!(
            matches!(&error, MetadataError::Unsupported { key, name: n, .. } if key == "a/attributes.json" && n == name)
        );
    }
}

/// tensorstore's list, and the compressors of the others.
#[test]
fn n5_what_must_not_open() {
    let base = json!({"dataType": "uint16", "compression": {"type": "raw"}, "blockSize": [3, 2], "dimensions": [5, 4]});
    let error = |member: &str, value: Value| {
        let mut document = base.clone();
        document[member] = value;
        let error = dataset(&document.to_string()).expect_err(member).to_string();
        assert!(error.contains("a/attributes.json") && error.contains(member), "{error}");
        error
    };
    for (member, value) in [
        ("dataType", json!(10)),
        ("compression", json!(3)),
        ("compression", json!("gzip")),
        ("compression", json!({})),
        ("compression", json!({"type": 1})),
        ("compression", json!([])),
        ("dimensions", json!([5, -4])),
        ("dimensions", json!([5, 4.5])),
        ("dimensions", json!(["5", 4])),
        ("dimensions", json!([5])),
        ("dimensions", json!(5)),
        ("blockSize", json!([3, 0])),
        ("blockSize", json!([3, -1])),
        ("blockSize", json!([3, 2, 1])),
        ("blockSize", json!([4_294_967_296u64, 1])),
        ("blockSize", json!([4_294_967_295u64, 4_294_967_295u64])),
        ("codecs", json!([])),
        ("shardSize", json!([6, 4])),
    ] {
        error(member, value);
    }
    for name in ["jpeg", "lzma", "zstandard", "brotli", "GZIP"] {
        assert!(error("compression", json!({"type": name})).contains(name));
    }
    let document = |members: &str| format!(r#"{{"dataType":"uint8",{members}}}"#);
    let legacy = dataset(&document(r#""compressionType":"snappy","blockSize":[1],"dimensions":[1]"#));
    assert!(legacy.expect_err("an unknown name").to_string().contains("snappy"));
    let huge = json!({"dataType": "uint8", "compression": {"type": "raw"},
        "blockSize": vec![1; 70_000], "dimensions": vec![1; 70_000]});
    assert!(dataset(&huge.to_string()).is_err());
}

#[test]
fn n5_sizes_may_be_written_as_floats_and_dimensions_may_be_0() {
    let spec = dataset(
        r#"{"dataType":"uint8","compression":{"type":"raw"},"blockSize":[3.0,2],"dimensions":[5.0,0]}"#,
    );
    let spec = spec.expect("lenient");
    assert_eq!((&spec.shape[..], &spec.unit_shape[..]), (&[5, 0][..], &[3, 2][..]));
}

#[test]
fn n5_missing_members_are_named() {
    let error = |document: &str, wanted: Wanted| {
        let options = OpenOptions { wanted, ..OpenOptions::default() };
        open_with(&[("attributes.json", r#"{"n5":"2.0.0"}"#), ("a/attributes.json", document)], "a", &options)
    };
    let block = r#"{"dataType":"uint8","compression":{"type":"raw"},"dimensions":[1]}"#;
    let text = error(block, Wanted::Any).expect_err("incomplete").to_string();
    assert_eq!(text, "a/attributes.json: not a dataset: blockSize is missing");
    let text = error(r#"{"blockSize":[1]}"#, Wanted::Array).expect_err("incomplete").to_string();
    assert_eq!(text, "a/attributes.json: not a dataset: dimensions, dataType, compression are missing");
    // BDV keeps a lone dataType on its setup groups.
    let bdv = r#"{"dataType":"uint16","downsamplingFactors":[[1,1,1],[2,2,1]]}"#;
    assert!(error(bdv, Wanted::Array).expect_err("no array").to_string().contains("dimensions"));
    for wanted in [Wanted::Any, Wanted::Group] {
        let node = error(bdv, wanted).expect("a group").expect("there");
        assert_eq!(node.kind, NodeKind::Group);
        assert_eq!(node.attributes["dataType"], json!("uint16"), "shown on a group");
    }
}

#[test]
fn n5_broken_documents_are_errors_and_null_is_not() {
    let root = ("attributes.json", r#"{"n5":"2.0.0"}"#);
    for broken in ["{", "{\"a\":}", "nul", "{} x"] {
        let error = open(&[root, ("a/attributes.json", broken)], "a").expect_err(broken).to_string();
        assert!(error.contains("a/attributes.json"), "{error}");
    }
    for blank in ["", " \n"] {
        let error = open(&[root, ("a/attributes.json", blank)], "a").expect_err("blank").to_string();
        assert!(error.contains("a/attributes.json: is blank"), "{error}");
    }
    let node = open(&[root, ("a/attributes.json", "null")], "a").expect("no error").expect("a group");
    assert!(node.attributes.is_empty());
    for odd in ["\"String\"", "0", "[1,2]"] {
        let node = open(&[root, ("a/attributes.json", odd)], "a").expect(odd).expect("a group");
        assert!(node.attributes.is_empty() && node.warnings.len() == 1);
    }
}

#[test]
fn n5_versions_are_checked_on_the_way_down() {
    let raw = r#"{"dataType":"uint8","compression":{"type":"raw"},"blockSize":[5,4],"dimensions":[7,5]}"#;
    for version in ["1.5.0", "2.5.1", "4.0.0", "4.9.9", "2.1.3-SNAPSHOT"] {
        let root = format!(r#"{{"n5":"{version}"}}"#);
        let store = [("attributes.json", root.as_str()), ("g/a/attributes.json", raw)];
        assert!(open(&store, "g/a").expect(version).is_some());
        assert_eq!(open(&store, "").expect(version).expect("the root").kind, NodeKind::Group);
    }
    let store = [("attributes.json", r#"{"n5":"5.0.0"}"#), ("g/a/attributes.json", raw)];
    for at in ["", "g", "g/a"] {
        let error = open(&store, at).expect_err("too new").to_string();
        assert!(error.contains("5.0.0") && error.starts_with("attributes.json"), "{error}");
        let options = OpenOptions { n5_version: crate::N5VersionCheck::Skip, ..OpenOptions::default() };
        assert!(open_with(&store, at, &options).expect("not looked at").is_some());
    }
}

#[test]
fn n5_groups_need_no_document() {
    let raw = r#"{"dataType":"uint8","compression":{"type":"raw"},"blockSize":[5,4],"dimensions":[7,5]}"#;
    let store = [
        ("attributes.json", r#"{"n5":"2.0.0","k":1}"#),
        ("g/h/a/attributes.json", raw),
        ("g/h/a/0/0", "block"),
        ("g/x/.n5tmp1", "left over"),
        ("g/attributes.json.__lock", ""),
    ];
    let root = open(&store, "").expect("valid").expect("there");
    assert_eq!((root.kind.clone(), root.attributes.clone()), (NodeKind::Group, attributes(json!({"k": 1}))));
    let g = open(&store, "g").expect("valid").expect("there");
    assert_eq!(g.kind, NodeKind::ImplicitGroup);
    assert!(g.documents.is_empty());
    assert_eq!(open(&store, "nothing").expect("valid"), None);
    assert_eq!(open(&store, "g/h/a/0").expect("valid"), None, "a folder of blocks is no node");
    let names = |node: &Node| -> Vec<(String, MemberKind)> {
        let members =
            try_with(&store, |known| crate::operations::children::listed(node, known)).expect("valid");
        members.into_iter().map(|member| (member.name, member.kind)).collect()
    };
    assert_eq!(names(&root), [("g".to_owned(), MemberKind::Group)]);
    let h = open(&store, "g/h").expect("valid").expect("there");
    assert_eq!(names(&h), [("a".to_owned(), MemberKind::Array)]);
    let a = open(&store, "g/h/a").expect("valid").expect("there");
    assert_eq!(names(&a), []);
}

#[test]
fn n5_an_empty_folder_is_a_group() {
    let mut known = Known::new();
    known.add_document("attributes.json", Some(Bytes::from_static(br#"{"n5":"4.0.0"}"#)));
    known.add_document("g/attributes.json", None);
    known.add_listing("g/", Listing::default());
    known.add_listing("", Listing { keys: vec!["attributes.json".into()], prefixes: vec!["g".into()] });
    let node = super::super::open(&path("g"), &known, &OpenOptions::default());
    assert_eq!(node.ok().flatten().map(|node| node.kind), Some(NodeKind::ImplicitGroup));
}

/// Found by CI: threads that created one array and opened it read the document before it was there and
/// the folder after that, and took the array for a group.
#[test]
fn n5_a_document_that_was_written_meanwhile_is_read() {
    let mut known = Known::new();
    known.add_document("attributes.json", Some(Bytes::from_static(br#"{"n5":"4.0.0"}"#)));
    known.add_presence("g/attributes.json", false);
    known.add_document("g/attributes.json", None);
    let need = |known: &Known| match super::super::open(&path("g"), known, &OpenOptions::default()) {
        Err(Stop::Need(need)) => need,
        other => panic!("{other:?}"),
    };
    assert_eq!(need(&known), crate::Need::Listings(vec!["g/".into()]));
    known.add_listing("g/", Listing { keys: vec!["attributes.json".into()], prefixes: vec![] });
    assert_eq!(need(&known), crate::Need::Presence(vec!["g/attributes.json".into()]));
    known.add_presence("g/attributes.json", true);
    assert_eq!(need(&known), crate::Need::Documents(vec!["g/attributes.json".into()]));
}

#[test]
fn n5_without_a_version_only_nodes_with_members_are_found_unless_n5_is_asked_for() {
    let raw = r#"{"dataType":"uint8","compression":{"type":"raw"},"blockSize":[5,4],"dimensions":[7,5]}"#;
    let store = [("g/a/attributes.json", raw), ("k/attributes.json", r#"{"some":"thing"}"#)];
    let forced = OpenOptions { format: Some(Format::N5), ..OpenOptions::default() };
    assert!(open(&store, "g/a").expect("valid").is_some(), "as tensorstore writes it");
    for at in ["", "g"] {
        assert_eq!(open(&store, at).expect("valid"), None, "{at:?}");
        let node = open_with(&store, at, &forced).expect("valid").expect("N5 was asked for");
        assert_eq!(node.kind, NodeKind::ImplicitGroup, "{at:?}");
    }
    // As viewers and neuroglancer's writers leave the groups of their images.
    let odd = open(&store, "k").expect("valid").expect("it has members");
    assert_eq!(odd.kind, NodeKind::Group);
    assert_eq!(odd.warnings, ["the version of N5 is not stated, neither in k/attributes.json nor above"]);
    let asked = open_with(&store, "k", &forced).expect("valid").expect("N5 was asked for");
    assert_eq!((asked.kind, asked.warnings), (NodeKind::Group, Vec::new()));
    let empty = [("k/attributes.json", "{}")];
    assert_eq!(open(&empty, "k").expect("valid"), None);
    assert_eq!(open_with(&[], "", &forced).expect("valid"), None);
    // A container inside a store, and zarr-python 2 with a version in every group.
    let store = [
        ("v.n5/attributes.json", r#"{"n5":"2.0.0"}"#),
        ("v.n5/sub/attributes.json", r#"{"n5":"2.0.0","q":null}"#),
    ];
    assert_eq!(open(&store, "v.n5").expect("valid").expect("there").kind, NodeKind::Group);
    let sub = open(&store, "v.n5/sub").expect("valid").expect("there");
    assert_eq!(Value::Object(sub.attributes), json!({"q": null}), "nulls are shown");
    assert_eq!(open(&store, "").expect("valid"), None);
}

#[test]
fn n5_python_tokens_and_large_numbers_survive_opening() {
    let document = r#"{"a":NaN,"big":9007199254740993,"u":18446744073709551616,"dbl":3.0,"n5":"2.0.0"}"#;
    let node = open(&[("attributes.json", document)], "").expect("lenient").expect("there");
    let seen =
        json!({"a": "NaN", "big": 9_007_199_254_740_993_u64, "u": 18_446_744_073_709_551_616.0, "dbl": 3.0});
    assert_eq!(Value::Object(node.attributes), seen);
}

#[test]
fn n5_user_view_of_a_dataset_hides_six_names() {
    let document = r#"{"n5":"2.0.0","dataType":"uint8","compression":{"type":"raw"},"compressionType":"raw","blockSize":[5],"dimensions":[7],"resolution":[4.0],"axes":["x"],"foo":"bar"}"#;
    let node = open(&[("attributes.json", document)], "").expect("valid").expect("there");
    assert_eq!(Value::Object(node.attributes), json!({"resolution": [4.0], "axes": ["x"], "foo": "bar"}));
}

#[test]
fn n5_axes_of_another_form_are_plain_attributes() {
    for axes in [json!([{"name": "x"}]), json!(["x", "y", "z"]), json!("xy"), json!([1, 2])] {
        let document = json!({"dataType": "uint8", "compression": {"type": "raw"}, "blockSize": [5, 5], "dimensions": [7, 5], "axes": axes});
        assert_eq!(dataset(&document.to_string()).expect("valid").dimension_names, None);
    }
}

#[test]
fn n5_damaged_documents_never_panic() {
    let document = r#"{"n5":"4.0.0","dataType":"uint16","compression":{"type":"blosc","cname":"lz4","clevel":5,"shuffle":-1,"blocksize":0},"blockSize":[3,2],"dimensions":[5,4],"axes":["x","y"],"u":1e400}"#;
    let check = |bytes: &[u8]| {
        for axes in [N5Axes::Native, N5Axes::Reversed] {
            let mut known = Known::new();
            known.add_document("attributes.json", Some(Bytes::copy_from_slice(bytes)));
            known.add_listing("", Listing::default());
            let options = OpenOptions { n5_axes: axes, ..OpenOptions::default() };
            let _ = super::super::open(&NodePath::root(), &known, &options);
        }
    };
    for end in 0..document.len() {
        check(&document.as_bytes()[..end]);
        for bit in 0..8 {
            let mut bytes = document.as_bytes().to_vec();
            bytes[end] ^= 1 << bit;
            check(&bytes);
        }
    }
}
