//! `Wanted`: a region of a chunk or inner chunk to be read. It states the stored bytes that it needs,
//! and its `Job` decodes them into a tile.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use ndzarr_codec::{Access, Ahead, CodecChain, CodecError, Elements, Layout, ShardLayout, Swap, Workspace};
use ndzarr_grid::{Region, Window, WindowCost, windows};
use ndzarr_store::Want;

use crate::cache::{Decoded, Entry, Held, Slot};
use crate::error::bad_answer;
use crate::reading::merge_ranges::first_part;
use crate::tile::{Picked, put_from_anywhere};
use crate::{Broken, EngineCause, Tile};

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
    /// Which of them, over the axes of the tile.
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
        self.want.ranges().iter().zip(&self.shape).all(|(range, &n)| range.start == 0 && range.end >= n)
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
            let Some(at) = &self.at else { return Ok(index_want(&layout)) };
            let index = layout.index_of(at.clone()).ok_or_else(|| {
                let (len, index_len) = (at.end - at.start, layout.index_len());
                let what = format!("{len} bytes are too few for an index of {index_len}");
                CodecError::corrupt("sharding_indexed", what)
            });
            return Ok(Want::Ranges(vec![index?]));
        }
        if let (Access::Raw { .. }, Some(at)) = (self.chain.access(), &self.at) {
            self.check_len(at.end - at.start)?;
        }
        if self.has_windows() {
            let size = self.chain.elem_size() as u64;
            let start = self.at.as_ref().map_or(0, |at| at.start);
            let range = |window: Window| start + window.span.start * size..start + window.span.end * size;
            return Ok(Want::Ranges(self.windows().into_iter().map(range).collect()));
        }
        Ok(match &self.at {
            None => Want::Whole { limit: self.chain.encoded_limit(&self.shape) },
            Some(at) => Want::Ranges(vec![at.clone()]),
        })
    }

    /// Like [`need`](Self::need), for an inner chunk.
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
        Err(CodecError::corrupt("bytes", format!("{byte_len} bytes, but the chunk has {expected:?}")))
    }

    fn windows(&self) -> Vec<Window> {
        let size = self.chain.elem_size().max(1) as u64;
        let cost = WindowCost { request: REQUEST_BYTES / size, max_span: WINDOW_BYTES / size };
        let shape = self.chain.stored(&self.shape);
        let of = |want: &[Range<u64>]| {
            windows(&shape, &Region::new(self.chain.order().iter().map(|&axis| want[axis].clone())), cost)
        };
        let whole = of(self.want.ranges());
        let Picked::Boxes(boxes) = &self.picked else { return whole };
        // Several boxes in a chunk may be far apart.
        let cost_of = |windows: &[Window]| {
            let each = windows.iter().map(|window| window.span.end - window.span.start);
            each.fold(0, |sum: u64, len| sum.saturating_add(len).saturating_add(cost.request))
        };
        let all = cost_of(&whole);
        if boxes.len() as u64 > all / cost.request.max(1) {
            return whole;
        }
        let along = |part: &Region, axis: usize| {
            let (start, range) = (self.want.ranges()[axis].start, &part.ranges()[self.axes[axis]]);
            start + range.start..start + range.end
        };
        let parts = boxes.iter().flat_map(|(part, _)| {
            of(&(0..self.axes.len()).map(|axis| along(part, axis)).collect::<Vec<_>>())
        });
        let mut parts: Vec<Window> = parts.collect();
        parts.sort_by_key(|window| (window.span.start, window.span.end));
        parts.dedup();
        if cost_of(&parts) < all { parts } else { whole }
    }

    /// Takes the parts that [`need`](Self::need) asked for, of a chunk that is not a shard.
    /// `value_len` is the size of the stored value.
    pub(crate) fn content(&self, parts: Vec<Bytes>, value_len: u64) -> Result<Content, EngineCause> {
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

    /// The content that a cache has.
    pub(crate) fn kept(&self, entry: &Entry) -> Option<Content> {
        match &entry.held {
            _ if entry.shape != self.shape => None,
            Held::Missing => Some(Content::Missing),
            Held::Decoded(decoded) => Some(Content::Decoded(Arc::clone(decoded))),
            Held::Encoded(bytes) => Some(Content::Whole(bytes.clone())),
            Held::Index(..) => None,
        }
    }

    /// Treats a broken value as missing, if requested.
    pub(crate) fn give_up(&self, cause: EngineCause, damage: &mut Damage) -> Result<(), EngineCause> {
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
    fn part(&self, layout: &Layout) -> Layout {
        let mut part = layout.permuted(&self.axes);
        for (&axis, range) in self.axes.iter().zip(self.want.ranges()) {
            let (start, end) = (range.start as usize, range.end as usize);
            part.cut(axis, start, end.min(part.extent[axis]).saturating_sub(start));
        }
        part
    }

    /// The elements of a window, over the axes of the tile, and the index of the first one there.
    fn window_part(&self, window: &Window) -> (Layout, Vec<usize>) {
        let swap = match self.chain.access() {
            Access::Raw { swap } => swap,
            Access::Whole | Access::Indexed(_) => Swap::None,
        };
        let shape: Vec<usize> = self.chain.stored(&self.shape).iter().map(|&n| n as usize).collect();
        let stored = Layout {
            extent: window.region.shape().iter().map(|&n| n as usize).collect(),
            ..Layout::c_order(&shape, swap)
        };
        let tile_axes: Vec<usize> = self.chain.order().iter().map(|&axis| self.axes[axis]).collect();
        let mut at = vec![0; tile_axes.len()];
        for ((&logical, &axis), range) in
            self.chain.order().iter().zip(&tile_axes).zip(window.region.ranges())
        {
            at[axis] = (range.start - self.want.ranges()[logical].start) as usize;
        }
        (stored.permuted(&tile_axes), at)
    }
}

/// A piece of work that fills a tile, with all its I/O done.
pub struct Job<'t> {
    tile: Box<dyn Tile + 't>,
    wanted: Wanted,
    content: Content,
    /// The decoded content, if [`Job::decode_two`] has produced it. Boxed, since a shard may have
    /// very many jobs.
    ahead: Option<Box<Ahead>>,
}

impl<'t> Job<'t> {
    pub(crate) fn new(wanted: Wanted, content: Content, tile: Box<dyn Tile + 't>) -> Self {
        Self { tile, wanted, content, ahead: None }
    }

    /// Fills its part of the output.
    ///
    /// # Errors
    /// The stored value is broken; the tile's type does not allow the elements.
    pub fn run(mut self, workspace: &mut Workspace) -> Result<(), EngineCause> {
        self.attempt(workspace).map_err(|cause| self.within(cause))
    }

    /// Like [`run`](Self::run), but fills the elements missing from a broken value and returns what
    /// is broken.
    ///
    /// # Errors
    /// The configuration does not fit; the tile's type does not allow the fill value.
    pub fn run_or_fill(mut self, workspace: &mut Workspace) -> Result<Option<Broken>, EngineCause> {
        match self.attempt(workspace) {
            Ok(()) => Ok(None),
            Err(cause) if cause.is_corrupt() => self.fill_over(cause).map(Some),
            Err(cause) => Err(self.within(cause)),
        }
    }

    /// An error in what it decodes.
    pub(crate) fn within(&self, cause: EngineCause) -> EngineCause {
        cause.within(&self.wanted.inner_chunk)
    }

    /// Fills the elements that a broken value does not have.
    pub(crate) fn fill_over(mut self, cause: EngineCause) -> Result<Broken, EngineCause> {
        self.tile.fill(self.wanted.chain.fill().bytes())?;
        Ok(Broken::new(&self.wanted.inner_chunk, cause))
    }

    /// The range of the pinned value that it still needs.
    pub(crate) fn late(&self) -> Option<Range<u64>> {
        match &self.content {
            Content::Late(range) => Some(range.clone()),
            Content::Missing | Content::Whole(_) | Content::Decoded(_) | Content::Windows(_) => None,
        }
    }

    /// Takes the range that [`late`](Self::late) asked for.
    pub(crate) fn supply(&mut self, part: Bytes) {
        self.content = Content::Whole(part);
    }

    /// True if [`decode_two`](Self::decode_two) may be worth a try.
    pub(crate) fn decodes_two(&self) -> bool {
        matches!(self.content, Content::Whole(_))
            && self.wanted.slot.is_none()
            && self.wanted.chain.decodes_two()
    }

    /// Decodes the values of two jobs together, where that is faster than one after the other. They
    /// still have to be run, and report errors in their values then.
    pub(crate) fn decode_two(&mut self, other: &mut Job<'_>, workspace: &mut Workspace) {
        let (Content::Whole(a), Content::Whole(b)) = (&self.content, &other.content) else { return };
        let chain = &self.wanted.chain;
        if !Arc::ptr_eq(chain, &other.wanted.chain) {
            return;
        }
        let both = chain.decode_two([a, b], [&self.wanted.shape, &other.wanted.shape], workspace);
        if let Some(both) = both {
            [self.ahead, other.ahead] = both.map(|ahead| Some(Box::new(ahead)));
        }
    }

    /// True if it decodes a whole stored value.
    pub(crate) fn is_for_whole_value(&self) -> bool {
        self.wanted.at.is_none() && matches!(self.content, Content::Whole(_))
    }

    /// Like [`attempt`](Self::attempt), with another value.
    pub(crate) fn attempt_with(
        &mut self,
        content: Content,
        workspace: &mut Workspace,
    ) -> Result<(), EngineCause> {
        self.content = content;
        self.attempt(workspace)
    }

    /// Fills its part of the output. A job that failed can be run again.
    pub(crate) fn attempt(&mut self, workspace: &mut Workspace) -> Result<(), EngineCause> {
        let Self { tile, wanted, content, ahead } = self;
        let (tile, chain) = (&mut **tile, &wanted.chain);
        if let Some(ahead) = ahead.take() {
            return chain
                .put_ahead(*ahead, workspace, |elements, layout| put(wanted, tile, elements, layout));
        }
        match content {
            Content::Missing => tile.fill(chain.fill().bytes()),
            Content::Late(_) => Err(bad_answer()),
            Content::Decoded(decoded) => put(wanted, tile, decoded.elements(), &decoded.layout),
            Content::Windows(windows) => windows.iter().try_for_each(|(window, bytes)| {
                let elements = Elements::Fixed { bytes, size: chain.elem_size() };
                let (part, at) = wanted.window_part(window);
                put_from_anywhere(tile, elements, &part, &at)
            }),
            Content::Whole(encoded) if wanted.slot.is_some() => {
                let decoded = decode_and_keep(wanted, encoded, workspace)?;
                put(wanted, tile, decoded.elements(), &decoded.layout)
            }
            Content::Whole(encoded) => {
                if wanted.is_all()
                    && wanted.axes.is_sorted()
                    && let Some(out) = tile.contiguous()
                    && chain.decode_into(encoded, &wanted.shape, out, workspace)?
                {
                    return Ok(());
                }
                decode(wanted, encoded, workspace, |elements, layout| put(wanted, tile, elements, layout))
            }
        }
    }

    /// A closure that decodes its value into separate memory, on any thread, for
    /// [`put`](Self::put); `None` if there is nothing to decode.
    pub(crate) fn detach(
        &mut self,
    ) -> Option<impl FnOnce(&mut Workspace) -> Result<Arc<Decoded>, EngineCause> + Send + 'static> {
        let Content::Whole(encoded) = &mut self.content else { return None };
        let (encoded, wanted) = (std::mem::take(encoded), self.wanted.clone());
        Some(move |workspace: &mut Workspace| {
            decode_and_keep(&wanted, &encoded, workspace).map_err(|cause| cause.within(&wanted.inner_chunk))
        })
    }

    /// Puts decoded elements in place.
    pub(crate) fn put(&mut self, decoded: &Decoded) -> Result<(), EngineCause> {
        let Self { wanted, tile, .. } = self;
        put(wanted, &mut **tile, decoded.elements(), &decoded.layout)
            .map_err(|cause| cause.within(&wanted.inner_chunk))
    }
}

/// Decodes a value into separate memory, all of it if it is kept in a cache.
fn decode_and_keep(
    wanted: &Wanted,
    encoded: &Bytes,
    workspace: &mut Workspace,
) -> Result<Arc<Decoded>, EngineCause> {
    let mut decoded = None;
    let take = |elements: Elements<'_>, layout: &Layout| {
        decoded = Some(Arc::new(Decoded::of(elements, layout)));
        Ok(())
    };
    match &wanted.slot {
        Some(_) => wanted.chain.decode(encoded, &wanted.shape, workspace, take)?,
        None => decode(wanted, encoded, workspace, take)?,
    }
    let decoded = decoded.ok_or_else(|| EngineCause::Element("no elements were decoded".to_owned()))?;
    if let Some(slot) = &wanted.slot {
        slot.keep(
            &wanted.shape,
            match slot.keeps_encoded() {
                true => Held::Encoded(encoded.clone()),
                false => Held::Decoded(Arc::clone(&decoded)),
            },
        );
    }
    Ok(decoded)
}

/// Decodes a value. Elements that are not wanted may have any value in `put`.
fn decode(
    wanted: &Wanted,
    encoded: &[u8],
    workspace: &mut Workspace,
    put: impl FnOnce(Elements<'_>, &Layout) -> Result<(), EngineCause>,
) -> Result<(), EngineCause> {
    let Wanted { chain, shape, want, .. } = wanted;
    if wanted.is_all() {
        return chain.decode(encoded, shape, workspace, put);
    }
    let window: Vec<Range<usize>> =
        want.ranges().iter().map(|range| range.start as usize..range.end as usize).collect();
    chain.decode_window(encoded, shape, &window, workspace, put)
}

/// Puts the wanted ones of decoded elements in place.
fn put(
    wanted: &Wanted,
    tile: &mut dyn Tile,
    elements: Elements<'_>,
    layout: &Layout,
) -> Result<(), EngineCause> {
    let part = wanted.part(layout);
    if part.extent != tile.shape() {
        // An N5 block that is smaller than its place: the rest is the fill value.
        tile.fill(wanted.chain.fill().bytes())?;
        if part.extent.contains(&0) {
            return Ok(());
        }
    }
    put_from_anywhere(tile, elements, &part, &vec![0; part.extent.len()])
}

/// The request for the index of a shard that is a whole value.
pub(crate) fn index_want(layout: &ShardLayout) -> Want {
    match layout.ends_with_index() {
        true => Want::Tail(layout.index_len()),
        false => Want::Ranges(vec![0..layout.index_len()]),
    }
}

/// Checks the range that an index states for an inner chunk of this shape.
pub(crate) fn check_inner_len(chain: &CodecChain, shape: &[u64], at: &Range<u64>) -> Result<(), CodecError> {
    let len = at.end - at.start;
    if len <= chain.encoded_limit(shape) {
        return Ok(());
    }
    let what = format!("an inner chunk of {len} bytes is too large for its shape");
    Err(CodecError::corrupt("sharding_indexed", what))
}
