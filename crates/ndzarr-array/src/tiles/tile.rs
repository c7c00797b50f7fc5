//! Takes decoded elements from the engine and puts them into an ndarray.

use bytemuck::Zeroable;
use ndarray::{ArrayViewD, ArrayViewMutD, Axis};
use ndzarr_codec::{Elements, Layout, Swap};
use ndzarr_engine::{EngineCause, Picked, Tile};

use crate::element_types::plain_element::{PlainElement, brought};
use crate::tiles::steps::{self, Picks};

/// A piece of an ndarray that elements are read into. With steps, it represents a larger box, of
/// which it takes the selected elements.
pub(crate) struct ElementTile<'a, T> {
    pub(crate) view: ArrayViewMutD<'a, T>,
    /// Along each axis: the length of the box, and which of its indices are selected.
    pub(crate) axes: Vec<(usize, Picks)>,
    /// Whether the memory is all zero bytes.
    pub(crate) fresh: bool,
    /// Whether it is part of a new result so large that the caches will have lost it by the time it
    /// is used. For memory that was used before, or that consists of small pages, streaming stores
    /// gain nothing.
    streamed: bool,
}

/// The smallest result, in bytes, that is written bypassing the caches.
pub(crate) const STREAMED: usize = 8 << 20;

impl<'a, T: PlainElement> ElementTile<'a, T> {
    /// A tile for a box of the given axes.
    pub(crate) fn new(view: ArrayViewMutD<'a, T>, axes: Vec<(usize, Picks)>, fresh: bool) -> Self {
        let streamed = fresh && T::ANY_BITS && view.len().saturating_mul(size_of::<T>()) >= STREAMED;
        Self { view, axes, fresh, streamed }
    }
}

impl<T: PlainElement> Tile for ElementTile<'_, T> {
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
        if size != size_of::<T::Repr>() {
            return Err(EngineCause::Element(format!(
                "elements of {size} bytes for a type of {}",
                size_of::<T::Repr>()
            )));
        }
        let aligned;
        let src: &[T::Repr] = match bytemuck::try_cast_slice(bytes) {
            Ok(elements) => elements,
            Err(_) => {
                // An inner chunk of a shard may have any alignment.
                let mut copy = vec![T::Repr::zeroed(); bytes.len() / size];
                bytemuck::cast_slice_mut(&mut copy).copy_from_slice(&bytes[..bytes.len() / size * size]);
                aligned = copy;
                &aligned
            }
        };
        let Self { view, axes, streamed, fresh } = self;
        let axes = axes.iter().map(|(_, picks)| picks);
        steps::each_part(axes, at, &part.extent, part.place(), |selected| {
            let mut dst = view.view_mut();
            selected.narrow(&mut dst);
            let src = steps::view(src, selected.offset, selected.strides, dst.shape())?;
            *fresh = false;
            if !T::ANY_BITS && !are_valid::<T>(&src, &part.swap) {
                src.iter().try_for_each(|repr| check::<T>(&brought(*repr, &part.swap)))?;
            }
            T::put(src, dst, &part.swap, *streamed);
            Ok(())
        })
    }

    fn fill(&mut self, fill: &[u8]) -> Result<(), EngineCause> {
        if self.fresh && fill.iter().all(|&byte| byte == 0) {
            return Ok(());
        }
        let repr: T::Repr = bytemuck::try_pod_read_unaligned(fill)
            .map_err(|_| EngineCause::Element("a fill value of the wrong size".to_owned()))?;
        check::<T>(&repr)?;
        self.view.fill(T::from_repr(repr));
        self.fresh = false;
        Ok(())
    }

    fn is_blank(&self) -> bool {
        self.fresh
    }

    fn contiguous(&mut self) -> Option<&mut [u8]> {
        if self.axes.iter().any(|(_, picks)| !picks.is_all()) {
            return None;
        }
        self.fresh = false;
        self.view.as_slice_mut().and_then(T::cast_slice_mut).map(bytemuck::cast_slice_mut)
    }

    fn split_at<'s>(self: Box<Self>, axis: usize, at: usize) -> (Box<dyn Tile + 's>, Box<dyn Tile + 's>)
    where
        Self: 's,
    {
        let n_head = self.axes[axis].1.n_below(at).min(self.view.shape()[axis]);
        let (head, tail) = self.view.split_at(Axis(axis), n_head);
        let (head_axes, tail_axes) = steps::split(self.axes, axis, at);
        let (fresh, streamed) = (self.fresh, self.streamed);
        (
            Box::new(ElementTile { view: head, axes: head_axes, fresh, streamed }),
            Box::new(ElementTile { view: tail, axes: tail_axes, fresh, streamed }),
        )
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
