//! Changes of an array's shape, and what they mean for its chunks.

use std::sync::Arc;

use ndzarr_engine::{
    ChunkedArray, Outside, Source, check_shrink, check_shrink_async, shrink, shrink_async, shrink_pooled,
};
use ndzarr_grid::{ChunkGrid, Region};
use ndzarr_metadata::{
    DocumentChange, MetadataError, NodeKind, ShapeChange, change_shape, document_shape, shape_key,
};
use ndzarr_model::ChunkEdges;

use super::Core;
use crate::consolidated;
use crate::error::{Error, ErrorKind, Result};
use crate::storage::{Kind, Published};

/// Where the work on chunks of a blocking store is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Driver {
    /// On the calling thread and the pool.
    Blocking,
    /// Elsewhere: whoever polls must not be blocked.
    Pooled,
}

impl Core {
    /// Changes the shape. What is outside a smaller shape is removed first, and the document comes last: outside of what a
    /// document says there is nothing, at no moment, and so nothing that could come back.
    pub(crate) async fn resize(&mut self, shape: &[u64], driver: Driver) -> Result<()> {
        let storage = self.storage.clone();
        let key = shape_key(&self.node);
        let policy = self.options.concurrent_update;
        if let Kind::Blocking(_) = storage.0 {
            storage.check_there(&self.node, &key).await?;
        }
        // From which shape chunks were trimmed already, before another writer came in between.
        let mut trimmed = None;
        *self = loop {
            // As long as the document is held, nobody appends to what is being trimmed.
            let held = storage.hold(&key, &self.node.context.limits).await?;
            let change = self.checked(change_shape(&self.node, held.value(), shape))?;
            let reshaped = self.reshaped(shape, &change)?;
            if loses_elements(&change.was, shape) && trimmed.as_ref() != Some(&change.was) {
                // What keeps chunks from being trimmed, or the document from being changed, is found before either.
                reshaped.check_shrink(shape, &change.was).await?;
                if change.was != shape {
                    held.check(policy).await?;
                }
                reshaped.trim(shape, &change.was, driver).await?;
                trimmed = Some(change.was.clone());
            }
            if change.was == shape || held.publish(&change.document, policy).await? == Published::Yes {
                break reshaped;
            }
        };
        self.refresh(key).await?;
        Ok(())
    }

    /// Grows along an axis by the elements of a source of this shape, and no other appending gets the same place.
    ///
    /// Where the document can be held, the elements are written first, so that whoever sees the new shape sees them. Else
    /// the document is changed first, which tells others that the place is taken.
    pub(crate) async fn append(
        &mut self,
        axis: usize,
        source_shape: &[u64],
        source: &(dyn Source + '_),
        driver: Driver,
    ) -> Result<()> {
        let storage = self.storage.clone();
        let key = shape_key(&self.node);
        let policy = self.options.concurrent_update;
        if let Kind::Blocking(_) = storage.0 {
            storage.check_there(&self.node, &key).await?;
        }
        loop {
            let held = storage.hold(&key, &self.node.context.limits).await?;
            let was = self.checked(document_shape(&self.node, held.value()))?;
            let shape = appended(&was, axis, source_shape)?;
            let change = self.checked(change_shape(&self.node, held.value(), &shape))?;
            let grown = self.reshaped(&shape, &change)?;
            grown.writable()?;
            let begin = |other: usize| if other == axis { was[axis] } else { 0 };
            let region = Region::new(shape.iter().enumerate().map(|(other, &end)| begin(other)..end));
            if !held.excludes_others() {
                if shape != was && held.publish(&change.document, policy).await? == Published::No {
                    continue;
                }
                *self = grown;
                self.outside(Outside::Shared)?.write_by(driver, &region, source).await?;
                return self.refresh(key).await;
            }
            let writer = grown.outside(Outside::Nobodys)?;
            let done = match writer.write_by(driver, &region, source).await {
                Ok(()) if shape == was => Ok(Published::Yes),
                Ok(()) => held.publish(&change.document, policy).await,
                Err(error) => {
                    drop(held);
                    Err(error)
                }
            };
            match done {
                Ok(Published::Yes) => {
                    *self = grown;
                    return self.refresh(key).await;
                }
                Ok(Published::No) => {}
                Err(error) => {
                    // What was written must not show when the array grows. The first error is what the caller has to know.
                    let _ = self.tidy(driver).await;
                    return Err(error);
                }
            }
        }
    }

    /// Removes what is outside the array.
    async fn tidy(&self, driver: Driver) -> Result<()> {
        let held = self.storage.hold(&shape_key(&self.node), &self.node.context.limits).await?;
        let now = self.checked(document_shape(&self.node, held.value()))?;
        let change = self.checked(change_shape(&self.node, held.value(), &now))?;
        let mut all = self.reshaped(&now, &change)?;
        all.options.cancel = None;
        all.trim(&now, &now, driver).await
    }

    async fn write_by(&self, driver: Driver, region: &Region, source: &(dyn Source + '_)) -> Result<()> {
        match driver {
            Driver::Blocking => self.write(region, source),
            Driver::Pooled => self.write_async(region, source).await,
        }
    }

    /// The same array, to be written under this assumption on what is outside of it.
    fn outside(&self, outside: Outside) -> Result<Self> {
        let data = self.data()?;
        let data = Ok(Arc::new(self.regridded(data, data.grid().clone())?.outside(outside)));
        Ok(Self { data, ..self.clone() })
    }

    /// Brings copies of a changed document up to date.
    async fn refresh(&self, key: String) -> Result<()> {
        self.changed();
        let change = DocumentChange { keys: vec![key], ..DocumentChange::default() };
        consolidated::refresh(&self.storage, &self.node, &change, self.options.concurrent_update)
            .await
            .map_err(|error| {
                error.after("the array has its new shape, the consolidated metadata above it may not")
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

    /// The same array with another shape, as far as this handle goes.
    fn reshaped(&self, shape: &[u64], change: &ShapeChange) -> Result<Self> {
        let mut node = (*self.node).clone();
        let mut grid = None;
        if let NodeKind::Array(spec) = &mut node.kind {
            shape.clone_into(&mut spec.shape);
            if let Some(edges) = &change.chunk_edges {
                spec.chunk_shape = edges.iter().map(ChunkEdges::max).collect();
                spec.chunk_edges = Some(edges.clone());
                grid = Some(spec.grid().map_err(|error| Error::new(ErrorKind::WrongShape, error))?);
            }
        }
        let key = shape_key(&node);
        for (_, bytes) in node.documents.iter_mut().filter(|(name, _)| *name == key) {
            bytes.clone_from(&change.document);
        }
        let data = match &self.data {
            Ok(data) => Ok(Arc::new(match grid {
                // Edges of the document, which may have come to be more.
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
        self.regridded(data, grid.map_err(|error| error.in_store(|| self.storage.name()))?)
    }

    fn regridded(&self, data: &ChunkedArray, grid: ChunkGrid) -> Result<ChunkedArray> {
        data.regridded(grid).map_err(|error| Error::from(error).of_shape().in_store(|| self.storage.name()))
    }

    async fn check_shrink(&self, shape: &[u64], was: &[u64]) -> Result<()> {
        let data = self.resized(self.writable()?, shape)?;
        match &self.storage.0 {
            Kind::Blocking(store) => check_shrink(&data, &**store, was),
            Kind::Async(store) => check_shrink_async(&data, &**store, was).await,
        }
        .map_err(|error| Error::from(error).in_store(|| self.storage.name()))
    }

    async fn trim(&self, shape: &[u64], was: &[u64], driver: Driver) -> Result<()> {
        let data = Arc::new(self.resized(self.writable()?, shape)?);
        match &self.storage.0 {
            Kind::Blocking(store) => match driver {
                Driver::Blocking => shrink(&data, &**store, was, &self.options),
                Driver::Pooled => shrink_pooled(&data, store, was, &self.options).await,
            },
            Kind::Async(store) => shrink_async(&data, &**store, was, &self.options).await,
        }
        .map_err(|error| Error::from(error).in_store(|| self.storage.name()))
    }
}

/// Whether anything may be outside the new shape. To keep the shape is to remove what an interrupted call left there.
fn loses_elements(was: &[u64], shape: &[u64]) -> bool {
    was == shape || shape.iter().zip(was).any(|(new, old)| new < old)
}

/// The shape of an array with that of a source appended.
fn appended(was: &[u64], axis: usize, source_shape: &[u64]) -> Result<Vec<u64>> {
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
