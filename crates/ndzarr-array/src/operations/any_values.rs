//! Reads and writes `AnyElements`: the implementation of both sides.

use ndarray::{Array1, ArrayD, Dimension, Ix0, IxDyn, arr0};
use ndzarr_engine::Source;
use ndzarr_grid::Picks;

use crate::arrays::info::ArrayInfo;
use crate::element_types::any_elements::{AnyElements, VariantElement};
use crate::element_types::element::{BoxInput, Element};
use crate::element_types::number::{Cast, Number};
use crate::element_types::type_table::with_held;
use crate::error::{Error, ErrorKind, Result};
use crate::mode::{Blocking, Mode};
use crate::selections::resolved::Resolved;
use crate::tiles::box_tile::BoxSource;
use crate::tiles::cells::WriteBytes;

impl ArrayInfo {
    pub(crate) async fn read_any(&self, resolved: &Resolved) -> Result<AnyElements> {
        with_held!(self.data_type(), T => self.read_elements(resolved).await.map(T::wrap), {
            let bytes = self.read_bytes(resolved).await?;
            self.packed(resolved, bytes)
        })
    }

    /// Reads a selection into elements of the array's type.
    pub(crate) async fn read_any_into<D: Dimension>(
        &self,
        resolved: &Resolved,
        out: &mut AnyElements<D>,
    ) -> Result<()> {
        self.check_any(resolved, out)?;
        with_held!(self.data_type(), T => {
            if let Some(view) = T::view_mut(out) {
                return self.read_elements_into(resolved, view).await;
            }
        }, {
            if let AnyElements::Packed(bytes) = out
                && let Some(bytes) = bytes.as_slice_mut()
            {
                return self.read_bytes_into(resolved, bytes).await;
            }
        });
        out.assign(&self.read_any(resolved).await?);
        Ok(())
    }

    /// Checks that elements have the shape of a selection, and the type of the array.
    pub(crate) fn check_any<D: Dimension>(
        &self,
        resolved: &Resolved,
        out: &AnyElements<D>,
    ) -> Result<()> {
        if let AnyElements::Packed(array) = out {
            let shape = resolved
                .shape()
                .into_iter()
                .chain(self.data_type().elem_size());
            self.check_packed_shape(array.shape(), &shape.collect::<Vec<_>>())?;
        }
        let is_of_type = with_held!(self.data_type(), T => {
            T::wrap(Array1::<T>::from_vec(Vec::new()).into_dyn()).name() == out.name()
        }, matches!(out, AnyElements::Packed(_)));
        if is_of_type {
            self.named(resolved.check_shape(out.shape()))
        } else {
            Err(self.other_type(out))
        }
    }

    /// Reads many selections as one task.
    pub(crate) async fn read_many_any(&self, selections: &[Resolved]) -> Result<Vec<AnyElements>> {
        with_held!(self.data_type(), T => {
            let outs = self.read_many_elements(selections).await?;
            Ok(outs.into_iter().map(T::wrap).collect())
        }, {
            let outs = self.read_many_bytes(selections).await?;
            selections.iter().zip(outs).map(|(resolved, bytes)| self.packed(resolved, bytes)).collect()
        })
    }

    fn packed(&self, resolved: &Resolved, bytes: Vec<u8>) -> Result<AnyElements> {
        let mut shape = resolved.shape();
        shape.extend(self.data_type().elem_size());
        let array = ArrayD::from_shape_vec(IxDyn(&shape), bytes);
        self.named(array.map_err(|error| Error::new(ErrorKind::WrongShape, error)))
            .map(AnyElements::Packed)
    }

    /// Reads numbers of any type as another.
    pub(crate) async fn read_as<T: Number>(
        &self,
        resolved: &Resolved,
        cast: Cast,
    ) -> Result<ArrayD<T>> {
        if *self.data_type() == T::data_type() {
            return self.read_elements(resolved).await;
        }
        self.named(self.read_any(resolved).await?.cast(cast))
    }

    pub(crate) async fn write_any<M: Mode, D: Dimension>(
        &self,
        resolved: &Resolved,
        data: &AnyElements<D>,
    ) -> Result<()> {
        if let AnyElements::Packed(array) = data {
            let expected: Vec<usize> = resolved
                .shape()
                .into_iter()
                .chain(self.data_type().elem_size())
                .collect();
            self.check_packed_shape(array.shape(), &expected)?;
            let array = array.as_standard_layout();
            return self
                .write_bytes::<M>(resolved, array.as_slice().unwrap_or_default())
                .await;
        }
        with_held!(self.data_type(), T => {
            let elements = T::view(data).ok_or_else(|| self.other_type(data))?;
            self.write_elements::<M, T>(resolved, elements.view()).await
        }, Err(self.other_type(data)))
    }

    /// Writes a selection, on the calling thread where the store blocks.
    pub(crate) async fn write_any_blocking(
        &self,
        resolved: &Resolved,
        data: &AnyElements,
    ) -> Result<()> {
        self.write_any::<Blocking, _>(resolved, data).await
    }

    /// Sets every element of a selection to one value.
    pub(crate) async fn fill_any<M: Mode>(
        &self,
        resolved: &Resolved,
        value: &AnyElements<Ix0>,
    ) -> Result<()> {
        if let AnyElements::Packed(bytes) = value {
            return self.fill_elements::<M, _>(resolved, bytes.to_vec()).await;
        }
        with_held!(self.data_type(), T => {
            let elements = T::view(value).ok_or_else(|| self.other_type(value))?;
            let value = elements.first().cloned().ok_or_else(|| self.other_type(value))?;
            self.fill_elements::<M, T>(resolved, value).await
        }, Err(self.other_type(value)))
    }

    /// The fill value; zero if the metadata has none.
    pub(crate) fn fill_any_value(&self) -> AnyElements<Ix0> {
        let value = with_held!(self.data_type(), T => T::wrap(arr0(self.fill_element::<T>()).into_dyn()), {
            AnyElements::Packed(Array1::from(self.spec().fill_value.bytes().to_vec()).into_dyn())
        });
        value.into_dim().expect("one element has no axes")
    }

    /// The bytes that each of its elements takes in memory, without the contents of those of
    /// variable size.
    pub(crate) fn any_byte_len(&self) -> u64 {
        let packed = || self.data_type().elem_size().unwrap_or(1);
        with_held!(self.data_type(), T => size_of::<T>(), packed()) as u64
    }

    /// Elements to be written as a box.
    pub(crate) fn any_source<'a, D: Dimension>(
        &'a self,
        data: &'a AnyElements<D>,
    ) -> Result<Box<dyn Source + 'a>> {
        let stored = self.data_type();
        let axes = vec![Picks::ALL; data.shape().len()];
        if let AnyElements::Packed(array) = data {
            let expected: Vec<usize> = data
                .shape()
                .iter()
                .copied()
                .chain(stored.elem_size())
                .collect();
            self.check_packed_shape(array.shape(), &expected)?;
            let bytes = array.as_standard_layout().into_dyn();
            self.check_packed(bytes.as_slice().unwrap_or_default())?;
            return Ok(Box::new(BoxSource {
                elements: bytes,
                axes,
                cells: WriteBytes,
            }));
        }
        with_held!(stored, T => {
            let elements = T::view(data).ok_or_else(|| self.other_type(data))?;
            self.named(T::check(elements.view(), stored))?;
            Ok(T::source(BoxInput { elements, axes, stored }))
        }, Err(self.other_type(data)))
    }

    fn check_packed_shape(&self, shape: &[usize], expected: &[usize]) -> Result<()> {
        if shape == expected && self.data_type().elem_size().is_some() {
            return Ok(());
        }
        let what = match self.data_type().elem_size() {
            Some(_) => format!("packed bytes of shape {shape:?} for elements of {expected:?}"),
            None => format!(
                "packed bytes for elements of {}, which have no fixed size",
                self.data_type()
            ),
        };
        Err(self.name(Error::new(ErrorKind::WrongShape, what)))
    }

    fn other_type<D: Dimension>(&self, data: &AnyElements<D>) -> Error {
        let what = format!("the elements are {}, not {}", self.data_type(), data.name());
        self.name(Error::new(ErrorKind::WrongType, what))
    }
}
