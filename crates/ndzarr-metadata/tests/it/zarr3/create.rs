//! Zarr v3: new nodes.

use ndzarr_metadata::{
    ArrayRequest, CodecRequest, CreateOptions, Existing, ExistingDocument, FillRequest, Format,
    NodePath, Order, create_array, create_group,
};
use ndzarr_model::{
    Attributes, BloscCname, BloscConfig, BloscShuffle, ChecksumLocation, CodecConfig, CodecSpec,
    Endian,
};
use serde_json::{Value, json};

use crate::it::store::{Store, create, request};
use crate::it::zarr3::{ARRAY, GROUP};

fn made(request: &ArrayRequest) -> Result<Value, String> {
    let mut store = Store::new(&[]);
    let node = create(&mut store, Format::Zarr3, "", request).map_err(|e| e.to_string())?;
    // The node that was returned is the one that opens.
    assert_eq!(node, store.open("").expect("opens"));
    Ok(store.json("zarr.json"))
}

fn bytes(endian: &str) -> Value {
    json!({"name": "bytes", "configuration": {"endian": endian}})
}

#[test]
fn v3_010_a_plain_array() {
    let document = made(&request(&[100, 80], &[32, 32], "uint16")).expect("plain");
    let expected = json!({
        "zarr_format": 3, "node_type": "array", "shape": [100, 80], "data_type": "uint16",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [32, 32]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0, "codecs": [bytes("little")], "attributes": {},
    });
    assert_eq!(document, expected);
}

#[test]
fn v3_023_codecs_are_objects() {
    let base = || request(&[100, 80], &[32, 32], "uint16");
    let codecs = |request: ArrayRequest| made(&request).expect("writable")["codecs"].clone();
    let neutral = |configs: Vec<CodecConfig>| {
        CodecRequest::Neutral(configs.into_iter().map(CodecSpec::from).collect())
    };
    let zstd = CodecConfig::Zstd {
        level: 3,
        checksum: false,
    };
    let zstd_json = json!({"name": "zstd", "configuration": {"level": 3, "checksum": false}});
    assert_eq!(
        codecs(request_with!(base(), codecs = neutral(vec![zstd.clone()]))),
        json!([bytes("little"), zstd_json])
    );
    assert_eq!(
        codecs(request_with!(base(), endian = Some(Endian::Big))),
        json!([bytes("big")])
    );
    let reversal = json!({"name": "transpose", "configuration": {"order": [1, 0]}});
    assert_eq!(
        codecs(request_with!(base(), order = Order::F)),
        json!([reversal, bytes("little")])
    );
    let transpose = CodecConfig::Transpose { order: vec![1, 0] };
    let request_with = request_with!(base(), codecs = neutral(vec![zstd.clone(), transpose]));
    assert_eq!(
        codecs(request_with),
        json!([reversal, bytes("little"), zstd_json])
    );
    // No byte order for bytes.
    let plain = request_with!(request(&[4], &[2], "uint8"), endian = Some(Endian::Big));
    assert_eq!(codecs(plain), json!([{"name": "bytes"}]));
    // A typesize is required.
    let blosc = BloscConfig {
        cname: BloscCname::Lz4,
        clevel: 5,
        shuffle: BloscShuffle::Auto,
        typesize: None,
        blocksize: 0,
    };
    let blosc_json = json!({"name": "blosc", "configuration":
        {"cname": "lz4", "clevel": 5, "shuffle": "shuffle", "typesize": 2, "blocksize": 0}});
    assert_eq!(
        codecs(request_with!(
            base(),
            codecs = neutral(vec![CodecConfig::Blosc(blosc)])
        )),
        json!([bytes("little"), blosc_json])
    );
    // with the codecs of the request inside the shard.
    let sharded = request_with!(
        base(),
        shard_shape = Some(vec![64, 64]),
        order = Order::F,
        codecs = neutral(vec![zstd])
    );
    let document = made(&sharded).expect("sharded");
    assert_eq!(
        document["chunk_grid"]["configuration"]["chunk_shape"],
        json!([64, 64])
    );
    assert_eq!(
        document["codecs"],
        json!([{"name": "sharding_indexed", "configuration": {
            "chunk_shape": [32, 32],
            "codecs": [reversal, bytes("little"), zstd_json],
            "index_codecs": [bytes("little"), {"name": "crc32c"}],
            "index_location": "end",
        }}])
    );
}

#[test]
fn v3_codecs_in_its_own_form() {
    let with = |codecs: Value| {
        request_with!(
            request(&[4], &[2], "uint16"),
            codecs = CodecRequest::Json(codecs)
        )
    };
    let document = made(&with(
        json!([{"name": "endian", "configuration": {"endian": "big"}}, "crc32c"]),
    ));
    assert_eq!(
        document.expect("writable")["codecs"],
        json!([bytes("big"), {"name": "crc32c"}])
    );
    let unknown = json!([bytes("big"), {"name": "foo", "configuration": {"x": 1}}]);
    assert_eq!(
        made(&with(unknown.clone())).expect("an unknown codec is no business of ours")["codecs"],
        unknown
    );
    assert!(made(&with(json!(["crc32c"]))).is_err());
    assert!(made(&with(json!({}))).is_err());
    assert!(
        made(&request_with!(
            with(json!([bytes("big")])),
            order = Order::F
        ))
        .is_err()
    );
    assert!(
        made(&request_with!(
            with(json!([bytes("big")])),
            endian = Some(Endian::Big)
        ))
        .is_err()
    );
}

#[test]
fn v3_015_fill_values() {
    let fill = |data_type: &str, fill_value: FillRequest| {
        made(&request_with!(
            request(&[4], &[2], data_type),
            fill_value = fill_value
        ))
        .map(|document| document["fill_value"].clone())
    };
    assert_eq!(fill("float32", FillRequest::Zero), Ok(json!(0.0)));
    assert_eq!(fill("bool", FillRequest::Zero), Ok(json!(false)));
    assert_eq!(fill("r16", FillRequest::Zero), Ok(json!([0, 0])));
    assert_eq!(fill("complex64", FillRequest::Zero), Ok(json!([0.0, 0.0])));
    assert_eq!(
        fill("float32", FillRequest::Json(json!("0x7fc00001"))),
        Ok(json!("0x7fc00001")),
        "V3-T07"
    );
    assert_eq!(
        fill("float32", FillRequest::Json(json!(1e39))),
        Ok(json!("Infinity")),
        "V3-T10"
    );
    assert!(fill("float32", FillRequest::Undefined).is_err());
    assert!(fill("float32", FillRequest::Json(Value::Null)).is_err());
}

#[test]
fn v3_what_it_cannot_express() {
    let base = || request(&[4], &[2], "uint16");
    let n5 = vec![
        CodecConfig::N5Gzip {
            level: 1,
            use_zlib: false,
        }
        .into(),
    ];
    for (bad, what) in [
        (request_with!(base(), separator = Some('-')), "separator"),
        (
            request_with!(base(), key_encoding = Some("n5".into())),
            "chunk key encoding",
        ),
        (request_with!(base(), chunk_shape = vec![0]), "chunk shape"),
        (
            request_with!(base(), chunk_shape = vec![1, 1]),
            "chunk shape",
        ),
        (request_with!(base(), shard_shape = Some(vec![3])), "divide"),
        (
            request_with!(base(), shard_shape = Some(vec![4, 4])),
            "chunk shape",
        ),
        (
            request_with!(base(), dimension_names = Some(vec![])),
            "dimension_names",
        ),
        (
            request_with!(base(), codecs = CodecRequest::Neutral(n5)),
            "N5",
        ),
        (
            request_with!(base(), chunk_shape = vec![u64::MAX]),
            "too large",
        ),
    ] {
        let error = made(&bad).expect_err(what);
        assert!(error.contains(what), "{error}");
    }
    let empty = made(&request_with!(
        base(),
        shape = vec![0],
        chunk_shape = vec![0]
    ))
    .expect("chunks of length 0 become 1");
    assert_eq!(
        empty["chunk_grid"]["configuration"]["chunk_shape"],
        json!([1])
    );
    let named = made(&request_with!(base(), dimension_names = Some(vec![None])))
        .expect("a dimension may have no name");
    assert_eq!(named["dimension_names"], json!([null]));
    let keys =
        made(&request_with!(base(), key_encoding = Some("v2".into()))).expect("keys as in Zarr v2");
    assert_eq!(
        keys["chunk_key_encoding"],
        json!({"name": "v2", "configuration": {"separator": "."}})
    );
}

#[test]
fn v3_t48_names() {
    let mut store = Store::new(&[]);
    let array = request(&[4], &[2], "uint16");
    for bad in ["__x", "a/__x/b", "...", "..", "zarr.json", "a/zarr.json"] {
        assert!(
            create(&mut store, Format::Zarr3, bad, &array).is_err(),
            "{bad}"
        );
    }
    assert_eq!(store.keys(), [""; 0]);
    for good in [".a", "a..b", "_x", "x__"] {
        let node = create(&mut store, Format::Zarr3, good, &array).expect(good);
        assert!(node.warnings.is_empty());
    }
    assert_eq!(
        create(&mut store, Format::Zarr3, "a b", &array)
            .expect("allowed")
            .warnings
            .len(),
        1
    );
}

#[test]
fn v3_t49_ancestors() {
    let mut store = Store::new(&[]);
    let path = NodePath::new("a/b").expect("a path");
    let options = CreateOptions::new(Format::Zarr3);
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
            ("zarr.json", ExistingDocument::Keep),
            ("a/zarr.json", ExistingDocument::Keep),
            ("a/b/zarr.json", ExistingDocument::Refuse),
        ]
    );
    store.apply(&creation);
    assert_eq!(store.members(""), ["a"]);
    assert_eq!(store.members("a"), ["b"]);
    assert_eq!(
        store.json("zarr.json"),
        json!({"zarr_format": 3, "node_type": "group", "attributes": {}})
    );
}

#[test]
fn v3_170_below_an_array() {
    for (key, text) in [
        ("a/zarr.json", ARRAY),
        ("a/.zarray", crate::it::zarr2::ARRAY),
    ] {
        let mut store = Store::new(&[(key, text)]);
        let error = create(
            &mut store,
            Format::Zarr3,
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
        assert_eq!(store.keys(), [key]);
    }
    let draft = r#"{"zarr_format":"https://purl.org/zarr/spec/core/3.0"}"#;
    let mut store = Store::new(&[("zarr.json", draft)]);
    let error = create(
        &mut store,
        Format::Zarr3,
        "a",
        &request(&[4], &[2], "uint16"),
    );
    assert!(
        error
            .expect_err("a draft hierarchy")
            .to_string()
            .contains("draft")
    );
    let mut store = Store::new(&[("zarr.json", "{")]);
    assert!(
        create(
            &mut store,
            Format::Zarr3,
            "a",
            &request(&[4], &[2], "uint16")
        )
        .is_err()
    );
}

#[test]
fn v3_171_existing_nodes() {
    let mut store = Store::new(&[
        ("zarr.json", GROUP),
        ("a/zarr.json", ARRAY),
        ("a/c/0", "old"),
        ("ab/c/0", "other"),
    ]);
    let path = NodePath::new("a").expect("a path");
    let mut options = CreateOptions::new(Format::Zarr3);
    let attributes: Attributes = json!({"x": 1}).as_object().cloned().expect("an object");
    let refused = store.ask(|known| create_group(&path, &attributes, known, &options));
    assert!(
        refused
            .expect_err("occupied")
            .to_string()
            .contains("a/zarr.json")
    );
    options.existing = Existing::Replace;
    let creation = store
        .ask(|known| create_group(&path, &attributes, known, &options))
        .expect("replaced");
    assert_eq!(creation.erase, ["a/zarr.json"]);
    assert_eq!(creation.erase_prefixes, ["a/"]);
    store.apply(&creation);
    assert_eq!(store.keys(), ["a/zarr.json", "ab/c/0", "zarr.json"]);
    assert_eq!(store.open("a").expect("opens").attributes["x"], 1);
}

/// A created array can be opened.
#[test]
fn nothing_is_created_beyond_the_limits_of_opening() {
    let check = |request: &ArrayRequest, format: Format, fits: bool, what: &str| {
        let mut store = Store::new(&[]);
        match create(&mut store, format, "a", request) {
            Ok(_) => {
                assert!(fits, "{what} in {format}");
                store.open("a").expect(what);
            }
            Err(error) => {
                assert!(
                    !fits && error.to_string().contains("limit"),
                    "{what} in {format}: {error}"
                );
            }
        }
    };
    for (ndim, fits) in [(65_535, true), (65_536, false)] {
        for format in [Format::Zarr2, Format::Zarr3, Format::DraftA, Format::DraftB] {
            check(
                &request(&vec![1; ndim], &vec![1; ndim], "uint8"),
                format,
                fits,
                "rank",
            );
        }
    }
    // The `bytes` codec is one of them.
    for (n, fits) in [(1023, true), (1024, false)] {
        let crc32c = CodecConfig::Crc32c {
            location: ChecksumLocation::End,
        };
        let mut of_many = request(&[4], &[4], "uint8");
        of_many.codecs = CodecRequest::Neutral(vec![crc32c.into(); n]);
        check(&of_many, Format::Zarr3, fits, "codecs");
    }
    for (levels, fits) in [(32, true), (33, false)] {
        let mut codecs = json!(["bytes"]);
        for _ in 0..levels {
            let configuration =
                json!({"chunk_shape": [2], "codecs": codecs, "index_codecs": [bytes("little")]});
            codecs = json!([{"name": "sharding_indexed", "configuration": configuration}]);
        }
        let mut nested = request(&[4], &[2], "uint8");
        nested.codecs = CodecRequest::Json(codecs);
        check(&nested, Format::Zarr3, fits, "levels");
    }
}
