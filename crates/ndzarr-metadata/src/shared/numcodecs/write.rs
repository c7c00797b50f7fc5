//! Writes codecs in the form of numcodecs.

use ndzarr_model::{
    BloscConfig, ChecksumLocation, CodecConfig, FilterNumber, FilterTypes, LzmaConfig, LzmaFormat,
    PcodecConfig, VlenConfig, ZfpMode,
};

use crate::json::{Json, Members, json};
use crate::shared::fields::{Named, shuffle_number};
use crate::shared::numcodecs::filters::dtype_name;

/// The id and the configuration (without the id) of a codec; `None` if numcodecs has no equivalent.
pub(crate) fn configuration(config: &CodecConfig) -> Option<(String, Members<'static>)> {
    let (id, configuration) = match config {
        CodecConfig::Gzip { level } => ("gzip", json!({"level": level})),
        CodecConfig::Zlib { level } => ("zlib", json!({"level": level})),
        CodecConfig::Bz2 { level } => ("bz2", json!({"level": level})),
        CodecConfig::Lz4 { acceleration } => ("lz4", json!({"acceleration": acceleration})),
        // Older readers refuse the member `checksum`.
        CodecConfig::Zstd {
            level,
            checksum: false,
        } => ("zstd", json!({"level": level})),
        CodecConfig::Zstd {
            level,
            checksum: true,
        } => ("zstd", json!({"level": level, "checksum": true})),
        CodecConfig::Blosc(config) => ("blosc", blosc(config)),
        CodecConfig::Lzma(config) => ("lzma", lzma(config)),
        CodecConfig::Crc32c { location } => ("crc32c", located(*location, ChecksumLocation::End)),
        CodecConfig::Crc32 { location } => ("crc32", located(*location, ChecksumLocation::Start)),
        CodecConfig::Adler32 { location } => {
            ("adler32", located(*location, ChecksumLocation::Start))
        }
        CodecConfig::Fletcher32 => ("fletcher32", json!({})),
        CodecConfig::JenkinsLookup3 { initval } => (
            "jenkins_lookup3",
            json!({"initval": initval, "prefix": null}),
        ),
        CodecConfig::Base64 => ("base64", json!({})),
        CodecConfig::Shuffle {
            elementsize: Some(size),
        } => ("shuffle", json!({"elementsize": size})),
        CodecConfig::Delta(types) => ("delta", typed(json!({}), types)),
        CodecConfig::FixedScaleOffset(config) => {
            let number = |number| match number {
                FilterNumber::Int(n) => json_int(n),
                FilterNumber::Float(x) => json!(x),
            };
            let own = json!({"offset": number(config.offset), "scale": number(config.scale)});
            ("fixedscaleoffset", typed(own, &config.types))
        }
        CodecConfig::Quantize { digits, types } => {
            ("quantize", typed(json!({"digits": digits}), types))
        }
        CodecConfig::AsType(FilterTypes { dtype, astype }) => (
            "astype",
            json!({"encode_dtype": dtype_name(astype), "decode_dtype": dtype_name(dtype)}),
        ),
        CodecConfig::Categorize(config) => {
            let order = if config.endian == ndzarr_model::Endian::Big {
                '>'
            } else {
                '<'
            };
            let dtype = format!("{order}U{}", config.code_points);
            let astype = dtype_name(&config.astype);
            (
                "categorize",
                json!({"labels": &config.labels, "dtype": dtype, "astype": astype}),
            )
        }
        CodecConfig::Vlen(VlenConfig::Categorize(config)) => {
            let astype = dtype_name(&config.astype);
            (
                "categorize",
                json!({"labels": &config.labels, "dtype": "|O", "astype": astype}),
            )
        }
        CodecConfig::NumcodecsPackbits => ("packbits", json!({})),
        CodecConfig::Bitround { keepbits } => ("bitround", json!({"keepbits": keepbits})),
        CodecConfig::Pcodec(config) => ("pcodec", pcodec(config)),
        CodecConfig::Zfpy(mode) => ("zfpy", zfpy(mode)?),
        CodecConfig::Unknown {
            name,
            configuration,
        } => (name.as_str(), configuration.into()),
        _ => return None,
    };
    match configuration {
        Json::Object(members) => Some((id.to_owned(), members)),
        Json::Null => Some((id.to_owned(), Members::new())),
        _ => None,
    }
}

fn located(location: ChecksumLocation, default: ChecksumLocation) -> Json<'static> {
    // Older readers do not know the member.
    if location == default {
        json!({})
    } else {
        json!({"location": location.name()})
    }
}

/// An integer of any size; those beyond 64 bits were refused when they were read.
fn json_int(n: i128) -> Json<'static> {
    match (i64::try_from(n), u64::try_from(n)) {
        (Ok(n), _) => n.into(),
        (_, Ok(n)) => n.into(),
        _ => (n as f64).into(),
    }
}

fn typed(own: Json<'static>, types: &FilterTypes) -> Json<'static> {
    let Json::Object(mut members) = own else {
        return own;
    };
    members.insert("dtype", dtype_name(&types.dtype).into());
    members.insert("astype", dtype_name(&types.astype).into());
    members.into()
}

fn pcodec(config: &PcodecConfig) -> Json<'static> {
    json!({
        "level": config.level,
        "mode_spec": config.mode.name(),
        "delta_spec": config.delta.name(),
        "paging_spec": "equal_pages_up_to",
        "delta_encoding_order": config.delta_encoding_order,
        "equal_pages_up_to": config.equal_pages_up_to,
    })
}

/// `None` for modes that numcodecs does not have.
fn zfpy(mode: &ZfpMode) -> Option<Json<'static>> {
    let (mode, tolerance, rate, precision) = match *mode {
        ZfpMode::FixedRate { rate } => (2, -1.0, rate, -1),
        ZfpMode::FixedPrecision { precision } => (3, -1.0, -1.0, i64::from(precision)),
        ZfpMode::FixedAccuracy { tolerance } => (4, tolerance, -1.0, -1),
        ZfpMode::Reversible | ZfpMode::Expert { .. } => return None,
    };
    let arguments = match mode {
        2 => json!({"rate": rate}),
        3 => json!({"precision": precision}),
        _ => json!({"tolerance": tolerance}),
    };
    Some(json!({
        "mode": mode,
        "tolerance": tolerance,
        "rate": rate,
        "precision": precision,
        "compression_kwargs": arguments,
    }))
}

fn blosc(config: &BloscConfig) -> Json<'static> {
    json!({
        "cname": config.cname.as_str(),
        "clevel": config.clevel,
        "shuffle": shuffle_number(config.shuffle),
        "blocksize": config.blocksize,
    })
}

fn lzma(config: &LzmaConfig) -> Json<'static> {
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
                let mut members = Members::from_iter([("id".to_owned(), Json::from(filter.id))]);
                members.extend(
                    filter
                        .options
                        .iter()
                        .map(|(name, value)| (name.clone(), (*value).into())),
                );
                Json::Object(members)
            })
            .collect::<Json<'static>>()
    });
    json!({"format": format, "check": config.check, "preset": config.preset, "filters": filters})
}
