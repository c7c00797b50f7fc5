//! N5 documents, one by one.

use bytes::Bytes;
use ndzarr_json::JsonText;
use ndzarr_model::{
    ArraySpec, BloscCname, BloscConfig, BloscShuffle, CodecConfig, CodecSpec, DataType, EdgeBlocks,
    Endian, FillValue, IndexLocation, KeyEncoding, LzmaConfig, LzmaFormat,
};
use serde_json::{Value, json};

use crate::known::Stop;
use crate::{
    ArrayRequest, AttributeChange, CodecRequest, CreateOptions, Creation, ExistingDocument,
    FillRequest, Format, Known, Listing, MemberKind, MetadataError, N5Axes, N5GroupDocuments, Node,
    NodeKind, NodePath, OpenOptions, Order, Wanted,
};

mod changes;
mod compressions;
mod create;
mod groups;
mod names;
mod open;

/// A store as a list of keys and values; all other keys are known to be absent.
pub(super) fn try_with<T>(
    store: &[(&str, &str)],
    mut conclude: impl FnMut(&Known) -> Result<T, Stop>,
) -> Result<T, MetadataError> {
    let mut known = Known::new();
    for _ in 0..20 {
        match conclude(&known) {
            Ok(value) => return Ok(value),
            Err(Stop::Error(error)) => return Err(error),
            Err(Stop::Need(crate::Need::Documents(keys))) => {
                for key in keys {
                    let value = store.iter().find(|(k, _)| *k == key);
                    known.add_document(
                        key,
                        value.map(|(_, v)| Bytes::copy_from_slice(v.as_bytes())),
                    );
                }
            }
            Err(Stop::Need(crate::Need::Presence(keys))) => {
                for key in keys {
                    let is_there = store.iter().any(|(k, _)| *k == key);
                    known.add_presence(key, is_there);
                }
            }
            Err(Stop::Need(crate::Need::Listings(prefixes))) => {
                for prefix in prefixes {
                    assert!(prefix.is_empty() || prefix.ends_with('/'), "{prefix:?}");
                    assert!(!prefix.contains("//"), "{prefix:?}");
                    let listing = list(store, &prefix);
                    known.add_listing(prefix, listing);
                }
            }
        }
    }
    panic!("asks without end")
}

fn list(store: &[(&str, &str)], prefix: &str) -> Listing {
    let mut listing = Listing::default();
    for rest in store.iter().filter_map(|(key, _)| key.strip_prefix(prefix)) {
        let (names, name) = match rest.split_once('/') {
            Some((name, _)) => (&mut listing.prefixes, name),
            None => (&mut listing.keys, rest),
        };
        if !names.iter().any(|n| n == name) {
            names.push(name.to_owned());
        }
    }
    listing
}

pub(super) fn path(path: &str) -> NodePath {
    NodePath::new(path).expect("a plain path")
}

pub(super) fn open_with(
    store: &[(&str, &str)],
    at: &str,
    options: &OpenOptions,
) -> Result<Option<Node>, MetadataError> {
    try_with(store, |known| super::open(&path(at), known, options))
}

pub(super) fn open(store: &[(&str, &str)], at: &str) -> Result<Option<Node>, MetadataError> {
    open_with(store, at, &OpenOptions::default())
}

pub(super) fn dataset(document: &str) -> Result<ArraySpec, MetadataError> {
    match open(&[("a/attributes.json", document)], "a")?.map(|node| node.kind) {
        Some(NodeKind::Array(spec)) => Ok(*spec),
        other => panic!("no dataset but {other:?}"),
    }
}

pub(super) fn compression(spec: &ArraySpec) -> Option<CodecSpec> {
    match spec.codecs.last().map(|codec| &codec.config) {
        Some(CodecConfig::N5Block(block)) => block.compression.clone(),
        other => panic!("no N5 block but {other:?}"),
    }
}

pub(super) fn request(shape: &[u64], chunk_shape: &[u64]) -> ArrayRequest {
    ArrayRequest {
        shape: shape.to_vec(),
        chunk_shape: chunk_shape.to_vec(),
        shard_shape: None,
        index_location: IndexLocation::End,
        index_codecs: None,
        chunk_edges: None,
        custom_grid: None,
        data_type: DataType::UInt { bits: 16 },
        endian: None,
        order: Order::C,
        fill_value: FillRequest::Zero,
        codecs: CodecRequest::default(),
        separator: None,
        key_encoding: None,
        dimension_names: None,
        attributes: serde_json::Map::new(),
        edge_blocks: EdgeBlocks::Truncated,
    }
}

pub(super) fn text_of<'a>(creation: &'a Creation, key: &str) -> Option<&'a str> {
    let document = creation.put.iter().find(|document| document.key == key)?;
    Some(std::str::from_utf8(&document.value).expect("documents are text"))
}

pub(super) fn json_of(creation: &Creation, key: &str) -> Option<Value> {
    text_of(creation, key).map(|text| serde_json::from_str(text).expect("documents are JSON"))
}

pub(super) fn attributes(value: Value) -> serde_json::Map<String, Value> {
    match value {
        Value::Object(members) => members,
        other => panic!("{other} is no object"),
    }
}

pub(super) fn change(
    node: &Node,
    current: Option<&str>,
    change: &AttributeChange,
) -> Result<Value, MetadataError> {
    let text = changed(node, current, change)?;
    Ok(serde_json::from_str(&text).expect("documents are JSON"))
}

/// The text of a document after a change, without white space.
pub(super) fn changed(
    node: &Node,
    current: Option<&str>,
    change: &AttributeChange,
) -> Result<String, MetadataError> {
    let bytes = super::change_attributes(node, current.map(str::as_bytes), change)?;
    let mut text = Vec::new();
    JsonText::canonical(&bytes, &mut text).expect("documents are JSON");
    Ok(String::from_utf8(text).expect("documents are text"))
}

pub(super) fn create(
    store: &[(&str, &str)],
    at: &str,
    request: &ArrayRequest,
    options: &CreateOptions,
) -> Result<Creation, MetadataError> {
    try_with(store, |known| {
        super::create_array(&path(at), request, known, options)
    })
}

pub(super) fn create_group(
    store: &[(&str, &str)],
    at: &str,
    given: Value,
    options: &CreateOptions,
) -> Result<Creation, MetadataError> {
    let given = attributes(given);
    try_with(store, |known| {
        super::create_group(&path(at), &given, known, options)
    })
}

pub(super) fn n5() -> CreateOptions {
    CreateOptions::new(Format::N5)
}

pub(super) const RAW: &str = r#"{"dataType":"uint8","compression":{"type":"raw"},"blockSize":[5,4],"dimensions":[7,5],"k":1}"#;

pub(super) fn node(store: &[(&str, &str)], at: &str) -> Node {
    open(store, at).expect("valid").expect("there")
}
