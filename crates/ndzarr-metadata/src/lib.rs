//! Zarr v2, Zarr v3, draft v3 and N5 documents to and from the neutral model. Pure: nothing here
//! does I/O.
//!
//! Every function takes what is [`Known`] about a store and either answers or states what it
//! [`Need`]s. The caller reads that, adds it, and calls again, so it works over any store, blocking
//! or not.
//!
//! ```
//! use std::collections::BTreeMap;
//!
//! use ndzarr_metadata::{
//!     ArrayRequest, CodecRequest, CreateOptions, Format, Known, MetadataError, Need, NodePath, OpenOptions,
//!     Resolved, create_array, open,
//! };
//! use ndzarr_model::{CodecConfig, DataType};
//!
//! // The store of this example, and the loop that answers from it.
//! let mut store: BTreeMap<String, bytes::Bytes> = BTreeMap::new();
//! fn ask<T>(
//!     store: &BTreeMap<String, bytes::Bytes>,
//!     call: impl Fn(&Known) -> Result<Resolved<T>, MetadataError>,
//! ) -> Result<T, MetadataError> {
//!     let mut known = Known::new();
//!     loop {
//!         match call(&known)? {
//!             Resolved::Done(answer) => return Ok(answer),
//!             Resolved::Need(Need::Documents(keys)) => {
//!                 for key in keys {
//!                     let value = store.get(&key).cloned();
//!                     known.add_document(key, value);
//!                 }
//!             }
//!             Resolved::Need(Need::Presence(keys)) => {
//!                 for key in keys {
//!                     let is_there = store.contains_key(&key);
//!                     known.add_presence(key, is_there);
//!                 }
//!             }
//!             Resolved::Need(Need::Listings(_)) => unreachable!("only groups are listed"),
//!         }
//!     }
//! }
//!
//! // A new array: from a request to documents.
//! let path = NodePath::new("measured/temperature")?;
//! let mut request = ArrayRequest::new(vec![1000, 800], vec![100, 100], DataType::Float { bits: 32 });
//! request.codecs = CodecRequest::Neutral(vec![CodecConfig::Zstd { level: 3, checksum: false }.into()]);
//! let options = CreateOptions::new(Format::Zarr3);
//! let creation = ask(&store, |known| create_array(&path, &request, known, &options))?;
//! for document in creation.put {
//!     store.insert(document.key, document.value);
//! }
//! let keys: Vec<&String> = store.keys().collect();
//! assert_eq!(keys, ["measured/temperature/zarr.json", "measured/zarr.json", "zarr.json"]);
//!
//! // And back: from documents in any format to the neutral description.
//! let node = ask(&store, |known| open(&path, known, &OpenOptions::default()))?;
//! let spec = node.kind.array().expect("an array");
//! assert_eq!(node.format, Format::Zarr3);
//! assert_eq!(spec.shape, [1000, 800]);
//! assert_eq!(spec.keys.key(&[9, 7]), "measured/temperature/c/9/7");
//! assert_eq!(spec.codecs[1].config, CodecConfig::Zstd { level: 3, checksum: false });
//! # Ok::<(), MetadataError>(())
//! ```
#![forbid(unsafe_code)]

mod draft;
mod error;
mod format;
mod json;
mod known;
mod n5;
mod node;
mod operations;
mod options;
mod path;
mod request;
mod shared;
mod v2;
mod v3;

// What the crate exports is tested in the program of its unit tests.
#[cfg(test)]
extern crate self as ndzarr_metadata;
#[cfg(test)]
#[path = "../tests/it/main.rs"]
mod it;

pub use error::MetadataError;
pub use format::{Format, N5Axes, Order, UnknownType, documents_above};
pub use json::check_whole;
pub use known::{Known, Listing, Need, Resolved};
pub use node::{Context, Member, MemberKind, Node, NodeKind};
pub use operations::attributes::{attributes_key, change_attributes, current_attribute};
pub use operations::children::{Children, OpenedChild, members};
pub use operations::consolidated::{
    Consolidated, DocumentChange, consolidate, consolidated, consolidated_key, consolidated_keys,
    copies_stand_alone, has_copies, has_no_copies_yet, node_documents, refresh_consolidated,
};
pub use operations::convert::{
    KeptKeys, are_n5_blocks, check_request, dimension_attributes, fill_request, keep_chunks,
    same_keys,
};
pub use operations::create::{complete_document, create_array, create_group, erase};
pub use operations::document_names::{
    is_document, is_document_of, is_draft_document, is_node_document, key_prefixes,
};
pub use operations::missing_values::{
    MISSING_VALUE, fill_value_is_missing, is_always_missing, missing_attribute, missing_element,
};
pub use operations::neutral_json::{
    attribute_f64, codecs_json, data_type_json, fill_value_json, parse_data_type_json,
    parse_fill_value_json, parse_json,
};
pub use operations::open::{likely_consolidated, likely_documents, open};
pub use operations::shape::{ShapeChange, change_shape, document_shape, is_same_array, shape_key};
pub use options::extensions::Extensions;
pub use options::limits::Limits;
pub use options::open_options::{ConsolidatedUse, N5VersionCheck, OpenOptions, Wanted};
pub use path::NodePath;
pub use request::{
    ArrayRequest, AttributeChange, Claim, CodecRequest, CreateOptions, Creation, Document, Erasure,
    Existing, ExistingDocument, FillRequest, N5GroupDocuments,
};
