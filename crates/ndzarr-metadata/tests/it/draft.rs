//! The draft of Zarr v3: documents of both dialects that the tests share, and how they are opened.

mod arrays;
mod attributes;
mod create;
mod damage;
mod entry_point;
mod hierarchy;
mod sharding;
mod values;
mod written;

use ndzarr_metadata::MetadataError;
use ndzarr_model::{ArraySpec, CodecConfig};

use crate::it::store::Store;

pub(crate) const ENTRY_A: &str = r#"{"zarr_format":"https://purl.org/zarr/spec/core/3.0",
    "metadata_encoding":{"type":"json","metadata_key_suffix":".json"},"extensions":[]}"#;

pub(crate) const ENTRY_B: &str = r#"{"extensions":[],"metadata_encoding":"https://purl.org/zarr/spec/protocol/core/3.0",
    "metadata_key_suffix":".json","zarr_format":"https://purl.org/zarr/spec/protocol/core/3.0"}"#;

/// D3-T01.
pub(crate) const ARRAY_A: &str = r#"{"shape":[4],"data_type":"uint16","chunk_grid":{"type":"regular","chunk_shape":[2],"separator":"/"},"chunk_memory_layout":"C","codecs":[{"type":"https://purl.org/zarr/spec/codecs/endian/1.0","configuration":{"endian":"big"}}],"fill_value":7,"extensions":[],"attributes":{}}"#;

/// D3-T03.
pub(crate) const ARRAY_B: &str = r#"{"attributes":{"filters":[{"astype":">u2","dtype":">u2","id":"delta"}]},"chunk_grid":{"chunk_shape":[2],"separator":".","type":"regular"},"chunk_memory_layout":"F","data_type":">u2","extensions":[],"fill_value":5,"shape":[4]}"#;

pub(crate) fn store_a(more: &[(&str, &str)]) -> Store {
    let documents: Vec<(&str, &str)> = [("zarr.json", ENTRY_A)]
        .into_iter()
        .chain(more.iter().copied())
        .collect();
    Store::new(&documents)
}

pub(crate) fn store_b(more: &[(&str, &str)]) -> Store {
    let documents: Vec<(&str, &str)> = [("zarr.json", ENTRY_B)]
        .into_iter()
        .chain(more.iter().copied())
        .collect();
    Store::new(&documents)
}

/// The array `a` with this document in dialect A.
pub(crate) fn array_a(document: &str) -> Result<ArraySpec, MetadataError> {
    let node = store_a(&[("meta/a.array.json", document)]).open("a")?;
    Ok(node.kind.array().expect("an array").clone())
}

pub(crate) fn array_b(document: &str) -> Result<ArraySpec, MetadataError> {
    let node = store_b(&[("meta/root/a.array.json", document)]).open("a")?;
    Ok(node.kind.array().expect("an array").clone())
}

pub(crate) fn configs(spec: &ArraySpec) -> Vec<CodecConfig> {
    spec.codecs
        .iter()
        .map(|codec| codec.config.clone())
        .collect()
}

/// The message of an error, which has to name the document and all of `parts`.
pub(crate) fn refused<T: std::fmt::Debug>(result: Result<T, MetadataError>, parts: &[&str]) {
    let text = result.expect_err("has to be refused").to_string();
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in {text:?}");
    }
}
