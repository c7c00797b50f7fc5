//! NumPy's spelling of data types (Zarr v2 specification, "Data type encoding").

use ndzarr_model::{CodecConfig, DataType, Endian, Field, Leaf, LeafForm, StructType, TimeUnit};

use crate::MetadataError;
use crate::json::{Json, as_u64, json, show};
use crate::options::limits::{MAX_RAW_BYTES, MAX_TYPE_DEPTH};

/// True if a `dtype` is that of objects.
pub(crate) fn is_object(dtype: &Json<'_>) -> bool {
    matches!(dtype.as_str(), Some("|O" | "<O" | ">O" | "|O8"))
}

/// How elements are stored: their byte order, where it matters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stored {
    /// The same for all; `None` where it does not matter.
    One(Option<Endian>),
    /// Each number of a structure has its own.
    Leaves(Vec<Endian>),
}

impl Stored {
    /// The array→bytes codec that stores them so.
    pub(crate) fn codec(&self) -> CodecConfig {
        match self {
            Self::One(endian) => CodecConfig::Bytes { endian: *endian },
            Self::Leaves(endians) => CodecConfig::LeafBytes {
                endians: endians.clone(),
            },
        }
    }

    /// Swaps the bytes of one element from the stored byte order to the native one, or back.
    pub(crate) fn swap_bytes(&self, data_type: &DataType, element: &mut [u8]) {
        let leaves: Vec<Leaf> = data_type
            .leaves()
            .into_iter()
            .filter(|leaf| leaf.form == LeafForm::Ordered)
            .collect();
        for (i, leaf) in leaves.iter().enumerate() {
            let endian = match self {
                Self::One(endian) => endian.unwrap_or(Endian::NATIVE),
                Self::Leaves(endians) => endians.get(i).copied().unwrap_or(Endian::NATIVE),
            };
            if endian != Endian::NATIVE {
                let bytes = &mut element[leaf.offset..leaf.offset + leaf.unit * leaf.count];
                for number in bytes.chunks_exact_mut(leaf.unit) {
                    number.reverse();
                }
            }
        }
    }
}

/// Reads a `dtype`: the type, and the stored byte order where it matters. `|O` is an error: its
/// codec determines the type.
pub(crate) fn parse(key: &str, value: &Json<'_>) -> Result<(DataType, Stored), MetadataError> {
    let (data_type, endians) = any(key, value, MAX_TYPE_DEPTH)?;
    let stored = match endians.split_first() {
        None => Stored::One(None),
        Some((first, rest)) if rest.iter().all(|endian| endian == first) => {
            Stored::One(Some(*first))
        }
        Some(_) => Stored::Leaves(endians),
    };
    Ok((data_type, stored))
}

/// The type and the byte order of each of its parts that has one.
fn any(
    key: &str,
    value: &Json<'_>,
    depth_left: usize,
) -> Result<(DataType, Vec<Endian>), MetadataError> {
    match value {
        Json::Array(fields) => structure(key, fields, depth_left),
        Json::String(text) => {
            let (data_type, endian) = simple(key, value, text)?;
            Ok((data_type, endian.into_iter().collect()))
        }
        _ => {
            let what = format_args!("dtype {} is neither a string nor a list", show(value));
            Err(MetadataError::invalid(key, what))
        }
    }
}

/// Fields of `[name, type]` or `[name, type, shape]`.
fn structure(
    key: &str,
    items: &[Json<'_>],
    depth_left: usize,
) -> Result<(DataType, Vec<Endian>), MetadataError> {
    let invalid = |what: &dyn std::fmt::Display| {
        MetadataError::invalid(
            key,
            format_args!("dtype {} {what}", show(&Json::from(items.to_vec()))),
        )
    };
    let Some(depth_left) = depth_left.checked_sub(1) else {
        return Err(invalid(&format_args!(
            "is nested deeper than {MAX_TYPE_DEPTH} levels"
        )));
    };
    let mut fields = Vec::new();
    let mut endians = Vec::new();
    for item in items {
        let (name, data_type, shape) = match item.as_array().map(Vec::as_slice) {
            Some([Json::String(name), data_type]) => (name, data_type, Vec::new()),
            Some([Json::String(name), data_type, shape]) => {
                let lens = match shape {
                    // NumPy accepts a number in place of a list of one.
                    Json::Number(_) => as_u64(shape).map(|n| vec![n]),
                    shape => crate::json::as_u64_list(shape),
                };
                let lens = lens.filter(|lens| !lens.contains(&0)).and_then(|lens| {
                    lens.into_iter()
                        .map(usize::try_from)
                        .collect::<Result<Vec<_>, _>>()
                        .ok()
                });
                (
                    name,
                    data_type,
                    lens.ok_or_else(|| invalid(&"has a sub-array without a shape"))?,
                )
            }
            _ => {
                return Err(invalid(
                    &"has a field that is not a list of a name, a type and a shape",
                ));
            }
        };
        let (data_type, orders) = any(key, data_type, depth_left)?;
        if data_type.elem_size().is_none() {
            return Err(MetadataError::unsupported(
                key,
                "data type",
                "of structures with objects",
            ));
        }
        let field = Field::new(name.to_string(), data_type).with_shape(shape);
        // Each structure of a sub-array has its own parts; the numbers of a sub-array are a single
        // part.
        let repeats = if matches!(field.data_type, DataType::Struct(_)) {
            field.n_elements()
        } else {
            1
        };
        if repeats.saturating_mul(orders.len()) > StructType::MAX_PARTS {
            return Err(invalid(&"has too many parts"));
        }
        for _ in 0..repeats {
            endians.extend_from_slice(&orders);
        }
        fields.push(field);
    }
    let fields = StructType::new(fields).map_err(|error| invalid(&error))?;
    Ok((DataType::Struct(fields), endians))
}

fn simple(
    key: &str,
    value: &Json<'_>,
    text: &str,
) -> Result<(DataType, Option<Endian>), MetadataError> {
    let unsupported = || MetadataError::unsupported(key, "data type", show(value));
    let invalid =
        |what: &str| MetadataError::invalid(key, format_args!("dtype {} {what}", show(value)));
    // tensorstore's names for types that NumPy does not have.
    if text == "bfloat16" {
        return Ok((DataType::BFloat16, Some(Endian::Little)));
    }
    if let Some(data_type) = DataType::from_name(text)
        && is_tensorstores(&data_type)
    {
        return Ok((data_type, None));
    }
    let mut chars = text.chars();
    let endian = match chars.next() {
        Some('<') => Some(Endian::Little),
        Some('>') => Some(Endian::Big),
        Some('|') => None,
        // v3 names, as tensorstore writes them, are known types, though not here; otherwise a byte
        // order is missing.
        _ if text.starts_with("int") || text.starts_with("float") => return Err(unsupported()),
        _ => return Err(invalid("does not begin with a byte order '<', '>' or '|'")),
    };
    let Some(kind) = chars.next() else {
        return Err(invalid("has no kind"));
    };
    let size = chars.as_str();
    let data_type = match kind {
        'O' => return Err(invalid("has no object codec as its first filter")),
        'M' | 'm' => time(kind, size).map_err(invalid)?,
        _ => sized(kind, size).map_err(|what| what.map_or_else(unsupported, invalid))?,
    };
    if data_type.swap_width() == 1 {
        return Ok((data_type, None));
    }
    match endian {
        Some(endian) => Ok((data_type, Some(endian))),
        None => Err(invalid("has no byte order")),
    }
}

fn is_tensorstores(data_type: &DataType) -> bool {
    match data_type {
        DataType::Int { bits } | DataType::UInt { bits } => *bits < 8,
        DataType::SmallFloat(_) => true,
        _ => false,
    }
}

/// The type of this kind and size. Otherwise an error message, or none for types that NumPy has and
/// we do not support.
pub(crate) fn sized(kind: char, size: &str) -> Result<DataType, Option<&'static str>> {
    let digits = !size.is_empty() && size.bytes().all(|b| b.is_ascii_digit());
    let size = match size.parse::<usize>() {
        Ok(size) if digits => size,
        _ => return Err(Some("has no size")),
    };
    let bits = u8::try_from(size.saturating_mul(8)).unwrap_or(0);
    Ok(match (kind, size) {
        ('b', 1) => DataType::Bool,
        ('i', 1 | 2 | 4 | 8) => DataType::Int { bits },
        ('u', 1 | 2 | 4 | 8) => DataType::UInt { bits },
        ('f', 2 | 4 | 8) => DataType::Float { bits },
        ('c', 8 | 16) => DataType::Complex { bits },
        // The long double of the writer's machine.
        ('f', 12 | 16) | ('c', 24 | 32) => return Err(None),
        ('V', 1..=MAX_RAW_BYTES) => DataType::Raw { bytes: size },
        ('S', 1..=MAX_RAW_BYTES) => DataType::FixedBytes { bytes: size },
        ('U', 1..) if size <= MAX_RAW_BYTES / 4 => DataType::FixedUtf32 { chars: size },
        _ => return Err(Some("is not a NumPy type")),
    })
}

/// Dates and durations: `8[25s]`.
fn time(kind: char, rest: &str) -> Result<DataType, &'static str> {
    let step = rest
        .strip_prefix("8[")
        .and_then(|rest| rest.strip_suffix(']'))
        .ok_or("has no unit of time")?;
    let digits = step.bytes().take_while(u8::is_ascii_digit).count();
    let (scale, unit) = step.split_at(digits);
    let scale = match scale {
        "" => 1,
        scale => scale
            .parse()
            .ok()
            .filter(|scale| (1..=0x7fff_ffff).contains(scale))
            .ok_or("has an impossible multiple of a unit")?,
    };
    let unit = TimeUnit::from_name(unit).ok_or("has a unit of time that NumPy does not have")?;
    Ok(match kind {
        'M' => DataType::DateTime64 { unit, scale },
        _ => DataType::TimeDelta64 { unit, scale },
    })
}

/// The `dtype` of a type in a stored byte order; `None` if NumPy has no name for the type.
pub(crate) fn write(data_type: &DataType, endian: Endian) -> Option<Json<'static>> {
    if let DataType::Struct(fields) = data_type {
        return fields
            .fields()
            .iter()
            .map(|field| {
                let data_type = write(&field.data_type, endian)?;
                Some(match field.shape.as_slice() {
                    [] => json!([&field.name, data_type]),
                    shape => json!([&field.name, data_type, shape]),
                })
            })
            .collect();
    }
    let order = match endian {
        _ if data_type.swap_width() == 1 => '|',
        Endian::Little => '<',
        Endian::Big => '>',
    };
    let name = match data_type {
        DataType::Bool => "b1".to_owned(),
        DataType::Int { bits } if *bits >= 8 => format!("i{}", bits / 8),
        DataType::UInt { bits } if *bits >= 8 => format!("u{}", bits / 8),
        DataType::Float { bits } => format!("f{}", bits / 8),
        DataType::Complex { bits } => format!("c{}", bits / 8),
        DataType::Raw { bytes } => format!("V{bytes}"),
        DataType::FixedBytes { bytes } => format!("S{bytes}"),
        DataType::FixedUtf32 { chars } => format!("U{chars}"),
        DataType::DateTime64 { unit, scale } => format!("M8[{}{unit}]", multiple(*scale)),
        DataType::TimeDelta64 { unit, scale } => format!("m8[{}{unit}]", multiple(*scale)),
        DataType::String | DataType::Bytes | DataType::Json | DataType::VlenArray(_) => {
            return Some("|O".into());
        }
        _ => return None,
    };
    Some(format!("{order}{name}").into())
}

fn multiple(scale: u32) -> String {
    if scale == 1 {
        String::new()
    } else {
        scale.to_string()
    }
}
