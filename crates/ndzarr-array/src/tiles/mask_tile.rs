//! The tile and the source of the elements that a mask selects in a chunk. They have nothing of their own for
//! each element.

use std::sync::{Arc, Mutex, PoisonError};

use ndarray::{ArrayD, ArrayView1, ArrayViewMut2, CowArray, Ix1, s};
use ndzarr_codec::{Elements, Layout, VlenBuffer};
use ndzarr_engine::{Coverage, EngineCause, Source, Tile};
use ndzarr_grid::{Picks, Region};

use crate::tiles::box_tile::TileAxis;
use crate::tiles::cells::{ToBytes, into_bytes};
use crate::tiles::point_list::{Mask, MaskRow};
use crate::tiles::values::Values;

/// A box of a mask, from an index on.
#[derive(Clone)]
struct MaskBox {
    mask: Arc<Mask>,
    origin: Vec<usize>,
}

impl MaskBox {
    fn new(mask: &Arc<Mask>, region: &Region) -> Self {
        let origin = region.start().iter().map(|&at| at as usize).collect();
        Self { mask: Arc::clone(mask), origin }
    }

    /// The rows of a smaller box.
    fn rows(&self, start: &[usize], len: &[usize]) -> impl Iterator<Item = MaskRow> {
        let begins = self.origin.iter().zip(start).map(|(origin, at)| (origin + at) as u64);
        self.mask.rows(&Region::new(begins.zip(len).map(|(at, &len)| at..at + len as u64)))
    }

    /// The selected elements of a row: which of all that the mask selects they are, and their places in
    /// the row.
    fn selected(&self, row: MaskRow) -> impl Iterator<Item = (usize, usize)> {
        let first = row.numbers.start;
        row.results.zip(self.mask.selected(row.numbers).map(move |number| number - first))
    }
}

/// All that a mask selects, which the tiles of its boxes share: for each element the values that it consists
/// of.
pub(crate) type Found<'o, T> = Arc<Mutex<ArrayViewMut2<'o, T>>>;

/// Elements that are read where a mask selects them, in a box of it.
pub(crate) struct MaskTile<'o, T> {
    place: MaskBox,
    shape: Vec<usize>,
    found: Found<'o, T>,
    values: &'o dyn Values<T>,
}

impl<'o, T> MaskTile<'o, T> {
    pub(crate) fn new(
        mask: &Arc<Mask>,
        region: &Region,
        found: &Found<'o, T>,
        values: &'o dyn Values<T>,
    ) -> Self {
        let shape = region.shape().iter().map(|&n| n as usize).collect();
        Self { place: MaskBox::new(mask, region), shape, found: Arc::clone(found), values }
    }

    /// Reads elements by a tile of their type.
    fn by_tile(
        &self,
        shape: &[usize],
        read: impl FnOnce(&mut dyn Tile) -> Result<(), EngineCause>,
    ) -> Result<ArrayD<T>, EngineCause> {
        let blank = self.values.blank(shape);
        let mut elements = blank.map_err(|error| EngineCause::Tile(error.into()))?;
        let all = shape.iter().map(|&len| TileAxis { len, picks: Picks::ALL }).collect();
        read(&mut *self.values.tile(elements.view_mut(), all, false))?;
        Ok(elements)
    }
}

impl<T: Clone + Send> Tile for MaskTile<'_, T> {
    fn shape(&self) -> Vec<usize> {
        self.shape.clone()
    }

    fn put(&mut self, elements: Elements<'_>, part: &Layout, at: &[usize]) -> Result<(), EngineCause> {
        if self.place.rows(at, &part.extent).all(|row| row.results.is_empty()) {
            return Ok(());
        }
        let start = vec![0; part.extent.len()];
        let elements = self.by_tile(&part.extent, |tile| tile.put(elements, part, &start))?;
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let width = found.ncols();
        let row_len = part.extent.last().map_or(1, |len| *len) * width;
        let rows = elements.as_slice().expect("a result in C order").chunks_exact(row_len);
        for (elements, row) in rows.zip(self.place.rows(at, &part.extent)) {
            if row.results.len() == row.numbers.len()
                && let Some(found) = found.slice_mut(s![row.results.clone(), ..]).into_slice()
            {
                found.clone_from_slice(elements);
                continue;
            }
            for (to, place) in self.place.selected(row) {
                set(&mut found, to, &elements[place * width..][..width]);
            }
        }
        Ok(())
    }

    fn fill(&mut self, fill: &[u8]) -> Result<(), EngineCause> {
        let fill = self.by_tile(&vec![1; self.shape.len()], |tile| tile.fill(fill))?;
        let fill = fill.as_slice().expect("a result in C order");
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        for row in self.place.rows(&vec![0; self.shape.len()], &self.shape) {
            row.results.for_each(|to| set(&mut found, to, fill));
        }
        Ok(())
    }

    fn contiguous(&mut self) -> Option<&mut [u8]> {
        None
    }

    fn split_at<'s>(self: Box<Self>, axis: usize, at: usize) -> (Box<dyn Tile + 's>, Box<dyn Tile + 's>)
    where
        Self: 's,
    {
        let Self { place, shape, found, values } = *self;
        let (mut head, mut tail) = (shape.clone(), shape);
        (head[axis], tail[axis]) = (at, tail[axis] - at);
        let mut behind = place.clone();
        behind.origin[axis] += at;
        (
            Box::new(MaskTile { place, shape: head, found: Arc::clone(&found), values }),
            Box::new(MaskTile { place: behind, shape: tail, found, values }),
        )
    }
}

/// Sets one element, of these values.
fn set<T: Clone>(found: &mut ArrayViewMut2<'_, T>, to: usize, element: &[T]) {
    match element {
        [value] => found[[to, 0]].clone_from(value),
        // Several of them are the bytes of a packed element.
        _ => found.row_mut(to).into_slice().expect("packed elements are one slice").clone_from_slice(element),
    }
}

/// Elements that are written where a mask selects them, in a box of it.
pub(crate) struct MaskSource<'a, T: Clone> {
    place: MaskBox,
    /// All that the mask selects.
    values: CowArray<'a, T, Ix1>,
    /// Whether it selects the whole box.
    is_dense: bool,
    convert: ToBytes<T>,
}

impl<'a, T: Clone> MaskSource<'a, T> {
    pub(crate) fn new(
        mask: &Arc<Mask>,
        region: &Region,
        n_selected: usize,
        values: ArrayView1<'a, T>,
        convert: ToBytes<T>,
    ) -> Self {
        let is_dense = region.shape().iter().product::<u64>() == n_selected as u64;
        Self { place: MaskBox::new(mask, region), values: values.into(), is_dense, convert }
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
        for (number, row) in self.place.rows(start, len).enumerate() {
            let (mut rest, mut first) = (number, offset.cast_signed());
            for (len, stride) in len.iter().zip(leading).rev() {
                first += stride * (rest % len).cast_signed();
                rest /= len;
            }
            for (result, place) in self.place.selected(row) {
                content.clear();
                (self.convert)(&self.values[result], &mut content);
                put((first + last * place.cast_signed()).cast_unsigned(), &content);
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
    ) -> Result<(), EngineCause> {
        self.each(start, len, offset, strides, |at, content| out.set(at, content));
        Ok(())
    }

    fn is_dense(&self) -> bool {
        self.is_dense
    }

    fn coverage(&self, start: &[usize], len: &[usize]) -> Coverage {
        let (mut any, mut all) = (false, true);
        for row in self.place.rows(start, len) {
            any |= !row.results.is_empty();
            all &= row.results.len() == row.numbers.len();
            if any && !all {
                return Coverage::Part;
            }
        }
        if any { Coverage::All } else { Coverage::None }
    }

    fn piece(&self, start: &[usize], len: &[usize]) -> Box<dyn Source + Send> {
        let (mut selected, mut values) = (Vec::with_capacity(len.iter().product()), Vec::new());
        for row in self.place.rows(start, len) {
            let first = selected.len();
            selected.resize(first + row.numbers.len(), false);
            for (result, place) in self.place.selected(row) {
                selected[first + place] = true;
                values.push(self.values[result].clone());
            }
        }
        let mask = Arc::new(Mask::new(len, selected.iter()));
        Box::new(MaskSource {
            place: MaskBox { mask, origin: vec![0; len.len()] },
            values: CowArray::from(ndarray::Array1::from(values)),
            is_dense: self.is_dense,
            convert: Arc::clone(&self.convert),
        })
    }
}
