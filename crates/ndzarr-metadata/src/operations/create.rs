//! Makes the documents of a new array or group.

use bytes::Bytes;
use ndzarr_model::Attributes;

use crate::known::resolve;
use crate::request::NewNode;
use crate::shared::request_parts;
use crate::{
    ArrayRequest, CreateOptions, Creation, Document, Erasure, Format, Known, Limits, MetadataError,
    Node, NodePath, Resolved, draft, n5, v2, v3,
};

/// The documents that create an array at a path, including those of missing groups above it.
///
/// # Errors
/// The request cannot be expressed in the format; the request or an existing document exceeds the
/// [limits](CreateOptions::limits); the path is occupied, or an ancestor is an array; a name is not
/// allowed.
pub fn create_array(
    path: &NodePath,
    request: &ArrayRequest,
    known: &Known,
    options: &CreateOptions,
) -> Result<Resolved<Creation>, MetadataError> {
    if options.format != Format::Zarr3 {
        request_parts::refuse_edges(options.format, request)?;
    }
    create(path, NewNode::Array(request), known, options)
}

/// The documents that create a group at a path, including those of missing groups above it.
///
/// # Errors
/// As for [`create_array`].
pub fn create_group(
    path: &NodePath,
    attributes: &Attributes,
    known: &Known,
    options: &CreateOptions,
) -> Result<Resolved<Creation>, MetadataError> {
    create(path, NewNode::Group(attributes), known, options)
}

fn create(
    path: &NodePath,
    new: NewNode<'_>,
    known: &Known,
    options: &CreateOptions,
) -> Result<Resolved<Creation>, MetadataError> {
    options.limits.check_documents(known)?;
    resolve(match (options.format, new) {
        (Format::Zarr2, new) => v2::create(path, new, known, options),
        (Format::Zarr3, new) => v3::create(path, new, known, options),
        (Format::DraftA | Format::DraftB, new) => draft::create(path, new, known, options),
        (Format::N5, NewNode::Array(request)) => n5::create_array(path, request, known, options),
        (Format::N5, NewNode::Group(attributes)) => {
            n5::create_group(path, attributes, known, options)
        }
    })
    .and_then(|resolved| check_limits(resolved, &options.limits))
    .map_err(|error| of_request(error, known, options.format))
}

/// Checks that the new node can be opened within its limits.
fn check_limits(
    mut resolved: Resolved<Creation>,
    limits: &Limits,
) -> Result<Resolved<Creation>, MetadataError> {
    if let Resolved::Done(Creation { node, put, .. }) = &mut resolved {
        put.iter()
            .try_for_each(|document| limits.check_document(&document.key, &document.value))?;
        if let (Some(spec), Some((key, _))) = (node.kind.array(), node.documents.first()) {
            limits.check_array(key, spec)?;
        }
        node.context.limits = *limits;
    }
    Ok(resolved)
}

/// Documents are checked as they are read, so an error may name a document that was never written:
/// then the request is at fault.
fn of_request(error: MetadataError, known: &Known, format: Format) -> MetadataError {
    match error {
        MetadataError::Invalid { key, what } if !known.has(&key) => {
            MetadataError::inexpressible(format, format_args!("{key}: {what}"))
        }
        error => error,
    }
}

/// The new value of a document that is to be [completed](crate::ExistingDocument::Complete), given
/// its current one, read just before (`None`: it does not exist). The answer `None` means that it
/// lacks nothing.
///
/// # Errors
/// The current document cannot be read, or cannot take members.
pub fn complete_document(
    document: &Document,
    current: Option<&[u8]>,
) -> Result<Option<Bytes>, MetadataError> {
    // Only N5 adds to existing documents of groups.
    n5::complete(&document.key, &document.value, current)
}

/// The keys and prefixes to remove with a node and everything below it. Ancestors stay.
#[must_use]
pub fn erase(node: &Node) -> Erasure {
    match node.format {
        Format::Zarr2 => v2::erase(node),
        Format::Zarr3 => v3::erase(node),
        Format::DraftA | Format::DraftB => draft::erase(node),
        Format::N5 => n5::erase(node),
    }
}
