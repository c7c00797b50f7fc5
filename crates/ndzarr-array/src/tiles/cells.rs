//! How the cells of ndarrays are made of stored elements, and stored elements of cells: as they are, as
//! bytes, or converted one by one.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::ops::BitOr;
use std::sync::Arc;

use bytemuck::Zeroable;
use ndarray::{ArrayViewD, ArrayViewMut, ArrayViewMutD, Dimension, IxDyn, ShapeBuilder};
use ndzarr_codec::strided::fill_contiguous;
use ndzarr_codec::{Elements, Swap, VlenBuffer};
use ndzarr_engine::EngineCause;
use ndzarr_model::DataType;

use crate::element_types::plain_element::{PlainElement, Repr, brought};
use crate::error::not_an_element;
use crate::tiles::assign::{as_it_is, assign, same, stream};
use crate::tiles::picked_parts::{PickedPart, outside, view};
use crate::tiles::places::Run;

/// Makes the cells of an ndarray of decoded elements.
#[doc(hidden)]
pub trait ReadCells: Clone + Send {
    /// A value of the ndarray. An element may consist of several, along the last axis.
    type Cell: Clone + Send;

    /// Decoded elements, of the size that the cells need.
    type Decoded<'e>;

    /// Returns `true` if cells are the memory of elements, and any bytes are valid ones.
    fn is_any_bits(&self) -> bool;

    /// # Errors
    /// The elements have another size.
    fn decoded<'e>(&self, elements: Elements<'e>) -> Result<Self::Decoded<'e>, EngineCause>;

    /// Puts elements into the cells of `dst`, bypassing the caches if they are `streamed`.
    ///
    /// # Errors
    /// One of them is not valid.
    fn put(
        &self,
        decoded: &Self::Decoded<'_>,
        part: &PickedPart<'_>,
        swap: &Swap,
        dst: ArrayViewMutD<'_, Self::Cell>,
        streamed: bool,
    ) -> Result<(), EngineCause>;

    /// Appends the cells of a run of elements.
    ///
    /// # Errors
    /// One of the elements is not valid.
    fn push_run(
        &self,
        decoded: &Self::Decoded<'_>,
        run: &Run,
        swap: &Swap,
        cells: &mut Vec<Self::Cell>,
    ) -> Result<(), EngineCause>;

    /// Sets all cells to the fill value, which is one element in native form.
    ///
    /// # Errors
    /// It is not valid.
    fn fill(&self, fill: &[u8], dst: ArrayViewMutD<'_, Self::Cell>) -> Result<(), EngineCause>;

    /// The memory of cells, if any bytes are valid there.
    fn memory<'m>(&self, cells: &'m mut [Self::Cell]) -> Option<&'m mut [u8]>;
}

/// Makes stored elements of the cells of an ndarray.
pub(crate) trait WriteCells: Clone + Send + Sync + 'static {
    /// A value of the ndarray. An element may consist of several, along the last axis.
    type Cell: Clone + Send + Sync;

    /// Elements are the memory of cells.
    const IS_MEMORY: bool;

    /// Copies elements of fixed size to their places in `out`.
    fn gather(&self, src: ArrayViewD<'_, Self::Cell>, out: &mut [u8], part: &PickedPart<'_>);

    /// Copies elements of variable size to their places in `out`.
    ///
    /// # Errors
    /// They have a fixed size.
    fn gather_vlen(
        &self,
        src: ArrayViewD<'_, Self::Cell>,
        out: &mut VlenBuffer,
        part: &PickedPart<'_>,
    ) -> Result<(), EngineCause> {
        let _ = (src, out, part);
        Err(EngineCause::Element("elements of a fixed size from the source".to_owned()))
    }
}

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
            src.iter().try_for_each(|repr| check::<T>(&brought(*repr, swap)))?;
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
        let reprs = decoded.get(run.place..=run.last_place()).ok_or_else(outside)?;
        if !T::ANY_BITS {
            reprs.iter().step_by(run.step.max(1)).try_for_each(|repr| check::<T>(&brought(*repr, swap)))?;
        }
        match swap {
            Swap::None if run.step == 1 => cells.extend(reprs.iter().map(|repr| T::from_repr(*repr))),
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

/// Looks at every element, which is faster than to stop at the first that is not valid.
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

/// The bytes of elements, which must have this size.
fn of_size(elements: Elements<'_>, expected: usize) -> Result<&[u8], EngineCause> {
    match elements {
        Elements::Fixed { bytes, size } if size == expected => Ok(bytes),
        Elements::Fixed { size, .. } => {
            Err(EngineCause::Element(format!("elements of {size} bytes for a type of {expected}")))
        }
        Elements::Vlen { .. } => Err(EngineCause::Element(
            "elements of variable size in an array of elements of fixed size".to_owned(),
        )),
    }
}

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
            bytes.chunks_exact_mut(self.size).for_each(|element| swap.apply(element));
        }
        match wrong_element(bytes, self.data_type) {
            None => Ok(()),
            Some(element) => Err(EngineCause::Element(not_an_element(element, self.data_type))),
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
        let src = view(bytes, part.offset * self.size, &part.byte_strides(self.size), dst.shape())?;
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
            let element = bytes.get(place * self.size..(place + 1) * self.size).ok_or_else(outside)?;
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

/// Passes on the bytes in pieces that are as long as they are contiguous.
fn for_each_slice<E>(
    mut view: ArrayViewMutD<'_, u8>,
    each: &mut impl FnMut(&mut [u8]) -> Result<(), E>,
) -> Result<(), E> {
    // The bytes of an element are contiguous, so it ends there at the latest.
    match view.as_slice_mut() {
        Some(bytes) => each(bytes),
        None => view.outer_iter_mut().try_for_each(|view| for_each_slice(view, each)),
    }
}

/// The first of packed elements that is not valid.
pub(crate) fn wrong_element<'b>(bytes: &'b [u8], data_type: &DataType) -> Option<&'b [u8]> {
    if data_type.is_any_bits() {
        return None;
    }
    // Looking at all bits at once takes a tenth of the time of looking at each element.
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
    bytes.chunks_exact(size).find(|element| !data_type.is_element(element))
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
        assign(src, dst.expect("the elements of a chunk do not overlap"), same);
    }
}

/// Makes a value of the content of an element, which is in the given byte order: of strings, byte strings,
/// lists, structures, fields.
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
