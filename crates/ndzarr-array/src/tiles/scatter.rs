//! The tile and the source of elements anywhere in a box: of points, and of masks.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use ndarray::{Array1, ArrayViewMut2, CowArray, Ix1, s};
use ndzarr_codec::strided::Strided;
use ndzarr_codec::{Elements, Layout, Swap, VlenBuffer};
use ndzarr_engine::{Coverage, EngineCause, Picked, Source, Tile};

use crate::tiles::cells::{ReadCells, ToBytes, into_bytes};
use crate::tiles::places::{Places, Run};

/// A result that the tiles of several chunks put scattered elements into: a row of cells for each
/// element.
pub(crate) struct SharedResult<'o, T> {
    cells: Arc<Mutex<ArrayViewMut2<'o, T>>>,
}

impl<T> Clone for SharedResult<'_, T> {
    fn clone(&self) -> Self {
        Self {
            cells: Arc::clone(&self.cells),
        }
    }
}

impl<'o, T> SharedResult<'o, T> {
    pub(crate) fn new(cells: ArrayViewMut2<'o, T>) -> Self {
        Self {
            cells: Arc::new(Mutex::new(cells)),
        }
    }

    /// Moves the cells of elements to their places, in order.
    fn put(&self, mut cells: &mut [T], targets: &[Range<usize>]) {
        let mut result = self.cells.lock().unwrap_or_else(PoisonError::into_inner);
        let width = result.ncols();
        if let Some(result) = result.as_slice_mut() {
            for targets in targets {
                let (own, rest) = cells.split_at_mut(targets.len() * width);
                result[targets.start * width..targets.end * width].swap_with_slice(own);
                cells = rest;
            }
            return;
        }
        let rows = targets.iter().cloned().flatten();
        for (row, cells) in rows.zip(cells.chunks_exact_mut(width)) {
            result
                .row_mut(row)
                .iter_mut()
                .zip(cells)
                .for_each(|(to, cell)| std::mem::swap(to, cell));
        }
    }
}

/// Elements that are read where points or a mask select them.
pub(crate) struct ScatterTile<'o, C: ReadCells> {
    places: Places,
    result: SharedResult<'o, C::Cell>,
    cells: C,
}

impl<'o, C: ReadCells> ScatterTile<'o, C> {
    pub(crate) fn new(places: Places, result: SharedResult<'o, C::Cell>, cells: C) -> Self {
        Self {
            places,
            result,
            cells,
        }
    }
}

impl<C: ReadCells> Tile for ScatterTile<'_, C> {
    fn shape(&self) -> Vec<usize> {
        self.places.shape().to_vec()
    }

    fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    fn picked(&self) -> Picked {
        self.places.picked()
    }

    fn put(
        &mut self,
        elements: Elements<'_>,
        part: &Layout,
        at: &[usize],
    ) -> Result<(), EngineCause> {
        let decoded = self.cells.decoded(elements)?;
        // Other threads wait only while cells are moved.
        let mut cells = Vec::new();
        let mut targets = Vec::new();
        self.places
            .for_each_run(at, &part.extent, part.place(), |run| {
                self.cells
                    .push_run(&decoded, &run, &part.swap, &mut cells)?;
                targets.push(run.targets);
                Ok(())
            })?;
        if !targets.is_empty() {
            self.result.put(&mut cells, &targets);
        }
        Ok(())
    }

    fn fill(&mut self, fill: &[u8]) -> Result<(), EngineCause> {
        let decoded = self.cells.decoded(Elements::Fixed {
            bytes: fill,
            size: fill.len(),
        })?;
        let mut cells = Vec::new();
        self.cells.push_run(
            &decoded,
            &Run {
                place: 0,
                step: 1,
                targets: 0..1,
            },
            &Swap::None,
            &mut cells,
        )?;
        let mut result = self
            .result
            .cells
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let start = vec![0; self.places.shape().len()];
        let strides = vec![0; start.len()];
        let nowhere = Strided {
            offset: 0,
            strides: &strides,
        };
        self.places
            .for_each_run(&start, self.places.shape(), nowhere, |run| {
                for mut row in result.slice_mut(s![run.targets, ..]).rows_mut() {
                    row.iter_mut()
                        .zip(&cells)
                        .for_each(|(to, cell)| to.clone_from(cell));
                }
                Ok(())
            })
    }

    fn contiguous(&mut self) -> Option<&mut [u8]> {
        None
    }

    fn split_at<'s>(
        self: Box<Self>,
        axis: usize,
        at: usize,
    ) -> (Box<dyn Tile + 's>, Box<dyn Tile + 's>)
    where
        Self: 's,
    {
        let Self {
            places,
            result,
            cells,
        } = *self;
        let (head, tail) = places.split_at(axis, at);
        (
            Box::new(Self::new(head, result.clone(), cells.clone())),
            Box::new(Self::new(tail, result, cells)),
        )
    }
}

/// Elements that are written where points or a mask select them.
pub(crate) struct ScatterSource<'a, T: Clone> {
    places: Places,
    /// All that are selected, of which the places have some.
    values: CowArray<'a, T, Ix1>,
    /// They are the whole box.
    is_dense: bool,
    to_bytes: ToBytes<T>,
}

impl<'a, T: Clone> ScatterSource<'a, T> {
    pub(crate) fn new(places: Places, values: CowArray<'a, T, Ix1>, to_bytes: ToBytes<T>) -> Self {
        Self {
            is_dense: places.is_dense(),
            places,
            values,
            to_bytes,
        }
    }

    /// Passes on the content of each element of a box, and where it goes.
    fn for_each_content(
        &self,
        start: &[usize],
        len: &[usize],
        place: Strided<'_>,
        mut set: impl FnMut(usize, &[u8]),
    ) -> Result<(), EngineCause> {
        let mut content = Vec::new();
        self.places.for_each_run(
            start,
            len,
            place,
            |Run {
                 mut place,
                 step,
                 targets,
             }| {
                for target in targets {
                    content.clear();
                    (self.to_bytes)(&self.values[target], &mut content);
                    set(place, &content);
                    place += step;
                }
                Ok(())
            },
        )
    }
}

impl<T: Clone + Send + Sync + 'static> Source for ScatterSource<'_, T> {
    fn gather(
        &self,
        start: &[usize],
        len: &[usize],
        out: &mut [u8],
        offset: usize,
        strides: &[isize],
    ) {
        let gathered =
            self.for_each_content(start, len, Strided { offset, strides }, into_bytes(out));
        gathered.expect("a chunk is put together forwards");
    }

    fn gather_vlen(
        &self,
        start: &[usize],
        len: &[usize],
        out: &mut VlenBuffer,
        offset: usize,
        strides: &[isize],
    ) -> Result<(), EngineCause> {
        let place = Strided { offset, strides };
        self.for_each_content(start, len, place, |at, content| out.set(at, content))
    }

    fn is_dense(&self) -> bool {
        self.is_dense
    }

    fn coverage(&self, start: &[usize], len: &[usize]) -> Coverage {
        self.places.coverage(start, len)
    }

    fn piece(&self, start: &[usize], len: &[usize]) -> Box<dyn Source + Send> {
        let mut values = Vec::new();
        let places = self.places.part(start, len, |targets| {
            values.extend(targets.map(|target| self.values[target].clone()));
        });
        Box::new(ScatterSource::new(
            places,
            CowArray::from(Array1::from(values)),
            Arc::clone(&self.to_bytes),
        ))
    }
}
