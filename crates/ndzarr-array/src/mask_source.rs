//! The source of the elements that a mask selects in a chunk.

use std::sync::Arc;

use ndarray::{ArrayView1, CowArray, Ix1};
use ndzarr_codec::VlenBuffer;
use ndzarr_engine::Source;
use ndzarr_grid::Region;

use crate::convert_tile::{ToBytes, into_bytes};
use crate::point_list::{Mask, MaskRow};

/// Elements that are written where a mask selects them, in a box of it. It has nothing of its own for
/// each element.
pub(crate) struct MaskSource<'a, T: Clone> {
    mask: Arc<Mask>,
    /// Where the box begins in the mask.
    origin: Vec<usize>,
    /// All that the mask selects.
    values: CowArray<'a, T, Ix1>,
    /// Whether it selects the whole box.
    is_dense: bool,
    convert: ToBytes<T>,
}

impl<'a, T: Clone> MaskSource<'a, T> {
    pub(crate) fn new(
        mask: Arc<Mask>,
        region: &Region,
        n_selected: usize,
        values: ArrayView1<'a, T>,
        convert: ToBytes<T>,
    ) -> Self {
        let origin = region.start().iter().map(|&at| at as usize).collect();
        let is_dense = region.shape().iter().product::<u64>() == n_selected as u64;
        Self { mask, origin, values: values.into(), is_dense, convert }
    }

    /// A box of its box, in the mask.
    fn region(&self, start: &[usize], len: &[usize]) -> Region {
        let begins = self.origin.iter().zip(start).map(|(origin, at)| (origin + at) as u64);
        Region::new(begins.zip(len).map(|(at, &len)| at..at + len as u64))
    }

    /// Passes on the content of each element of a box, and where it goes.
    fn each(
        &self,
        start: &[usize],
        len: &[usize],
        offset: usize,
        strides: &[isize],
        mut put: impl FnMut(usize, &[u8]),
    ) {
        let (last, leading) = strides.split_last().map_or((0, strides), |(last, leading)| (*last, leading));
        let mut content = Vec::new();
        for (row, MaskRow { numbers, results }) in self.mask.rows(&self.region(start, len)).enumerate() {
            let (mut rest, mut first) = (row, offset.cast_signed());
            for (len, stride) in len.iter().zip(leading).rev() {
                first += stride * (rest % len).cast_signed();
                rest /= len;
            }
            for (number, result) in self.mask.selected(numbers.clone()).zip(results) {
                content.clear();
                (self.convert)(&self.values[result], &mut content);
                put((first + last * (number - numbers.start).cast_signed()).cast_unsigned(), &content);
            }
        }
    }
}

impl<T: Clone + Send + Sync + 'static> Source for MaskSource<'_, T> {
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
    ) {
        self.each(start, len, offset, strides, |at, content| out.set(at, content));
    }

    fn is_dense(&self) -> bool {
        self.is_dense
    }

    fn touches(&self, start: &[usize], len: &[usize]) -> bool {
        self.mask.rows(&self.region(start, len)).any(|row| !row.results.is_empty())
    }

    fn piece(&self, start: &[usize], len: &[usize]) -> Box<dyn Source + Send> {
        let (mut selected, mut values) = (Vec::with_capacity(len.iter().product()), Vec::new());
        for MaskRow { numbers, results } in self.mask.rows(&self.region(start, len)) {
            let first = selected.len();
            selected.resize(first + numbers.len(), false);
            self.mask
                .selected(numbers.clone())
                .for_each(|number| selected[first + number - numbers.start] = true);
            values.extend(results.map(|result| self.values[result].clone()));
        }
        Box::new(MaskSource {
            mask: Arc::new(Mask::new(len, selected.iter())),
            origin: vec![0; len.len()],
            values: CowArray::from(ndarray::Array1::from(values)),
            is_dense: self.is_dense,
            convert: Arc::clone(&self.convert),
        })
    }
}
