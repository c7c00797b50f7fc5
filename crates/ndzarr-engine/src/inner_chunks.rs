//! Finds the inner chunks of a shard that a read needs and collects their bytes.

use std::ops::Range;
use std::sync::Arc;

use ndzarr_codec::{Access, CodecError, ShardIndex, Sharding, Workspace};
use ndzarr_grid::{ChunkGrid, Region};
use ndzarr_store::RangeMerging;

use crate::blocks::{Piece, Pieces};
use crate::merge_ranges::{FetchedRanges, WantedRanges};
use crate::read_plan::{Damage, Node, State, Value, bad_answer};
use crate::read_region::Output;
use crate::sequence::Sequence;
use crate::{EngineCause, Job, Tile};

/// The inner chunks of a shard that meet a wanted region. There is a node of one as long as it is looked at: a shard may have
/// very many, and in memory are its index and the work in flight. Shards within shards have nodes all the time, as each has
/// an index.
#[derive(Debug)]
pub(crate) struct InnerChunks {
    sharding: Arc<Sharding>,
    index: Arc<ShardIndex>,
    /// Where the shard begins in the stored value.
    start: u64,
    /// How many inner chunks there are along the stored axes.
    counts: Vec<u64>,
    /// Stored axis `j` is axis `axes[j]` of the tile.
    axes: Vec<usize>,
    /// Their grid, over the axes of the tile.
    grid: ChunkGrid,
    /// What is wanted of the shard, over the axes of the tile.
    want: Region,
    /// Which inner chunk the shard itself is, as in [`Broken`](crate::Broken).
    inner_chunk: Vec<Vec<u64>>,
    state: Fetching,
}

#[derive(Debug)]
enum Fetching {
    /// Shards themselves, in C order over the axes of the tile.
    Shards(Vec<Node>),
    Open {
        wanted: WantedRanges,
        /// How many bytes are wanted, if all inner chunks are as they are stored.
        bytes: Option<u64>,
    },
    Late,
    Here(Arc<FetchedRanges>),
}

impl InnerChunks {
    /// Those of the shard `node`. Each is checked as far as the index tells of it.
    pub(crate) fn new(
        node: &Node,
        sharding: &Arc<Sharding>,
        index: &Arc<ShardIndex>,
        merging: RangeMerging,
        damage: &mut Damage,
    ) -> Result<Self, EngineCause> {
        let order = node.chain.order();
        let shape = node.chain.stored(&node.shape);
        let axes: Vec<usize> = order.iter().map(|&axis| node.axes[axis]).collect();
        let (mut tile_shape, mut chunk_shape) = (vec![0; axes.len()], vec![0; axes.len()]);
        let mut want = vec![0..0; axes.len()];
        for (stored, &axis) in axes.iter().enumerate() {
            (tile_shape[axis], chunk_shape[axis]) = (shape[stored], sharding.chunk_shape()[stored]);
            want[axis] = node.want.ranges()[order[stored]].clone();
        }
        let grid = ChunkGrid::regular(&tile_shape, &chunk_shape)
            .map_err(|error| CodecError::config("sharding_indexed", error))?;
        let mut inner = Self {
            sharding: Arc::clone(sharding),
            index: Arc::clone(index),
            start: node.at.as_ref().map_or(0, |range| range.start),
            counts: sharding.chunks_per_shard(&shape),
            axes,
            grid,
            want: Region::new(want),
            inner_chunk: node.inner_chunk.clone(),
            state: Fetching::Late,
        };
        inner.state = match sharding.chunks().access() {
            Access::Indexed(_) => Fetching::Shards(inner.shards(damage)?),
            Access::Whole | Access::Raw { .. } => inner.survey(merging, damage)?,
        };
        Ok(inner)
    }

    fn shards(&self, damage: &mut Damage) -> Result<Vec<Node>, EngineCause> {
        let mut nodes = Vec::new();
        self.each(|chunk| {
            let mut node = self.node(chunk, self.wanted_of(chunk));
            match self.entry(chunk) {
                Ok(at) => node.locate(at),
                Err(cause) => node.give_up(cause, damage)?,
            }
            nodes.push(node);
            Ok(())
        })?;
        Ok(nodes)
    }

    /// Finds out what is to be fetched, and whether it can be right at all.
    fn survey(&self, merging: RangeMerging, damage: &mut Damage) -> Result<Fetching, EngineCause> {
        let (mut wanted, mut bytes) = (WantedRanges::new(merging), Some(0_u64));
        let is_raw = matches!(self.sharding.chunks().access(), Access::Raw { .. });
        let mut node: Option<Node> = None;
        self.each(|chunk| {
            // The same node for all of them, as far as it matters which one it is.
            let mut look = || {
                let Some(at) = self.entry(chunk)? else { return Ok(()) };
                let node = node.get_or_insert_with(|| self.node(chunk, self.wanted_of(chunk)));
                if is_raw {
                    *node = self.node(chunk, self.wanted_of(chunk));
                }
                node.locate(Some(at));
                let ranges = node.ranges()?;
                bytes = bytes.zip(node.one_range()).map(|(sum, one)| sum.saturating_add(one.end - one.start));
                wanted.extend(ranges);
                Ok::<_, EngineCause>(())
            };
            look().or_else(|cause| self.node(chunk, self.wanted_of(chunk)).give_up(cause, damage))
        })?;
        Ok(Fetching::Open { wanted, bytes })
    }

    /// Adds the ranges that are needed next.
    pub(crate) fn collect(
        &mut self,
        ranges: &mut WantedRanges,
        damage: &mut Damage,
    ) -> Result<(), EngineCause> {
        match &mut self.state {
            Fetching::Shards(nodes) => nodes.iter_mut().try_for_each(|node| {
                // Within a value, all that is needed is ranges.
                node.collect(ranges, damage).map(drop)
            }),
            Fetching::Open { wanted, .. } => {
                // They stay: the store may be asked something else first.
                ranges.extend(wanted.iter());
                Ok(())
            }
            Fetching::Late | Fetching::Here(_) => Ok(()),
        }
    }

    /// As [`Node::inner_bytes`].
    pub(crate) fn bytes(&self) -> Option<u64> {
        match &self.state {
            Fetching::Shards(nodes) => {
                nodes.iter().try_fold(0_u64, |bytes, node| Some(bytes.saturating_add(node.inner_bytes()?)))
            }
            Fetching::Open { bytes, .. } => *bytes,
            Fetching::Late | Fetching::Here(_) => Some(0),
        }
    }

    pub(crate) fn postpone(&mut self) {
        match &mut self.state {
            Fetching::Shards(nodes) => nodes.iter_mut().for_each(Node::postpone),
            Fetching::Open { .. } => self.state = Fetching::Late,
            Fetching::Late | Fetching::Here(_) => {}
        }
    }

    pub(crate) fn supply(
        &mut self,
        fetched: &Arc<FetchedRanges>,
        of: &Value,
        damage: &mut Damage,
        workspace: &mut Workspace,
    ) -> Result<(), EngineCause> {
        match &mut self.state {
            Fetching::Shards(nodes) => {
                nodes.iter_mut().try_for_each(|node| node.supply(fetched, of, damage, workspace).map(drop))
            }
            Fetching::Open { .. } => {
                self.state = Fetching::Here(Arc::clone(fetched));
                Ok(())
            }
            Fetching::Late | Fetching::Here(_) => Ok(()),
        }
    }

    /// Visits the indices of the inner chunks, over the axes of the tile, in C order.
    fn each(&self, mut visit: impl FnMut(&[u64]) -> Result<(), EngineCause>) -> Result<(), EngineCause> {
        let chunk_shape = self.grid.chunk_shape();
        let range = |(range, len): (&Range<u64>, &u64)| range.start / len..range.end.div_ceil(*len);
        let ranges: Vec<Range<u64>> = self.want.ranges().iter().zip(chunk_shape).map(range).collect();
        if self.want.is_empty() {
            return Ok(());
        }
        let mut chunk: Vec<u64> = ranges.iter().map(|range| range.start).collect();
        loop {
            visit(&chunk)?;
            if !advance(&mut chunk, &ranges) {
                return Ok(());
            }
        }
    }

    /// What is wanted of an inner chunk, counted from its first element.
    fn wanted_of(&self, chunk: &[u64]) -> Region {
        let along = |(axis, want): (usize, &Range<u64>)| {
            let within = self.grid.range_along(axis, chunk[axis]);
            want.start.max(within.start) - within.start..want.end.min(within.end) - within.start
        };
        Region::new(self.want.ranges().iter().enumerate().map(along))
    }

    /// Where in the stored value an inner chunk is.
    fn entry(&self, chunk: &[u64]) -> Result<Option<Range<u64>>, EngineCause> {
        let axes = self.axes.iter().zip(&self.counts);
        let linear = axes.fold(0, |linear, (&axis, &n)| linear * n as usize + chunk[axis] as usize);
        let within = self.index.entry(linear)?;
        Ok(within.map(|range| self.start + range.start..self.start + range.end))
    }

    /// A node of an inner chunk, for what is wanted of it.
    fn node(&self, chunk: &[u64], want: Region) -> Node {
        Node {
            chain: Arc::clone(self.sharding.chunks()),
            at: None,
            shape: self.sharding.chunk_shape().to_vec(),
            want: Region::new(self.axes.iter().map(|&axis| want.ranges()[axis].clone())),
            axes: self.axes.clone(),
            inner_chunk: [&self.inner_chunk[..], &[chunk.to_vec()]].concat(),
            state: State::Missing,
        }
    }

    /// The job for one inner chunk. What is wrong with it was found in the beginning.
    fn job<'t>(&self, piece: Piece<Output<'t>>) -> Result<Job<'t>, EngineCause> {
        let Piece { chunk, want, output, .. } = piece;
        let (tile, mut node) = (output.tile()?, self.node(&chunk, want));
        // What is wrong with an inner chunk is known by now, and either an error or taken for missing.
        if let Ok(at) = self.entry(&chunk) {
            node.locate(at);
        }
        if matches!(node.state, State::Open)
            && let Ok(ranges) = node.ranges()
        {
            match &self.state {
                Fetching::Here(fetched) => {
                    let parts = ranges.iter().map(|range| fetched.cut(range)).collect::<Result<_, _>>()?;
                    node.content(parts)?;
                }
                Fetching::Late => node.state = node.one_range().map_or(State::Missing, State::Late),
                Fetching::Open { .. } | Fetching::Shards(_) => return Err(bad_answer()),
            }
        }
        Ok(node.job(tile))
    }
}

/// Goes on to the next index within the ranges, in C order; returns whether there is one.
pub(crate) fn advance(index: &mut [u64], ranges: &[Range<u64>]) -> bool {
    for (index, range) in index.iter_mut().zip(ranges).rev() {
        *index += 1;
        if *index < range.end {
            return true;
        }
        *index = range.start;
    }
    false
}

/// The jobs of a [`ChunkRead`](crate::ChunkRead), made when they are taken.
pub struct Jobs<'r, 't>(Vec<Part<'r, 't>>);

enum Part<'r, 't> {
    One(Job<'t>),
    Inner(&'r InnerChunks, Pieces<'r, Box<dyn Tile + 't>>),
}

impl<'r, 't> Jobs<'r, 't> {
    pub(crate) fn new(node: &'r Node, tile: Box<dyn Tile + 't>) -> Result<Self, EngineCause> {
        let mut parts = Vec::new();
        parts_of(node, tile, &mut parts)?;
        // They are taken from the end.
        parts.reverse();
        Ok(Self(parts))
    }

    /// Nothing to do.
    pub(crate) fn none() -> Self {
        Self(Vec::new())
    }

    /// The only job, if it is not on an inner chunk.
    pub(crate) fn only(&mut self) -> Option<&mut Job<'t>> {
        match &mut self.0[..] {
            [Part::One(job)] => Some(job),
            _ => None,
        }
    }
}

fn parts_of<'r, 't>(
    node: &'r Node,
    tile: Box<dyn Tile + 't>,
    parts: &mut Vec<Part<'r, 't>>,
) -> Result<(), EngineCause> {
    let State::Inner(inner) = &node.state else {
        parts.push(Part::One(node.job(tile)));
        return Ok(());
    };
    if inner.want.is_empty() {
        return Ok(());
    }
    let mut pieces = Pieces::new(&inner.grid);
    pieces.add_region(inner.want.clone(), tile);
    let Fetching::Shards(nodes) = &inner.state else {
        parts.push(Part::Inner(inner, pieces));
        return Ok(());
    };
    nodes.iter().try_for_each(|node| {
        let piece = pieces.next().ok_or_else(bad_answer)?;
        parts_of(node, piece.output.tile()?, parts)
    })
}

impl<'t> Iterator for Jobs<'_, 't> {
    type Item = Result<Job<'t>, EngineCause>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.0.pop()? {
                Part::One(job) => return Some(Ok(job)),
                Part::Inner(inner, mut pieces) => {
                    if let Some(piece) = pieces.next() {
                        self.0.push(Part::Inner(inner, pieces));
                        return Some(inner.job(piece));
                    }
                }
            }
        }
    }
}
