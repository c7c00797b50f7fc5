//! Tiles and sources of elements that have no Rust type: their bytes are one more axis, the last.

use ndarray::{ArrayView, ArrayViewMutD, Axis, CowArray, IxDyn, ShapeBuilder, Slice};
use ndzarr_codec::{Elements, Layout, Swap};
use ndzarr_engine::{EngineCause, Place, Source, Tile};
use ndzarr_model::DataType;

pub(crate) struct ByteTile<'a> {
    pub(crate) view: ArrayViewMutD<'a, u8>,
    pub(crate) data_type: &'a DataType,
}

/// Converts packed elements to native form and checks them.
fn finish(
    elements: &mut ArrayViewMutD<'_, u8>,
    data_type: &DataType,
    swap: &Swap,
) -> Result<(), EngineCause> {
    let any_bits = data_type.is_any_bits();
    if *swap == Swap::None && any_bits {
        return Ok(());
    }
    for mut element in elements.rows_mut() {
        // The bytes of an element are the last axis of an array in standard layout.
        let Some(bytes) = element.as_slice_mut() else { continue };
        swap.apply(bytes);
        if !any_bits && !data_type.is_element(bytes) {
            return Err(EngineCause::Element(format!("the bytes {bytes:?} are not a valid {data_type}")));
        }
    }
    Ok(())
}

impl Tile for ByteTile<'_> {
    fn shape(&self) -> Vec<usize> {
        let shape = self.view.shape();
        shape[..shape.len() - 1].to_vec()
    }

    fn put(&mut self, elements: Elements<'_>, layout: &Layout, at: &Place) -> Result<(), EngineCause> {
        let Elements::Fixed { bytes, size } = elements else {
            return Err(EngineCause::Element(
                "elements of variable size in an array of elements of fixed size".to_owned(),
            ));
        };
        let outside = || EngineCause::Element("decoded elements are outside the chunk".to_owned());
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
        finish(&mut dst, self.data_type, &layout.swap)
    }

    fn fill(&mut self, fill: &[u8]) -> Result<(), EngineCause> {
        for mut element in self.view.rows_mut() {
            element.iter_mut().zip(fill).for_each(|(dst, src)| *dst = *src);
        }
        Ok(())
    }

    fn contiguous(&mut self) -> Option<&mut [u8]> {
        // Elements decoded in place are not checked.
        self.data_type.is_any_bits().then(|| self.view.as_slice_mut())?
    }

    fn split_at<'s>(self: Box<Self>, axis: usize, at: usize) -> (Box<dyn Tile + 's>, Box<dyn Tile + 's>)
    where
        Self: 's,
    {
        let (head, tail) = self.view.split_at(Axis(axis), at);
        let data_type = self.data_type;
        (Box::new(ByteTile { view: head, data_type }), Box::new(ByteTile { view: tail, data_type }))
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
