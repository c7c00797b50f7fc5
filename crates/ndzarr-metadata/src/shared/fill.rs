//! Fill values as v3 documents spell them (Zarr v3 specification, "Fill value"), which is also
//! their public JSON form, and what v2 and the draft spell in the same way.

use std::fmt::Write as _;
use std::sync::Arc;

use ndzarr_json::JsonText;
use ndzarr_model::{CustomType, DataType, Endian, FillValue, StructType};

use crate::MetadataError;
use crate::json::{self, Json, Members, as_integral_i128, as_u64, show};
use crate::shared::base64;
use crate::shared::dtype::Stored;
use crate::shared::float::{FloatKind, FloatName, decimal_bits, name, named_bits};

/// Reads a fill value of a type. Base64 of a structure uses this byte order.
pub(crate) fn parse_stored(
    key: &str,
    data_type: &DataType,
    value: &Json<'_>,
    endian: Endian,
) -> Result<FillValue, MetadataError> {
    if let (DataType::Struct(fields), Json::String(text)) = (data_type, value)
        && let Some(mut bytes) =
            base64::decode(text).filter(|bytes| bytes.len() == fields.byte_len())
    {
        Stored::One(Some(endian)).swap_bytes(data_type, &mut bytes);
        if data_type.is_element(&bytes) {
            return Ok(FillValue::defined(bytes));
        }
    }
    parse(key, data_type, value)
}

/// Reads a fill value of a type.
pub(crate) fn parse(
    key: &str,
    data_type: &DataType,
    value: &Json<'_>,
) -> Result<FillValue, MetadataError> {
    if let DataType::Custom(custom) = data_type {
        return own_element(custom, value)
            .map(FillValue::defined)
            .map_err(|what| {
                MetadataError::invalid(key, format_args!("fill_value {}: {what}", show(value)))
            });
    }
    element(data_type, value)
        .map(FillValue::defined)
        .ok_or_else(|| {
            MetadataError::invalid(
                key,
                format_args!("fill_value {} is not a value of {data_type}", show(value)),
            )
        })
}

/// The JSON of a fill value; an undefined one is written as the value that readers see.
pub(crate) fn write(data_type: &DataType, fill: &FillValue) -> Json<'static> {
    let bytes = fill.bytes();
    match data_type {
        DataType::Bool => Json::Bool(bytes.iter().any(|&b| b != 0)),
        DataType::Int { .. } => signed(bytes).into(),
        DataType::UInt { .. } => unsigned(bytes).into(),
        DataType::Complex { .. }
        | DataType::ComplexOf(_)
        | DataType::Float { .. }
        | DataType::BFloat16
        | DataType::SmallFloat(_) => {
            let Some(kind) = FloatKind::of(data_type) else {
                return Json::Null;
            };
            if matches!(data_type, DataType::Complex { .. } | DataType::ComplexOf(_)) {
                bytes
                    .chunks(kind.size())
                    .map(|part| float_json(kind, unsigned(part)))
                    .collect()
            } else {
                float_json(kind, unsigned(bytes))
            }
        }
        DataType::FixedBytes { .. } | DataType::Bytes => base64::encode(bytes).into(),
        DataType::FixedUtf32 { .. } => text(bytes).into(),
        DataType::DateTime64 { .. } | DataType::TimeDelta64 { .. } => match signed(bytes) {
            i64::MIN => "NaT".into(),
            count => count.into(),
        },
        DataType::Struct(fields) => fields
            .places()
            .filter(|(_, field)| !field.is_padding())
            .map(|(at, field)| {
                let bytes = bytes.get(at..at + field.byte_len()).unwrap_or_default();
                (
                    field.name.as_str(),
                    sub_array(&field.data_type, &field.shape, bytes),
                )
            })
            .collect::<Members<'_>>()
            .into(),
        DataType::String => String::from_utf8_lossy(bytes).into_owned().into(),
        DataType::Json => {
            let value = json::parse("fill value", bytes, json::NonFinite::Accept);
            value.map_or(Json::Null, |value| value.to_owned())
        }
        DataType::VlenArray(elements) => {
            let size = elements.elem_size().unwrap_or(1).max(1);
            bytes
                .chunks_exact(size)
                .map(|bytes| one(elements, bytes))
                .collect()
        }
        DataType::Custom(custom) => custom
            .rules()
            .and_then(|rules| rules.fill_json(bytes))
            .map_or_else(|| one(custom.layout(), bytes), |value| (&value).into()),
        _ => bytes.iter().copied().collect(),
    }
}

/// The element of a custom type, which may leave parsing to its underlying type.
fn own_element(custom: &Arc<CustomType>, value: &Json<'_>) -> Result<Vec<u8>, String> {
    let own = custom
        .rules()
        .map_or(Ok(None), |rules| rules.parse_fill(&value.to_value()))?;
    own.or_else(|| element(custom.layout(), value))
        .filter(|bytes| DataType::Custom(Arc::clone(custom)).is_element(bytes))
        .ok_or_else(|| format!("not a value of {}", custom.name()))
}

fn one(data_type: &DataType, bytes: &[u8]) -> Json<'static> {
    write(data_type, &FillValue::defined(bytes))
}

/// The elements of a field as nested lists.
fn sub_array(data_type: &DataType, shape: &[usize], bytes: &[u8]) -> Json<'static> {
    match shape {
        [] => one(data_type, bytes),
        [n, rest @ ..] => bytes
            .chunks_exact((bytes.len() / n.max(&1)).max(1))
            .map(|bytes| sub_array(data_type, rest, bytes))
            .collect(),
    }
}

/// The text of code units, without trailing NULs.
fn text(bytes: &[u8]) -> String {
    let units = bytes
        .as_chunks::<4>()
        .0
        .iter()
        .map(|unit| u32::from_ne_bytes(*unit));
    let text: String = units
        .map(|unit| char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect();
    text.trim_end_matches('\0').to_owned()
}

/// The code units of a text, padded with NUL; `None` if it is too long.
pub(crate) fn code_units(text: &str, chars: usize) -> Option<Vec<u8>> {
    let mut bytes: Vec<u8> = text
        .chars()
        .flat_map(|unit| u32::from(unit).to_ne_bytes())
        .collect();
    (bytes.len() <= chars * 4).then(|| bytes.resize(chars * 4, 0))?;
    Some(bytes)
}

/// Bytes from Base64, padded with NUL; `None` if there are too many.
pub(crate) fn padded(text: &str, size: usize) -> Option<Vec<u8>> {
    let mut bytes = base64::decode(text)?;
    (bytes.len() <= size).then(|| bytes.resize(size, 0))?;
    Some(bytes)
}

/// One element in native byte order.
pub(crate) fn element(data_type: &DataType, value: &Json<'_>) -> Option<Vec<u8>> {
    match data_type {
        DataType::Bool => boolean(value),
        DataType::Int { bits } | DataType::UInt { bits } => {
            integer(data_type, *bits, as_integral_i128(value)?)
        }
        DataType::Float { .. } | DataType::BFloat16 | DataType::SmallFloat(_) => {
            let kind = FloatKind::of(data_type)?;
            Some(native(float(kind, value)?, kind.size()))
        }
        DataType::Complex { .. } | DataType::ComplexOf(_) => {
            let kind = FloatKind::of(data_type)?;
            let [re, im] = value.as_array()?.as_slice() else {
                return None;
            };
            let mut bytes = native(float(kind, re)?, kind.size());
            bytes.extend(native(float(kind, im)?, kind.size()));
            Some(bytes)
        }
        DataType::Raw { bytes: size } => byte_list(value).filter(|bytes| bytes.len() == *size),
        DataType::FixedBytes { bytes: size } => padded(value.as_str()?, *size),
        DataType::FixedUtf32 { chars } => code_units(value.as_str()?, *chars),
        DataType::DateTime64 { .. } | DataType::TimeDelta64 { .. } => {
            let count = match value.as_str() {
                Some("NaT") => i64::MIN,
                Some(_) => return None,
                None => i64::try_from(as_integral_i128(value)?).ok()?,
            };
            Some(count.to_ne_bytes().to_vec())
        }
        DataType::Struct(fields) => structure(fields, value),
        DataType::String => Some(value.as_str()?.as_bytes().to_vec()),
        DataType::Bytes => byte_list(value),
        DataType::Json => {
            let mut text = Vec::new();
            JsonText::canonical(value.to_string().as_bytes(), &mut text).ok()?;
            Some(text)
        }
        DataType::VlenArray(elements) => {
            let items = value.as_array()?.iter().map(|item| element(elements, item));
            Some(items.collect::<Option<Vec<_>>>()?.concat())
        }
        DataType::Custom(custom) => own_element(custom, value).ok(),
        _ => None,
    }
}

/// Bytes as a list, or in Base64 as zarr-python writes them.
fn byte_list(value: &Json<'_>) -> Option<Vec<u8>> {
    match value {
        Json::Array(items) => items
            .iter()
            .map(|item| as_u64(item).and_then(|n| u8::try_from(n).ok()))
            .collect(),
        Json::String(text) => base64::decode(text),
        _ => None,
    }
}

/// A boolean; some write 0 and 1.
pub(crate) fn boolean(value: &Json<'_>) -> Option<Vec<u8>> {
    match (value.as_bool(), as_integral_i128(value)) {
        (Some(value), _) => Some(vec![u8::from(value)]),
        (None, Some(0)) => Some(vec![0]),
        (None, Some(1)) => Some(vec![1]),
        _ => None,
    }
}

/// A value for each field by name, and nothing else.
fn structure(fields: &StructType, value: &Json<'_>) -> Option<Vec<u8>> {
    let members = value.as_object()?;
    let named = fields
        .fields()
        .iter()
        .filter(|field| !field.is_padding())
        .count();
    if members.len() != named {
        return None;
    }
    let mut bytes = vec![0; fields.byte_len()];
    for (at, field) in fields.places().filter(|(_, field)| !field.is_padding()) {
        let value = nested_element(&field.data_type, &field.shape, members.get(&field.name)?)?;
        bytes[at..at + field.byte_len()].copy_from_slice(&value);
    }
    Some(bytes)
}

fn nested_element(data_type: &DataType, shape: &[usize], value: &Json<'_>) -> Option<Vec<u8>> {
    match shape {
        [] => element(data_type, value),
        [n, rest @ ..] => {
            let items = value.as_array().filter(|items| items.len() == *n)?;
            let items = items
                .iter()
                .map(|item| nested_element(data_type, rest, item));
            Some(items.collect::<Option<Vec<_>>>()?.concat())
        }
    }
}

/// An integer as an element of a type, if it is in range.
pub(crate) fn integer(data_type: &DataType, bits: u8, value: i128) -> Option<Vec<u8>> {
    let (low, high) = match data_type {
        DataType::Int { .. } => (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1),
        _ => (0, (1i128 << bits) - 1),
    };
    if !(low..=high).contains(&value) {
        return None;
    }
    // Two's complement: the low bits are the element, whatever its sign.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    Some(native(value as u64, usize::from(bits).div_ceil(8)))
}

/// The lowest `size` bytes of `bits`, in native byte order.
pub(crate) fn native(bits: u64, size: usize) -> Vec<u8> {
    if cfg!(target_endian = "little") {
        bits.to_le_bytes()[..size].to_vec()
    } else {
        bits.to_be_bytes()[8 - size..].to_vec()
    }
}

/// Bits of an element, or of a component of one, in native byte order.
pub(crate) fn unsigned(bytes: &[u8]) -> u64 {
    let fold = |bits: u64, &byte: &u8| bits << 8 | u64::from(byte);
    if cfg!(target_endian = "little") {
        bytes.iter().rev().fold(0, fold)
    } else {
        bytes.iter().fold(0, fold)
    }
}

/// The element with its sign.
pub(crate) fn signed(bytes: &[u8]) -> i64 {
    let unused = 64 - 8 * u32::try_from(bytes.len().clamp(1, 8)).unwrap_or(8);
    #[allow(clippy::cast_possible_wrap)]
    let shifted = (unsigned(bytes) << unused) as i64;
    shifted >> unused
}

fn float(kind: FloatKind, value: &Json<'_>) -> Option<u64> {
    match value {
        // zarrita.py writes Python's tokens.
        Json::Number(text) if value.is_token() => named_bits(kind, text),
        Json::Number(text) => decimal_bits(kind, text),
        Json::String(text) => match text.strip_prefix("0x") {
            Some(digits) => hex(kind, digits),
            None if text == "+Infinity" => named_bits(kind, "Infinity"),
            None => named_bits(kind, text),
        },
        _ => None,
    }
}

/// All digits of the bit pattern, most significant first.
fn hex(kind: FloatKind, digits: &str) -> Option<u64> {
    let complete = digits.len() == 2 * kind.size() && digits.bytes().all(|b| b.is_ascii_hexdigit());
    if complete {
        u64::from_str_radix(digits, 16).ok()
    } else {
        None
    }
}

fn float_json(kind: FloatKind, bits: u64) -> Json<'static> {
    match name(kind, bits) {
        FloatName::Number(text) => Json::Number(text.into()),
        FloatName::Nan => "NaN".into(),
        FloatName::Infinity => "Infinity".into(),
        FloatName::NegativeInfinity => "-Infinity".into(),
        FloatName::OtherNan => {
            let mut text = "0x".to_owned();
            let _ = write!(text, "{bits:0width$x}", width = 2 * kind.size());
            text.into()
        }
    }
}
