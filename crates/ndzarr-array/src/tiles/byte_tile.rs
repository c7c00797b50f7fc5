//! Tiles and sources of elements of any size: their bytes are one more axis, the last.

use std::ops::BitOr;

use ndarray::{ArrayViewMut, ArrayViewMutD, Axis, CowArray, IxDyn, ShapeBuilder};
use ndzarr_codec::strided::{Strided, fill_contiguous};
use ndzarr_codec::{Elements, Layout, Swap};
use ndzarr_engine::{Coverage, EngineCause, Picked, Source, Tile};
use ndzarr_model::DataType;

use crate::error::not_an_element;
use crate::tiles::assign::{as_it_is, assign, same, stream};
use crate::tiles::steps::{self, Picks, Selected};
use crate::tiles::tile::STREAMED;

/// Like [`ElementTile`](crate::tiles::tile::ElementTile), for elements whose size no Rust type has, or
/// that must be checked.
pub(crate) struct ByteTile<'a> {
    view: ArrayViewMutD<'a, u8>,
    /// Along each axis but that of the bytes: the length of the box, and which of its indices are
    /// selected.
    axes: Selected,
    /// Whether the memory is all zero bytes.
    fresh: bool,
    /// Like that of [`ElementTile`](crate::tiles::tile::ElementTile).
    streamed: bool,
    data_type: &'a DataType,
}

impl<'a> ByteTile<'a> {
    pub(crate) fn new(
        view: ArrayViewMutD<'a, u8>,
        axes: Selected,
        fresh: bool,
        data_type: &'a DataType,
    ) -> Self {
        let streamed = fresh && data_type.is_any_bits() && view.len() >= STREAMED;
        Self { view, axes, fresh, streamed, data_type }
    }

    /// Converts packed elements to native form and checks them.
    fn finish(bytes: &mut [u8], size: usize, data_type: &DataType, swap: &Swap) -> Result<(), EngineCause> {
        if *swap != Swap::None {
            bytes.chunks_exact_mut(size).for_each(|element| swap.apply(element));
        }
        match wrong_element(bytes, data_type) {
            None => Ok(()),
            Some(element) => Err(EngineCause::Element(not_an_element(element, data_type))),
        }
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

impl Tile for ByteTile<'_> {
    fn shape(&self) -> Vec<usize> {
        self.axes.iter().map(|(len, _)| *len).collect()
    }

    fn is_empty(&self) -> bool {
        self.view.is_empty()
    }

    fn picked(&self) -> Picked {
        steps::picked(&self.axes)
    }

    fn put(&mut self, elements: Elements<'_>, part: &Layout, at: &[usize]) -> Result<(), EngineCause> {
        let Elements::Fixed { bytes, size } = elements else {
            return Err(EngineCause::Element(
                "elements of variable size in an array of elements of fixed size".to_owned(),
            ));
        };
        let Self { view, axes, fresh, streamed, data_type } = self;
        let axes = axes.iter().map(|(_, picks)| picks);
        steps::each_part(axes, at, &part.extent, part.place(), |selected| {
            let mut dst = view.view_mut();
            selected.narrow(&mut dst);
            let mut strides: Vec<usize> = selected.strides.iter().map(|stride| stride * size).collect();
            strides.push(1);
            let src = steps::view(bytes, selected.offset * size, &strides, dst.shape())?;
            *fresh = false;
            if *streamed && part.swap == Swap::None && stream(src.view(), dst.view_mut(), as_it_is) {
                return Ok(());
            }
            assign(src, dst.view_mut(), same);
            if part.swap == Swap::None && data_type.is_any_bits() {
                return Ok(());
            }
            for_each_slice(dst, &mut |bytes| Self::finish(bytes, size, data_type, &part.swap))
        })
    }

    fn fill(&mut self, fill: &[u8]) -> Result<(), EngineCause> {
        if self.fresh && fill.iter().all(|&byte| byte == 0) {
            return Ok(());
        }
        self.fresh = false;
        for_each_slice(self.view.view_mut(), &mut |bytes| {
            fill_contiguous(bytes, fill);
            Ok(())
        })
    }

    fn is_blank(&self) -> bool {
        self.fresh
    }

    fn contiguous(&mut self) -> Option<&mut [u8]> {
        // Elements decoded in place are not checked.
        if !self.data_type.is_any_bits() || self.axes.iter().any(|(_, picks)| !picks.is_all()) {
            return None;
        }
        self.fresh = false;
        self.view.as_slice_mut()
    }

    fn split_at<'s>(self: Box<Self>, axis: usize, at: usize) -> (Box<dyn Tile + 's>, Box<dyn Tile + 's>)
    where
        Self: 's,
    {
        let n_head = self.axes[axis].1.n_below(at).min(self.view.shape()[axis]);
        let (head, tail) = self.view.split_at(Axis(axis), n_head);
        let (head_axes, tail_axes) = steps::split(self.axes, axis, at);
        let (fresh, streamed, data_type) = (self.fresh, self.streamed, self.data_type);
        (
            Box::new(ByteTile { view: head, axes: head_axes, fresh, streamed, data_type }),
            Box::new(ByteTile { view: tail, axes: tail_axes, fresh, streamed, data_type }),
        )
    }
}

/// Like [`ElementSource`](crate::tiles::source::ElementSource), for elements whose size no Rust type has.
pub(crate) struct ByteSource<'a> {
    pub(crate) bytes: CowArray<'a, u8, IxDyn>,
    pub(crate) axes: Vec<Picks>,
}

impl Source for ByteSource<'_> {
    fn gather(&self, start: &[usize], len: &[usize], out: &mut [u8], offset: usize, strides: &[isize]) {
        let place = Strided { offset, strides };
        let each = steps::each_part(self.axes.iter(), start, len, place, |selected| {
            let mut src = self.bytes.view();
            selected.narrow(&mut src);
            let size = src.shape()[start.len()];
            let mut to: Vec<usize> = selected.strides.iter().map(|stride| stride * size).collect();
            to.push(1);
            let shape = IxDyn(src.shape()).strides(IxDyn(&to));
            let dst = ArrayViewMut::from_shape(shape, &mut out[selected.offset * size..]);
            assign(src, dst.expect("the elements of a chunk do not overlap"), same);
            Ok(())
        });
        each.expect("a chunk is put together forwards");
    }

    fn is_dense(&self) -> bool {
        steps::is_dense(&self.axes)
    }

    fn picked(&self) -> Picked {
        steps::picked_along(&self.axes)
    }

    fn coverage(&self, start: &[usize], len: &[usize]) -> Coverage {
        steps::coverage(&self.axes, start, len)
    }

    fn is_c_order(&self) -> bool {
        self.bytes.strides().is_sorted_by(|outer, inner| outer >= inner)
    }

    fn piece(&self, start: &[usize], len: &[usize]) -> Box<dyn Source + Send> {
        let (bytes, axes) = steps::piece(&self.bytes, &self.axes, start, len);
        Box::new(ByteSource { bytes, axes })
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
