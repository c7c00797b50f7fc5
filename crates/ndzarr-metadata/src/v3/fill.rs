//! Fill values as v3 documents have them (zarr-v3.md section 7), which is also their public JSON form.

use std::fmt::Write as _;

use ndzarr_model::{DataType, FillValue};
use serde_json::{Number, Value};

use crate::float::{FloatKind, FloatName, decimal_bits, name, named_bits};
use crate::json::{as_integral_i128, as_u64, show};
use crate::{MetadataError, base64};

/// Reads a fill value of a type.
pub(crate) fn parse(key: &str, data_type: &DataType, value: &Value) -> Result<FillValue, MetadataError> {
    element(data_type, value).map(FillValue::defined).ok_or_else(|| {
        MetadataError::invalid(key, format_args!("fill_value {} is no value of {data_type}", show(value)))
    })
}

/// The JSON of a fill value; an undefined one is written as what it reads as.
pub(crate) fn write(data_type: &DataType, fill: &FillValue) -> Value {
    let bytes = fill.bytes();
    match data_type {
        DataType::Bool => Value::Bool(bytes.iter().any(|&b| b != 0)),
        DataType::Int { .. } => signed(bytes).into(),
        DataType::UInt { .. } => unsigned(bytes).into(),
        DataType::Complex { .. } | DataType::Float { .. } | DataType::BFloat16 => {
            let Some(kind) = FloatKind::of(data_type) else { return Value::Null };
            if matches!(data_type, DataType::Complex { .. }) {
                bytes.chunks(kind.size()).map(|part| float_json(kind, unsigned(part))).collect()
            } else {
                float_json(kind, unsigned(bytes))
            }
        }
        _ => bytes.iter().copied().collect(),
    }
}

/// One element in this machine's byte order.
fn element(data_type: &DataType, value: &Value) -> Option<Vec<u8>> {
    match data_type {
        DataType::Bool => Some(vec![u8::from(value.as_bool()?)]),
        DataType::Int { bits } | DataType::UInt { bits } => {
            integer(data_type, *bits, as_integral_i128(value)?)
        }
        DataType::Float { .. } | DataType::BFloat16 => {
            let kind = FloatKind::of(data_type)?;
            Some(native(float(kind, value)?, kind.size()))
        }
        DataType::Complex { .. } => {
            let kind = FloatKind::of(data_type)?;
            let [re, im] = value.as_array()?.as_slice() else { return None };
            let mut bytes = native(float(kind, re)?, kind.size());
            bytes.extend(native(float(kind, im)?, kind.size()));
            Some(bytes)
        }
        DataType::Raw { bytes: size } => {
            let bytes = match value {
                Value::Array(items) => items
                    .iter()
                    .map(|item| as_u64(item).and_then(|n| u8::try_from(n).ok()))
                    .collect::<Option<_>>()?,
                // What zarr-python writes for its `raw_bytes` (V3-061).
                Value::String(text) => base64::decode(text)?,
                _ => return None,
            };
            (bytes.len() == *size).then_some(bytes)
        }
        _ => None,
    }
}

/// An integer as an element of a type, if it is in its range.
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
    Some(native(value as u64, usize::from(bits) / 8))
}

/// The lowest `size` bytes of some bits, in this machine's byte order.
pub(crate) fn native(bits: u64, size: usize) -> Vec<u8> {
    if cfg!(target_endian = "little") {
        bits.to_le_bytes()[..size].to_vec()
    } else {
        bits.to_be_bytes()[8 - size..].to_vec()
    }
}

/// Bits of an element, or of a component of one, in this machine's byte order.
pub(crate) fn unsigned(bytes: &[u8]) -> u64 {
    let fold = |bits: u64, &byte: &u8| bits << 8 | u64::from(byte);
    if cfg!(target_endian = "little") { bytes.iter().rev().fold(0, fold) } else { bytes.iter().fold(0, fold) }
}

/// The element with its sign.
pub(crate) fn signed(bytes: &[u8]) -> i64 {
    let unused = 64 - 8 * u32::try_from(bytes.len().clamp(1, 8)).unwrap_or(8);
    #[allow(clippy::cast_possible_wrap)]
    let shifted = (unsigned(bytes) << unused) as i64;
    shifted >> unused
}

fn float(kind: FloatKind, value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => decimal_bits(kind, number.as_str()),
        Value::String(text) => match text.strip_prefix("0x") {
            Some(digits) => hex(kind, digits),
            None if text == "+Infinity" => named_bits(kind, "Infinity"),
            None => named_bits(kind, text),
        },
        _ => None,
    }
}

/// All digits of the bit pattern, most significant first (V3-073).
fn hex(kind: FloatKind, digits: &str) -> Option<u64> {
    let complete = digits.len() == 2 * kind.size() && digits.bytes().all(|b| b.is_ascii_hexdigit());
    if complete { u64::from_str_radix(digits, 16).ok() } else { None }
}

fn float_json(kind: FloatKind, bits: u64) -> Value {
    match name(kind, bits) {
        FloatName::Number(text) => text.parse::<Number>().map_or_else(|_| Value::String(text), Value::Number),
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
