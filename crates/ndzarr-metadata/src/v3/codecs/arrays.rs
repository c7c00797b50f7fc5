//! Configurations of the registry's codecs of arrays
//! (<https://github.com/zarr-developers/zarr-extensions>).

use ndzarr_model::{
    CastValueConfig, CodecConfig, DataType, EdgeBlocks, Endian, N5BlockConfig, PackbitsConfig,
    ReshapeDim, Rounding, ScaleOffsetConfig, ZfpMode,
};

use crate::MetadataError;
use crate::json::{Json, as_i128, as_u64};
use crate::shared::fields::{Fields, Place};
use crate::shared::fill;
use crate::shared::request_parts::is_reversal;
use crate::shared::stage::{Stage, stage};
use crate::v3::codecs::chain;
use crate::v3::codecs::flow::Input;
use crate::v3::dtype;

fn small<T: TryFrom<i128>>(value: &Json<'_>) -> Option<T> {
    as_i128(value).and_then(|n| T::try_from(n).ok())
}

pub(super) fn bitround(configuration: &mut Fields<'_>) -> Result<CodecConfig, MetadataError> {
    // The registry asks for at least 1, but numcodecs wrote 0.
    let keepbits = configuration.required("keepbits", "a number of bits", small)?;
    Ok(CodecConfig::Bitround { keepbits })
}

pub(super) fn packbits(configuration: &mut Fields<'_>) -> Result<PackbitsConfig, MetadataError> {
    let padding = configuration.named("padding_encoding")?;
    let mut bit = |name| {
        let read = |value: &Json<'_>| {
            if value.is_null() {
                Some(None)
            } else {
                small(value).map(Some)
            }
        };
        configuration
            .optional(name, "the number of a bit or null", read)
            .map(Option::flatten)
    };
    Ok(PackbitsConfig {
        padding: padding.unwrap_or_default(),
        first_bit: bit("first_bit")?,
        last_bit: bit("last_bit")?,
    })
}

/// The type of the elements that reach a codec whose configuration contains elements.
fn known_type<'i>(
    configuration: &Fields<'_>,
    input: Option<&'i Input>,
) -> Result<&'i DataType, MetadataError> {
    let unknown =
        || configuration.invalid("has values of a type that is not known after a custom codec");
    input.map(|input| &input.data_type).ok_or_else(unknown)
}

fn scalar(key: &str, data_type: &DataType, value: &Json<'_>) -> Option<Vec<u8>> {
    fill::parse(key, data_type, value)
        .ok()
        .map(|fill| fill.bytes().to_vec())
}

pub(super) fn cast_value(
    key: &str,
    configuration: &mut Fields<'_>,
    input: Option<&Input>,
) -> Result<CodecConfig, MetadataError> {
    let data_type = dtype::parse(
        key,
        configuration.required("data_type", "a data type", Some)?,
        &crate::Extensions::default(),
    )?;
    let rounding = configuration.optional("rounding", "a rounding mode", |value| {
        Rounding::from_name(value.as_str()?)
    })?;
    let out_of_range = configuration.named("out_of_range")?;
    let mut encode_map = vec![];
    let mut decode_map = vec![];
    let maps = configuration.optional(
        "scalar_map",
        "an object of encode and decode",
        Json::as_object,
    )?;
    if let Some(maps) = maps {
        let from = known_type(configuration, input)?;
        for (name, value) in maps.iter() {
            let map = match name {
                "encode" => entries(key, value, from, &data_type).map(|map| encode_map = map),
                "decode" => entries(key, value, &data_type, from).map(|map| decode_map = map),
                _ => None,
            };
            map.ok_or_else(|| {
                let what = format!(
                    "has scalar_map.{name} {value}, not pairs of values of {from} and {data_type}"
                );
                configuration.invalid(what)
            })?;
        }
    }
    let rounding = rounding.unwrap_or_default();
    Ok(CodecConfig::CastValue(Box::new(CastValueConfig {
        data_type,
        rounding,
        out_of_range,
        encode_map,
        decode_map,
    })))
}

fn entries(
    key: &str,
    value: &Json<'_>,
    from: &DataType,
    to: &DataType,
) -> Option<Vec<(Vec<u8>, Vec<u8>)>> {
    let entry = |entry: &Json<'_>| match entry.as_array()?.as_slice() {
        [value, code] => Some((scalar(key, from, value)?, scalar(key, to, code)?)),
        _ => None,
    };
    value.as_array()?.iter().map(entry).collect()
}

pub(super) fn scale_offset(
    configuration: &mut Fields<'_>,
    input: Option<&Input>,
) -> Result<CodecConfig, MetadataError> {
    let mut config = ScaleOffsetConfig::default();
    for (name, place) in [("offset", &mut config.offset), ("scale", &mut config.scale)] {
        if let Some(value) = configuration.get(name) {
            let data_type = known_type(configuration, input)?;
            let read = scalar("", data_type, value);
            let invalid = || {
                configuration.invalid(format_args!(
                    "has {name} {value}, which is not a value of {data_type}"
                ))
            };
            *place = Some(read.ok_or_else(invalid)?);
        }
    }
    Ok(CodecConfig::ScaleOffset(config))
}

pub(super) fn reshape(configuration: &mut Fields<'_>) -> Result<CodecConfig, MetadataError> {
    let dim = |value: &Json<'_>| match value {
        Json::Array(dims) => {
            let dims = dims
                .iter()
                .map(|dim| as_u64(dim).and_then(|dim| usize::try_from(dim).ok()));
            dims.collect::<Option<Vec<_>>>()
                .filter(|dims| !dims.is_empty())
                .map(ReshapeDim::InputDims)
        }
        value if as_i128(value) == Some(-1) => Some(ReshapeDim::Rest),
        value => as_u64(value).filter(|&n| n > 0).map(ReshapeDim::Length),
    };
    let shape = configuration.required(
        "shape",
        "a list of lengths, lists of dimensions and one -1",
        |value| {
            value
                .as_array()?
                .iter()
                .map(dim)
                .collect::<Option<Vec<_>>>()
        },
    )?;
    Ok(CodecConfig::Reshape { shape })
}

pub(super) fn zfp(configuration: &mut Fields<'_>) -> Result<ZfpMode, MetadataError> {
    let positive = |value: &Json<'_>| value.as_f64().filter(|&x| x > 0.0);
    let mode = configuration.required("mode", "a mode of zfp", Json::as_str)?;
    Ok(match mode {
        "reversible" => ZfpMode::Reversible,
        "expert" => ZfpMode::Expert {
            minbits: configuration.required("minbits", "a number of bits", small)?,
            maxbits: configuration.required("maxbits", "a number of bits", small)?,
            maxprec: configuration.required("maxprec", "a number of bits", small)?,
            minexp: configuration.required("minexp", "an exponent", small)?,
        },
        "fixed_accuracy" => ZfpMode::FixedAccuracy {
            tolerance: configuration.required("tolerance", "a number above 0", positive)?,
        },
        "fixed_rate" => ZfpMode::FixedRate {
            rate: configuration.required("rate", "a number above 0", positive)?,
        },
        "fixed_precision" => ZfpMode::FixedPrecision {
            precision: configuration.required("precision", "a number of bits", small)?,
        },
        other => return Err(configuration.invalid(format_args!("has an unknown mode {other:?}"))),
    })
}

/// Reads `n5_default`, whose inner chain describes an N5 block with codecs of Zarr. The reversal in
/// front of the block is that of [`n5_reversal`].
pub(super) fn n5_default(
    key: &str,
    place: Place<'_>,
    configuration: &mut Fields<'_>,
    input: Option<&Input>,
) -> Result<CodecConfig, MetadataError> {
    let codecs = configuration.required("codecs", "a list", Some)?;
    let codecs = chain(
        key,
        &format!("{place}.configuration.codecs"),
        codecs,
        input.cloned(),
    )?;
    let refuse = || {
        configuration.invalid(
            "has codecs other than a transpose that reverses the dimensions, big-endian bytes and one compressor",
        )
    };
    let [first, second, rest @ ..] = codecs.as_slice() else {
        return Err(refuse());
    };
    let is_big = matches!(
        second.config,
        CodecConfig::Bytes {
            endian: Some(Endian::Big) | None
        }
    );
    let is_compressed = rest
        .iter()
        .all(|codec| stage(&codec.config) == Some(Stage::BytesToBytes));
    if !is_reversal(&first.config) || !is_big || !is_compressed || rest.len() > 1 {
        return Err(refuse());
    }
    let n5_has_type = input.is_none_or(|input| {
        matches!(input.data_type, DataType::Int { bits } | DataType::UInt { bits } if bits >= 8)
            || matches!(input.data_type, DataType::Float { bits } if bits >= 32)
    });
    if !n5_has_type {
        return Err(configuration.invalid("is for a type that N5 does not have"));
    }
    let compression = rest.first().map(|codec| match &codec.config {
        // As in an N5 block: gzip or zlib is written, both are read.
        CodecConfig::Gzip { level } => CodecConfig::N5Gzip {
            level: *level,
            use_zlib: false,
        }
        .into(),
        CodecConfig::Zlib { level } => CodecConfig::N5Gzip {
            level: *level,
            use_zlib: true,
        }
        .into(),
        _ => codec.clone(),
    });
    let edge_blocks = EdgeBlocks::Padded;
    Ok(CodecConfig::N5Block(Box::new(N5BlockConfig {
        compression,
        edge_blocks,
    })))
}

/// The reversal in `n5_default`, which was checked.
pub(super) fn n5_reversal(item: &Json<'_>, input: Option<&Input>) -> CodecConfig {
    // Without a known input only a list was accepted, otherwise "F" too.
    let stated = || configured(configured(item, "codecs")?.first()?, "order").map(<[_]>::len);
    let ndim = input
        .map(|input| input.shape.len())
        .or_else(stated)
        .unwrap_or(0);
    CodecConfig::Transpose {
        order: (0..ndim).rev().collect(),
    }
}

/// A list in the configuration of a codec.
fn configured<'a>(codec: &'a Json<'_>, name: &str) -> Option<&'a [Json<'a>]> {
    Some(codec.get("configuration")?.get(name)?.as_array()?)
}
