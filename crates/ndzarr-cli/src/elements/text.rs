//! Prints elements of any type, as text and as JSON.

use half::{bf16, f16};
use ndzarr::ndarray::ArrayD;
use ndzarr::{AnyElements, DataType, Datetime64, FillValue, Timedelta64, for_each_type};
use ndzarr_metadata::fill_value_json;
use num_complex::Complex;
use serde_json::{Number, Value, json};

/// An element that can be printed.
pub(crate) trait Shown {
    /// The element as text, for people.
    fn text(&self, data_type: &DataType) -> String;

    /// The element as JSON: a number, or a string if JSON has no such number.
    fn json(&self, data_type: &DataType) -> Value;
}

/// Calls a function with each element in C order.
pub(crate) fn for_each<E>(
    elements: &AnyElements,
    mut take: impl FnMut(&dyn Shown) -> Result<(), E>,
) -> Result<(), E> {
    if let AnyElements::Packed(bytes) = elements {
        return bytes
            .rows()
            .into_iter()
            .try_for_each(|row| take(&Packed(row.to_vec())));
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
pub(crate) fn nested(elements: &AnyElements, data_type: &DataType) -> Value {
    let mut flat = Vec::new();
    let never: Result<(), std::convert::Infallible> = for_each(elements, |element| {
        flat.push(element.json(data_type));
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
        level = (0..lists)
            .map(|_| Value::Array(values.by_ref().take(n).collect()))
            .collect();
    }
    level.into_iter().next().unwrap_or(Value::Null)
}

/// The bytes of a structure or of raw bits.
struct Packed(Vec<u8>);

impl Shown for Packed {
    fn text(&self, data_type: &DataType) -> String {
        self.json(data_type).to_string()
    }

    fn json(&self, data_type: &DataType) -> Value {
        fill_value_json(data_type, &FillValue::defined(&self.0))
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

    fn json(&self, data_type: &DataType) -> Value {
        // 0.1, not 0.10000000149011612, the same number as a float64.
        self.text(data_type).parse().map_or(Value::Null, float)
    }
}

macro_rules! halves {
    ($($type:ty),*) => {$(
        impl Shown for $type {
            fn text(&self, data_type: &DataType) -> String {
                f32::from(*self).text(data_type)
            }

            fn json(&self, data_type: &DataType) -> Value {
                f32::from(*self).json(data_type)
            }
        }
    )*};
}
halves!(f16, bf16);

macro_rules! complex {
    ($($type:ty),*) => {$(
        impl Shown for Complex<$type> {
            fn text(&self, data_type: &DataType) -> String {
                let sign = if self.im.is_sign_negative() { "" } else { "+" };
                format!("{}{sign}{}i", self.re.text(data_type), self.im.text(data_type))
            }

            fn json(&self, data_type: &DataType) -> Value {
                json!([self.re.json(data_type), self.im.json(data_type)])
            }
        }
    )*};
}
complex!(f32, f64);

impl Shown for Datetime64 {
    /// A text of ISO 8601, without a zone; the number if ISO 8601 has no form for it.
    fn text(&self, data_type: &DataType) -> String {
        match self.to_datetime(data_type) {
            Ok(Some(time)) => time.to_string(),
            Ok(None) => "NaT".to_owned(),
            Err(_) => self.0.to_string(),
        }
    }

    fn json(&self, data_type: &DataType) -> Value {
        self.text(data_type).into()
    }
}

impl Shown for Timedelta64 {
    fn text(&self, data_type: &DataType) -> String {
        match self.to_duration(data_type) {
            Ok(Some(duration)) => duration.to_string(),
            Ok(None) => "NaT".to_owned(),
            Err(_) => self.0.to_string(),
        }
    }

    fn json(&self, data_type: &DataType) -> Value {
        self.text(data_type).into()
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
    fn text(&self, data_type: &DataType) -> String {
        match data_type {
            DataType::VlenArray(_) | DataType::Json => self.json(data_type).to_string(),
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
        let data_type = DataType::Float { bits: 32 };
        assert_eq!(0.1f32.json(&data_type).to_string(), "0.1");
        assert_eq!(0.1f32.text(&data_type), "0.1");
        assert_eq!(f32::NAN.json(&data_type), "NaN");
        assert_eq!(f64::NEG_INFINITY.json(&data_type), "-Infinity");
        assert_eq!(
            u64::MAX.json(&data_type).to_string(),
            "18446744073709551615"
        );
        assert_eq!(Complex::new(1.0f32, -0.5).text(&data_type), "1.0-0.5i");
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
