//! The calls of arrays that read or change their document: attributes, shape, appenders.

use ndzarr_metadata::AttributeChange;
use serde_core::Serialize;
use serde_core::de::DeserializeOwned;
use serde_json::Value;

use super::ArrayIn;
use crate::arrays::appender::Appender;
use crate::arrays::info::ArrayInfo;
use crate::element_types::element_type::ElementType;
use crate::error::Result;
use crate::mode::{Asynchronous, Blocking};
use crate::selections::to_shape::ToShape;

impl<E: ElementType> ArrayIn<E, Blocking> {
    /// Sets attributes and keeps the others, without losing concurrent changes.
    ///
    /// # Errors
    /// `attributes` is not a JSON object; the store cannot serialize writers, and the options do
    /// not say [`LastWriterWins`](crate::ConcurrentUpdate::LastWriterWins); the store fails.
    pub fn merge_attributes(&mut self, attributes: Value) -> Result<()> {
        let change = self.info.merging(attributes)?;
        self.change_attributes(&change)
    }

    /// Sets one attribute and keeps the others, without losing concurrent changes. As serde_json
    /// does, it writes NaN and infinities as `null`.
    ///
    /// # Errors
    /// `value` has no form in JSON, or an error of [`merge_attributes`](Self::merge_attributes).
    pub fn set_attribute(&mut self, key: &str, value: &(impl Serialize + ?Sized)) -> Result<()> {
        let change = self.info.setting(key, value)?;
        self.change_attributes(&change)
    }

    /// Replaces one attribute by a function of its current value in the store, which is `None` if
    /// there is none. No other change comes between: in stores with locks, `update` runs under the
    /// lock of the document; in others, it runs again if another writer was faster. So `update`
    /// must not change the same node: that call would wait for ever.
    ///
    /// # Errors
    /// The current value has another form than `A`, or an error of
    /// [`set_attribute`](Self::set_attribute). The attribute then stays as it is.
    ///
    /// ```
    /// use ndzarr::{Array, MemoryStore};
    ///
    /// let mut a = Array::<u8>::builder([4]).create((MemoryStore::new(), "a"))?;
    /// a.set_attribute("history", &["created"])?;
    /// a.update_attribute("history", |history: Option<Vec<String>>| {
    ///     let mut history = history.unwrap_or_default();
    ///     history.push("calibrated".to_owned());
    ///     history
    /// })?;
    /// assert_eq!(a.attributes()["history"], serde_json::json!(["created", "calibrated"]));
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    pub fn update_attribute<A: DeserializeOwned + Serialize>(
        &mut self,
        key: &str,
        update: impl FnMut(Option<A>) -> A,
    ) -> Result<()> {
        let storage = self.info.storage.clone();
        let options = self.info.options.clone();
        storage.wait_change(
            options.cancel.as_ref(),
            self.info.update_attribute(key, update),
        )
    }

    /// Applies any change to the attributes.
    ///
    /// # Errors
    /// The array's format cannot express the change; the store fails.
    pub fn change_attributes(&mut self, change: &AttributeChange) -> Result<()> {
        let storage = self.info.storage.clone();
        let options = self.info.options.clone();
        storage.wait_change(options.cancel.as_ref(), self.info.change_attributes(change))
    }

    /// Changes the array's shape, in elements.
    ///
    /// Growing writes only the metadata document; new elements read as the fill value. Shrinking
    /// sets the discarded elements of chunks that remain to the fill value, removes the chunks
    /// outside, and writes the document last. Discarded data does not reappear when the array grows
    /// again, even if the process is killed while shrinking. Stored chunks are found by listing; in
    /// a store that cannot list, up to 2^20 chunks are tried one by one. Resizing to the current
    /// shape removes stored data outside of it, for example what a killed append left there.
    ///
    /// The number of dimensions stays. Other handles of the array, clones included, keep their
    /// shape. In stores with locks, resizing is serialized with other resizes, appends and
    /// attribute changes. It is not ordered against writes of elements: elements that another
    /// writer stores in the discarded part meanwhile may stay there, hidden, until the array grows
    /// again.
    ///
    /// # Errors
    /// The number of dimensions differs, or the format cannot express the shape; the document now
    /// belongs to another array; the store cannot serialize writers, or cannot list while there are
    /// too many chunks to try. In these cases nothing was changed. If a chunk to be trimmed is
    /// corrupt, or the store fails, the array keeps its old shape and some of the elements to be
    /// discarded are the fill value; repeating the call completes the work.
    ///
    /// ```
    /// use ndzarr::{Array, MemoryStore};
    ///
    /// let store = MemoryStore::new();
    /// let mut a = Array::<u8>::builder([6]).chunks([4]).fill_value(9).create((&store, "a"))?;
    /// a.fill([0..6], 1)?;
    /// a.resize([3])?;
    /// a.resize([7])?;
    /// assert_eq!(a.read(..)?.as_slice(), Some(&[1, 1, 1, 9, 9, 9, 9][..]));
    /// assert_eq!(Array::<u8>::open((&store, "a"))?.shape(), [7]);
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    pub fn resize(&mut self, shape: impl ToShape) -> Result<()> {
        let storage = self.info.storage.clone();
        let options = self.info.options.clone();
        storage.wait_change(options.cancel.as_ref(), self.info.resize(&shape.to_shape()))
    }

    /// Reads the array's documents again, and adopts the shape and attributes that other handles
    /// and programs have set since. Costs about as much as opening it; cached chunks and indexes
    /// stay.
    ///
    /// # Errors
    /// The array is gone, or another one is in its place, with other chunks, codecs or elements.
    /// The handle stays as it was.
    ///
    /// ```
    /// use ndzarr::{Array, MemoryStore};
    ///
    /// let store = MemoryStore::new();
    /// let mut writer = Array::<u8>::builder([0]).chunks([4]).create((&store, "log"))?;
    /// let mut follower = Array::<u8>::open((&store, "log"))?;
    /// writer.append(0, &[1, 2, 3])?;
    /// assert_eq!(follower.shape(), [0]);
    /// follower.refresh()?;
    /// assert_eq!(follower.read([0..3])?.to_vec(), [1, 2, 3]);
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    pub fn refresh(&mut self) -> Result<()> {
        let mut info = self.info.clone();
        self.info.wait(info.refresh_handle())?;
        self.info = info;
        Ok(())
    }

    /// Begins to append along an axis, a frame or a few at a time, from the array's current end.
    /// See [`Appender`].
    ///
    /// # Errors
    /// There is no such axis; the array is gone, or its chunks cannot be encoded; the store fails.
    pub fn appender(&self, axis: usize) -> Result<Appender<E>> {
        self.info.wait(Appender::begin(self.info.clone(), axis))
    }
}

impl<E: ElementType> ArrayIn<E, Asynchronous> {
    /// Asynchronous [`Array::merge_attributes`](crate::Array::merge_attributes).
    ///
    /// # Errors
    /// As for [`Array::merge_attributes`](crate::Array::merge_attributes).
    pub async fn merge_attributes(&mut self, attributes: Value) -> Result<()> {
        let change = self.info.merging(attributes)?;
        self.change_attributes(&change).await
    }

    /// Asynchronous [`Array::set_attribute`](crate::Array::set_attribute).
    ///
    /// # Errors
    /// As for [`Array::set_attribute`](crate::Array::set_attribute).
    pub async fn set_attribute(
        &mut self,
        key: &str,
        value: &(impl Serialize + ?Sized),
    ) -> Result<()> {
        let change = self.info.setting(key, value)?;
        self.change_attributes(&change).await
    }

    /// Asynchronous [`Array::update_attribute`](crate::Array::update_attribute).
    ///
    /// # Errors
    /// As for [`Array::update_attribute`](crate::Array::update_attribute).
    pub async fn update_attribute<A: DeserializeOwned + Serialize + 'static>(
        &mut self,
        key: &str,
        update: impl FnMut(Option<A>) -> A + Send + 'static,
    ) -> Result<()> {
        let key = key.to_owned();
        let call = |mut info: ArrayInfo| async move {
            info.update_attribute(&key, update).await?;
            Ok(info)
        };
        self.info = self.info.on_change_thread(call).await?;
        Ok(())
    }

    /// Asynchronous [`Array::change_attributes`](crate::Array::change_attributes).
    ///
    /// # Errors
    /// As for [`Array::change_attributes`](crate::Array::change_attributes).
    pub async fn change_attributes(&mut self, change: &AttributeChange) -> Result<()> {
        let change = change.clone();
        let call = |mut info: ArrayInfo| async move {
            info.change_attributes(&change).await?;
            Ok(info)
        };
        self.info = self.info.on_change_thread(call).await?;
        Ok(())
    }

    /// Asynchronous [`Array::resize`](crate::Array::resize).
    ///
    /// # Errors
    /// As for [`Array::resize`](crate::Array::resize).
    pub async fn resize(&mut self, shape: impl ToShape) -> Result<()> {
        let shape = shape.to_shape();
        self.info
            .update_on_change_thread(move |mut info| async move {
                let resized = info.resize(&shape).await;
                (info, resized)
            })
            .await
    }

    /// Asynchronous [`Array::refresh`](crate::Array::refresh).
    ///
    /// # Errors
    /// As for [`Array::refresh`](crate::Array::refresh).
    pub async fn refresh(&mut self) -> Result<()> {
        let call = |mut info: ArrayInfo| async move { info.refresh_handle().await.map(|()| info) };
        let mut info = self.info.on_pool(call).await?;
        // The options of the call end with it.
        info.options = self.info.options.clone();
        self.info = info;
        Ok(())
    }

    /// Asynchronous [`Array::appender`](crate::Array::appender).
    ///
    /// # Errors
    /// As for [`Array::appender`](crate::Array::appender).
    pub async fn appender(&self, axis: usize) -> Result<Appender<E, Asynchronous>> {
        // The appender outlives this call, whose options end with it.
        let info = self.info.clone();
        self.info
            .on_pool(move |_| async move { Appender::begin(info, axis).await })
            .await
    }
}
