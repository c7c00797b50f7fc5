//! Data types of the formats and dtypes of NumPy.

use std::sync::Arc;

use ndzarr::{DataType, Field, StructType, TimeUnit};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};

use crate::error::of_kind;

/// How elements lie in memory of NumPy.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Memory {
    /// As a type that Rust and NumPy share, with any strides.
    Typed,
    /// As bytes of a fixed number, packed in C order.
    Packed,
    /// As objects of Python, one for each element.
    Objects,
}

impl Memory {
    pub(crate) fn of(data_type: &DataType) -> Self {
        match data_type {
            DataType::Int { bits: 8.. } | DataType::UInt { bits: 8.. } => Self::Typed,
            DataType::Float { .. } | DataType::Complex { .. } => Self::Typed,
            // A `bool` of Rust is 0 or 1, a byte of NumPy's may be anything.
            data_type if data_type.elem_size().is_some() => Self::Packed,
            _ => Self::Objects,
        }
    }
}

/// The content of elements of variable size, for `RawArray.objects`.
pub(crate) fn content(data_type: &DataType) -> &'static str {
    match data_type {
        DataType::String => "string",
        DataType::Json => "json",
        DataType::VlenArray(_) => "list",
        _ => "bytes",
    }
}

/// The dtype of elements in memory, in native byte order.
pub(crate) fn dtype<'py>(py: Python<'py>, data_type: &DataType) -> PyResult<Bound<'py, PyAny>> {
    let numpy = py.import("numpy")?;
    let of = |name: &str| numpy.call_method1("dtype", (name,));
    match data_type {
        DataType::Bool => of("bool"),
        DataType::Int { bits: 8.. }
        | DataType::UInt { bits: 8.. }
        | DataType::Float { .. }
        | DataType::Complex { .. } => of(&data_type.to_string()),
        DataType::Int { .. }
        | DataType::UInt { .. }
        | DataType::BFloat16
        | DataType::SmallFloat(_) => {
            let Ok(more) = py.import("ml_dtypes") else {
                let what =
                    format!("the elements are {data_type}, which needs the package ml_dtypes");
                return Err(of_kind(py, "Unsupported", &what));
            };
            numpy.call_method1("dtype", (more.getattr(data_type.to_string().as_str())?,))
        }
        DataType::ComplexOf(part) => {
            let part = dtype(py, &part.data_type())?;
            numpy.call_method1("dtype", (vec![("real", &part), ("imag", &part)],))
        }
        DataType::Raw { bytes } => of(&format!("V{bytes}")),
        DataType::FixedBytes { bytes } => of(&format!("S{bytes}")),
        DataType::FixedUtf32 { chars } => of(&format!("U{chars}")),
        DataType::DateTime64 { unit, scale } => of(&time("M8", *unit, *scale)),
        DataType::TimeDelta64 { unit, scale } => of(&time("m8", *unit, *scale)),
        DataType::Struct(fields) => structure(py, fields),
        DataType::String => match numpy.getattr("dtypes")?.getattr_opt("StringDType")? {
            Some(string) => string.call0(),
            None => of("O"),
        },
        DataType::Bytes | DataType::Json | DataType::VlenArray(_) | DataType::Object => of("O"),
        other => Err(of_kind(
            py,
            "Unsupported",
            &format!("no dtype of NumPy has elements of the type {other}"),
        )),
    }
}

fn time(letters: &str, unit: TimeUnit, scale: u32) -> String {
    match (unit, scale) {
        (TimeUnit::Generic, _) => letters.to_owned(),
        (unit, 1) => format!("{letters}[{unit}]"),
        (unit, scale) => format!("{letters}[{scale}{unit}]"),
    }
}

/// Packed fields; padding is a gap between them.
fn structure<'py>(py: Python<'py>, fields: &StructType) -> PyResult<Bound<'py, PyAny>> {
    let names = PyList::empty(py);
    let formats = PyList::empty(py);
    let offsets = PyList::empty(py);
    for (offset, field) in fields.places().filter(|(_, field)| !field.is_padding()) {
        names.append(&field.name)?;
        offsets.append(offset)?;
        let format = dtype(py, &field.data_type)?;
        if field.shape.is_empty() {
            formats.append(format)?;
        } else {
            formats.append((format, PyTuple::new(py, &field.shape)?))?;
        }
    }
    let spec = PyDict::new(py);
    spec.set_item("names", names)?;
    spec.set_item("formats", formats)?;
    spec.set_item("offsets", offsets)?;
    spec.set_item("itemsize", fields.byte_len())?;
    py.import("numpy")?.call_method1("dtype", (spec,))
}

/// The data type of a dtype, or of a name; and true if its byte order is big.
pub(crate) fn data_type(py: Python<'_>, given: &Bound<'_, PyAny>) -> PyResult<(DataType, bool)> {
    if let Ok(name) = given.cast::<PyString>() {
        let name = name.to_cow()?;
        match &*name {
            "str" | "string" => return Ok((DataType::String, false)),
            "bytes" => return Ok((DataType::Bytes, false)),
            "json" => return Ok((DataType::Json, false)),
            "object" => {}
            name => {
                if let Some(known) = DataType::from_name(name) {
                    return Ok((known, false));
                }
            }
        }
    }
    let builtins = py.import("builtins")?;
    if given.is(&builtins.getattr("str")?) {
        return Ok((DataType::String, false));
    }
    if given.is(&builtins.getattr("bytes")?) {
        return Ok((DataType::Bytes, false));
    }
    let dtype = py.import("numpy")?.call_method1("dtype", (given,))?;
    let is_big = match dtype.getattr("byteorder")?.extract::<char>()? {
        '>' => true,
        '=' => cfg!(target_endian = "big"),
        _ => false,
    };
    Ok((of_dtype(py, &dtype)?, is_big))
}

fn of_dtype(py: Python<'_>, dtype: &Bound<'_, PyAny>) -> PyResult<DataType> {
    let kind: char = dtype.getattr("kind")?.extract()?;
    let size: usize = dtype.getattr("itemsize")?.extract()?;
    let unknown = || {
        let what = format!("no format has elements of the dtype {dtype}");
        of_kind(py, "Unsupported", &what)
    };
    match kind {
        'O' | 'T' => Ok(DataType::String),
        'S' if size > 0 => Ok(DataType::FixedBytes { bytes: size }),
        'S' => Ok(DataType::Bytes),
        'U' if size > 0 => Ok(DataType::FixedUtf32 { chars: size / 4 }),
        'U' => Ok(DataType::String),
        'M' | 'm' => {
            let (unit, scale): (String, u32) = py
                .import("numpy")?
                .call_method1("datetime_data", (dtype,))?
                .extract()?;
            let unit = TimeUnit::from_name(&unit).ok_or_else(unknown)?;
            Ok(match kind {
                'M' => DataType::DateTime64 { unit, scale },
                _ => DataType::TimeDelta64 { unit, scale },
            })
        }
        'V' if !dtype.getattr("names")?.is_none() => fields(py, dtype),
        _ => {
            let name: String = dtype.getattr("name")?.extract()?;
            match DataType::from_name(&name) {
                Some(known) => Ok(known),
                None if kind == 'V' && name.starts_with("void") => match size {
                    0 => Err(PyTypeError::new_err("the dtype V0 has no bytes")),
                    bytes => Ok(DataType::Raw { bytes }),
                },
                None => Err(unknown()),
            }
        }
    }
}

/// The fields of a structured dtype, packed.
fn fields(py: Python<'_>, dtype: &Bound<'_, PyAny>) -> PyResult<DataType> {
    let names = dtype.getattr("names")?;
    let members = dtype.getattr("fields")?;
    let mut fields = Vec::new();
    for name in names.try_iter()? {
        let name = name?;
        let mut member = members.get_item(&name)?.get_item(0)?;
        let shape: Vec<usize> = member.getattr("shape")?.extract()?;
        if !shape.is_empty() {
            member = member.getattr("base")?;
        }
        fields
            .push(Field::new(name.extract::<String>()?, of_dtype(py, &member)?).with_shape(shape));
    }
    let fields = StructType::new(fields);
    fields
        .map(DataType::Struct)
        .map_err(|error| PyValueError::new_err(format!("the dtype {dtype} {error}")))
}

/// The type of the numbers in lists of variable length.
pub(crate) fn listed(data_type: &DataType) -> Option<&Arc<DataType>> {
    match data_type {
        DataType::VlenArray(elements) => Some(elements),
        _ => None,
    }
}
