//! `Wanted`: a region of a chunk or inner chunk to be read. It states the stored bytes that it
//! needs.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use ndzarr_codec::{Access, CodecChain, CodecError, Layout, ShardLayout, Swap};
use ndzarr_grid::{Region, Window, WindowCost, windows};
use ndzarr_store::Want;

use crate::cache::{Decoded, Entry, Held, Slot};
use crate::error::bad_answer;
use crate::reading::merge_ranges::first_part;
use crate::tile::Picked;
use crate::{Broken, EngineCause};

/// A request costs about as much as reading this many bytes more from the page cache.
pub(crate) const REQUEST_BYTES: u64 = 16 << 10;

/// Maximum span in bytes of one window of a raw chunk.
pub(crate) const WINDOW_BYTES: u64 = 4 << 20;

/// The wanted part of a chunk, of an inner chunk of a shard, of an inner chunk of that …
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) chain: Arc<CodecChain>,
    /// Position of the chunk in the stored value; `None`: the whole value.
    pub(crate) at: Option<Range<u64>>,
    pub(crate) shape: Vec<u64>,
    /// The wanted elements, in the chunk's logical axes.
    pub(crate) want: Region,
    /// The picked ones among them, over the axes of the tile.
    pub(crate) picked: Picked,
    /// The chunk's logical axis `i` is axis `axes[i]` of the tile.
    pub(crate) axes: Vec<usize>,
    /// Which inner chunk it is, as in [`Broken`].
    pub(crate) inner_chunk: Vec<Vec<u64>>,
    /// Where it is kept in a cache, once decoded. It is then read whole.
    pub(crate) slot: Option<Box<Slot>>,
}

/// Broken values, if they are to be filled; `None` makes them errors.
pub(crate) type Damage = Option<Vec<Broken>>;

/// The stored bytes of the wanted part.
#[derive(Clone, Debug)]
pub(crate) enum Content {
    /// Nothing is stored.
    Missing,
    Whole(Bytes),
    /// From a cache.
    Decoded(Arc<Decoded>),
    /// Stored, and fetched just before it is decoded.
    Late(Range<u64>),
    Windows(Vec<(Window, Bytes)>),
}

impl Wanted {
    pub(crate) fn is_all(&self) -> bool {
        self.want
            .ranges()
            .iter()
            .zip(&self.shape)
            .all(|(range, &n)| range.start == 0 && range.end >= n)
    }

    /// True if only a part of the chunk is wanted, and can be read without the rest.
    fn has_windows(&self) -> bool {
        let is_part = !self.is_all() || matches!(self.picked, Picked::Boxes(_));
        matches!(self.chain.access(), Access::Raw { .. }) && self.slot.is_none() && is_part
    }

    /// The next fetch: the index of a shard, otherwise the wanted part.
    pub(crate) fn need(&self) -> Result<Want, EngineCause> {
        if let Some(at) = &self.at {
            check_inner_len(&self.chain, &self.shape, at)?;
        }
        if let Access::Indexed(sharding) = self.chain.access() {
            let layout = sharding.layout(&self.chain.stored(&self.shape));
            let Some(at) = &self.at else {
                return Ok(index_want(&layout));
            };
            let index = layout.index_of(at.clone()).ok_or_else(|| {
                let len = at.end - at.start;
                let index_len = layout.index_len();
                let what = format!("{len} bytes are too few for an index of {index_len}");
                CodecError::corrupt("sharding_indexed", what)
            });
            return Ok(Want::Ranges(vec![index?]));
        }
        if let Some(at) = &self.at
            && matches!(self.chain.access(), Access::Raw { .. })
        {
            self.check_len(at.end - at.start)?;
        }
        if self.has_windows() {
            let size = self.chain.elem_size() as u64;
            let start = self.at.as_ref().map_or(0, |at| at.start);
            let range =
                |window: Window| start + window.span.start * size..start + window.span.end * size;
            return Ok(Want::Ranges(
                self.windows().into_iter().map(range).collect(),
            ));
        }
        Ok(match &self.at {
            None => Want::Whole {
                limit: self.chain.encoded_limit(&self.shape),
            },
            Some(at) => Want::Ranges(vec![at.clone()]),
        })
    }

    /// The ranges that an inner chunk [needs](Self::need) next.
    pub(crate) fn ranges(&self) -> Result<Vec<Range<u64>>, EngineCause> {
        match self.need()? {
            Want::Ranges(ranges) => Ok(ranges),
            Want::Whole { .. } | Want::Tail(_) | Want::Size => Err(bad_answer()),
        }
    }

    /// The only range that it needs, if it is an inner chunk wanted as stored.
    pub(crate) fn one_range(&self) -> Option<Range<u64>> {
        match self.chain.access() {
            Access::Whole => self.at.clone(),
            Access::Raw { .. } if !self.has_windows() => self.at.clone(),
            Access::Raw { .. } | Access::Indexed(_) => None,
        }
    }

    fn check_len(&self, byte_len: u64) -> Result<(), CodecError> {
        let expected = self.chain.encoded_len(&self.shape).map(|len| len as u64);
        if expected == Some(byte_len) {
            return Ok(());
        }
        Err(CodecError::corrupt(
            "bytes",
            format!("{byte_len} bytes, but the chunk has {expected:?}"),
        ))
    }

    fn windows(&self) -> Vec<Window> {
        let size = self.chain.elem_size().max(1) as u64;
        let cost = WindowCost {
            request: REQUEST_BYTES / size,
            max_span: WINDOW_BYTES / size,
        };
        let shape = self.chain.stored(&self.shape);
        let windows_of = |want: &[Range<u64>]| {
            let stored = Region::new(self.chain.order().iter().map(|&axis| want[axis].clone()));
            windows(&shape, &stored, cost)
        };
        let whole = windows_of(self.want.ranges());
        let Picked::Boxes(boxes) = &self.picked else {
            return whole;
        };
        // Several boxes in a chunk may be far apart.
        let cost_of = |windows: &[Window]| {
            let each = windows
                .iter()
                .map(|window| window.span.end - window.span.start);
            each.fold(0, |sum: u64, len| {
                sum.saturating_add(len).saturating_add(cost.request)
            })
        };
        let whole_cost = cost_of(&whole);
        if boxes.len() as u64 > whole_cost / cost.request.max(1) {
            return whole;
        }
        let along = |picked: &Region, axis: usize| {
            let start = self.want.ranges()[axis].start;
            let range = &picked.ranges()[self.axes[axis]];
            start + range.start..start + range.end
        };
        let of_box = |picked: &Region| {
            let ranges: Vec<Range<u64>> = (0..self.axes.len())
                .map(|axis| along(picked, axis))
                .collect();
            windows_of(&ranges)
        };
        let mut of_boxes: Vec<Window> = boxes
            .iter()
            .flat_map(|(picked, _)| of_box(picked))
            .collect();
        of_boxes.sort_by_key(|window| (window.span.start, window.span.end));
        of_boxes.dedup();
        if cost_of(&of_boxes) < whole_cost {
            of_boxes
        } else {
            whole
        }
    }

    /// Takes the parts that [`need`](Self::need) asked for, of a chunk that is not a shard.
    /// `value_len` is the size of the stored value.
    pub(crate) fn content(
        &self,
        parts: Vec<Bytes>,
        value_len: u64,
    ) -> Result<Content, EngineCause> {
        if !self.has_windows() {
            return Ok(Content::Whole(first_part(parts)?));
        }
        if self.at.is_none() {
            self.check_len(value_len)?;
        }
        let windows = self.windows();
        if windows.len() != parts.len() {
            return Err(bad_answer());
        }
        Ok(Content::Windows(windows.into_iter().zip(parts).collect()))
    }

    /// Its content from a cache, if the entry has that.
    pub(crate) fn cached_content(&self, entry: &Entry) -> Option<Content> {
        match &entry.held {
            _ if entry.shape != self.shape => None,
            Held::Missing => Some(Content::Missing),
            Held::Decoded(decoded) => Some(Content::Decoded(Arc::clone(decoded))),
            Held::Encoded(bytes) => Some(Content::Whole(bytes.clone())),
            Held::Index(..) => None,
        }
    }

    /// Treats a broken value as missing, if requested.
    pub(crate) fn give_up(
        &self,
        cause: EngineCause,
        damage: &mut Damage,
    ) -> Result<(), EngineCause> {
        match damage {
            Some(damage) if cause.is_corrupt() => {
                damage.push(Broken::new(&self.inner_chunk, cause));
                Ok(())
            }
            _ => Err(cause.within(&self.inner_chunk)),
        }
    }

    /// The wanted elements among all decoded ones of this layout, over the axes of the tile. An N5
    /// block may have fewer than are wanted.
    pub(crate) fn part(&self, layout: &Layout) -> Layout {
        let mut part = layout.permuted(&self.axes);
        for (&axis, range) in self.axes.iter().zip(self.want.ranges()) {
            let start = range.start as usize;
            let end = (range.end as usize).min(part.extent[axis]);
            part.cut(axis, start, end.saturating_sub(start));
        }
        part
    }

    /// The elements of a window, over the axes of the tile, and the index of the first one there.
    pub(crate) fn window_part(&self, window: &Window) -> (Layout, Vec<usize>) {
        let swap = match self.chain.access() {
            Access::Raw { swap } => swap,
            Access::Whole | Access::Indexed(_) => Swap::None,
        };
        let shape: Vec<usize> = self
            .chain
            .stored(&self.shape)
            .iter()
            .map(|&n| n as usize)
            .collect();
        let stored = Layout {
            extent: window.region.shape().iter().map(|&n| n as usize).collect(),
            ..Layout::c_order(&shape, swap)
        };
        let tile_axes: Vec<usize> = self
            .chain
            .order()
            .iter()
            .map(|&axis| self.axes[axis])
            .collect();
        let mut at = vec![0; tile_axes.len()];
        for ((&logical, &axis), range) in self
            .chain
            .order()
            .iter()
            .zip(&tile_axes)
            .zip(window.region.ranges())
        {
            at[axis] = (range.start - self.want.ranges()[logical].start) as usize;
        }
        (stored.permuted(&tile_axes), at)
    }
}

/// The request for the index of a shard that is a whole value.
pub(crate) fn index_want(layout: &ShardLayout) -> Want {
    let len = layout.index_len();
    if layout.ends_with_index() {
        Want::Tail(len)
    } else {
        Want::Ranges(vec![0..len])
    }
}

/// Checks the range that an index states for an inner chunk of this shape.
pub(crate) fn check_inner_len(
    chain: &CodecChain,
    shape: &[u64],
    at: &Range<u64>,
) -> Result<(), CodecError> {
    let len = at.end - at.start;
    if len <= chain.encoded_limit(shape) {
        return Ok(());
    }
    let what = format!("an inner chunk of {len} bytes is too large for its shape");
    Err(CodecError::corrupt("sharding_indexed", what))
}
