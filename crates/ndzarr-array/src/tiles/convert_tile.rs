//! Tiles and sources of elements that are converted one by one: strings, byte strings, lists,
//! structures, fields.

use std::sync::Arc;

use ndarray::{ArrayViewMutD, Axis, CowArray, IxDyn};
use ndzarr_codec::strided::Strided;
use ndzarr_codec::{Elements, Layout, Swap, VlenBuffer};
use ndzarr_engine::{Coverage, EngineCause, Picked, Source, Tile};

use crate::tiles::steps::{self, Picks};

/// Makes a value from the content of an element, which is in the given byte order.
pub(crate) type FromBytes<T> = Arc<dyn Fn(&[u8], &Swap) -> Result<T, String> + Send + Sync>;

/// Appends the content of an element, in native form.
pub(crate) type ToBytes<T> = Arc<dyn Fn(&T, &mut Vec<u8>) + Send + Sync>;

/// The content of a decoded element.
pub(crate) fn content<'e>(elements: Elements<'e>, at: usize) -> Option<&'e [u8]> {
    match elements {
        Elements::Fixed { bytes, size } => bytes.get(at * size..(at + 1) * size),
        Elements::Vlen { slots, bytes } => slots.get(at).map(|slot| slot.of(bytes)),
    }
}

/// Puts the contents of elements of one size at their places.
pub(crate) fn into_bytes(out: &mut [u8]) -> impl FnMut(usize, &[u8]) {
    |at, content| {
        let size = content.len();
        out[at * size..(at + 1) * size].copy_from_slice(content);
    }
}

/// Like [`ElementTile`](crate::tiles::tile::ElementTile), for values that are not plain memory.
pub(crate) struct ConvertTile<'a, T> {
    pub(crate) view: ArrayViewMutD<'a, T>,
    /// Along each axis: the length of the box, and which of its indices are selected.
    pub(crate) axes: Vec<(usize, Picks)>,
    pub(crate) convert: FromBytes<T>,
}

impl<T: Clone + Send + Sync> Tile for ConvertTile<'_, T> {
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
        let Self { view, axes, convert } = self;
        let axes = axes.iter().map(|(_, picks)| picks);
        steps::each_part(axes, at, &part.extent, part.place(), |selected| {
            let mut dst = view.view_mut();
            selected.narrow(&mut dst);
            for (index, value) in dst.indexed_iter_mut() {
                let place: usize =
                    selected.strides.iter().enumerate().map(|(axis, n)| index[axis] * n).sum::<usize>();
                let content = content(elements, selected.offset + place).ok_or_else(steps::outside)?;
                *value = convert(content, &part.swap).map_err(EngineCause::Element)?;
            }
            Ok(())
        })
    }

    fn fill(&mut self, fill: &[u8]) -> Result<(), EngineCause> {
        let value = (self.convert)(fill, &Swap::None).map_err(EngineCause::Element)?;
        self.view.fill(value);
        Ok(())
    }

    fn contiguous(&mut self) -> Option<&mut [u8]> {
        None
    }

    fn split_at<'s>(self: Box<Self>, axis: usize, at: usize) -> (Box<dyn Tile + 's>, Box<dyn Tile + 's>)
    where
        Self: 's,
    {
        let n_head = self.axes[axis].1.n_below(at).min(self.view.shape()[axis]);
        let (head, tail) = self.view.split_at(Axis(axis), n_head);
        let (head_axes, tail_axes) = steps::split(self.axes, axis, at);
        let convert = Arc::clone(&self.convert);
        (
            Box::new(ConvertTile { view: head, axes: head_axes, convert }),
            Box::new(ConvertTile { view: tail, axes: tail_axes, convert: self.convert }),
        )
    }
}

/// Like [`ElementSource`](crate::tiles::source::ElementSource), for values that are not plain memory.
pub(crate) struct ConvertSource<'a, T> {
    pub(crate) elements: CowArray<'a, T, IxDyn>,
    pub(crate) axes: Vec<Picks>,
    pub(crate) convert: ToBytes<T>,
}

impl<T> ConvertSource<'_, T> {
    /// Passes on the content of each element of a box, and where it goes.
    fn each(
        &self,
        start: &[usize],
        len: &[usize],
        offset: usize,
        strides: &[isize],
        mut put: impl FnMut(usize, &[u8]),
    ) {
        let mut content = Vec::new();
        let place = Strided { offset, strides };
        let each = steps::each_part(self.axes.iter(), start, len, place, |selected| {
            let mut src = self.elements.view();
            selected.narrow(&mut src);
            for (index, element) in src.indexed_iter() {
                content.clear();
                (self.convert)(element, &mut content);
                let at: usize = selected.strides.iter().enumerate().map(|(axis, n)| index[axis] * n).sum();
                put(selected.offset + at, &content);
            }
            Ok(())
        });
        each.expect("a chunk is put together forwards");
    }
}

impl<T: Clone + Send + Sync + 'static> Source for ConvertSource<'_, T> {
    fn gather(&self, start: &[usize], len: &[usize], out: &mut [u8], offset: usize, strides: &[isize]) {
        self.each(start, len, offset, strides, into_bytes(out));
    }

    fn gather_vlen(
        &self,
        start: &[usize],
        len: &[usize],
        out: &mut VlenBuffer,
        offset: usize,
        strides: &[isize],
    ) -> Result<(), EngineCause> {
        self.each(start, len, offset, strides, |at, content| out.set(at, content));
        Ok(())
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

    fn piece(&self, start: &[usize], len: &[usize]) -> Box<dyn Source + Send> {
        let (elements, axes) = steps::piece(&self.elements, &self.axes, start, len);
        Box::new(ConvertSource { elements, axes, convert: Arc::clone(&self.convert) })
    }
}
