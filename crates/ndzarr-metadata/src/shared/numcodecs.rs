//! Configurations of numcodecs' codecs: those of v2 documents, some of the draft's, and those that
//! v3 names `numcodecs.…`.

use ndzarr_model::{BloscCname, BloscConfig, BloscShuffle, CodecConfig, CodecSpec};

use crate::MetadataError;
use crate::json::{Json, Members, as_i128, as_u64};
use crate::shared::fields::{Fields, Place, numbered_shuffle};

mod filters;
mod lzma;
mod write;

pub(crate) use filters::{categorize_objects, dtype_name, takes_objects};
pub(crate) use write::configuration;

/// The members of each known codec.
const KNOWN: [(&str, &[&str]); 23] = [
    ("gzip", &["level"]),
    ("zlib", &["level"]),
    ("bz2", &["level"]),
    ("lz4", &["acceleration"]),
    ("zstd", &["level", "checksum"]),
    // zarr-python 3 states a typesize in some versions; numcodecs' chunks contain it.
    (
        "blosc",
        &["cname", "clevel", "shuffle", "blocksize", "typesize"],
    ),
    ("lzma", &["format", "check", "preset", "filters"]),
    ("crc32c", &["location"]),
    ("crc32", &["location"]),
    ("adler32", &["location"]),
    ("fletcher32", &[]),
    ("jenkins_lookup3", &["initval", "prefix"]),
    ("base64", &[]),
    ("shuffle", &["elementsize"]),
    ("delta", &["dtype", "astype"]),
    ("fixedscaleoffset", &["offset", "scale", "dtype", "astype"]),
    ("quantize", &["digits", "dtype", "astype"]),
    ("astype", &["encode_dtype", "decode_dtype"]),
    ("categorize", &["labels", "dtype", "astype"]),
    ("packbits", &[]),
    ("bitround", &["keepbits"]),
    (
        "pcodec",
        &[
            "level",
            "mode_spec",
            "delta_spec",
            "paging_spec",
            "delta_encoding_order",
            "equal_pages_up_to",
        ],
    ),
    (
        "zfpy",
        &[
            "mode",
            "tolerance",
            "rate",
            "precision",
            "compression_kwargs",
        ],
    ),
];

/// True if [`parse_configuration`] knows a codec.
pub(crate) fn is_known(id: &str) -> bool {
    KNOWN.iter().any(|(known, _)| *known == id)
}

/// A member that the codec of this id does not have; v2 documents may contain some, v3 ones must
/// not.
pub(crate) fn unknown_member<'a>(id: &str, members: &'a Members<'a>) -> Option<&'a str> {
    let (_, known) = KNOWN.iter().find(|(known, _)| *known == id)?;
    members.keys().find(|name| !known.contains(name))
}

/// Reads a codec with its `id`, as in `compressor` and `filters`; `place` says which, for messages.
pub(crate) fn parse_codec(
    key: &str,
    place: Place<'_>,
    value: &Json<'_>,
) -> Result<CodecSpec, MetadataError> {
    let Json::Object(members) = value else {
        return Err(MetadataError::invalid(
            key,
            format_args!("{place} is {}, not an object", value.kind()),
        ));
    };
    let Some(Json::String(id)) = members.get("id") else {
        return Err(MetadataError::invalid(
            key,
            format_args!("{place} has no id"),
        ));
    };
    let mut members = members.clone();
    members.remove("id");
    parse_configuration(key, place, id, &members)
}

/// Reads the configuration of the codec of this id, without the id.
///
/// Unknown members are ignored. An invalid parameter that decoding needs is an error; one that
/// affects only encoding makes the codec unwritable. An unknown codec is [`CodecConfig::Unknown`].
pub(crate) fn parse_configuration(
    key: &str,
    place: Place<'_>,
    id: &str,
    members: &Members<'_>,
) -> Result<CodecSpec, MetadataError> {
    let mut parameters = Fields::new(key, place, id, Some(members));
    let config = match id {
        "gzip" => CodecConfig::Gzip {
            level: parameters.steering_integer("level", 1, -1..=9),
        },
        "zlib" => CodecConfig::Zlib {
            level: parameters.steering_integer("level", 1, -1..=9),
        },
        "bz2" => CodecConfig::Bz2 {
            level: parameters
                .steering_integer("level", 1, 1..=9)
                .unsigned_abs(),
        },
        "lz4" => CodecConfig::Lz4 {
            acceleration: parameters
                .steering_integer("acceleration", 1, i32::MIN..=i32::MAX)
                .max(1),
        },
        "zstd" => CodecConfig::Zstd {
            // numcodecs caps higher levels.
            level: parameters
                .steering_integer("level", 0, -131_072..=i32::MAX)
                .min(22),
            checksum: parameters
                .steering("checksum", |value| match value {
                    Json::Null => Some(false),
                    value => value.as_bool(),
                })
                .unwrap_or(false),
        },
        "blosc" => CodecConfig::Blosc(blosc(&mut parameters)),
        "lzma" => CodecConfig::Lzma(lzma::parse(&mut parameters)?),
        id => match filters::parse(id, &mut parameters)? {
            Some(config) => config,
            None => {
                let configuration = members.to_values().into();
                CodecConfig::Unknown {
                    name: id.to_owned(),
                    configuration,
                }
            }
        },
    };
    Ok(CodecSpec::new(config, parameters.unwritable()))
}

fn blosc(parameters: &mut Fields<'_>) -> BloscConfig {
    let cname = parameters.steering("cname", |value| BloscCname::from_name(value.as_str()?));
    let clevel = parameters.steering_integer("clevel", 5, 0..=9);
    let shuffle = parameters.steering("shuffle", |value| match value.as_str() {
        // GDAL writes words.
        Some("NONE") => Some(BloscShuffle::None),
        Some("BYTE") => Some(BloscShuffle::Byte),
        Some("BIT") => Some(BloscShuffle::Bit),
        Some(number) => numbered_shuffle(number.parse().ok()?),
        None => numbered_shuffle(as_i128(value)?),
    });
    let blocksize = parameters.steering("blocksize", |value| usize::try_from(as_u64(value)?).ok());
    BloscConfig {
        cname: cname.unwrap_or(BloscCname::Lz4),
        clevel: u8::try_from(clevel).unwrap_or(5),
        shuffle: shuffle.unwrap_or(BloscShuffle::Byte),
        typesize: None,
        blocksize: blocksize.unwrap_or(0),
    }
}
