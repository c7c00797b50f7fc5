//! Changes of an array's shape, and their effect on its chunks.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use ndzarr_engine::{
    AnyStore, CancelOnDrop, ChunkedArray, ConcurrentUpdate, EngineError, Outside, ShardWriter, Source,
    check_shrink, check_shrink_async, on_own_thread, shrink, shrink_async, shrink_pooled,
};
use ndzarr_grid::{ChunkGrid, Region};
use ndzarr_metadata::{
    DocumentChange, MetadataError, NodeKind, ShapeChange, change_shape, document_shape, shape_key,
};
use ndzarr_model::ChunkEdges;

use super::Core;
use crate::consolidated;
use crate::error::{Error, ErrorKind, Result};
use crate::storage::{Colour, HeldDocument, Published, Storage, run_change};

/// A change of the shape that is not published yet. Dropping it cancels it: nothing more of it is
/// published, and the document is held until no trace of it is visible.
struct Unfinished {
    held: Option<HeldDocument>,
    stop: CancelOnDrop,
}

/// What is appended along an axis.
pub(super) struct Added<'s> {
    /// Its shape, in elements.
    pub(super) shape: Vec<u64>,
    /// Parts of it, by their ranges along the axis.
    pub(super) parts: Vec<(Range<u64>, &'s dyn Source)>,
    /// Shards that have the rest of it, encoded.
    pub(super) shards: Vec<ShardWriter>,
    /// The shape that the array has to have before.
    pub(super) behind: Option<Vec<u64>>,
}

impl<'s> Added<'s> {
    /// The elements of a source of this shape.
    fn new(shape: &[u64], axis: usize, source: &'s dyn Source) -> Self {
        // Without such an axis it is refused before anything is written.
        let len = shape.get(axis).copied().unwrap_or(0);
        let parts = vec![(0..len, source)];
        Self { shape: shape.to_vec(), parts, shards: Vec::new(), behind: None }
    }
}

impl Core {
    pub(crate) async fn resize(&mut self, shape: &[u64], colour: Colour) -> Result<()> {
        if colour == Colour::Blocking {
            return self.resize_by(shape, colour).await;
        }
        let (mut core, shape) = (self.clone(), shape.to_vec());
        let resized = run_change(self.options.cancel.clone(), async move {
            let result = core.resize_by(&shape, colour).await;
            (core, result)
        });
        let result;
        (*self, result) = resized.await;
        result
    }

    /// Like a blocking append, an asynchronous one must not depend on its own task: any call that
    /// waits for the document may have to poll it. So the elements are copied.
    pub(crate) async fn append(
        &mut self,
        axis: usize,
        source_shape: &[u64],
        source: &dyn Source,
        colour: Colour,
    ) -> Result<()> {
        if colour == Colour::Blocking {
            return self.append_by(axis, Added::new(source_shape, axis, source), colour).await;
        }
        let len: Vec<usize> = source_shape.iter().map(|&n| n as usize).collect();
        let source = source.piece(&vec![0; len.len()], &len);
        let (mut core, shape) = (self.clone(), source_shape.to_vec());
        let appended = run_change(self.options.cancel.clone(), async move {
            let result = core.append_by(axis, Added::new(&shape, axis, &*source), colour).await;
            (core, result)
        });
        let result;
        (*self, result) = appended.await;
        result
    }

    /// Changes the shape. Elements outside a smaller shape are removed first, and the document is
    /// written last, so no data that could reappear is ever outside the shape in the document.
    async fn resize_by(&mut self, shape: &[u64], colour: Colour) -> Result<()> {
        let storage = self.storage.clone();
        let key = shape_key(&self.node);
        let policy = self.options.concurrent_update;
        self.settle_keys_by(colour).await?;
        if let AnyStore::Blocking(_) = storage.0 {
            let (node, key) = (Arc::clone(&self.node), key.clone());
            let check = move |storage: Storage| async move { storage.check_there_first(&node, &key).await };
            storage.ask(colour, check).await?;
        }
        // The shape from which chunks were already trimmed before another writer intervened.
        let mut trimmed = None;
        *self = loop {
            // As long as the document is held, no writer appends to the part being trimmed.
            let (stop, options) = self.options.part();
            let limits = &self.node.context.limits;
            let held = storage.hold(&key, limits).await?;
            held.condition().into_iter().for_each(|condition| stop.only_while(condition));
            let change = self.checked(change_shape(&self.node, held.value(), shape))?;
            let reshaped = self.reshaped(shape, &change)?;
            let mut work = Unfinished { held: Some(held), stop };
            if loses_elements(&change.was, shape) && trimmed.as_ref() != Some(&change.was) {
                // Anything that prevents trimming chunks or changing the document is detected
                // before either.
                reshaped.check_shrink(shape, &change.was, colour).await?;
                if change.was != shape {
                    work.held()?.check(policy).await?;
                }
                let part = Self { options, ..reshaped.clone() };
                part.trim(shape, &change.was, colour).await?;
                trimmed = Some(change.was.clone());
            }
            if change.was == shape || work.publish(&change.document, policy).await? == Published::Yes {
                break reshaped;
            }
        };
        self.refresh(key, colour).await
    }

    /// Extends the array along an axis by elements. No other append gets the same range.
    ///
    /// If the document can be held, or there are no other writers, the elements are written first, so
    /// every reader that sees the new shape sees them. Otherwise the document is changed first, which
    /// reserves the range.
    pub(super) async fn append_by(
        &mut self,
        axis: usize,
        mut added: Added<'_>,
        colour: Colour,
    ) -> Result<()> {
        let storage = self.storage.clone();
        let key = shape_key(&self.node);
        let policy = self.options.concurrent_update;
        self.settle_keys_by(colour).await?;
        if let AnyStore::Blocking(_) = storage.0 {
            let (node, key) = (Arc::clone(&self.node), key.clone());
            let check = move |storage: Storage| async move { storage.check_there_first(&node, &key).await };
            storage.ask(colour, check).await?;
        }
        loop {
            let (stop, options) = self.options.part();
            let limits = &self.node.context.limits;
            let mut held = storage.hold(&key, limits).await?;
            held.condition().into_iter().for_each(|condition| stop.only_while(condition));
            let was = self.checked(document_shape(&self.node, held.value()))?;
            if let Some(expected) = added.behind.as_ref().filter(|&expected| was != *expected) {
                let what = format!(
                    "the array was appended to or resized by another: its shape is {was:?}, not {expected:?}"
                );
                return Err(self.name(Error::new(ErrorKind::Conflict, what)));
            }
            let shape = self.named(appended(&was, axis, &added.shape))?;
            let change = self.checked(change_shape(&self.node, held.value(), &shape))?;
            let grown = self.reshaped(&shape, &change)?;
            grown.writable()?;
            if !held.excludes_others() && policy != ConcurrentUpdate::LastWriterWins {
                if shape != was && held.publish(&change.document, policy).await? == Published::No {
                    continue;
                }
                *self = grown;
                self.outside(Outside::Shared)?.write_added(axis, was[axis], &mut added, colour).await?;
                return self.refresh(key, colour).await;
            }
            let writer = Self { options, ..grown.outside(Outside::Fill)? };
            // The written elements must not reappear when the array grows.
            if shape != was && storage.is_blocking() {
                let (array, shape) = (self.clone(), shape.clone());
                held.unless_published(move |held| array.tidy(held, &shape));
            }
            let mut work = Unfinished { held: Some(held), stop };
            let done = match writer.write_added(axis, was[axis], &mut added, colour).await {
                Ok(()) if shape == was => Ok(Published::Yes),
                Ok(()) => work.publish(&change.document, policy).await,
                Err(error) => Err(error),
            };
            match done {
                Ok(Published::Yes) => {
                    drop(work);
                    *self = grown;
                    return self.refresh(key, colour).await;
                }
                Ok(Published::No) => {}
                Err(error) => {
                    match colour {
                        Colour::Blocking => work.end(),
                        Colour::Async => {
                            let end = move || {
                                work.end();
                                Ok(())
                            };
                            let _ = on_own_thread(end).await;
                        }
                    }
                    // No other thread may wait for an asynchronous store.
                    if !storage.is_blocking()
                        && let Ok(Some(now)) = storage.value(&key, limits.document_bytes).await
                    {
                        let _ = self.trim_behind(Some(&now), &shape, colour).await;
                    }
                    return Err(error);
                }
            }
        }
    }

    /// Writes what is added, from `start` on along the axis.
    async fn write_added(
        &self,
        axis: usize,
        start: u64,
        added: &mut Added<'_>,
        colour: Colour,
    ) -> Result<()> {
        for shard in added.shards.drain(..) {
            let shard = shard.within(self.data()?).with_options(&self.options);
            let finished: Result<_, EngineError> = shard.finish(async || Ok(())).await;
            self.named(finished)?;
        }
        for (range, source) in &added.parts {
            let mut ranges: Vec<Range<u64>> = self.shape().iter().map(|&n| 0..n).collect();
            ranges[axis] = start + range.start..start + range.end;
            self.write_by(colour, &[(Region::new(ranges), *source)]).await?;
        }
        Ok(())
    }

    /// Removes what an append has written for the shape `written`, but not published: whatever lies outside
    /// the shape in the document. A failure is not reported: the caller has an error already, or is gone.
    /// Resizing to the same shape tries again.
    fn tidy(&self, held: &HeldDocument, written: &[u64]) {
        let (key, limits) = (shape_key(&self.node), &self.node.context.limits);
        let again;
        let held = if held.excludes_others() {
            // If the lock was lost, what is outside the old shape may be another writer's.
            let now = self.storage.wait(self.storage.value(&key, limits.document_bytes));
            if now.is_ok_and(|now| now != held.bytes()) {
                return;
            }
            held
        } else {
            match self.storage.wait(self.storage.hold(&key, limits)) {
                Ok(held) => again = held,
                Err(_) => return,
            }
            &again
        };
        let _ = self.storage.wait(self.trim_behind(held.value(), written, Colour::Blocking));
    }

    /// The same, although the call may have been cancelled.
    async fn trim_behind(&self, document: Option<&[u8]>, written: &[u64], colour: Colour) -> Result<()> {
        let now = self.checked(document_shape(&self.node, document))?;
        let change = self.checked(change_shape(&self.node, document, &now))?;
        let mut all = self.reshaped(&now, &change)?;
        all.options.cancel = None;
        let was: Vec<u64> = now.iter().zip(written).map(|(&now, &written)| now.max(written)).collect();
        all.trim(&now, &was, colour).await
    }

    /// The same array, for writing with this assumption about the elements outside of it.
    fn outside(&self, outside: Outside) -> Result<Self> {
        let data = self.data()?;
        let data = Ok(Arc::new(self.regridded(data, data.grid().clone())?.outside(outside)));
        Ok(Self { data, ..self.clone() })
    }

    /// Checks, before a handle whose shape may be out of date publishes a chunk, that the chunk is
    /// still inside the array: `region` is the part of the chunk that the handle takes to be
    /// inside.
    ///
    /// # Errors
    /// Part of it is now outside; the array is gone.
    pub(crate) async fn check_inside(&self, chunk: &[u64], region: &Region) -> Result<()> {
        let key = shape_key(&self.node);
        let limit = self.node.context.limits.document_bytes;
        let Some(document) = self.storage.value(&key, limit).await? else {
            return self.storage.check_there(&self.node, &key).await;
        };
        let now = self.checked(document_shape(&self.node, Some(&document)))?;
        let is_inside = region.ranges().iter().zip(&now).all(|(range, &end)| range.end <= end);
        if is_inside && region.ranges().len() == now.len() {
            return Ok(());
        }
        let what = format!(
            "chunk {chunk:?} was not stored: the array was resized to {now:?}, and some of it is outside"
        );
        Err(self.name(Error::new(ErrorKind::WrongShape, what)))
    }

    /// Updates the copies of a changed document.
    async fn refresh(&self, key: String, colour: Colour) -> Result<()> {
        self.changed();
        let change = DocumentChange { keys: vec![key], ..DocumentChange::default() };
        let (node, policy) = (Arc::clone(&self.node), self.options.concurrent_update);
        let refresh = move |storage: Storage| async move {
            consolidated::refresh(&storage, &node, &change, policy).await
        };
        self.storage.ask(colour, refresh).await.map_err(|error| {
            let what = "the array has its new shape, the consolidated metadata above it may not";
            error.after(what).once_done()
        })
    }

    fn checked<T>(&self, result: Result<T, MetadataError>) -> Result<T> {
        result.map_err(|error| {
            let error = match error {
                MetadataError::Inexpressible { what, .. } => Error::new(ErrorKind::WrongShape, what),
                error => error.into(),
            };
            error.in_document(Some(&shape_key(&self.node))).in_store(|| self.storage.name())
        })
    }

    /// The same array with another shape; affects only this handle.
    fn reshaped(&self, shape: &[u64], change: &ShapeChange) -> Result<Self> {
        let mut node = (*self.node).clone();
        let mut grid = None;
        if let NodeKind::Array(spec) = &mut node.kind {
            shape.clone_into(&mut spec.shape);
            if let Some(edges) = &change.chunk_edges {
                spec.unit_shape = edges.iter().map(ChunkEdges::max).collect();
                spec.chunk_edges = Some(edges.clone());
                grid =
                    Some(self.named(spec.grid().map_err(|error| Error::new(ErrorKind::WrongShape, error)))?);
            }
        }
        let key = shape_key(&node);
        for (_, bytes) in node.documents.iter_mut().filter(|(name, _)| *name == key) {
            bytes.clone_from(&change.document);
        }
        let data = match &self.data {
            Ok(data) => Ok(Arc::new(match grid {
                // The edges in the document, whose number may have grown.
                Some(grid) => self.regridded(data, grid)?,
                None => self.resized(data, shape)?,
            })),
            Err(error) => Err(error.clone()),
        };
        Ok(Self {
            storage: self.storage.clone(),
            node: Arc::new(node),
            options: self.options.clone(),
            view: self.view.clone(),
            data,
        })
    }

    fn resized(&self, data: &ChunkedArray, shape: &[u64]) -> Result<ChunkedArray> {
        let grid = data.grid().resized(shape).map_err(|error| Error::new(ErrorKind::WrongShape, error));
        self.regridded(data, self.named(grid)?)
    }

    fn regridded(&self, data: &ChunkedArray, grid: ChunkGrid) -> Result<ChunkedArray> {
        self.named(data.regridded(grid).map_err(|error| Error::from(error).of_shape()))
    }

    async fn check_shrink(&self, shape: &[u64], was: &[u64], colour: Colour) -> Result<()> {
        let (data, was) = (self.resized(self.writable()?, shape)?, was.to_vec());
        let check = move |storage: Storage| async move {
            Ok(match &storage.0 {
                AnyStore::Blocking(store) => check_shrink(&data, &**store, &was),
                AnyStore::Async(store) => check_shrink_async(&data, &**store, &was).await,
            })
        };
        self.named(self.storage.ask(colour, check).await?)
    }

    async fn trim(&self, shape: &[u64], was: &[u64], colour: Colour) -> Result<()> {
        let data = Arc::new(self.resized(self.writable()?, shape)?);
        self.named(match &self.storage.0 {
            AnyStore::Blocking(store) => match colour {
                Colour::Blocking => shrink(&data, &**store, was, &self.options),
                Colour::Async => shrink_pooled(&data, store, was, &self.options).await,
            },
            AnyStore::Async(store) => shrink_async(&data, &**store, was, &self.options).await,
        })
    }
}

impl Unfinished {
    fn held(&mut self) -> Result<&mut HeldDocument> {
        self.held.as_mut().ok_or_else(|| Error::new(ErrorKind::Cancelled, "the document was given up"))
    }

    async fn publish(&mut self, document: &Bytes, policy: ConcurrentUpdate) -> Result<Published> {
        match self.held.take() {
            Some(held) => held.publish(document, policy).await,
            None => Err(Error::new(ErrorKind::Cancelled, "the document was given up")),
        }
    }

    /// Ensures that nothing more is published and that everything written outside the shape is
    /// gone. Then releases the document.
    fn end(&mut self) {
        self.stop.cancel().cancel();
        self.stop.cancel().settle();
        self.held = None;
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        self.stop.cancel().cancel();
        let has_to_undo = self.held.as_ref().is_some_and(HeldDocument::has_to_undo);
        if !has_to_undo && self.stop.cancel().is_settled() {
            return;
        }
        let stop = CancelOnDrop::part_of(None);
        let work = Self { held: self.held.take(), stop: std::mem::replace(&mut self.stop, stop) };
        // Dropping a future must not wait for jobs that are still publishing.
        let work = Arc::new(Mutex::new(Some(work)));
        let end = |work: &Mutex<Option<Self>>| {
            let work = work.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(mut work) = work {
                work.end();
            }
        };
        let own = Arc::clone(&work);
        let thread = std::thread::Builder::new().name("ndzarr-tidy".to_owned());
        if thread.spawn(move || end(&own)).is_err() {
            end(&work);
        }
    }
}

/// Whether any elements may be outside the new shape. Keeping the shape removes what an interrupted
/// call left there.
fn loses_elements(was: &[u64], shape: &[u64]) -> bool {
    was == shape || shape.iter().zip(was).any(|(new, old)| new < old)
}

/// The array's shape extended by that of a source.
pub(super) fn appended(was: &[u64], axis: usize, source_shape: &[u64]) -> Result<Vec<u64>> {
    let fits = source_shape.len() == was.len()
        && axis < was.len()
        && (0..was.len()).all(|other| other == axis || source_shape[other] == was[other]);
    let len = if fits { was[axis].checked_add(source_shape[axis]) } else { None };
    let Some(len) = len else {
        let what =
            format!("elements of shape {source_shape:?} along axis {axis} of an array of shape {was:?}");
        return Err(Error::new(ErrorKind::WrongShape, what));
    };
    let mut shape = was.to_vec();
    shape[axis] = len;
    Ok(shape)
}
