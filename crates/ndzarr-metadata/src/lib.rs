//! Zarr v2, Zarr v3, draft v3 and N5 documents to and from the neutral model. Pure: nothing here does I/O.

mod draft;
mod error;
mod format;
mod json;
mod known;
mod n5;
mod node;
mod path;
mod request;

pub use error::MetadataError;
pub use format::{Format, N5Axes, Order};
pub use known::{Known, Listing, Need, Resolved};
pub use node::{Context, Member, MemberKind, Node, NodeKind};
pub use path::NodePath;
pub use request::{
    ArrayRequest, AttributeChange, CodecRequest, CreateOptions, Creation, Document, Erasure, Existing,
    ExistingDocument, FillRequest, N5GroupDocuments, N5VersionCheck, OpenOptions, Wanted,
};
