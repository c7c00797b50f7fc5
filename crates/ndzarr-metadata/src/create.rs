//! Makes the documents of a new array or group.

use bytes::Bytes;
use ndzarr_model::Attributes;

use crate::known::resolve;
use crate::{
    ArrayRequest, CreateOptions, Creation, Document, Erasure, Format, Known, Limits, MetadataError, Node,
    NodePath, Resolved, draft, n5, request_parts, v2, v3,
};

/// What makes a new array at a path: its documents, and those of groups above it that are missing.
///
/// # Errors
/// The request has no form in the format, or is beyond the [limits](CreateOptions::limits); so is a document that is there;
/// the path is occupied, or an ancestor is an array; a name is not allowed.
pub fn create_array(
    path: &NodePath,
    request: &ArrayRequest,
    known: &Known,
    options: &CreateOptions,
) -> Result<Resolved<Creation>, MetadataError> {
    options.limits.check_documents(known)?;
    if options.format != Format::Zarr3 {
        request_parts::refuse_edges(options.format, request)?;
    }
    resolve(match options.format {
        Format::Zarr2 => v2::create_array(path, request, known, options),
        Format::Zarr3 => v3::create_array(path, request, known, options),
        Format::DraftA | Format::DraftB => draft::create_array(path, request, known, options),
        Format::N5 => n5::create_array(path, request, known, options),
    })
    .and_then(|resolved| check_limits(resolved, &options.limits))
    .map_err(|error| of_request(error, known, options.format))
}

/// What is created can be opened within the limits, which the node has from now on.
fn check_limits(
    mut resolved: Resolved<Creation>,
    limits: &Limits,
) -> Result<Resolved<Creation>, MetadataError> {
    if let Resolved::Done(Creation { node, put, .. }) = &mut resolved {
        put.iter().try_for_each(|document| limits.check_document(&document.key, &document.value))?;
        if let (Some(spec), Some((key, _))) = (node.kind.array(), node.documents.first()) {
            limits.check_array(key, spec)?;
        }
        node.context.limits = *limits;
    }
    Ok(resolved)
}

/// Documents are checked as they are read, so that a request may be refused in the name of one that was never written:
/// what is wrong is the request then.
fn of_request(error: MetadataError, known: &Known, format: Format) -> MetadataError {
    match error {
        MetadataError::Invalid { key, what } if !known.has(&key) => {
            MetadataError::inexpressible(format, format_args!("{key}: {what}"))
        }
        error => error,
    }
}

/// What makes a new group at a path: its documents, and those of groups above it that are missing.
///
/// # Errors
/// As [`create_array`].
pub fn create_group(
    path: &NodePath,
    attributes: &Attributes,
    known: &Known,
    options: &CreateOptions,
) -> Result<Resolved<Creation>, MetadataError> {
    options.limits.check_documents(known)?;
    resolve(match options.format {
        Format::Zarr2 => v2::create_group(path, attributes, known, options),
        Format::Zarr3 => v3::create_group(path, attributes, known, options),
        Format::DraftA | Format::DraftB => draft::create_group(path, attributes, known, options),
        Format::N5 => n5::create_group(path, attributes, known, options),
    })
    .and_then(|resolved| check_limits(resolved, &options.limits))
    .map_err(|error| of_request(error, known, options.format))
}

/// The value that a document gets which is to be [completed](crate::ExistingDocument::Complete), given its current one,
/// read just now; `None` for `current`: there is none. `None` as the answer: it lacks nothing.
///
/// # Errors
/// The current document cannot be read, or has no place for members.
pub fn complete_document(
    document: &Document,
    current: Option<&[u8]>,
) -> Result<Option<Bytes>, MetadataError> {
    // Only N5 adds to documents of groups that are there.
    n5::complete(&document.key, &document.value, current)
}

/// What to remove to delete a node with all below it. Ancestors stay.
#[must_use]
pub fn erase(node: &Node) -> Erasure {
    match node.format {
        Format::Zarr2 => v2::erase(node),
        Format::Zarr3 => v3::erase(node),
        Format::DraftA | Format::DraftB => draft::erase(node),
        Format::N5 => n5::erase(node),
    }
}
