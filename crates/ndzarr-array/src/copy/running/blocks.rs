//! Copies elements block by block: while one block is written, the next one is read.

use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread::{self, ScopedJoinHandle};

use ndarray::{ArrayView, ArrayViewMut, IxDyn};
use ndzarr_engine::{Cancel, RunOptions, ShardWriter, in_parallel, in_scope};
use ndzarr_grid::Region;

use crate::arrays::info::ArrayInfo;
use crate::copy::planning::conversion::Conversion;
use crate::copy::planning::geometry::{Walk, end_of_unit};
use crate::copy::planning::window::Window;
use crate::copy::running::steps::{ShardPart, Step};
use crate::error::{Error, ErrorKind, Result};
use crate::operations::each::check_cancel;
use crate::operations::packed::part_of;
use crate::selections::resolved::Resolved;
use crate::tiles::assign::{assign, same};
use crate::tiles::output::blank_bytes;
use crate::tiles::picked_parts::lengths;

/// One pass over an array.
pub(crate) struct Pass<'o> {
    pub(crate) source: ArrayInfo,
    pub(crate) target: ArrayInfo,
    /// The part of the source that is copied, if not all of it. All regions are of this part.
    pub(crate) window: Option<&'o Window>,
    pub(crate) walk: Walk,
    /// Shape of what is decoded at once.
    pub(crate) read: Vec<u64>,
    pub(crate) conversion: Option<Conversion>,
    pub(crate) run: &'o RunOptions,
    pub(crate) count: &'o (dyn Fn(u64) + Sync),
}

/// Elements in memory.
#[derive(Debug)]
struct Block {
    bytes: Vec<u8>,
    /// What is in memory: the region of the step, and what was decoded beyond it.
    whole: Region,
    step: Step,
}

/// Memory that is reused for the next blocks.
#[derive(Default)]
struct Spare {
    blocks: Vec<Vec<u8>>,
    /// Elements before they are converted.
    stored: Vec<u8>,
}

impl Spare {
    /// Takes the memory of a block, unless the next one still copies a part of it.
    fn take_back(&mut self, block: Arc<Block>) {
        self.blocks
            .extend(Arc::into_inner(block).map(|block| block.bytes));
    }
}

/// A block that is to be read, and the memory for it.
struct BlockRead {
    source: ArrayInfo,
    conversion: Option<Conversion>,
    block: Block,
    before: Option<Arc<Block>>,
    stored: Vec<u8>,
    /// The region that has to be read.
    missing: Region,
    /// That region, as a selection of the source.
    selected: Resolved,
    /// Of an element, in bytes.
    size: usize,
}

impl Pass<'_> {
    /// Copies all blocks.
    pub(crate) fn copy(&self, mut steps: Box<dyn Iterator<Item = Step> + Send>) -> Result<()> {
        // A block that cannot be written stops the reading of the next one.
        let (stop, run) = self.run.part();
        let source = self.with(&self.source, &run);
        let target = self.with(&self.target, &run);
        let mut spare = Spare::default();
        let mut writer = None;
        let Some(first) = steps.next() else {
            return Ok(());
        };
        let mut current = self
            .prepare_read(&source, first, None, &mut spare)?
            .run(&mut spare.stored)?;
        loop {
            check_cancel(self.run)?;
            if let Some(before) = current.before {
                spare.take_back(before);
            }
            let now = Arc::new(current.block);
            current = match steps.next() {
                None => {
                    self.write(&target, &now, &mut writer)?;
                    (self.count)(now.step.units);
                    return Ok(());
                }
                Some(next) if !self.walk.ahead => {
                    self.write(&target, &now, &mut writer)?;
                    (self.count)(now.step.units);
                    spare.take_back(now);
                    self.prepare_read(&source, next, None, &mut spare)?
                        .run(&mut spare.stored)?
                }
                Some(next) => {
                    let read =
                        self.prepare_read(&source, next, Some(Arc::clone(&now)), &mut spare)?;
                    let write = || {
                        let written = self.write(&target, &now, &mut writer);
                        if written.is_err() {
                            stop.cancel().cancel();
                        }
                        written
                    };
                    let next = while_writing(read, &mut spare.stored, write)?;
                    (self.count)(now.step.units);
                    spare.take_back(now);
                    next
                }
            };
        }
    }

    fn with(&self, info: &ArrayInfo, run: &RunOptions) -> ArrayInfo {
        let mut info = info.clone();
        info.options = run.clone();
        info
    }

    /// Determines what has to be read for a step, if the block `before` is in memory.
    fn prepare_read(
        &self,
        source: &ArrayInfo,
        step: Step,
        before: Option<Arc<Block>>,
        spare: &mut Spare,
    ) -> Result<BlockRead> {
        let shape = self.target.shape();
        let region = &step.region;
        let mut ranges = region.ranges().to_vec();
        let mut missing = ranges.clone();
        let mut carried = None;
        if let Some(axis) = self.walk.carry {
            ranges[axis].end = end_of_unit(shape[axis], self.read[axis], ranges[axis].end);
            missing[axis].end = ranges[axis].end;
            let neighbour = before.filter(|before| {
                let follows = |(at, (range, own)): (usize, (&Range<u64>, &Range<u64>))| {
                    if at == axis {
                        range.end == own.start
                    } else {
                        range == own
                    }
                };
                before
                    .step
                    .region
                    .ranges()
                    .iter()
                    .zip(region.ranges())
                    .enumerate()
                    .all(follows)
            });
            if let Some(before) = neighbour {
                let until = before.whole.ranges()[axis].end;
                ranges[axis].end = ranges[axis].end.max(until);
                missing[axis] = until..ranges[axis].end.max(until);
                carried = Some(before);
            }
        }
        let whole = Region::new(ranges);
        let missing = Region::new(missing);
        let selected = match self.window {
            Some(window) => window.of(&missing),
            None => source.resolve(&missing)?,
        };
        let size = self.target.data_type().elem_size().unwrap_or(1);
        let bytes = memory(spare.blocks.pop().unwrap_or_default(), &whole, size)?;
        let stored = match &self.conversion {
            Some(_) => {
                let size = self.source.data_type().elem_size().unwrap_or(1);
                memory(std::mem::take(&mut spare.stored), &missing, size)?
            }
            None => Vec::new(),
        };
        Ok(BlockRead {
            source: source.clone(),
            conversion: self.conversion.clone(),
            block: Block { bytes, whole, step },
            before: carried,
            stored,
            missing,
            selected,
            size,
        })
    }

    fn write(
        &self,
        target: &ArrayInfo,
        block: &Block,
        writer: &mut Option<ShardWriter>,
    ) -> Result<()> {
        let region = &block.step.region;
        let Some(ShardPart { shard, is_last }) = &block.step.shard else {
            let source = target.part_source(region, &block.bytes, &block.whole)?;
            return target.write(&[(region.clone(), &*source)]);
        };
        let writes = match writer.take() {
            Some(writer) => writer,
            None => {
                let store = target.storage.store.clone();
                let writer = ShardWriter::new(target.writable()?, store, shard, &target.options);
                target.named(writer.and_then(ShardWriter::spilling))?
            }
        };
        write_inner(target, block, shard, &writes)?;
        if *is_last {
            let finished = writes.finish(async || Ok(()));
            return target
                .wait_change(async { finished.await.map_err(|error: Error| target.name(error)) });
        }
        *writer = Some(writes);
        Ok(())
    }
}

/// A block that was read.
struct ReadBlock {
    block: Block,
    /// The one before, if this one has taken a part of it.
    before: Option<Arc<Block>>,
}

/// Reads a block on another thread while the calling one writes; after that, if no thread can be
/// started.
fn while_writing(
    read: BlockRead,
    spare: &mut Vec<u8>,
    write: impl FnOnce() -> Result<()>,
) -> Result<ReadBlock> {
    let mut read = Some(read);
    let mut ahead = None;
    let call = Cancel::of_scope();
    let written = thread::scope(|scope| {
        let run = || {
            ahead = read
                .take()
                .map(|read| in_scope(call.as_ref(), || read.run(spare)))
        };
        let reader = thread::Builder::new()
            .name("ndzarr-copy".to_owned())
            .spawn_scoped(scope, run);
        let written = write();
        match reader.map(ScopedJoinHandle::join) {
            Ok(Err(panic)) => resume_unwind(panic),
            Ok(Ok(())) | Err(_) => written,
        }
    });
    match (written, ahead, read) {
        (Err(error), ..) => Err(error),
        (Ok(()), Some(done), _) => done,
        (Ok(()), None, Some(read)) => read.run(spare),
        (Ok(()), None, None) => unreachable!("a block that was taken was read"),
    }
}

impl BlockRead {
    /// Reads the block, and returns the memory for stored elements to `spare`.
    fn run(mut self, spare: &mut Vec<u8>) -> Result<ReadBlock> {
        let source = self.source.clone();
        source.wait(self.fill())?;
        *spare = self.stored;
        Ok(ReadBlock {
            block: self.block,
            before: self.before,
        })
    }

    async fn fill(&mut self) -> Result<()> {
        let Block { bytes, whole, .. } = &mut self.block;
        if let Some(before) = &self.before {
            let shared = whole.intersection(&before.whole);
            let [from, to] = [&before.whole, &*whole].map(|region| {
                let mut shape = lengths(region);
                shape.push(self.size);
                IxDyn(&shape)
            });
            let from = ArrayView::from_shape(from, &before.bytes[..]);
            let to = ArrayViewMut::from_shape(to, &mut bytes[..]);
            if let (Ok(from), Ok(to)) = (from, to) {
                assign(
                    part_of(from, Some((&shared, &before.whole))),
                    part_of(to, Some((&shared, whole))),
                    same,
                );
            }
        }
        if self.missing.is_empty() {
            return Ok(());
        }
        let Some(conversion) = &self.conversion else {
            return self
                .source
                .read_part(&self.selected, bytes, &self.missing, whole)
                .await;
        };
        self.source
            .read_part(
                &self.selected,
                &mut self.stored,
                &self.missing,
                &self.missing,
            )
            .await?;
        let mut shape = lengths(whole);
        shape.push(self.size);
        let view = ArrayViewMut::from_shape(IxDyn(&shape), &mut bytes[..]);
        let view = view.map_err(|error| Error::new(ErrorKind::WrongShape, error))?;
        let view = part_of(view, Some((&self.missing, whole)));
        let threads = self.source.options.threads;
        let converted = conversion.convert(&self.missing, &self.stored, view, threads);
        self.source.named(converted)
    }
}

/// Encodes the inner chunks of a block, which is a part of this shard.
fn write_inner(
    target: &ArrayInfo,
    block: &Block,
    shard: &[u64],
    writer: &ShardWriter,
) -> Result<()> {
    let grid = target.inner_grid()?;
    let region = &block.step.region;
    let first = target
        .grid()?
        .chunk_region(shard)
        .map(|region| region.start())
        .unwrap_or_default();
    let inner: Vec<Region> = grid
        .overlaps(region)
        .filter_map(|overlap| grid.clipped_region(&overlap.chunk))
        .collect();
    let lens = grid.chunk_shape();
    let write = |inner: Region| {
        let at = inner.start().into_iter().zip(&first).zip(lens);
        let at: Vec<u64> = at
            .map(|((at, first), len)| (at - first) / len.max(&1))
            .collect();
        let source = target.part_source(&inner, &block.bytes, &block.whole)?;
        target.named(writer.write_inner(&at, &*source, &vec![0; at.len()]))
    };
    in_parallel(inner, target.options.threads, write)
        .into_iter()
        .collect()
}

/// Memory for a region: this memory, if it is large enough.
fn memory(mut old: Vec<u8>, region: &Region, size: usize) -> Result<Vec<u8>> {
    let len = lengths(region).iter().product::<usize>() * size;
    if old.len() >= len {
        old.truncate(len);
        return Ok(old);
    }
    if old.capacity() >= len {
        old.resize(len, 0);
        return Ok(old);
    }
    drop(old);
    blank_bytes(&lengths(region), size)
}
