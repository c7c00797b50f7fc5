//! Small floats, and complex numbers of them, as elements that an `f32` holds exactly.

use half::{bf16, f16};
use ndarray::{ArrayD, CowArray, Dimension, IxDyn};
use ndzarr_model::{ComplexPart, DataType};
use num_complex::Complex;

use crate::element_types::any_elements::{AnyElements, VariantElement};
use crate::element_types::element::Element;

/// A float of 4, 6 or 8 bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SmallReal(f32);

/// A complex number of two floats of 4 to 16 bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SmallComplex(Complex<f32>);

/// The type of a number, or of the parts of one.
fn part(stored: &DataType) -> Option<ComplexPart> {
    match stored {
        DataType::SmallFloat(float) => Some(ComplexPart::Small(*float)),
        DataType::ComplexOf(part) => Some(*part),
        _ => None,
    }
}

fn number(content: &[u8], part: ComplexPart) -> Option<f32> {
    match part {
        ComplexPart::Float16 => Some(f16::from_ne_bytes(content.try_into().ok()?).to_f32()),
        ComplexPart::BFloat16 => Some(bf16::from_ne_bytes(content.try_into().ok()?).to_f32()),
        ComplexPart::Small(float) => Some(float.to_f32(*content.first()?)),
        _ => None,
    }
}

/// Appends a number, which must not need rounding.
fn put(value: f32, part: Option<ComplexPart>, out: &mut Vec<u8>) -> Result<(), String> {
    let start = out.len();
    match part {
        Some(ComplexPart::Float16) => out.extend(f16::from_f32(value).to_ne_bytes()),
        Some(ComplexPart::BFloat16) => out.extend(bf16::from_f32(value).to_ne_bytes()),
        Some(ComplexPart::Small(float)) => out.extend(float.from_f32(value)),
        _ => {}
    }
    let written = part.and_then(|part| number(&out[start..], part));
    if written.is_some_and(|written| written == value || written.is_nan() && value.is_nan()) {
        Ok(())
    } else {
        Err(format!(
            "{value} is not a {}",
            part.map_or(DataType::Float { bits: 32 }, ComplexPart::data_type)
        ))
    }
}

impl Element for SmallReal {
    fn accepts(stored: &DataType) -> bool {
        matches!(stored, DataType::SmallFloat(_))
    }

    fn new_type() -> Option<DataType> {
        None
    }

    fn to_content(&self, stored: &DataType, out: &mut Vec<u8>) -> Result<(), String> {
        put(self.0, part(stored), out)
    }

    fn from_content(content: &[u8], stored: &DataType) -> Option<Self> {
        number(content, part(stored)?).map(Self)
    }
}

impl Element for SmallComplex {
    fn accepts(stored: &DataType) -> bool {
        matches!(stored, DataType::ComplexOf(_))
    }

    fn new_type() -> Option<DataType> {
        None
    }

    fn to_content(&self, stored: &DataType, out: &mut Vec<u8>) -> Result<(), String> {
        put(self.0.re, part(stored), out)?;
        put(self.0.im, part(stored), out)
    }

    fn from_content(content: &[u8], stored: &DataType) -> Option<Self> {
        let (re, im) = content.split_at(content.len() / 2);
        let part = part(stored)?;
        Some(Self(Complex::new(number(re, part)?, number(im, part)?)))
    }
}

impl VariantElement for SmallReal {
    fn wrap(array: ArrayD<Self>) -> AnyElements {
        AnyElements::Float32(array.mapv(|number| number.0))
    }

    fn view<D: Dimension>(elements: &AnyElements<D>) -> Option<CowArray<'_, Self, IxDyn>> {
        let AnyElements::Float32(array) = elements else {
            return None;
        };
        Some(array.mapv(Self).into_dyn().into())
    }
}

impl VariantElement for SmallComplex {
    fn wrap(array: ArrayD<Self>) -> AnyElements {
        AnyElements::Complex64(array.mapv(|number| number.0))
    }

    fn view<D: Dimension>(elements: &AnyElements<D>) -> Option<CowArray<'_, Self, IxDyn>> {
        let AnyElements::Complex64(array) = elements else {
            return None;
        };
        Some(array.mapv(Self).into_dyn().into())
    }
}
