//! Traps of the checklists that only show when documents, codecs and the data path work together, named by number. Bytes
//! and values are those of the checklists.

use ndarray::{Array1, Array2, array};
use ndzarr::{
    AnyArray, Array, ArrayRequest, CodecRequest, CreateOptions, DataType, EdgeBlocks, Element, Endian,
    ErrorKind, FillRequest, Format, Group, MemoryStore, N5Axes, Order, codec, s,
};
use serde_json::{Value, json};

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(&String::from_utf8_lossy(pair), 16).expect("two digits"))
        .collect()
}

fn store(documents: &[(&str, Value)], values: &[(&str, &str)]) -> MemoryStore {
    let store = MemoryStore::new();
    for (key, document) in documents {
        store.set(key, document.to_string()).expect("a key");
    }
    for (key, value) in values {
        store.set(key, hex(value)).expect("a key");
    }
    store
}

fn stored(store: &MemoryStore, key: &str) -> Option<Vec<u8>> {
    store.get(key).map(|value| value.to_vec())
}

/// A Zarr v2 array document.
fn v2(shape: Value, chunks: Value, dtype: &str, fill: Value, more: Value) -> Value {
    let mut document = json!({"zarr_format": 2, "shape": shape, "chunks": chunks, "dtype": dtype, "fill_value": fill,
        "order": "C", "compressor": null, "filters": null});
    merge(&mut document, more);
    document
}

/// A Zarr v3 array document of elements in little endian.
fn v3(shape: Value, chunks: Value, data_type: &str, fill: Value, more: Value) -> Value {
    let mut document = json!({"zarr_format": 3, "node_type": "array", "shape": shape, "data_type": data_type,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}},
        "chunk_key_encoding": {"name": "default"}, "fill_value": fill,
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]});
    merge(&mut document, more);
    document
}

fn merge(document: &mut Value, more: Value) {
    if let (Value::Object(document), Value::Object(more)) = (document, more) {
        document.extend(more);
    }
}

fn shard(inner: Value, location: &str, index_codecs: Value) -> Value {
    json!({"name": "sharding_indexed", "configuration": {"chunk_shape": inner, "codecs": [{"name": "bytes"}],
        "index_codecs": index_codecs, "index_location": location}})
}

fn crc_index() -> Value {
    json!([{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}])
}

fn all<T: Element>(store: &MemoryStore) -> Result<Vec<T>, ndzarr::Error> {
    Ok(Array::<T>::open_in(store, "")?.read(..)?.into_iter().collect())
}

fn corrupt<T: Element + std::fmt::Debug>(store: &MemoryStore) {
    let error = all::<T>(store).expect_err("a broken value is an error");
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error:?}");
    assert!(error.key().is_some() && error.chunk().is_some() && error.store().is_some(), "{error:?}");
}

#[test]
fn v2_t01_a_scalar_is_under_0() {
    let store =
        store(&[(".zarray", v2(json!([]), json!([]), "<i4", json!(0), json!({})))], &[("0", "05000000")]);
    assert_eq!(all::<i32>(&store).expect("a scalar"), [5]);
    assert_eq!(
        Array::<i32>::open_in(&store, "").and_then(|a| a.read(s![])).expect("a scalar"),
        ndarray::arr0(5)
    );
}

#[test]
fn v2_t03_order_f_in_both_byte_orders() {
    for (endian, chunk) in
        [(Endian::Little, "000003000100040002000500"), (Endian::Big, "000000030001000400020005")]
    {
        let store = MemoryStore::new();
        let array =
            Array::<u16>::builder([2, 3]).chunks([2, 3]).order(Order::F).endian(endian).format(Format::Zarr2);
        let values = array![[0, 1, 2], [3, 4, 5]];
        array.create(&store, "").and_then(|a| a.write(s![.., ..], &values)).expect("a write");
        assert_eq!(stored(&store, "0.0"), Some(hex(chunk)));
        assert_eq!(all::<u16>(&store).expect("a read"), [0, 1, 2, 3, 4, 5]);
    }
}

#[test]
fn v2_t05_edge_chunks_are_padded() {
    let document = v2(json!([3]), json!([2]), "|u1", json!(9), json!({}));
    assert_eq!(
        all::<u8>(&store(&[(".zarray", document.clone())], &[("0", "0102"), ("1", "0377")])).expect("a read"),
        [1, 2, 3]
    );
    corrupt::<u8>(&store(&[(".zarray", document.clone())], &[("0", "0102"), ("1", "03")]));
    let store = store(&[(".zarray", document)], &[]);
    Array::<u8>::open_in(&store, "").and_then(|a| a.write(s![..], &array![1, 2, 3])).expect("a write");
    assert_eq!((stored(&store, "0"), stored(&store, "1")), (Some(hex("0102")), Some(hex("0309"))));
}

#[test]
fn v2_t13_without_a_fill_value_zeros_are_stored() {
    let store = MemoryStore::new();
    let array =
        Array::<f32>::builder([2]).chunks([2]).no_fill_value().format(Format::Zarr2).create(&store, "");
    array.and_then(|a| a.write(s![..], &array![0.0, 0.0])).expect("a write");
    assert_eq!(stored(&store, "0"), Some(vec![0; 8]));
}

#[test]
fn v2_t14_v3_t11_negative_zero_is_not_zero() {
    for format in [Format::Zarr2, Format::Zarr3] {
        let store = MemoryStore::new();
        let array =
            Array::<f32>::builder([1]).chunks([1]).format(format).create(&store, "").expect("a new array");
        array.write(s![..], &array![-0.0]).expect("a write");
        assert_eq!(stored(&store, &array.chunk_key(&[0])), Some(hex("00000080")));
    }
    // And the other way round, also for inner chunks.
    let store = MemoryStore::new();
    let array = Array::<f32>::builder([4])
        .chunks([2])
        .shards([4])
        .fill_value(-0.0)
        .create(&store, "a")
        .expect("a new array");
    array.write(s![..], &array![-0.0, -0.0, 0.0, -0.0]).expect("a write");
    let shard = stored(&store, "a/c/0").expect("a shard");
    assert_eq!(shard[..8], hex("0000000000000080"), "the second inner chunk alone");
    assert_eq!(shard.len(), 8 + 32 + 4);
    let bits: Vec<u32> = array.read(..).expect("a read").iter().map(|v| v.to_bits()).collect();
    assert_eq!(bits, [0x8000_0000, 0x8000_0000, 0, 0x8000_0000]);
}

#[test]
fn v2_t15_another_nan_is_not_the_fill_value() {
    let store = MemoryStore::new();
    let array =
        Array::<f32>::builder([1]).chunks([1]).fill_value(f32::NAN).format(Format::Zarr2).create(&store, "");
    array.and_then(|a| a.write(s![..], &array![f32::from_bits(0x7fc0_0001)])).expect("a write");
    assert_eq!(stored(&store, "0"), Some(hex("0100c07f")));
}

#[test]
fn v2_t47_v3_t56_a_bool_is_0_or_1() {
    corrupt::<bool>(&store(
        &[(".zarray", v2(json!([2]), json!([2]), "|b1", json!(false), json!({})))],
        &[("0", "0102")],
    ));
    let document = v3(json!([2]), json!([2]), "bool", json!(false), json!({"codecs": ["bytes"]}));
    corrupt::<bool>(&store(&[("zarr.json", document)], &[("c/0", "0201")]));
    // Garbage in the overhang of an edge chunk is none of the array's (V2-089).
    let document = v2(json!([1]), json!([2]), "|b1", json!(false), json!({}));
    assert_eq!(all::<bool>(&store(&[(".zarray", document)], &[("0", "0102")])).expect("a read"), [true]);
}

#[test]
fn v2_t59_a_shape_beyond_u64_opens_at_once() {
    let huge = json!([u64::MAX, u64::MAX, 3]);
    let store = store(&[(".zarray", v2(huge, json!([1000, 1000, 3]), "<u2", json!(7), json!({})))], &[]);
    let array = Array::<u16>::open_in(&store, "").expect("an array");
    let far = u64::MAX - 2;
    assert_eq!(
        array.read([far..far + 2, 5..6, 0..1]).expect("a read"),
        Array1::from_elem(2, 7).into_shape_with_order((2, 1, 1)).expect("2")
    );
    assert_eq!(array.read(..).expect_err("too large").kind(), ErrorKind::OutOfMemory);
    // A declared chunk of petabytes that is absent is fill for what is wanted of it, one that is there is an error.
    let document = v2(
        json!([1u64 << 50]),
        json!([1u64 << 50]),
        "<u2",
        json!(7),
        json!({"compressor": {"id": "zlib", "level": 1}}),
    );
    let store = self::store(&[(".zarray", document)], &[]);
    assert_eq!(Array::<u16>::open_in(&store, "").and_then(|a| a.read([9..10])).expect("a read"), array![7]);
    store.set("0", hex("78014b4c4c4c040003ce0185")).expect("a key");
    let error = Array::<u16>::open_in(&store, "").and_then(|a| a.read([9..10])).expect_err("a short chunk");
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error:?}");
}

#[test]
fn v3_t01_the_minimal_array() {
    let store = store(
        &[("zarr.json", v3(json!([4]), json!([2]), "uint16", json!(7), json!({})))],
        &[("c/0", "01000200")],
    );
    assert_eq!(all::<u16>(&store).expect("a read"), [1, 2, 7, 7]);
}

#[test]
fn v3_t13_t14_scalars_and_separators() {
    for (encoding, separator, scalar, key) in [
        ("default", '/', "c", "c/0/0"),
        ("default", '.', "c", "c.0.0"),
        ("v2", '.', "0", "0.0"),
        ("v2", '/', "0", "0/0"),
    ] {
        let store = MemoryStore::new();
        let named = |array: ndzarr::ArrayBuilder<u8>| array.key_encoding(encoding).separator(separator);
        named(Array::<u8>::builder([]))
            .create(&store, "a")
            .and_then(|a| a.write(s![], &ndarray::arr0(5)))
            .expect("a write");
        assert_eq!(stored(&store, &format!("a/{scalar}")), Some(vec![5]));
        let store = MemoryStore::new();
        named(Array::<u8>::builder([1, 1]))
            .create(&store, "")
            .and_then(|a| a.write(s![.., ..], &array![[6]]))
            .expect("a write");
        assert_eq!(stored(&store, key), Some(vec![6]), "{:?}", store.keys());
    }
}

#[test]
fn v3_t15_t16_short_and_empty_chunks_are_errors() {
    let document = v3(json!([3]), json!([2]), "uint8", json!(9), json!({}));
    for edge in ["03", "", "030405"] {
        corrupt::<u8>(&store(&[("zarr.json", document.clone())], &[("c/0", "0102"), ("c/1", edge)]));
    }
}

#[test]
fn v3_t17_nothing_is_read_of_an_empty_array() {
    let document = v3(json!([0, 2]), json!([1, 2]), "uint8", json!(9), json!({}));
    assert_eq!(all::<u8>(&store(&[("zarr.json", document)], &[("c/0/0", "")])).expect("a read"), [0u8; 0]);
}

#[test]
fn v3_t19_transpose_before_sharding() {
    let codecs = json!([{"name": "transpose", "configuration": {"order": [1, 0]}}, shard(json!([2, 2]), "end", crc_index())]);
    let document = v3(json!([4, 2]), json!([4, 2]), "uint8", json!(0), json!({"codecs": codecs}));
    let bytes =
        "01030204 05070608 0000000000000000 0400000000000000 0400000000000000 0400000000000000 f6ff6f8f";
    let read = store(&[("zarr.json", document.clone())], &[("c/0/0", bytes)]);
    assert_eq!(all::<u8>(&read).expect("a read"), [1, 2, 3, 4, 5, 6, 7, 8]);
    let written = store(&[("zarr.json", document)], &[]);
    let values = Array2::from_shape_vec((4, 2), (1..9).collect()).expect("eight values");
    Array::<u8>::open_in(&written, "").and_then(|a| a.write(s![.., ..], &values)).expect("a write");
    assert_eq!(stored(&written, "c/0/0"), Some(hex(bytes)));
    assert_eq!(
        Array::<u8>::open_in(&read, "").and_then(|a| a.read(s![1..3, 1])).expect("a part"),
        array![4, 6]
    );
}

#[test]
fn v3_t20_missing_inner_chunks() {
    let document = v3(
        json!([4, 4]),
        json!([4, 4]),
        "uint8",
        json!(0),
        json!({"codecs": [shard(json!([2, 2]), "end", crc_index())]}),
    );
    let bytes = format!("01020304 0000000000000000 0400000000000000 {} 667adc7a", "ff".repeat(48));
    let store = store(&[("zarr.json", document)], &[]);
    let array = Array::<u8>::open_in(&store, "").expect("an array");
    array.write(s![0..2, 0..2], &array![[1, 2], [3, 4]]).expect("a write");
    assert_eq!(stored(&store, "c/0/0"), Some(hex(&bytes)));
    assert_eq!(array.read(s![1, ..]).expect("a read"), array![3, 4, 0, 0]);
}

#[test]
fn v3_t21_t22_index_at_the_start_and_without_checksum() {
    let start = shard(json!([2]), "start", crc_index());
    let document = v3(json!([4]), json!([4]), "uint8", json!(0), json!({"codecs": [start]}));
    let bytes = format!("2400000000000000 0200000000000000 {} 2609790d 0102", "ff".repeat(16));
    let store = self::store(&[("zarr.json", document)], &[("c/0", &bytes)]);
    assert_eq!(all::<u8>(&store).expect("a read"), [1, 2, 0, 0]);

    let big = shard(json!([2]), "end", json!([{"name": "bytes", "configuration": {"endian": "big"}}]));
    let document = v3(json!([4]), json!([4]), "uint8", json!(0), json!({"codecs": [big]}));
    let store = self::store(&[("zarr.json", document)], &[]);
    Array::<u8>::open_in(&store, "").and_then(|a| a.write(s![..], &array![0, 0, 1, 2])).expect("a write");
    assert_eq!(
        stored(&store, "c/0"),
        Some(hex(&format!("0102 {} 0000000000000000 0000000000000002", "ff".repeat(16))))
    );
}

#[test]
fn v3_t23_gaps_and_any_order() {
    let document = v3(
        json!([4]),
        json!([4]),
        "uint8",
        json!(0),
        json!({"codecs": [shard(json!([2]), "end", crc_index())]}),
    );
    let bytes =
        "aa0304bbcc0102dd 0500000000000000 0200000000000000 0100000000000000 0200000000000000 10a1ab50";
    let store = store(&[("zarr.json", document)], &[("c/0", bytes)]);
    assert_eq!(all::<u8>(&store).expect("a read"), [1, 2, 3, 4]);
    // An update of one inner chunk keeps the other.
    Array::<u8>::open_in(&store, "").and_then(|a| a.write(s![0], &ndarray::arr0(9))).expect("a write");
    assert_eq!(all::<u8>(&store).expect("a read"), [9, 2, 3, 4]);
}

#[test]
fn v3_t24_broken_indexes() {
    let no_crc = json!([{"name": "bytes", "configuration": {"endian": "little"}}]);
    let document =
        v3(json!([4]), json!([4]), "uint8", json!(0), json!({"codecs": [shard(json!([2]), "end", no_crc)]}));
    let fill = "ff".repeat(8);
    let zero = "00".repeat(8);
    for bytes in [
        format!("0102 {fill}{zero} {fill}{fill}"),
        format!("0102 {zero}{fill} {fill}{fill}"),
        format!("0102 e803000000000000 0200000000000000 {fill}{fill}"),
        format!("0102 feffffffffffffff 0300000000000000 {fill}{fill}"),
        format!("0102 0000000000000000 0000000000200000 {fill}{fill}"),
        "0102".to_owned(),
        String::new(),
    ] {
        corrupt::<u8>(&store(&[("zarr.json", document.clone())], &[("c/0", &bytes)]));
    }
    let checked = v3(
        json!([4]),
        json!([4]),
        "uint8",
        json!(0),
        json!({"codecs": [shard(json!([2]), "end", crc_index())]}),
    );
    let bytes =
        "aa0304bbcc0102dd 0500000000000000 0200000000000000 0100000000000000 0200000000000000 10a1ab51";
    corrupt::<u8>(&store(&[("zarr.json", checked)], &[("c/0", bytes)]));
}

#[test]
fn v3_t25_empty_and_missing_shards() {
    let no_crc = json!([{"name": "bytes", "configuration": {"endian": "little"}}]);
    let document =
        v3(json!([8]), json!([4]), "uint8", json!(6), json!({"codecs": [shard(json!([2]), "end", no_crc)]}));
    let store = store(&[("zarr.json", document)], &[("c/0", &"ff".repeat(32))]);
    assert_eq!(all::<u8>(&store).expect("a read"), [6; 8]);
}

#[test]
fn v3_t27_a_shard_behind_further_codecs() {
    let codecs = json!([shard(json!([2]), "end", crc_index()), {"name": "gzip", "configuration": {"level": 1}}, {"name": "crc32c"}]);
    let store = store(
        &[("zarr.json", v3(json!([4]), json!([4]), "uint8", json!(0), json!({"codecs": codecs})))],
        &[],
    );
    let array = Array::<u8>::open_in(&store, "").expect("an array");
    array.write(s![..], &array![1, 2, 0, 0]).expect("a write");
    array.write(s![3], &ndarray::arr0(4)).expect("a write");
    assert_eq!(array.read(s![1..]).expect("a read"), array![2, 0, 4]);
    let mut value = stored(&store, "c/0").expect("a shard");
    let last = value.len() - 1;
    value[last] ^= 1;
    store.set("c/0", value).expect("a key");
    corrupt::<u8>(&store);
}

#[test]
fn v3_t28_nested_offsets_count_from_the_inner_shard() {
    let no_crc = json!([{"name": "bytes", "configuration": {"endian": "little"}}]);
    let inner = shard(json!([1]), "end", no_crc.clone());
    let mut outer = shard(json!([2]), "end", no_crc);
    outer["configuration"]["codecs"] = json!([inner]);
    let store = store(
        &[("zarr.json", v3(json!([4]), json!([4]), "uint8", json!(0), json!({"codecs": [outer]})))],
        &[],
    );
    Array::<u8>::open_in(&store, "").and_then(|a| a.write(s![..], &array![1, 2, 3, 4])).expect("a write");
    let number = |n: u64| n.to_le_bytes().iter().map(|b| format!("{b:02x}")).collect::<String>();
    let shard = |a: &str, b: &str| format!("{a}{b}{}{}{}{}", number(0), number(1), number(1), number(1));
    let expected = format!(
        "{}{}{}{}{}{}",
        shard("01", "02"),
        shard("03", "04"),
        number(0),
        number(34),
        number(34),
        number(34)
    );
    assert_eq!(stored(&store, "c/0"), Some(hex(&expected)));
    assert_eq!(Array::<u8>::open_in(&store, "").and_then(|a| a.read(s![2..])).expect("a read"), array![3, 4]);
}

#[test]
fn v3_t60_what_only_the_root_knows() {
    let uri = "https://purl.org/zarr/spec/core/3.0";
    let entry = json!({"zarr_format": uri, "metadata_encoding": {"type": "json", "metadata_key_suffix": ".json"}, "extensions": []});
    let array = json!({"shape": [2], "data_type": "uint8", "chunk_grid": {"type": "regular", "chunk_shape": [2], "separator": "/"},
        "chunk_memory_layout": "C", "fill_value": 0, "extensions": [], "attributes": {}});
    let draft = store(&[("zarr.json", entry), ("meta/foo.array.json", array)], &[("data/foo/c0", "0102")]);
    let array = Array::<u8>::open_in(&draft, "foo").expect("an array of the draft");
    assert_eq!((array.format(), array.read(s![..]).expect("a read")), (Format::DraftA, array![1, 2]));
    let n5 = store(&[("attributes.json", json!({"n5": "2.0.0"}))], &[("g/d/0", "00")]);
    assert_eq!(Group::open_in(&n5, "g").expect("an implicit group").format(), Format::N5);
    assert_eq!(Group::open_in(&n5, "h").expect_err("nothing").kind(), ErrorKind::NotFound);
}

#[test]
fn v3_t66_an_index_of_petabytes() {
    let codecs = json!([shard(json!([1]), "end", crc_index())]);
    let document = v3(json!([1u64 << 50]), json!([1u64 << 50]), "uint8", json!(0), json!({"codecs": codecs}));
    let store = store(&[("zarr.json", document)], &[("c/0", "0102030405060708")]);
    let error = Array::<u8>::open_in(&store, "").and_then(|a| a.read([5..6])).expect_err("no index fits");
    assert!(error.to_string().contains(&((1u64 << 54) + 4).to_string()), "{error:?}");
}

#[test]
fn v3_t67_bytes_without_endian_for_raw_bits() {
    let document =
        v3(json!([2]), json!([2]), "r40", json!([1, 2, 3, 4, 5]), json!({"codecs": [{"name": "bytes"}]}));
    let store = store(&[("zarr.json", document)], &[]);
    assert_eq!(all::<[u8; 5]>(&store).expect("a read"), [[1, 2, 3, 4, 5]; 2]);
    Array::<[u8; 5]>::open_in(&store, "").and_then(|a| a.write(s![1..], &array![[9; 5]])).expect("a write");
    assert_eq!(stored(&store, "c/0"), Some(vec![1, 2, 3, 4, 5, 9, 9, 9, 9, 9]));
    assert_eq!(AnyArray::open_in(&store, "").and_then(|a| a.read_bytes(&[1..2])).expect("a read"), [9; 5]);
}

fn draft(format: Format, chunks_per_shard: Option<u64>) -> MemoryStore {
    let store = MemoryStore::new();
    let mut request = ArrayRequest::new(vec![6], vec![2], DataType::UInt { bits: 8 });
    request.shard_shape = chunks_per_shard.map(|n| vec![2 * n]);
    AnyArray::create(&store, "sh", &request, &CreateOptions::new(format)).expect("a new array");
    store
}

#[test]
fn d3_t19_t20_shards_as_zarr_python_wrote_them() {
    let c0 = "0304 0102 0200000000000000 0200000000000000 0000000000000000 0200000000000000";
    let c1 = format!("0909 0000000000000000 0200000000000000 {}", "ff".repeat(16));
    for (format, prefix) in [(Format::DraftA, "data/sh/"), (Format::DraftB, "data/root/sh/")] {
        let store = draft(format, Some(2));
        store.set(&format!("{prefix}c0"), hex(c0)).expect("a key");
        store.set(&format!("{prefix}c1"), hex(&c1)).expect("a key");
        let array = Array::<u8>::open_in(&store, "sh").expect("an array");
        assert_eq!(array.read(s![..]).expect("a read"), array![1, 2, 3, 4, 9, 9]);

        // T43: an offset that reaches into the index.
        let mut broken = hex(&c1);
        broken[2] = 2;
        store.set(&format!("{prefix}c1"), broken).expect("a key");
        assert_eq!(array.read(s![..]).expect_err("broken").kind(), ErrorKind::Corrupt);
    }
}

#[test]
fn d3_t22_broken_shards() {
    let store = draft(Format::DraftA, Some(2));
    let array = Array::<u8>::open_in(&store, "sh").expect("an array");
    let (fill, zero) = ("ff".repeat(8), "00".repeat(8));
    for shard in [
        "00".repeat(20),
        format!("feffffffffffffff 0400000000000000 {fill}{fill}"),
        format!("{fill}{zero}{fill}{fill}"),
    ] {
        store.set("data/sh/c0", hex(&shard)).expect("a key");
        assert_eq!(array.read(s![0..2]).expect_err("broken").kind(), ErrorKind::Corrupt);
    }
}

#[test]
fn d3_t23_the_index_is_full_at_the_edge() {
    let store = MemoryStore::new();
    let array =
        Array::<u8>::builder([3, 3]).chunks([1, 1]).shards([2, 2]).format(Format::DraftA).create(&store, "a");
    array.and_then(|a| a.write(s![2, 2], &ndarray::arr0(5))).expect("a write");
    assert_eq!(stored(&store, "data/a/c1/1").map(|shard| shard.len()), Some(1 + 64));
}

#[test]
fn d3_t24_erasing_the_last_chunk_of_a_shard_erases_the_shard() {
    let store = draft(Format::DraftB, Some(2));
    let array = Array::<u8>::open_in(&store, "sh").expect("an array");
    array.write(s![0..4], &array![1, 2, 3, 4]).expect("a write");
    array.fill(s![0..2], 0).expect("an erasure");
    let shard = stored(&store, "data/root/sh/c0").expect("one chunk is left");
    assert_eq!((&shard[..2], &shard[2..18]), (&[3, 4][..], &[0xff; 16][..]));
    assert_eq!(array.read(s![0..4]).expect("a read"), array![0, 0, 3, 4]);
    array.fill(s![2..4], 0).expect("an erasure");
    assert_eq!(stored(&store, "data/root/sh/c0"), None);
}

#[test]
fn d3_t38_t40_short_empty_and_edge_chunks() {
    for (format, prefix) in [(Format::DraftA, "data/a/"), (Format::DraftB, "data/root/a/")] {
        let store = MemoryStore::new();
        let array = Array::<u8>::builder([3])
            .chunks([2])
            .fill_value(9)
            .format(format)
            .create(&store, "a")
            .expect("a new array");
        array.write(s![..], &array![1, 2, 3]).expect("a write");
        assert_eq!(stored(&store, &format!("{prefix}c0")), Some(hex("0102")));
        assert_eq!(stored(&store, &format!("{prefix}c1")), Some(hex("0309")));
        for short in ["03", ""] {
            store.set(&format!("{prefix}c1"), hex(short)).expect("a key");
            assert_eq!(array.read(s![..]).expect_err("too short").kind(), ErrorKind::Corrupt);
        }
    }
}

#[test]
fn d3_t09_scalars_of_both_dialects() {
    for (format, key) in [(Format::DraftA, "data/a/c"), (Format::DraftB, "data/root/a/c0")] {
        let store = MemoryStore::new();
        let array = Array::<f64>::builder([]).format(format).create(&store, "a").expect("a new array");
        array.write(s![], &ndarray::arr0(1.5)).expect("a write");
        assert_eq!(stored(&store, key), Some(hex("000000000000f83f")));
        if format == Format::DraftB {
            // As zarrita spelled it.
            let value = stored(&store, key).expect("it was there");
            array.write(s![], &ndarray::arr0(0.0)).expect("an erasure");
            store.set("data/root/a/c", value).expect("a key");
        }
        assert_eq!(array.read(s![]).expect("a read"), ndarray::arr0(1.5));
    }
}

/// n5.md section 7: value 1 + x + 5 y over [5, 4] in blocks of [3, 2].
#[test]
fn n5_blocks_truncated_and_padded_in_both_axis_orders() {
    let header = "000000020000000300000002";
    for (edges, last) in [
        (EdgeBlocks::Truncated, "000000020000000200000002 000e000f00130014".to_owned()),
        (EdgeBlocks::Padded, format!("{header} 000e000f0000001300140000")),
    ] {
        for axes in [N5Axes::Native, N5Axes::Reversed] {
            let store = MemoryStore::new();
            let native = Array2::from_shape_fn((5, 4), |(x, y)| (1 + x + 5 * y) as u16);
            let (shape, chunks, values) = match axes {
                N5Axes::Native => ([5, 4], [3, 2], native.view()),
                N5Axes::Reversed => ([4, 5], [2, 3], native.t()),
            };
            let array = Array::<u16>::builder(shape)
                .chunks(chunks)
                .format(Format::N5)
                .n5_axes(axes)
                .edge_blocks(edges);
            let array = array.create(&store, "d").expect("a new dataset");
            array.write(s![.., ..], &values).expect("a write");
            assert_eq!(stored(&store, "d/0/0"), Some(hex(&format!("{header} 000100020003000600070008"))));
            assert_eq!(
                stored(&store, "d/1/0"),
                Some(match edges {
                    EdgeBlocks::Truncated => hex("000000020000000200000002 000400050009000a"),
                    EdgeBlocks::Padded => hex(&format!("{header} 0004000500000009000a0000")),
                })
            );
            assert_eq!(stored(&store, "d/1/1"), Some(hex(&last)));
            let again = Array::<u16>::open_in(&store, "d").expect("the dataset, native");
            assert_eq!(again.read(s![.., ..]).expect("a read"), native);
        }
    }
}

/// n5.md section 4, what our reader does with a block header.
#[test]
fn n5_headers_that_do_not_fit() {
    let attributes =
        json!({"dataType": "uint16", "dimensions": [6], "blockSize": [3], "compression": {"type": "raw"}});
    let read = |block: &str| {
        let store = store(&[("d/attributes.json", attributes.clone())], &[("d/0", block)]);
        let array = Array::<u16>::open_in(&store, "d").expect("a dataset");
        array.read(s![0..3]).map(|values| values.to_vec()).map_err(|error| {
            assert_eq!(
                (error.kind(), error.key(), error.chunk()),
                (ErrorKind::Corrupt, Some("d/0"), Some(&[0][..])),
                "{error:?}"
            );
        })
    };
    assert_eq!(read("0000 0001 00000003 000100020003"), Ok(vec![1, 2, 3]));
    assert_eq!(read("0000 0001 00000002 00010002"), Ok(vec![1, 2, 0]), "smaller, not at the edge");
    assert_eq!(read("0000 0001 00000000"), Ok(vec![0, 0, 0]), "a size of 0");
    assert_eq!(
        read("0001 0001 00000003 00000003 000100020003"),
        Ok(vec![1, 2, 3]),
        "mode 1 that fills its size"
    );
    for bad in [
        "",
        "0000 00",
        "0000 0001 000000",
        "0000 0001 00000003 0001000200",
        "0000 0001 00000003 00010002000300",
        "0000 0001 00000004 0001000200030004",
        "0000 0002 00000003 00000001 000100020003",
        "0000 0001 ffffffff 0001",
        "0001 0001 00000003 00000002 00010002",
        "0002 00000003 090807",
        "0003 0001 00000003 000100020003",
    ] {
        assert_eq!(read(bad), Err(()), "{bad}");
    }
    // At the edge, what is outside the dimensions is dropped.
    let store = store(
        &[(
            "d/attributes.json",
            json!({"dataType": "uint8", "dimensions": [4], "blockSize": [3], "compression": {"type": "raw"}}),
        )],
        &[("d/0", "0000 0001 00000003 010203"), ("d/1", "0000 0001 00000003 04ffff")],
    );
    assert_eq!(
        Array::<u8>::open_in(&store, "d").and_then(|a| a.read(s![..])).expect("a read"),
        array![1, 2, 3, 4]
    );
}

/// zarr-v2.md V2-095: metadata stay readable, chunks are not misread; V2-098: what only steers encoding.
#[test]
fn v2_unknown_codecs_and_parameters_that_only_steer_encoding() {
    let unknown = v2(json!([2]), json!([2]), "|u1", json!(0), json!({"compressor": {"id": "brotli"}}));
    let store = self::store(&[(".zarray", unknown), (".zattrs", json!({"a": 1}))], &[("0", "0102")]);
    let array = Array::<u8>::open_in(&store, "").expect("metadata are readable");
    assert_eq!(array.attributes()["a"], 1);
    let error = array.read(..).expect_err("an unknown codec");
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("brotli"), "{error}");

    let odd =
        v2(json!([4]), json!([4]), "|u1", json!(0), json!({"compressor": {"id": "zlib", "level": "high"}}));
    let store = self::store(&[(".zarray", odd)], &[("0", "78014b4c4c4c040003ce0185")]);
    let array = Array::<u8>::open_in(&store, "").expect("an array");
    assert_eq!(array.read(s![..]).expect("a read"), array![b'a', b'a', b'a', b'a']);
    let error = array.write(s![..], &array![1, 2, 3, 4]).expect_err("nobody knows that level");
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error:?}");
}

/// An error while opening names what is not supported, for types and codecs alike.
#[test]
fn unsupported_types_and_codecs_are_named() {
    let named = |document: Value, key: &str, name: &str| {
        let error = AnyArray::open_in(&store(&[(key, document)], &[]), "")
            .and_then(|a| a.read_bytes(&[0..1]))
            .expect_err(name);
        assert!(error.to_string().contains(name), "{error} names {name}");
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error:?}");
    };
    named(v3(json!([2]), json!([2]), "string", json!(""), json!({})), "zarr.json", "string");
    named(v3(json!([2]), json!([2]), "int4", json!(0), json!({})), "zarr.json", "int4");
    named(
        v3(json!([2]), json!([2]), "uint8", json!(0), json!({"codecs": ["bytes", "brotli"]})),
        "zarr.json",
        "brotli",
    );
    named(v2(json!([2]), json!([2]), "<M8[ns]", json!(0), json!({})), ".zarray", "M8[ns]");
    named(
        v2(json!([2]), json!([2]), "<u2", json!(0), json!({"filters": [{"id": "delta", "dtype": "<u2"}]})),
        ".zarray",
        "delta",
    );
}

/// A request that a format cannot express is refused before anything is written.
#[test]
fn what_a_format_cannot_express_is_refused() {
    for (format, request) in [
        (Format::Zarr2, |r: &mut ArrayRequest| r.shard_shape = Some(vec![4])),
        (Format::N5, |r: &mut ArrayRequest| r.fill_value = FillRequest::Json(json!(1))),
        (Format::N5, |r: &mut ArrayRequest| r.endian = Some(Endian::Little)),
        (Format::Zarr3, |r: &mut ArrayRequest| r.fill_value = FillRequest::Undefined),
        (Format::Zarr3, |r: &mut ArrayRequest| r.shard_shape = Some(vec![3])),
        (Format::Zarr3, |r: &mut ArrayRequest| {
            r.codecs = CodecRequest::Json(json!([{"name": "bytes"}, {"name": "bytes"}]))
        }),
        (Format::DraftA, |r: &mut ArrayRequest| r.dimension_names = Some(vec![Some("x".into())])),
    ] as [(Format, fn(&mut ArrayRequest)); 7]
    {
        let store = MemoryStore::new();
        let mut asked = ArrayRequest::new(vec![8], vec![2], DataType::UInt { bits: 16 });
        request(&mut asked);
        AnyArray::create(&store, "a", &asked, &CreateOptions::new(format)).expect_err("no such form");
        assert!(store.keys().is_empty(), "{format}: {:?}", store.keys());
    }
    let _ = codec::zstd(1);
}
