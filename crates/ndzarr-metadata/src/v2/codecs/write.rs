use ndzarr_model::{BloscShuffle, ChecksumLocation, CodecConfig, LzmaConfig, LzmaFormat};
use serde_json::{Map, Value, json};

/// The id and the configuration (without the id) of a bytes→bytes codec; `None` if numcodecs has none like it.
pub(crate) fn configuration(config: &CodecConfig) -> Option<(String, Map<String, Value>)> {
    let (id, configuration) = match config {
        CodecConfig::Gzip { level } => ("gzip", json!({"level": level})),
        CodecConfig::Zlib { level } => ("zlib", json!({"level": level})),
        CodecConfig::Bz2 { level } => ("bz2", json!({"level": level})),
        CodecConfig::Lz4 { acceleration } => ("lz4", json!({"acceleration": acceleration})),
        // Older readers refuse the member `checksum` (V2-105).
        CodecConfig::Zstd { level, checksum: false } => ("zstd", json!({"level": level})),
        CodecConfig::Zstd { level, checksum: true } => ("zstd", json!({"level": level, "checksum": true})),
        CodecConfig::Blosc(config) => {
            let shuffle = match config.shuffle {
                BloscShuffle::None => 0,
                BloscShuffle::Byte => 1,
                BloscShuffle::Bit => 2,
                BloscShuffle::Auto => -1,
            };
            let configuration = json!({
                "cname": config.cname.as_str(),
                "clevel": config.clevel,
                "shuffle": shuffle,
                "blocksize": config.blocksize,
            });
            ("blosc", configuration)
        }
        CodecConfig::Lzma(config) => ("lzma", lzma(config)),
        CodecConfig::Crc32c { location: ChecksumLocation::End } => ("crc32c", json!({})),
        CodecConfig::Crc32c { location: ChecksumLocation::Start } => ("crc32c", json!({"location": "start"})),
        CodecConfig::Unknown { name, configuration } => (name.as_str(), configuration.clone()),
        _ => return None,
    };
    match configuration {
        Value::Object(members) => Some((id.to_owned(), members)),
        Value::Null => Some((id.to_owned(), Map::new())),
        _ => None,
    }
}

fn lzma(config: &LzmaConfig) -> Value {
    let format = match config.format {
        LzmaFormat::Auto => 0,
        LzmaFormat::Xz => 1,
        LzmaFormat::Alone => 2,
        LzmaFormat::Raw => 3,
    };
    let filters = config.filters.as_ref().map(|filters| {
        filters
            .iter()
            .map(|filter| {
                let mut members = Map::from_iter([("id".to_owned(), Value::from(filter.id))]);
                members.extend(filter.options.iter().map(|(name, value)| (name.clone(), (*value).into())));
                Value::Object(members)
            })
            .collect::<Value>()
    });
    json!({"format": format, "check": config.check, "preset": config.preset, "filters": filters})
}
