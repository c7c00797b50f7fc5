//! `asynchronous::Array`: an array in a store, with asynchronous calls.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use ndarray::{Array as NdArray, ArrayD, ArrayRef, Dimension};
use ndzarr_engine::RunOptions;
use ndzarr_metadata::AttributeChange;
use serde_core::Serialize;
use serde_core::de::DeserializeOwned;
use serde_json::Value;

use crate::appender::Appender;
use crate::builder::ArrayBuilder;
use crate::core::Core;
use crate::element::Element;
use crate::element_type::{Any, ElementType};
use crate::error::Result;
use crate::mode::Asynchronous;
use crate::n5_block::N5Blocks;
use crate::open_options::OpenOptions;
use crate::place::Place;
use crate::resolved::{Resolved, into_dim};
use crate::selection::Selection;
use crate::shard_writer::ShardWriter;
use crate::to_shape::ToShape;
use crate::to_view::ToView;
use crate::units::Units;

/// A chunked array in a store, with the calls of [`Array`](crate::Array) as futures. Cheap to
/// clone: a clone shares the store and the caches, and has its own shape, attributes and options.
pub struct Array<E = Any> {
    pub(crate) core: Core,
    element: PhantomData<E>,
}

/// An array whose element type is known only at run time.
pub type AnyArray = Array<Any>;

impl<E> Clone for Array<E> {
    fn clone(&self) -> Self {
        self.core.clone().into()
    }
}

impl<E> fmt::Debug for Array<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.core, f)
    }
}

impl<E> Deref for Array<E> {
    type Target = Core;

    fn deref(&self) -> &Core {
        &self.core
    }
}

/// For arrays whose element type has been checked.
impl<E> From<Core> for Array<E> {
    fn from(core: Core) -> Self {
        Self { core, element: PhantomData }
    }
}

/// The same array, its element type known only at run time.
impl<T: Element> From<Array<T>> for AnyArray {
    fn from(array: Array<T>) -> Self {
        array.core.into()
    }
}

/// The same array, with asynchronous calls.
impl<E> From<crate::Array<E>> for Array<E> {
    fn from(array: crate::Array<E>) -> Self {
        array.core.into()
    }
}

/// The same array, with blocking calls.
impl<E> From<Array<E>> for crate::Array<E> {
    fn from(array: Array<E>) -> Self {
        array.core.into()
    }
}

// The bound is that of each function: on the `impl`, it would not show the message of the trait.
impl<E> Array<E> {
    /// Like [`Array::open`](crate::Array::open).
    ///
    /// # Errors
    /// The same as for [`Array::open`](crate::Array::open).
    pub async fn open(place: impl Into<Place>) -> Result<Self>
    where
        E: ElementType,
    {
        OpenOptions::<Asynchronous>::new().open_array(place).await
    }

    /// Like [`Array::builder`](crate::Array::builder).
    pub fn builder(shape: impl ToShape) -> ArrayBuilder<E, Asynchronous>
    where
        E: ElementType,
    {
        ArrayBuilder::new(&shape.to_shape())
    }
}

impl<E: ElementType> Array<E> {
    /// Like [`Array::with_options`](crate::Array::with_options).
    #[must_use]
    pub fn with_options(mut self, options: RunOptions) -> Self {
        self.core.options = options;
        self
    }

    /// Like [`Array::merge_attributes`](crate::Array::merge_attributes).
    ///
    /// # Errors
    /// The same as for [`Array::merge_attributes`](crate::Array::merge_attributes).
    pub async fn merge_attributes(&mut self, attributes: Value) -> Result<()> {
        let change = self.core.merging(attributes)?;
        self.change_attributes(&change).await
    }

    /// Like [`Array::set_attribute`](crate::Array::set_attribute).
    ///
    /// # Errors
    /// The same as for [`Array::set_attribute`](crate::Array::set_attribute).
    pub async fn set_attribute(&mut self, key: &str, value: &(impl Serialize + ?Sized)) -> Result<()> {
        let change = self.core.setting(key, value)?;
        self.change_attributes(&change).await
    }

    /// Like [`Array::update_attribute`](crate::Array::update_attribute).
    ///
    /// # Errors
    /// The same as for [`Array::update_attribute`](crate::Array::update_attribute).
    pub async fn update_attribute<A: DeserializeOwned + Serialize + 'static>(
        &mut self,
        key: &str,
        update: impl FnMut(Option<A>) -> A + Send + 'static,
    ) -> Result<()> {
        let key = key.to_owned();
        let call = |mut core: Core| async move {
            core.update_attribute(&key, update).await?;
            Ok(core)
        };
        self.core = self.core.handed_change(call).await?;
        Ok(())
    }

    /// Like [`Array::change_attributes`](crate::Array::change_attributes).
    ///
    /// # Errors
    /// The same as for [`Array::change_attributes`](crate::Array::change_attributes).
    pub async fn change_attributes(&mut self, change: &AttributeChange) -> Result<()> {
        let change = change.clone();
        let call = |mut core: Core| async move {
            core.change_attributes(&change).await?;
            Ok(core)
        };
        self.core = self.core.handed_change(call).await?;
        Ok(())
    }

    /// Like [`Array::resize`](crate::Array::resize).
    ///
    /// # Errors
    /// The same as for [`Array::resize`](crate::Array::resize).
    pub async fn resize(&mut self, shape: impl ToShape) -> Result<()> {
        let shape = shape.to_shape();
        self.core
            .handed_update(move |mut core| async move {
                let resized = core.resize(&shape).await;
                (core, resized)
            })
            .await
    }

    /// Like [`Array::refresh`](crate::Array::refresh).
    ///
    /// # Errors
    /// The same as for [`Array::refresh`](crate::Array::refresh).
    pub async fn refresh(&mut self) -> Result<()> {
        let call = |mut core: Core| async move { core.refresh_handle().await.map(|()| core) };
        let mut core = self.core.handed(call).await?;
        // The options of the call end with it.
        core.options = self.core.options.clone();
        self.core = core;
        Ok(())
    }

    /// Like [`Array::appender`](crate::Array::appender).
    ///
    /// # Errors
    /// The same as for [`Array::appender`](crate::Array::appender).
    pub async fn appender(&self, axis: usize) -> Result<Appender<E, Asynchronous>> {
        // The appender outlives this call, whose options end with it.
        let core = self.core.clone();
        self.core.handed(move |_| async move { Appender::begin(core, axis).await }).await
    }

    /// Like [`Array::units`](crate::Array::units).
    #[must_use]
    pub fn units(&self) -> Units<Asynchronous> {
        Units::new(&self.core)
    }

    /// Like [`Array::n5_blocks`](crate::Array::n5_blocks).
    #[must_use]
    pub fn n5_blocks(&self) -> N5Blocks<E, Asynchronous> {
        N5Blocks::new(&self.core)
    }
}

impl<T: Element> Array<T> {
    /// Like [`Array::read`](crate::Array::read).
    ///
    /// # Errors
    /// The same as for [`Array::read`](crate::Array::read).
    pub async fn read<S: Selection>(&self, selection: S) -> Result<NdArray<T, S::OutDim>> {
        let resolved = self.core.resolve(&selection)?;
        drop(selection);
        into_dim(self.read_resolved(resolved).await?)
    }

    async fn read_resolved(&self, resolved: Resolved) -> Result<ArrayD<T>> {
        self.core.handed(|core| async move { core.read_elements(&resolved).await }).await
    }

    /// Like [`Array::read_many`](crate::Array::read_many).
    ///
    /// # Errors
    /// The same as for [`Array::read_many`](crate::Array::read_many).
    pub async fn read_many<S: Selection>(
        &self,
        selections: impl IntoIterator<Item = S>,
    ) -> Result<Vec<NdArray<T, S::OutDim>>> {
        let resolved = self.core.resolve_all(selections)?;
        let outs = self.core.handed(|core| async move { core.read_many_elements(&resolved).await }).await?;
        outs.into_iter().map(into_dim).collect()
    }

    /// Like [`Array::read_into`](crate::Array::read_into). On a blocking store the elements are read
    /// into a separate buffer and then copied, because the library's threads could outlive a
    /// dropped future.
    ///
    /// # Errors
    /// The same as for [`Array::read_into`](crate::Array::read_into).
    pub async fn read_into<S: Selection, D: Dimension>(
        &self,
        selection: S,
        out: &mut ArrayRef<T, D>,
    ) -> Result<()> {
        let resolved = self.core.resolve(&selection)?;
        drop(selection);
        let mut out = out.view_mut().into_dyn();
        if !self.core.storage.is_blocking() {
            return self.core.read_elements_into(&resolved, out).await;
        }
        self.core.named(resolved.check_shape(out.shape()))?;
        out.assign(&self.read_resolved(resolved).await?);
        Ok(())
    }

    /// Like [`Array::write`](crate::Array::write).
    ///
    /// # Errors
    /// The same as for [`Array::write`](crate::Array::write).
    pub async fn write<S: Selection>(
        &self,
        selection: S,
        data: &(impl ToView<T> + Sync + ?Sized),
    ) -> Result<()> {
        let resolved = self.core.resolve(&selection)?;
        drop(selection);
        self.core.write_elements::<Asynchronous, _>(&resolved, data.to_view()).await
    }

    /// Like [`Array::fill`](crate::Array::fill).
    ///
    /// # Errors
    /// The same as for [`Array::fill`](crate::Array::fill).
    pub async fn fill<S: Selection>(&self, selection: S, value: T) -> Result<()> {
        let resolved = self.core.resolve(&selection)?;
        drop(selection);
        self.core.fill_elements::<Asynchronous, _>(&resolved, value).await
    }

    /// Like [`Array::read_chunk`](crate::Array::read_chunk).
    ///
    /// # Errors
    /// The same as for [`Array::read_chunk`](crate::Array::read_chunk).
    pub async fn read_chunk(&self, chunk: &[u64]) -> Result<ArrayD<T>> {
        self.read_resolved(self.core.chunk(chunk)?).await
    }

    /// Like [`Array::write_chunk`](crate::Array::write_chunk).
    ///
    /// # Errors
    /// The same as for [`Array::write_chunk`](crate::Array::write_chunk).
    pub async fn write_chunk(&self, chunk: &[u64], data: &(impl ToView<T> + Sync + ?Sized)) -> Result<()> {
        let resolved = self.core.chunk(chunk)?;
        self.core.write_elements::<Asynchronous, _>(&resolved, data.to_view()).await
    }

    /// Like [`Array::fill_value`](crate::Array::fill_value).
    #[must_use]
    pub fn fill_value(&self) -> T {
        self.core.fill_element()
    }

    /// Like [`Array::append`](crate::Array::append).
    ///
    /// # Errors
    /// The same as for [`Array::append`](crate::Array::append).
    pub async fn append(&mut self, axis: usize, data: &(impl ToView<T> + Sync + ?Sized)) -> Result<()> {
        let (core, data) = (self.core.clone(), data.to_view());
        let shape = data.shape().to_vec();
        let source = core.box_source(data)?;
        self.core.append_handed(axis, &shape, &*source).await
    }

    /// Like [`Array::shard_writer`](crate::Array::shard_writer).
    ///
    /// # Errors
    /// The same as for [`Array::shard_writer`](crate::Array::shard_writer).
    pub async fn shard_writer(&self, shard: &[u64]) -> Result<ShardWriter<T, Asynchronous>> {
        // The writer outlives this call, so it cannot borrow from it.
        let (core, shard) = (self.core.clone(), shard.to_vec());
        self.core.handed(|_| async move { ShardWriter::begin(core, &shard) }).await
    }
}
