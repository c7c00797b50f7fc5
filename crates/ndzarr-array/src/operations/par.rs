//! Chunk-wise work on several threads: folds an array, computes one, maps one into another.

use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};

use futures_util::future::BoxFuture;
use ndzarr_engine::{RunOptions, n_threads};
use ndzarr_grid::{ChunkGrid, Region};

use crate::arrays::array::Array;
use crate::arrays::info::ArrayInfo;
use crate::copy::decoded_shape;
use crate::copy::planning::geometry::Task;
use crate::element_types::element_type::ElementType;
use crate::error::{Error, ErrorKind, Result};
use crate::operations::each::{Counter, each_on_threads, lock};

/// Folds the chunks of an array on several threads: `fold` adds the elements of a chunk to the
/// value of its thread, `reduce` combines two values, and `identity` makes the initial ones.
///
/// Each chunk (each inner chunk, if there are shards) is read once; `fold` gets the part of it
/// inside the array, as an `ArrayD<T>` or [`AnyElements`](crate::AnyElements), and that part's
/// place. A chunk that is not stored is the fill value; [`par_fold_stored`] leaves such chunks out.
/// The order is not defined.
///
/// The array's [`RunOptions`] set the number of threads, cancelling, and the progress that is
/// called for each chunk. [`bytes_in_flight`](RunOptions#structfield.bytes_in_flight) limits what
/// all threads have in memory. The call may be made anywhere, also in a task of rayon. `fold` may
/// use rayon as well, unless that task belongs to the same pool: its threads could then all be
/// waiting.
///
/// It has no asynchronous form, since `fold` computes and would keep a runtime's thread from its
/// other tasks: there, call it from a thread for blocking work.
///
/// # Errors
/// A chunk is corrupt; the store fails; the call was cancelled.
///
/// ```
/// use ndarray::ArrayD;
/// use ndzarr::{Array, MemoryStore, Region, par_fold};
///
/// let a = Array::<u8>::builder([100, 100]).chunks([30, 30]).create((MemoryStore::new(), "a"))?;
/// a.fill(.., 3)?;
/// let add = |sum: u64, _: &Region, chunk: ArrayD<u8>| sum + chunk.iter().map(|&n| u64::from(n)).sum::<u64>();
/// assert_eq!(par_fold(&a, || 0, add, |a, b| a + b)?, 30_000);
/// # Ok::<(), ndzarr::Error>(())
/// ```
pub fn par_fold<E: ElementType, A: Send>(
    array: &Array<E>,
    identity: impl Fn() -> A + Sync,
    fold: impl Fn(A, &Region, E::Elements) -> A + Sync,
    reduce: impl Fn(A, A) -> A,
) -> Result<A> {
    let grid = array.info.inner_grid()?;
    let whole = Region::whole(array.info.shape());
    let n = grid.n_overlaps(&whole).unwrap_or(u64::MAX);
    fold_regions(array, (parts_of(&grid, &whole), n), identity, fold, reduce)
}

/// [`par_fold`] of only what is stored: the chunks of every stored unit, by a list of the
/// keys. Also returns the number of elements that were left out, all of which are the fill value.
///
/// An array of 10^10 chunks, of which a few are stored, takes no longer than these few.
///
/// # Errors
/// As for [`par_fold`]; the store cannot list.
///
/// ```
/// use ndarray::ArrayD;
/// use ndzarr::{Array, MemoryStore, Region, par_fold_stored};
///
/// let a = Array::<u8>::builder([1_u64 << 31, 1 << 31]).chunks([64, 64]).fill_value(2);
/// let a = a.create((MemoryStore::new(), "a"))?;
/// a.fill([70..80, 0..1], 3)?;
/// let add = |sum: u64, _: &Region, chunk: ArrayD<u8>| sum + chunk.iter().map(|&n| u64::from(n)).sum::<u64>();
/// let (sum, left_out) = par_fold_stored(&a, || 0, add, |a, b| a + b)?;
/// assert_eq!((sum, left_out), (2 * 64 * 64 + 10, (1 << 62) - 64 * 64));
/// assert_eq!(sum + u64::from(a.fill_value()) * left_out, (1 << 63) + 10);
/// # Ok::<(), ndzarr::Error>(())
/// ```
pub fn par_fold_stored<E: ElementType, A: Send>(
    array: &Array<E>,
    identity: impl Fn() -> A + Sync,
    fold: impl Fn(A, &Region, E::Elements) -> A + Sync,
    reduce: impl Fn(A, A) -> A,
) -> Result<(A, u64)> {
    let grid = array.info.inner_grid()?;
    let units: Vec<Region> = array
        .units()
        .stored()?
        .map(|unit| Region::new(unit.ranges))
        .collect();
    let mut n = 0_u64;
    let mut left_out = bytes(array.info.shape(), 1);
    for unit in &units {
        n += grid.n_overlaps(unit).unwrap_or(u64::MAX);
        left_out = left_out.saturating_sub(unit.n_elements().unwrap_or(u64::MAX));
    }
    let regions = units.iter().flat_map(|unit| parts_of(&grid, unit));
    Ok((
        fold_regions(array, (regions, n), identity, fold, reduce)?,
        left_out,
    ))
}

/// Folds regions of an array, whose number is for the progress.
fn fold_regions<E: ElementType, A: Send>(
    array: &Array<E>,
    (regions, n): (impl Iterator<Item = Region> + Send, u64),
    identity: impl Fn() -> A + Sync,
    fold: impl Fn(A, &Region, E::Elements) -> A + Sync,
    reduce: impl Fn(A, A) -> A,
) -> Result<A> {
    let info = &array.info;
    let run = &array.info.options;
    let one = &part(info, run);
    let len = bytes(info.inner_grid()?.chunk_shape(), E::byte_len(info));
    let threads = threads_for(run, len.saturating_mul(2));
    let counter = Counter::new(n, run);
    // As many as threads are folding at a time.
    let values = Mutex::new(Vec::new());
    let each = |region: Region| {
        let values = &values;
        let identity = &identity;
        let fold = &fold;
        let counter = &counter;
        async move {
            let elements = E::read(one, &one.resolve(&region)?).await?;
            let value = lock(values).pop();
            let value = fold(value.unwrap_or_else(identity), &region, elements);
            lock(values).push(value);
            counter.add(1);
            Ok(())
        }
    };
    all(info, info, run, threads, regions, each)?;
    let values = values.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(values.into_iter().reduce(reduce).unwrap_or_else(identity))
}

/// Computes an array, block by block on several threads: `block` gets a place in it and returns the
/// elements there, as an `ArrayD<T>` or [`AnyElements`](crate::AnyElements). It may read other
/// arrays.
///
/// A block consists of whole chunks (shards, if there are). The options of the array apply as for
/// [`par_fold`]. Elements of variable size count with what they take without their contents.
///
/// # Errors
/// One of `block`; its result has another shape than its place; a codec or the store fails; the
/// call was cancelled. Blocks that were written stay.
///
/// ```
/// use ndarray::s;
/// use ndzarr::{Array, Error, MemoryStore, Region, par_write};
///
/// let store = MemoryStore::new();
/// let fine = Array::<u16>::builder([100, 100]).chunks([30, 30]).create((&store, "fine"))?;
/// fine.fill([0..50, 0..100], 8)?;
/// let coarse = Array::<u16>::builder([50, 50]).chunks([20, 20]).create((&store, "coarse"))?;
/// par_write(&coarse, |place: &Region| {
///     let ranges: Vec<_> = place.ranges().iter().map(|range| 2 * range.start..2 * range.end).collect();
///     Ok::<_, Error>(fine.read(ranges)?.slice(s![..;2, ..;2]).to_owned().into_dyn())
/// })?;
/// assert_eq!(coarse.read([24..26, 0..1])?.column(0).to_vec(), [8, 0]);
/// # Ok::<(), ndzarr::Error>(())
/// ```
pub fn par_write<T: ElementType, E: From<Error> + Send>(
    target: &Array<T>,
    block: impl Fn(&Region) -> Result<T::Elements, E> + Sync,
) -> Result<(), E> {
    let info = &target.info;
    let failure = Mutex::new(None);
    let block = |region: Region| {
        let block = &block;
        let failure = &failure;
        async move {
            block(&region).map_err(|error| {
                lock(failure).get_or_insert(error);
                Error::new(ErrorKind::Cancelled, "a block failed")
            })
        }
    };
    // Nothing of another array is decoded.
    let decoded = vec![1; info.shape().len()];
    let written = write_blocks::<T, _>(info, info, &info.options, (&decoded, 0), block);
    match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error),
        None => Ok(written?),
    }
}

/// Computes an array from another one of the same shape, block by block on several threads.
///
/// A block consists of whole chunks (shards, if there are) of the target; `map` gets the elements
/// of the source in it and its place, and returns as many for the target. The target may be the
/// source itself. Blocks are larger than one chunk where that saves decoding chunks of the source
/// again. [`par_write`] computes an array from others of any shape.
///
/// The options of the source apply as for [`par_fold`]; those of the target say how it is written.
///
/// # Errors
/// The shapes of the arrays, or of a block and its result, differ; a chunk is corrupt; a store
/// fails; the call was cancelled. Blocks that were written stay.
///
/// ```
/// use ndzarr::{Array, MemoryStore, par_map};
///
/// let store = MemoryStore::new();
/// let counts = Array::<u16>::builder([40, 60]).chunks([8, 60]).create((&store, "counts"))?;
/// counts.fill(.., 10)?;
/// let rates = Array::<f32>::builder([40, 60]).chunks([10, 10]).create((&store, "rates"))?;
/// par_map(&counts, &rates, |_, block| block.mapv(|count| f32::from(count) / 4.0))?;
/// assert_eq!(rates.read([39..40, 59..60])?[[0, 0]], 2.5);
/// # Ok::<(), ndzarr::Error>(())
/// ```
pub fn par_map<S: ElementType, T: ElementType>(
    source: &Array<S>,
    target: &Array<T>,
    map: impl Fn(&Region, S::Elements) -> T::Elements + Sync,
) -> Result<()> {
    let (from, to, run) = (&source.info, &target.info, &source.info.options);
    if from.shape() != to.shape() {
        let what = format!("an array of {:?} for one of {:?}", from.shape(), to.shape());
        return Err(to.name(Error::new(ErrorKind::WrongShape, what)));
    }
    let reads = &part(from, run);
    let block = |region: Region| {
        let map = &map;
        async move {
            Ok(map(
                &region,
                S::read(reads, &reads.resolve(&region)?).await?,
            ))
        }
    };
    write_blocks::<T, _>(
        from,
        to,
        run,
        (&decoded_shape(from)?, S::byte_len(from)),
        block,
    )
}

/// Writes blocks of an array, made from the decoded elements of another. The shape and the bytes
/// of an element are those of the other one.
fn write_blocks<T: ElementType, F: Future<Output = Result<T::Elements>> + Send>(
    from: &ArrayInfo,
    to: &ArrayInfo,
    run: &RunOptions,
    (decoded, byte_len): (&[u64], u64),
    block: impl Fn(Region) -> F + Sync,
) -> Result<()> {
    let (grid, threads) = blocks(to, run, decoded, [byte_len, T::byte_len(to)])?;
    let shape = to.shape();
    let counter = Counter::new(
        grid.n_overlaps(&Region::whole(shape)).unwrap_or(u64::MAX),
        run,
    );
    let writes = part(to, &to.options);
    let each = |region: Region| {
        let writes = &writes;
        let counter = &counter;
        let elements = block(region.clone());
        async move {
            T::write(writes, &writes.resolve(&region)?, &elements.await?).await?;
            counter.add(1);
            Ok(())
        }
    };
    all(
        from,
        to,
        run,
        threads,
        parts_of(&grid, &Region::whole(shape)),
        each,
    )
}

/// The blocks that are written, each of whole chunks, and the number of threads for them. `sizes`:
/// the bytes of an element that is read, and of one that is written.
fn blocks(
    to: &ArrayInfo,
    run: &RunOptions,
    decoded: &[u64],
    sizes: [u64; 2],
) -> Result<(ChunkGrid, usize)> {
    let shape = to.shape();
    let units = to.grid()?;
    let task = Task {
        shape,
        read: decoded,
        write: units.chunk_shape(),
        sizes,
        converts: true,
        carries: false,
        room: 0,
        lanes: 1,
    };
    // What is encoded takes as much again, and so does a chunk that is decoded.
    let unit = task
        .least_room()
        .saturating_add(bytes(decoded, sizes[0]))
        .saturating_mul(2);
    let threads = threads_for(run, unit);
    // Small enough for each thread to have several.
    let whole = bytes(shape, sizes[0].max(sizes[1]));
    let room = (run.bytes_in_flight / 2 / threads as u64)
        .min(whole / (2 * threads as u64))
        .max(task.least_room());
    let larger = Task { room, ..task }.grown(None, false);
    let larger: Vec<u64> = larger
        .iter()
        .flat_map(|plan| &plan.block)
        .map(|&len| len.max(1))
        .collect();
    let grid = match units.clone() {
        grid if grid.is_regular() => to.named(
            ChunkGrid::regular(shape, &larger)
                .map_err(|error| Error::new(ErrorKind::WrongShape, error)),
        )?,
        grid => grid,
    };
    Ok((grid, threads))
}

/// The array for the work of one thread.
fn part(info: &ArrayInfo, options: &RunOptions) -> ArrayInfo {
    let mut info = info.clone();
    info.options = options.clone().threads(NonZeroUsize::MIN);
    info.options.progress = None;
    info
}

fn bytes(shape: &[u64], size: u64) -> u64 {
    shape
        .iter()
        .fold(size.max(1), |bytes, &n| bytes.saturating_mul(n))
}

/// How many threads may each have this number of bytes in memory.
fn threads_for(run: &RunOptions, bytes: u64) -> usize {
    let room = usize::try_from(run.bytes_in_flight / bytes.max(1)).unwrap_or(usize::MAX);
    n_threads(run.threads).min(room).max(1)
}

/// The parts of the chunks in a region that are inside the array.
fn parts_of(grid: &ChunkGrid, region: &Region) -> impl Iterator<Item = Region> + Send {
    grid.overlaps(region)
        .filter_map(|overlap| grid.clipped_region(&overlap.chunk))
}

/// Runs `each` on regions.
fn all<'f, F: Future<Output = Result<()>> + Send + 'f>(
    source: &ArrayInfo,
    target: &ArrayInfo,
    run: &RunOptions,
    threads: usize,
    regions: impl Iterator<Item = Region> + Send,
    each: impl Fn(Region) -> F + Sync,
) -> Result<()> {
    let stores = [&source.storage, &target.storage];
    // One loop for all types of elements.
    let boxed = |region| -> BoxFuture<'f, Result<()>> { Box::pin(each(region)) };
    let boxed: &(dyn Fn(Region) -> BoxFuture<'f, Result<()>> + Sync) = &boxed;
    let regions: Box<dyn Iterator<Item = Region> + Send + '_> = Box::new(regions);
    each_on_threads(stores, run, threads, regions, boxed)
}
