//! Rearranges a codec chain of Zarr v2 into one that Zarr v3 can state.

use ndzarr_model::{CodecConfig, CodecSpec, StoredType};

use crate::shared::stage::{Stage, stage};

/// Rearranges a chain of Zarr v2, where filters operate on stored elements, for v3: filters of
/// elements before the array→bytes codec. The encoded bytes are the same. Other chains stay as they
/// are.
///
/// # Errors
/// A filter of elements follows a codec of bytes, or one views bytes as elements of another type:
/// v3 cannot express either.
pub(crate) fn zarr3_chain(codecs: &[CodecSpec]) -> Result<Vec<CodecSpec>, String> {
    let Some(at) = codecs
        .iter()
        .position(|codec| matches!(codec.config, CodecConfig::Bytes { .. }))
    else {
        return Ok(codecs.to_vec());
    };
    let mut chain = codecs[..at].to_vec();
    let mut bytes = codecs[at].clone();
    let mut rest = Vec::new();
    for codec in &codecs[at + 1..] {
        match stage(&codec.config) {
            Some(Stage::ArrayToArray) => {
                if !rest.is_empty() {
                    return Err(format!(
                        "{} after a bytes→bytes codec cannot be expressed",
                        codec.config.name()
                    ));
                }
                if let (
                    Some(from),
                    CodecConfig::Bytes {
                        endian: Some(endian),
                    },
                ) = (input_type(&codec.config), &bytes.config)
                    && from.data_type.swap_width() > 1
                    && from.endian != *endian
                {
                    return Err(format!(
                        "{} takes bytes for another order",
                        codec.config.name()
                    ));
                }
                if let Some(to) = output_type(&codec.config) {
                    let endian = (to.data_type.swap_width() > 1).then_some(to.endian);
                    bytes = CodecConfig::Bytes { endian }.into();
                }
                chain.push(codec.clone());
            }
            Some(Stage::ArrayToBytes) if rest.is_empty() => bytes = codec.clone(),
            Some(Stage::ArrayToBytes) => {
                return Err(format!(
                    "{} after a bytes→bytes codec cannot be expressed",
                    codec.config.name()
                ));
            }
            _ => rest.push(codec.clone()),
        }
    }
    chain.push(bytes);
    chain.extend(rest);
    Ok(chain)
}

/// The type as which a filter views its input, if it states one.
fn input_type(config: &CodecConfig) -> Option<&StoredType> {
    match config {
        CodecConfig::Delta(types)
        | CodecConfig::AsType(types)
        | CodecConfig::Quantize { types, .. } => Some(&types.dtype),
        CodecConfig::FixedScaleOffset(config) => Some(&config.types.dtype),
        _ => None,
    }
}

/// The type that a filter outputs, if it differs.
fn output_type(config: &CodecConfig) -> Option<StoredType> {
    match config {
        CodecConfig::Delta(types)
        | CodecConfig::AsType(types)
        | CodecConfig::Quantize { types, .. } => Some(types.astype.clone()),
        CodecConfig::FixedScaleOffset(config) => Some(config.types.astype.clone()),
        CodecConfig::Categorize(config) => Some(config.astype.clone()),
        CodecConfig::NumcodecsPackbits => {
            Some(StoredType::native(ndzarr_model::DataType::UInt { bits: 8 }))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use ndzarr_model::{DataType, Endian, FilterTypes};

    use super::*;
    use crate::codecs_json;

    #[test]
    fn filters_of_elements_come_in_front_of_the_bytes() {
        let u16 = StoredType {
            data_type: DataType::UInt { bits: 16 },
            endian: Endian::Big,
        };
        let u8 = StoredType {
            data_type: DataType::UInt { bits: 8 },
            endian: Endian::Little,
        };
        let delta = CodecConfig::Delta(FilterTypes {
            dtype: u16.clone(),
            astype: u8,
        });
        let bytes = CodecConfig::Bytes {
            endian: Some(Endian::Big),
        };
        let gzip = CodecConfig::Gzip { level: 1 };
        let chain: Vec<CodecSpec> = [bytes.clone(), delta.clone(), gzip.clone()]
            .map(CodecSpec::from)
            .into();
        let zarr3 = codecs_json(&zarr3_chain(&chain).expect("a chain of v3"), &u16.data_type);
        let names: Vec<_> = (0..3).map(|i| zarr3[i]["name"].as_str()).collect();
        assert_eq!(
            names,
            [Some("numcodecs.delta"), Some("bytes"), Some("gzip")]
        );

        let chain = [bytes, gzip, delta].map(CodecSpec::from);
        zarr3_chain(&chain).expect_err("elements do not come out of gzip");
    }
}
