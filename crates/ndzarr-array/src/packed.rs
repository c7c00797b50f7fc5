//! Reads and writes elements of any type as packed bytes.

use std::ops::Range;

use half::{bf16, f16};
use ndarray::{ArrayViewD, CowArray, IxDyn};
use ndzarr_model::DataType;
use num_complex::Complex;

use crate::byte_tile::{ByteSource, ByteTile};
use crate::core::Core;
use crate::error::{Error, ErrorKind, Result, not_an_element};
use crate::plain_element::PlainElement;
use crate::source::ElementSource;
use crate::steps::Steps;
use crate::storage::Colour;
use crate::tile::ElementTile;

/// Runs `$body` with `$t` the Rust type of a data type, or `$raw` for those that have none.
macro_rules! with_type {
    ($data_type:expr, $t:ident => $body:expr, $raw:expr) => {
        match $data_type {
            DataType::Bool => {
                type $t = bool;
                $body
            }
            DataType::Int { bits: 8 } => {
                type $t = i8;
                $body
            }
            DataType::Int { bits: 16 } => {
                type $t = i16;
                $body
            }
            DataType::Int { bits: 32 } => {
                type $t = i32;
                $body
            }
            DataType::Int { bits: 64 } => {
                type $t = i64;
                $body
            }
            DataType::UInt { bits: 8 } => {
                type $t = u8;
                $body
            }
            DataType::UInt { bits: 16 } => {
                type $t = u16;
                $body
            }
            DataType::UInt { bits: 32 } => {
                type $t = u32;
                $body
            }
            DataType::UInt { bits: 64 } => {
                type $t = u64;
                $body
            }
            DataType::Float { bits: 16 } => {
                type $t = f16;
                $body
            }
            DataType::Float { bits: 32 } => {
                type $t = f32;
                $body
            }
            DataType::Float { bits: 64 } => {
                type $t = f64;
                $body
            }
            DataType::BFloat16 => {
                type $t = bf16;
                $body
            }
            DataType::Complex { bits: 64 } => {
                type $t = Complex<f32>;
                $body
            }
            DataType::Complex { bits: 128 } => {
                type $t = Complex<f64>;
                $body
            }
            _ => $raw,
        }
    };
}

impl Core {
    pub(crate) async fn read_bytes(&self, region: &[Range<u64>]) -> Result<Vec<u8>> {
        let resolved = self.resolve(&region)?;
        let shape = resolved.shape();
        let region = resolved.region();
        with_type!(self.data_type(), T => {
            let mut out = self.named(crate::output::blank::<T>(&shape))?;
            self.read(&region, Box::new(ElementTile::dense(out.view_mut(), true))).await?;
            Ok(packed(&mut out))
        }, {
            let size = self.elem_size()?;
            let mut out = self.named(crate::output::blank::<u8>(&[&shape[..], &[size]].concat()))?;
            let tile = ByteTile { view: out.view_mut(), data_type: self.data_type() };
            self.read(&region, Box::new(tile)).await?;
            Ok(out.into_iter().collect())
        })
    }

    pub(crate) async fn write_bytes(
        &self,
        region: &[Range<u64>],
        bytes: &[u8],
        colour: Colour,
    ) -> Result<()> {
        let resolved = self.resolve(&region)?;
        let shape = resolved.shape();
        let size = self.elem_size()?;
        self.check_elements(bytes.chunks_exact(size))?;
        let expected = shape.iter().try_fold(size, |len, &n| len.checked_mul(n));
        if expected != Some(bytes.len()) {
            let what =
                format!("{} bytes for a region of shape {shape:?} with {size} bytes each", bytes.len());
            return Err(self.name(Error::new(ErrorKind::WrongShape, what)));
        }
        let region = resolved.region();
        with_type!(self.data_type(), T => {
            let elements: Vec<T> = self.named(elements(bytes, size))?;
            let elements = CowArray::from(self.named(shaped(&shape, &elements))?);
            let source = ElementSource { axes: vec![Steps::ALL; shape.len()], elements };
            self.write_by(colour, &region, &source).await
        }, {
            let view = self.named(shaped(&[&shape[..], &[size]].concat(), bytes))?;
            self.write_by(colour, &region, &ByteSource { bytes: CowArray::from(view) }).await
        })
    }

    pub(crate) async fn append_bytes(&mut self, axis: usize, bytes: &[u8], colour: Colour) -> Result<()> {
        let wrong = |what: &str| {
            let what =
                format!("{} bytes along axis {axis} of an array of {:?}: {what}", bytes.len(), self.shape());
            self.name(Error::new(ErrorKind::WrongShape, what))
        };
        let size = self.elem_size()?;
        self.check_elements(bytes.chunks_exact(size))?;
        let mut shape: Vec<usize> = Vec::with_capacity(self.shape().len());
        for &n in self.shape() {
            shape.push(usize::try_from(n).map_err(|_| wrong("it is too large"))?);
        }
        *shape.get_mut(axis).ok_or_else(|| wrong("there is no such axis"))? = 1;
        let row = shape.iter().try_fold(size, |len, &n| len.checked_mul(n)).filter(|&row| row > 0);
        let row = row.ok_or_else(|| wrong("it has no elements across the axis"))?;
        if !bytes.len().is_multiple_of(row) {
            return Err(wrong(&format!("not a multiple of {row}")));
        }
        shape[axis] = bytes.len() / row;
        let counts: Vec<u64> = shape.iter().map(|&n| n as u64).collect();
        with_type!(self.data_type().clone(), T => {
            let elements: Vec<T> = self.named(elements(bytes, size))?;
            let elements = CowArray::from(self.named(shaped(&shape, &elements))?);
            let source = ElementSource { axes: vec![Steps::ALL; shape.len()], elements };
            self.append(axis, &counts, &source, colour).await
        }, {
            let view = self.named(shaped(&[&shape[..], &[size]].concat(), bytes))?;
            let source = ByteSource { bytes: CowArray::from(view) };
            self.append(axis, &counts, &source, colour).await
        })
    }

    fn elem_size(&self) -> Result<usize> {
        let size = self.data_type().elem_size().filter(|&size| size > 0);
        self.named(size.ok_or_else(|| {
            let what = format!("{} has no fixed size: use read_vlen and write_vlen", self.data_type());
            Error::new(ErrorKind::InvalidArgument, what)
        }))
    }

    pub(crate) fn check_elements<'e>(&self, mut elements: impl Iterator<Item = &'e [u8]>) -> Result<()> {
        let data_type = self.data_type();
        if data_type.is_any_bits() {
            return Ok(());
        }
        match elements.find(|element| !data_type.is_element(element)) {
            None => Ok(()),
            Some(element) => {
                let what = not_an_element(element, data_type);
                Err(self.name(Error::new(ErrorKind::InvalidArgument, what)))
            }
        }
    }
}

/// Converts packed bytes to elements.
fn elements<T: PlainElement>(bytes: &[u8], size: usize) -> Result<Vec<T>> {
    if size == size_of::<T>() && bytes.len().is_multiple_of(size) {
        let mut elements = vec![T::zeroed(); bytes.len() / size];
        if let Some(reprs) = T::cast_slice_mut(&mut elements) {
            bytemuck::cast_slice_mut(reprs).copy_from_slice(bytes);
            return Ok(elements);
        }
    }
    bytes
        .chunks_exact(size)
        .map(|bytes| {
            let repr = bytemuck::pod_read_unaligned::<T::Repr>(bytes);
            T::is_valid(&repr).then(|| T::from_repr(repr))
        })
        .collect::<Option<Vec<T>>>()
        .ok_or_else(|| Error::new(ErrorKind::InvalidArgument, "bytes that are not an element of the type"))
}

/// Converts elements to bytes in C order, without gaps.
fn packed<T: PlainElement>(elements: &mut ndarray::ArrayD<T>) -> Vec<u8> {
    if let Some(reprs) = elements.as_slice_mut().and_then(T::cast_slice_mut) {
        return bytemuck::cast_slice(reprs).to_vec();
    }
    let mut bytes = Vec::with_capacity(elements.len() * size_of::<T::Repr>());
    for element in elements {
        bytes.extend_from_slice(bytemuck::bytes_of(&element.to_repr()));
    }
    bytes
}

pub(crate) fn shaped<'e, T>(shape: &[usize], elements: &'e [T]) -> Result<ArrayViewD<'e, T>> {
    ArrayViewD::from_shape(IxDyn(shape), elements).map_err(|error| Error::new(ErrorKind::WrongShape, error))
}
