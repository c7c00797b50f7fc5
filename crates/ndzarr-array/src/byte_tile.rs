//! Tiles and sources of elements that have no Rust type: their bytes are one more axis, the last.

use ndarray::{ArrayViewMut, ArrayViewMutD, Axis, CowArray, IxDyn, ShapeBuilder};
use ndzarr_codec::strided::Strided;
use ndzarr_codec::{Elements, Layout, Swap};
use ndzarr_engine::{EngineCause, Source, Tile};
use ndzarr_model::DataType;

use crate::assign::assign;
use crate::steps::{self, Steps};

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

    fn put(&mut self, elements: Elements<'_>, part: &Layout, at: &[usize]) -> Result<(), EngineCause> {
        let Elements::Fixed { bytes, size } = elements else {
            return Err(EngineCause::Element(
                "elements of variable size in an array of elements of fixed size".to_owned(),
            ));
        };
        let mut dst = self.view.view_mut();
        let all = at.iter().map(|_| Steps::ALL);
        let selected = steps::select(&mut dst, all, at, &part.extent, part.place())?;
        let Some((offset, mut strides)) = selected else { return Ok(()) };
        strides.iter_mut().for_each(|stride| *stride *= size);
        strides.push(1);
        let src = steps::view(bytes, offset * size, &strides, dst.shape())?;
        assign(src, dst.view_mut(), |byte| byte);
        finish(&mut dst, self.data_type, &part.swap)
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

impl Source for ByteSource<'_> {
    fn gather(&self, start: &[usize], len: &[usize], out: &mut [u8], offset: usize, strides: &[isize]) {
        let mut src = self.bytes.view();
        let all = start.iter().map(|_| Steps::ALL);
        let selected = steps::select(&mut src, all, start, len, Strided { offset, strides });
        let Some((offset, mut to)) = selected.expect("a chunk is put together forwards") else { return };
        let size = src.shape()[start.len()];
        to.iter_mut().for_each(|stride| *stride *= size);
        to.push(1);
        let shape = IxDyn(src.shape()).strides(IxDyn(&to));
        let dst = ArrayViewMut::from_shape(shape, &mut out[offset * size..]);
        assign(src, dst.expect("the elements of a chunk do not overlap"), |byte| byte);
    }

    fn piece(&self, start: &[usize], len: &[usize]) -> Box<dyn Source + Send> {
        let axes = vec![Steps::ALL; start.len()];
        Box::new(ByteSource { bytes: steps::piece(&self.bytes, &axes, start, len).0 })
    }
}
