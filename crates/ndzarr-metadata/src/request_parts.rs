//! Parts of a request for a new array that several formats turn into documents alike.

use ndzarr_model::{CodecSpec, DataType, FillValue};

use crate::v3::codecs::{Stage, stage};
use crate::{ArrayRequest, FillRequest, Format, MetadataError, v3};

/// The fill value that a request asks for; undefined only if it says so.
pub(crate) fn fill_value(
    key: &str,
    format: Format,
    data_type: &DataType,
    request: &FillRequest,
) -> Result<FillValue, MetadataError> {
    match request {
        FillRequest::Zero => Ok(FillValue::zero(data_type)),
        FillRequest::Undefined => Ok(FillValue::undefined(data_type)),
        FillRequest::Json(value) => v3::fill::parse(key, data_type, value),
        FillRequest::Value(fill) if Some(fill.bytes().len()) == data_type.elem_size() => Ok(fill.clone()),
        FillRequest::Value(fill) => {
            let what =
                format_args!("a fill value of {} bytes is no value of {data_type}", fill.bytes().len());
            Err(MetadataError::inexpressible(format, what))
        }
    }
}

/// Refuses lengths of chunks of their own in formats that have none.
pub(crate) fn refuse_edges(format: Format, request: &ArrayRequest) -> Result<(), MetadataError> {
    match request.chunk_edges {
        None => Ok(()),
        Some(_) => Err(MetadataError::inexpressible(format, "has chunks of one shape alone")),
    }
}

/// Codecs before and behind the array→bytes codec.
pub(crate) type Around = (Vec<CodecSpec>, Vec<CodecSpec>);

/// Parts neutral codecs into what goes before and what goes behind the array→bytes codec, in their order. What is not
/// known is taken for a bytes→bytes codec.
pub(crate) fn around(format: Format, codecs: &[CodecSpec]) -> Result<Around, MetadataError> {
    let (mut before, mut behind) = (Vec::new(), Vec::new());
    for codec in codecs {
        if let Some(why) = &codec.unwritable {
            return Err(MetadataError::inexpressible(format, why));
        }
        match stage(&codec.config) {
            Some(Stage::ArrayToArray) => before.push(codec.clone()),
            Some(Stage::BytesToBytes) | None => behind.push(codec.clone()),
            Some(Stage::ArrayToBytes) => {
                let what = "the array→bytes codec follows from the rest of the request";
                return Err(MetadataError::inexpressible(format, what));
            }
        }
    }
    Ok((before, behind))
}

/// A chunk shape without the 0 that an empty dimension may have asked for: it is read, but not written.
pub(crate) fn chunk_shape(
    format: Format,
    shape: &[u64],
    chunk_shape: &[u64],
) -> Result<Vec<u64>, MetadataError> {
    let refuse = |what: &str| {
        let what = format_args!("chunk shape {chunk_shape:?} of an array of shape {shape:?}: {what}");
        Err(MetadataError::inexpressible(format, what))
    };
    if shape.len() != chunk_shape.len() {
        return refuse("as many dimensions are needed");
    }
    if shape.iter().zip(chunk_shape).any(|(&length, &chunk)| chunk == 0 && length != 0) {
        return refuse("a chunk needs a length of 1 or more");
    }
    Ok(chunk_shape.iter().map(|&chunk| chunk.max(1)).collect())
}
