//! Zarr v2: new nodes.

use ndzarr_metadata::{
    ArrayRequest, CodecRequest, CreateOptions, Existing, ExistingDocument, FillRequest, Format,
    NodePath, Order, create_array, create_group,
};
use ndzarr_model::{
    Attributes, BloscCname, BloscConfig, BloscShuffle, CodecConfig, CodecSpec, DataType, Endian,
    FillValue, N5BlockConfig,
};
use serde_json::{Value, json};

use crate::it::store::{Store, create, request};
use crate::it::zarr2::ARRAY;

fn made(request: &ArrayRequest) -> Result<Value, String> {
    let mut store = Store::new(&[]);
    let node = create(&mut store, Format::Zarr2, "", request).map_err(|e| e.to_string())?;
    // The node that was returned is the one that opens.
    let opened = store.open("").expect("opens");
    assert_eq!(node.kind, opened.kind);
    assert_eq!(node.attributes, opened.attributes);
    assert_eq!(node.documents.len(), opened.documents.len());
    Ok(store.json(".zarray"))
}

#[test]
fn v2_024_to_029_a_plain_array() {
    let document = made(&request(&[100, 80], &[32, 32], "uint16")).expect("plain");
    let expected = json!({
        "zarr_format": 2, "shape": [100, 80], "chunks": [32, 32], "dtype": "<u2", "compressor": null,
        "filters": null, "fill_value": 0, "order": "C", "dimension_separator": ".",
    });
    assert_eq!(document, expected);
}

#[test]
fn v2_040_dtypes() {
    for (data_type, little, big) in [
        ("bool", "|b1", "|b1"),
        ("int8", "|i1", "|i1"),
        ("uint8", "|u1", "|u1"),
        ("int64", "<i8", ">i8"),
        ("float16", "<f2", ">f2"),
        ("complex128", "<c16", ">c16"),
        ("r24", "|V3", "|V3"),
    ] {
        let mut request = request(&[4], &[2], data_type);
        assert_eq!(made(&request).expect(data_type)["dtype"], little);
        request.endian = Some(Endian::Big);
        assert_eq!(made(&request).expect(data_type)["dtype"], big);
    }
    assert!(
        made(&request(&[4], &[2], "bfloat16"))
            .expect_err("no NumPy name")
            .contains("bfloat16")
    );
}

#[test]
fn v2_063_to_068_fill_values() {
    let check = |data_type: &str, fill: FillRequest, expected: Option<Value>| {
        let document = made(&request_with!(
            request(&[4], &[2], data_type),
            fill_value = fill
        ));
        match expected {
            Some(expected) => assert_eq!(document.expect(data_type)["fill_value"], expected),
            None => assert!(document.is_err(), "{document:?}"),
        }
    };
    check(
        "float32",
        FillRequest::Json(json!("NaN")),
        Some(json!("NaN")),
    );
    check(
        "float32",
        FillRequest::Json(json!("-Infinity")),
        Some(json!("-Infinity")),
    );
    check("float64", FillRequest::Json(json!(1.5)), Some(json!(1.5)));
    check(
        "complex64",
        FillRequest::Json(json!([1.5, "NaN"])),
        Some(json!([1.5, "NaN"])),
    );
    check(
        "r24",
        FillRequest::Json(json!([97, 98, 99])),
        Some(json!("YWJj")),
    );
    check("bool", FillRequest::Json(json!(true)), Some(json!(true)));
    check(
        "uint64",
        FillRequest::Json(json!(u64::MAX)),
        Some(json!(u64::MAX)),
    );
    check("float32", FillRequest::Undefined, Some(Value::Null));
    check("int16", FillRequest::Zero, Some(json!(0)));
    check(
        "int16",
        FillRequest::Value(FillValue::defined((-3i16).to_ne_bytes())),
        Some(json!(-3)),
    );
    check("float32", FillRequest::Json(json!("0x7fc00001")), None);
    check("int16", FillRequest::Json(json!(65536)), None);
    check("int16", FillRequest::Value(FillValue::defined([1])), None);
}

#[test]
fn v2_025_filters_and_compressor() {
    let check = |codecs: Vec<CodecConfig>, filters: Value, compressor: Value| {
        let codecs = CodecRequest::Neutral(codecs.into_iter().map(CodecSpec::from).collect());
        let document = made(&request_with!(
            request(&[4], &[2], "uint16"),
            codecs = codecs
        ))
        .expect("writable");
        assert_eq!(
            (&document["filters"], &document["compressor"]),
            (&filters, &compressor)
        );
    };
    let zlib = CodecConfig::Zlib { level: 4 };
    let crc32c = CodecConfig::Crc32c {
        location: Default::default(),
    };
    check(
        vec![zlib.clone()],
        Value::Null,
        json!({"id": "zlib", "level": 4}),
    );
    check(
        vec![zlib, crc32c],
        json!([{"id": "zlib", "level": 4}]),
        json!({"id": "crc32c"}),
    );
    check(
        vec![CodecConfig::Zstd {
            level: 3,
            checksum: false,
        }],
        Value::Null,
        json!({"id": "zstd", "level": 3}),
    );
    check(
        vec![CodecConfig::Zstd {
            level: 3,
            checksum: true,
        }],
        Value::Null,
        json!({"id": "zstd", "level": 3, "checksum": true}),
    );
    let blosc = BloscConfig {
        cname: BloscCname::Zstd,
        clevel: 7,
        shuffle: BloscShuffle::Auto,
        typesize: Some(2),
        blocksize: 0,
    };
    check(
        vec![CodecConfig::Blosc(blosc)],
        Value::Null,
        json!({"id": "blosc", "cname": "zstd", "clevel": 7, "shuffle": -1, "blocksize": 0}),
    );
}

#[test]
fn v2_160_order_f() {
    let mut array = request(&[4, 6], &[2, 3], "uint16");
    array.order = Order::F;
    assert_eq!(made(&array).expect("order F")["order"], "F");
    array.order = Order::C;
    let transpose =
        |order: Vec<usize>| CodecRequest::Neutral(vec![CodecConfig::Transpose { order }.into()]);
    array.codecs = transpose(vec![1, 0]);
    assert_eq!(made(&array).expect("a reversal")["order"], "F");
    array.codecs = transpose(vec![0, 1]);
    assert!(made(&array).expect_err("no form").contains("reversal"));
}

#[test]
fn v2_codecs_in_its_own_form() {
    let with = |codecs: Value| {
        made(&request_with!(
            request(&[4], &[2], "uint16"),
            codecs = CodecRequest::Json(codecs)
        ))
    };
    let codecs = json!({"compressor": {"id": "gzip", "level": 2}, "filters": []});
    let document = with(codecs).expect("writable");
    assert_eq!(document["compressor"], json!({"id": "gzip", "level": 2}));
    assert_eq!(document["filters"], Value::Null, "an empty list is none");
    assert!(
        with(json!({"compressor": {"id": "gzip", "level": 12}}))
            .expect_err("no such level")
            .contains("level")
    );
    assert!(with(json!({"codecs": []})).is_err());
    assert!(with(json!([])).is_err());
    assert!(with(json!({"filters": [{"level": 1}]})).is_err());
}

#[test]
fn what_v2_cannot_express() {
    let base = || request(&[4], &[2], "uint16");
    let unwritable = CodecSpec::new(CodecConfig::Gzip { level: 1 }, Some("level 12".into()));
    let block = N5BlockConfig {
        compression: None,
        edge_blocks: Default::default(),
    };
    for (bad, what) in [
        (request_with!(base(), shard_shape = Some(vec![4])), "shard"),
        (
            request_with!(base(), key_encoding = Some("default".into())),
            "chunk key encoding",
        ),
        (request_with!(base(), separator = Some('-')), "separator"),
        (
            request_with!(base(), chunk_shape = vec![2, 2]),
            "chunk shape",
        ),
        (request_with!(base(), chunk_shape = vec![0]), "chunk shape"),
        (
            request_with!(base(), dimension_names = Some(vec![])),
            "dimension names",
        ),
        (
            request_with!(base(), codecs = CodecRequest::Neutral(vec![unwritable])),
            "level 12",
        ),
        (
            request_with!(
                base(),
                codecs = CodecRequest::Neutral(vec![CodecConfig::N5Block(Box::new(block)).into()])
            ),
            "array→bytes",
        ),
        (
            request_with!(
                base(),
                codecs = CodecRequest::Neutral(vec![CodecConfig::N5Lz4 { block_size: 1 }.into()])
            ),
            "codec",
        ),
    ] {
        let error = made(&bad).expect_err(what);
        assert!(error.contains(what), "{error}");
    }
    // Forms that are read but never written.
    let empty = made(&request_with!(
        base(),
        shape = vec![0],
        chunk_shape = vec![0]
    ))
    .expect("chunks of length 0 become 1");
    assert_eq!(empty["chunks"], json!([1]));
}

#[test]
fn v2_145_attributes_and_dimension_names() {
    let mut store = Store::new(&[]);
    let mut array = request(&[4, 4], &[2, 2], "uint16");
    create(&mut store, Format::Zarr2, "plain", &array).expect("created");
    assert_eq!(store.keys(), [".zgroup", "plain/.zarray"]);
    array.attributes = json!({"units": "K"})
        .as_object()
        .cloned()
        .expect("an object");
    array.dimension_names = Some(vec![Some("y".into()), Some("x".into())]);
    array.separator = Some('/');
    let node = create(&mut store, Format::Zarr2, "named", &array).expect("created");
    assert_eq!(
        store.json("named/.zattrs"),
        json!({"units": "K", "_ARRAY_DIMENSIONS": ["y", "x"]})
    );
    assert_eq!(
        node.kind
            .array()
            .and_then(|spec| spec.dimension_names.clone()),
        array.dimension_names
    );
    assert_eq!(
        node.kind
            .array()
            .map(|spec| spec.keys.key(&[1, 0]))
            .as_deref(),
        Some("named/1/0")
    );
    array.dimension_names = Some(vec![Some("y".into()), None]);
    assert!(create(&mut store, Format::Zarr2, "half", &array).is_err());
    let odd = Store::new(&[
        ("x/.zgroup", "{\"zarr_format\":2}"),
        ("x/.zattrs", "{\"a\":NaN}"),
    ]);
    array.dimension_names = None;
    array.attributes = odd.open("x").expect("opens").attributes;
    create(&mut store, Format::Zarr2, "odd", &array).expect("as a string");
    assert_eq!(store.json("odd/.zattrs"), json!({"a": "NaN"}));
}

#[test]
fn v2_136_ancestors() {
    let mut store = Store::new(&[("a/.zgroup", "{\"zarr_format\":2, \"kept\":1}")]);
    let path = NodePath::new("a/b/c").expect("a path");
    let options = CreateOptions::new(Format::Zarr2);
    let array = request(&[4], &[2], "uint16");
    let creation = store
        .ask(|known| create_array(&path, &array, known, &options))
        .expect("free");
    let puts: Vec<(&str, ExistingDocument)> = creation
        .put
        .iter()
        .map(|document| (document.key.as_str(), document.existing))
        .collect();
    assert_eq!(
        puts,
        [
            (".zgroup", ExistingDocument::Keep),
            ("a/b/.zgroup", ExistingDocument::Keep),
            ("a/b/c/.zarray", ExistingDocument::Refuse),
        ]
    );
    store.apply(&creation);
    assert_eq!(store.json("a/b/.zgroup"), json!({"zarr_format": 2}));
    assert!(store.text("a/.zgroup").contains("kept"));
    assert_eq!(store.members("a"), ["b"]);
}

#[test]
fn v2_t45_below_an_array() {
    for (key, text) in [
        ("a/.zarray", ARRAY),
        ("a/zarr.json", crate::it::zarr3::ARRAY),
    ] {
        let mut store = Store::new(&[(key, text)]);
        let error = create(
            &mut store,
            Format::Zarr2,
            "a/b/c",
            &request(&[4], &[2], "uint16"),
        );
        assert!(
            error
                .expect_err("below an array")
                .to_string()
                .contains("/a"),
            "{key}"
        );
        assert_eq!(store.keys(), [key], "nothing written");
    }
}

#[test]
fn existing_nodes() {
    let group = "{\"zarr_format\":2}";
    for (key, text) in [
        ("a/.zarray", ARRAY),
        ("a/.zgroup", group),
        ("a/zarr.json", crate::it::zarr3::GROUP),
    ] {
        let mut store = Store::new(&[
            (".zgroup", group),
            (key, text),
            ("a/0", "old"),
            ("a/.zattrs", "{\"x\":1}"),
            ("ab/0", "other"),
        ]);
        let path = NodePath::new("a").expect("a path");
        let mut options = CreateOptions::new(Format::Zarr2);
        let attributes = Attributes::new();
        let refused = store.ask(|known| create_group(&path, &attributes, known, &options));
        assert!(refused.expect_err(key).to_string().contains(key));
        options.existing = Existing::Replace;
        let creation = store
            .ask(|known| create_group(&path, &attributes, known, &options))
            .expect(key);
        store.apply(&creation);
        assert_eq!(store.keys(), [".zgroup", "a/.zgroup", "ab/0"]);
        assert!(store.open("a").expect("opens").attributes.is_empty());
    }
}

#[test]
fn names_of_documents_are_reserved() {
    let mut store = Store::new(&[]);
    for path in [".zarray", "a/.zgroup", "a/.zattrs/b", ".zmetadata"] {
        assert!(
            create(
                &mut store,
                Format::Zarr2,
                path,
                &request(&[4], &[2], "uint16")
            )
            .is_err(),
            "{path}"
        );
    }
    let node = create(
        &mut store,
        Format::Zarr2,
        "é",
        &request(&[4], &[2], "uint16"),
    )
    .expect("allowed");
    assert_eq!(node.warnings.len(), 1);
}

#[test]
fn v2_165_every_type_comes_back() {
    for name in [
        "bool",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "float16",
        "float32",
        "float64",
        "complex64",
        "complex128",
        "r8",
        "r40",
    ] {
        let mut store = Store::new(&[]);
        let node = create(&mut store, Format::Zarr2, "x", &request(&[3], &[2], name)).expect(name);
        assert_eq!(
            node.kind.array().map(|spec| spec.data_type.clone()),
            DataType::from_name(name)
        );
    }
}

#[test]
fn attributes_left_behind_are_not_taken_over() {
    let mut store = Store::new(&[("a/.zattrs", "{\"old\":1}")]);
    let node = create(
        &mut store,
        Format::Zarr2,
        "a",
        &request(&[4], &[2], "uint16"),
    )
    .expect("free");
    assert_eq!(node, store.open("a").expect("opens"));
    assert!(node.attributes.is_empty());
}
