//! Traps of Zarr v3.

use ndarray::{Array2, array};
use ndzarr::{AnyArray, Array, ErrorKind, Format, Group, MemoryStore, s};
use serde_json::json;

use super::store::*;

#[test]
fn v3_t01_the_minimal_array() {
    let store = store(
        &[(
            "zarr.json",
            v3(json!([4]), json!([2]), "uint16", json!(7), json!({})),
        )],
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
        let named =
            |array: ndzarr::ArrayBuilder<u8>| array.key_encoding(encoding).separator(separator);
        named(Array::<u8>::builder([]))
            .create((&store, "a"))
            .and_then(|a| a.write(s![], &ndarray::arr0(5)))
            .expect("a write");
        assert_eq!(stored(&store, &format!("a/{scalar}")), Some(vec![5]));
        let store = MemoryStore::new();
        named(Array::<u8>::builder([1, 1]))
            .create(&store)
            .and_then(|a| a.write(s![.., ..], &array![[6]]))
            .expect("a write");
        assert_eq!(stored(&store, key), Some(vec![6]), "{:?}", store.keys());
    }
}

#[test]
fn v3_t15_t16_short_and_empty_chunks_are_errors() {
    let document = v3(json!([3]), json!([2]), "uint8", json!(9), json!({}));
    for edge in ["03", "", "030405"] {
        corrupt::<u8>(&store(
            &[("zarr.json", document.clone())],
            &[("c/0", "0102"), ("c/1", edge)],
        ));
    }
}

#[test]
fn v3_t17_nothing_is_read_of_an_empty_array() {
    let document = v3(json!([0, 2]), json!([1, 2]), "uint8", json!(9), json!({}));
    assert_eq!(
        all::<u8>(&store(&[("zarr.json", document)], &[("c/0/0", "")])).expect("a read"),
        [0u8; 0]
    );
}

#[test]
fn v3_t19_transpose_before_sharding() {
    let codecs = json!([{"name": "transpose", "configuration": {"order": [1, 0]}}, shard(json!([2, 2]), "end", crc_index())]);
    let document = v3(
        json!([4, 2]),
        json!([4, 2]),
        "uint8",
        json!(0),
        json!({"codecs": codecs}),
    );
    let bytes = "01030204 05070608 0000000000000000 0400000000000000 0400000000000000 0400000000000000 f6ff6f8f";
    let read = store(&[("zarr.json", document.clone())], &[("c/0/0", bytes)]);
    assert_eq!(all::<u8>(&read).expect("a read"), [1, 2, 3, 4, 5, 6, 7, 8]);
    let written = store(&[("zarr.json", document)], &[]);
    let values = Array2::from_shape_vec((4, 2), (1..9).collect()).expect("eight values");
    Array::<u8>::open(&written)
        .and_then(|a| a.write(s![.., ..], &values))
        .expect("a write");
    assert_eq!(stored(&written, "c/0/0"), Some(hex(bytes)));
    assert_eq!(
        Array::<u8>::open(&read)
            .and_then(|a| a.read(s![1..3, 1]))
            .expect("a part"),
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
    let bytes = format!(
        "01020304 0000000000000000 0400000000000000 {} 667adc7a",
        "ff".repeat(48)
    );
    let store = store(&[("zarr.json", document)], &[]);
    let array = Array::<u8>::open(&store).expect("an array");
    array
        .write(s![0..2, 0..2], &array![[1, 2], [3, 4]])
        .expect("a write");
    assert_eq!(stored(&store, "c/0/0"), Some(hex(&bytes)));
    assert_eq!(array.read(s![1, ..]).expect("a read"), array![3, 4, 0, 0]);
}

#[test]
fn v3_t21_t22_index_at_the_start_and_without_checksum() {
    let start = shard(json!([2]), "start", crc_index());
    let document = v3(
        json!([4]),
        json!([4]),
        "uint8",
        json!(0),
        json!({"codecs": [start]}),
    );
    let bytes = format!(
        "2400000000000000 0200000000000000 {} 2609790d 0102",
        "ff".repeat(16)
    );
    let store = self::store(&[("zarr.json", document)], &[("c/0", &bytes)]);
    assert_eq!(all::<u8>(&store).expect("a read"), [1, 2, 0, 0]);

    let big = shard(
        json!([2]),
        "end",
        json!([{"name": "bytes", "configuration": {"endian": "big"}}]),
    );
    let document = v3(
        json!([4]),
        json!([4]),
        "uint8",
        json!(0),
        json!({"codecs": [big]}),
    );
    let store = self::store(&[("zarr.json", document)], &[]);
    Array::<u8>::open(&store)
        .and_then(|a| a.write(s![..], &array![0, 0, 1, 2]))
        .expect("a write");
    assert_eq!(
        stored(&store, "c/0"),
        Some(hex(&format!(
            "0102 {} 0000000000000000 0000000000000002",
            "ff".repeat(16)
        )))
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
    let bytes = "aa0304bbcc0102dd 0500000000000000 0200000000000000 0100000000000000 0200000000000000 10a1ab50";
    let store = store(&[("zarr.json", document)], &[("c/0", bytes)]);
    assert_eq!(all::<u8>(&store).expect("a read"), [1, 2, 3, 4]);
    // An update of one inner chunk keeps the other.
    Array::<u8>::open(&store)
        .and_then(|a| a.write(s![0], &ndarray::arr0(9)))
        .expect("a write");
    assert_eq!(all::<u8>(&store).expect("a read"), [9, 2, 3, 4]);
}

#[test]
fn v3_t24_broken_indexes_are_errors() {
    let no_crc = json!([{"name": "bytes", "configuration": {"endian": "little"}}]);
    let document = v3(
        json!([4]),
        json!([4]),
        "uint8",
        json!(0),
        json!({"codecs": [shard(json!([2]), "end", no_crc)]}),
    );
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
        corrupt::<u8>(&store(
            &[("zarr.json", document.clone())],
            &[("c/0", &bytes)],
        ));
    }
    let checked = v3(
        json!([4]),
        json!([4]),
        "uint8",
        json!(0),
        json!({"codecs": [shard(json!([2]), "end", crc_index())]}),
    );
    let bytes = "aa0304bbcc0102dd 0500000000000000 0200000000000000 0100000000000000 0200000000000000 10a1ab51";
    corrupt::<u8>(&store(&[("zarr.json", checked)], &[("c/0", bytes)]));
}

#[test]
fn v3_t25_empty_and_missing_shards() {
    let no_crc = json!([{"name": "bytes", "configuration": {"endian": "little"}}]);
    let document = v3(
        json!([8]),
        json!([4]),
        "uint8",
        json!(6),
        json!({"codecs": [shard(json!([2]), "end", no_crc)]}),
    );
    let store = store(&[("zarr.json", document)], &[("c/0", &"ff".repeat(32))]);
    assert_eq!(all::<u8>(&store).expect("a read"), [6; 8]);
}

#[test]
fn v3_t27_a_shard_within_further_codecs() {
    let codecs = json!([shard(json!([2]), "end", crc_index()), {"name": "gzip", "configuration": {"level": 1}}, {"name": "crc32c"}]);
    let store = store(
        &[(
            "zarr.json",
            v3(
                json!([4]),
                json!([4]),
                "uint8",
                json!(0),
                json!({"codecs": codecs}),
            ),
        )],
        &[],
    );
    let array = Array::<u8>::open(&store).expect("an array");
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
        &[(
            "zarr.json",
            v3(
                json!([4]),
                json!([4]),
                "uint8",
                json!(0),
                json!({"codecs": [outer]}),
            ),
        )],
        &[],
    );
    Array::<u8>::open(&store)
        .and_then(|a| a.write(s![..], &array![1, 2, 3, 4]))
        .expect("a write");
    let number = |n: u64| {
        n.to_le_bytes()
            .iter()
            .map(|b| format!("{b:02x}"))
            .collect::<String>()
    };
    let shard =
        |a: &str, b: &str| format!("{a}{b}{}{}{}{}", number(0), number(1), number(1), number(1));
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
    assert_eq!(
        Array::<u8>::open(&store)
            .and_then(|a| a.read(s![2..]))
            .expect("a read"),
        array![3, 4]
    );
}

#[test]
fn v3_t60_what_only_the_root_knows() {
    let uri = "https://purl.org/zarr/spec/core/3.0";
    let entry = json!({"zarr_format": uri, "metadata_encoding": {"type": "json", "metadata_key_suffix": ".json"}, "extensions": []});
    let array = json!({"shape": [2], "data_type": "uint8", "chunk_grid": {"type": "regular", "chunk_shape": [2], "separator": "/"},
        "chunk_memory_layout": "C", "fill_value": 0, "extensions": [], "attributes": {}});
    let draft = store(
        &[("zarr.json", entry), ("meta/foo.array.json", array)],
        &[("data/foo/c0", "0102")],
    );
    let array = Array::<u8>::open((&draft, "foo")).expect("an array of the draft");
    assert_eq!(
        (array.format(), array.read(s![..]).expect("a read")),
        (Format::DraftA, array![1, 2])
    );
    let n5 = store(
        &[("attributes.json", json!({"n5": "2.0.0"}))],
        &[("g/d/0", "00")],
    );
    assert_eq!(
        Group::open((&n5, "g")).expect("an implicit group").format(),
        Format::N5
    );
    assert_eq!(
        Group::open((&n5, "h")).expect_err("nothing").kind(),
        ErrorKind::NotFound
    );
}

#[test]
fn v3_t66_an_index_of_petabytes() {
    let codecs = json!([shard(json!([1]), "end", crc_index())]);
    let document = v3(
        json!([1u64 << 50]),
        json!([1u64 << 50]),
        "uint8",
        json!(0),
        json!({"codecs": codecs}),
    );
    let store = store(&[("zarr.json", document)], &[("c/0", "0102030405060708")]);
    let error = Array::<u8>::open(&store)
        .and_then(|a| a.read([5..6]))
        .expect_err("no index fits");
    if cfg!(target_pointer_width = "32") {
        return assert!(error.to_string().contains("too large"), "{error:?}");
    }
    assert!(
        error.to_string().contains(&((1u64 << 54) + 4).to_string()),
        "{error:?}"
    );
}

#[test]
fn v3_t67_bytes_without_endian_for_raw_bits() {
    let document = v3(
        json!([2]),
        json!([2]),
        "r40",
        json!([1, 2, 3, 4, 5]),
        json!({"codecs": [{"name": "bytes"}]}),
    );
    let store = store(&[("zarr.json", document)], &[]);
    assert_eq!(
        all::<[u8; 5]>(&store).expect("a read"),
        [[1, 2, 3, 4, 5]; 2]
    );
    Array::<[u8; 5]>::open(&store)
        .and_then(|a| a.write(s![1..], &array![[9; 5]]))
        .expect("a write");
    assert_eq!(
        stored(&store, "c/0"),
        Some(vec![1, 2, 3, 4, 5, 9, 9, 9, 9, 9])
    );
    assert_eq!(
        AnyArray::open(&store)
            .and_then(|a| a.read_bytes(&[1..2]))
            .expect("a read"),
        [9; 5]
    );
}
