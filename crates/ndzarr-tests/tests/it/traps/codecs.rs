//! Codecs of elements through documents, stores and regions.

use ndarray::{Array2, array};
use ndzarr::{AnyArray, Array, ErrorKind, Format, MemoryStore, OpenOptions, codec, s};
use serde_json::json;

use super::store::*;

/// One set of chunks with a document of Zarr v3 and one of N5.
#[test]
fn n5_default_is_an_n5_dataset_v3_150() {
    let n5_default = json!([{"name": "n5_default", "configuration": {"codecs": [
        {"name": "transpose", "configuration": {"order": [1, 0]}},
        {"name": "bytes", "configuration": {"endian": "big"}},
        {"name": "gzip", "configuration": {"level": 1}},
    ]}}]);
    let store = MemoryStore::new();
    let values = Array2::from_shape_fn((5, 4), |(x, y)| (1 + x + 5 * y) as u16);
    let array = Array::<u16>::builder([5, 4])
        .chunks([3, 2])
        .key_encoding("v2")
        .separator('/')
        .codecs_json(n5_default)
        .create((&store, "d"))
        .expect("a new array");
    array.write(s![.., ..], &values).expect("a write");
    let dataset = json!({"dimensions": [5, 4], "blockSize": [3, 2], "dataType": "uint16",
        "compression": {"type": "gzip", "level": 1, "useZlib": false}});
    store
        .set("d/attributes.json", dataset.to_string())
        .expect("a key");
    let options = OpenOptions::new().format(Format::N5);
    let registry = ndzarr::CodecRegistry::new();
    let n5 = options
        .clone()
        .codecs(registry.clone())
        .open_array::<u16>((&store, "d"))
        .expect("the dataset");
    assert_eq!(n5.read(s![.., ..]).expect("the elements"), values);
    // Java truncates blocks at the end of the array: they are read through either document.
    let changed = Array2::from_shape_fn((5, 4), |(x, y)| (100 + x * y) as u16);
    n5.write(s![.., ..], &changed).expect("a write");
    let v3 = Array::<u16>::open((&store, "d")).expect("the array");
    assert_eq!(v3.format(), Format::Zarr3);
    assert_eq!(
        v3.read(s![1..5, ..;2]).expect("the elements"),
        changed.slice(s![1..5, ..;2])
    );
}

/// Parts of chunks and shards are written and read through codecs that change elements.
#[test]
fn regions_of_chunks_with_codecs_of_elements() {
    let mut expected = Array2::<i32>::from_elem((7, 9), -3);
    for format in [Format::Zarr2, Format::Zarr3] {
        for shards in [None, Some([4, 6])] {
            if (format, shards) == (Format::Zarr2, Some([4, 6])) {
                continue;
            }
            let store = MemoryStore::new();
            let codecs = [
                codec::delta(ndzarr::DataType::Int { bits: 32 }),
                codec::CodecConfig::Shuffle {
                    elementsize: Some(4),
                }
                .into(),
                codec::zstd(1),
            ];
            let mut array = Array::<i32>::builder([7, 9])
                .chunks([2, 3])
                .codecs(codecs)
                .fill_value(-3);
            if let Some(shards) = shards {
                array = array.shards(shards);
            }
            let array = array
                .format(format)
                .create((&store, "a"))
                .expect("a new array");
            let block = Array2::from_shape_fn((4, 5), |(y, x)| (y * 1000 + x) as i32);
            array.write(s![1..5, 2..7], &block).expect("a write");
            expected.slice_mut(s![1..5, 2..7]).assign(&block);
            array
                .write(s![4..5, 6..7], &array![[i32::MIN]])
                .expect("a write");
            expected[[4, 6]] = i32::MIN;
            let again = Array::<i32>::open((&store, "a")).expect("the array");
            assert_eq!(
                again.read(s![.., ..]).expect("the elements"),
                expected,
                "{format} {shards:?}"
            );
            assert_eq!(
                again.read(s![..;-1, ..;-2]).expect("a part"),
                expected.slice(s![..;-1, ..;-2])
            );
            assert_eq!(
                again.read(s![3..6, 5..8]).expect("a part"),
                expected.slice(s![3..6, 5..8])
            );
        }
    }
}

/// V2-T50: values that numcodecs would lose are an error, and the chunk does not change.
#[test]
fn a_delta_that_does_not_fit_is_not_written_v2_t50() {
    let filters = json!([{"id": "delta", "dtype": "<u2", "astype": "|i1"}]);
    let document = v2(
        json!([2]),
        json!([2]),
        "<u2",
        json!(0),
        json!({"filters": filters}),
    );
    let store = store(&[(".zarray", document)], &[("0", "012c")]);
    let array = Array::<u16>::open(&store).expect("the array");
    assert_eq!(
        array.read([0..2]).expect("what numcodecs wrapped"),
        array![1, 45]
    );
    let error = array
        .write([0..2], &array![1, 301])
        .expect_err("300 is no int8");
    assert!(error.to_string().contains("delta"), "{error}");
    assert_eq!(stored(&store, "0"), Some(hex("012c")));
    array.write([0..2], &array![100, 97]).expect("-3 is one");
    assert_eq!(stored(&store, "0"), Some(hex("64fd")));
}

/// A mismatch is found when the array is opened or created, before any chunk.
#[test]
fn codecs_that_do_not_fit_are_found_at_once_v3_111() {
    let codecs = |list| json!({"codecs": list});
    let little = json!({"name": "bytes", "configuration": {"endian": "little"}});
    for (data_type, fill, list, names) in [
        (
            "float64",
            json!("NaN"),
            json!([{"name": "cast_value", "configuration": {"data_type": "int8"}}, "bytes"]),
            "NaN",
        ),
        (
            "uint16",
            json!(0),
            json!([{"name": "scale_offset", "configuration": {"offset": 1000}},
            {"name": "cast_value", "configuration": {"data_type": "uint8"}}, "bytes"]),
            "fill value",
        ),
        (
            "bool",
            json!(false),
            json!([{"name": "bitround", "configuration": {"keepbits": 3}}, "bytes"]),
            "bitround",
        ),
        (
            "uint16",
            json!(0),
            json!([{"name": "packbits", "configuration": {"last_bit": 16}}]),
            "packbits",
        ),
        (
            "uint8",
            json!(0),
            json!([{"name": "numcodecs.delta", "configuration": {"dtype": "<u2"}}, little]),
            "delta",
        ),
    ] {
        let store = store(
            &[(
                "zarr.json",
                v3(json!([4]), json!([2]), data_type, fill, codecs(list)),
            )],
            &[],
        );
        let error = AnyArray::open(&store).expect_err("it does not fit");
        assert_eq!(error.kind(), ErrorKind::InvalidMetadata, "{error:?}");
        assert!(error.to_string().contains(names), "{error}");
    }
}
