//! `ReadBytes`, `WriteBytes`: cells that are the bytes of elements.

use std::ops::BitOr;

use ndarray::{ArrayViewD, ArrayViewMut, ArrayViewMutD, IxDyn, ShapeBuilder};
use ndzarr_codec::strided::fill_contiguous;
use ndzarr_codec::{Elements, Swap};
use ndzarr_engine::EngineCause;
use ndzarr_model::DataType;

use super::{ReadCells, WriteCells, of_size};
use crate::error::not_an_element;
use crate::tiles::assign::{as_it_is, assign, same, stream};
use crate::tiles::picked_parts::{PickedPart, outside, view};
use crate::tiles::places::Run;

/// The bytes of elements whose size no Rust type has, or that must be checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadBytes<'t> {
    pub(crate) data_type: &'t DataType,
    /// Of an element, in bytes.
    pub(crate) size: usize,
}

impl ReadBytes<'_> {
    /// Converts packed elements to native form and checks them.
    fn finish(&self, bytes: &mut [u8], swap: &Swap) -> Result<(), EngineCause> {
        if *swap != Swap::None {
            bytes
                .chunks_exact_mut(self.size)
                .for_each(|element| swap.apply(element));
        }
        match wrong_element(bytes, self.data_type) {
            None => Ok(()),
            Some(element) => Err(EngineCause::Element(not_an_element(
                element,
                self.data_type,
            ))),
        }
    }
}

impl ReadCells for ReadBytes<'_> {
    type Cell = u8;
    type Decoded<'e> = &'e [u8];

    fn is_any_bits(&self) -> bool {
        self.data_type.is_any_bits()
    }

    fn decoded<'e>(&self, elements: Elements<'e>) -> Result<&'e [u8], EngineCause> {
        of_size(elements, self.size)
    }

    fn put(
        &self,
        bytes: &&[u8],
        part: &PickedPart<'_>,
        swap: &Swap,
        mut dst: ArrayViewMutD<'_, u8>,
        streamed: bool,
    ) -> Result<(), EngineCause> {
        let src = view(
            bytes,
            part.offset * self.size,
            &part.byte_strides(self.size),
            dst.shape(),
        )?;
        if streamed && *swap == Swap::None && stream(src.view(), dst.view_mut(), as_it_is) {
            return Ok(());
        }
        assign(src, dst.view_mut(), same);
        if *swap == Swap::None && self.data_type.is_any_bits() {
            return Ok(());
        }
        for_each_slice(dst, &mut |bytes| self.finish(bytes, swap))
    }

    fn push_run(
        &self,
        bytes: &&[u8],
        run: &Run,
        swap: &Swap,
        cells: &mut Vec<u8>,
    ) -> Result<(), EngineCause> {
        let first = cells.len();
        for place in run.places() {
            let element = bytes
                .get(place * self.size..(place + 1) * self.size)
                .ok_or_else(outside)?;
            cells.extend_from_slice(element);
        }
        self.finish(&mut cells[first..], swap)
    }

    fn fill(&self, fill: &[u8], dst: ArrayViewMutD<'_, u8>) -> Result<(), EngineCause> {
        for_each_slice(dst, &mut |bytes| {
            fill_contiguous(bytes, fill);
            Ok(())
        })
    }

    fn memory<'m>(&self, cells: &'m mut [u8]) -> Option<&'m mut [u8]> {
        // Elements decoded in place are not checked.
        self.data_type.is_any_bits().then_some(cells)
    }
}

/// Passes on the bytes in slices, which are as long as they are contiguous.
fn for_each_slice<E>(
    mut view: ArrayViewMutD<'_, u8>,
    each: &mut impl FnMut(&mut [u8]) -> Result<(), E>,
) -> Result<(), E> {
    // The bytes of an element are contiguous, so it ends there at the latest.
    match view.as_slice_mut() {
        Some(bytes) => each(bytes),
        None => view
            .outer_iter_mut()
            .try_for_each(|view| for_each_slice(view, each)),
    }
}

/// The first of packed elements that is not valid.
pub(crate) fn wrong_element<'b>(bytes: &'b [u8], data_type: &DataType) -> Option<&'b [u8]> {
    if data_type.is_any_bits() {
        return None;
    }
    // Checking all bits at once takes a tenth of the time of checking each element.
    let valid_bits = match data_type {
        DataType::Bool => 1,
        DataType::UInt { bits } if *bits < 8 => !(0xff << bits),
        DataType::SmallFloat(float) if float.bits() < 8 => !(0xff << float.bits()),
        _ => 0u8,
    };
    if valid_bits != 0 && bytes.iter().fold(0, BitOr::bitor) & !valid_bits == 0 {
        return None;
    }
    let size = data_type.elem_size().unwrap_or(1).max(1);
    bytes
        .chunks_exact(size)
        .find(|element| !data_type.is_element(element))
}

/// The bytes of elements whose size no Rust type has. They were checked.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WriteBytes;

impl WriteCells for WriteBytes {
    type Cell = u8;

    const IS_MEMORY: bool = true;

    fn gather(&self, src: ArrayViewD<'_, u8>, out: &mut [u8], part: &PickedPart<'_>) {
        let size = src.shape()[part.strides.len()];
        let shape = IxDyn(src.shape()).strides(IxDyn(&part.byte_strides(size)));
        let dst = ArrayViewMut::from_shape(shape, &mut out[part.offset * size..]);
        assign(
            src,
            dst.expect("the elements of a chunk do not overlap"),
            same,
        );
    }
}
