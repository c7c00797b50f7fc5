//! Locates the members of an object in a document.

use std::ops::Range;

pub(crate) use ndzarr_json::{Span, last, spans};

use crate::MetadataError;

/// The members of the object at `within` in the document, in order, including repeated ones.
pub(crate) fn members<'a>(
    key: &str,
    text: &'a [u8],
    within: Range<usize>,
) -> Result<Vec<Span<'a>>, MetadataError> {
    ndzarr_json::members(text, within).map_err(|error| MetadataError::json(key, &error))
}

/// The positions of the values of these members of the object at `within`: the last one of several.
pub(crate) fn values<const N: usize>(
    key: &str,
    text: &[u8],
    within: Range<usize>,
    names: [&str; N],
) -> Result<[Option<Range<usize>>; N], MetadataError> {
    ndzarr_json::values(text, within, names).map_err(|error| MetadataError::json(key, &error))
}
