//! `ArrayInfo`: an opened array without its element type, which typed and untyped arrays share.

mod grow;
mod metadata;
mod mistaken_keys;
mod refresh;
mod resize;
mod stored_units;
mod unfinished;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use ndzarr_codec::{Binding, CodecChain, CodecError, CodecRegistry};
use ndzarr_engine::{
    AnyStore, ChunkedArray, MakeTile, Part, RunOptions, pass_dropped_futures, pooled, read,
    read_async, scoped, write, write_async, write_pooled,
};
use ndzarr_grid::{ChunkGrid, Region};
use ndzarr_metadata::{AttributeChange, Node, NodeKind};
use ndzarr_model::{ArraySpec, CodecCheck};
use ndzarr_store::block_on;
use serde_core::Serialize;
use serde_core::de::DeserializeOwned;
use serde_json::Value;

use crate::error::{Error, ErrorKind, Result};
use crate::hierarchy::consolidated::{Changing, View};
use crate::hierarchy::find_node::not_a;
use crate::operations::attributes;
use crate::selections::resolved::Resolved;
use crate::selections::selection::Selection;
use crate::storage::Storage;

pub(crate) use grow::Growth;

/// An opened array, independent of its element type and of whether calls block: the metadata of
/// [`Array`](crate::Array) and [`asynchronous::Array`](crate::asynchronous::Array), which both
/// dereference to it.
pub struct ArrayInfo {
    pub(crate) storage: Storage,
    pub(crate) node: Arc<Node>,
    pub(crate) options: RunOptions,
    /// The view that it was opened through, which is notified of changes.
    pub(crate) view: Option<Arc<View>>,
    /// `Err` if a codec of a Zarr v2 array is unknown: its metadata is readable, its chunks are
    /// not.
    data: Result<Arc<ChunkedArray>, CodecError>,
}

impl fmt::Debug for ArrayInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Array");
        shown
            .field("store", &self.storage.name())
            .field("path", &self.node.path.as_str());
        shown
            .field("format", &self.format())
            .field("data_type", self.data_type());
        shown
            .field("shape", &self.shape())
            .field("chunk_shape", &self.chunk_shape());
        shown.finish_non_exhaustive()
    }
}

impl ArrayInfo {
    /// Not `Clone`: with a copy, a caller could give it another element type.
    pub(crate) fn clone(&self) -> Self {
        Self {
            storage: self.storage.clone(),
            node: Arc::clone(&self.node),
            options: self.options.clone(),
            view: self.view.clone(),
            data: self.data.clone(),
        }
    }

    pub(crate) fn new(storage: Storage, node: Node, registry: &CodecRegistry) -> Result<Self> {
        Self::new_sibling(storage, node.into(), registry, None)
    }

    /// An array next to one that was opened with the same registry, whose chain is shared if it is
    /// the same.
    pub(crate) fn new_sibling(
        storage: Storage,
        node: Arc<Node>,
        registry: &CodecRegistry,
        sibling: Option<&Self>,
    ) -> Result<Self> {
        let NodeKind::Array(spec) = &node.kind else {
            return Err(not_a("an array", &node, &storage));
        };
        let document = node.documents.first().map(|(key, _)| &key[..]);
        let in_store = |error: Error| error.in_document(document).in_store(|| storage.name());
        let grid = spec
            .grid()
            .map_err(|error| in_store(Error::new(ErrorKind::InvalidMetadata, error)))?;
        let chain = match sibling.and_then(|sibling| sibling.chain_of(spec)) {
            Some(chain) => Ok(chain),
            None => {
                let limit =
                    usize::try_from(node.context.limits.vlen_chunk_bytes).unwrap_or(usize::MAX);
                let binding = Binding::from(registry).vlen_limit(limit);
                CodecChain::bind(
                    &spec.codecs,
                    &spec.data_type,
                    &spec.fill_value,
                    spec.shape.len(),
                    binding,
                )
                .map(Arc::new)
            }
        };
        let data = match chain {
            Ok(chain) => {
                let array = ChunkedArray::new(grid, chain, spec.keys.clone());
                let array = array.map_err(|error| in_store(error.into()))?;
                Ok(Arc::new(storage.share_with(array, spec)))
            }
            Err(error) if spec.codec_check == CodecCheck::AtAccess => Err(error),
            Err(error) => return Err(in_store(error.into())),
        };
        Ok(Self {
            storage,
            node,
            options: RunOptions::default(),
            view: None,
            data,
        })
    }

    /// Its chain, if the other array's chain would be the same.
    fn chain_of(&self, other: &ArraySpec) -> Option<Arc<CodecChain>> {
        let own = self.spec();
        let same = (Arc::ptr_eq(&own.codecs, &other.codecs) || own.codecs == other.codecs)
            && own.data_type == other.data_type
            && own.fill_value == other.fill_value
            && own.shape.len() == other.shape.len();
        self.data
            .as_ref()
            .ok()
            .filter(|_| same)
            .map(|data| Arc::clone(data.chain()))
    }

    pub(crate) fn data(&self) -> Result<&Arc<ChunkedArray>> {
        self.named(self.data.as_ref().map_err(Clone::clone))
    }

    /// Adds the array's name to an error that concerns no key.
    pub(crate) fn named<T>(&self, result: Result<T, impl Into<Error>>) -> Result<T> {
        result.map_err(|error| self.name(error))
    }

    /// Adds the array's name to an error itself.
    pub(crate) fn name(&self, error: impl Into<Error>) -> Error {
        let document = self.node.documents.first().map(|(key, _)| &key[..]);
        error
            .into()
            .in_document(document)
            .in_store(|| self.storage.name())
    }

    /// Applies a selection to this array.
    pub(crate) fn resolve(&self, selection: &impl Selection) -> Result<Resolved> {
        let shape = &self.spec().shape;
        let resolved = self.named(selection.resolve(shape))?;
        self.named(resolved.check_array(shape))?;
        Ok(resolved)
    }

    /// Applies many selections to this array.
    pub(crate) fn resolve_all<S: Selection>(
        &self,
        selections: impl IntoIterator<Item = S>,
    ) -> Result<Vec<Resolved>> {
        selections
            .into_iter()
            .map(|selection| self.resolve(&selection))
            .collect()
    }

    /// The change that sets attributes.
    pub(crate) fn merging(&self, attributes: Value) -> Result<AttributeChange> {
        self.named(attributes::object(attributes))
            .map(AttributeChange::Merge)
    }

    pub(crate) async fn change_attributes(&mut self, change: &AttributeChange) -> Result<()> {
        let _changing = self.changing();
        let policy = self.options.concurrent_update;
        self.node = attributes::change(&self.storage, &self.node, change, policy)
            .await?
            .into();
        Ok(())
    }

    /// The change that sets one attribute.
    pub(crate) fn setting(
        &self,
        key: &str,
        value: &(impl Serialize + ?Sized),
    ) -> Result<AttributeChange> {
        self.named(attributes::setting(&self.node, key, value))
    }

    /// Replaces one attribute by a function of it.
    pub(crate) async fn update_attribute<A: DeserializeOwned + Serialize>(
        &mut self,
        key: &str,
        update: impl FnMut(Option<A>) -> A,
    ) -> Result<()> {
        let _changing = self.changing();
        let policy = self.options.concurrent_update;
        self.node = attributes::update(&self.storage, &self.node, key, update, policy)
            .await?
            .into();
        Ok(())
    }

    /// Begins a change of its documents.
    pub(crate) fn changing(&self) -> Changing {
        Changing::through(self.view.as_ref())
    }

    /// Reads several regions as one task.
    pub(crate) async fn read_many(&self, regions: Vec<(Region, MakeTile<'_>)>) -> Result<()> {
        let data = self.data()?;
        self.named(match &self.storage.store {
            AnyStore::Blocking(store) => read(data, &**store, regions, &self.options),
            AnyStore::Async(store) => read_async(data, &**store, regions, &self.options).await,
        })?;
        self.check_presence().await
    }

    /// Runs a reading call without blocking the polling task: on a blocking store the library's
    /// threads run it. Dropping the future stops it.
    pub(crate) async fn on_pool<R: Send + 'static, F: Future<Output = R> + Send>(
        &self,
        call: impl FnOnce(Self) -> F + Send + 'static,
    ) -> R {
        let info = self.clone();
        pass_dropped_futures(&self.storage.store, self.options.cancel.as_ref()).await;
        match &self.storage.store {
            AnyStore::Blocking(_) => {
                let call = move |options| block_on(call(Self { options, ..info }));
                pooled(&self.storage.name(), &self.options, call).await
            }
            AnyStore::Async(_) => call(info).await,
        }
    }

    /// Runs work of this array on the library's threads, whatever the store.
    pub(crate) async fn work_on_pool<R: Send + 'static>(
        &self,
        work: impl FnOnce() -> R + Send + 'static,
    ) -> R {
        pooled(&self.storage.name(), &self.options, move |_| work()).await
    }

    /// Runs a call that changes documents or encoded chunks without blocking the polling task: see
    /// [`Storage::on_change_thread`].
    pub(crate) async fn on_change_thread<
        R: Send + 'static,
        F: Future<Output = Result<R>> + Send,
    >(
        &self,
        call: impl FnOnce(Self) -> F + Send + 'static,
    ) -> Result<R> {
        let info = self.clone();
        scoped(
            self.options.cancel.as_ref(),
            self.storage.on_change_thread(move || call(info)),
        )
        .await
    }

    /// Runs a call that changes the handle, even if it fails, without blocking the polling task.
    pub(crate) async fn update_on_change_thread<F: Future<Output = (Self, Result<()>)> + Send>(
        &mut self,
        call: impl FnOnce(Self) -> F + Send + 'static,
    ) -> Result<()> {
        let updated = self.on_change_thread(|info| async move { Ok(call(info).await) });
        let result;
        (*self, result) = updated.await?;
        result
    }

    /// Runs a blocking call, which the options can cancel.
    pub(crate) fn wait<T, E: Into<Error>>(
        &self,
        call: impl Future<Output = Result<T, E>>,
    ) -> Result<T> {
        self.storage.wait_unless(self.options.cancel.as_ref(), call)
    }

    /// Runs a blocking call that changes the store.
    pub(crate) fn wait_change<T>(&self, call: impl Future<Output = Result<T>>) -> Result<T> {
        self.storage.wait_change(self.options.cancel.as_ref(), call)
    }

    pub(crate) fn write(&self, parts: &[Part<'_>]) -> Result<()> {
        self.wait(self.write_blocking(parts))
    }

    /// Writes parts, on the thread that polls where the store blocks.
    pub(crate) async fn write_blocking(&self, parts: &[Part<'_>]) -> Result<()> {
        let AnyStore::Blocking(store) = &self.storage.store else {
            return self.write_async(parts).await;
        };
        let data = self.writable()?;
        scoped(self.options.cancel.as_ref(), self.confirm_keys()).await?;
        self.named(write(data, &**store, parts, &self.options))
    }

    pub(crate) async fn write_async(&self, parts: &[Part<'_>]) -> Result<()> {
        let data = self.writable()?;
        if self.has_unconfirmed_keys() {
            self.on_change_thread(|info| async move { info.confirm_keys().await })
                .await?;
        }
        match &self.storage.store {
            AnyStore::Blocking(store) => {
                self.named(write_pooled(data, store, parts, &self.options).await)
            }
            AnyStore::Async(store) => {
                self.named(write_async(data, &**store, parts, &self.options).await)
            }
        }
    }

    pub(crate) fn writable(&self) -> Result<&Arc<ChunkedArray>> {
        if let Some(reason) = self
            .spec()
            .codecs
            .iter()
            .find_map(|codec| codec.unwritable.as_deref())
        {
            let what = format!("new chunks cannot be encoded: {reason}");
            return Err(self.name(Error::new(ErrorKind::Unsupported, what)));
        }
        self.data()
    }

    /// The grid of the units: shards, or chunks without shards.
    pub(crate) fn grid(&self) -> Result<ChunkGrid> {
        self.named(
            self.spec()
                .grid()
                .map_err(|error| Error::new(ErrorKind::WrongShape, error)),
        )
    }

    /// The grid of the chunks; with shards, of the inner chunks over the whole array. Inner chunks
    /// divide every shard, so their grid is always regular.
    pub(crate) fn inner_grid(&self) -> Result<ChunkGrid> {
        match self.spec().inner_chunk_shape() {
            None => self.grid(),
            Some(shape) => {
                let grid = ChunkGrid::regular(&self.spec().shape, &shape);
                self.named(grid.map_err(|error| Error::new(ErrorKind::WrongShape, error)))
            }
        }
    }

    /// The grid of the chunks, to be counted: none if the metadata has no valid grid.
    pub(crate) fn chunk_grid(&self) -> ChunkGrid {
        self.inner_grid()
            .unwrap_or_else(|_| no_chunks(self.shape().len()))
    }

    /// The part of a chunk of this grid that is inside the array.
    pub(crate) fn chunk_ranges(&self, chunk: &[u64], grid: &ChunkGrid) -> Result<Vec<Range<u64>>> {
        let region = grid.clipped_region(chunk).ok_or_else(|| {
            let what = format!("no chunk {chunk:?} in a grid of {:?}", grid.grid_shape());
            Error::new(ErrorKind::WrongShape, what)
        });
        Ok(self.named(region)?.ranges().to_vec())
    }
}

/// A grid without chunks.
pub(crate) fn no_chunks(ndim: usize) -> ChunkGrid {
    ChunkGrid::regular(&vec![0; ndim], &vec![1; ndim]).expect("chunks of one element fit")
}
