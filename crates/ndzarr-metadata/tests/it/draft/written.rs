//! The draft: what the documents of new arrays state, and what the draft cannot express.

use ndzarr_metadata::{ArrayRequest, CodecRequest, CreateOptions, FillRequest, Format, Order};
use ndzarr_model::{
    BloscCname, BloscConfig, BloscShuffle, CodecConfig, DataType, Endian, FillValue,
};
use serde_json::json;

use crate::it::draft::create::{BOTH, object, try_create};
use crate::it::draft::refused;
use crate::it::store::{Store, create, request};

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
    let spec = store
        .open("t")
        .expect("opens")
        .kind
        .array()
        .expect("an array")
        .clone();
    assert_eq!(
        (&spec.shape[..], &spec.unit_shape[..]),
        (&[20, 30][..], &[20, 30][..])
    );
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
        create(
            &mut store,
            Format::DraftB,
            data_type,
            &request(&[4], &[2], data_type),
        )
        .expect(data_type);
        assert_eq!(
            store.json(&format!("meta/root/{data_type}.array.json"))["data_type"],
            expected
        );
    }
    create(
        &mut store,
        Format::DraftB,
        "c",
        &request(&[4], &[2], "complex64"),
    )
    .expect("free");
    assert_eq!(
        store.json("meta/root/c.array.json")["data_type"]["type"],
        "<c8"
    );
}

#[test]
fn neutral_codecs_of_dialect_b_are_filters_and_a_compressor() {
    let mut store = Store::new(&[]);
    let mut wanted = request(&[4], &[2], "uint16");
    let crc = CodecConfig::Crc32c {
        location: ndzarr_model::ChecksumLocation::End,
    };
    wanted.codecs = CodecRequest::Neutral(vec![
        crc.clone().into(),
        CodecConfig::Bz2 { level: 9 }.into(),
    ]);
    create(&mut store, Format::DraftB, "a", &wanted).expect("free");
    let document = store.json("meta/root/a.array.json");
    assert_eq!(
        document["compressor"]["codec"],
        "https://purl.org/zarr/spec/codec/bz2/1.0"
    );
    assert_eq!(document["attributes"]["filters"][0]["id"], "crc32c");
    wanted.codecs = CodecRequest::Neutral(vec![crc.into()]);
    create(&mut store, Format::DraftB, "b", &wanted).expect("no compressor has that URI");
    assert!(
        store
            .json("meta/root/b.array.json")
            .get("compressor")
            .is_none()
    );
    assert_eq!(
        store
            .open("b")
            .expect("opens")
            .kind
            .array()
            .expect("an array")
            .codecs
            .len(),
        2
    );
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
        refuse("names", &|r| {
            r.dimension_names = Some(vec![Some("x".into()), None])
        });
        refuse("key encoding", &|r| r.key_encoding = Some("v2".into()));
        refuse("separator", &|r| r.separator = Some('-'));
        refuse("bfloat16", &|r| r.data_type = DataType::BFloat16);
        refuse("rank", &|r| r.chunk_shape = vec![2]);
        refuse("chunk 0", &|r| r.chunk_shape = vec![2, 0]);
        refuse("parts of chunks", &|r| r.shard_shape = Some(vec![3, 4]));
        refuse("rank of shards", &|r| r.shard_shape = Some(vec![4]));
        refuse("shard 0", &|r| r.shard_shape = Some(vec![0, 4]));
        refuse("a transpose", &|r| {
            r.codecs =
                CodecRequest::Neutral(vec![CodecConfig::Transpose { order: vec![0, 1] }.into()]);
        });
        refuse("codecs of another form", &|r| {
            r.codecs = CodecRequest::Json(json!("gzip"))
        });
        refuse("a fill of another size", &|r| {
            r.fill_value = FillRequest::Value(FillValue::defined([0]))
        });
    }
    let mut a = request(&[4], &[2], "uint16");
    a.fill_value = FillRequest::Undefined;
    refused(
        try_create(
            &Store::new(&[]),
            "a",
            &a,
            &CreateOptions::new(Format::DraftA),
        ),
        &["fill"],
    );
    a.fill_value = FillRequest::Zero;
    a.codecs = CodecRequest::Neutral(vec![CodecConfig::Zlib { level: 1 }.into()]);
    refused(
        try_create(
            &Store::new(&[]),
            "a",
            &a,
            &CreateOptions::new(Format::DraftA),
        ),
        &["zlib"],
    );
    a.codecs = CodecRequest::Neutral(vec![CodecConfig::Gzip { level: -1 }.into()]);
    refused(
        try_create(
            &Store::new(&[]),
            "a",
            &a,
            &CreateOptions::new(Format::DraftA),
        ),
        &["-1"],
    );
    a.codecs = CodecRequest::Json(json!([]));
    a.endian = Some(Endian::Big);
    refused(
        try_create(
            &Store::new(&[]),
            "a",
            &a,
            &CreateOptions::new(Format::DraftA),
        ),
        &["byte order"],
    );
    let mut b = request(&[4], &[2], "uint16");
    b.attributes = object(json!({"filters": "none"}));
    refused(
        try_create(
            &Store::new(&[]),
            "b",
            &b,
            &CreateOptions::new(Format::DraftB),
        ),
        &["filters"],
    );
    // Only A can express a NaN with a payload.
    let mut nan = request(&[4], &[2], "float32");
    nan.fill_value = FillRequest::Value(FillValue::defined(0x7fc0_0001u32.to_ne_bytes()));
    refused(
        try_create(
            &Store::new(&[]),
            "b",
            &nan,
            &CreateOptions::new(Format::DraftB),
        ),
        &["NaN"],
    );
    let mut store = Store::new(&[]);
    create(&mut store, Format::DraftA, "n", &nan).expect("free");
    assert_eq!(store.json("meta/n.array.json")["fill_value"], "0x7fc00001");
}

#[test]
fn an_order_f_is_asked_for_in_two_ways() {
    for format in BOTH {
        let mut store = Store::new(&[]);
        let mut wanted = request(&[4, 6], &[2, 3], "uint16");
        wanted.codecs =
            CodecRequest::Neutral(vec![CodecConfig::Transpose { order: vec![1, 0] }.into()]);
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
    assert_eq!(
        store.json("meta/c.array.json")["fill_value"],
        json!(["+Infinity", -1.0])
    );
}
