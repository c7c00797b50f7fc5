//! Plans what a read fetches from one chunk, level by level of its shards.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use ndzarr_codec::{Access, CodecChain, CodecError, Layout, Sharding, Swap, Workspace, c_strides};
use ndzarr_grid::{Region, Window, WindowCost, windows};
use ndzarr_model::IndexLocation;
use ndzarr_store::{Pin, RangeMerging, StoreError, Want};

use crate::decode_job::{DecodeWork, Job, Sink, WindowPart};
use crate::index_cache::CachedIndex;
use crate::inner_chunks::InnerChunks;
use crate::merge_ranges::{FetchedRanges, WantedRanges};
use crate::{Broken, EngineCause, Tile};

/// A request costs about as much as reading so many bytes more from the page cache.
pub(crate) const REQUEST_BYTES: u64 = 16 << 10;

/// The most bytes that one window of a raw chunk spans.
pub(crate) const WINDOW_BYTES: u64 = 4 << 20;

/// A value within the value: the chunk, an inner chunk of a shard, an inner chunk of that …
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) chain: Arc<CodecChain>,
    /// Where it is in the stored value; `None`: it is all of it.
    pub(crate) at: Option<Range<u64>>,
    pub(crate) shape: Vec<u64>,
    /// What of it is wanted, in its logical axes.
    pub(crate) want: Region,
    /// Its logical axis `i` is axis `axes[i]` of the tile.
    pub(crate) axes: Vec<usize>,
    /// Which inner chunk it is, as in [`Broken`].
    pub(crate) inner_chunk: Vec<Vec<u64>>,
    pub(crate) state: State,
}

/// What is broken, where that is to be filled; else it is an error.
pub(crate) type Damage = Option<Vec<Broken>>;

#[derive(Debug)]
pub(crate) enum State {
    /// Nothing is known yet.
    Open,
    /// Nothing is stored.
    Missing,
    Whole(Bytes),
    /// Stored, and to be fetched just before it is decoded.
    Late(Range<u64>),
    Windows(Vec<(Window, Bytes)>),
    Inner(Box<InnerChunks>),
}

/// What a node needs next.
pub(crate) enum Need {
    Whole,
    Tail(u64),
    Ranges(Vec<Range<u64>>),
}

impl Node {
    pub(crate) fn root(chain: &Arc<CodecChain>, shape: &[u64], want: &Region) -> Self {
        Self {
            chain: Arc::clone(chain),
            at: None,
            shape: shape.to_vec(),
            want: want.clone(),
            axes: (0..shape.len()).collect(),
            inner_chunk: Vec::new(),
            state: State::Open,
        }
    }

    /// Adds the ranges that it needs next; returns what it needs instead, if that is anything else.
    pub(crate) fn collect(
        &mut self,
        ranges: &mut WantedRanges,
        damage: &mut Damage,
    ) -> Result<Option<Want>, EngineCause> {
        match &mut self.state {
            State::Open => match self.need() {
                Ok(Need::Whole) => {
                    return Ok(Some(Want::Whole { limit: self.chain.encoded_limit(&self.shape) }));
                }
                Ok(Need::Tail(n)) => return Ok(Some(Want::Tail(n))),
                Ok(Need::Ranges(needed)) => ranges.extend(needed),
                Err(cause) => self.give_up(cause, damage)?,
            },
            State::Inner(inner) => inner.collect(ranges, damage)?,
            State::Missing | State::Whole(_) | State::Late(_) | State::Windows(_) => {}
        }
        Ok(None)
    }

    /// Size of what is needed next, if that is inner chunks alone, as they are stored.
    pub(crate) fn inner_bytes(&self) -> Option<u64> {
        match &self.state {
            State::Open => None,
            State::Inner(inner) => inner.bytes(),
            State::Missing | State::Whole(_) | State::Late(_) | State::Windows(_) => Some(0),
        }
    }

    /// Leaves inner chunks to be fetched just before they are decoded.
    pub(crate) fn postpone(&mut self) {
        if let State::Inner(inner) = &mut self.state {
            inner.postpone();
        }
    }

    /// Takes a broken value for a missing one, where that is wanted.
    pub(crate) fn give_up(&mut self, cause: EngineCause, damage: &mut Damage) -> Result<(), EngineCause> {
        match damage {
            Some(damage) if cause.is_corrupt() => {
                damage.push(Broken { inner_chunk: self.inner_chunk.clone(), cause });
                self.state = State::Missing;
                Ok(())
            }
            _ => Err(cause),
        }
    }

    fn is_all_wanted(&self) -> bool {
        self.want.contains(&Region::whole(&self.shape))
    }

    pub(crate) fn need(&self) -> Result<Need, EngineCause> {
        let base = self.at.clone();
        let whole = |at: Option<Range<u64>>| match at {
            None => Need::Whole,
            Some(range) => Need::Ranges(vec![range]),
        };
        if let Some(range) = &base
            && range.end - range.start > self.chain.encoded_limit(&self.shape)
        {
            let what =
                format!("an inner chunk of {} bytes is too large for its shape", range.end - range.start);
            return Err(CodecError::corrupt("sharding_indexed", what).into());
        }
        match self.chain.access() {
            Access::Whole => Ok(whole(base)),
            Access::Raw { .. } => {
                let size = self.chain.elem_size() as u64;
                let expected = self.chain.encoded_len(&self.shape).map(|len| len as u64);
                if let Some(range) = &base
                    && Some(range.end - range.start) != expected
                {
                    let what = format!("{} bytes where the chunk has {expected:?}", range.end - range.start);
                    return Err(CodecError::corrupt("bytes", what).into());
                }
                if self.is_all_wanted() {
                    return Ok(whole(base));
                }
                let start = base.map_or(0, |range| range.start);
                Ok(Need::Ranges(
                    self.windows()
                        .into_iter()
                        .map(|window| start + window.span.start * size..start + window.span.end * size)
                        .collect(),
                ))
            }
            Access::Indexed(sharding) => {
                let len = sharding.index_len(&self.chain.stored(&self.shape)).unwrap_or(usize::MAX) as u64;
                match (base, sharding.location()) {
                    (None, IndexLocation::End) => Ok(Need::Tail(len)),
                    (None, IndexLocation::Start) => Ok(Need::Ranges(vec![0..len])),
                    (Some(range), _) if range.end - range.start < len => {
                        let what =
                            format!("{} bytes are too few for an index of {len}", range.end - range.start);
                        Err(CodecError::corrupt("sharding_indexed", what).into())
                    }
                    (Some(range), IndexLocation::End) => Ok(Need::Ranges(vec![range.end - len..range.end])),
                    (Some(range), IndexLocation::Start) => {
                        Ok(Need::Ranges(vec![range.start..range.start + len]))
                    }
                }
            }
        }
    }

    fn windows(&self) -> Vec<Window> {
        let size = self.chain.elem_size().max(1) as u64;
        let stored = self.chain.stored(&self.shape);
        let want = Region::new(
            self.chain
                .stored(&(0..self.shape.len()).collect::<Vec<_>>())
                .into_iter()
                .map(|axis| self.want.ranges()[axis].clone()),
        );
        windows(&stored, &want, WindowCost { request: REQUEST_BYTES / size, max_span: WINDOW_BYTES / size })
    }

    /// Takes the ranges that [`collect`](Self::collect) asked for. Returns the index, if it is a shard's.
    pub(crate) fn supply(
        &mut self,
        fetched: &Arc<FetchedRanges>,
        of: &Value,
        damage: &mut Damage,
        workspace: &mut Workspace,
    ) -> Result<Option<CachedIndex>, EngineCause> {
        match &mut self.state {
            State::Open => {
                let mut take = || {
                    let parts =
                        self.ranges()?.iter().map(|range| fetched.cut(range)).collect::<Result<_, _>>()?;
                    self.resolve(parts, of, damage, workspace)
                };
                match take() {
                    Ok(index) => Ok(index),
                    Err(cause) => self.give_up(cause, damage).map(|()| None),
                }
            }
            State::Inner(inner) => inner.supply(fetched, of, damage, workspace).map(|()| None),
            State::Missing | State::Whole(_) | State::Late(_) | State::Windows(_) => Ok(None),
        }
    }

    /// Takes the parts that [`need`](Self::need) asked for. Returns the index, if it is a shard's.
    pub(crate) fn resolve(
        &mut self,
        parts: Vec<Bytes>,
        of: &Value,
        damage: &mut Damage,
        workspace: &mut Workspace,
    ) -> Result<Option<CachedIndex>, EngineCause> {
        let chain = Arc::clone(&self.chain);
        match chain.access() {
            Access::Whole | Access::Raw { .. } => {
                let expected = chain.encoded_len(&self.shape).map(|len| len as u64);
                if self.has_windows() && self.at.is_none() && expected != Some(of.len) {
                    let what = format!("{} bytes where the chunk has {expected:?}", of.len);
                    return Err(CodecError::corrupt("bytes", what).into());
                }
                self.content(parts).map(|()| None)
            }
            Access::Indexed(sharding) => {
                let part = first_part(parts)?;
                let len = self.at.as_ref().map_or(of.len, |range| range.end - range.start);
                let index = sharding.decode_index(&part, &chain.stored(&self.shape), len, workspace)?;
                let cached = CachedIndex { pin: of.pin.clone(), index: Arc::new(index) };
                self.expand(sharding, &cached, of.merging, damage)?;
                Ok(Some(cached))
            }
        }
    }

    /// Whether some of it is wanted, and can be had without the rest.
    fn has_windows(&self) -> bool {
        matches!(self.chain.access(), Access::Raw { .. }) && !self.is_all_wanted()
    }

    /// Takes the parts that [`need`](Self::need) asked for, of what is no shard.
    pub(crate) fn content(&mut self, parts: Vec<Bytes>) -> Result<(), EngineCause> {
        self.state = if self.has_windows() {
            let windows = self.windows();
            if windows.len() != parts.len() {
                return Err(bad_answer());
            }
            State::Windows(windows.into_iter().zip(parts).collect())
        } else {
            State::Whole(first_part(parts)?)
        };
        Ok(())
    }

    /// As [`need`](Self::need), of an inner chunk.
    pub(crate) fn ranges(&self) -> Result<Vec<Range<u64>>, EngineCause> {
        match self.need()? {
            Need::Ranges(ranges) => Ok(ranges),
            Need::Whole | Need::Tail(_) => Err(bad_answer()),
        }
    }

    /// Says where an inner chunk is; `None`: it is not stored.
    pub(crate) fn locate(&mut self, at: Option<Range<u64>>) {
        self.state = if at.is_some() { State::Open } else { State::Missing };
        self.at = at;
    }

    /// Turns to the inner chunks that meet the wanted region.
    pub(crate) fn expand(
        &mut self,
        sharding: &Arc<Sharding>,
        cached: &CachedIndex,
        merging: RangeMerging,
        damage: &mut Damage,
    ) -> Result<(), EngineCause> {
        self.state = State::Inner(InnerChunks::new(self, sharding, &cached.index, merging, damage)?.into());
        Ok(())
    }

    /// The only range that it needs, if it is an inner chunk that is wanted as it is stored.
    pub(crate) fn one_range(&self) -> Option<Range<u64>> {
        match self.chain.access() {
            Access::Whole => self.at.clone(),
            Access::Raw { .. } if self.is_all_wanted() => self.at.clone(),
            Access::Raw { .. } | Access::Indexed(_) => None,
        }
    }

    /// A job that decodes what is stored: `encoded`, or what is yet to be fetched from `late`.
    fn decode<'t>(&self, encoded: Bytes, late: Option<Range<u64>>, tile: Box<dyn Tile + 't>) -> Job<'t> {
        let mut start = vec![0; self.shape.len()];
        for (axis, range) in self.axes.iter().zip(self.want.ranges()) {
            start[*axis] = range.start as usize;
        }
        let work = DecodeWork {
            chain: Arc::clone(&self.chain),
            encoded,
            ahead: None,
            late,
            shape: self.shape.clone(),
            inner_chunk: self.inner_chunk.clone(),
        };
        Job::Decode { work, sink: Sink { tile, start, axes: self.axes.clone(), all: self.is_all_wanted() } }
    }

    /// The job that fills the tile, where there are no inner chunks.
    pub(crate) fn job<'t>(&self, tile: Box<dyn Tile + 't>) -> Job<'t> {
        let fill = || self.chain.fill().bytes().to_vec();
        match (&self.state, self.chain.access()) {
            (State::Whole(encoded), _) => self.decode(encoded.clone(), None, tile),
            (State::Late(at), _) => self.decode(Bytes::new(), Some(at.clone()), tile),
            (State::Windows(windows), Access::Raw { swap }) => {
                let order = self.chain.order();
                let stored_shape = self.chain.stored(&self.shape);
                let strides = c_strides(&stored_shape.iter().map(|&n| n as usize).collect::<Vec<_>>());
                let part = |(window, bytes): &(Window, Bytes)| {
                    window_part(window, bytes.clone(), &self.want, order, &self.axes, &strides, swap.clone())
                };
                let parts = windows.iter().map(part).collect();
                let (size, inner_chunk) = (self.chain.elem_size(), self.inner_chunk.clone());
                Job::Windows { tile, parts, size, fill: fill(), inner_chunk }
            }
            _ => Job::Fill { tile, fill: fill() },
        }
    }
}

/// The stored value that something was read from.
pub(crate) struct Value {
    pub(crate) pin: Pin,
    /// Size in bytes.
    pub(crate) len: u64,
    /// How ranges of it are merged.
    pub(crate) merging: RangeMerging,
}

fn first_part(parts: Vec<Bytes>) -> Result<Bytes, EngineCause> {
    parts.into_iter().next().ok_or_else(bad_answer)
}

fn window_part(
    window: &Window,
    bytes: Bytes,
    want: &Region,
    order: &[usize],
    axes: &[usize],
    strides: &[isize],
    swap: Swap,
) -> WindowPart {
    let n = order.len();
    let mut layout = Layout { extent: vec![0; n], strides: vec![0; n], swap };
    let mut dst = vec![0; n];
    for (stored, &logical) in order.iter().enumerate() {
        let axis = axes[logical];
        let range = &window.region.ranges()[stored];
        layout.extent[axis] = (range.end - range.start) as usize;
        layout.strides[axis] = strides[stored];
        dst[axis] = (range.start - want.ranges()[logical].start) as usize;
    }
    WindowPart { bytes, layout, dst }
}

pub(crate) fn bad_answer() -> EngineCause {
    StoreError::Other {
        action: "read",
        key: String::new(),
        what: "the store gave other parts than asked for".into(),
    }
    .into()
}
