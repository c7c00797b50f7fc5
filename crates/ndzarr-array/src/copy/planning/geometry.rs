//! How an array of one chunking becomes one of another within a given memory: pure geometry.
//!
//! What is decoded at once is a unit of the source (a chunk, an inner chunk of a shard), what is
//! written at once a unit of the target (a shard, a chunk without shards). A copy goes through
//! blocks of whole units of the target, each of which is read and then written. A unit of the
//! source that several blocks meet is decoded for each of them, unless the block before kept its
//! rest.

use std::num::NonZeroUsize;

/// What a walk is planned for.
#[derive(Clone, Debug)]
pub(crate) struct Task<'t> {
    /// Shape of the array, in elements.
    pub(crate) shape: &'t [u64],
    /// Shape of what is decoded at once.
    pub(crate) read: &'t [u64],
    /// Shape of what is written at once.
    pub(crate) write: &'t [u64],
    /// Bytes of an element in the source and in the target.
    pub(crate) sizes: [u64; 2],
    /// Elements are converted, from one memory into another.
    pub(crate) converts: bool,
    /// A block can keep what it has decoded beyond its end for the next one.
    pub(crate) carries: bool,
    /// Bytes that blocks may take.
    pub(crate) room: u64,
    /// How many units of the target are written at the same time.
    pub(crate) lanes: u64,
}

/// A walk over blocks.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Walk {
    /// Shape of a block: along each axis whole units of the target, or the whole array.
    pub(crate) block: Vec<u64>,
    /// The axis along which neighbours follow each other, each taking from the one before what that
    /// one has decoded beyond its own end.
    pub(crate) carry: Option<usize>,
    /// The next block is read while one is written.
    pub(crate) ahead: bool,
    /// How often a unit of the source is decoded, on average.
    pub(crate) decodes: f64,
    /// Bytes that its blocks take.
    pub(crate) bytes: u64,
    /// How many bytes and requests may be in flight, where the store is asynchronous.
    pub(crate) in_flight: (u64, NonZeroUsize),
}

/// A walk with more decoding than this goes through a temporary array, if there can be one.
pub(crate) const MOST_DECODES: f64 = 2.5;

/// Blocks of at least this many bytes are not made larger for any other reason than to decode less.
const LARGE: u64 = 16 << 20;

/// How many times longer it takes to encode than to decode: what planning weighs decoding against.
const ENCODING: f64 = 3.0;

/// Without reading ahead, the stores and one of two processors wait more often.
const WAITING: f64 = 1.15;

/// From this many units on, a block grows by its own share of them rather than by one: planning
/// takes as many steps as the logarithm of an array has, not as the array.
const FINE: u64 = 64;

/// How many units of length `unit` a walk over blocks of `block` elements overlaps along an axis of
/// length `n`, for each that there is.
pub(crate) fn meetings(n: u64, unit: u64, block: u64) -> f64 {
    let (unit, block) = (unit.max(1), block.max(1));
    if n == 0 || block >= n || block.is_multiple_of(unit) {
        return 1.0;
    }
    let units = n.div_ceil(unit);
    // A block that ends within a unit leaves the rest of it to the next one.
    let ends = n.div_ceil(block) - 1;
    let of_whole = ends / (unit / common_divisor(block, unit));
    (units as f64 + (ends - of_whole) as f64) / units as f64
}

/// The end of the unit that contains the element before `end`, within an axis of length `n`.
pub(crate) fn end_of_unit(n: u64, unit: u64, end: u64) -> u64 {
    end.div_ceil(unit.max(1))
        .saturating_mul(unit.max(1))
        .min(n)
        .max(end)
}

impl Task<'_> {
    /// The best walk within the room; `None` if it is too small for a single unit of the target.
    pub(crate) fn best_walk(&self) -> Option<Walk> {
        let axes = (0..self.shape.len())
            .filter(|&axis| !self.write[axis].is_multiple_of(self.read[axis].max(1)));
        let carries: Vec<usize> = axes.filter(|_| self.carries).collect();
        // What is carried over comes from another block in memory.
        let ways = carries
            .into_iter()
            .map(|axis| (Some(axis), true))
            .chain([(None, false)]);
        let mut best: Option<(f64, Walk)> = None;
        for (carry, ahead) in std::iter::once((None, true)).chain(ways) {
            let Some(walk) = self.grown(carry, ahead) else {
                continue;
            };
            let cost = (walk.decodes + ENCODING) * if walk.ahead { 1.0 } else { WAITING };
            if best.as_ref().is_none_or(|(least, _)| cost < *least * 0.999) {
                best = Some((cost, walk));
            }
        }
        best.map(|(_, walk)| walk)
    }

    /// The least room that a walk needs.
    pub(crate) fn least_room(&self) -> u64 {
        self.bytes(&self.clipped(self.write), None, false)
    }

    fn clipped(&self, block: &[u64]) -> Vec<u64> {
        block
            .iter()
            .zip(self.shape)
            .map(|(&len, &n)| len.min(n))
            .collect()
    }

    /// The memory that blocks of a shape take.
    fn bytes(&self, block: &[u64], carry: Option<usize>, ahead: bool) -> u64 {
        let mut extent = block.to_vec();
        if let Some(axis) = carry.filter(|&axis| block[axis] < self.shape[axis]) {
            // At most all but one element of a unit.
            extent[axis] = extent[axis]
                .saturating_add(self.read[axis] - 1)
                .min(self.shape[axis]);
        }
        let len = extent.iter().fold(1_u64, |len, &n| len.saturating_mul(n));
        let [from, to] = self.sizes;
        let ahead = ahead && extent.as_slice() != self.shape;
        let blocks = len
            .saturating_mul(to)
            .saturating_mul(if ahead { 2 } else { 1 });
        blocks.saturating_add(if self.converts {
            len.saturating_mul(from)
        } else {
            0
        })
    }

    fn decodes(&self, block: &[u64], carry: Option<usize>) -> f64 {
        (0..self.shape.len())
            .map(|axis| self.decodes_along(axis, block[axis], carry))
            .product()
    }

    fn decodes_along(&self, axis: usize, len: u64, carry: Option<usize>) -> f64 {
        if carry == Some(axis) {
            1.0
        } else {
            meetings(self.shape[axis], self.read[axis], len)
        }
    }

    /// A block as large as the room allows, made larger step by step: of all steps the one that
    /// takes away most decoding for the memory that it costs. Then the smallest of those before it
    /// that decode no more and are large enough.
    pub(crate) fn grown(&self, carry: Option<usize>, ahead: bool) -> Option<Walk> {
        let in_flight = (u64::MAX, NonZeroUsize::MAX);
        if self.shape.contains(&0) {
            // Of any length, it takes nothing.
            let block = self.shape.to_vec();
            return Some(Walk {
                block,
                carry: None,
                ahead,
                decodes: 1.0,
                bytes: 0,
                in_flight,
            });
        }
        let mut block = self.clipped(self.write);
        if self.bytes(&block, carry, ahead) > self.room {
            return None;
        }
        let mut steps = vec![(block.clone(), self.decodes(&block, carry))];
        while let Some(next) = self.next_step(&block, carry, ahead) {
            block = next;
            steps.push((block.clone(), self.decodes(&block, carry)));
        }
        let least = steps
            .iter()
            .map(|(_, decodes)| *decodes)
            .fold(f64::INFINITY, f64::min);
        let is_good =
            |(block, decodes): &(Vec<u64>, f64)| *decodes <= least * 1.001 && self.is_large(block);
        let at = steps
            .iter()
            .position(is_good)
            .or_else(|| steps.iter().rposition(|(_, it)| *it <= least * 1.001));
        let (block, decodes) = steps.swap_remove(at?);
        let bytes = self.bytes(&block, carry, ahead);
        let carry = carry.filter(|&axis| block[axis] < self.shape[axis]);
        Some(Walk {
            block,
            carry,
            ahead,
            decodes,
            bytes,
            in_flight,
        })
    }

    /// Returns `true` if a block keeps all threads busy for much longer than it takes to begin.
    fn is_large(&self, block: &[u64]) -> bool {
        let len = block
            .iter()
            .fold(self.sizes[1], |len, &n| len.saturating_mul(n));
        let units = block
            .iter()
            .zip(self.write)
            .map(|(&len, &unit)| len.div_ceil(unit.max(1)));
        len >= LARGE && units.product::<u64>() >= 4 * self.lanes
    }

    fn next_step(&self, block: &[u64], carry: Option<usize>, ahead: bool) -> Option<Vec<u64>> {
        let along: Vec<f64> = (0..block.len())
            .map(|axis| self.decodes_along(axis, block[axis], carry))
            .collect();
        let now: f64 = along.iter().product();
        let size = self.bytes(block, carry, ahead) as f64;
        let mut best: Option<(f64, Vec<u64>)> = None;
        // Where nothing else decides, rows become longer first.
        for axis in (0..block.len()).rev() {
            let n = self.shape[axis];
            let unit = self.write[axis].max(1);
            let other = self.read[axis].max(1);
            if block[axis] >= n {
                continue;
            }
            let whole = |len: u64| len.div_ceil(unit).saturating_mul(unit);
            let steps = [
                block[axis].saturating_add(unit.saturating_mul((block[axis] / unit / FINE).max(1))),
                block[axis].saturating_mul(2),
                whole(other),
                common_multiple(unit, other).unwrap_or(n),
                n,
            ];
            for to in steps.into_iter().filter(|&to| to > block[axis]) {
                let mut next = block.to_vec();
                next[axis] = to.min(n);
                let bytes = self.bytes(&next, carry, ahead);
                if bytes > self.room {
                    continue;
                }
                let mut decodes = along.clone();
                decodes[axis] = self.decodes_along(axis, next[axis], carry);
                let gain = (now / decodes.iter().product::<f64>()).ln();
                let score = gain / (bytes as f64 / size).ln().max(1e-9);
                if best.as_ref().is_none_or(|(most, _)| score > most + 1e-12) {
                    best = Some((score, next));
                }
            }
        }
        best.map(|(_, next)| next)
    }
}

fn common_divisor(a: u64, b: u64) -> u64 {
    let (mut divisor, mut rest) = (a, b);
    while rest > 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    divisor.max(1)
}

fn common_multiple(a: u64, b: u64) -> Option<u64> {
    a.checked_mul(b / common_divisor(a, b))
}

/// Chunks of a temporary array between source and target, such that both the blocks in which the
/// source is read and those in which the target is written consist of whole ones.
pub(crate) fn between(task: &Task<'_>) -> Option<Vec<u64>> {
    let write = task
        .grown(None, true)
        .or_else(|| task.grown(None, false))?
        .block;
    // The source's units into blocks that meet the written blocks as seldom as possible.
    let back = Task {
        read: &write,
        write: task.read,
        sizes: [task.sizes[0]; 2],
        converts: false,
        ..task.clone()
    };
    let read = back
        .grown(None, true)
        .or_else(|| back.grown(None, false))?
        .block;
    Some(
        read.iter()
            .zip(&write)
            .map(|(&read, &write)| read.min(write).max(1))
            .collect(),
    )
}

#[cfg(test)]
mod tests;
