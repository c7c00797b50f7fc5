//! Images as other programs write them, images made here, and refusals.
#![deny(unsafe_code)]

mod from_elements;
mod hostile;
mod levels;
mod memory;
mod n5;
mod plain_data;
mod reading;
mod series;
mod validation;
mod versions;
mod writing;

use ndzarr::MemoryStore;
use ndzarr_ome::Multiscale;
use serde_json::{Value, json};

/// A group of Zarr v2 with these attributes, and arrays of these shapes, each in one chunk of
/// zeros.
fn zarr2(attributes: &Value, arrays: &[(&str, &[u64])]) -> MemoryStore {
    let store = MemoryStore::new();
    put(&store, ".zgroup", &json!({"zarr_format": 2}));
    put(&store, ".zattrs", attributes);
    for (path, shape) in arrays {
        put(
            &store,
            &format!("{path}/.zarray"),
            &json!({
                "zarr_format": 2, "shape": shape, "chunks": shape, "dtype": "|u1", "compressor": null, "filters": null,
                "fill_value": 0, "order": "C",
            }),
        );
    }
    store
}

/// A group of Zarr v3 with these attributes and arrays, with dimension names.
fn zarr3(attributes: &Value, arrays: &[(&str, &[u64], &[&str])]) -> MemoryStore {
    let store = MemoryStore::new();
    put(
        &store,
        "zarr.json",
        &json!({"zarr_format": 3, "node_type": "group", "attributes": attributes}),
    );
    for (path, shape, names) in arrays {
        put(
            &store,
            &format!("{path}/zarr.json"),
            &json!({
                "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": "uint8", "fill_value": 0,
                "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": shape}},
                "chunk_key_encoding": {"name": "default"}, "codecs": [{"name": "bytes"}], "dimension_names": names,
            }),
        );
    }
    store
}

/// A dataset of N5; dimensions are in N5's own order.
fn n5_dataset(store: &MemoryStore, path: &str, dimensions: &[u64], more: Value) {
    let mut document = json!({
        "dimensions": dimensions, "blockSize": dimensions, "dataType": "uint8", "compression": {"type": "raw"},
    });
    let members = document.as_object_mut().expect("it is an object");
    members.extend(more.as_object().expect("it is an object").clone());
    put(store, &format!("{path}/attributes.json"), &document);
}

fn put(store: &MemoryStore, key: &str, document: &Value) {
    store
        .set(key, document.to_string())
        .expect("memory never fails");
}

fn open(store: &MemoryStore) -> Multiscale {
    Multiscale::open(store).unwrap_or_else(|error| panic!("{error}"))
}

fn refusal(store: &MemoryStore) -> String {
    match Multiscale::open(store) {
        Err(error) => error.to_string(),
        Ok(image) => panic!("it is read as {image:?}"),
    }
}

/// Axes of space of 0.4 and 0.5.
fn space(names: &[&str]) -> Value {
    names
        .iter()
        .map(|name| json!({"name": name, "type": "space", "unit": "micrometer"}))
        .collect()
}

fn scale(list: &[f64]) -> Value {
    json!({"type": "scale", "scale": list})
}

fn translation(list: &[f64]) -> Value {
    json!({"type": "translation", "translation": list})
}
