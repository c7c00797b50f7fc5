//! Codecs of dialect A, codec URIs of both.

use ndzarr_model::{BloscCname, BloscConfig, BloscShuffle, CodecConfig, CodecSpec, DataType, Endian};

use crate::draft::extensions::{check_members, version};
use crate::draft::layout::Dialect;
use crate::json::{Json, Members, as_i128, as_u64, json, object, show};
use crate::v2::dtype::Stored;
use crate::{MetadataError, v2};

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
    let path = uri.strip_prefix("https://").or_else(|| uri.strip_prefix("http://"))?;
    let path = path.strip_prefix("purl.org/zarr/spec/")?;
    let path = path.strip_prefix("codecs/").or_else(|| path.strip_prefix("codec/"))?;
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
    let mut says_endian = false;
    let mut bytes_to_bytes: Vec<CodecSpec> = Vec::new();
    let mut is_bytes = false;
    let items = match value {
        None => &[][..],
        Some(Json::Array(items)) => items,
        Some(other) => {
            return Err(MetadataError::invalid(key, format_args!("codecs is {}, not a list", other.kind())));
        }
    };
    for (i, item) in items.iter().enumerate() {
        let codec = Codec::read(key, format!("codecs[{i}]"), item)?;
        match codec.name {
            "endian" => {
                if is_bytes {
                    return Err(codec.invalid("endian takes an array, but bytes reach it"));
                }
                is_bytes = true;
                says_endian = true;
                let order = codec.parse_endian()?;
                stored = (data_type.swap_width() > 1).then_some(order);
            }
            _ => {
                is_bytes = true;
                bytes_to_bytes.push(codec.parse_bytes(data_type)?);
            }
        }
    }
    let array_to_bytes = match own {
        // Each number has its own order, unless a codec states one.
        Stored::Leaves(_) if !says_endian => own.codec(),
        _ => CodecConfig::Bytes { endian: stored },
    };
    let mut chain = vec![array_to_bytes.into()];
    chain.append(&mut bytes_to_bytes);
    Ok(chain)
}

struct Codec<'a> {
    key: &'a str,
    place: String,
    uri: &'a str,
    name: &'a str,
    configuration: Members<'a>,
}

impl<'a> Codec<'a> {
    fn read(key: &'a str, place: String, value: &'a Json<'a>) -> Result<Self, MetadataError> {
        let invalid = |what: String| MetadataError::invalid(key, format_args!("{place} {what}"));
        let Json::Object(members) = value else {
            return Err(invalid(format!("is {}, not an object", show(value))));
        };
        check_members(key, &place, members, &["type", "configuration"])?;
        let Some(Json::String(uri)) = members.get("type") else {
            return Err(invalid("has no URI as its type".to_owned()));
        };
        let configuration = match members.get("configuration") {
            None => Members::new(),
            Some(Json::Object(configuration)) => configuration.clone(),
            Some(other) => return Err(invalid(format!("has a configuration that is {}", other.kind()))),
        };
        let Some(name) = name(Dialect::A, uri) else {
            return Err(MetadataError::unsupported(key, "codec", uri));
        };
        Ok(Self { key, place, uri, name, configuration })
    }

    fn invalid(&self, what: impl std::fmt::Display) -> MetadataError {
        MetadataError::invalid(self.key, format_args!("{} {what}", self.place))
    }

    /// A required member with a valid value.
    fn member<T>(
        &self,
        name: &str,
        expected: &str,
        read: impl Fn(&Json<'_>) -> Option<T>,
    ) -> Result<T, MetadataError> {
        match self.configuration.get(name) {
            None => Err(self.invalid(format_args!("has no {name}"))),
            Some(value) => read(value)
                .ok_or_else(|| self.invalid(format_args!("has {name} {}, not {expected}", show(value)))),
        }
    }

    fn level(&self, name: &str) -> Result<u8, MetadataError> {
        let level = |value: &Json<'_>| as_u64(value).and_then(|n| u8::try_from(n).ok()).filter(|n| *n <= 9);
        self.member(name, "an integer from 0 to 9", level)
    }

    fn parse_endian(&self) -> Result<Endian, MetadataError> {
        check_members(self.key, &self.place, &self.configuration, &["endian"])?;
        self.member("endian", "\"big\" or \"little\"", |value| match value.as_str()? {
            "big" => Some(Endian::Big),
            "little" => Some(Endian::Little),
            _ => None,
        })
    }

    fn parse_bytes(&self, data_type: &DataType) -> Result<CodecSpec, MetadataError> {
        match self.name {
            "gzip" => {
                check_members(self.key, &self.place, &self.configuration, &["level"])?;
                Ok(CodecConfig::Gzip { level: self.level("level")?.into() }.into())
            }
            "blosc" => self.parse_blosc(data_type),
            // For interchange: the draft has no other codecs, but those of numcodecs were given
            // such URIs.
            id if v2::codecs::is_known(id) => {
                v2::codecs::parse_configuration(self.key, &self.place, id, &self.configuration)
            }
            _ => Err(MetadataError::unsupported(self.key, "codec", self.uri)),
        }
    }

    fn parse_blosc(&self, data_type: &DataType) -> Result<CodecSpec, MetadataError> {
        let known = ["cname", "clevel", "shuffle", "blocksize"];
        check_members(self.key, &self.place, &self.configuration, &known)?;
        let cname = |value: &Json<'_>| BloscCname::from_name(value.as_str()?);
        let shuffle = |value: &Json<'_>| match as_i128(value)? {
            0 => Some(BloscShuffle::None),
            1 => Some(BloscShuffle::Byte),
            2 => Some(BloscShuffle::Bit),
            -1 => Some(BloscShuffle::Auto),
            _ => None,
        };
        let size = |value: &Json<'_>| as_u64(value).and_then(|size| usize::try_from(size).ok());
        let config = BloscConfig {
            cname: self.member("cname", "a compressor of blosc", cname)?,
            clevel: self.level("clevel")?,
            shuffle: self.member("shuffle", "an integer from -1 to 2", shuffle)?,
            typesize: data_type.elem_size(),
            blocksize: self.member("blocksize", "a size in bytes", size)?,
        };
        Ok(CodecConfig::Blosc(config).into())
    }
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
        items.push(object([("type", uri(Dialect::A, name).into()), ("configuration", configuration)]));
    };
    if endian == Endian::Big && data_type.swap_width() > 1 {
        push("endian", json!({"endian": "big"}));
    }
    for codec in codecs {
        if let Some(why) = &codec.unwritable {
            return Err(why.clone());
        }
        match &codec.config {
            CodecConfig::Gzip { level } if (0..=9).contains(level) => push("gzip", json!({"level": level})),
            CodecConfig::Gzip { level } => return Err(format!("gzip has levels from 0 to 9, not {level}")),
            CodecConfig::Blosc(_) => {
                let configuration = v2::codecs::configuration(&codec.config).map(|(_, members)| members);
                push("blosc", Json::Object(configuration.unwrap_or_default()));
            }
            other => return Err(format!("has no codec {:?}", other.name())),
        }
    }
    Ok(Json::Array(items))
}
