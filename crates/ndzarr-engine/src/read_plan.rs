use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use ndzarr_codec::{Access, CodecChain, CodecError, Layout, Sharding, Swap, Workspace, c_strides};
use ndzarr_grid::{ChunkGrid, Region, Window, WindowCost, windows};
use ndzarr_model::IndexLocation;
use ndzarr_store::{Pin, StoreError};

use crate::decode_job::{DecodeWork, Job, Sink, WindowPart};
use crate::index_cache::CachedIndex;
use crate::tile::split_grid;
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
    want: Region,
    /// Its logical axis `i` is axis `axes[i]` of the tile.
    axes: Vec<usize>,
    /// Which inner chunk it is, as in [`Broken`].
    inner_chunk: Vec<Vec<u64>>,
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
    Inner(Inner),
}

/// The inner chunks of a shard that meet the wanted region, in C order over the stored axes.
#[derive(Debug)]
pub(crate) struct Inner {
    nodes: Vec<Node>,
    /// Along each stored axis, how much of the wanted region each of them covers.
    cuts: Vec<Vec<usize>>,
    /// Stored axis `j` is axis `axes[j]` of the tile.
    axes: Vec<usize>,
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

    /// Visits what is not resolved yet, in a fixed order.
    pub(crate) fn each_open(
        &mut self,
        damage: &mut Damage,
        visit: &mut dyn FnMut(&mut Self, &mut Damage) -> Result<(), EngineCause>,
    ) -> Result<(), EngineCause> {
        match &mut self.state {
            State::Open => visit(self, damage).or_else(|cause| self.give_up(cause, damage)),
            State::Inner(inner) => inner.nodes.iter_mut().try_for_each(|node| node.each_open(damage, visit)),
            State::Missing | State::Whole(_) | State::Late(_) | State::Windows(_) => Ok(()),
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

    /// Takes the parts that [`need`](Self::need) asked for. Returns the index, if it is a shard's.
    pub(crate) fn resolve(
        &mut self,
        parts: &mut dyn Iterator<Item = Bytes>,
        value_len: u64,
        pin: &Pin,
        damage: &mut Damage,
        workspace: &mut Workspace,
    ) -> Result<Option<CachedIndex>, EngineCause> {
        let chain = Arc::clone(&self.chain);
        match chain.access() {
            Access::Raw { .. } if !self.is_all_wanted() => {
                if self.at.is_none()
                    && chain.encoded_len(&self.shape).map(|len| len as u64) != Some(value_len)
                {
                    let what =
                        format!("{value_len} bytes where the chunk has {:?}", chain.encoded_len(&self.shape));
                    return Err(CodecError::corrupt("bytes", what).into());
                }
                let windows = self
                    .windows()
                    .into_iter()
                    .map(|window| Ok((window, parts.next().ok_or_else(bad_answer)?)));
                self.state = State::Windows(windows.collect::<Result<_, EngineCause>>()?);
                Ok(None)
            }
            Access::Whole | Access::Raw { .. } => {
                self.state = State::Whole(parts.next().ok_or_else(bad_answer)?);
                Ok(None)
            }
            Access::Indexed(sharding) => {
                let part = parts.next().ok_or_else(bad_answer)?;
                let len = self.at.as_ref().map_or(value_len, |range| range.end - range.start);
                let index = sharding.decode_index(&part, &chain.stored(&self.shape), len, workspace)?;
                let cached = CachedIndex { pin: pin.clone(), index: Arc::new(index) };
                self.expand(sharding, &cached, damage)?;
                Ok(Some(cached))
            }
        }
    }

    /// Makes nodes of the inner chunks that meet the wanted region.
    pub(crate) fn expand(
        &mut self,
        sharding: &Arc<Sharding>,
        cached: &CachedIndex,
        damage: &mut Damage,
    ) -> Result<(), EngineCause> {
        let order = self.chain.order();
        let stored_shape = self.chain.stored(&self.shape);
        let want = Region::new(order.iter().map(|&axis| self.want.ranges()[axis].clone()));
        let grid = ChunkGrid::regular(&stored_shape, sharding.chunk_shape())
            .map_err(|error| CodecError::config("sharding_indexed", error))?;
        let counts = grid.grid_shape();
        let axes: Vec<usize> = order.iter().map(|&axis| self.axes[axis]).collect();
        let start = self.at.as_ref().map_or(0, |range| range.start);
        let mut nodes = Vec::new();
        for overlap in grid.overlaps(&want) {
            let linear = overlap
                .chunk
                .iter()
                .zip(&counts)
                .fold(0, |linear, (&c, &n)| linear * n as usize + c as usize);
            let entry = cached.index.entry(linear);
            let mut index = vec![0; axes.len()];
            for (&axis, &at) in axes.iter().zip(&overlap.chunk) {
                index[axis] = at;
            }
            let mut node = Self {
                chain: Arc::clone(sharding.chunks()),
                state: State::Missing,
                at: None,
                shape: sharding.chunk_shape().to_vec(),
                want: overlap.in_chunk,
                axes: axes.clone(),
                inner_chunk: [&self.inner_chunk[..], &[index]].concat(),
            };
            match entry {
                Ok(None) => {}
                Ok(Some(range)) => {
                    node.at = Some(start + range.start..start + range.end);
                    node.state = State::Open;
                }
                Err(error) => node.give_up(error.into(), damage)?,
            }
            nodes.push(node);
        }
        let cuts =
            want.ranges().iter().zip(sharding.chunk_shape()).map(|(range, &len)| cuts(range, len)).collect();
        self.state = State::Inner(Inner { nodes, cuts, axes });
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
    fn decode<'t>(self, encoded: Bytes, late: Option<Range<u64>>, tile: Box<dyn Tile + 't>) -> Job<'t> {
        let mut start = vec![0; self.shape.len()];
        for (axis, range) in self.axes.iter().zip(self.want.ranges()) {
            start[*axis] = range.start as usize;
        }
        let all = self.is_all_wanted();
        let Self { chain, shape, inner_chunk, axes, .. } = self;
        let work = DecodeWork { chain, encoded, ahead: None, late, shape, inner_chunk };
        Job::Decode { work, sink: Sink { tile, start, axes, all } }
    }

    pub(crate) fn jobs<'t>(mut self, tile: Box<dyn Tile + 't>, jobs: &mut Vec<Job<'t>>) {
        match std::mem::replace(&mut self.state, State::Open) {
            State::Open | State::Missing => {
                jobs.push(Job::Fill { tile, fill: self.chain.fill().bytes().to_vec() });
            }
            State::Whole(encoded) => jobs.push(self.decode(encoded, None, tile)),
            State::Late(at) => jobs.push(self.decode(Bytes::new(), Some(at), tile)),
            State::Windows(windows) => {
                let size = self.chain.elem_size();
                let order = self.chain.order();
                let stored_shape = self.chain.stored(&self.shape);
                let strides = c_strides(&stored_shape.iter().map(|&n| n as usize).collect::<Vec<_>>());
                let Access::Raw { swap } = self.chain.access() else { return };
                let parts = windows
                    .into_iter()
                    .map(|(window, bytes)| {
                        window_part(&window, bytes, &self.want, order, &self.axes, &strides, swap.clone())
                    })
                    .collect();
                let fill = self.chain.fill().bytes().to_vec();
                jobs.push(Job::Windows { tile, parts, size, fill, inner_chunk: self.inner_chunk });
            }
            State::Inner(inner) => {
                let n = inner.axes.len();
                let mut cuts = vec![Vec::new(); n];
                for (stored, &axis) in inner.axes.iter().enumerate() {
                    cuts[axis] = inner.cuts[stored].clone();
                }
                let counts: Vec<usize> = cuts.iter().map(Vec::len).collect();
                let mut tiles: Vec<Option<Box<dyn Tile + 't>>> =
                    split_grid(tile, &cuts).into_iter().map(Some).collect();
                let mut index = vec![0; n];
                for node in inner.nodes {
                    // Nodes run over the stored axes in C order, tiles over their own.
                    let mut at = vec![0; n];
                    for (stored, &axis) in inner.axes.iter().enumerate() {
                        at[axis] = index[stored];
                    }
                    let linear = at.iter().zip(&counts).fold(0, |linear, (&i, &n)| linear * n + i);
                    if let Some(tile) = tiles.get_mut(linear).and_then(Option::take) {
                        node.jobs(tile, jobs);
                    }
                    for stored in (0..n).rev() {
                        index[stored] += 1;
                        if index[stored] < inner.cuts[stored].len() {
                            break;
                        }
                        index[stored] = 0;
                    }
                }
            }
        }
    }
}

/// How much of a range each of the chunks of length `len` covers.
pub(crate) fn cuts(range: &Range<u64>, len: u64) -> Vec<usize> {
    let mut cuts = Vec::new();
    let mut start = range.start;
    while start < range.end {
        let end = (start / len + 1).saturating_mul(len).min(range.end);
        cuts.push((end - start) as usize);
        start = end;
    }
    if cuts.is_empty() {
        cuts.push(0);
    }
    cuts
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
