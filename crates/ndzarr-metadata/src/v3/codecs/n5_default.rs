//! The codec `n5_default`: blocks of N5 as chunks of Zarr v3, which is a transpose and an N5 block.

use ndzarr_model::{CodecConfig, CodecSpec, DataType, EdgeBlocks, N5BlockConfig};
use serde_json::{Value, json};

use super::{Input, chain, check_writable, write};
use crate::MetadataError;
use crate::v3::extension::Extension;

pub(crate) const NAME: &str = "n5_default";

/// The transpose and the block that the codec is made of.
pub(super) fn parse(
    key: &str,
    place: &str,
    value: &Value,
    input: Option<&mut Input>,
) -> Result<Vec<CodecSpec>, MetadataError> {
    let extension = Extension::parse(key, place, value)?;
    let mut configuration = extension.configuration(key, place);
    let items = configuration.required("codecs", "a list", Value::as_array)?;
    let inner = input.as_deref().cloned();
    let odd = || {
        configuration.invalid(
            "has codecs that are not a transpose of all dimensions, bytes in big endian and at most one \
             bytes→bytes codec",
        )
    };
    // Whatever is wrong with one of them is found as in any other chain.
    let codecs = chain(key, &format!("{place}.configuration.codecs"), &Value::Array(items.clone()), inner)?;
    let [transpose, bytes, compression @ ..] = &codecs[..] else { return Err(odd()) };
    let CodecConfig::Transpose { order } = &transpose.config else { return Err(odd()) };
    let ndim = order.len();
    let fits = order.iter().copied().eq((0..ndim).rev())
        && matches!(bytes.config, CodecConfig::Bytes { endian: None | Some(ndzarr_model::Endian::Big) })
        && compression.len() <= 1;
    if !fits {
        return Err(odd());
    }
    configuration.end()?;
    if let Some(Input { data_type, shape }) = input {
        let is_numeric = match data_type {
            DataType::Int { .. } | DataType::UInt { .. } => true,
            DataType::Float { bits } => matches!(bits, 32 | 64),
            _ => false,
        };
        if !is_numeric {
            return Err(MetadataError::unsupported(key, "data type of n5_default", &*data_type));
        }
        shape.reverse();
    }
    let compression = compression.first().map(|codec| match &codec.config {
        // As in a block of N5: what is written is gzip or zlib, what is read is either.
        CodecConfig::Gzip { level } => CodecConfig::N5Gzip { level: *level, use_zlib: false }.into(),
        CodecConfig::Zlib { level } => CodecConfig::N5Gzip { level: *level, use_zlib: true }.into(),
        _ => codec.clone(),
    });
    let block = N5BlockConfig { compression, edge_blocks: EdgeBlocks::default() };
    let mut specs: Vec<CodecSpec> = vec![CodecConfig::N5Block(Box::new(block)).into()];
    if ndim >= 2 {
        specs.insert(0, transpose.clone());
    }
    Ok(specs)
}

/// A chain as a document has it, blocks of N5 included.
///
/// # Errors
/// Why it cannot stand in one.
pub(crate) fn raise(codecs: &[CodecSpec], data_type: &DataType, ndim: usize) -> Result<Vec<Value>, String> {
    let Some(at) = codecs.iter().position(|codec| matches!(codec.config, CodecConfig::N5Block(_))) else {
        check_writable(codecs)?;
        return Ok(write(codecs, data_type));
    };
    let CodecConfig::N5Block(block) = &codecs[at].config else { return Ok(Vec::new()) };
    let mut before = codecs[..at].to_vec();
    let reversal: Vec<usize> = (0..ndim).rev().collect();
    match before.last().map(|codec| &codec.config) {
        Some(CodecConfig::Transpose { order }) if *order == reversal => {
            before.pop();
        }
        // Blocks that are not laid out like that are made so by another reversal.
        _ if ndim >= 2 => before.push(CodecConfig::Transpose { order: reversal.clone() }.into()),
        _ => {}
    }
    let compression = block.compression.as_ref().map(|codec| match &codec.config {
        CodecConfig::N5Gzip { level, use_zlib: false } => CodecConfig::Gzip { level: *level },
        CodecConfig::N5Gzip { level, use_zlib: true } => CodecConfig::Zlib { level: *level.max(&-1) },
        other => other.clone(),
    });
    let compression: Vec<CodecSpec> = compression.into_iter().map(CodecSpec::from).collect();
    check_writable(&before)?;
    check_writable(&compression)?;
    check_writable(&codecs[at + 1..])?;
    let endian = (data_type.swap_width() > 1).then_some(ndzarr_model::Endian::Big);
    let mut inner = vec![json!({"name": "transpose", "configuration": {"order": reversal}})];
    let bytes: Vec<CodecSpec> =
        std::iter::once(CodecConfig::Bytes { endian }.into()).chain(compression).collect();
    inner.extend(write(&bytes, data_type));
    let mut list = write(&before, data_type);
    list.push(json!({"name": NAME, "configuration": {"codecs": inner}}));
    list.extend(write(&codecs[at + 1..], &DataType::UInt { bits: 8 }));
    Ok(list)
}
