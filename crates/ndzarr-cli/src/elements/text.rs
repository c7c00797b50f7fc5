//! Elements of any type, one by one, as text and as JSON.

use half::{bf16, f16};
use ndzarr::ndarray::ArrayD;
use ndzarr::{AnyElements, DataType, Datetime64, FillValue, Timedelta64, for_each_type};
use ndzarr_metadata::fill_value_json;
use num_complex::Complex;
use serde_json::{Number, Value, json};

/// An element.
pub(crate) trait Shown {
    /// As a person reads it.
    fn text(&self, of: &DataType) -> String;

    /// As JSON: a number, or a string where JSON has no number.
    fn json(&self, of: &DataType) -> Value;
}

/// Calls a function with each element in C order.
pub(crate) fn for_each<E>(
    elements: &AnyElements,
    mut take: impl FnMut(&dyn Shown) -> Result<(), E>,
) -> Result<(), E> {
    if let AnyElements::Packed(bytes) = elements {
        return bytes.rows().into_iter().try_for_each(|row| take(&Packed(row.to_vec())));
    }
    for_each_type!(elements, |array| each_of(array, &mut take))
}

fn each_of<T: Shown, E>(
    array: &ArrayD<T>,
    take: &mut impl FnMut(&dyn Shown) -> Result<(), E>,
) -> Result<(), E> {
    array.iter().try_for_each(|element| take(element))
}

/// The elements as nested lists of JSON.
pub(crate) fn nested(elements: &AnyElements, of: &DataType) -> Value {
    let mut flat = Vec::new();
    let never: Result<(), std::convert::Infallible> = for_each(elements, |element| {
        flat.push(element.json(of));
        Ok(())
    });
    let Ok(()) = never;
    fold(flat, elements.shape())
}

/// Nests a list by a shape.
fn fold(flat: Vec<Value>, shape: &[usize]) -> Value {
    let mut level = flat;
    for (axis, &n) in shape.iter().enumerate().rev() {
        let lists = shape[..axis].iter().product::<usize>();
        let mut values = level.into_iter();
        level = (0..lists).map(|_| Value::Array(values.by_ref().take(n).collect())).collect();
    }
    level.into_iter().next().unwrap_or(Value::Null)
}

/// The bytes of a structure, or of raw bits.
struct Packed(Vec<u8>);

impl Shown for Packed {
    fn text(&self, of: &DataType) -> String {
        self.json(of).to_string()
    }

    fn json(&self, of: &DataType) -> Value {
        fill_value_json(of, &FillValue::defined(&self.0))
    }
}

/// A float in JSON: the shortest number that reads as the same float, or a string.
pub(crate) fn float(value: f64) -> Value {
    match Number::from_f64(value) {
        Some(number) => Value::Number(number),
        None if value.is_nan() => "NaN".into(),
        None if value > 0.0 => "Infinity".into(),
        None => "-Infinity".into(),
    }
}

macro_rules! integers {
    ($($type:ty),*) => {$(
        impl Shown for $type {
            fn text(&self, _: &DataType) -> String {
                self.to_string()
            }

            fn json(&self, _: &DataType) -> Value {
                json!(self)
            }
        }
    )*};
}
integers!(i8, i16, i32, i64, u8, u16, u32, u64);

impl Shown for bool {
    fn text(&self, _: &DataType) -> String {
        self.to_string()
    }

    fn json(&self, _: &DataType) -> Value {
        json!(self)
    }
}

impl Shown for f64 {
    fn text(&self, _: &DataType) -> String {
        format!("{self:?}")
    }

    fn json(&self, _: &DataType) -> Value {
        float(*self)
    }
}

impl Shown for f32 {
    fn text(&self, _: &DataType) -> String {
        format!("{self:?}")
    }

    fn json(&self, of: &DataType) -> Value {
        // 0.1, not the 0.10000000149011612 that it is as a float64.
        self.text(of).parse().map_or(Value::Null, float)
    }
}

macro_rules! halves {
    ($($type:ty),*) => {$(
        impl Shown for $type {
            fn text(&self, of: &DataType) -> String {
                f32::from(*self).text(of)
            }

            fn json(&self, of: &DataType) -> Value {
                f32::from(*self).json(of)
            }
        }
    )*};
}
halves!(f16, bf16);

macro_rules! complex {
    ($($type:ty),*) => {$(
        impl Shown for Complex<$type> {
            fn text(&self, of: &DataType) -> String {
                let sign = if self.im.is_sign_negative() { "" } else { "+" };
                format!("{}{sign}{}i", self.re.text(of), self.im.text(of))
            }

            fn json(&self, of: &DataType) -> Value {
                json!([self.re.json(of), self.im.json(of)])
            }
        }
    )*};
}
complex!(f32, f64);

impl Shown for Datetime64 {
    /// As ISO 8601 writes it, without a zone; the number where that has no form.
    fn text(&self, of: &DataType) -> String {
        match self.to_datetime(of) {
            Ok(Some(time)) => time.to_string(),
            Ok(None) => "NaT".to_owned(),
            Err(_) => self.0.to_string(),
        }
    }

    fn json(&self, of: &DataType) -> Value {
        self.text(of).into()
    }
}

impl Shown for Timedelta64 {
    fn text(&self, of: &DataType) -> String {
        match self.to_duration(of) {
            Ok(Some(duration)) => duration.to_string(),
            Ok(None) => "NaT".to_owned(),
            Err(_) => self.0.to_string(),
        }
    }

    fn json(&self, of: &DataType) -> Value {
        self.text(of).into()
    }
}

impl Shown for String {
    fn text(&self, _: &DataType) -> String {
        self.clone()
    }

    fn json(&self, _: &DataType) -> Value {
        self.as_str().into()
    }
}

impl Shown for Vec<u8> {
    fn text(&self, of: &DataType) -> String {
        match of {
            DataType::VlenArray(_) | DataType::Json => self.json(of).to_string(),
            _ => String::from_utf8_lossy(self).into_owned(),
        }
    }

    /// A list of the bytes.
    fn json(&self, _: &DataType) -> Value {
        json!(self)
    }
}

impl Shown for Value {
    fn text(&self, _: &DataType) -> String {
        self.to_string()
    }

    fn json(&self, _: &DataType) -> Value {
        self.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_shortest() {
        let of = DataType::Float { bits: 32 };
        assert_eq!(0.1f32.json(&of).to_string(), "0.1");
        assert_eq!(0.1f32.text(&of), "0.1");
        assert_eq!(f32::NAN.json(&of), "NaN");
        assert_eq!(f64::NEG_INFINITY.json(&of), "-Infinity");
        assert_eq!(u64::MAX.json(&of).to_string(), "18446744073709551615");
        assert_eq!(Complex::new(1.0f32, -0.5).text(&of), "1.0-0.5i");
    }

    #[test]
    fn lists_are_nested_by_the_shape() {
        let flat = |n: u64| (0..n).map(Value::from).collect::<Vec<_>>();
        assert_eq!(fold(flat(6), &[2, 3]), json!([[0, 1, 2], [3, 4, 5]]));
        assert_eq!(fold(flat(1), &[]), json!(0));
        assert_eq!(fold(flat(0), &[2, 0]), json!([[], []]));
        assert_eq!(fold(flat(0), &[0, 2]), json!([]));
    }
}
