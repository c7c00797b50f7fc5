//! `Growth`: elements that are appended to an array bit by bit, and published now and then.

use std::ops::Range;
use std::sync::Arc;

use ndzarr_codec::{Access, VlenBuffer};
use ndzarr_engine::{Cancel, EngineCause, EngineError, Outside, ShardWriter, Source, in_parallel};
use ndzarr_grid::{ChunkGrid, Region};
use ndzarr_model::ChunkEdges;

use super::ArrayInfo;
use super::resize::{Added, appended};
use crate::error::{Error, ErrorKind, Result};

/// Appended elements that are not published yet.
///
/// Whole rows of inner chunks are encoded at once and kept by writers of their shards. What does
/// not fill such a row stays as it is until it does or is published.
#[derive(Debug)]
pub(crate) struct Growth {
    /// In the shape that was published last.
    info: ArrayInfo,
    axis: usize,
    /// Where the next elements come, along the axis.
    end: u64,
    /// Where the current row of units ends.
    row_end: u64,
    /// Fills up the last, partly published row of inner chunks.
    head: Option<Rows>,
    /// What is not encoded, after the head and the encoded rows.
    rows: Rows,
    shards: Option<Shards>,
}

/// The shards of one row.
#[derive(Debug)]
struct Shards {
    /// The inner chunks of an array that ends with this row.
    inner: ChunkGrid,
    /// Each with its region in that array.
    writers: Vec<(Region, ShardWriter)>,
}

/// Publishing waits until at most this many old bytes are copied for each new one.
const COPIES: u64 = 8;

/// With more shards in a row, they are kept in memory: each file would be open all the time.
const MOST_FILES: u64 = 64;

impl Growth {
    /// Starts at the array's current end.
    pub(crate) async fn begin(mut info: ArrayInfo, axis: usize) -> Result<Self> {
        info.refresh_handle().await?;
        info.writable()?;
        info.confirm_keys().await?;
        let Some(&end) = info.shape().get(axis) else {
            let what = format!("no axis {axis} in an array of shape {:?}", info.shape());
            return Err(info.name(Error::new(ErrorKind::InvalidArgument, what)));
        };
        let row_end = row_of(&info, axis, end)?.end;
        let rows = Rows::new(axis, end);
        Ok(Self {
            info,
            axis,
            end,
            row_end,
            head: None,
            rows,
            shards: None,
        })
    }

    /// The shape of elements to add, which may lack the axis.
    ///
    /// # Errors
    /// They do not fit the array.
    pub(crate) fn shape(&self, given: &[usize]) -> Result<Vec<u64>> {
        let mut shape: Vec<u64> = given.iter().map(|&n| n as u64).collect();
        if shape.len() + 1 == self.info.shape().len() {
            shape.insert(self.axis, 1);
        }
        // With what was added, but not published.
        let mut now = self.info.shape().to_vec();
        now[self.axis] = self.end;
        self.info.named(appended(&now, self.axis, &shape))?;
        Ok(shape)
    }

    /// The elements as a source with the axis, if they lack it.
    pub(crate) fn with_axis<'s>(
        &self,
        given: &[usize],
        source: Box<dyn Source + 's>,
    ) -> Box<dyn Source + 's> {
        if given.len() < self.info.shape().len() {
            Box::new(Frame {
                source,
                axis: self.axis,
            })
        } else {
            source
        }
    }

    /// The axis that grows.
    pub(crate) fn axis(&self) -> usize {
        self.axis
    }

    /// Returns true if a row of units is full: then it is time to publish.
    pub(crate) fn is_row_full(&self) -> bool {
        self.end == self.row_end
    }

    /// Takes the elements from an index along the axis on, up to the end of the row of units.
    /// Returns how many indices it took.
    pub(crate) fn take(&mut self, shape: &[u64], source: &dyn Source, from: u64) -> Result<u64> {
        let axis = self.axis;
        let mut at = from;
        while at < shape[axis] && self.end < self.row_end {
            if self
                .info
                .options
                .cancel
                .as_ref()
                .is_some_and(Cancel::is_cancelled)
            {
                return Err(self
                    .info
                    .name(Error::new(ErrorKind::Cancelled, "it was cancelled")));
            }
            let row = self.encoded_row();
            let row_end = row.as_ref().map_or(self.row_end, |row| row.end);
            let n = (row_end - self.end).min(shape[axis] - at);
            let begin = self.end;
            self.end += n;
            if let Some(row) = row.clone().filter(|row| *row == (begin..self.end)) {
                self.encode(row, source, at)?;
                self.rows = Rows::new(axis, self.end);
            } else {
                let mut start = vec![0; shape.len()];
                start[axis] = at as usize;
                let len = |(other, &len): (usize, &u64)| {
                    if other == axis {
                        n as usize
                    } else {
                        len as usize
                    }
                };
                let len: Vec<usize> = shape.iter().enumerate().map(len).collect();
                self.rows.add(n as usize, source.piece(&start, &len));
                if let Some(row) = row.filter(|row| row.end == self.end) {
                    let rows = std::mem::replace(&mut self.rows, Rows::new(axis, self.end));
                    if rows.start == row.start {
                        self.encode(row, &rows, 0)?
                    } else {
                        self.head = Some(rows)
                    }
                }
            }
            at += n;
        }
        Ok(at - from)
    }

    /// The row of inner chunks that comes next, if they can be encoded one by one.
    fn encoded_row(&self) -> Option<Range<u64>> {
        let data = self
            .info
            .data()
            .ok()
            .filter(|data| !follows_appends(data.grid(), self.axis))?;
        let Access::Indexed(_) = data.chain().access() else {
            return None;
        };
        let len = self.info.spec().inner_chunk_shape()?[self.axis].max(1);
        let start = self.end / len * len;
        Some(start..start.saturating_add(len).min(self.row_end))
    }

    /// Encodes a row of inner chunks, whose elements begin at `from` along the axis of the source.
    fn encode(&mut self, row: Range<u64>, source: &dyn Source, from: u64) -> Result<()> {
        let shards = match self.shards.take() {
            Some(shards) => shards,
            None => self.begin_shards(&row)?,
        };
        let info = &self.info;
        let axis = self.axis;
        let mut jobs = Vec::new();
        for (region, writer) in &shards.writers {
            let mut ranges = region.ranges().to_vec();
            let first = shards.inner.overlaps(region).first();
            ranges[axis] = row.clone();
            for overlap in shards.inner.overlaps(&Region::new(ranges)) {
                let within: Vec<u64> = overlap
                    .chunk
                    .iter()
                    .zip(&first)
                    .map(|(index, first)| index - first)
                    .collect();
                let mut start: Vec<usize> = overlap.start.iter().map(|&at| at as usize).collect();
                start[axis] = from as usize;
                jobs.push((writer, within, start));
            }
        }
        let encode = |(writer, within, start): (&ShardWriter, Vec<u64>, Vec<usize>)| {
            writer.write_inner(&within, source, &start)
        };
        let done = in_parallel(jobs, info.options.threads, encode);
        info.named(done.into_iter().collect::<Result<(), EngineError>>())?;
        self.shards = Some(shards);
        Ok(())
    }

    /// Begins the shards of the row that has these indices along the axis.
    fn begin_shards(&self, row: &Range<u64>) -> Result<Shards> {
        let info = &self.info;
        let mut shape = info.shape().to_vec();
        shape[self.axis] = self.row_end;
        let wrong = |error| info.name(Error::new(ErrorKind::WrongShape, error));
        let grid = info.data()?.grid().resized(&shape).map_err(wrong)?;
        let array = info
            .named(info.data()?.regridded(grid))?
            .outside(Outside::Fill);
        let array = Arc::new(array);
        let inner = info.spec().inner_chunk_shape().unwrap_or_default();
        let inner = ChunkGrid::regular(&shape, &inner).map_err(wrong)?;
        let store = info.storage.store.clone();
        let mut ranges: Vec<Range<u64>> = shape.iter().map(|&n| 0..n).collect();
        ranges[self.axis] = row.clone();
        let overlaps = array.grid().overlaps(&Region::new(ranges));
        let too_many_files = overlaps.n_indices() > MOST_FILES;
        let mut writers = Vec::new();
        for overlap in overlaps {
            let region = array
                .grid()
                .clipped_region(&overlap.chunk)
                .unwrap_or_else(|| overlap.region());
            let mut writer = ShardWriter::new(&array, store.clone(), &overlap.chunk, &info.options);
            if !too_many_files {
                writer = writer.and_then(ShardWriter::spilling);
            }
            writers.push((region, info.named(writer)?));
        }
        Ok(Shards { inner, writers })
    }

    /// Returns `true` once so much was added that publishing it copies no more than [`COPIES`]
    /// times as much.
    pub(crate) fn is_due(&self) -> Result<bool> {
        let published = self.info.shape()[self.axis];
        let added = self.end - published;
        let shown = published - row_of(&self.info, self.axis, published)?.start;
        Ok(added > 0 && added.saturating_mul(COPIES) >= shown)
    }

    /// Publishes all that was added: first the chunks, then the shape.
    pub(crate) async fn publish(&mut self) -> Result<()> {
        let axis = self.axis;
        let published = self.info.shape()[axis];
        if self.end == published {
            return Ok(());
        }
        let mut shape = self.info.shape().to_vec();
        shape[axis] = self.end - published;
        let rest = Some(&self.rows).filter(|rows| rows.start < rows.end);
        let part = |rows| {
            let rows: &Rows = rows;
            (
                rows.start - published..rows.end - published,
                rows as &dyn Source,
            )
        };
        let parts = self.head.iter().chain(rest).map(part).collect();
        let shards = self
            .shards
            .take()
            .map(|shards| shards.writers)
            .unwrap_or_default();
        let shards = shards.into_iter().map(|(_, writer)| writer).collect();
        let expected_shape = Some(self.info.shape().to_vec());
        let added = Added {
            shape,
            parts,
            shards,
            expected_shape,
        };
        self.info.append_all(axis, added).await?;
        (self.head, self.rows) = (None, Rows::new(axis, self.end));
        self.row_end = row_of(&self.info, axis, self.end)?.end;
        Ok(())
    }
}

/// The row of units that contains index `at` along an axis.
fn row_of(info: &ArrayInfo, axis: usize, at: u64) -> Result<Range<u64>> {
    let grid = info.grid()?;
    if follows_appends(&grid, axis) {
        return Ok(at..at.saturating_add(grid.chunk_shape()[axis].max(1)));
    }
    let after = at.saturating_add(1);
    let row = grid.n_chunks_along(axis, after).saturating_sub(1);
    let range = grid.range_along(axis, row);
    // A chunk without length, in an array without elements.
    Ok(range.start.min(at)..range.end.max(after))
}

/// Returns `true` if the chunks past the end depend on what is appended, or on the grid.
fn follows_appends(grid: &ChunkGrid, axis: usize) -> bool {
    let is_listed = |edges: &[ChunkEdges]| matches!(edges[axis], ChunkEdges::Listed(_));
    grid.edges().is_some_and(is_listed)
}

/// Elements one after the other along an axis.
#[derive(Debug)]
struct Rows {
    axis: usize,
    start: u64,
    end: u64,
    pushed: Vec<Pushed>,
}

struct Pushed {
    /// Its length along the axis.
    n: usize,
    source: Box<dyn Source + Send>,
}

impl std::fmt::Debug for Pushed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Pushed({})", self.n)
    }
}

impl Rows {
    fn new(axis: usize, start: u64) -> Self {
        Self {
            axis,
            start,
            end: start,
            pushed: Vec::new(),
        }
    }

    fn add(&mut self, n: usize, source: Box<dyn Source + Send>) {
        self.end += n as u64;
        self.pushed.push(Pushed { n, source });
    }

    /// The parts of a box in each source that was pushed: where it begins there, its shape, and its
    /// first index along the axis in the box.
    fn parts<'s>(
        &'s self,
        start: &'s [usize],
        len: &'s [usize],
    ) -> impl Iterator<Item = (&'s dyn Source, Vec<usize>, Vec<usize>, usize)> {
        let axis = self.axis;
        let (begin, end) = (start[axis], start[axis] + len[axis]);
        let mut next = 0;
        self.pushed.iter().filter_map(move |Pushed { n, source }| {
            let first = next;
            next += n;
            let (from, to) = (begin.max(first), end.min(next));
            let (mut start, mut len) = (start.to_vec(), len.to_vec());
            (start[axis], len[axis]) = (from.saturating_sub(first), to.saturating_sub(from));
            (from < to).then(|| (&**source as &dyn Source, start, len, from - begin))
        })
    }
}

impl Source for Rows {
    fn gather(
        &self,
        start: &[usize],
        len: &[usize],
        out: &mut [u8],
        offset: usize,
        strides: &[isize],
    ) {
        for (source, start, len, at) in self.parts(start, len) {
            let offset = offset.wrapping_add_signed(strides[self.axis] * at.cast_signed());
            source.gather(&start, &len, out, offset, strides);
        }
    }

    fn gather_vlen(
        &self,
        start: &[usize],
        len: &[usize],
        out: &mut VlenBuffer,
        offset: usize,
        strides: &[isize],
    ) -> Result<(), EngineCause> {
        for (source, start, len, at) in self.parts(start, len) {
            let offset = offset.wrapping_add_signed(strides[self.axis] * at.cast_signed());
            source.gather_vlen(&start, &len, out, offset, strides)?;
        }
        Ok(())
    }

    fn piece(&self, start: &[usize], len: &[usize]) -> Box<dyn Source + Send> {
        let mut rows = Self::new(self.axis, 0);
        for (source, start, len, _) in self.parts(start, len) {
            rows.add(len[self.axis], source.piece(&start, &len));
        }
        Box::new(rows)
    }
}

/// Elements that lack an axis, as a source that has it, with one index.
struct Frame<S> {
    source: S,
    axis: usize,
}

impl<S> Frame<S> {
    fn without<T: Copy>(&self, of_axes: &[T]) -> Vec<T> {
        let mut of_axes = of_axes.to_vec();
        of_axes.remove(self.axis);
        of_axes
    }
}

impl<'s> Source for Frame<Box<dyn Source + 's>> {
    fn gather(
        &self,
        start: &[usize],
        len: &[usize],
        out: &mut [u8],
        offset: usize,
        strides: &[isize],
    ) {
        self.source.gather(
            &self.without(start),
            &self.without(len),
            out,
            offset,
            &self.without(strides),
        );
    }

    fn gather_vlen(
        &self,
        start: &[usize],
        len: &[usize],
        out: &mut VlenBuffer,
        offset: usize,
        strides: &[isize],
    ) -> Result<(), EngineCause> {
        self.source.gather_vlen(
            &self.without(start),
            &self.without(len),
            out,
            offset,
            &self.without(strides),
        )
    }

    fn is_c_order(&self) -> bool {
        self.source.is_c_order()
    }

    fn piece(&self, start: &[usize], len: &[usize]) -> Box<dyn Source + Send> {
        let source: Box<dyn Source> = self.source.piece(&self.without(start), &self.without(len));
        Box::new(Frame {
            source,
            axis: self.axis,
        })
    }
}
