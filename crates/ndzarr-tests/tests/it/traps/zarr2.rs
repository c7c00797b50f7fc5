//! Traps of Zarr v2.

use ndarray::{Array1, array};
use ndzarr::{Array, Endian, ErrorKind, Format, MemoryStore, Order, s};
use serde_json::json;

use super::store::*;

#[test]
fn v2_t01_a_scalar_is_under_0() {
    let store = store(
        &[(
            ".zarray",
            v2(json!([]), json!([]), "<i4", json!(0), json!({})),
        )],
        &[("0", "05000000")],
    );
    assert_eq!(all::<i32>(&store).expect("a scalar"), [5]);
    assert_eq!(
        Array::<i32>::open(&store)
            .and_then(|a| a.read(s![]))
            .expect("a scalar"),
        ndarray::arr0(5)
    );
}

#[test]
fn v2_t03_order_f_in_both_byte_orders() {
    for (endian, chunk) in [
        (Endian::Little, "000003000100040002000500"),
        (Endian::Big, "000000030001000400020005"),
    ] {
        let store = MemoryStore::new();
        let array = Array::<u16>::builder([2, 3])
            .chunks([2, 3])
            .order(Order::F)
            .endian(endian)
            .format(Format::Zarr2);
        let values = array![[0, 1, 2], [3, 4, 5]];
        array
            .create(&store)
            .and_then(|a| a.write(s![.., ..], &values))
            .expect("a write");
        assert_eq!(stored(&store, "0.0"), Some(hex(chunk)));
        assert_eq!(all::<u16>(&store).expect("a read"), [0, 1, 2, 3, 4, 5]);
    }
}

#[test]
fn v2_t05_edge_chunks_are_padded() {
    let document = v2(json!([3]), json!([2]), "|u1", json!(9), json!({}));
    assert_eq!(
        all::<u8>(&store(
            &[(".zarray", document.clone())],
            &[("0", "0102"), ("1", "0377")]
        ))
        .expect("a read"),
        [1, 2, 3]
    );
    corrupt::<u8>(&store(
        &[(".zarray", document.clone())],
        &[("0", "0102"), ("1", "03")],
    ));
    let store = store(&[(".zarray", document)], &[]);
    Array::<u8>::open(&store)
        .and_then(|a| a.write(s![..], &array![1, 2, 3]))
        .expect("a write");
    assert_eq!(
        (stored(&store, "0"), stored(&store, "1")),
        (Some(hex("0102")), Some(hex("0309")))
    );
}

#[test]
fn v2_t13_without_a_fill_value_zeros_are_stored() {
    let store = MemoryStore::new();
    let array = Array::<f32>::builder([2])
        .chunks([2])
        .no_fill_value()
        .format(Format::Zarr2)
        .create(&store);
    array
        .and_then(|a| a.write(s![..], &array![0.0, 0.0]))
        .expect("a write");
    assert_eq!(stored(&store, "0"), Some(vec![0; 8]));
}

#[test]
fn v2_t14_v3_t11_negative_zero_is_not_zero() {
    for format in [Format::Zarr2, Format::Zarr3] {
        let store = MemoryStore::new();
        let array = Array::<f32>::builder([1])
            .chunks([1])
            .format(format)
            .create(&store)
            .expect("a new array");
        array.write(s![..], &array![-0.0]).expect("a write");
        assert_eq!(
            stored(&store, &array.units().key(&[0])),
            Some(hex("00000080"))
        );
    }
    // And the reverse, also for inner chunks.
    let store = MemoryStore::new();
    let array = Array::<f32>::builder([4])
        .chunks([2])
        .shards([4])
        .fill_value(-0.0)
        .create((&store, "a"))
        .expect("a new array");
    array
        .write(s![..], &array![-0.0, -0.0, 0.0, -0.0])
        .expect("a write");
    let shard = stored(&store, "a/c/0").expect("a shard");
    assert_eq!(
        shard[..8],
        hex("0000000000000080"),
        "only the second inner chunk"
    );
    assert_eq!(shard.len(), 8 + 32 + 4);
    let bits: Vec<u32> = array
        .read(..)
        .expect("a read")
        .iter()
        .map(|v| v.to_bits())
        .collect();
    assert_eq!(bits, [0x8000_0000, 0x8000_0000, 0, 0x8000_0000]);
}

#[test]
fn v2_t15_another_nan_is_not_the_fill_value() {
    let store = MemoryStore::new();
    let array = Array::<f32>::builder([1])
        .chunks([1])
        .fill_value(f32::NAN)
        .format(Format::Zarr2)
        .create(&store);
    array
        .and_then(|a| a.write(s![..], &array![f32::from_bits(0x7fc0_0001)]))
        .expect("a write");
    assert_eq!(stored(&store, "0"), Some(hex("0100c07f")));
}

#[test]
fn v2_t47_v3_t56_a_bool_is_0_or_1() {
    corrupt::<bool>(&store(
        &[(
            ".zarray",
            v2(json!([2]), json!([2]), "|b1", json!(false), json!({})),
        )],
        &[("0", "0102")],
    ));
    let document = v3(
        json!([2]),
        json!([2]),
        "bool",
        json!(false),
        json!({"codecs": ["bytes"]}),
    );
    corrupt::<bool>(&store(&[("zarr.json", document)], &[("c/0", "0201")]));
    // Garbage in the overhang of an edge chunk is not part of the array.
    let document = v2(json!([1]), json!([2]), "|b1", json!(false), json!({}));
    assert_eq!(
        all::<bool>(&store(&[(".zarray", document)], &[("0", "0102")])).expect("a read"),
        [true]
    );
}

#[test]
fn v2_t59_a_shape_beyond_u64_opens_at_once() {
    let huge = json!([u64::MAX, u64::MAX, 3]);
    let store = store(
        &[(
            ".zarray",
            v2(huge, json!([1000, 1000, 3]), "<u2", json!(7), json!({})),
        )],
        &[],
    );
    let array = Array::<u16>::open(&store).expect("an array");
    let far = u64::MAX - 2;
    assert_eq!(
        array.read([far..far + 2, 5..6, 0..1]).expect("a read"),
        Array1::from_elem(2, 7)
            .into_shape_with_order((2, 1, 1))
            .expect("2")
    );
    assert_eq!(
        array.read(..).expect_err("too large").kind(),
        ErrorKind::OutOfMemory
    );
    // A missing chunk of a declared size of petabytes reads as the fill value; an existing one is
    // an error. On 32 bits gigabytes are as much as can be declared.
    let declared = if cfg!(target_pointer_width = "64") {
        1u64 << 50
    } else {
        1 << 29
    };
    let document = v2(
        json!([declared]),
        json!([declared]),
        "<u2",
        json!(7),
        json!({"compressor": {"id": "zlib", "level": 1}}),
    );
    let store = self::store(&[(".zarray", document)], &[]);
    assert_eq!(
        Array::<u16>::open(&store)
            .and_then(|a| a.read([9..10]))
            .expect("a read"),
        array![7]
    );
    store
        .set("0", hex("78014b4c4c4c040003ce0185"))
        .expect("a key");
    let error = Array::<u16>::open(&store)
        .and_then(|a| a.read([9..10]))
        .expect_err("a short chunk");
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error:?}");
}

/// Metadata stay readable, and chunks are not misread; parameters that affect only encoding.
#[test]
fn v2_unknown_codecs_and_parameters_that_only_steer_encoding() {
    let unknown = v2(
        json!([2]),
        json!([2]),
        "|u1",
        json!(0),
        json!({"compressor": {"id": "brotli"}}),
    );
    let store = self::store(
        &[(".zarray", unknown), (".zattrs", json!({"a": 1}))],
        &[("0", "0102")],
    );
    let array = Array::<u8>::open(&store).expect("metadata are readable");
    assert_eq!(array.attributes()["a"], 1);
    let error = array.read(..).expect_err("an unknown codec");
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert!(error.to_string().contains("brotli"), "{error}");

    let odd = v2(
        json!([4]),
        json!([4]),
        "|u1",
        json!(0),
        json!({"compressor": {"id": "zlib", "level": "high"}}),
    );
    let store = self::store(&[(".zarray", odd)], &[("0", "78014b4c4c4c040003ce0185")]);
    let array = Array::<u8>::open(&store).expect("an array");
    assert_eq!(
        array.read(s![..]).expect("a read"),
        array![b'a', b'a', b'a', b'a']
    );
    let error = array
        .write(s![..], &array![1, 2, 3, 4])
        .expect_err("no such level");
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error:?}");
}
