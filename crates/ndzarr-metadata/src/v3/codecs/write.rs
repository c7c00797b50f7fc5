use ndzarr_model::{
    BloscConfig, BloscShuffle, ChecksumLocation, CodecConfig, CodecSpec, DataType, EdgeBlocks, Endian,
    IndexLocation,
};
use serde_json::{Map, Value, json};

use crate::json::object;
use crate::v2;
use crate::v3::codecs::{INDEX_TYPE, Stage, stage};

/// The v3 form of a chain that elements of this type go through: objects, never shorthand (V3-023).
///
/// Codecs that v3 has no name for get one that tells what they are; see [`check_writable`].
pub(crate) fn list(codecs: &[CodecSpec], data_type: &DataType) -> Vec<Value> {
    let mut elem_size = data_type.elem_size().unwrap_or(1);
    codecs
        .iter()
        .map(|codec| {
            let value = one(&codec.config, data_type, elem_size);
            if stage(&codec.config) == Some(Stage::BytesToBytes) {
                // What a compressor makes are bytes to the next one.
                elem_size = 1;
            }
            value
        })
        .collect()
}

/// Why a chain cannot stand in a v3 document, if that is so.
pub(crate) fn check_writable(codecs: &[CodecSpec]) -> Result<(), String> {
    for codec in codecs {
        if let Some(why) = &codec.unwritable {
            return Err(why.clone());
        }
        match &codec.config {
            CodecConfig::N5Block(_) | CodecConfig::N5Gzip { .. } | CodecConfig::N5Lz4 { .. } => {
                return Err("a codec of N5 has no form in it".to_owned());
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

fn one(config: &CodecConfig, data_type: &DataType, elem_size: usize) -> Value {
    let named =
        |name: &str, configuration: Value| object([("name", name.into()), ("configuration", configuration)]);
    match config {
        CodecConfig::Bytes { endian: None } => json!({"name": "bytes"}),
        CodecConfig::Bytes { endian: Some(Endian::Little) } => named("bytes", json!({"endian": "little"})),
        CodecConfig::Bytes { endian: Some(Endian::Big) } => named("bytes", json!({"endian": "big"})),
        CodecConfig::Transpose { order } => named("transpose", json!({"order": order})),
        CodecConfig::Sharding(sharding) => {
            let location = match sharding.index_location {
                IndexLocation::Start => "start",
                IndexLocation::End => "end",
            };
            named(
                "sharding_indexed",
                object([
                    ("chunk_shape", json!(sharding.chunk_shape)),
                    ("codecs", list(&sharding.codecs, data_type).into()),
                    ("index_codecs", list(&sharding.index_codecs, &INDEX_TYPE).into()),
                    ("index_location", location.into()),
                ]),
            )
        }
        // -1 is the compressor's default, which is 6 in every zlib; v3 knows 0 to 9 only.
        CodecConfig::Gzip { level } => named("gzip", json!({"level": if *level < 0 { 6 } else { *level }})),
        CodecConfig::Zstd { level, checksum: false } => named("zstd", json!({"level": level})),
        CodecConfig::Zstd { level, checksum: true } => {
            named("zstd", json!({"level": level, "checksum": true}))
        }
        CodecConfig::Blosc(config) => named("blosc", blosc(config, elem_size)),
        CodecConfig::Crc32c { location: ChecksumLocation::End } => json!({"name": "crc32c"}),
        CodecConfig::N5Block(block) => {
            let codecs: Vec<Value> =
                block.compression.iter().map(|codec| one(&codec.config, data_type, elem_size)).collect();
            let edge_blocks = match block.edge_blocks {
                EdgeBlocks::Truncated => "truncated",
                EdgeBlocks::Padded => "padded",
            };
            named("n5_block", object([("codecs", codecs.into()), ("edge_blocks", edge_blocks.into())]))
        }
        CodecConfig::N5Gzip { level, use_zlib } => {
            named("n5_gzip", json!({"level": level, "use_zlib": use_zlib}))
        }
        CodecConfig::N5Lz4 { block_size } => named("n5_lz4", json!({"block_size": block_size})),
        CodecConfig::Unknown { name, configuration } => match configuration {
            Value::Object(members) if members.is_empty() => json!({"name": name}),
            configuration => named(name, configuration.clone()),
        },
        other => match v2::codecs::configuration(other) {
            Some((id, members)) => {
                let mut value = Map::from_iter([("name".to_owned(), Value::from(format!("numcodecs.{id}")))]);
                if !members.is_empty() {
                    value.insert("configuration".to_owned(), members.into());
                }
                value.into()
            }
            None => json!({"name": format!("{other:?}")}),
        },
    }
}

fn blosc(config: &BloscConfig, elem_size: usize) -> Value {
    // Blosc notes sizes above 255 as 1 (V2-107).
    let typesize = config.typesize.unwrap_or(if elem_size > 255 { 1 } else { elem_size });
    let shuffle = match config.shuffle {
        BloscShuffle::None => "noshuffle",
        BloscShuffle::Byte => "shuffle",
        BloscShuffle::Bit => "bitshuffle",
        BloscShuffle::Auto if typesize == 1 => "bitshuffle",
        BloscShuffle::Auto => "shuffle",
    };
    json!({
        "cname": config.cname.as_str(),
        "clevel": config.clevel,
        "shuffle": shuffle,
        "typesize": typesize,
        "blocksize": config.blocksize,
    })
}
