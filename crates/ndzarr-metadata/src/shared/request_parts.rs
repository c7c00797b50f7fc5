//! Parts of a request for a new array that several formats turn into documents in the same way.

use ndzarr_model::{CodecConfig, CodecSpec, DataType, FillValue};

use crate::shared::fill;
use crate::shared::stage::{Stage, stage};
use crate::{ArrayRequest, FillRequest, Format, MetadataError, Order};

/// The requested fill value; undefined only if requested so.
pub(crate) fn fill_value(
    key: &str,
    format: Format,
    data_type: &DataType,
    request: &FillRequest,
) -> Result<FillValue, MetadataError> {
    match request {
        FillRequest::Zero => {
            let zero = FillValue::zero(data_type);
            if data_type.is_any_bits() || data_type.is_element(zero.bytes()) {
                return Ok(zero);
            }
            let what = format_args!("zero is not a value of {data_type}");
            Err(MetadataError::inexpressible(format, what))
        }
        FillRequest::Undefined => Ok(FillValue::undefined(data_type)),
        FillRequest::Json(value) => fill::parse(key, data_type, &value.into()),
        FillRequest::Value(fill) if data_type.is_element(fill.bytes()) => Ok(fill.clone()),
        FillRequest::Value(fill) => {
            let what = format_args!(
                "a fill value of {} bytes is not a value of {data_type}",
                fill.bytes().len()
            );
            Err(MetadataError::inexpressible(format, what))
        }
    }
}

/// Refuses chunk lengths per chunk in formats that do not have them.
pub(crate) fn refuse_edges(format: Format, request: &ArrayRequest) -> Result<(), MetadataError> {
    match (&request.chunk_edges, &request.custom_grid) {
        (None, None) => Ok(()),
        _ => Err(MetadataError::inexpressible(
            format,
            "has only regular chunk grids",
        )),
    }
}

/// The parts of a list of neutral codecs.
pub(crate) struct Around {
    /// Array→array.
    pub(crate) before: Vec<CodecSpec>,
    /// Array→bytes, if the rest of the request does not determine it.
    pub(crate) array_to_bytes: Option<CodecSpec>,
    /// Bytes→bytes.
    pub(crate) after: Vec<CodecSpec>,
}

/// Splits neutral codecs into those before and those after the array→bytes codec, in order;
/// transposes may stand anywhere. An unknown codec counts as bytes→bytes, unless one that takes
/// elements follows it.
pub(crate) fn around(format: Format, codecs: &[CodecSpec]) -> Result<Around, MetadataError> {
    check_list(format, codecs)?;
    let takes_elements = |codec: &CodecSpec| {
        let stage = stage(&codec.config);
        let is_transpose = matches!(codec.config, CodecConfig::Transpose { .. });
        stage == Some(Stage::ArrayToBytes) || stage == Some(Stage::ArrayToArray) && !is_transpose
    };
    let n_before = codecs
        .iter()
        .rposition(takes_elements)
        .map_or(0, |last| last + 1);
    let mut parts = Around {
        before: vec![],
        array_to_bytes: None,
        after: vec![],
    };
    for (i, codec) in codecs.iter().enumerate() {
        match stage(&codec.config) {
            Some(Stage::ArrayToArray) => parts.before.push(codec.clone()),
            None if i < n_before => parts.before.push(codec.clone()),
            Some(Stage::ArrayToBytes) if i + 1 == n_before => {
                parts.array_to_bytes = Some(codec.clone())
            }
            Some(Stage::BytesToBytes) | None if i >= n_before => parts.after.push(codec.clone()),
            _ => {
                let what = format_args!(
                    "codec {:?} before one that takes elements",
                    codec.config.name()
                );
                return Err(MetadataError::inexpressible(format, what));
            }
        }
    }
    Ok(parts)
}

/// The memory layout and the codecs after it, in formats where all other codecs operate on stored
/// bytes. An array→array codec that reverses the dimensions in front is the layout.
pub(crate) fn order_and_filters(
    format: Format,
    request: &ArrayRequest,
    codecs: &[CodecSpec],
) -> Result<(Order, Vec<CodecSpec>), MetadataError> {
    check_list(format, codecs)?;
    let is_transpose = |codec: &CodecSpec| matches!(codec.config, CodecConfig::Transpose { .. });
    let (first, rest) = match codecs.split_first() {
        Some((first, rest)) if is_transpose(first) => (Some(first), rest),
        _ => (None, codecs),
    };
    let order = match first.map(|first| &first.config) {
        None => Some(request.order),
        Some(CodecConfig::Transpose { order })
            if request.order == Order::C
                && order.iter().copied().eq((0..request.shape.len()).rev()) =>
        {
            Some(Order::F)
        }
        Some(_) => None,
    };
    match order.filter(|_| !rest.iter().any(is_transpose)) {
        Some(order) => Ok((order, rest.to_vec())),
        None => {
            let what = "the only transpose that can be expressed is a reversal of the dimensions at the start";
            Err(MetadataError::inexpressible(format, what))
        }
    }
}

fn check_list(format: Format, codecs: &[CodecSpec]) -> Result<(), MetadataError> {
    for codec in codecs {
        if let Some(why) = &codec.unwritable {
            return Err(MetadataError::inexpressible(format, why));
        }
        if matches!(
            codec.config,
            CodecConfig::Bytes { .. }
                | CodecConfig::LeafBytes { .. }
                | CodecConfig::Vlen(_)
                | CodecConfig::Sharding(_)
                | CodecConfig::N5Block(_)
        ) {
            let what = "the array→bytes codec cannot be chosen";
            return Err(MetadataError::inexpressible(format, what));
        }
    }
    Ok(())
}

/// A chunk shape without the 0 of an empty dimension: it can be read, but is not written.
pub(crate) fn chunk_shape(
    format: Format,
    shape: &[u64],
    chunk_shape: &[u64],
) -> Result<Vec<u64>, MetadataError> {
    let refuse = |what: &str| {
        let what =
            format_args!("chunk shape {chunk_shape:?} of an array of shape {shape:?}: {what}");
        Err(MetadataError::inexpressible(format, what))
    };
    if shape.len() != chunk_shape.len() {
        return refuse("it must have as many dimensions");
    }
    if shape
        .iter()
        .zip(chunk_shape)
        .any(|(&length, &chunk)| chunk == 0 && length != 0)
    {
        return refuse("a chunk needs a length of 1 or more");
    }
    Ok(chunk_shape.iter().map(|&chunk| chunk.max(1)).collect())
}

/// The transpose that makes the first index the fastest; none below two dimensions.
pub(crate) fn reversal(ndim: usize) -> Option<CodecSpec> {
    (ndim >= 2).then(|| {
        CodecConfig::Transpose {
            order: (0..ndim).rev().collect(),
        }
        .into()
    })
}

/// True for a transpose that reverses the dimensions, however many they are.
pub(crate) fn is_reversal(config: &CodecConfig) -> bool {
    matches!(config, CodecConfig::Transpose { order }
        if order.iter().copied().eq((0..order.len()).rev()))
}

/// True for a transpose that keeps the order of the dimensions.
pub(crate) fn is_identity(config: &CodecConfig) -> bool {
    matches!(config, CodecConfig::Transpose { order }
        if order.iter().copied().eq(0..order.len()))
}
