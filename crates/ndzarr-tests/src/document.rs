//! Checks shared by the targets of documents.

use ndzarr::{AnyArray, AnyNode, DataType, ErrorKind, Group, MemoryStore};
use ndzarr_metadata::{codecs_json, fill_value_json, parse_fill_value_json};
use serde_json::{Map, Value, json};

/// A raw element of 64 MiB is allowed, and its fill value is held a few times.
pub(crate) const MAX_BYTES: usize = 1 << 30;

/// Opens the node that the documents describe, and checks what must hold for every opened node.
pub(crate) fn check(documents: &[(&str, &[u8])], path: &str) {
    let store = MemoryStore::new();
    for (key, value) in documents {
        store.set(key, value.to_vec()).expect("the keys are valid");
    }
    for node in [
        AnyNode::open((&store, path)),
        Group::open((&store, path)).map(AnyNode::Group),
    ] {
        let Ok(node) = node else { continue };
        match node {
            AnyNode::Array(array) => check_array(array),
            AnyNode::Group(mut group) => {
                let _ = group.walk();
                let before = group.attributes().clone();
                if !before.contains_key("fuzz")
                    && group.merge_attributes(json!({"fuzz": 1})).is_ok()
                {
                    check_merged(before, group.attributes());
                }
            }
        }
    }
}

fn check_array(mut array: AnyArray) {
    let spec = array.spec().clone();
    assert_eq!(spec.shape.len(), spec.unit_shape.len());
    let json = fill_value_json(&spec.data_type, &spec.fill_value);
    // Objects of N5 can only be read by block: their type is unknown.
    let is_object = spec.data_type.to_string() == "object";
    if spec.fill_value.is_defined() && !is_object {
        let parsed = parse_fill_value_json(&spec.data_type, &json);
        let parsed = parsed.unwrap_or_else(|error| panic!("{json} cannot be read: {error}"));
        if is_padded(&spec.data_type) {
            // JSON contains only the fields, without the gaps between them.
            assert_eq!(fill_value_json(&spec.data_type, &parsed), json);
        } else {
            assert_eq!(parsed.bytes(), spec.fill_value.bytes(), "{json}");
        }
    }
    let _ = codecs_json(&spec.codecs, &spec.data_type).to_string();
    if !spec.shape.contains(&0) && spec.shape.len() <= 32 {
        let last: Vec<_> = spec.shape.iter().map(|&n| n - 1..n).collect();
        let read = match spec.data_type.elem_size() {
            Some(_) => array.read_bytes(&last),
            None => array.read_vlen(&last).map(|elements| elements.concat()),
        };
        match read {
            Ok(bytes) => assert_eq!(bytes, spec.fill_value.bytes(), "what is not stored is fill"),
            Err(error) => {
                let expected = [
                    ErrorKind::Unsupported,
                    ErrorKind::OutOfMemory,
                    ErrorKind::InvalidMetadata,
                ];
                // The document can be where a chunk would be.
                let in_the_way = error.kind() == ErrorKind::Corrupt && error.key().is_some();
                assert!(expected.contains(&error.kind()) || in_the_way, "{error:?}");
            }
        }
    }
    let before = array.attributes().clone();
    if !before.contains_key("fuzz") && array.merge_attributes(json!({"fuzz": 1})).is_ok() {
        check_merged(before, array.attributes());
        assert_eq!(array.spec(), &spec, "attributes do not change the array");
    }
}

fn is_padded(data_type: &DataType) -> bool {
    let DataType::Struct(data_type) = data_type else {
        return false;
    };
    data_type
        .fields()
        .iter()
        .any(|field| field.is_padding() || is_padded(&field.data_type))
}

fn check_merged(mut before: Map<String, Value>, after: &Map<String, Value>) {
    before.insert("fuzz".to_owned(), json!(1));
    assert_eq!(&before, after);
}
