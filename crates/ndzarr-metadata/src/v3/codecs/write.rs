//! Writes codec chains in the form of Zarr v3.

use ndzarr_model::{
    BloscConfig, CastValueConfig, ChecksumLocation, CodecConfig, CodecSpec, DataType, EdgeBlocks,
    FillValue, N5BlockConfig, PackbitsConfig, PaddingEncoding, ReshapeDim, ScaleOffsetConfig,
    ShardingConfig, VlenConfig, ZfpMode,
};

use crate::json::{Json, Members, json, object};
use crate::shared::fields::{Named, definite};
use crate::shared::request_parts::is_reversal;
use crate::shared::stage::{Stage, stage};
use crate::shared::{fill, numcodecs};
use crate::v3::codecs::{INDEX_TYPE, encoded_type};
use crate::v3::dtype;
use crate::v3::extension::named;

/// The v3 form of a chain that elements of this type go through: objects, never shorthand.
///
/// Codecs that v3 does not have get a descriptive name; see [`check_writable`].
pub(crate) fn list(codecs: &[CodecSpec], data_type: &DataType) -> Vec<Json<'static>> {
    let mut data_type = data_type.clone();
    let mut is_bytes = false;
    let mut values = Vec::with_capacity(codecs.len());
    for (i, codec) in codecs.iter().enumerate() {
        let next = codecs.get(i + 1).map(|codec| &codec.config);
        if is_reversal(&codec.config) && matches!(next, Some(CodecConfig::N5Block(_))) {
            // `n5_default` stands for both.
            continue;
        }
        let ndim = match i.checked_sub(1).map(|i| &codecs[i].config) {
            Some(CodecConfig::Transpose { order }) => Some(order.len()),
            _ => None,
        };
        // The output of a compressor, or of an N5 block, is bytes to the next codec.
        let elem_size = if is_bytes {
            1
        } else {
            data_type.elem_size().unwrap_or(1)
        };
        values.push(one(&codec.config, &data_type, elem_size, ndim));
        is_bytes |= stage(&codec.config) == Some(Stage::BytesToBytes)
            || matches!(codec.config, CodecConfig::N5Block(_));
        data_type = encoded_type(&codec.config, &data_type);
    }
    values
}

/// The name that more readers know: numcodecs' for what numcodecs supports, the only one that
/// zarr-python 3 knows; the registry's otherwise (decision 9).
fn bitround(data_type: &DataType, keepbits: u32) -> &'static str {
    let mantissa = match data_type {
        DataType::Float { bits: 16 } => 10,
        DataType::Float { bits: 32 } => 23,
        DataType::Float { bits: 64 } => 52,
        _ => return "bitround",
    };
    if keepbits <= mantissa {
        "numcodecs.bitround"
    } else {
        "bitround"
    }
}

/// Why a v3 document cannot state a chain, if so.
pub(crate) fn check_writable(codecs: &[CodecSpec]) -> Result<(), String> {
    for (i, codec) in codecs.iter().enumerate() {
        if let Some(why) = &codec.unwritable {
            return Err(why.clone());
        }
        match &codec.config {
            CodecConfig::N5Block(block) => {
                let is_reversed = codecs[..i]
                    .last()
                    .is_some_and(|codec| is_reversal(&codec.config));
                if !is_reversed {
                    return Err(
                        "an N5 block without reversed dimensions cannot be expressed".to_owned(),
                    );
                }
                check_writable(n5_compression(block).as_slice())?;
            }
            CodecConfig::N5Gzip { .. } | CodecConfig::N5Lz4 { .. } => {
                return Err("a codec of N5 cannot be expressed".to_owned());
            }
            CodecConfig::Base64
            | CodecConfig::Categorize(_)
            | CodecConfig::Vlen(VlenConfig::Categorize(_)) => {
                return Err(format!("{} cannot be expressed", codec.config.name()));
            }
            CodecConfig::Zfpy(_) if numcodecs::configuration(&codec.config).is_none() => {
                return Err("zfpy has no such mode".to_owned());
            }
            CodecConfig::Sharding(sharding) => {
                check_writable(&sharding.codecs)?;
                check_writable(&sharding.index_codecs)?;
            }
            _ => {}
        }
    }
    Ok(())
}

/// `ndim` is the number of dimensions of the transpose in front.
fn one(
    config: &CodecConfig,
    data_type: &DataType,
    elem_size: usize,
    ndim: Option<usize>,
) -> Json<'static> {
    match config {
        CodecConfig::Bytes { endian: None } => json!({"name": "bytes"}),
        CodecConfig::Bytes {
            endian: Some(endian),
        } => named("bytes", json!({"endian": endian.name()})),
        CodecConfig::Vlen(config) if !matches!(config, VlenConfig::Categorize(_)) => {
            json!({"name": config.name()})
        }
        // No v3 document has them; they are for display.
        CodecConfig::LeafBytes { endians } => {
            let names: Vec<&str> = endians.iter().map(|endian| endian.name()).collect();
            named("bytes", json!({"endian": names}))
        }
        CodecConfig::Transpose { order } => named("transpose", json!({"order": order})),
        CodecConfig::Sharding(config) => named("sharding_indexed", sharding(config, data_type)),
        // -1 is the compressor's default, which is 6 in every zlib; v3 only has 0 to 9.
        CodecConfig::Gzip { level } => named(
            "gzip",
            json!({"level": if *level < 0 { 6 } else { *level }}),
        ),
        // zarrs refuses the codec without it, and every reader accepts it, although it is optional.
        CodecConfig::Zstd { level, checksum } => {
            named("zstd", json!({"level": level, "checksum": checksum}))
        }
        CodecConfig::Blosc(config) => named("blosc", blosc(config, elem_size)),
        CodecConfig::Crc32c {
            location: ChecksumLocation::End,
        } => json!({"name": "crc32c"}),
        CodecConfig::N5Block(block) => n5_block(block, data_type, elem_size, ndim),
        CodecConfig::Bitround { keepbits } => named(
            bitround(data_type, *keepbits),
            json!({"keepbits": keepbits}),
        ),
        CodecConfig::Packbits(config) => packbits(config),
        CodecConfig::CastValue(config) => named("cast_value", cast_value(config, data_type)),
        CodecConfig::ScaleOffset(config) => named("scale_offset", scale_offset(config, data_type)),
        CodecConfig::Reshape { shape } => {
            let dims = shape.iter().map(|dim| match dim {
                ReshapeDim::Length(n) => json!(n),
                ReshapeDim::InputDims(dims) => json!(dims),
                ReshapeDim::Rest => json!(-1),
            });
            named("reshape", object([("shape", dims.collect())]))
        }
        CodecConfig::Zfp(mode) => named("zfp", zfp(mode)),
        // Without a size it is that of the elements that reach it.
        CodecConfig::Shuffle { elementsize: None } => named("numcodecs.shuffle", json!({})),
        CodecConfig::N5Gzip { level, use_zlib } => {
            named("n5_gzip", json!({"level": level, "use_zlib": use_zlib}))
        }
        CodecConfig::N5Lz4 { block_size } => named("n5_lz4", json!({"block_size": block_size})),
        CodecConfig::Unknown {
            name,
            configuration,
        } => match Json::from(configuration) {
            Json::Object(members) if members.is_empty() => json!({"name": name}),
            configuration => named(name, configuration),
        },
        other => match numcodecs::configuration(other) {
            // zarr-python needs a configuration, even an empty one.
            Some((id, members)) => named(&format!("numcodecs.{id}"), members.into()),
            None => json!({"name": format!("{other:?}")}),
        },
    }
}

fn scalar(data_type: &DataType, bytes: &[u8]) -> Json<'static> {
    fill::write(data_type, &FillValue::defined(bytes))
}

fn sharding(config: &ShardingConfig, data_type: &DataType) -> Json<'static> {
    object([
        ("chunk_shape", json!(&config.chunk_shape)),
        ("codecs", list(&config.codecs, data_type).into()),
        (
            "index_codecs",
            list(&config.index_codecs, &INDEX_TYPE).into(),
        ),
        ("index_location", config.index_location.name().into()),
    ])
}

fn scale_offset(config: &ScaleOffsetConfig, data_type: &DataType) -> Json<'static> {
    let mut members = Members::new();
    for (name, value) in [("offset", &config.offset), ("scale", &config.scale)] {
        if let Some(bytes) = value {
            members.insert(name.to_owned(), scalar(data_type, bytes));
        }
    }
    members.into()
}

fn packbits(config: &PackbitsConfig) -> Json<'static> {
    let mut members = Members::new();
    if config.padding != PaddingEncoding::None {
        members.insert("padding_encoding", config.padding.name().into());
    }
    members.extend(
        config
            .first_bit
            .map(|bit| ("first_bit".to_owned(), bit.into())),
    );
    members.extend(
        config
            .last_bit
            .map(|bit| ("last_bit".to_owned(), bit.into())),
    );
    named("packbits", members.into())
}

fn cast_value(config: &CastValueConfig, data_type: &DataType) -> Json<'static> {
    let mut value = Members::new();
    value.insert("data_type", dtype::write_neutral(&config.data_type));
    value.insert("rounding", config.rounding.as_str().into());
    if let Some(out_of_range) = config.out_of_range {
        value.insert("out_of_range", out_of_range.name().into());
    }
    let mut scalar_map = Members::new();
    let maps = [
        ("encode", &config.encode_map, data_type, &config.data_type),
        ("decode", &config.decode_map, &config.data_type, data_type),
    ];
    for (name, map, from, to) in maps {
        if !map.is_empty() {
            let entries = map
                .iter()
                .map(|(key, code)| json!([scalar(from, key), scalar(to, code)]));
            scalar_map.insert(name, entries.collect());
        }
    }
    if !scalar_map.is_empty() {
        value.insert("scalar_map", scalar_map.into());
    }
    value.into()
}

fn zfp(mode: &ZfpMode) -> Json<'static> {
    match *mode {
        ZfpMode::Reversible => json!({"mode": "reversible"}),
        ZfpMode::Expert {
            minbits,
            maxbits,
            maxprec,
            minexp,
        } => json!({
            "mode": "expert",
            "minbits": minbits,
            "maxbits": maxbits,
            "maxprec": maxprec,
            "minexp": minexp,
        }),
        ZfpMode::FixedAccuracy { tolerance } => {
            json!({"mode": "fixed_accuracy", "tolerance": tolerance})
        }
        ZfpMode::FixedRate { rate } => json!({"mode": "fixed_rate", "rate": rate}),
        ZfpMode::FixedPrecision { precision } => {
            json!({"mode": "fixed_precision", "precision": precision})
        }
    }
}

/// Zarr's `n5_default`, with the transpose that it includes; otherwise a descriptive name.
fn n5_block(
    block: &N5BlockConfig,
    data_type: &DataType,
    elem_size: usize,
    ndim: Option<usize>,
) -> Json<'static> {
    let compression = n5_compression(block);
    if let Some(ndim) = ndim
        && check_writable(compression.as_slice()).is_ok()
    {
        let order: Vec<usize> = (0..ndim).rev().collect();
        let mut codecs = vec![named("transpose", json!({"order": order}))];
        codecs.push(match data_type.swap_width() {
            1 => json!({"name": "bytes"}),
            _ => named("bytes", json!({"endian": "big"})),
        });
        codecs.extend(
            compression
                .iter()
                .map(|codec| one(&codec.config, data_type, elem_size, None)),
        );
        return named("n5_default", object([("codecs", codecs.into())]));
    }
    let edge_blocks = match block.edge_blocks {
        EdgeBlocks::Truncated => "truncated",
        EdgeBlocks::Padded => "padded",
    };
    let compression = block
        .compression
        .iter()
        .map(|codec| one(&codec.config, data_type, elem_size, None));
    named(
        "n5_block",
        object([
            ("codecs", compression.collect()),
            ("edge_blocks", edge_blocks.into()),
        ]),
    )
}

/// The compression of a block as `n5_default` states it.
fn n5_compression(block: &N5BlockConfig) -> Option<CodecSpec> {
    block.compression.as_ref().map(|codec| match &codec.config {
        CodecConfig::N5Gzip {
            level,
            use_zlib: false,
        } => CodecConfig::Gzip { level: *level }.into(),
        CodecConfig::N5Gzip {
            level,
            use_zlib: true,
        } => CodecConfig::Zlib {
            level: *level.max(&-1),
        }
        .into(),
        _ => codec.clone(),
    })
}

fn blosc(config: &BloscConfig, elem_size: usize) -> Json<'static> {
    // Blosc records sizes above 255 as 1.
    let typesize = config
        .typesize
        .unwrap_or(if elem_size > 255 { 1 } else { elem_size });
    json!({
        "cname": config.cname.as_str(),
        "clevel": config.clevel,
        "shuffle": definite(config.shuffle, typesize).name(),
        "typesize": typesize,
        "blocksize": config.blocksize,
    })
}
