//! Zarr v2, Zarr v3, draft v3 and N5 documents to and from the neutral model. Pure: nothing here does I/O.

mod attributes;
mod base64;
mod chunk_grid;
mod create;
mod draft;
mod error;
mod float;
mod format;
mod json;
mod known;
mod members;
mod n5;
mod neutral_json;
mod node;
mod open;
mod path;
mod request;
mod request_parts;
mod site;
mod v2;
mod v3;

pub use attributes::{attributes_key, change_attributes};
pub use create::{create_array, create_group, erase};
pub use error::MetadataError;
pub use format::{Format, N5Axes, Order};
pub use known::{Known, Listing, Need, Resolved};
pub use members::members;
pub use neutral_json::{codecs_json, fill_value_json, parse_fill_value_json};
pub use node::{Context, Member, MemberKind, Node, NodeKind};
pub use open::open;
pub use path::NodePath;
pub use request::{
    ArrayRequest, AttributeChange, CodecRequest, CreateOptions, Creation, Document, Erasure, Existing,
    ExistingDocument, FillRequest, N5GroupDocuments, N5VersionCheck, OpenOptions, Wanted,
};
