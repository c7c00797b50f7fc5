//! `Plain`: cells that are elements as they are, or in another byte order.

use std::borrow::Cow;
use std::marker::PhantomData;

use bytemuck::Zeroable;
use ndarray::{ArrayViewD, ArrayViewMut, ArrayViewMutD, Dimension, IxDyn, ShapeBuilder};
use ndzarr_codec::{Elements, Swap};
use ndzarr_engine::EngineCause;

use super::{ReadCells, WriteCells, of_size};
use crate::element_types::plain_element::{PlainElement, Repr, brought};
use crate::tiles::assign::assign;
use crate::tiles::picked_parts::{PickedPart, outside, view};
use crate::tiles::places::Run;

/// Cells that differ from elements at most in byte order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plain<T>(PhantomData<T>);

impl<T> Plain<T> {
    pub(crate) const CELLS: Self = Self(PhantomData);
}

impl<T: PlainElement> ReadCells for Plain<T> {
    type Cell = T;
    type Decoded<'e> = Cow<'e, [T::Repr]>;

    fn is_any_bits(&self) -> bool {
        T::ANY_BITS
    }

    fn decoded<'e>(&self, elements: Elements<'e>) -> Result<Cow<'e, [T::Repr]>, EngineCause> {
        let size = size_of::<T::Repr>();
        let bytes = of_size(elements, size)?;
        if let Ok(elements) = bytemuck::try_cast_slice(bytes) {
            return Ok(Cow::Borrowed(elements));
        }
        // An inner chunk of a shard may have any alignment.
        let n = bytes.len() / size;
        let mut copy = vec![T::Repr::zeroed(); n];
        bytemuck::cast_slice_mut(&mut copy).copy_from_slice(&bytes[..n * size]);
        Ok(Cow::Owned(copy))
    }

    fn put(
        &self,
        decoded: &Cow<'_, [T::Repr]>,
        part: &PickedPart<'_>,
        swap: &Swap,
        dst: ArrayViewMutD<'_, T>,
        streamed: bool,
    ) -> Result<(), EngineCause> {
        let src = view(decoded, part.offset, part.strides, dst.shape())?;
        if !T::ANY_BITS && !are_valid::<T>(&src, swap) {
            src.iter()
                .try_for_each(|repr| check::<T>(&brought(*repr, swap)))?;
        }
        T::put(src, dst, swap, streamed);
        Ok(())
    }

    fn push_run(
        &self,
        decoded: &Cow<'_, [T::Repr]>,
        run: &Run,
        swap: &Swap,
        cells: &mut Vec<T>,
    ) -> Result<(), EngineCause> {
        /// The size is known to the compiler, which generates faster code for it.
        fn swapped<R: Repr>(repr: &R) -> R {
            repr.swapped(size_of::<R>())
        }
        let reprs = decoded
            .get(run.place..=run.last_place())
            .ok_or_else(outside)?;
        if !T::ANY_BITS {
            reprs
                .iter()
                .step_by(run.step.max(1))
                .try_for_each(|repr| check::<T>(&brought(*repr, swap)))?;
        }
        match swap {
            Swap::None if run.step == 1 => {
                cells.extend(reprs.iter().map(|repr| T::from_repr(*repr)))
            }
            Swap::Every(width) if run.step == 1 && *width == size_of::<T::Repr>() => {
                cells.extend(reprs.iter().map(|repr| T::from_repr(swapped(repr))));
            }
            swap => {
                let reprs = reprs.iter().step_by(run.step.max(1));
                cells.extend(reprs.map(|repr| T::from_repr(brought(*repr, swap))));
            }
        }
        Ok(())
    }

    fn fill(&self, fill: &[u8], mut dst: ArrayViewMutD<'_, T>) -> Result<(), EngineCause> {
        let repr: T::Repr = bytemuck::try_pod_read_unaligned(fill)
            .map_err(|_| EngineCause::Element("a fill value of the wrong size".to_owned()))?;
        check::<T>(&repr)?;
        dst.fill(T::from_repr(repr));
        Ok(())
    }

    fn memory<'m>(&self, cells: &'m mut [T]) -> Option<&'m mut [u8]> {
        T::cast_slice_mut(cells).map(bytemuck::cast_slice_mut)
    }
}

impl<T: PlainElement> WriteCells for Plain<T> {
    type Cell = T;

    const IS_MEMORY: bool = true;

    fn gather(&self, src: ArrayViewD<'_, T>, out: &mut [u8], part: &PickedPart<'_>) {
        if let Ok(out) = bytemuck::try_cast_slice_mut::<u8, T::Repr>(out)
            && let Ok(dst) = ArrayViewMut::from_shape(
                IxDyn(src.shape()).strides(IxDyn(part.strides)),
                &mut out[part.offset..],
            )
        {
            return assign(src, dst, T::to_repr);
        }
        let size = size_of::<T::Repr>();
        for (index, element) in src.indexed_iter() {
            let at = part.place(index.slice()) * size;
            out[at..at + size].copy_from_slice(bytemuck::bytes_of(&element.to_repr()));
        }
    }
}

/// Checks every element, which is faster than to stop at the first that is not valid.
fn are_valid<T: PlainElement>(src: &ArrayViewD<'_, T::Repr>, swap: &Swap) -> bool {
    src.rows().into_iter().all(|row| match swap {
        Swap::None => row.fold(true, |valid, repr| valid & T::is_valid(repr)),
        swap => row.iter().all(|repr| T::is_valid(&brought(*repr, swap))),
    })
}

fn check<T: PlainElement>(repr: &T::Repr) -> Result<(), EngineCause> {
    if T::is_valid(repr) {
        return Ok(());
    }
    Err(EngineCause::Element(format!(
        "the bytes {:?} are not a valid {}",
        bytemuck::bytes_of(repr),
        T::data_type()
    )))
}
