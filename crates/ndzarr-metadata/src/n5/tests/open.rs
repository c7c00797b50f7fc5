//! Tests that open N5 datasets.

use super::*;

#[test]
fn n5_axes_are_native_or_reversed() {
    let document = r#"{"dataType":"uint16","compression":{"type":"raw"},"blockSize":[1,2,3],"dimensions":[5,6,7],"axes":["x","y","z"]}"#;
    let store = [("a/attributes.json", document)];
    let native = dataset(document).expect("valid");
    assert_eq!(
        (&native.shape[..], &native.unit_shape[..]),
        (&[5, 6, 7][..], &[1, 2, 3][..])
    );
    assert_eq!(
        native.codecs[0].config,
        CodecConfig::Transpose {
            order: vec![2, 1, 0]
        }
    );
    assert_eq!(native.codecs.len(), 2);
    assert_eq!(native.keys.key(&[1, 2, 3]), "a/1/2/3");
    assert_eq!(
        native.dimension_names,
        Some(["x", "y", "z"].map(|n| Some(n.to_owned())).to_vec())
    );
    assert_eq!(
        native.fill_value,
        FillValue::zero(&DataType::UInt { bits: 16 })
    );

    let options = OpenOptions {
        n5_axes: N5Axes::Reversed,
        ..OpenOptions::default()
    };
    let node = open_with(&store, "a", &options)
        .expect("valid")
        .expect("there");
    let reversed = node.kind.array().expect("a dataset");
    assert_eq!(
        (&reversed.shape[..], &reversed.unit_shape[..]),
        (&[7, 6, 5][..], &[3, 2, 1][..])
    );
    assert_eq!(reversed.codecs.len(), 1);
    assert_eq!(reversed.keys.key(&[3, 2, 1]), "a/1/2/3");
    assert_eq!(
        reversed.dimension_names,
        Some(["z", "y", "x"].map(|n| Some(n.to_owned())).to_vec())
    );
    assert_eq!(node.context.n5_axes, N5Axes::Reversed);
    assert_eq!(
        node.attributes["axes"],
        json!(["x", "y", "z"]),
        "attributes are never turned round"
    );

    let line = dataset(
        r#"{"dataType":"int64","compression":{"type":"raw"},"blockSize":[1],"dimensions":[1]}"#,
    );
    assert_eq!(line.expect("valid").codecs.len(), 1);
}

#[test]
fn n5_rank_0_has_one_block_named_0() {
    let spec = dataset(
        r#"{"blockSize":[],"compression":{"type":"raw"},"dataType":"int16","dimensions":[]}"#,
    )
    .expect("tensorstore writes it");
    assert!(spec.shape.is_empty() && spec.unit_shape.is_empty());
    assert_eq!(spec.keys.key(&[]), "a/0");
    assert_eq!(spec.keys.encoding, KeyEncoding::N5 { reversed: false });
}

#[test]
fn n5_all_types_open_and_no_others() {
    for name in [
        "string", "object", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32",
        "int64", "float32", "float64",
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
        let error = dataset(&document.to_string())
            .expect_err(member)
            .to_string();
        assert!(
            error.contains("a/attributes.json") && error.contains(member),
            "{error}"
        );
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
    let legacy = dataset(&document(
        r#""compressionType":"snappy","blockSize":[1],"dimensions":[1]"#,
    ));
    assert!(
        legacy
            .expect_err("an unknown name")
            .to_string()
            .contains("snappy")
    );
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
    assert_eq!(
        (&spec.shape[..], &spec.unit_shape[..]),
        (&[5, 0][..], &[3, 2][..])
    );
}

#[test]
fn n5_missing_members_are_named() {
    let error = |document: &str, wanted: Wanted| {
        let options = OpenOptions {
            wanted,
            ..OpenOptions::default()
        };
        open_with(
            &[
                ("attributes.json", r#"{"n5":"2.0.0"}"#),
                ("a/attributes.json", document),
            ],
            "a",
            &options,
        )
    };
    let block = r#"{"dataType":"uint8","compression":{"type":"raw"},"dimensions":[1]}"#;
    let text = error(block, Wanted::Any)
        .expect_err("incomplete")
        .to_string();
    assert_eq!(
        text,
        "a/attributes.json: not a dataset: blockSize is missing"
    );
    let text = error(r#"{"blockSize":[1]}"#, Wanted::Array)
        .expect_err("incomplete")
        .to_string();
    assert_eq!(
        text,
        "a/attributes.json: not a dataset: dimensions, dataType, compression are missing"
    );
    // BDV keeps a lone dataType on its setup groups.
    let bdv = r#"{"dataType":"uint16","downsamplingFactors":[[1,1,1],[2,2,1]]}"#;
    assert!(
        error(bdv, Wanted::Array)
            .expect_err("no array")
            .to_string()
            .contains("dimensions")
    );
    for wanted in [Wanted::Any, Wanted::Group] {
        let node = error(bdv, wanted).expect("a group").expect("there");
        assert_eq!(node.kind, NodeKind::Group);
        assert_eq!(
            node.attributes["dataType"],
            json!("uint16"),
            "shown on a group"
        );
    }
}

#[test]
fn n5_broken_documents_are_errors_and_null_is_not() {
    let root = ("attributes.json", r#"{"n5":"2.0.0"}"#);
    for broken in ["{", "{\"a\":}", "nul", "{} x"] {
        let error = open(&[root, ("a/attributes.json", broken)], "a")
            .expect_err(broken)
            .to_string();
        assert!(error.contains("a/attributes.json"), "{error}");
    }
    for blank in ["", " \n"] {
        let error = open(&[root, ("a/attributes.json", blank)], "a")
            .expect_err("blank")
            .to_string();
        assert!(error.contains("a/attributes.json: is blank"), "{error}");
    }
    let node = open(&[root, ("a/attributes.json", "null")], "a")
        .expect("no error")
        .expect("a group");
    assert!(node.attributes.is_empty());
    for odd in ["\"String\"", "0", "[1,2]"] {
        let node = open(&[root, ("a/attributes.json", odd)], "a")
            .expect(odd)
            .expect("a group");
        assert!(node.attributes.is_empty() && node.warnings.len() == 1);
    }
}

#[test]
fn n5_python_tokens_and_large_numbers_survive_opening() {
    let document =
        r#"{"a":NaN,"big":9007199254740993,"u":18446744073709551616,"dbl":3.0,"n5":"2.0.0"}"#;
    let node = open(&[("attributes.json", document)], "")
        .expect("lenient")
        .expect("there");
    let seen = json!({"a": "NaN", "big": 9_007_199_254_740_993_u64, "u": 18_446_744_073_709_551_616.0, "dbl": 3.0});
    assert_eq!(Value::Object(node.attributes), seen);
}

#[test]
fn n5_user_view_of_a_dataset_hides_six_names() {
    let document = r#"{"n5":"2.0.0","dataType":"uint8","compression":{"type":"raw"},"compressionType":"raw","blockSize":[5],"dimensions":[7],"resolution":[4.0],"axes":["x"],"foo":"bar"}"#;
    let node = open(&[("attributes.json", document)], "")
        .expect("valid")
        .expect("there");
    assert_eq!(
        Value::Object(node.attributes),
        json!({"resolution": [4.0], "axes": ["x"], "foo": "bar"})
    );
}

#[test]
fn n5_axes_of_another_form_are_plain_attributes() {
    for axes in [
        json!([{"name": "x"}]),
        json!(["x", "y", "z"]),
        json!("xy"),
        json!([1, 2]),
    ] {
        let document = json!({"dataType": "uint8", "compression": {"type": "raw"}, "blockSize": [5, 5], "dimensions": [7, 5], "axes": axes});
        assert_eq!(
            dataset(&document.to_string())
                .expect("valid")
                .dimension_names,
            None
        );
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
            let options = OpenOptions {
                n5_axes: axes,
                ..OpenOptions::default()
            };
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
