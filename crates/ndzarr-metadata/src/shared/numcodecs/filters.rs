//! Configurations of numcodecs' filters.

use ndzarr_model::{
    CategorizeConfig, ChecksumLocation, CodecConfig, DataType, Endian, FilterNumber, FilterTypes,
    FixedScaleOffsetConfig, LabelsConfig, PcodecConfig, PcodecDelta, PcodecMode, StoredType,
    ZfpMode,
};

use crate::MetadataError;
use crate::json::{Json, Members, as_i128, as_u64};
use crate::shared::dtype::{is_object, sized};
use crate::shared::fields::{Fields, Named, Place};

const DTYPE: &str = "a NumPy data type";
/// The most labels that categorize may have.
const MAX_LABELS: usize = 1 << 16;

/// Reads the configuration of a filter; `None` for another id.
pub(super) fn parse(
    id: &str,
    parameters: &mut Fields<'_>,
) -> Result<Option<CodecConfig>, MetadataError> {
    Ok(Some(match id {
        "delta" => CodecConfig::Delta(types(parameters, "dtype", "astype")?),
        "astype" => {
            let dtype = parameters.required("decode_dtype", DTYPE, dtype_of)?;
            let astype = parameters.required("encode_dtype", DTYPE, dtype_of)?;
            CodecConfig::AsType(FilterTypes { dtype, astype })
        }
        "fixedscaleoffset" => CodecConfig::FixedScaleOffset(fixedscaleoffset(parameters)?),
        "quantize" => CodecConfig::Quantize {
            digits: parameters.required("digits", "an integer", |value| {
                as_i128(value)
                    .and_then(|n| i32::try_from(n).ok())
                    .filter(|digits| digits.abs() <= 400)
            })?,
            types: types(parameters, "dtype", "astype")?,
        },
        "categorize" => CodecConfig::Categorize(categorize(parameters)?),
        "packbits" => CodecConfig::NumcodecsPackbits,
        "bitround" => CodecConfig::Bitround {
            keepbits: parameters.required("keepbits", "an integer from 0 to 64", |value| {
                as_u64(value)
                    .and_then(|n| u32::try_from(n).ok())
                    .filter(|&bits| bits <= 64)
            })?,
        },
        "shuffle" => CodecConfig::Shuffle {
            elementsize: match parameters.optional("elementsize", "a size in bytes", size)? {
                None => Some(4),
                // NCZarr means the size of the elements that reach the filter.
                Some(0) => None,
                Some(size) => Some(size),
            },
        },
        "crc32" => CodecConfig::Crc32 {
            location: location(parameters, ChecksumLocation::Start)?,
        },
        "adler32" => CodecConfig::Adler32 {
            location: location(parameters, ChecksumLocation::Start)?,
        },
        "crc32c" => CodecConfig::Crc32c {
            location: location(parameters, ChecksumLocation::End)?,
        },
        "fletcher32" => CodecConfig::Fletcher32,
        "jenkins_lookup3" => {
            // JSON cannot express the bytes that numcodecs takes for a prefix.
            parameters.optional("prefix", "null", |value| value.is_null().then_some(()))?;
            let initval = parameters.optional("initval", "an integer of 32 bits", |value| {
                as_u64(value).and_then(|n| u32::try_from(n).ok())
            })?;
            CodecConfig::JenkinsLookup3 {
                initval: initval.unwrap_or(0),
            }
        }
        "base64" => CodecConfig::Base64,
        "pcodec" => CodecConfig::Pcodec(pcodec(parameters)),
        "zfpy" => CodecConfig::Zfpy(zfpy(parameters)),
        _ => return Ok(None),
    }))
}

fn types(
    parameters: &mut Fields<'_>,
    dtype: &'static str,
    astype: &'static str,
) -> Result<FilterTypes, MetadataError> {
    let dtype = parameters.required(dtype, DTYPE, dtype_of)?;
    let astype = parameters.optional(astype, DTYPE, |value| match value {
        Json::Null => Some(dtype.clone()),
        value => dtype_of(value),
    })?;
    Ok(FilterTypes {
        astype: astype.unwrap_or_else(|| dtype.clone()),
        dtype,
    })
}

/// A type as NumPy's `dtype()` accepts it: `"<f8"`, `"u1"`, `"float64"`. Without a byte order it is
/// little-endian, as the writers' machines were.
fn dtype_of(value: &Json<'_>) -> Option<StoredType> {
    let text = value.as_str()?;
    let (endian, name) = match text.as_bytes().first()? {
        b'<' | b'|' | b'=' => (Endian::Little, &text[1..]),
        b'>' => (Endian::Big, &text[1..]),
        _ => (Endian::Little, text),
    };
    let data_type = match name {
        "b1" | "?" | "bool" => DataType::Bool,
        name => {
            let kind = name
                .chars()
                .next()
                .filter(|kind| matches!(kind, 'i' | 'u' | 'f' | 'c'))?;
            sized(kind, &name[1..])
                .ok()
                .or_else(|| DataType::from_name(name))?
        }
    };
    Some(StoredType { data_type, endian })
}

/// The name that [`dtype_of`] reads.
pub(crate) fn dtype_name(stored: &StoredType) -> String {
    match crate::shared::dtype::write(&stored.data_type, stored.endian) {
        Some(Json::String(name)) => name.into(),
        _ => stored.data_type.to_string(),
    }
}

fn fixedscaleoffset(parameters: &mut Fields<'_>) -> Result<FixedScaleOffsetConfig, MetadataError> {
    let types = types(parameters, "dtype", "astype")?;
    let mut read = |name| {
        let number = parameters.required(name, "a number", number)?;
        // NumPy computes with an integer in the type of the elements (V2-T51).
        if let (FilterNumber::Int(n), DataType::Int { bits } | DataType::UInt { bits }) =
            (number, &types.dtype.data_type)
            && crate::shared::fill::integer(&types.dtype.data_type, *bits, n).is_none()
        {
            let what = format_args!(
                "has {name} {n}, which does not fit {}",
                types.dtype.data_type
            );
            return Err(parameters.invalid(what));
        }
        Ok(number)
    };
    let offset = read("offset")?;
    let scale = read("scale")?;
    Ok(FixedScaleOffsetConfig {
        offset,
        scale,
        types,
    })
}

fn number(value: &Json<'_>) -> Option<FilterNumber> {
    match value {
        Json::Number(_) => match as_i128(value) {
            Some(n) if i64::try_from(n).is_ok() || u64::try_from(n).is_ok() => {
                Some(FilterNumber::Int(n))
            }
            _ => value.as_f64().map(FilterNumber::Float),
        },
        _ => None,
    }
}

fn size(value: &Json<'_>) -> Option<usize> {
    as_u64(value).and_then(|n| usize::try_from(n).ok())
}

fn location(
    parameters: &mut Fields<'_>,
    default: ChecksumLocation,
) -> Result<ChecksumLocation, MetadataError> {
    Ok(parameters.named("location")?.unwrap_or(default))
}

/// categorize where it gives `|O` its type.
pub(crate) fn categorize_objects(
    key: &str,
    place: Place<'_>,
    members: &Members<'_>,
) -> Result<LabelsConfig, MetadataError> {
    let mut parameters = Fields::new(key, place, "categorize", Some(members));
    parameters.required("dtype", "\"|O\"", |value| {
        takes_objects(value).then_some(())
    })?;
    labels(&mut parameters)
}

/// True if this is the `dtype` of a categorize of objects.
pub(crate) fn takes_objects(dtype: &Json<'_>) -> bool {
    is_object(dtype) || matches!(dtype.as_str(), Some("O" | "=O" | "object"))
}

fn labels(parameters: &mut Fields<'_>) -> Result<LabelsConfig, MetadataError> {
    let labels = parameters.required("labels", "a list of strings", |value| {
        let labels = value
            .as_array()
            .filter(|labels| labels.len() <= MAX_LABELS)?;
        labels
            .iter()
            .map(|label| label.as_str().map(str::to_owned))
            .collect::<Option<Vec<_>>>()
    })?;
    let astype = parameters.optional("astype", DTYPE, dtype_of)?;
    let astype = astype.unwrap_or_else(|| StoredType {
        data_type: DataType::UInt { bits: 8 },
        endian: Endian::Little,
    });
    Ok(LabelsConfig { labels, astype })
}

fn categorize(parameters: &mut Fields<'_>) -> Result<CategorizeConfig, MetadataError> {
    let LabelsConfig { labels, astype } = labels(parameters)?;
    let (endian, code_points) = parameters.required("dtype", "\"<U<n>\"", |value| {
        let text = value.as_str()?;
        let (endian, size) = match text.strip_prefix('>') {
            Some(rest) => (Endian::Big, rest),
            None => (
                Endian::Little,
                text.strip_prefix(['<', '=']).unwrap_or(text),
            ),
        };
        let n: usize = size.strip_prefix('U')?.parse().ok()?;
        (1..=crate::options::limits::MAX_RAW_BYTES / 4)
            .contains(&n)
            .then_some((endian, n))
    })?;
    Ok(CategorizeConfig {
        labels,
        code_points,
        endian,
        astype,
    })
}

/// The stream says how to decode it: all parameters affect only encoding.
fn pcodec(parameters: &mut Fields<'_>) -> PcodecConfig {
    let default = PcodecConfig::default();
    let mode = parameters.steering("mode_spec", PcodecMode::read);
    let delta = parameters.steering("delta_spec", PcodecDelta::read);
    parameters.steering("paging_spec", |value| {
        (value.as_str()? == "equal_pages_up_to").then_some(())
    });
    let order = parameters.steering("delta_encoding_order", |value| match value {
        Json::Null => Some(None),
        value => as_u64(value)
            .and_then(|n| u8::try_from(n).ok())
            .filter(|&n| n <= 7)
            .map(Some),
    });
    let pages = parameters.steering("equal_pages_up_to", |value| size(value).filter(|&n| n > 0));
    PcodecConfig {
        level: u8::try_from(parameters.steering_integer("level", 8, 0..=12))
            .unwrap_or(default.level),
        mode: mode.unwrap_or(default.mode),
        delta: delta.unwrap_or(default.delta),
        delta_encoding_order: order.flatten(),
        equal_pages_up_to: pages.unwrap_or(default.equal_pages_up_to),
    }
}

/// The stream has a header (V2-T52): all parameters affect only encoding.
fn zfpy(parameters: &mut Fields<'_>) -> ZfpMode {
    let mode = parameters.steering_integer("mode", 4, 1..=5);
    let tolerance = parameters
        .steering("tolerance", Json::as_f64)
        .filter(|&x| x >= 0.0);
    let rate = parameters
        .steering("rate", Json::as_f64)
        .filter(|&x| x > 0.0);
    let precision = parameters.steering_integer("precision", -1, -1..=64);
    let chosen = match mode {
        2 => rate.map(|rate| ZfpMode::FixedRate { rate }),
        3 => u32::try_from(precision)
            .ok()
            .map(|precision| ZfpMode::FixedPrecision { precision }),
        4 => tolerance.map(|tolerance| ZfpMode::FixedAccuracy { tolerance }),
        5 => Some(ZfpMode::Reversible),
        _ => None,
    };
    if chosen.is_none() {
        parameters.refuse(format_args!("mode {mode} without its parameters"));
    }
    chosen.unwrap_or(ZfpMode::Reversible)
}
