//! Reads and writes elements of any type of fixed size as packed bytes.

use std::borrow::Cow;

use bytemuck::{cast_slice, cast_slice_mut};
use ndarray::{
    ArrayBase, ArrayD, ArrayView, ArrayViewMut, ArrayViewMutD, Axis, CowArray, IxDyn, RawData,
    ShapeError, Slice,
};
use ndzarr_engine::{Source, Tile};
use ndzarr_grid::{Picks, Region};
use ndzarr_model::DataType;

use crate::arrays::info::ArrayInfo;
use crate::element_types::element::{BoxInput, BoxOutput, Element};
use crate::error::{Error, ErrorKind, Result, not_an_element};
use crate::mode::Mode;
use crate::operations::elements::selected;
use crate::selections::resolved::{Resolution, Resolved};
use crate::tiles::box_tile::{BoxSource, BoxTile, TileAxis};
use crate::tiles::cells::{ReadBytes, WriteBytes, wrong_element};
use crate::tiles::output::{blank, blank_bytes};
use crate::tiles::picked_parts::lengths;
use crate::tiles::places::Places;
use crate::tiles::scatter::{ScatterTile, SharedResult};
use crate::tiles::values::{Fresh, Tiles, Values, made};

/// Runs `$body` with `$t` the bytes of an element, if any bytes are one and their number is that of
/// a plain type. These are copied as fast as typed elements. Otherwise runs `$other`.
macro_rules! with_plain {
    ($data_type:expr, $t:ident => $body:expr, $other:expr) => {
        match $data_type.elem_size().filter(|_| $data_type.is_any_bits()) {
            Some(1) => with_plain!(@$t [u8; 1], $body),
            Some(2) => with_plain!(@$t [u8; 2], $body),
            Some(4) => with_plain!(@$t [u8; 4], $body),
            Some(8) => with_plain!(@$t [u8; 8], $body),
            Some(16) => with_plain!(@$t [u8; 16], $body),
            _ => $other,
        }
    };
    (@$t:ident $type:ty, $body:expr) => {{
        type $t = $type;
        $body
    }};
}

impl ArrayInfo {
    pub(crate) async fn read_bytes(&self, resolved: &Resolved) -> Result<Vec<u8>> {
        let mut bytes = self.named(blank_bytes(&resolved.shape(), self.elem_size()?))?;
        self.read_packed(resolved, &mut bytes, Fresh::Yes, None)
            .await?;
        Ok(bytes)
    }

    pub(crate) async fn read_bytes_into(&self, resolved: &Resolved, out: &mut [u8]) -> Result<()> {
        self.check_bytes(resolved, out.len())?;
        self.read_packed(resolved, out, Fresh::No, None).await
    }

    /// Reads a selection into memory of its length, or a region into its part of memory for a
    /// larger one.
    async fn read_packed(
        &self,
        resolved: &Resolved,
        out: &mut [u8],
        fresh: Fresh,
        part: Option<(&Region, &Region)>,
    ) -> Result<()> {
        let packed = Packed {
            data_type: self.data_type(),
            size: self.elem_size()?,
        };
        if let Some(ascending) = resolved.ascending() {
            let mut bytes = self.named(blank_bytes(&ascending.shape(), packed.size))?;
            self.read_many(self.packed_tiles(&ascending, &mut bytes, Fresh::Yes, None, &packed)?)
                .await?;
            let bytes = self.named(packed.in_order(resolved, ascending.shape(), bytes))?;
            out.copy_from_slice(&bytes);
            return Ok(());
        }
        self.read_many(self.packed_tiles(resolved, out, fresh, part, &packed)?)
            .await
    }

    /// Reads many selections as one task.
    pub(crate) async fn read_many_bytes(&self, selections: &[Resolved]) -> Result<Vec<Vec<u8>>> {
        let packed = Packed {
            data_type: self.data_type(),
            size: self.elem_size()?,
        };
        let ascending: Vec<Cow<'_, Resolved>> = selections
            .iter()
            .map(|resolved| {
                resolved
                    .ascending()
                    .map_or(Cow::Borrowed(resolved), Cow::Owned)
            })
            .collect();
        let blank = |resolved: &Cow<'_, Resolved>| blank_bytes(&resolved.shape(), packed.size);
        let mut outs = self.named(ascending.iter().map(blank).collect::<Result<Vec<_>>>())?;
        let mut tiles = Vec::new();
        for (resolved, out) in ascending.iter().zip(&mut outs) {
            tiles.extend(self.packed_tiles(resolved, out, Fresh::Yes, None, &packed)?);
        }
        self.read_many(tiles).await?;
        let read = selections.iter().zip(ascending).zip(outs);
        let in_order = |((resolved, read), out): ((_, Cow<'_, Resolved>), _)| {
            packed.in_order(resolved, read.shape(), out)
        };
        self.named(read.map(in_order).collect::<Result<Vec<_>>>())
    }

    /// The tiles of a selection whose lists are in ascending order.
    fn packed_tiles<'o>(
        &self,
        resolved: &'o Resolved,
        out: &'o mut [u8],
        fresh: Fresh,
        part: Option<(&Region, &Region)>,
        packed: &'o Packed<'o>,
    ) -> Result<Tiles<'o>> {
        let mut shape = part.map_or_else(|| resolved.shape(), |(_, whole)| lengths(whole));
        if let Some(axes) = resolved.in_order() {
            with_plain!(packed.data_type, T => {
                let view = ArrayViewMut::from_shape(IxDyn(&shape), cast_slice_mut::<u8, T>(out));
                let view = axes.unfold(part_of(self.named(view.map_err(too_large))?, part));
                let output =
                    BoxOutput { view, axes: selected(axes), fresh: fresh == Fresh::Yes, stored: packed.data_type };
                return Ok(vec![(axes.region(), made(T::tile(output)))]);
            }, {});
        }
        shape.push(packed.size);
        let view = self.named(ArrayViewMut::from_shape(IxDyn(&shape), out).map_err(too_large))?;
        self.tiles(resolved, part_of(view, part), fresh, packed)
    }

    pub(crate) async fn write_bytes<M: Mode>(
        &self,
        resolved: &Resolved,
        bytes: &[u8],
    ) -> Result<()> {
        self.elem_size()?;
        self.check_packed(bytes)?;
        let size = self.check_bytes(resolved, bytes.len())?;
        let data_type = self.data_type();
        let mut shape = resolved.shape();
        let elements: ArrayD<Vec<u8>>;
        let sources = with_plain!(data_type, T => {
            let view = ArrayView::from_shape(IxDyn(&shape), cast_slice::<u8, T>(bytes));
            self.sources(resolved, self.named(view.map_err(too_large))?)?
        }, {
            if let Some(axes) = resolved.in_order() {
                shape.push(size);
                let bytes = self.named(ArrayView::from_shape(IxDyn(&shape), bytes).map_err(too_large))?;
                let elements = CowArray::from(axes.unfold(bytes));
                let source: Box<dyn Source> =
                    Box::new(BoxSource { elements, axes: axes.picks(), cells: WriteBytes });
                vec![(axes.region(), source)]
            } else {
                let each = bytes.chunks_exact(size).map(<[u8]>::to_vec).collect();
                elements = self.named(ArrayD::from_shape_vec(IxDyn(&shape), each).map_err(too_large))?;
                self.sources(resolved, elements.view())?
            }
        });
        self.write_sources::<M>(sources).await
    }

    /// Reads a selection whose lists are in ascending order into a part, which is a region, of
    /// memory that holds the packed elements of a larger one.
    pub(crate) async fn read_part(
        &self,
        resolved: &Resolved,
        memory: &mut [u8],
        region: &Region,
        whole: &Region,
    ) -> Result<()> {
        self.read_packed(resolved, memory, Fresh::No, Some((region, whole)))
            .await
    }

    /// The elements of a region, in memory that holds the packed elements of a larger one.
    pub(crate) fn part_source<'m>(
        &'m self,
        region: &Region,
        memory: &'m [u8],
        whole: &Region,
    ) -> Result<Box<dyn Source + 'm>> {
        let stored = self.data_type();
        let axes = vec![Picks::ALL; region.ndim()];
        let mut shape = lengths(whole);
        let part = Some((region, whole));
        with_plain!(stored, T => {
            let view = ArrayView::from_shape(IxDyn(&shape), cast_slice::<u8, T>(memory));
            let elements = CowArray::from(part_of(self.named(view.map_err(too_large))?, part));
            Ok(T::source(BoxInput { elements, axes, stored }))
        }, {
            shape.push(self.elem_size()?);
            let view = self.named(ArrayView::from_shape(IxDyn(&shape), memory).map_err(too_large))?;
            let elements = CowArray::from(part_of(view, part));
            Ok(Box::new(BoxSource { elements, axes, cells: WriteBytes }))
        })
    }

    /// Packed elements to be added along an axis, and their shape.
    pub(crate) fn bytes_source<'b>(
        &self,
        axis: usize,
        bytes: &'b [u8],
    ) -> Result<(Vec<usize>, Box<dyn Source + 'b>)> {
        let wrong = |what: &str| {
            let what = format!(
                "{} bytes along axis {axis} of an array of {:?}: {what}",
                bytes.len(),
                self.shape()
            );
            self.name(Error::new(ErrorKind::WrongShape, what))
        };
        let size = self.elem_size()?;
        self.check_packed(bytes)?;
        let mut shape = self.shape().to_vec();
        *shape
            .get_mut(axis)
            .ok_or_else(|| wrong("the array has no such axis"))? = 1;
        let row = shape
            .iter()
            .try_fold(size as u64, |len, &n| len.checked_mul(n))
            .filter(|&row| row > 0);
        let row = row.ok_or_else(|| wrong("it has no elements across the axis"))?;
        let len = bytes.len() as u64;
        if !len.is_multiple_of(row) {
            return Err(wrong(&format!("not a multiple of {row}")));
        }
        shape[axis] = len / row;
        let axes = vec![Picks::ALL; shape.len()];
        let mut shape: Vec<usize> = shape.iter().map(|&n| n as usize).collect();
        shape.push(size);
        let bytes = self.named(ArrayView::from_shape(IxDyn(&shape), bytes).map_err(too_large))?;
        shape.pop();
        Ok((
            shape,
            Box::new(BoxSource {
                elements: CowArray::from(bytes),
                axes,
                cells: WriteBytes,
            }),
        ))
    }

    fn elem_size(&self) -> Result<usize> {
        let size = self.data_type().elem_size().filter(|&size| size > 0);
        self.named(size.ok_or_else(|| {
            let what = format!(
                "{} has no fixed size, so its elements are not packed bytes",
                self.data_type()
            );
            Error::new(ErrorKind::InvalidArgument, what)
        }))
    }

    /// Checks that `len` bytes are the elements of a selection, and returns the size of an element.
    pub(crate) fn check_bytes(&self, resolved: &Resolved, len: usize) -> Result<usize> {
        let shape = resolved.shape();
        let size = self.elem_size()?;
        if shape.iter().try_fold(size, |len, &n| len.checked_mul(n)) == Some(len) {
            return Ok(size);
        }
        let what = format!("{len} bytes for a region of shape {shape:?} with {size} bytes each");
        Err(self.name(Error::new(ErrorKind::WrongShape, what)))
    }

    pub(crate) fn check_packed(&self, bytes: &[u8]) -> Result<()> {
        let Some(element) = wrong_element(bytes, self.data_type()) else {
            return Ok(());
        };
        let what = not_an_element(element, self.data_type());
        Err(self.name(Error::new(ErrorKind::InvalidArgument, what)))
    }
}

/// Narrows a view of a whole region to a part of it. The view may have more axes after those of the
/// array.
pub(crate) fn part_of<S: RawData>(
    mut view: ArrayBase<S, IxDyn>,
    part: Option<(&Region, &Region)>,
) -> ArrayBase<S, IxDyn> {
    let Some((part, whole)) = part else {
        return view;
    };
    for (axis, range) in part.relative_to(&whole.start()).ranges().iter().enumerate() {
        view.slice_axis_inplace(
            Axis(axis),
            Slice::from(range.start as usize..range.end as usize),
        );
    }
    view
}

/// Packed elements: their bytes are one more axis, the last.
struct Packed<'d> {
    data_type: &'d DataType,
    /// Of an element, in bytes.
    size: usize,
}

impl<'d> Packed<'d> {
    fn cells(&self) -> ReadBytes<'d> {
        ReadBytes {
            data_type: self.data_type,
            size: self.size,
        }
    }

    /// Brings elements of this shape, which were read in ascending order, into the order of the
    /// lists.
    fn in_order(
        &self,
        resolved: &Resolved,
        mut shape: Vec<usize>,
        bytes: Vec<u8>,
    ) -> Result<Vec<u8>> {
        let Resolution::Axes(axes) = &resolved.0 else {
            return Ok(bytes);
        };
        shape.push(self.size);
        let elements = ArrayD::from_shape_vec(IxDyn(&shape), bytes).map_err(too_large)?;
        Ok(axes.in_order(elements)?.into_raw_vec_and_offset().0)
    }
}

impl Values<u8> for Packed<'_> {
    fn blank(&self, shape: &[usize]) -> Result<ArrayD<u8>> {
        blank(&[shape, &[self.size]].concat())
    }

    fn tile<'o>(
        &'o self,
        view: ArrayViewMutD<'o, u8>,
        axes: Vec<TileAxis>,
        fresh: bool,
    ) -> Box<dyn Tile + 'o> {
        Box::new(BoxTile::new(view, axes, fresh, self.cells()))
    }

    fn scatter_tile<'o>(
        &'o self,
        places: Places,
        result: SharedResult<'o, u8>,
    ) -> Box<dyn Tile + 'o> {
        Box::new(ScatterTile::new(places, result, self.cells()))
    }
}

/// The memory has the right length already, so only the shape itself may be too large.
fn too_large(error: ShapeError) -> Error {
    Error::new(ErrorKind::OutOfMemory, error)
}
