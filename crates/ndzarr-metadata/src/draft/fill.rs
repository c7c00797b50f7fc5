//! Fill values: dialect A has its own forms, B those of v2.

use std::fmt::Write as _;

use ndzarr_model::{DataType, FillValue};

use crate::draft::layout::Dialect;
use crate::json::{Json, as_i128, show};
use crate::shared::dtype::Stored;
use crate::shared::fill;
use crate::{MetadataError, v2};

/// Reads a `fill_value`.
pub(crate) fn parse(
    key: &str,
    dialect: Dialect,
    data_type: &DataType,
    stored: &Stored,
    value: &Json<'_>,
) -> Result<FillValue, MetadataError> {
    if dialect == Dialect::B {
        return v2::fill::parse(key, data_type, stored, value);
    }
    // The example of an extension type in the draft has a null fill value.
    if value.is_null() && is_extension(data_type) {
        return Ok(FillValue::defined(FillValue::undefined(data_type).bytes()));
    }
    if is_extension(data_type) {
        return v2::fill::parse(key, data_type, stored, value);
    }
    let translated = translate(data_type, value).ok_or_else(|| {
        MetadataError::invalid(
            key,
            format_args!("fill_value {} is not a value of {data_type}", show(value)),
        )
    })?;
    fill::parse(key, data_type, &translated)
}

/// The `fill_value` of a document.
pub(crate) fn write(
    dialect: Dialect,
    data_type: &DataType,
    stored: &Stored,
    fill: &FillValue,
) -> Result<Json<'static>, MetadataError> {
    if dialect == Dialect::B || is_extension(data_type) {
        return v2::fill::write(dialect.format(), data_type, stored, fill);
    }
    if matches!(data_type, DataType::Raw { .. }) {
        let mut text = "0x".to_owned();
        for byte in fill.bytes() {
            let _ = write!(text, "{byte:02x}");
        }
        return Ok(text.into());
    }
    let signed = |value: Json<'static>| {
        if value.as_str() == Some("Infinity") {
            Json::from("+Infinity")
        } else {
            value
        }
    };
    Ok(match fill::write(data_type, fill) {
        Json::Array(parts) => parts.into_iter().map(signed).collect(),
        value => signed(value),
    })
}

/// True if dialect A takes the type from an extension that does not define its fill value.
fn is_extension(data_type: &DataType) -> bool {
    use DataType::{DateTime64, FixedBytes, FixedUtf32, Struct, TimeDelta64};
    matches!(
        data_type,
        DateTime64 { .. } | TimeDelta64 { .. } | FixedBytes { .. } | FixedUtf32 { .. } | Struct(_)
    )
}

/// The value in the form of the final v3; `None` if the draft does not have it.
fn translate<'a>(data_type: &DataType, value: &Json<'a>) -> Option<Json<'a>> {
    match (data_type, value) {
        (DataType::Int { bits } | DataType::UInt { bits }, Json::String(text)) => {
            let pattern = u64::from_str_radix(&hex_digits(text, usize::from(*bits))?, 16).ok()?;
            let unused = 64 - u32::from(*bits);
            let number = match data_type {
                // Two's complement: the top bit of the pattern becomes the sign.
                #[allow(clippy::cast_possible_wrap)]
                DataType::Int { .. } => Json::from((pattern << unused) as i64 >> unused),
                _ => Json::from(pattern),
            };
            Some(number)
        }
        (DataType::Bool, value) => value.as_bool().map(|_| value.clone()),
        // No fraction, no exponent.
        (DataType::Int { .. } | DataType::UInt { .. }, value) => {
            as_i128(value).map(|_| value.clone())
        }
        (DataType::Float { bits }, value) => component(value, usize::from(*bits)),
        (DataType::Complex { bits }, Json::String(text)) => {
            let digits = hex_digits(text, usize::from(*bits))?;
            let (re, im) = digits.split_at(digits.len() / 2);
            Some(Json::from(vec![format!("0x{re}"), format!("0x{im}")]))
        }
        (DataType::Complex { bits }, Json::Array(parts)) => parts
            .iter()
            .map(|part| component(part, usize::from(*bits) / 2))
            .collect(),
        (DataType::Raw { bytes }, Json::String(text)) => {
            let digits = hex_digits(text, bytes.checked_mul(8)?)?;
            let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
            digits
                .as_bytes()
                .chunks(2)
                .map(pair)
                .collect::<Option<Vec<u8>>>()
                .map(Json::from)
        }
        (DataType::Raw { .. }, value) => value.as_array().map(|_| value.clone()),
        (_, value) => Some(value.clone()),
    }
}

/// Turns the binary bit string of a float into a hexadecimal one.
fn component<'a>(value: &Json<'a>, bits: usize) -> Option<Json<'a>> {
    match value {
        Json::String(text) if text.starts_with("0b") || text.starts_with("0x") => {
            Some(format!("0x{}", hex_digits(text, bits)?).into())
        }
        value => Some(value.clone()),
    }
}

/// The hexadecimal digits of a string of exactly `bits` binary digits.
fn hex_digits(text: &str, bits: usize) -> Option<String> {
    if let Some(digits) = text.strip_prefix("0x") {
        let complete = digits.len() == bits / 4 && digits.bytes().all(|b| b.is_ascii_hexdigit());
        return complete.then(|| digits.to_owned());
    }
    let digits = text.strip_prefix("0b")?;
    if digits.len() != bits || !digits.bytes().all(|b| matches!(b, b'0' | b'1')) {
        return None;
    }
    let nibble = |nibble: &[u8]| {
        let value = nibble
            .iter()
            .fold(0, |value, digit| value << 1 | u32::from(digit - b'0'));
        char::from_digit(value, 16)
    };
    digits.as_bytes().chunks(4).map(nibble).collect()
}
