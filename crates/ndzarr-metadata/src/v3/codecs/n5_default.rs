//! The codec `n5_default`: N5 blocks as chunks of Zarr v3, which are a transpose and an N5 block.

use ndzarr_model::{CodecConfig, CodecSpec, DataType};

use super::write::n5_compression;
use super::{check_writable, write};
use crate::json::{Json, json};

/// A chain as a document states it, including N5 blocks.
///
/// # Errors
/// Why a document cannot state it.
pub(crate) fn raise(
    codecs: &[CodecSpec],
    data_type: &DataType,
    ndim: usize,
) -> Result<Vec<Json<'static>>, String> {
    let Some(at) = codecs
        .iter()
        .position(|codec| matches!(codec.config, CodecConfig::N5Block(_)))
    else {
        check_writable(codecs)?;
        return Ok(write(codecs, data_type));
    };
    let CodecConfig::N5Block(block) = &codecs[at].config else {
        return Ok(Vec::new());
    };
    let mut before = codecs[..at].to_vec();
    let reversal: Vec<usize> = (0..ndim).rev().collect();
    match before.last().map(|codec| &codec.config) {
        Some(CodecConfig::Transpose { order }) if *order == reversal => {
            before.pop();
        }
        // Blocks with another layout get it by another reversal.
        _ if ndim >= 2 => before.push(
            CodecConfig::Transpose {
                order: reversal.clone(),
            }
            .into(),
        ),
        _ => {}
    }
    let compression: Vec<CodecSpec> = n5_compression(block).into_iter().collect();
    check_writable(&before)?;
    check_writable(&compression)?;
    check_writable(&codecs[at + 1..])?;
    let endian = (data_type.swap_width() > 1).then_some(ndzarr_model::Endian::Big);
    let mut inner = vec![json!({"name": "transpose", "configuration": {"order": reversal}})];
    let bytes: Vec<CodecSpec> = std::iter::once(CodecConfig::Bytes { endian }.into())
        .chain(compression)
        .collect();
    inner.extend(write(&bytes, data_type));
    let mut list = write(&before, data_type);
    list.push(json!({"name": "n5_default", "configuration": {"codecs": inner}}));
    list.extend(write(&codecs[at + 1..], &DataType::UInt { bits: 8 }));
    Ok(list)
}
