//! The `compression` of a dataset to and from a codec.

use ndzarr_model::{
    BloscCname, BloscConfig, BloscShuffle, CodecConfig, CodecSpec, LzmaConfig, LzmaFormat,
};

use crate::json::{Json, Members, as_integral_i128, json};
use crate::shared::fields::{Fields, Place, definite, numbered_shuffle, shuffle_number};
use crate::{CodecRequest, Format, MetadataError};

/// Limits of lz4-java's `blockSize`; the default replaces values outside.
const LZ4_BLOCK_SIZES: std::ops::RangeInclusive<i32> = 64..=33_554_432;
const LZ4_BLOCK_SIZE: i32 = 65_536;
const PLACE: Place<'_> = Place::Member("compression");

/// CRC-64, as Java writes it.
const XZ_CHECK: i32 = 4;

/// The codec of a dataset whose elements have `elem_size` bytes; `None` for raw.
///
/// `compression` takes precedence over the `compressionType` of N5 1.x.
pub(crate) fn lower(
    key: &str,
    members: &Members<'_>,
    elem_size: usize,
) -> Result<Option<CodecSpec>, MetadataError> {
    let given = |name: &str| members.get(name).filter(|value| !value.is_null());
    match (given("compression"), given("compressionType")) {
        (Some(Json::Object(compression)), _) => match compression.get("type") {
            Some(Json::String(name)) => lower_named(key, name, compression, elem_size),
            Some(other) => Err(MetadataError::invalid(
                key,
                format_args!("compression.type is {}", other.kind()),
            )),
            None => Err(MetadataError::invalid(key, "compression.type is missing")),
        },
        (Some(other), _) => Err(MetadataError::invalid(
            key,
            format_args!("compression is {}, not an object", other.kind()),
        )),
        (None, Some(Json::String(name))) => match &**name {
            "raw" | "gzip" | "bzip2" | "lz4" | "xz" => {
                lower_named(key, name, &Members::new(), elem_size)
            }
            _ => Err(MetadataError::unsupported(key, "compressionType", name)),
        },
        (None, Some(other)) => Err(MetadataError::invalid(
            key,
            format_args!("compressionType is {}", other.kind()),
        )),
        (None, None) => Err(MetadataError::invalid(
            key,
            "not a dataset: compression is missing",
        )),
    }
}

fn lower_named(
    key: &str,
    name: &str,
    members: &Members<'_>,
    elem_size: usize,
) -> Result<Option<CodecSpec>, MetadataError> {
    let mut all = Fields::new(key, PLACE, name, Some(members));
    let fields = &mut all;
    let config = match name {
        "raw" => return Ok(None),
        "gzip" => CodecConfig::N5Gzip {
            level: int(fields, "level", -1, -1..=9),
            use_zlib: flag(fields, "useZlib"),
        },
        "bzip2" => CodecConfig::Bz2 {
            level: int(fields, "blockSize", 9, 1..=9).unsigned_abs(),
        },
        "xz" => CodecConfig::Lzma(LzmaConfig {
            format: LzmaFormat::Xz,
            check: XZ_CHECK,
            preset: Some(int(fields, "preset", 6, 0..=9).unsigned_abs()),
            filters: None,
        }),
        // A block size unknown to lz4-java does not prevent writing: z5 keeps a level here.
        "lz4" => CodecConfig::N5Lz4 {
            block_size: int(
                &mut Fields::new(key, PLACE, name, Some(members)),
                "blockSize",
                LZ4_BLOCK_SIZE,
                LZ4_BLOCK_SIZES,
            )
            .unsigned_abs(),
        },
        "blosc" => CodecConfig::Blosc(lower_blosc(fields, elem_size)),
        "zstd" => CodecConfig::Zstd {
            level: int(fields, "level", 3, -131_072..=22),
            checksum: flag(fields, "checksum"),
        },
        other => return Err(MetadataError::unsupported(key, "compression", other)),
    };
    Ok(Some(CodecSpec::new(config, all.unwritable())))
}

/// Blosc chunks describe themselves, so nothing here can prevent reading. `typesize` has no
/// meaning: Java writes it and encodes with 1, all others omit it and encode with the element size,
/// as we do.
fn lower_blosc(fields: &mut Fields<'_>, elem_size: usize) -> BloscConfig {
    let cname = fields.steering("cname", |value| match value {
        Json::Null => Some(BloscCname::BloscLz),
        value => BloscCname::from_name(value.as_str()?),
    });
    BloscConfig {
        cname: cname.unwrap_or(BloscCname::BloscLz),
        clevel: u8::try_from(int(fields, "clevel", 6, 0..=9)).unwrap_or(6),
        shuffle: numbered_shuffle(int(fields, "shuffle", 0, -1..=2).into())
            .unwrap_or(BloscShuffle::None),
        typesize: Some(elem_size),
        blocksize: usize::try_from(int(fields, "blocksize", 0, 0..=i32::MAX)).unwrap_or(0),
    }
}

/// An integer; `null` is the default, and `7.0` is 7.
fn int(
    fields: &mut Fields<'_>,
    name: &'static str,
    default: i32,
    range: std::ops::RangeInclusive<i32>,
) -> i32 {
    let read = |value: &Json<'_>| match value {
        Json::Null => Some(default),
        value => i32::try_from(as_integral_i128(value)?)
            .ok()
            .filter(|int| range.contains(int)),
    };
    fields.steering(name, read).unwrap_or(default)
}

fn flag(fields: &mut Fields<'_>, name: &'static str) -> bool {
    let read = |value: &Json<'_>| {
        if value.is_null() {
            Some(false)
        } else {
            value.as_bool()
        }
    };
    fields.steering(name, read).unwrap_or(false)
}

/// The `compression` object of a new dataset: every member that some reader needs, and none that
/// some reader refuses.
pub(crate) fn raise(
    request: &CodecRequest,
    elem_size: usize,
) -> Result<Json<'static>, MetadataError> {
    let config = match request {
        CodecRequest::Neutral(codecs) => match codecs.as_slice() {
            [] => None,
            [codec] => Some(codec.clone()),
            _ => return Err(refuse("has one compression, not several codecs")),
        },
        CodecRequest::Json(value) => {
            let mut members = Members::new();
            members.insert("compression", value.into());
            lower("the requested codec", &members, elem_size)?
        }
    };
    let Some(spec) = config else {
        return Ok(json!({"type": "raw"}));
    };
    if let Some(reason) = spec.unwritable {
        return Err(refuse(reason));
    }
    raise_config(&spec.config, elem_size)
}

fn raise_config(config: &CodecConfig, elem_size: usize) -> Result<Json<'static>, MetadataError> {
    let gzip = |level: i32, use_zlib: bool| {
        check("gzip level", level, -1..=9)?;
        Ok(json!({"type": "gzip", "level": level, "useZlib": use_zlib}))
    };
    match config {
        CodecConfig::N5Gzip { level, use_zlib } => gzip(*level, *use_zlib),
        CodecConfig::Gzip { level } => gzip(*level, false),
        CodecConfig::Zlib { level } => gzip(*level, true),
        CodecConfig::Bz2 { level } => {
            check("bzip2 block size", *level, 1..=9)?;
            Ok(json!({"type": "bzip2", "blockSize": level}))
        }
        CodecConfig::Lzma(lzma) => raise_lzma(lzma),
        CodecConfig::N5Lz4 { block_size } => {
            let known =
                i32::try_from(*block_size).is_ok_and(|size| LZ4_BLOCK_SIZES.contains(&size));
            let block_size = if known {
                *block_size
            } else {
                LZ4_BLOCK_SIZE.unsigned_abs()
            };
            Ok(json!({"type": "lz4", "blockSize": block_size}))
        }
        // The framing is always N5's own; the document has no place for the compressor's effort.
        CodecConfig::Lz4 { acceleration } if *acceleration <= 1 => {
            Ok(json!({"type": "lz4", "blockSize": LZ4_BLOCK_SIZE}))
        }
        CodecConfig::Lz4 { .. } => Err(refuse("has no member for the acceleration of lz4")),
        CodecConfig::Blosc(blosc) => {
            check("blosc clevel", blosc.clevel, 0..=9)?;
            let shuffle = shuffle_number(definite(blosc.shuffle, elem_size));
            Ok(json!({
                "type": "blosc", "cname": blosc.cname.as_str(), "clevel": blosc.clevel,
                "shuffle": shuffle, "blocksize": blosc.blocksize,
            }))
        }
        CodecConfig::Zstd { checksum: true, .. } => {
            Err(refuse("has no member for the checksum of zstd"))
        }
        CodecConfig::Zstd { level, .. } => {
            check("zstd level", *level, -131_072..=22)?;
            Ok(json!({"type": "zstd", "level": level}))
        }
        other => Err(refuse(format_args!(
            "has no compression {:?}",
            other.name()
        ))),
    }
}

fn raise_lzma(lzma: &LzmaConfig) -> Result<Json<'static>, MetadataError> {
    let plain = lzma.format == LzmaFormat::Xz
        && matches!(lzma.check, -1 | XZ_CHECK)
        && lzma.filters.is_none();
    if !plain {
        return Err(refuse(
            "has lzma only as xz with CRC-64 and without filters",
        ));
    }
    let preset = lzma.preset.unwrap_or(6);
    check("xz preset", preset, 0..=9)?;
    Ok(json!({"type": "xz", "preset": preset}))
}

fn check<T: PartialOrd + std::fmt::Display>(
    what: &str,
    value: T,
    range: std::ops::RangeInclusive<T>,
) -> Result<(), MetadataError> {
    if range.contains(&value) {
        return Ok(());
    }
    Err(refuse(format_args!(
        "{what} {value} is not in {}..={}",
        range.start(),
        range.end()
    )))
}

fn refuse(what: impl std::fmt::Display) -> MetadataError {
    MetadataError::inexpressible(Format::N5, what)
}
