//! Stores made of literal documents and bytes.

use ndzarr::{Array, Element, ErrorKind, MemoryStore};
use serde_json::{Value, json};

pub(crate) fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(&String::from_utf8_lossy(pair), 16).expect("two digits"))
        .collect()
}

pub(crate) fn store(documents: &[(&str, Value)], values: &[(&str, &str)]) -> MemoryStore {
    let store = MemoryStore::new();
    for (key, document) in documents {
        store.set(key, document.to_string()).expect("a key");
    }
    for (key, value) in values {
        store.set(key, hex(value)).expect("a key");
    }
    store
}

pub(crate) fn stored(store: &MemoryStore, key: &str) -> Option<Vec<u8>> {
    store.get(key).map(|value| value.to_vec())
}

/// A Zarr v2 array document.
pub(crate) fn v2(shape: Value, chunks: Value, dtype: &str, fill: Value, more: Value) -> Value {
    let mut document = json!({"zarr_format": 2, "shape": shape, "chunks": chunks, "dtype": dtype, "fill_value": fill,
        "order": "C", "compressor": null, "filters": null});
    merge(&mut document, more);
    document
}

/// A Zarr v3 array document of elements in little endian.
pub(crate) fn v3(shape: Value, chunks: Value, data_type: &str, fill: Value, more: Value) -> Value {
    let mut document = json!({"zarr_format": 3, "node_type": "array", "shape": shape, "data_type": data_type,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}},
        "chunk_key_encoding": {"name": "default"}, "fill_value": fill,
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]});
    merge(&mut document, more);
    document
}

pub(crate) fn merge(document: &mut Value, more: Value) {
    if let (Value::Object(document), Value::Object(more)) = (document, more) {
        document.extend(more);
    }
}

pub(crate) fn shard(inner: Value, location: &str, index_codecs: Value) -> Value {
    json!({"name": "sharding_indexed", "configuration": {"chunk_shape": inner, "codecs": [{"name": "bytes"}],
        "index_codecs": index_codecs, "index_location": location}})
}

pub(crate) fn crc_index() -> Value {
    json!([{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}])
}

pub(crate) fn all<T: Element>(store: &MemoryStore) -> Result<Vec<T>, ndzarr::Error> {
    Ok(Array::<T>::open(store)?.read(..)?.into_iter().collect())
}

pub(crate) fn corrupt<T: Element + std::fmt::Debug>(store: &MemoryStore) {
    let error = all::<T>(store).expect_err("a broken value is an error");
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error:?}");
    assert!(
        error.key().is_some() && error.chunk().is_some() && error.store().is_some(),
        "{error:?}"
    );
}
