//! Chooses how the elements of an array are copied within the memory that there is.

use std::num::NonZeroUsize;

use ndzarr_codec::Access;
use ndzarr_engine::{AnyStore, n_threads};
use ndzarr_model::ArraySpec;

use crate::arrays::info::ArrayInfo;
use crate::copy::planning::conversion::Conversion;
use crate::copy::planning::geometry::{MOST_DECODES, Task, Walk, between};
use crate::copy::planning::window::Window;
use crate::error::{Error, ErrorKind, Result};

/// How elements are copied.
#[derive(Clone, Debug)]
pub(crate) enum Strategy {
    /// Chunk by chunk of the target, on this number of threads: elements of variable size.
    ByUnit(usize),
    Blocks(Walk),
    /// Shards are put together piece by piece.
    Pieces(Walk),
    /// By a temporary array with these chunks.
    Twice(Vec<u64>, Walk, Walk),
}

impl Strategy {
    /// How often elements are written.
    pub(crate) fn passes(&self) -> u64 {
        if matches!(self, Self::Twice(..)) {
            2
        } else {
            1
        }
    }
}

/// What elements may take in memory, if nothing else is said.
const MEMORY: u64 = 256 << 20;

/// What contexts of codecs and buffers of requests take, for each thread.
const THREAD_OVERHEAD: u64 = 1 << 20;

/// The assumed size of an element of variable size.
const VLEN_BYTES: u64 = 64;

/// What a strategy is chosen for.
pub(crate) struct Choice<'c> {
    pub(crate) source: &'c ArrayInfo,
    pub(crate) target: &'c ArrayInfo,
    /// The part of the source that is copied, if not all of it.
    pub(crate) window: Option<&'c Window>,
    pub(crate) conversion: Option<&'c Conversion>,
    /// `None`: as much as it takes, and enough.
    pub(crate) memory: Option<u64>,
    /// More is taken where it is needed.
    pub(crate) more_memory: bool,
    /// A temporary array has a place.
    pub(crate) has_temporary: bool,
    pub(crate) threads: Option<NonZeroUsize>,
}

/// Shape of what is decoded at once.
pub(crate) fn decoded_shape(array: &ArrayInfo) -> Result<Vec<u64>> {
    let shape = match array.data()?.chain().access() {
        Access::Indexed(_) => array.spec().inner_chunk_shape(),
        Access::Whole | Access::Raw { .. } => None,
    };
    Ok(shape.unwrap_or_else(|| array.spec().unit_shape.clone()))
}

fn bytes(shape: &[u64], size: u64) -> u64 {
    shape.iter().fold(size, |bytes, &n| bytes.saturating_mul(n))
}

impl Choice<'_> {
    /// # Errors
    /// The memory is too small: the error names the least.
    pub(crate) fn strategy(&self) -> Result<Strategy> {
        let (source, target) = (self.source, self.target);
        let threads = n_threads(self.threads) as u64;
        let (Some(from), Some(to)) = (
            source.data_type().elem_size(),
            target.data_type().elem_size(),
        ) else {
            return Ok(self.by_unit(threads));
        };
        let sizes = [from as u64, to as u64];
        let decoded = decoded_shape(source)?;
        // As far as the part is concerned.
        let read = self
            .window
            .map_or(decoded.clone(), |window| window.thinned(&decoded));
        let unit_lens = target.spec().unit_shape.iter().zip(target.shape());
        let unit: Vec<u64> = unit_lens.map(|(&len, &n)| len.min(n)).collect();
        let inner = target.spec().inner_chunk_shape();
        let inner_bytes = inner.as_deref().map(|inner| bytes(inner, sizes[1]));
        let regular =
            source.data()?.grid().is_regular() || source.spec().inner_chunk_shape().is_some();
        let budget = Budget {
            memory: self.memory.unwrap_or(MEMORY),
            threads,
            reads: Overhead::of_reads(source, bytes(&decoded, sizes[0]), threads),
            writes: Overhead::of_writes(target, bytes(&unit, sizes[1]), inner_bytes, threads),
        };
        let task = Task {
            shape: target.shape(),
            read: &read,
            write: &unit,
            sizes,
            converts: self.conversion.is_some(),
            // A part begins anywhere in a chunk.
            carries: regular && self.window.is_none(),
            room: budget.room(),
            lanes: threads,
        };
        if let Some(strategy) = self.by_blocks(&task, &budget) {
            return Ok(strategy);
        }
        let mut least = budget.least(task.least_room());
        let by_pieces = inner.as_ref().filter(|_| has_pieces(target));
        if let Some(inner) = by_pieces {
            let writes = Overhead::of_writes(target, bytes(inner, sizes[1]), None, threads);
            let budget = Budget { writes, ..budget };
            // Within one shard.
            let part = Task {
                shape: &unit,
                write: inner,
                carries: false,
                room: budget.room(),
                ..task
            };
            if let Some(walk) = part.best_walk() {
                return Ok(Strategy::Pieces(budget.limited(walk)));
            }
            least = least.min(budget.least(part.least_room()));
        }
        if self.memory.is_none() || self.more_memory {
            let enough = Choice {
                memory: Some(least),
                more_memory: false,
                ..*self
            };
            return enough.strategy();
        }
        let what = format!(
            "{} bytes of memory are too few: a {} of the target and what it is made of take {least}",
            self.memory.unwrap_or(MEMORY),
            if by_pieces.is_some() || inner.is_none() {
                "chunk"
            } else {
                "shard"
            },
        );
        Err(target.name(Error::new(ErrorKind::OutOfMemory, what)))
    }

    fn by_unit(&self, threads: u64) -> Strategy {
        let unit = bytes(&self.target.spec().unit_shape, VLEN_BYTES).max(1);
        let room = self.memory.unwrap_or(MEMORY) / unit;
        Strategy::ByUnit(room.clamp(1, threads) as usize)
    }

    /// In blocks of whole units, by a temporary array where that decodes less; `None` if no unit
    /// fits.
    fn by_blocks(&self, task: &Task<'_>, budget: &Budget) -> Option<Strategy> {
        let walk = budget.limited(task.best_walk()?);
        if walk.decodes <= MOST_DECODES || !self.has_temporary {
            return Some(Strategy::Blocks(walk));
        }
        Some(twice(task, budget).unwrap_or(Strategy::Blocks(walk)))
    }
}

fn twice(task: &Task<'_>, budget: &Budget) -> Option<Strategy> {
    let room = task.room;
    let between = between(&Task {
        room: room - room / 4,
        ..task.clone()
    })?;
    // A chunk of the temporary is written by each thread.
    let chunk = bytes(&between, task.sizes[0]).saturating_mul(2 * task.lanes);
    let first = Task {
        write: &between,
        sizes: [task.sizes[0]; 2],
        converts: false,
        room: room.checked_sub(chunk)?,
        ..task.clone()
    };
    let second = Task {
        read: &between,
        carries: false,
        ..task.clone()
    };
    let first = budget.limited(first.best_walk()?);
    let second = budget.limited(second.best_walk()?);
    Some(Strategy::Twice(between, first, second))
}

/// What a report says of a strategy.
pub(crate) fn describe(strategy: &Strategy, copied: &ArraySpec) -> Option<String> {
    match strategy {
        Strategy::ByUnit(_) => None,
        Strategy::Blocks(walk) | Strategy::Pieces(walk) if walk.decodes < 1.005 => None,
        Strategy::Blocks(walk) | Strategy::Pieces(walk) => Some(format!(
            "chunks of the source are decoded {:.2} times",
            walk.decodes
        )),
        Strategy::Twice(..) => {
            let bytes = temporary_bytes(strategy, copied);
            Some(format!(
                "it goes through a temporary array of up to {bytes} bytes"
            ))
        }
    }
}

/// Size of the temporary array.
pub(crate) fn temporary_bytes(strategy: &Strategy, copied: &ArraySpec) -> u64 {
    match (strategy, copied.data_type.elem_size()) {
        (Strategy::Twice(..), Some(size)) => bytes(&copied.shape, size as u64),
        _ => 0,
    }
}

/// Returns `true` if shards are put together in a temporary of the store, so that they need not fit
/// into memory.
fn has_pieces(target: &ArrayInfo) -> bool {
    let AnyStore::Blocking(store) = &target.storage.store else {
        return false;
    };
    store.range_merging().piece.is_some() && store.can().lock
}

/// What requests, decoders and encoders have in memory at once.
struct Overhead {
    unit: u64,
    /// How many of them there are at once.
    n: u64,
    is_async: bool,
}

impl Overhead {
    fn of_reads(source: &ArrayInfo, unit: u64, threads: u64) -> Self {
        // The encoded value and its elements, of two chunks at a time.
        Self {
            unit,
            n: 3 * threads,
            is_async: !source.storage.is_blocking(),
        }
    }

    fn of_writes(target: &ArrayInfo, unit: u64, inner: Option<u64>, threads: u64) -> Self {
        let unit = match inner {
            // Encoded piece by piece.
            Some(inner) if has_pieces(target) => inner.saturating_add(256 << 10),
            _ => unit,
        };
        // The elements, and the encoded value.
        Self {
            unit,
            n: 2 * threads,
            is_async: !target.storage.is_blocking(),
        }
    }

    fn bytes(&self, memory: u64) -> u64 {
        if self.is_async {
            // What is in flight is limited.
            (memory / 4).max(self.unit.saturating_mul(2))
        } else {
            self.unit.saturating_mul(self.n)
        }
    }
}

/// The memory of a copy, and what takes a part of it besides blocks.
struct Budget {
    memory: u64,
    threads: u64,
    reads: Overhead,
    writes: Overhead,
}

impl Budget {
    /// What remains for blocks.
    fn room(&self) -> u64 {
        let overhead = self
            .reads
            .bytes(self.memory)
            .saturating_add(self.writes.bytes(self.memory));
        self.memory
            .saturating_sub(overhead.saturating_add(THREAD_OVERHEAD * self.threads))
    }

    /// The least memory in which this much remains for blocks.
    fn least(&self, room: u64) -> u64 {
        let sides = [&self.reads, &self.writes];
        let n_async = sides.iter().filter(|side| side.is_async).count() as u64;
        let fixed = sides
            .iter()
            .filter(|side| !side.is_async)
            .map(|side| side.bytes(0));
        let overhead = THREAD_OVERHEAD * self.threads;
        let fixed = fixed.fold(overhead.saturating_add(room), u64::saturating_add);
        // Each asynchronous side takes a quarter of all.
        let shared = fixed
            .saturating_mul(4)
            .div_ceil(4 - n_async)
            .saturating_add(n_async);
        let units = sides
            .iter()
            .filter(|side| side.is_async)
            .map(|side| side.unit.saturating_mul(8));
        units.fold(shared, u64::max)
    }

    /// The walk, with limits for what is in flight.
    fn limited(&self, walk: Walk) -> Walk {
        let bytes = (self.memory / 8).max(1);
        let unit = self.reads.unit.max(self.writes.unit).max(1);
        let n = usize::try_from(bytes / unit).unwrap_or(usize::MAX);
        Walk {
            in_flight: (bytes, NonZeroUsize::new(n).unwrap_or(NonZeroUsize::MIN)),
            ..walk
        }
    }
}
