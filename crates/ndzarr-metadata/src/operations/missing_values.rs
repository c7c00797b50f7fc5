//! Which elements xarray shows as missing: each format states it in its own way, and a copy to
//! another format has to state the same.
//!
//! In Zarr v2 and dialect B of the draft it is the fill value of the array, or the attribute
//! `_FillValue` as it stands if the fill value is `null`. Elsewhere it is only that attribute, in
//! the form of xarray's `FillValueCoder`: a float is the base64 of its eight bytes as a float64 in
//! little endian.

use ndzarr_model::{ArraySpec, Attributes, DataType, FillValue};
use serde_json::Value;

use crate::Format;
use crate::json::{Json, as_integral_i128};
use crate::shared::base64;
use crate::shared::fill;
use crate::shared::float::{FloatKind, widen};

/// The attribute that says which element stands for a missing one.
pub const MISSING_VALUE: &str = "_FillValue";

/// True if the fill value of an array in this format is what xarray shows as missing.
#[must_use]
pub fn fill_value_is_missing(format: Format) -> bool {
    matches!(format, Format::Zarr2 | Format::DraftB)
}

/// The element of an array with these attributes that xarray shows as missing, if there is one.
///
/// # Errors
/// The attribute `_FillValue` is not an element of the array: the text says so.
///
/// ```
/// use ndzarr_metadata::{ArrayRequest, CreateOptions, Format, NodePath, check_request, missing_element};
/// use ndzarr_model::DataType;
///
/// let mut request = ArrayRequest::new(vec![3], vec![3], DataType::Float { bits: 32 });
/// request.attributes.insert("_FillValue".to_owned(), "AAAAAICHw8A=".into());
/// let node = check_request(&NodePath::root(), &request, &CreateOptions::new(Format::Zarr3))?;
/// let spec = node.kind.array().expect("an array");
/// let missing = missing_element(Format::Zarr3, spec, &node.attributes).expect("a float");
/// assert_eq!(missing.expect("there is one").bytes(), (-9999_f32).to_ne_bytes());
/// # Ok::<(), ndzarr_metadata::MetadataError>(())
/// ```
pub fn missing_element(
    format: Format,
    spec: &ArraySpec,
    attributes: &Attributes,
) -> Result<Option<FillValue>, String> {
    if fill_value_is_missing(format) && spec.fill_value.is_defined() {
        return Ok(Some(spec.fill_value.clone()));
    }
    let Some(value) = attributes
        .get(MISSING_VALUE)
        .filter(|value| !value.is_null())
    else {
        return Ok(None);
    };
    let one = match value {
        Value::Array(items) if items.len() == 1 => &items[0],
        value => value,
    };
    match element(&spec.data_type.layout(), one) {
        Some(bytes) => Ok(Some(FillValue::defined(bytes))),
        None => Err(format!(
            "its attribute {MISSING_VALUE:?} is {value}, which is not an element of {}",
            spec.data_type
        )),
    }
}

/// The attribute `_FillValue` for an element, where that attribute states which one is missing;
/// `None` for a type of which xarray reads no such attribute.
#[must_use]
pub fn missing_attribute(data_type: &DataType, element: &FillValue) -> Option<Value> {
    let bytes = element.bytes();
    let coded = |float: f64| Value::from(base64::encode(&float.to_le_bytes()));
    Some(match data_type {
        DataType::Bool | DataType::Int { .. } | DataType::UInt { .. } => {
            fill::write(data_type, element).to_value()
        }
        DataType::Float { .. } | DataType::BFloat16 | DataType::SmallFloat(_) => {
            coded(wide(FloatKind::of(data_type)?, bytes)?)
        }
        DataType::Complex { .. } => {
            let kind = FloatKind::of(data_type)?;
            let parts = bytes.chunks_exact(kind.size());
            parts
                .map(|part| wide(kind, part).map(coded))
                .collect::<Option<Value>>()?
        }
        _ => return None,
    })
}

/// True if xarray shows an element as missing regardless of the metadata: a NaN, or not a time.
#[must_use]
pub fn is_always_missing(data_type: &DataType, element: &FillValue) -> bool {
    let bytes = element.bytes();
    match data_type {
        DataType::DateTime64 { .. } | DataType::TimeDelta64 { .. } => {
            bytes == i64::MIN.to_ne_bytes()
        }
        data_type => FloatKind::of(data_type).is_some_and(|kind| {
            bytes
                .chunks_exact(kind.size())
                .any(|part| wide(kind, part).is_some_and(f64::is_nan))
        }),
    }
}

/// The element that a `_FillValue` stands for, in native byte order.
fn element(data_type: &DataType, value: &Value) -> Option<Vec<u8>> {
    match data_type {
        DataType::Bool => fill::boolean(&value.into()),
        DataType::Int { bits } | DataType::UInt { bits } => {
            fill::integer(data_type, *bits, as_integral_i128(&value.into())?)
        }
        DataType::Float { .. } | DataType::BFloat16 | DataType::SmallFloat(_) => {
            fill::element(data_type, &float(value))
        }
        DataType::Complex { .. } => {
            let parts = value.as_array()?.iter().map(float).collect();
            fill::element(data_type, &Json::Array(parts))
        }
        DataType::String => Some(value.as_str()?.as_bytes().to_vec()),
        DataType::Bytes => base64::decode(value.as_str()?),
        DataType::FixedBytes { bytes } => fill::padded(value.as_str()?, *bytes),
        DataType::FixedUtf32 { chars } => fill::code_units(value.as_str()?, *chars),
        _ => None,
    }
}

/// A float in base64 as a number of JSON, or its name; others as they are.
fn float(value: &Value) -> Json<'static> {
    let bytes = value
        .as_str()
        .and_then(base64::decode)
        .and_then(|bytes| bytes.try_into().ok());
    match bytes.map(f64::from_le_bytes) {
        None => value.into(),
        Some(float) if float.is_nan() => "NaN".into(),
        Some(float) if float == f64::INFINITY => "Infinity".into(),
        Some(float) if float == f64::NEG_INFINITY => "-Infinity".into(),
        Some(float) => Json::Number(format!("{float:?}").into()),
    }
}

/// A float in native byte order as a float64, exactly; all NaNs are the usual one.
fn wide(kind: FloatKind, bytes: &[u8]) -> Option<f64> {
    let float = match kind {
        FloatKind::F64 => f64::from_ne_bytes(bytes.try_into().ok()?),
        FloatKind::F32 => f32::from_ne_bytes(bytes.try_into().ok()?).into(),
        _ if bytes.len() == kind.size() => widen(kind, fill::unsigned(bytes)),
        _ => return None,
    };
    Some(if float.is_nan() { f64::NAN } else { float })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// From Python: `xarray.backends.zarr.FillValueCoder.encode(value, dtype)`.
    #[test]
    fn attributes_are_those_of_xarray() {
        let float = |bits| DataType::Float { bits };
        for (data_type, bytes, attribute) in [
            (
                float(64),
                (-9999_f64).to_ne_bytes().to_vec(),
                json!("AAAAAICHw8A="),
            ),
            (
                float(32),
                f32::NAN.to_ne_bytes().to_vec(),
                json!("AAAAAAAA+H8="),
            ),
            // 1e20 as a float32 is 100000002004087734272.
            (
                float(32),
                1e20_f32.to_ne_bytes().to_vec(),
                json!("AAAAgB2vFUQ="),
            ),
            // 0.1 as a float16 is 0.0999755859375.
            (
                float(16),
                0x2e66_u16.to_ne_bytes().to_vec(),
                json!("AAAAAACYuT8="),
            ),
            (
                float(16),
                0xfc00_u16.to_ne_bytes().to_vec(),
                json!("AAAAAAAA8P8="),
            ),
            (
                DataType::UInt { bits: 64 },
                u64::MAX.to_ne_bytes().to_vec(),
                json!(u64::MAX),
            ),
            (DataType::Int { bits: 8 }, vec![0xff], json!(-1)),
            (DataType::Bool, vec![0], json!(false)),
            (
                DataType::Complex { bits: 64 },
                [1.5_f32, 0.0]
                    .iter()
                    .flat_map(|part| part.to_ne_bytes())
                    .collect(),
                json!(["AAAAAAAA+D8=", "AAAAAAAAAAA="]),
            ),
        ] {
            let value = FillValue::defined(&bytes);
            assert_eq!(
                missing_attribute(&data_type, &value),
                Some(attribute.clone()),
                "{data_type}"
            );
            let again = element(&data_type, &attribute).map(FillValue::defined);
            let is_nan = is_always_missing(&data_type, &value);
            assert!(
                again.as_ref() == Some(&value) || is_nan,
                "{data_type} {attribute}: {again:?}"
            );
        }
        // It cannot read these again.
        for data_type in [
            DataType::FixedBytes { bytes: 2 },
            DataType::FixedUtf32 { chars: 1 },
            DataType::Bytes,
            DataType::String,
        ] {
            assert_eq!(
                missing_attribute(&data_type, &FillValue::zero(&data_type)),
                None
            );
        }
    }

    #[test]
    fn plain_numbers_are_read_too() {
        let float = DataType::Float { bits: 32 };
        for value in [json!(-9999), json!(-9999.0), json!("AAAAAICHw8A=")] {
            assert_eq!(
                element(&float, &value),
                Some((-9999_f32).to_ne_bytes().to_vec()),
                "{value}"
            );
        }
        assert_eq!(
            element(&float, &json!("-Infinity")),
            Some(f32::NEG_INFINITY.to_ne_bytes().to_vec())
        );
        assert_eq!(
            element(&DataType::Int { bits: 8 }, &json!(-1.0)),
            Some(vec![0xff])
        );
        for (data_type, value) in [
            (DataType::UInt { bits: 8 }, json!(-1)),
            (DataType::Int { bits: 8 }, json!(1.5)),
            (float, json!("none")),
            (DataType::Complex { bits: 64 }, json!([1])),
        ] {
            assert_eq!(element(&data_type, &value), None, "{data_type} {value}");
        }
    }

    #[test]
    fn halves_are_exact() {
        let half = |bits: u16| wide(FloatKind::F16, &bits.to_ne_bytes()).expect("as many bytes");
        for (bits, float) in [
            (0x3c00, 1.0),
            (0x0001, 2_f64.powi(-24)),
            (0x7bff, 65504.0),
            (0xc000, -2.0),
        ] {
            assert_eq!(half(bits), float);
        }
        assert!(half(0x7e00).is_nan() && half(0x8000).is_sign_negative());
    }
}
