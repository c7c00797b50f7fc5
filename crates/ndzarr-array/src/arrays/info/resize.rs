//! Changes of an array's shape, and their effect on its chunks.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use ndzarr_engine::{
    AnyStore, ChunkedArray, ConcurrentUpdate, EngineError, Outside, ShardWriter, Source,
    check_shrink, check_shrink_async, is_change_thread, scoped, shrink, shrink_async,
};
use ndzarr_grid::{ChunkGrid, Region};
use ndzarr_metadata::{
    DocumentChange, MetadataError, NodeKind, ShapeChange, change_shape, document_shape, shape_key,
};

use super::ArrayInfo;
use super::unfinished::Unfinished;
use crate::error::{Error, ErrorKind, Result};
use crate::hierarchy::consolidated;
use crate::storage::{HeldDocument, Published};

/// What is appended along an axis.
pub(super) struct Added<'s> {
    /// Its shape, in elements.
    pub(super) shape: Vec<u64>,
    /// Parts of it, by their ranges along the axis.
    pub(super) parts: Vec<(Range<u64>, &'s dyn Source)>,
    /// Shards that have the rest of it, encoded.
    pub(super) shards: Vec<ShardWriter>,
    /// The shape that the array has to have, if it matters.
    pub(super) expected_shape: Option<Vec<u64>>,
}

impl<'s> Added<'s> {
    /// The elements of a source of this shape.
    fn new(shape: &[usize], axis: usize, source: &'s dyn Source) -> Self {
        let shape: Vec<u64> = shape.iter().map(|&n| n as u64).collect();
        // Without such an axis it is refused before anything is written.
        let len = shape.get(axis).copied().unwrap_or(0);
        let parts = vec![(0..len, source)];
        Self {
            shape,
            parts,
            shards: Vec::new(),
            expected_shape: None,
        }
    }
}

impl ArrayInfo {
    /// Changes the shape. Elements outside a smaller shape are removed first, and the document is
    /// written last, so no data that could reappear is ever outside the shape in the document.
    pub(crate) async fn resize(&mut self, shape: &[u64]) -> Result<()> {
        let _changing = self.changing();
        let storage = self.storage.clone();
        let key = shape_key(&self.node);
        let policy = self.options.concurrent_update;
        self.confirm_keys().await?;
        if storage.is_blocking() {
            storage.check_there_first(&self.node, &key).await?;
        }
        // The shape from which chunks were already trimmed before another writer intervened.
        let mut trimmed = None;
        *self = loop {
            // As long as the document is held, no writer appends to the part being trimmed.
            let mut held = storage.hold(&key, &self.node.context.limits).await?;
            let change = self.checked(change_shape(&self.node, held.value(), shape))?;
            let reshaped = self.reshaped(shape, &change)?;
            let loses = loses_elements(&change.was, shape) && trimmed.as_ref() != Some(&change.was);
            if loses {
                // Anything that prevents trimming chunks or changing the document is detected
                // before either.
                reshaped.check_shrink(&change.was).await?;
                if change.was != shape {
                    held.check(policy).await?;
                }
            }
            let work = self.named(Unfinished::new(held))?;
            if loses {
                let part = Self {
                    options: work.options(&self.options),
                    ..reshaped.clone()
                };
                part.trim(&change.was, Some(&work)).await?;
                trimmed = Some(change.was.clone());
            }
            if change.was == shape
                || work.publish(&change.document, policy).await? == Published::Yes
            {
                break reshaped;
            }
        };
        self.refresh(key).await
    }

    /// Extends the array along an axis by elements.
    pub(crate) async fn append(
        &mut self,
        axis: usize,
        shape: &[usize],
        source: &dyn Source,
    ) -> Result<()> {
        self.append_all(axis, Added::new(shape, axis, source)).await
    }

    /// Appends without blocking the polling task. A thread that makes the change has a copy of the
    /// elements.
    pub(crate) async fn append_on_change_thread(
        &mut self,
        axis: usize,
        shape: &[usize],
        source: &dyn Source,
    ) -> Result<()> {
        if !self.storage.is_blocking() {
            let cancel = self.options.cancel.clone();
            return scoped(cancel.as_ref(), self.append(axis, shape, source)).await;
        }
        let source = source.piece(&vec![0; shape.len()], shape);
        let shape = shape.to_vec();
        self.update_on_change_thread(move |mut info| async move {
            let appended = info.append(axis, &shape, &*source).await;
            (info, appended)
        })
        .await
    }

    /// Extends the array along an axis. No other append gets the same range.
    ///
    /// If the document can be held, or there are no other writers, the elements are written first,
    /// so every reader that sees the new shape sees them. Otherwise the document is changed first,
    /// which reserves the range.
    pub(super) async fn append_all(&mut self, axis: usize, mut added: Added<'_>) -> Result<()> {
        let _changing = self.changing();
        let storage = self.storage.clone();
        let key = shape_key(&self.node);
        let policy = self.options.concurrent_update;
        let has_shards = !added.shards.is_empty();
        self.confirm_keys().await?;
        if storage.is_blocking() {
            storage.check_there_first(&self.node, &key).await?;
        }
        loop {
            let limits = &self.node.context.limits;
            let held = storage.hold(&key, limits).await?;
            let was = self.checked(document_shape(&self.node, held.value()))?;
            if let Some(expected) = added
                .expected_shape
                .as_ref()
                .filter(|&expected| was != *expected)
            {
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
                let written = self.write_reserved(axis, was[axis], &mut added).await;
                let refreshed = self.refresh(key).await;
                return written.and(refreshed);
            }
            let document = (shape != was).then_some(&change.document);
            if self
                .append_held(held, &grown, axis, &mut added, document)
                .await?
                == Published::Yes
            {
                *self = grown;
                return self.refresh(key).await;
            }
            // What was written is gone, and encoded shards are written only once.
            if has_shards {
                let what =
                    "another writer changed the array's document meanwhile: nothing was published";
                return Err(self.name(Error::new(ErrorKind::Conflict, what)));
            }
        }
    }

    /// Writes elements after the document with their shape.
    async fn write_reserved(&self, axis: usize, start: u64, added: &mut Added<'_>) -> Result<()> {
        let work = self.named(Unfinished::new(None))?;
        let writer = self.outside(Outside::Shared)?;
        let writer = Self {
            options: work.options(&self.options),
            ..writer
        };
        writer.write_added(axis, start, added, &work).await
    }

    /// Writes elements while the document is held, or while no other writer exists. Then publishes
    /// the new document, if the shape changes.
    async fn append_held(
        &self,
        held: HeldDocument,
        grown: &Self,
        axis: usize,
        added: &mut Added<'_>,
        document: Option<&Bytes>,
    ) -> Result<Published> {
        let start = grown.shape()[axis] - added.shape[axis];
        let work = self.named(Unfinished::new(held))?;
        // The written elements must not reappear when the array grows.
        if document.is_some() && self.storage.is_blocking() {
            let array = self.clone();
            let shape = grown.shape().to_vec();
            work.unless_published(move |held| array.undo_append(held, &shape));
        }
        let writer = Self {
            options: work.options(&self.options),
            ..grown.outside(Outside::Fill)?
        };
        let done = match (
            writer.write_added(axis, start, added, &work).await,
            document,
        ) {
            (Ok(()), None) => Ok(Published::Yes),
            (Ok(()), Some(document)) => {
                work.publish(document, self.options.concurrent_update).await
            }
            (Err(error), _) => Err(error),
        };
        drop(work);
        if !matches!(done, Ok(Published::Yes)) && !self.storage.is_blocking() {
            self.trim_unless_published(grown.shape()).await;
        }
        done
    }

    /// Removes what an append that did not publish has written to an asynchronous store, for which
    /// no other thread may wait.
    async fn trim_unless_published(&self, written: &[u64]) {
        let key = shape_key(&self.node);
        let limit = self.node.context.limits.document_bytes;
        if let Ok(Some(now)) = self.storage.value(&key, limit).await {
            let _ = self.trim_unpublished(Some(&now), written).await;
        }
    }

    /// Writes what is added, from `start` on along the axis.
    async fn write_added(
        &self,
        axis: usize,
        start: u64,
        added: &mut Added<'_>,
        work: &Unfinished,
    ) -> Result<()> {
        for shard in added.shards.drain(..) {
            let shard = shard.within(self.data()?).with_options(&self.options);
            let finished: Result<_, EngineError> = shard.finish(async || Ok(())).await;
            self.named(finished)?;
        }
        for (range, source) in &added.parts {
            let mut ranges: Vec<Range<u64>> = self.shape().iter().map(|&n| 0..n).collect();
            ranges[axis] = start + range.start..start + range.end;
            let parts = [(Region::new(ranges), *source)];
            match &self.storage.store {
                AnyStore::Async(_) => self.write_async(&parts).await?,
                // It leaves the codecs to the pool: it has to let go of the document as soon as the
                // call is given up, or one of the chunks fails.
                AnyStore::Blocking(_) if is_change_thread() => {
                    work.unless_cancelled(self.write_async(&parts)).await?;
                }
                AnyStore::Blocking(_) => {
                    let cancel = self.options.cancel.as_ref();
                    let written = self.write_blocking(&parts);
                    work.in_place(|| self.storage.wait_within(cancel, written))?;
                }
            }
        }
        Ok(())
    }

    /// Removes what an append has written for the shape `written`, but not published: whatever lies
    /// outside the shape in the document. A failure is not reported: the caller has an error
    /// already, or has ended. Resizing to the same shape tries again.
    fn undo_append(&self, held: &HeldDocument, written: &[u64]) {
        let key = shape_key(&self.node);
        let limits = &self.node.context.limits;
        let again;
        let held = if held.excludes_others() {
            // If the lock was lost, what is outside the old shape may be another writer's.
            let now = self
                .storage
                .wait_within(None, self.storage.value(&key, limits.document_bytes));
            if now.is_ok_and(|now| now != held.bytes()) {
                return;
            }
            held
        } else {
            match self
                .storage
                .wait_within(None, self.storage.hold(&key, limits))
            {
                Ok(held) => again = held,
                Err(_) => return,
            }
            &again
        };
        let _ = self
            .storage
            .wait_within(None, self.trim_unpublished(held.value(), written));
    }

    /// Removes what lies outside the shape in a document, even after the call was cancelled.
    async fn trim_unpublished(&self, document: Option<&[u8]>, written: &[u64]) -> Result<()> {
        let now = self.checked(document_shape(&self.node, document))?;
        let change = self.checked(change_shape(&self.node, document, &now))?;
        let mut all = self.reshaped(&now, &change)?;
        all.options.cancel = None;
        let was: Vec<u64> = now
            .iter()
            .zip(written)
            .map(|(&now, &written)| now.max(written))
            .collect();
        all.trim(&was, None).await
    }

    /// The array for writing, with this assumption about the elements outside of it.
    fn outside(&self, outside: Outside) -> Result<Self> {
        let data = self.data()?;
        let data = Ok(Arc::new(
            self.regridded(data, data.grid().clone())?.outside(outside),
        ));
        Ok(Self {
            data,
            ..self.clone()
        })
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
        let is_inside = region
            .ranges()
            .iter()
            .zip(&now)
            .all(|(range, &end)| range.end <= end);
        if is_inside && region.ranges().len() == now.len() {
            return Ok(());
        }
        let what = format!(
            "chunk {chunk:?} was not stored: the array was resized to {now:?}, and some of it is outside"
        );
        Err(self.name(Error::new(ErrorKind::WrongShape, what)))
    }

    /// Updates the copies of a changed document.
    async fn refresh(&self, key: String) -> Result<()> {
        let change = DocumentChange {
            keys: vec![key],
            ..DocumentChange::default()
        };
        let policy = self.options.concurrent_update;
        consolidated::refresh(&self.storage, &self.node, &change, policy)
            .await
            .map_err(|error| {
                let what =
                    "the array has its new shape, the consolidated metadata above it may not";
                error.after(what).once_done()
            })
    }

    fn checked<T>(&self, result: Result<T, MetadataError>) -> Result<T> {
        result.map_err(|error| {
            let error = match error {
                MetadataError::Inexpressible { what, .. } => {
                    Error::new(ErrorKind::WrongShape, what)
                }
                error => error.into(),
            };
            error
                .in_document(Some(&shape_key(&self.node)))
                .in_store(|| self.storage.name())
        })
    }

    /// The array with another shape; affects only this handle.
    fn reshaped(&self, shape: &[u64], change: &ShapeChange) -> Result<Self> {
        let mut node = (*self.node).clone();
        if let NodeKind::Array(spec) = &mut node.kind {
            shape.clone_into(&mut spec.shape);
            spec.unit_shape.clone_from(&change.now.unit_shape);
            spec.chunk_edges.clone_from(&change.now.chunk_edges);
            spec.custom_grid.clone_from(&change.now.custom_grid);
        }
        let key = shape_key(&node);
        for (_, bytes) in node.documents.iter_mut().filter(|(name, _)| *name == key) {
            bytes.clone_from(&change.document);
        }
        let data = match &self.data {
            Ok(data) => {
                let grid = change
                    .now
                    .grid()
                    .map_err(|error| Error::new(ErrorKind::WrongShape, error));
                Ok(Arc::new(self.regridded(data, self.named(grid)?)?))
            }
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

    fn regridded(&self, data: &ChunkedArray, grid: ChunkGrid) -> Result<ChunkedArray> {
        self.named(
            data.regridded(grid)
                .map_err(|error| Error::from(error).of_shape()),
        )
    }

    /// Checks that [`trim`](Self::trim) is possible.
    async fn check_shrink(&self, was: &[u64]) -> Result<()> {
        let data = self.writable()?;
        self.named(match &self.storage.store {
            AnyStore::Blocking(store) => check_shrink(data, &**store, was),
            AnyStore::Async(store) => check_shrink_async(data, &**store, was).await,
        })
    }

    /// Removes what is outside the shape and was inside of another, for a change that holds the
    /// document or to undo one.
    async fn trim(&self, was: &[u64], work: Option<&Unfinished>) -> Result<()> {
        let data = self.writable()?;
        self.named(match &self.storage.store {
            AnyStore::Blocking(store) => {
                let shrink = || shrink(data, &**store, was, &self.options);
                work.map_or_else(&shrink, |work| work.in_place(shrink))
            }
            AnyStore::Async(store) => shrink_async(data, &**store, was, &self.options).await,
        })
    }
}

/// Returns `true` if elements may be outside the new shape. Keeping the shape removes what an
/// interrupted call left there.
fn loses_elements(was: &[u64], shape: &[u64]) -> bool {
    was == shape || shape.iter().zip(was).any(|(new, old)| new < old)
}

/// The array's shape extended by that of a source.
pub(super) fn appended(was: &[u64], axis: usize, source_shape: &[u64]) -> Result<Vec<u64>> {
    let fits = source_shape.len() == was.len()
        && axis < was.len()
        && (0..was.len()).all(|other| other == axis || source_shape[other] == was[other]);
    let len = if fits {
        was[axis].checked_add(source_shape[axis])
    } else {
        None
    };
    let Some(len) = len else {
        let what = format!(
            "elements of shape {source_shape:?} along axis {axis} of an array of shape {was:?}"
        );
        return Err(Error::new(ErrorKind::WrongShape, what));
    };
    let mut shape = was.to_vec();
    shape[axis] = len;
    Ok(shape)
}
