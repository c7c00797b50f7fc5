//! The elements of a case as `AnyElements`: read, converted, overwritten and written again.

use ndarray::{ArrayBase, Data, IxDyn};
use ndzarr::{AnyArray, AnyElements, Cast, DataType, ErrorKind};
use ndzarr_metadata::parse_json;

use crate::{Checked, because};

/// `expected` has the content of each element, in native byte order.
pub(crate) fn check(array: &AnyArray, expected: &[Vec<u8>]) -> Checked {
    let data_type = array.data_type();
    let elements = array.read(..).map_err(because("reading elements"))?;
    same(
        "the elements",
        &contents(&elements, data_type),
        expected,
        data_type,
    )?;
    let shape: Vec<u64> = elements.shape().iter().map(|&n| n as u64).collect();
    if shape != array.shape() {
        return Err(format!("the elements have the shape {shape:?}"));
    }
    let many = array
        .read_many([..])
        .map_err(because("reading elements of many selections"))?;
    same(
        "the elements of many selections",
        &contents(&many[0], data_type),
        expected,
        data_type,
    )?;
    check_numbers(array, expected)?;
    check_bytes_into(array, expected)?;
    check_written(array, &elements, expected)
}

fn check_bytes_into(array: &AnyArray, expected: &[Vec<u8>]) -> Checked {
    let expected = expected.concat();
    if array.data_type().elem_size().is_none() {
        return Ok(());
    }
    // Memory that was used before and begins anywhere.
    let mut memory = vec![0xa5; expected.len() + 3];
    array
        .read_bytes_into(.., &mut memory[3..])
        .map_err(because("reading into memory"))?;
    if memory[3..] == expected {
        Ok(())
    } else {
        Err("other bytes were read into memory".to_owned())
    }
}

fn check_numbers(array: &AnyArray, expected: &[Vec<u8>]) -> Checked {
    let Some(expected) = expected
        .iter()
        .map(|bytes| number(bytes, array.data_type()))
        .collect::<Option<Vec<_>>>()
    else {
        return match array
            .read_as::<f64, _>(.., Cast::Checked)
            .map_err(|error| error.kind())
        {
            Err(ErrorKind::WrongType) => Ok(()),
            other => Err(format!("elements that are not numbers gave {other:?}")),
        };
    };
    let numbers = array
        .read_as::<f64, _>(.., Cast::Checked)
        .map_err(because("reading numbers"))?;
    let equal = |(a, b): (&f64, &f64)| a == b || a.is_nan() && b.is_nan();
    if numbers.len() == expected.len() && numbers.iter().zip(&expected).all(equal) {
        return Ok(());
    }
    Err(format!("the numbers are {numbers}, not {expected:?}"))
}

/// Overwrites all elements, then writes the old ones again.
fn check_written(array: &AnyArray, elements: &AnyElements, expected: &[Vec<u8>]) -> Checked {
    let data_type = array.data_type();
    match array.fill(.., array.fill_value()) {
        Err(error) if error.kind() == ErrorKind::Unsupported => return Ok(()),
        filled => filled.map_err(because("filling"))?,
    }
    let filled = array.read(..).map_err(because("reading after filling"))?;
    let fill_value = vec![array.spec().fill_value.bytes().to_vec(); expected.len()];
    same(
        "the elements after filling",
        &contents(&filled, data_type),
        &fill_value,
        data_type,
    )?;
    array
        .write(.., elements)
        .map_err(because("writing elements"))?;
    let written = array.read(..).map_err(because("reading after writing"))?;
    same(
        "the elements after writing",
        &contents(&written, data_type),
        expected,
        data_type,
    )
}

fn same(what: &str, is: &[Vec<u8>], expected: &[Vec<u8>], data_type: &DataType) -> Checked {
    let equal = |(is, expected): (&Vec<u8>, &Vec<u8>)| match data_type {
        // The order of members means nothing.
        DataType::Json => parse_json(is).ok() == parse_json(expected).ok(),
        _ => is == expected,
    };
    match is.iter().zip(expected).position(|pair| !equal(pair)) {
        None if is.len() == expected.len() => Ok(()),
        None => Err(format!(
            "{what}: {} instead of {}",
            is.len(),
            expected.len()
        )),
        Some(at) => Err(format!(
            "{what}: {:?} instead of {:?} at {at}",
            is[at], expected[at]
        )),
    }
}

/// The content of each element.
fn contents(elements: &AnyElements, data_type: &DataType) -> Vec<Vec<u8>> {
    fn each<T, S: Data<Elem = T>>(
        array: &ArrayBase<S, IxDyn>,
        content: impl Fn(&T) -> Vec<u8>,
    ) -> Vec<Vec<u8>> {
        array.iter().map(content).collect()
    }
    let padded = |mut bytes: Vec<u8>| {
        bytes.resize(data_type.elem_size().unwrap_or(bytes.len()), 0);
        bytes
    };
    match elements {
        AnyElements::Bool(array) => each(array, |&flag| vec![u8::from(flag)]),
        AnyElements::Int8(array) => each(array, |number| number.to_ne_bytes().into()),
        AnyElements::Int16(array) => each(array, |number| number.to_ne_bytes().into()),
        AnyElements::Int32(array) => each(array, |number| number.to_ne_bytes().into()),
        AnyElements::Int64(array) => each(array, |number| number.to_ne_bytes().into()),
        AnyElements::UInt8(array) => each(array, |number| number.to_ne_bytes().into()),
        AnyElements::UInt16(array) => each(array, |number| number.to_ne_bytes().into()),
        AnyElements::UInt32(array) => each(array, |number| number.to_ne_bytes().into()),
        AnyElements::UInt64(array) => each(array, |number| number.to_ne_bytes().into()),
        AnyElements::Float16(array) => each(array, |number| number.to_ne_bytes().into()),
        AnyElements::BFloat16(array) => each(array, |number| number.to_ne_bytes().into()),
        AnyElements::Float32(array) => each(array, |&number| part(number, data_type)),
        AnyElements::Float64(array) => each(array, |number| number.to_ne_bytes().into()),
        AnyElements::Complex64(array) => match data_type {
            DataType::ComplexOf(of) => {
                let of = of.data_type();
                each(array, |number| {
                    [part(number.re, &of), part(number.im, &of)].concat()
                })
            }
            _ => each(array, |number| {
                [number.re.to_ne_bytes(), number.im.to_ne_bytes()].concat()
            }),
        },
        AnyElements::Complex128(array) => each(array, |number| {
            [number.re.to_ne_bytes(), number.im.to_ne_bytes()].concat()
        }),
        AnyElements::DateTime64(array) => each(array, |time| time.0.to_ne_bytes().into()),
        AnyElements::TimeDelta64(array) => each(array, |time| time.0.to_ne_bytes().into()),
        AnyElements::String(array) => match data_type {
            DataType::String => each(array, |text| text.clone().into_bytes()),
            _ => each(array, |text| {
                padded(
                    text.chars()
                        .flat_map(|unit| u32::from(unit).to_ne_bytes())
                        .collect(),
                )
            }),
        },
        AnyElements::Bytes(array) => each(array, |bytes| padded(bytes.clone())),
        AnyElements::Json(array) => each(array, |value| value.to_string().into_bytes()),
        AnyElements::Packed(array) => {
            let size = data_type.elem_size().expect("packed elements have a size");
            let bytes: Vec<u8> = array.iter().copied().collect();
            bytes.chunks(size).map(<[u8]>::to_vec).collect()
        }
        other => panic!("no content is known for {other:?}"),
    }
}

/// The bytes of a float of at most 32 bits.
fn part(number: f32, data_type: &DataType) -> Vec<u8> {
    match data_type {
        DataType::SmallFloat(float) => (0..=u8::MAX >> (8 - float.bits()))
            .find(|&code| {
                let value = float.to_f32(code);
                value.to_bits() == number.to_bits() || value.is_nan() && number.is_nan()
            })
            .into_iter()
            .collect(),
        DataType::Float { bits: 16 } => half::f16::from_f32(number).to_ne_bytes().into(),
        DataType::BFloat16 => half::bf16::from_f32(number).to_ne_bytes().into(),
        _ => number.to_ne_bytes().into(),
    }
}

/// The number in the bytes of an element.
fn number(bytes: &[u8], data_type: &DataType) -> Option<f64> {
    fn fixed<const N: usize>(bytes: &[u8]) -> Option<[u8; N]> {
        bytes.try_into().ok()
    }
    Some(match data_type {
        DataType::Bool => f64::from(bytes[0]),
        DataType::Int { bits: 16 } => i16::from_ne_bytes(fixed(bytes)?).into(),
        DataType::Int { bits: 32 } => i32::from_ne_bytes(fixed(bytes)?).into(),
        DataType::Int { bits: 64 } => i64::from_ne_bytes(fixed(bytes)?) as f64,
        DataType::Int { .. } => i8::from_ne_bytes(fixed(bytes)?).into(),
        DataType::UInt { bits: 16 } => u16::from_ne_bytes(fixed(bytes)?).into(),
        DataType::UInt { bits: 32 } => u32::from_ne_bytes(fixed(bytes)?).into(),
        DataType::UInt { bits: 64 } => u64::from_ne_bytes(fixed(bytes)?) as f64,
        DataType::UInt { .. } => u8::from_ne_bytes(fixed(bytes)?).into(),
        DataType::Float { bits: 16 } => half::f16::from_ne_bytes(fixed(bytes)?).into(),
        DataType::Float { bits: 32 } => f32::from_ne_bytes(fixed(bytes)?).into(),
        DataType::Float { .. } => f64::from_ne_bytes(fixed(bytes)?),
        DataType::BFloat16 => half::bf16::from_ne_bytes(fixed(bytes)?).into(),
        DataType::SmallFloat(float) => float.to_f32(bytes[0]).into(),
        _ => return None,
    })
}
