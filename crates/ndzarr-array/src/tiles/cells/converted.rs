//! `FromBytes`, `ToBytes`: cells that are converted to and from the content of elements, one by
//! one.

use std::sync::Arc;

use ndarray::{ArrayViewD, ArrayViewMutD, Dimension};
use ndzarr_codec::{Elements, Swap, VlenBuffer};
use ndzarr_engine::EngineCause;

use super::{ReadCells, WriteCells};
use crate::tiles::picked_parts::{PickedPart, outside};
use crate::tiles::places::Run;

/// Makes a value of the content of an element, which is in the given byte order: of strings, byte
/// strings, lists, structures, fields.
pub(crate) type FromBytes<T> = Arc<dyn Fn(&[u8], &Swap) -> Result<T, String> + Send + Sync>;

impl<T: Clone + Send> ReadCells for FromBytes<T> {
    type Cell = T;
    type Decoded<'e> = Elements<'e>;

    fn is_any_bits(&self) -> bool {
        false
    }

    fn decoded<'e>(&self, elements: Elements<'e>) -> Result<Elements<'e>, EngineCause> {
        Ok(elements)
    }

    fn put(
        &self,
        elements: &Elements<'_>,
        part: &PickedPart<'_>,
        swap: &Swap,
        mut dst: ArrayViewMutD<'_, T>,
        _: bool,
    ) -> Result<(), EngineCause> {
        for (index, value) in dst.indexed_iter_mut() {
            let content = content(*elements, part.place(index.slice())).ok_or_else(outside)?;
            *value = self(content, swap).map_err(EngineCause::Element)?;
        }
        Ok(())
    }

    fn push_run(
        &self,
        elements: &Elements<'_>,
        run: &Run,
        swap: &Swap,
        cells: &mut Vec<T>,
    ) -> Result<(), EngineCause> {
        for place in run.places() {
            let content = content(*elements, place).ok_or_else(outside)?;
            cells.push(self(content, swap).map_err(EngineCause::Element)?);
        }
        Ok(())
    }

    fn fill(&self, fill: &[u8], mut dst: ArrayViewMutD<'_, T>) -> Result<(), EngineCause> {
        dst.fill(self(fill, &Swap::None).map_err(EngineCause::Element)?);
        Ok(())
    }

    fn memory<'m>(&self, _: &'m mut [T]) -> Option<&'m mut [u8]> {
        None
    }
}

/// The content of a decoded element.
fn content<'e>(elements: Elements<'e>, at: usize) -> Option<&'e [u8]> {
    match elements {
        Elements::Fixed { bytes, size } => bytes.get(at * size..(at + 1) * size),
        Elements::Vlen { slots, bytes } => slots.get(at).map(|slot| slot.of(bytes)),
    }
}

/// Appends the content of an element, in native form.
pub(crate) type ToBytes<T> = Arc<dyn Fn(&T, &mut Vec<u8>) + Send + Sync>;

impl<T: Clone + Send + Sync + 'static> WriteCells for ToBytes<T> {
    type Cell = T;

    const IS_MEMORY: bool = false;

    fn gather(&self, src: ArrayViewD<'_, T>, out: &mut [u8], part: &PickedPart<'_>) {
        for_each_content(self, src, part, into_bytes(out));
    }

    fn gather_vlen(
        &self,
        src: ArrayViewD<'_, T>,
        out: &mut VlenBuffer,
        part: &PickedPart<'_>,
    ) -> Result<(), EngineCause> {
        for_each_content(self, src, part, |at, content| out.set(at, content));
        Ok(())
    }
}

/// Passes on the place and the content of each element.
fn for_each_content<T>(
    to_bytes: &ToBytes<T>,
    src: ArrayViewD<'_, T>,
    part: &PickedPart<'_>,
    mut set: impl FnMut(usize, &[u8]),
) {
    let mut content = Vec::new();
    for (index, value) in src.indexed_iter() {
        content.clear();
        to_bytes(value, &mut content);
        set(part.place(index.slice()), &content);
    }
}

/// Puts the contents of elements of one size at their places.
pub(crate) fn into_bytes(out: &mut [u8]) -> impl FnMut(usize, &[u8]) {
    |at, content| {
        let size = content.len();
        out[at * size..(at + 1) * size].copy_from_slice(content);
    }
}
