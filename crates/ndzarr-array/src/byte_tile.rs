//! Tiles and sources of elements that no Rust type stands for: their bytes are one more axis, the last.

use ndarray::{ArrayView, ArrayViewMutD, Axis, CowArray, IxDyn, ShapeBuilder, Slice};
use ndzarr_codec::{Elements, Layout, Swap};
use ndzarr_engine::{EngineCause, Place, Source, Tile};

pub(crate) struct ByteTile<'a> {
    pub(crate) view: ArrayViewMutD<'a, u8>,
}

impl Tile for ByteTile<'_> {
    fn shape(&self) -> Vec<usize> {
        let shape = self.view.shape();
        shape[..shape.len() - 1].to_vec()
    }

    fn put(&mut self, elements: Elements<'_>, layout: &Layout, at: &Place) -> Result<(), EngineCause> {
        let Elements::Fixed { bytes, size } = elements else {
            return Err(EngineCause::Element(
                "elements of variable size in an array of fixed ones".to_owned(),
            ));
        };
        let outside = || EngineCause::Element("decoded elements do not lie where they should".to_owned());
        let mut dst = self.view.view_mut();
        let (mut offset, mut strides) = (0, Vec::new());
        for axis in 0..at.len.len() {
            dst.slice_axis_inplace(Axis(axis), Slice::from(at.dst[axis]..at.dst[axis] + at.len[axis]));
            let stride = usize::try_from(layout.strides[axis]).map_err(|_| outside())? * size;
            offset += at.src[axis] * stride;
            strides.push(if at.len[axis] == 1 { 0 } else { stride });
        }
        strides.push(1);
        let src = bytes.get(offset..).ok_or_else(outside)?;
        let src =
            ArrayView::from_shape(IxDyn(dst.shape()).strides(IxDyn(&strides)), src).map_err(|_| outside())?;
        dst.assign(&src);
        if layout.swap != Swap::None {
            let Swap::Every(width) = layout.swap else { return Ok(()) };
            for mut element in dst.rows_mut() {
                for mut unit in element.exact_chunks_mut(width) {
                    unit.invert_axis(Axis(0));
                    let reversed = unit.to_owned();
                    unit.invert_axis(Axis(0));
                    unit.assign(&reversed);
                }
            }
        }
        Ok(())
    }

    fn fill(&mut self, fill: &[u8]) -> Result<(), EngineCause> {
        for mut element in self.view.rows_mut() {
            element.iter_mut().zip(fill).for_each(|(dst, src)| *dst = *src);
        }
        Ok(())
    }

    fn contiguous(&mut self) -> Option<&mut [u8]> {
        self.view.as_slice_mut()
    }

    fn split_at<'s>(self: Box<Self>, axis: usize, at: usize) -> (Box<dyn Tile + 's>, Box<dyn Tile + 's>)
    where
        Self: 's,
    {
        let (head, tail) = self.view.split_at(Axis(axis), at);
        (Box::new(ByteTile { view: head }), Box::new(ByteTile { view: tail }))
    }
}

pub(crate) struct ByteSource<'a> {
    pub(crate) bytes: CowArray<'a, u8, IxDyn>,
}

impl ByteSource<'_> {
    fn cut(&self, start: &[usize], len: &[usize]) -> ndarray::ArrayViewD<'_, u8> {
        let mut src = self.bytes.view();
        for axis in 0..start.len() {
            src.slice_axis_inplace(Axis(axis), Slice::from(start[axis]..start[axis] + len[axis]));
        }
        src
    }
}

impl Source for ByteSource<'_> {
    fn gather(&self, start: &[usize], len: &[usize], out: &mut [u8], offset: usize, strides: &[isize]) {
        let src = self.cut(start, len);
        let size = src.shape()[start.len()];
        for (index, byte) in src.indexed_iter() {
            let at: usize = (0..start.len()).map(|axis| index[axis] * strides[axis] as usize).sum();
            out[(offset + at) * size + index[start.len()]] = *byte;
        }
    }

    fn piece(&self, start: &[usize], len: &[usize]) -> Box<dyn Source + Send> {
        Box::new(ByteSource { bytes: CowArray::from(self.cut(start, len).to_owned()) })
    }
}
