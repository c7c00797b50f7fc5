//! Converts the chunks of an array: several at a time, with one in memory for each thread.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::available_parallelism;

use futures_util::{StreamExt, TryStreamExt, stream};
use ndzarr_engine::{FillChunks, Progress, RunOptions};
use ndzarr_store::StoreError;

use crate::core::Core;
use crate::error::{Error, ErrorKind, Result};
use crate::storage::{Call, Colour, Storage};

/// Above this number, chunks that cannot be listed are not tried one by one.
const MAX_TRIES: u64 = 1 << 20;

/// The chunks of a source array and of its target.
pub(super) struct Chunks<'o> {
    pub(super) source: Core,
    pub(super) target: Core,
    pub(super) run: &'o RunOptions,
    pub(super) colour: Colour,
}

impl Chunks<'_> {
    /// Copies the encoded chunks. Returns their number.
    pub(super) async fn copy(&self) -> Result<u64> {
        let chunks = self.stored().await?;
        let copied = AtomicU64::new(0);
        let n_copied = &copied;
        let copy = |chunk: Vec<u64>| async move {
            let (source, index) = (self.source.clone(), chunk.clone());
            let read = move |_| async move { source.encoded_unit(&index).await };
            if let Some(value) = self.source.storage.ask(self.colour, read).await? {
                let target = self.target.clone();
                let write = move |_| async move { target.put_encoded_unit(&chunk, value).await };
                self.target.storage.ask(self.colour, write).await?;
                n_copied.fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        };
        self.for_each(chunks, self.threads(0), copy).await?;
        Ok(copied.into_inner())
    }

    /// Reads elements and writes them, chunk by chunk of the target, or shard by shard. Chunks of
    /// the source that are not stored are skipped, unless the fill values differ.
    pub(super) async fn encode(&self, fill_differs: bool) -> Result<u64> {
        let (from, to) = (self.source.grid()?, self.target.grid()?);
        let chunks: BTreeSet<Vec<u64>> = if fill_differs {
            crate::chunks::Chunks::new(self.target.unit_grid()).map(|chunk| chunk.index).collect()
        } else {
            let mut touched = BTreeSet::new();
            for chunk in self.stored().await? {
                let Some(region) = from.clipped_region(&chunk) else { continue };
                touched.extend(to.overlaps(&region).map(|overlap| overlap.chunk));
            }
            touched
        };
        let chunks: Vec<Vec<u64>> = chunks.into_iter().collect();
        let one = RunOptions::default()
            .threads(NonZeroUsize::new(1))
            .cancel(self.run.cancel.clone())
            .fill_chunks(if fill_differs { FillChunks::Store } else { self.run.fill_chunks });
        let (mut source, mut target) = (self.source.clone(), self.target.clone());
        (source.options, target.options) = (one.clone(), one);
        let elements = to.chunk_shape().iter().fold(1u64, |n, &len| n.saturating_mul(len));
        let unit = elements.saturating_mul(target.data_type().elem_size().unwrap_or(1) as u64);
        let (source, target, to) = (&source, &target, &to);
        let encode = |chunk: Vec<u64>| async move {
            let Some(region) = to.clipped_region(&chunk) else { return Ok(()) };
            let (from, to) = ((source.clone(), source.resolve(&region)?), target.resolve(&region)?);
            if source.data_type().elem_size().is_some() {
                let read = move |_| async move { from.0.read_bytes(&from.1).await };
                let bytes = source.storage.ask(self.colour, read).await?;
                return target.write_bytes(&to, &bytes, self.colour).await;
            }
            let read = move |_| async move { from.0.read_vlen(&from.1).await };
            let elements = source.storage.ask(self.colour, read).await?;
            target.write_vlen(&to, &elements, self.colour).await
        };
        let n_chunks = chunks.len() as u64;
        self.for_each(chunks, self.threads(unit), encode).await?;
        Ok(n_chunks)
    }

    /// The stored chunks inside the array, listed if the store can do so.
    async fn stored(&self) -> Result<Vec<Vec<u64>>> {
        let array = &self.source;
        let (grid, keys) = (array.grid()?, &array.spec().keys);
        let prefix = keys.prefix.clone();
        let list = move |storage: Storage| async move {
            match storage.list_prefix(&prefix).await {
                Err(StoreError::Unsupported(_)) => Ok(None),
                Err(error) => Err(Error::from(error).in_store(|| storage.name())),
                Ok(found) => Ok(Some(found)),
            }
        };
        match array.storage.ask(self.colour, list).await? {
            Some(found) => {
                let ndim = array.shape().len();
                let index = |key: &String| keys.encoding.decode(key.strip_prefix(&keys.prefix)?, ndim);
                let mut chunks: Vec<Vec<u64>> = found.iter().filter_map(index).collect();
                chunks.retain(|chunk| grid.chunk_region(chunk).is_some());
                chunks.sort();
                chunks.dedup();
                Ok(chunks)
            }
            None => {
                let whole = ndzarr_grid::Region::whole(array.shape());
                match grid.n_overlaps(&whole) {
                    Some(n) if n <= MAX_TRIES => {
                        Ok(crate::chunks::Chunks::new(array.unit_grid()).map(|chunk| chunk.index).collect())
                    }
                    _ => {
                        let what =
                            "the store cannot list its keys, and there are too many chunks to try each";
                        let error = Error::new(ErrorKind::Unsupported, what);
                        Err(error.in_store(|| array.storage.name()))
                    }
                }
            }
        }
    }

    /// The number of threads that may hold a chunk each.
    fn threads(&self, unit: u64) -> usize {
        let wanted = self.run.threads.or_else(|| available_parallelism().ok()).map_or(1, NonZeroUsize::get);
        let room = self.run.bytes_in_flight / unit.max(1);
        wanted.min(usize::try_from(room).unwrap_or(usize::MAX)).max(1)
    }

    /// A blocking call uses several threads to make requests. Meanwhile the calling thread waits in
    /// the way that both stores define, because their runtime may have no other thread. An
    /// asynchronous call works on the same number of chunks concurrently.
    async fn for_each<F: Future<Output = Result<()>> + Send>(
        &self,
        chunks: Vec<Vec<u64>>,
        threads: usize,
        each: impl Fn(Vec<u64>) -> F + Sync,
    ) -> Result<()> {
        let (done, total) = (AtomicU64::new(0), chunks.len() as u64);
        let report = || {
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            if let Some(progress) = &self.run.progress {
                progress.report(Progress::new(done, total));
            }
        };
        if self.colour == Colour::Async {
            let mut all = stream::iter(chunks).map(each).buffer_unordered(threads);
            while let Some(()) = all.try_next().await? {
                check_cancel(self.run)?;
                report();
            }
            return Ok(());
        }
        let (chunks, failed) = (Mutex::new(chunks.into_iter()), AtomicBool::new(false));
        let error = Mutex::new(None);
        let (source, target) = (&self.source.storage, &self.target.storage);
        let call = Call::current();
        let work = || {
            let _entered = call.clone().enter();
            while !failed.load(Ordering::Relaxed) {
                let Some(chunk) = lock(&chunks).next() else { return };
                let one = |chunk| source.wait(async { target.wait(each(chunk)) });
                match check_cancel(self.run).and_then(|()| one(chunk)) {
                    Ok(()) => report(),
                    Err(found) => {
                        failed.store(true, Ordering::Relaxed);
                        lock(&error).get_or_insert(found);
                    }
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..threads.min(usize::try_from(total).unwrap_or(usize::MAX)) {
                if std::thread::Builder::new().spawn_scoped(scope, work).is_err() {
                    // The system allows no more threads.
                    break;
                }
            }
            work();
        });
        let error = lock(&error).take();
        error.map_or(Ok(()), Err)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn check_cancel(run: &RunOptions) -> Result<()> {
    match &run.cancel {
        Some(cancel) if cancel.is_cancelled() => Err(Error::new(ErrorKind::Cancelled, "it was cancelled")),
        _ => Ok(()),
    }
}
