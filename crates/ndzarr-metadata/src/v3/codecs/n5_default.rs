//! The codec `n5_default`: N5 blocks as chunks of Zarr v3, which are a transpose and an N5 block.

use ndzarr_model::{CodecConfig, CodecSpec, DataType};

use super::{check_writable, write};
use crate::json::Json;
use crate::shared::request_parts::{is_reversal, reversal};

/// A chain as a document states it, including N5 blocks.
///
/// # Errors
/// Why a document cannot state it.
pub(crate) fn raise(
    codecs: &[CodecSpec],
    data_type: &DataType,
    ndim: usize,
) -> Result<Vec<Json<'static>>, String> {
    let mut chain = codecs.to_vec();
    let block = codecs
        .iter()
        .position(|codec| matches!(codec.config, CodecConfig::N5Block(_)));
    if let Some(at) = block
        && codecs[..at]
            .last()
            .is_none_or(|codec| !is_reversal(&codec.config))
    {
        // Blocks with another layout get it by another reversal.
        chain.splice(at..at, reversal(ndim));
        let order = (0..ndim).rev().collect();
        chain.insert(at, CodecConfig::Transpose { order }.into());
    }
    check_writable(&chain)?;
    Ok(write(&chain, data_type))
}
