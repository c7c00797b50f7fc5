//! The tile and the source of a box of an array: an ndarray has all of its elements, or those that
//! are picked along each axis.

use ndarray::{ArrayViewMutD, Axis, CowArray, IxDyn, Slice};
use ndzarr_codec::strided::Strided;
use ndzarr_codec::{Elements, Layout, VlenBuffer};
use ndzarr_engine::{Coverage, EngineCause, Picked, Source, Tile};
use ndzarr_grid::Picks;

use crate::tiles::cells::{ReadCells, WriteCells};
use crate::tiles::picked_parts::each_part;

/// An axis of the box of a tile.
#[derive(Clone, Debug)]
pub(crate) struct TileAxis {
    pub(crate) len: usize,
    /// The indices along it that the ndarray has.
    pub(crate) picks: Picks,
}

/// A piece of an ndarray that elements are read into.
pub(crate) struct BoxTile<'a, C: ReadCells> {
    /// Its axes are those of the box; cells may have another one, which is the last.
    view: ArrayViewMutD<'a, C::Cell>,
    axes: Vec<TileAxis>,
    /// The memory is all zero bytes.
    fresh: bool,
    /// The memory is part of a new result so large that the caches will have lost it by the time it
    /// is used. For memory that was used before, or that consists of small pages, streaming stores
    /// gain nothing.
    streamed: bool,
    cells: C,
}

/// The smallest result, in bytes, that is written bypassing the caches.
const STREAMED: usize = 8 << 20;

impl<'a, C: ReadCells> BoxTile<'a, C> {
    /// A tile for a box of these axes; `fresh` if the view is of zero bytes.
    pub(crate) fn new(
        view: ArrayViewMutD<'a, C::Cell>,
        axes: Vec<TileAxis>,
        fresh: bool,
        cells: C,
    ) -> Self {
        let len = view.len().saturating_mul(size_of::<C::Cell>());
        let streamed = fresh && cells.is_any_bits() && len >= STREAMED;
        Self {
            view,
            axes,
            fresh,
            streamed,
            cells,
        }
    }

    fn is_whole(&self) -> bool {
        self.axes.iter().all(|axis| axis.picks.is_all())
    }
}

impl<C: ReadCells> Tile for BoxTile<'_, C> {
    fn shape(&self) -> Vec<usize> {
        self.axes.iter().map(|axis| axis.len).collect()
    }

    fn is_empty(&self) -> bool {
        self.view.is_empty()
    }

    fn picked(&self) -> Picked {
        if self.is_whole() {
            return Picked::All;
        }
        Picked::Along(self.axes.iter().map(|axis| axis.picks.clone()).collect())
    }

    fn put(
        &mut self,
        elements: Elements<'_>,
        part: &Layout,
        at: &[usize],
    ) -> Result<(), EngineCause> {
        let decoded = self.cells.decoded(elements)?;
        let Self {
            view,
            axes,
            fresh,
            streamed,
            cells,
        } = self;
        let picks = axes.iter().map(|axis| &axis.picks);
        each_part(picks, at, &part.extent, part.place(), |picked| {
            let mut dst = view.view_mut();
            picked.narrow(&mut dst);
            *fresh = false;
            cells.put(&decoded, &picked, &part.swap, dst, *streamed)
        })
    }

    fn fill(&mut self, fill: &[u8]) -> Result<(), EngineCause> {
        if self.fresh && fill.iter().all(|&byte| byte == 0) {
            return Ok(());
        }
        self.fresh = false;
        self.cells.fill(fill, self.view.view_mut())
    }

    fn is_blank(&self) -> bool {
        self.fresh
    }

    fn contiguous(&mut self) -> Option<&mut [u8]> {
        if !self.is_whole() {
            return None;
        }
        let memory = self.cells.memory(self.view.as_slice_mut()?)?;
        self.fresh = false;
        Some(memory)
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
            view,
            axes,
            fresh,
            streamed,
            cells,
        } = *self;
        let n_head = axes[axis].picks.n_below(at).min(view.shape()[axis]);
        let (head, tail) = view.split_at(Axis(axis), n_head);
        let mut head_axes = axes;
        let mut tail_axes = head_axes.clone();
        head_axes[axis].len = at;
        tail_axes[axis].len -= at;
        tail_axes[axis].picks = tail_axes[axis].picks.from(at);
        (
            Box::new(BoxTile {
                view: head,
                axes: head_axes,
                fresh,
                streamed,
                cells: cells.clone(),
            }),
            Box::new(BoxTile {
                view: tail,
                axes: tail_axes,
                fresh,
                streamed,
                cells,
            }),
        )
    }
}

/// Elements of an ndarray to be written.
pub(crate) struct BoxSource<'a, C: WriteCells> {
    /// Its axes are those of the box; cells may have another one, which is the last.
    pub(crate) elements: CowArray<'a, C::Cell, IxDyn>,
    /// Along each axis of the box, the indices that the ndarray has.
    pub(crate) axes: Vec<Picks>,
    pub(crate) cells: C,
}

impl<C: WriteCells> Source for BoxSource<'_, C> {
    fn gather(
        &self,
        start: &[usize],
        len: &[usize],
        out: &mut [u8],
        offset: usize,
        strides: &[isize],
    ) {
        let gathered = each_part(
            self.axes.iter(),
            start,
            len,
            Strided { offset, strides },
            |picked| {
                let mut src = self.elements.view();
                picked.narrow(&mut src);
                self.cells.gather(src, out, &picked);
                Ok(())
            },
        );
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
        each_part(
            self.axes.iter(),
            start,
            len,
            Strided { offset, strides },
            |picked| {
                let mut src = self.elements.view();
                picked.narrow(&mut src);
                self.cells.gather_vlen(src, out, &picked)
            },
        )
    }

    fn is_dense(&self) -> bool {
        self.axes
            .iter()
            .all(|picks| matches!(picks, Picks::Steps(steps) if steps.step == 1))
    }

    fn picked(&self) -> Picked {
        if self.is_dense() {
            Picked::All
        } else {
            Picked::Along(self.axes.clone())
        }
    }

    fn coverage(&self, start: &[usize], len: &[usize]) -> Coverage {
        let mut coverage = Coverage::All;
        for (axis, picks) in self.axes.iter().enumerate() {
            let (_, n) = picks.hit(start[axis], len[axis]);
            if n == 0 {
                return Coverage::None;
            }
            if n < len[axis] {
                coverage = Coverage::Part;
            }
        }
        coverage
    }

    fn is_c_order(&self) -> bool {
        let strides = self.elements.strides();
        C::IS_MEMORY
            && strides.is_sorted_by(|outer, inner| outer >= inner)
            && strides.last() == Some(&1)
    }

    fn piece(&self, start: &[usize], len: &[usize]) -> Box<dyn Source + Send> {
        let mut elements = self.elements.view();
        let mut axes = Vec::with_capacity(self.axes.len());
        for (axis, picks) in self.axes.iter().enumerate() {
            let (first, n) = picks.hit(start[axis], len[axis]);
            elements.slice_axis_inplace(Axis(axis), Slice::from(first..first + n));
            axes.push(picks.from(start[axis]));
        }
        Box::new(BoxSource {
            elements: CowArray::from(elements.to_owned()),
            axes,
            cells: self.cells.clone(),
        })
    }
}
