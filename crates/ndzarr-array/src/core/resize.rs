//! Changes of an array's shape, and what they mean for its chunks.

use std::sync::Arc;

use bytes::Bytes;
use ndzarr_engine::{
    ChunkedArray, Source, check_shrink, check_shrink_async, shrink, shrink_async, shrink_pooled,
};
use ndzarr_grid::Region;
use ndzarr_metadata::{
    DocumentChange, MetadataError, NodeKind, ShapeChange, change_shape, document_shape, shape_key,
};
use ndzarr_model::ChunkEdges;

use super::Core;
use crate::consolidated;
use crate::error::{Error, ErrorKind, Result};
use crate::storage::{HeldDocument, Kind, Published};

/// Where the work on chunks of a blocking store is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Driver {
    /// On the calling thread and the pool.
    Blocking,
    /// Elsewhere: whoever polls must not be blocked.
    Pooled,
}

impl Core {
    /// Changes the shape. The document comes first; then what is outside a smaller shape is removed.
    pub(crate) async fn resize(&mut self, shape: &[u64], driver: Driver) -> Result<()> {
        let storage = self.storage.clone();
        let key = shape_key(&self.node);
        let change = loop {
            let held = storage.hold(&key, &self.node.context.limits).await?;
            let change = self.checked(change_shape(&self.node, held.value(), shape))?;
            if loses_elements(&change.was, shape) {
                // What keeps chunks from being trimmed is found before the document says that they are.
                self.check_shrink(shape, &change.was).await?;
            }
            if change.was == shape || held.publish(&change.document).await? == Published::Yes {
                break change;
            }
        };
        *self = self.reshaped(shape, &change)?;
        self.refresh(key.clone()).await?;
        if loses_elements(&change.was, shape) {
            // As long as the document is held, nobody appends to what is being trimmed. Where somebody did already, his
            // shape counts.
            let held = storage.hold(&key, &self.node.context.limits).await?;
            let now = self.checked(document_shape(&self.node, held.value()))?;
            self.trim(&now, &change.was, driver).await?;
        }
        Ok(())
    }

    /// Grows along an axis by the elements of a source of this shape: they are written first, so that whoever sees the
    /// new shape sees them.
    pub(crate) async fn append(
        &mut self,
        axis: usize,
        source_shape: &[u64],
        source: &(dyn Source + '_),
        driver: Driver,
    ) -> Result<()> {
        let storage = self.storage.clone();
        let held = storage.hold(&shape_key(&self.node), &self.node.context.limits).await?;
        let was = self.checked(document_shape(&self.node, held.value()))?;
        let shape = appended(&was, axis, source_shape)?;
        let change = self.checked(change_shape(&self.node, held.value(), &shape))?;
        let grown = self.reshaped(&shape, &change)?;
        let begin = |other: usize| if other == axis { was[axis] } else { 0 };
        let region = Region::new(shape.iter().enumerate().map(|(other, &end)| begin(other)..end));
        match driver {
            Driver::Blocking => grown.write(&region, source)?,
            Driver::Pooled => grown.write_async(&region, source).await?,
        }
        if shape != was {
            publish(held, &change.document).await.map_err(|error| error.in_store(|| storage.name()))?;
        }
        *self = grown;
        self.refresh(shape_key(&self.node)).await
    }

    /// Brings copies of a changed document up to date.
    async fn refresh(&self, key: String) -> Result<()> {
        self.changed();
        let change = DocumentChange { keys: vec![key], ..DocumentChange::default() };
        consolidated::refresh(&self.storage, &self.node, &change).await
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
            Ok(data) => Ok(match grid {
                // Edges of the document, which may have come to be more.
                Some(grid) => Arc::new(data.regridded(grid)),
                None => self.resized(data, shape)?,
            }),
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

    fn resized(&self, data: &ChunkedArray, shape: &[u64]) -> Result<Arc<ChunkedArray>> {
        data.resized(shape)
            .map(Arc::new)
            .map_err(|error| Error::new(ErrorKind::WrongShape, error).in_store(|| self.storage.name()))
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
        let data = self.resized(self.writable()?, shape)?;
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

async fn publish(held: HeldDocument<'_>, document: &Bytes) -> Result<()> {
    match held.publish(document).await? {
        Published::Yes => Ok(()),
        Published::No => {
            let what = "another writer changed the array's document while elements were appended";
            Err(Error::new(ErrorKind::Conflict, what))
        }
    }
}
