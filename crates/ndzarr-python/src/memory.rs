//! Memory of NumPy that calls of the library read into and write from.

use half::f16;
use ndzarr::ndarray::{Array1, ArrayD, Ix0, ShapeError};
use ndzarr::{AnyArray, AnyElements, DataType, Datetime64, Result, RunOptions, Timedelta64};
use num_complex::Complex;
use numpy::{
    PyArray1, PyArrayDescrMethods, PyArrayMethods, PyReadonlyArray1, PyReadonlyArrayDyn,
    PyReadwriteArray1, PyReadwriteArrayDyn, PyUntypedArray, PyUntypedArrayMethods,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};

use crate::dtype::Memory;
use crate::key::{Key, few_axes};
use crate::run::{Watch, look, run};

/// Loads what the crate `numpy` loads when it first needs it: a child of a fork could wait for ever
/// for a thread that was about to.
pub(crate) fn prepare(py: Python<'_>) -> PyResult<()> {
    PyArray1::<f16>::zeros(py, 0, false).try_readwrite()?;
    Ok(())
}

/// Runs `$body` with `$t` the type that Rust and NumPy share, or `$packed`.
macro_rules! with_type {
    ($data_type:expr, $t:ident => $body:expr, $packed:expr) => {
        match $data_type {
            DataType::Int { bits: 8 } => with_type!(@$t i8, $body),
            DataType::Int { bits: 16 } => with_type!(@$t i16, $body),
            DataType::Int { bits: 32 } => with_type!(@$t i32, $body),
            DataType::Int { bits: 64 } => with_type!(@$t i64, $body),
            DataType::UInt { bits: 8 } => with_type!(@$t u8, $body),
            DataType::UInt { bits: 16 } => with_type!(@$t u16, $body),
            DataType::UInt { bits: 32 } => with_type!(@$t u32, $body),
            DataType::UInt { bits: 64 } => with_type!(@$t u64, $body),
            DataType::Float { bits: 16 } => with_type!(@$t f16, $body),
            DataType::Float { bits: 32 } => with_type!(@$t f32, $body),
            DataType::Float { bits: 64 } => with_type!(@$t f64, $body),
            DataType::Complex { bits: 64 } => with_type!(@$t Complex<f32>, $body),
            DataType::Complex { bits: 128 } => with_type!(@$t Complex<f64>, $body),
            _ => $packed,
        }
    };
    (@$name:ident $type:ty, $body:expr) => {{
        type $name = $type;
        $body
    }};
}

/// A call of an array, with its options and what the caller does meanwhile.
#[derive(Clone, Copy)]
pub(crate) struct Call<'c> {
    pub(crate) any: &'c AnyArray,
    pub(crate) options: &'c RunOptions,
    pub(crate) watch: &'c Watch,
}

impl Call<'_> {
    pub(crate) fn run<R: Send>(
        self,
        py: Python<'_>,
        call: impl FnOnce(AnyArray) -> Result<R> + Send,
    ) -> PyResult<R> {
        let any = self.any.clone();
        run(py, self.watch, self.options.clone(), move |options| {
            call(any.with_options(options))
        })
    }

    /// Runs a call that changes neither the store nor memory of Python: an interrupt does not wait
    /// for its end.
    pub(crate) fn look<R: Send + 'static>(
        self,
        py: Python<'_>,
        call: impl FnOnce(AnyArray) -> Result<R> + Send + 'static,
    ) -> PyResult<R> {
        let any = self.any.clone();
        look(py, self.watch, self.options.clone(), move |options| {
            call(any.with_options(options))
        })
    }

    /// Reads into an array of the selection's shape and of the array's dtype.
    pub(crate) fn read_into(self, key: &Key, out: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = out.py();
        with_type!(self.any.data_type(), T => {
            let mut memory: PyReadwriteArrayDyn<'_, T> = few_axes(out)?.extract()?;
            let mut view = memory.as_array_mut();
            self.run(py, |any| any.typed::<T>()?.read_into(key, &mut view))
        }, {
            let flat = bytes(out)?;
            let mut memory: PyReadwriteArray1<'_, u8> = flat.extract()?;
            let memory = memory.as_slice_mut()?;
            self.run(py, |any| any.read_bytes_into(key, memory))
        })
    }

    /// Writes an array of the selection's shape and of the array's dtype.
    pub(crate) fn write(self, key: &Key, data: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = data.py();
        with_type!(self.any.data_type(), T => {
            let memory: PyReadonlyArrayDyn<'_, T> = few_axes(data)?.extract()?;
            let view = memory.as_array();
            self.run(py, |any| any.typed::<T>()?.write(key, &view))
        }, {
            let flat = bytes(data)?;
            let memory: PyReadonlyArray1<'_, u8> = flat.extract()?;
            let memory = memory.as_slice()?;
            self.run(py, |any| any.write_bytes(key, memory))
        })
    }

    /// Sets a selection to one element, from an array of one.
    pub(crate) fn fill(self, key: &Key, one: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = one.py();
        with_type!(self.any.data_type(), T => {
            let flat = one.call_method1("reshape", (-1,))?;
            let value: T = flat.extract::<PyReadonlyArray1<'_, T>>()?.as_slice()?[0];
            self.run(py, |any| any.typed::<T>()?.fill(key, value))
        }, {
            let value = element(self.any, one)?;
            self.run(py, |any| any.fill(key, value))
        })
    }
}

/// A change of an array, to be run without the GIL.
type Change<'c> = &'c mut (dyn FnMut(&mut AnyArray) -> Result<()> + Send);

/// Appends an array of the array's dtype.
pub(crate) fn append(
    data: &Bound<'_, PyAny>,
    data_type: &DataType,
    axis: usize,
    change: impl FnOnce(Change<'_>) -> PyResult<()>,
) -> PyResult<()> {
    with_type!(data_type, T => {
        let memory: PyReadonlyArrayDyn<'_, T> = few_axes(data)?.extract()?;
        let view = memory.as_array();
        change(&mut |any| {
            let mut typed = any.clone().typed::<T>()?;
            typed.append(axis, &view)?;
            *any = typed.into();
            Ok(())
        })
    }, {
        let flat = bytes(data)?;
        let memory: PyReadonlyArray1<'_, u8> = flat.extract()?;
        let memory = memory.as_slice()?;
        change(&mut |any| any.append_bytes(axis, memory))
    })
}

/// The one element of an array, of a type of fixed size, as [`fill`](ndzarr::Array::fill) takes it.
pub(crate) fn element(any: &AnyArray, one: &Bound<'_, PyAny>) -> PyResult<AnyElements<Ix0>> {
    let flat = bytes(one)?;
    let memory: PyReadonlyArray1<'_, u8> = flat.extract()?;
    let bytes = memory.as_slice()?;
    let count = || bytes.try_into().map(i64::from_ne_bytes).unwrap_or(0);
    Ok(match any.data_type() {
        DataType::Bool => (bytes.first() != Some(&0)).into(),
        DataType::DateTime64 { .. } => Datetime64(count()).into(),
        DataType::TimeDelta64 { .. } => Timedelta64(count()).into(),
        DataType::FixedBytes { .. } => bytes.to_vec().into(),
        DataType::FixedUtf32 { .. } => {
            let text: String = one.call_method0("item")?.extract()?;
            text.into()
        }
        _ => AnyElements::Packed(Array1::from(bytes.to_vec())),
    })
}

/// True if selections can be set to an [element] of this type without writing an array.
pub(crate) fn fills(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Bool
            | DataType::DateTime64 { .. }
            | DataType::TimeDelta64 { .. }
            | DataType::FixedBytes { .. }
            | DataType::FixedUtf32 { .. }
            | DataType::Struct(_)
            | DataType::Raw { .. }
    )
}

/// The contents of elements of variable size, as `str` where they are text, else as `bytes`.
pub(crate) fn contents<'py>(
    py: Python<'py>,
    data_type: &DataType,
    elements: Vec<Vec<u8>>,
) -> PyResult<Bound<'py, PyList>> {
    match data_type {
        DataType::String | DataType::Json => {
            let texts: std::result::Result<Vec<String>, _> =
                elements.into_iter().map(String::from_utf8).collect();
            PyList::new(py, texts?)
        }
        _ => PyList::new(py, elements.iter().map(|element| PyBytes::new(py, element))),
    }
}

/// Elements of variable size to append, of this shape.
pub(crate) fn vlen_elements(
    data_type: &DataType,
    shape: &[usize],
    elements: Vec<Vec<u8>>,
) -> PyResult<AnyElements> {
    let wrong = |error: ShapeError| PyValueError::new_err(error.to_string());
    Ok(match data_type {
        DataType::String => {
            let texts: std::result::Result<Vec<String>, _> =
                elements.into_iter().map(String::from_utf8).collect();
            ArrayD::from_shape_vec(shape, texts?).map_err(wrong)?.into()
        }
        DataType::Json => {
            let parsed: std::result::Result<Vec<serde_json::Value>, _> = elements
                .iter()
                .map(|text| serde_json::from_slice(text))
                .collect();
            let parsed = parsed.map_err(|error| PyValueError::new_err(error.to_string()))?;
            ArrayD::from_shape_vec(shape, parsed).map_err(wrong)?.into()
        }
        _ => ArrayD::from_shape_vec(shape, elements)
            .map_err(wrong)?
            .into(),
    })
}

/// The bytes of an array in C order, as an array of one axis.
fn bytes<'py>(array: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    array
        .call_method1("reshape", (-1,))?
        .call_method1("view", ("u1",))
}

/// The access of a call to memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

/// True if a call can use an array of NumPy as it is: it has this dtype and is aligned; typed
/// elements have strides of whole elements, which lead to each of them once if the call writes;
/// others are in C order.
pub(crate) fn is_usable(
    array: &Bound<'_, PyUntypedArray>,
    dtype: &Bound<'_, PyAny>,
    memory: Memory,
    access: Access,
) -> PyResult<bool> {
    let size = array.dtype().itemsize();
    if !array.dtype().as_any().eq(dtype)? {
        return Ok(false);
    }
    if memory != Memory::Typed {
        return Ok(array.is_c_contiguous());
    }
    let is_whole = array
        .strides()
        .iter()
        .all(|stride| stride.unsigned_abs() % size == 0);
    let once = || access == Access::Read || leads_once(array.shape(), array.strides(), size);
    Ok(array.is_aligned() && is_whole && (array.is_empty() || once()))
}

/// True if no two indices lead to the same bytes. It may be false for unusual strides that do not
/// overlap either.
fn leads_once(shape: &[usize], strides: &[isize], size: usize) -> bool {
    let axes = shape.iter().zip(strides).filter(|(len, _)| **len > 1);
    let mut axes: Vec<(usize, usize)> = axes
        .map(|(len, stride)| (stride.unsigned_abs(), *len))
        .collect();
    axes.sort_unstable();
    let mut taken = size;
    axes.into_iter().all(|(stride, len)| {
        let fits = stride >= taken;
        taken = stride.saturating_mul(len - 1).saturating_add(taken);
        fits
    })
}
