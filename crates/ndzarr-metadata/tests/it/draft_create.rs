//! The draft: new nodes, changes of attributes, removal.

use ndzarr_metadata::{
    ArrayRequest, AttributeChange, CodecRequest, CreateOptions, Creation, Existing, ExistingDocument,
    FillRequest, Format, MetadataError, Node, NodeKind, NodePath, Order, change_attributes, erase,
};
use ndzarr_model::{
    Attributes, BloscCname, BloscConfig, BloscShuffle, CodecConfig, DataType, Endian, FillValue,
};
use serde_json::{Value, json};

use crate::it::draft::{ARRAY_A, ARRAY_B, ENTRY_A, ENTRY_B, refused, store_a, store_b};
use crate::it::store::{Store, create, request, with};

const BOTH: [Format; 2] = [Format::DraftA, Format::DraftB];

fn try_create(
    store: &Store,
    path: &str,
    request: &ArrayRequest,
    options: &CreateOptions,
) -> Result<Creation, MetadataError> {
    let path = NodePath::new(path)?;
    store.ask(|known| ndzarr_metadata::create_array(&path, request, known, options))
}

fn create_group(
    store: &Store,
    path: &str,
    attributes: Value,
    options: &CreateOptions,
) -> Result<Creation, MetadataError> {
    let path = NodePath::new(path)?;
    let attributes = object(attributes);
    store.ask(|known| ndzarr_metadata::create_group(&path, &attributes, known, options))
}

fn object(value: Value) -> Attributes {
    value.as_object().expect("an object").clone()
}

fn keys(creation: &Creation) -> Vec<&str> {
    creation.put.iter().map(|document| document.key.as_str()).collect()
}

fn change(node: &Node, current: Option<&str>, change: &AttributeChange) -> Result<Value, MetadataError> {
    let bytes = change_attributes(node, current.map(str::as_bytes), change)?;
    Ok(serde_json::from_slice(&bytes).expect("standard JSON"))
}

#[test]
fn d3_t26_a_new_node_writes_itself_alone() {
    for (format, own) in
        [(Format::DraftA, "meta/a/b/c.array.json"), (Format::DraftB, "meta/root/a/b/c.array.json")]
    {
        let mut store = Store::new(&[]);
        let first = try_create(&store, "a/b/c", &request(&[4], &[2], "uint16"), &CreateOptions::new(format))
            .expect("free");
        assert_eq!(keys(&first), ["zarr.json", own], "the entry point comes first (D3-016)");
        assert_eq!(first.put[0].existing, ExistingDocument::Keep);
        store.apply(&first);
        let next = try_create(&store, "x", &request(&[4], &[2], "uint16"), &CreateOptions::new(format))
            .expect("free");
        assert_eq!(next.put.len(), 1);
        for path in ["", "a", "a/b"] {
            assert_eq!(store.open(path).expect(path).kind, NodeKind::ImplicitGroup);
        }
        assert_eq!(store.members("a"), ["b"]);
        assert_eq!(store.open("a/b/c").expect("opens"), first.node);
    }
}

#[test]
fn d3_010_014_entry_points_as_written() {
    let entry = |format| {
        let mut store = Store::new(&[]);
        create(&mut store, format, "a", &request(&[4], &[2], "uint16")).expect("free");
        store.json("zarr.json")
    };
    let parse = |text| serde_json::from_str::<Value>(text).expect("valid");
    assert_eq!(entry(Format::DraftA), parse(ENTRY_A));
    assert_eq!(entry(Format::DraftB), parse(ENTRY_B));
}

#[test]
fn d3_016_an_entry_point_is_never_written_over() {
    let plain = request(&[4], &[2], "uint16");
    let other_suffix = with(ENTRY_B, &[("metadata_key_suffix", "\".jsn\"")]);
    let store = Store::new(&[("zarr.json", &other_suffix)]);
    let creation = try_create(&store, "a", &plain, &CreateOptions::new(Format::DraftB)).expect("free");
    assert_eq!(keys(&creation), ["meta/root/a.array.jsn"], "the suffix of the hierarchy counts");
    refused(try_create(&store, "a", &plain, &CreateOptions::new(Format::DraftA)), &["zarr3-draft-b"]);
    let v3 = Store::new(&[("zarr.json", r#"{"zarr_format":3,"node_type":"group"}"#)]);
    for format in BOTH {
        let result = try_create(&v3, "a", &plain, &CreateOptions::new(format));
        assert!(matches!(result, Err(MetadataError::Occupied { .. })), "{result:?}");
    }
}

#[test]
fn d3_t28_d3_113_what_is_in_the_way() {
    let group = r#"{"attributes":{}}"#;
    let plain = request(&[4], &[2], "uint16");
    let options = CreateOptions::new(Format::DraftA);
    let replace = CreateOptions { existing: Existing::Replace, ..options.clone() };
    let store = store_a(&[
        ("meta/a.array.json", ARRAY_A),
        ("meta/g.group.json", group),
        ("meta/i/x.array.json", ARRAY_A),
    ]);
    let occupied = |path: &str, options: &CreateOptions| {
        let array = try_create(&store, path, &plain, options);
        assert!(matches!(array, Err(MetadataError::Occupied { .. })), "{path}: {array:?}");
    };
    for path in ["a/b", "a/b/c", "a", "g", "i"] {
        occupied(path, &options);
    }
    for path in ["a/b", "a/b/c"] {
        occupied(path, &replace);
        assert!(matches!(
            create_group(&store, path, json!({}), &replace),
            Err(MetadataError::Occupied { .. })
        ));
    }
    for path in ["a", "g"] {
        assert!(matches!(
            create_group(&store, path, json!({}), &options),
            Err(MetadataError::Occupied { .. })
        ));
    }
    assert!(create_group(&store, "i", json!({}), &options).is_ok(), "an implicit group may get its document");
    let creation = try_create(&store, "g", &plain, &replace).expect("replaced");
    assert_eq!(creation.erase, ["meta/g.array.json", "meta/g.group.json"]);
    assert_eq!(creation.erase_prefixes, ["meta/g/", "data/g/"]);
    let root = try_create(&store, "", &plain, &replace).expect("replaced");
    assert_eq!(root.erase_prefixes, ["meta/", "data/"]);
    assert_eq!(keys(&root), ["meta/array.json"], "the entry point stays");
    occupied("", &options);
}

#[test]
fn d3_t30_names() {
    let plain = request(&[4], &[2], "uint16");
    for format in BOTH {
        let options = CreateOptions::new(format);
        for path in ["a b", "é", "...", "x/....", "x.array.json", "x.group.json", "x.group.json/y", "a%20"] {
            let result = try_create(&Store::new(&[]), path, &plain, &options);
            assert!(matches!(result, Err(MetadataError::Path { .. })), "{path}: {result:?}");
            assert!(create_group(&Store::new(&[]), path, json!({}), &options).is_err(), "{path}");
        }
        for path in ["__x", "a..b", "-", "A", "a", ".a", "x.array", "x.json", "0"] {
            assert!(try_create(&Store::new(&[]), path, &plain, &options).is_ok(), "{path}");
        }
    }
    for name in ["", "a/b"] {
        assert!(NodePath::root().child(name).is_err());
    }
}

#[test]
fn d3_022_a_name_that_ends_as_documents_do_is_read() {
    let store = store_b(&[("meta/root/x.array.json.array.json", ARRAY_B)]);
    assert_eq!(store.members(""), ["x.array.json"]);
    assert!(store.open("x.array.json").is_ok());
}

#[test]
fn dialect_a_is_written_as_its_text_has_it() {
    let mut store = Store::new(&[]);
    let mut wanted = request(&[20, 30], &[10, 10], "float32");
    wanted.endian = Some(Endian::Big);
    wanted.order = Order::F;
    wanted.separator = Some('.');
    wanted.shard_shape = Some(vec![20, 30]);
    wanted.fill_value = FillRequest::Value(FillValue::defined(f32::INFINITY.to_ne_bytes()));
    wanted.attributes = object(json!({"units": "K"}));
    let blosc = BloscConfig {
        cname: BloscCname::Zstd,
        clevel: 3,
        shuffle: BloscShuffle::Bit,
        typesize: None,
        blocksize: 0,
    };
    wanted.codecs = CodecRequest::Neutral(vec![CodecConfig::Blosc(blosc).into()]);
    create(&mut store, Format::DraftA, "t", &wanted).expect("free");
    assert_eq!(
        store.json("meta/t.array.json"),
        json!({
            "shape": [20, 30], "data_type": "float32", "chunk_memory_layout": "F", "fill_value": "+Infinity",
            "chunk_grid": {"type": "regular", "chunk_shape": [10, 10], "separator": "."},
            "codecs": [
                {"type": "https://purl.org/zarr/spec/codecs/endian/1.0", "configuration": {"endian": "big"}},
                {"type": "https://purl.org/zarr/spec/codecs/blosc/1.0",
                 "configuration": {"cname": "zstd", "clevel": 3, "shuffle": 2, "blocksize": 0}},
            ],
            "storage_transformers": [{
                "extension": "https://purl.org/zarr/spec/extensions/storage-transformers/sharding/1.0",
                "type": "indexed", "configuration": {"chunks_per_shard": [2, 3]},
            }],
            "extensions": [], "attributes": {"units": "K"},
        })
    );
    let spec = store.open("t").expect("opens").kind.array().expect("an array").clone();
    assert_eq!((&spec.shape[..], &spec.unit_shape[..]), (&[20, 30][..], &[20, 30][..]));
}

#[test]
fn dialect_b_is_written_as_zarr_python_2_has_it() {
    let mut store = Store::new(&[]);
    let mut wanted = request(&[4], &[2], "uint16");
    wanted.endian = Some(Endian::Big);
    wanted.shard_shape = Some(vec![4]);
    wanted.fill_value = FillRequest::Undefined;
    wanted.codecs = CodecRequest::Json(json!({
        "filters": [{"id": "delta", "dtype": ">u2", "astype": ">u2"}], "compressor": {"id": "gzip", "level": 1},
    }));
    create(&mut store, Format::DraftB, "t", &wanted).expect("free");
    assert_eq!(
        store.json("meta/root/t.array.json"),
        json!({
            "shape": [4], "data_type": ">u2", "chunk_memory_layout": "C", "fill_value": null,
            "chunk_grid": {"type": "regular", "chunk_shape": [2], "separator": "/"},
            "compressor": {"codec": "https://purl.org/zarr/spec/codec/gzip/1.0", "configuration": {"level": 1}},
            "storage_transformers": [{
                "extension": "https://purl.org/zarr/spec/storage_transformers/sharding/1.0",
                "type": "indexed", "configuration": {"chunks_per_shard": [2]},
            }],
            "extensions": [],
            "attributes": {"filters": [{"id": "delta", "dtype": ">u2", "astype": ">u2"}]},
        })
    );
    assert!(store.open("t").expect("opens").attributes.is_empty());
    // The compressor in the draft's form, and the types that have a special form.
    let own = json!({"codec": "https://purl.org/zarr/spec/codec/zstd/1.0", "configuration": {"level": 3}});
    wanted.codecs = CodecRequest::Json(json!({"compressor": own}));
    create(&mut store, Format::DraftB, "u", &wanted).expect("free");
    assert_eq!(store.json("meta/root/u.array.json")["compressor"], own);
    for (data_type, expected) in [
        ("bool", json!("bool")),
        ("int8", json!("i1")),
        ("float64", json!("<f8")),
        (
            "r24",
            json!({"extension": "TODO: structured array protocol URL", "fallback": null, "type": [["", "|V3"]]}),
        ),
    ] {
        create(&mut store, Format::DraftB, data_type, &request(&[4], &[2], data_type)).expect(data_type);
        assert_eq!(store.json(&format!("meta/root/{data_type}.array.json"))["data_type"], expected);
    }
    create(&mut store, Format::DraftB, "c", &request(&[4], &[2], "complex64")).expect("free");
    assert_eq!(store.json("meta/root/c.array.json")["data_type"]["type"], "<c8");
}

#[test]
fn neutral_codecs_of_dialect_b_are_filters_and_a_compressor() {
    let mut store = Store::new(&[]);
    let mut wanted = request(&[4], &[2], "uint16");
    let crc = CodecConfig::Crc32c { location: ndzarr_model::ChecksumLocation::End };
    wanted.codecs = CodecRequest::Neutral(vec![crc.clone().into(), CodecConfig::Bz2 { level: 9 }.into()]);
    create(&mut store, Format::DraftB, "a", &wanted).expect("free");
    let document = store.json("meta/root/a.array.json");
    assert_eq!(document["compressor"]["codec"], "https://purl.org/zarr/spec/codec/bz2/1.0");
    assert_eq!(document["attributes"]["filters"][0]["id"], "crc32c");
    wanted.codecs = CodecRequest::Neutral(vec![crc.into()]);
    create(&mut store, Format::DraftB, "b", &wanted).expect("no compressor has that URI");
    assert!(store.json("meta/root/b.array.json").get("compressor").is_none());
    assert_eq!(store.open("b").expect("opens").kind.array().expect("an array").codecs.len(), 2);
}

#[test]
fn what_the_draft_has_no_form_for() {
    for format in BOTH {
        let refuse = |what: &str, change: &dyn Fn(&mut ArrayRequest)| {
            let mut wanted = request(&[4, 4], &[2, 2], "uint16");
            change(&mut wanted);
            let result = try_create(&Store::new(&[]), "a", &wanted, &CreateOptions::new(format));
            assert!(result.is_err(), "{format} {what}");
        };
        refuse("names", &|r| r.dimension_names = Some(vec![Some("x".into()), None]));
        refuse("key encoding", &|r| r.key_encoding = Some("v2".into()));
        refuse("separator", &|r| r.separator = Some('-'));
        refuse("bfloat16", &|r| r.data_type = DataType::BFloat16);
        refuse("rank", &|r| r.chunk_shape = vec![2]);
        refuse("chunk 0", &|r| r.chunk_shape = vec![2, 0]);
        refuse("parts of chunks", &|r| r.shard_shape = Some(vec![3, 4]));
        refuse("rank of shards", &|r| r.shard_shape = Some(vec![4]));
        refuse("shard 0", &|r| r.shard_shape = Some(vec![0, 4]));
        refuse("a transpose", &|r| {
            r.codecs = CodecRequest::Neutral(vec![CodecConfig::Transpose { order: vec![0, 1] }.into()]);
        });
        refuse("codecs of another form", &|r| r.codecs = CodecRequest::Json(json!("gzip")));
        refuse("a fill of another size", &|r| r.fill_value = FillRequest::Value(FillValue::defined([0])));
    }
    let mut a = request(&[4], &[2], "uint16");
    a.fill_value = FillRequest::Undefined;
    refused(try_create(&Store::new(&[]), "a", &a, &CreateOptions::new(Format::DraftA)), &["fill"]);
    a.fill_value = FillRequest::Zero;
    a.codecs = CodecRequest::Neutral(vec![CodecConfig::Zlib { level: 1 }.into()]);
    refused(try_create(&Store::new(&[]), "a", &a, &CreateOptions::new(Format::DraftA)), &["zlib"]);
    a.codecs = CodecRequest::Neutral(vec![CodecConfig::Gzip { level: -1 }.into()]);
    refused(try_create(&Store::new(&[]), "a", &a, &CreateOptions::new(Format::DraftA)), &["-1"]);
    a.codecs = CodecRequest::Json(json!([]));
    a.endian = Some(Endian::Big);
    refused(try_create(&Store::new(&[]), "a", &a, &CreateOptions::new(Format::DraftA)), &["byte order"]);
    let mut b = request(&[4], &[2], "uint16");
    b.attributes = object(json!({"filters": "none"}));
    refused(try_create(&Store::new(&[]), "b", &b, &CreateOptions::new(Format::DraftB)), &["filters"]);
    // Only A can express a NaN with a payload.
    let mut nan = request(&[4], &[2], "float32");
    nan.fill_value = FillRequest::Value(FillValue::defined(0x7fc0_0001u32.to_ne_bytes()));
    refused(try_create(&Store::new(&[]), "b", &nan, &CreateOptions::new(Format::DraftB)), &["NaN"]);
    let mut store = Store::new(&[]);
    create(&mut store, Format::DraftA, "n", &nan).expect("free");
    assert_eq!(store.json("meta/n.array.json")["fill_value"], "0x7fc00001");
}

#[test]
fn an_order_f_is_asked_for_in_two_ways() {
    for format in BOTH {
        let mut store = Store::new(&[]);
        let mut wanted = request(&[4, 6], &[2, 3], "uint16");
        wanted.codecs = CodecRequest::Neutral(vec![CodecConfig::Transpose { order: vec![1, 0] }.into()]);
        let node = create(&mut store, format, "a", &wanted).expect("free");
        assert_eq!(
            node.kind.array().expect("an array").codecs[0].config,
            CodecConfig::Transpose { order: vec![1, 0] }
        );
    }
}

#[test]
fn d3_073_raw_fill_values_of_dialect_a() {
    let mut store = Store::new(&[]);
    let mut wanted = request(&[4], &[2], "r16");
    wanted.fill_value = FillRequest::Value(FillValue::defined([1, 0xab]));
    create(&mut store, Format::DraftA, "r", &wanted).expect("free");
    assert_eq!(store.json("meta/r.array.json")["fill_value"], "0x01ab");
    let mut wanted = request(&[4], &[2], "complex64");
    let parts = [f32::INFINITY.to_ne_bytes(), (-1f32).to_ne_bytes()].concat();
    wanted.fill_value = FillRequest::Value(FillValue::defined(parts));
    create(&mut store, Format::DraftA, "c", &wanted).expect("free");
    assert_eq!(store.json("meta/c.array.json")["fill_value"], json!(["+Infinity", -1.0]));
}

#[test]
fn d3_t34_attributes_of_dialect_b_keep_the_filters() {
    let node = store_b(&[("meta/root/b.array.json", ARRAY_B)]).open("b").expect("opens");
    let filters = json!([{"astype": ">u2", "dtype": ">u2", "id": "delta"}]);
    for (new, expected) in [
        (AttributeChange::Replace(object(json!({"w": 1}))), json!({"w": 1, "filters": filters})),
        (AttributeChange::Merge(object(json!({"w": 1}))), json!({"w": 1, "filters": filters})),
        (AttributeChange::Remove(vec!["w".into()]), json!({"filters": filters})),
    ] {
        let after = change(&node, Some(ARRAY_B), &new).expect("fine");
        assert_eq!(after["attributes"], expected);
        let reopened = store_b(&[("meta/root/b.array.json", &after.to_string())]).open("b").expect("opens");
        assert!(!reopened.attributes.contains_key("filters"));
        assert_eq!(reopened.kind, node.kind);
    }
    for new in [
        AttributeChange::Merge(object(json!({"filters": "none"}))),
        AttributeChange::Replace(object(json!({"filters": []}))),
        AttributeChange::Remove(vec!["filters".into()]),
        AttributeChange::SetN5Path { path: "a/b".into(), value: json!(1) },
    ] {
        assert!(change(&node, Some(ARRAY_B), &new).is_err(), "{new:?}");
    }
    let plain = with(ARRAY_B, &[("attributes", r#"{"filters":"none"}"#)]);
    let node = store_b(&[("meta/root/b.array.json", &plain)]).open("b").expect("opens");
    assert_eq!(node.attributes["filters"], "none");
    assert!(change(&node, Some(&plain), &AttributeChange::Merge(object(json!({"filters": "x"})))).is_err());
    let after = change(&node, Some(&plain), &AttributeChange::Remove(vec!["filters".into()]))
        .expect("the user's own");
    assert_eq!(after["attributes"], json!({}));
}

#[test]
fn d3_t13_t15_t41_changes_keep_everything_else() {
    let document = with(
        ARRAY_B,
        &[
            ("fill_value", "null"),
            ("unknown", "[9007199254740993]"),
            ("extensions", r#"[{"extension":"http://x/y","must_understand":false}]"#),
        ],
    );
    let node = store_b(&[("meta/root/b.array.json", &document)]).open("b").expect("opens");
    let after =
        change(&node, Some(&document), &AttributeChange::Merge(object(json!({"w": 1})))).expect("fine");
    let mut expected: Value = serde_json::from_str(&document).expect("valid");
    expected["attributes"]["w"] = json!(1);
    assert_eq!(after, expected);
    let a = store_a(&[("meta/a.array.json", ARRAY_A)]).open("a").expect("opens");
    let after = change(&a, Some(ARRAY_A), &AttributeChange::Merge(object(json!({"filters": []}))))
        .expect("A has none");
    let mut expected: Value = serde_json::from_str(ARRAY_A).expect("valid");
    expected["attributes"] = json!({"filters": []});
    assert_eq!(after, expected);
    refused(change(&a, None, &AttributeChange::Remove(vec![])), &["meta/a.array.json"]);
}

#[test]
fn d3_112_attributes_make_an_implicit_group_explicit() {
    for (store, key) in [
        (store_a(&[("meta/g/a.array.json", ARRAY_A)]), "meta/g.group.json"),
        (store_b(&[("meta/root/g/a.array.json", ARRAY_B)]), "meta/root/g.group.json"),
    ] {
        let node = store.open("g").expect("implicit");
        assert_eq!(ndzarr_metadata::attributes_key(&node), key);
        let after = change(&node, None, &AttributeChange::Merge(object(json!({"x": 1})))).expect("made");
        assert_eq!(after, json!({"attributes": {"x": 1}}));
    }
    let root = store_a(&[]).open("").expect("implicit");
    assert_eq!(ndzarr_metadata::attributes_key(&root), "meta/group.json");
    let creation =
        create_group(&store_b(&[]), "", json!({"x": 1}), &CreateOptions::new(Format::DraftB)).expect("free");
    assert_eq!(keys(&creation), ["meta/root.group.json"]);
}

#[test]
fn d3_t25_d3_120_what_goes_with_a_node() {
    let group = r#"{"attributes":{}}"#;
    let documents = [
        ("meta/foo.group.json", group),
        ("meta/foo/x.array.json", ARRAY_A),
        ("meta/foo2.array.json", ARRAY_A),
    ];
    let store = store_a(&documents);
    let foo = erase(&store.open("foo").expect("a group"));
    assert_eq!(foo.documents, ["meta/foo.group.json"]);
    assert_eq!(foo.prefixes, ["meta/foo/", "data/foo/"]);
    let array = erase(&store.open("foo2").expect("an array"));
    assert_eq!(
        (array.documents, array.prefixes),
        (vec!["meta/foo2.array.json".to_owned()], vec!["data/foo2/".to_owned()])
    );
    let root = erase(&store.open("").expect("the root"));
    assert_eq!(root.documents, ["meta/array.json", "meta/group.json"]);
    assert_eq!(root.prefixes, ["meta/", "data/"]);
    let root = erase(&store_b(&[]).open("").expect("the root"));
    assert_eq!(root.documents, ["meta/root.array.json", "meta/root.group.json"]);
    assert_eq!(root.prefixes, ["meta/root/", "data/root/"]);
}
