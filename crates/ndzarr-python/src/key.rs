//! `Key`: the selection of an index of Python.

use ndzarr::ndarray::{ArrayD, IxDyn, NewAxis, SliceInfoElem};
use ndzarr::{Points, Resolved, Result, Selection};
use numpy::{PyReadonlyArray1, PyReadonlyArrayDyn, PyUntypedArray};
use pyo3::exceptions::{PyIndexError, PyOverflowError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PySlice, PyTuple};

use crate::error::of_kind;

/// A selection, as `ndzarr._keys` has normalised it.
pub(crate) enum Key {
    /// A tuple of integers, slices and `None`.
    Basic(Vec<SliceInfoElem>),
    /// A tuple that has index arrays or masks as well, each for one axis.
    Outer(Vec<Axis>),
    /// A list of index arrays, one for each axis.
    Points(Points),
    /// An array of bytes: not zero where an element is selected.
    Mask(ArrayD<bool>),
}

pub(crate) enum Axis {
    Basic(SliceInfoElem),
    List(Vec<i64>),
    Mask(Vec<bool>),
}

impl Key {
    /// For an array of this shape: slices are clipped to it, as in Python.
    pub(crate) fn new(key: &Bound<'_, PyAny>, shape: &[u64]) -> PyResult<Self> {
        if let Ok(axes) = key.cast::<PyTuple>() {
            return Self::of_axes(axes, shape);
        }
        if let Ok(points) = key.cast::<PyList>() {
            let axes: Vec<Vec<i64>> = points
                .iter()
                .map(|axis| indices(&axis))
                .collect::<PyResult<_>>()?;
            return Ok(Self::Points(Points::by_axis(axes)));
        }
        let mask: PyReadonlyArrayDyn<'_, u8> = few_axes(key)?.extract()?;
        Ok(Self::Mask(mask.as_array().mapv(|byte| byte != 0)))
    }

    fn of_axes(items: &Bound<'_, PyTuple>, shape: &[u64]) -> PyResult<Self> {
        let mut lens = shape.iter();
        let mut axes = Vec::with_capacity(items.len());
        for item in items.iter() {
            axes.push(if item.is_none() {
                Axis::Basic(SliceInfoElem::NewAxis)
            } else {
                Axis::new(&item, lens.next().copied().unwrap_or(0))?
            });
        }
        let basic = axes.iter().map(|axis| match axis {
            Axis::Basic(elem) => Some(*elem),
            Axis::List(_) | Axis::Mask(_) => None,
        });
        Ok(basic
            .collect::<Option<Vec<_>>>()
            .map_or_else(|| Self::Outer(axes), Self::Basic))
    }
}

impl Axis {
    fn new(item: &Bound<'_, PyAny>, len: u64) -> PyResult<Self> {
        if let Ok(slice) = item.cast::<PySlice>() {
            let len = isize::try_from(len).map_err(|_| {
                PyOverflowError::new_err("the axis is longer than this machine can address")
            })?;
            let found = slice.indices(len)?;
            let Ok(steps) = isize::try_from(found.slicelength) else {
                return Err(PyOverflowError::new_err("the slice is too long"));
            };
            if steps == 0 {
                return Ok(Self::Basic(SliceInfoElem::Slice {
                    start: 0,
                    end: Some(0),
                    step: 1,
                }));
            }
            // The library walks a negative step from the end of the range.
            let last = found.start + (steps - 1) * found.step;
            let low = found.start.min(last);
            let high = found.start.max(last);
            return Ok(Self::Basic(SliceInfoElem::Slice {
                start: low,
                end: Some(high + 1),
                step: found.step,
            }));
        }
        if item.cast::<PyUntypedArray>().is_ok() {
            return match item.extract::<PyReadonlyArray1<'_, u8>>() {
                Ok(mask) => Ok(Self::Mask(
                    mask.as_array().iter().map(|&byte| byte != 0).collect(),
                )),
                Err(_) => indices(item).map(Self::List),
            };
        }
        match item.extract::<isize>() {
            // The library does not take `isize::MIN` for an index.
            Ok(index) if index > isize::MIN => Ok(Self::Basic(SliceInfoElem::Index(index))),
            _ => Err(PyIndexError::new_err(format!(
                "the index {item} does not fit an axis of length {len}"
            ))),
        }
    }

    fn resolve(&self, lens: &[u64]) -> Result<Resolved> {
        match self {
            Self::Basic(SliceInfoElem::NewAxis) => (NewAxis,).resolve(&[]),
            Self::Basic(elem) => [*elem][..].resolve(lens),
            Self::List(list) => (list,).resolve(lens),
            Self::Mask(mask) => (mask,).resolve(lens),
        }
    }
}

fn indices(array: &Bound<'_, PyAny>) -> PyResult<Vec<i64>> {
    Ok(array
        .extract::<PyReadonlyArray1<'_, i64>>()?
        .as_array()
        .to_vec())
}

impl Selection for Key {
    type OutDim = IxDyn;

    fn resolve(&self, shape: &[u64]) -> Result<Resolved> {
        match self {
            Self::Basic(elems) => elems[..].resolve(shape),
            Self::Points(points) => points.resolve(shape),
            Self::Mask(mask) => mask.resolve(shape),
            Self::Outer(axes) => {
                let mut lens = shape.chunks(1);
                let parts = axes.iter().map(|axis| match axis {
                    Axis::Basic(SliceInfoElem::NewAxis) => axis.resolve(&[]),
                    axis => axis.resolve(lens.next().unwrap_or_default()),
                });
                Resolved::outer(parts.collect::<Result<Vec<_>>>()?)
            }
        }
    }
}

/// An array that `numpy` has views of: those have at most 32 axes, and NumPy 2 has up to 64.
pub(crate) fn few_axes<'a, 'py>(array: &'a Bound<'py, PyAny>) -> PyResult<&'a Bound<'py, PyAny>> {
    let ndim: usize = array.getattr("ndim")?.extract()?;
    if ndim > 32 {
        let what = format!("a selection of {ndim} axes: there may be 32");
        return Err(of_kind(array.py(), "Unsupported", &what));
    }
    Ok(array)
}
