//! Stored chunks of elements that a filter changed or that have no fixed size. The first byte
//! chooses the document, the rest is the chunk.

use ndzarr::{AnyArray, DataType, ErrorKind, MemoryStore};
use serde_json::{Value, json};

/// Memory limit for an input: chunks have eight elements, and those of variable size as much as the
/// input unpacks to.
pub const MAX_BYTES: usize = 16 << 20;

/// Type and filters of v2, each with and without a compressor.
fn filtered() -> Vec<(&'static str, Value)> {
    vec![
        ("|O", json!([{"id": "vlen-utf8"}])),
        ("|O", json!([{"id": "vlen-bytes"}])),
        ("|O", json!([{"id": "vlen-array", "dtype": "<i2"}])),
        ("|O", json!([{"id": "json2"}])),
        ("|O", json!([{"id": "msgpack2"}])),
        (
            "<i2",
            json!([{"id": "delta", "dtype": "<i2", "astype": "|i1"}]),
        ),
        (
            "<f4",
            json!([{"id": "fixedscaleoffset", "offset": 1, "scale": 10, "dtype": "<f4", "astype": "|u1"}]),
        ),
        (
            "<f8",
            json!([{"id": "quantize", "digits": 2, "dtype": "<f8", "astype": "<f4"}]),
        ),
        ("|b1", json!([{"id": "packbits"}])),
        (
            ">i4",
            json!([{"id": "astype", "encode_dtype": "<i2", "decode_dtype": ">i4"}]),
        ),
        (
            "<U3",
            json!([{"id": "categorize", "labels": ["a", "b"], "dtype": "<U3", "astype": "|u1"}]),
        ),
        ("<f4", json!([{"id": "bitround", "keepbits": 4}])),
        ("<u4", json!([{"id": "pcodec"}])),
        ("<f8", json!([{"id": "pcodec"}])),
        (
            "<u2",
            json!([{"id": "shuffle", "elementsize": 2}, {"id": "fletcher32"}]),
        ),
        ("|S3", json!([{"id": "base64"}])),
        (
            "|O",
            json!([
                {"id": "categorize", "labels": ["", "ab"], "dtype": "|O", "astype": ">i2"},
                {"id": "crc32c"}
            ]),
        ),
    ]
}

/// Type, fill value and codecs of v3.
fn extended() -> Vec<(Value, Value, Value)> {
    let bytes = || json!({"name": "bytes", "configuration": {"endian": "big"}});
    let sharded = |codecs: Value| {
        json!([{"name": "sharding_indexed", "configuration": {"chunk_shape": [4], "codecs": codecs,
            "index_codecs": [bytes()]}}])
    };
    let record = || {
        json!({"name": "struct", "configuration": {"fields": [
            {"name": "a", "data_type": "int16"}, {"name": "b", "data_type": "float64"}]}})
    };
    vec![
        (json!("string"), json!("x"), json!(["vlen-utf8"])),
        (json!("string"), json!(""), sharded(json!(["vlen-utf8"]))),
        (json!("bytes"), json!([1]), json!(["vlen-bytes", "crc32c"])),
        (
            json!("bool"),
            json!(true),
            json!([{"name": "packbits", "configuration": {"padding_encoding": "first_byte"}}]),
        ),
        (
            json!("int4"),
            json!(-1),
            json!([{"name": "packbits", "configuration": {}}]),
        ),
        (
            json!("uint16"),
            json!(0),
            json!([{"name": "packbits", "configuration": {"first_bit": 3, "last_bit": 9}}]),
        ),
        (
            json!("float32"),
            json!(0),
            json!([{"name": "cast_value", "configuration": {"data_type": "int8"}}, bytes()]),
        ),
        (
            json!("float64"),
            json!(0),
            json!([{"name": "scale_offset", "configuration": {"scale": 200.0}}, bytes()]),
        ),
        (
            json!("uint32"),
            json!(0),
            json!([{"name": "reshape", "configuration": {"shape": [2, 4]}}, bytes()]),
        ),
        (json!("uint16"), json!(0), json!(["numcodecs.pcodec"])),
        (record(), json!({"a": 0, "b": 0.0}), json!([bytes()])),
    ]
}

/// The document of a first byte, and the key it is stored under.
#[must_use]
pub fn document(choice: u8) -> (&'static str, Value) {
    let filtered = filtered();
    let mut extended = extended();
    let count = 2 * filtered.len() + extended.len();
    let choice = usize::from(choice) % count;
    if choice < 2 * filtered.len() {
        let (dtype, filters) = &filtered[choice / 2];
        let compressor = if choice.is_multiple_of(2) {
            Value::Null
        } else {
            json!({"id": "zlib", "level": 1})
        };
        let document = json!({"zarr_format": 2, "shape": [8], "chunks": [8], "order": "C", "dtype": dtype,
            "fill_value": null, "filters": filters, "compressor": compressor});
        return (".zarray", document);
    }
    let (data_type, fill_value, codecs) = extended.swap_remove(choice - 2 * filtered.len());
    let document = json!({"zarr_format": 3, "node_type": "array", "shape": [8], "data_type": data_type,
        "fill_value": fill_value, "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [8]}},
        "chunk_key_encoding": {"name": "v2"}, "codecs": codecs});
    ("zarr.json", document)
}

/// The number of documents.
#[must_use]
pub fn choices() -> u8 {
    (2 * filtered().len() + extended().len()) as u8
}

/// An array of a first byte's document, without chunks.
///
/// # Panics
/// The document does not open.
#[must_use]
pub fn array(choice: u8, store: &MemoryStore) -> AnyArray {
    let (key, document) = document(choice);
    store
        .set(key, document.to_string())
        .expect("the key is valid");
    AnyArray::open(store).expect("the document is valid")
}

/// The elements of a region.
fn read(array: &AnyArray, start: u64, end: u64) -> ndzarr::Result<Vec<Vec<u8>>> {
    let region = &[start..end];
    if is_vlen(array.data_type()) {
        return array.read_vlen(region);
    }
    let bytes = array.read_bytes(region)?;
    Ok(bytes
        .chunks(bytes.len() / (end - start) as usize)
        .map(<[u8]>::to_vec)
        .collect())
}

/// True if the elements have variable sizes.
#[must_use]
pub fn is_vlen(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::String | DataType::Bytes | DataType::Json | DataType::VlenArray(_)
    )
}

/// Runs an input.
pub fn check(data: &[u8]) {
    let Some((&choice, chunk)) = data.split_first() else {
        return;
    };
    let store = MemoryStore::new();
    let array = array(choice, &store);
    store.set("0", chunk.to_vec()).expect("the key is valid");
    let whole = read(&array, 0, 8);
    if let Err(error) = &whole {
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error:?}");
        assert_eq!(error.key(), Some("0"));
    }
    let parts = [read(&array, 0, 3), read(&array, 3, 8)];
    let sharded = document(choice).1["codecs"][0]["name"] == "sharding_indexed";
    let [Ok(first), Ok(second)] = parts else {
        assert!(whole.is_err(), "a part is damaged, the whole is not");
        return;
    };
    let Ok(whole) = whole else {
        panic!("both parts are good, the whole is not")
    };
    assert_eq!([first, second].concat(), whole);
    if is_vlen(array.data_type()) && !sharded {
        // Strings and bytes survive a round trip.
        array
            .write_vlen(&[0..8], &whole)
            .expect("what was read is written");
        assert_eq!(read(&array, 0, 8).expect("what was written is read"), whole);
    }
}
