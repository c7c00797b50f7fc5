//! Codecs of dialect A, codec URIs of both.

use ndzarr_model::{BloscCname, BloscConfig, CodecConfig, CodecSpec, DataType, Endian};

use crate::MetadataError;
use crate::draft::extensions::{check_members, version};
use crate::draft::layout::Dialect;
use crate::json::{Json, Members, as_i128, as_u64, json, object, show};
use crate::shared::dtype::Stored;
use crate::shared::fields::{Fields, Place, numbered_shuffle};
use crate::shared::numcodecs;

/// The compressors that dialect B has URIs for.
pub(crate) const COMPRESSORS_B: [&str; 7] = ["gzip", "zlib", "bz2", "lz4", "lzma", "zstd", "blosc"];

/// URI of a codec in new documents.
pub(crate) fn uri(dialect: Dialect, name: &str) -> String {
    match dialect {
        Dialect::A => format!("https://purl.org/zarr/spec/codecs/{name}/1.0"),
        Dialect::B => format!("https://purl.org/zarr/spec/codec/{name}/1.0"),
    }
}

/// The codec name in a URI, in either spelling. Dialect A accepts only versions 1.x, B ignores
/// them.
pub(crate) fn name(dialect: Dialect, uri: &str) -> Option<&str> {
    let path = uri
        .strip_prefix("https://")
        .or_else(|| uri.strip_prefix("http://"))?;
    let path = path.strip_prefix("purl.org/zarr/spec/")?;
    let path = path
        .strip_prefix("codecs/")
        .or_else(|| path.strip_prefix("codec/"))?;
    match path.split_once('/') {
        None => Some(path),
        Some((name, _)) if dialect == Dialect::B => Some(name),
        Some((name, text)) => version(text).filter(|(major, _)| *major == 1).map(|_| name),
    }
}

/// Reads the `codecs` of dialect A, from the array→bytes codec on, which may be omitted.
pub(crate) fn parse(
    key: &str,
    value: Option<&Json<'_>>,
    data_type: &DataType,
    own: &Stored,
) -> Result<Vec<CodecSpec>, MetadataError> {
    let mut stored = match own {
        Stored::One(endian) => *endian,
        Stored::Leaves(_) => None,
    };
    let mut states_endian = false;
    let mut bytes_to_bytes: Vec<CodecSpec> = Vec::new();
    let mut is_bytes = false;
    let items = match value {
        None => &[][..],
        Some(Json::Array(items)) => items,
        Some(other) => {
            return Err(MetadataError::invalid(
                key,
                format_args!("codecs is {}, not a list", other.kind()),
            ));
        }
    };
    for (i, item) in items.iter().enumerate() {
        let place = Place::Item("codecs", i);
        let (name, uri, configuration) = read(key, place, item)?;
        let mut fields = Fields::new(key, place, name, configuration);
        if name != "endian" {
            is_bytes = true;
            bytes_to_bytes.push(parse_bytes(
                fields,
                (key, place, name, uri),
                configuration,
                data_type,
            )?);
            continue;
        }
        if is_bytes {
            return Err(fields.invalid("takes an array, but bytes reach it"));
        }
        is_bytes = true;
        states_endian = true;
        let order = fields
            .named("endian")?
            .ok_or_else(|| fields.invalid("has no endian"))?;
        fields.end()?;
        stored = (data_type.swap_width() > 1).then_some(order);
    }
    let array_to_bytes = match own {
        // Each number has its own order, unless a codec states one.
        Stored::Leaves(_) if !states_endian => own.codec(),
        _ => CodecConfig::Bytes { endian: stored },
    };
    let mut chain = vec![array_to_bytes.into()];
    chain.append(&mut bytes_to_bytes);
    Ok(chain)
}

/// The name, URI and configuration of a codec.
type Codec<'a> = (&'a str, &'a str, Option<&'a Members<'a>>);

fn read<'a>(key: &str, place: Place<'_>, value: &'a Json<'a>) -> Result<Codec<'a>, MetadataError> {
    let invalid = |what: String| MetadataError::invalid(key, format_args!("{place} {what}"));
    let Json::Object(members) = value else {
        return Err(invalid(format!("is {}, not an object", show(value))));
    };
    check_members(key, &place.to_string(), members, &["type", "configuration"])?;
    let Some(Json::String(uri)) = members.get("type") else {
        return Err(invalid("has no URI as its type".to_owned()));
    };
    let configuration = match members.get("configuration") {
        None => None,
        Some(Json::Object(configuration)) => Some(configuration),
        Some(other) => {
            return Err(invalid(format!(
                "has a configuration that is {}",
                other.kind()
            )));
        }
    };
    let name =
        name(Dialect::A, uri).ok_or_else(|| MetadataError::unsupported(key, "codec", uri))?;
    Ok((name, uri, configuration))
}

fn parse_bytes(
    mut fields: Fields<'_>,
    (key, place, name, uri): (&str, Place<'_>, &str, &str),
    configuration: Option<&Members<'_>>,
    data_type: &DataType,
) -> Result<CodecSpec, MetadataError> {
    let config = match name {
        "gzip" => CodecConfig::Gzip {
            level: fields.integer("level", 0..=9)?,
        },
        "blosc" => {
            let cname = |value: &Json<'_>| BloscCname::from_name(value.as_str()?);
            let shuffle = |value: &Json<'_>| numbered_shuffle(as_i128(value)?);
            let size = |value: &Json<'_>| as_u64(value).and_then(|size| usize::try_from(size).ok());
            CodecConfig::Blosc(BloscConfig {
                cname: fields.required("cname", "a compressor of blosc", cname)?,
                clevel: u8::try_from(fields.integer("clevel", 0..=9)?).unwrap_or(9),
                shuffle: fields.required("shuffle", "an integer from -1 to 2", shuffle)?,
                typesize: data_type.elem_size(),
                blocksize: fields.required("blocksize", "a size in bytes", size)?,
            })
        }
        // The draft has no other codecs, but writers gave such URIs to those of numcodecs.
        id if numcodecs::is_known(id) => {
            let configuration = configuration.cloned().unwrap_or_default();
            return numcodecs::parse_configuration(key, place, id, &configuration);
        }
        _ => return Err(MetadataError::unsupported(key, "codec", uri)),
    };
    fields.end()?;
    Ok(config.into())
}

/// The `codecs` of a new document of dialect A.
///
/// # Errors
/// Names what cannot be expressed.
pub(crate) fn write(
    codecs: &[CodecSpec],
    data_type: &DataType,
    endian: Endian,
) -> Result<Json<'static>, String> {
    let mut items = Vec::new();
    let mut push = |name: &str, configuration: Json<'static>| {
        items.push(object([
            ("type", uri(Dialect::A, name).into()),
            ("configuration", configuration),
        ]));
    };
    if endian == Endian::Big && data_type.swap_width() > 1 {
        push("endian", json!({"endian": "big"}));
    }
    for codec in codecs {
        if let Some(why) = &codec.unwritable {
            return Err(why.clone());
        }
        match &codec.config {
            CodecConfig::Gzip { level } if (0..=9).contains(level) => {
                push("gzip", json!({"level": level}))
            }
            CodecConfig::Gzip { level } => {
                return Err(format!("gzip has levels from 0 to 9, not {level}"));
            }
            CodecConfig::Blosc(_) => {
                let configuration =
                    numcodecs::configuration(&codec.config).map(|(_, members)| members);
                push("blosc", Json::Object(configuration.unwrap_or_default()));
            }
            other => return Err(format!("has no codec {:?}", other.name())),
        }
    }
    Ok(Json::Array(items))
}
