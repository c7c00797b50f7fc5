//! The calls of groups that change their documents: attributes, consolidated metadata.

use ndzarr_metadata::AttributeChange;
use serde_core::Serialize;
use serde_core::de::DeserializeOwned;
use serde_json::Value;

use super::GroupIn;
use crate::error::Result;
use crate::hierarchy::group_info::GroupInfo;
use crate::mode::{Asynchronous, Blocking};

impl GroupIn<Blocking> {
    /// Sets attributes and keeps the others, without losing concurrent changes.
    ///
    /// # Errors
    /// `attributes` is not a JSON object; the store cannot serialize writers, and the
    /// [options](Self::with_options) do not say
    /// [`LastWriterWins`](crate::ConcurrentUpdate::LastWriterWins); the store fails.
    pub fn merge_attributes(&mut self, attributes: Value) -> Result<()> {
        self.change_attributes(&GroupInfo::merging(attributes)?)
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
    /// use ndzarr::{Format, Group, MemoryStore};
    ///
    /// let mut group = Group::create(MemoryStore::new(), Format::Zarr3)?;
    /// group.set_attribute("runs", &1)?;
    /// group.update_attribute("runs", |runs: Option<u32>| runs.unwrap_or(0) + 1)?;
    /// assert_eq!(group.attribute::<u32>("runs")?, Some(2));
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
    /// The group's format cannot express the change; the store fails.
    pub fn change_attributes(&mut self, change: &AttributeChange) -> Result<()> {
        let storage = self.info.storage.clone();
        let options = self.info.options.clone();
        storage.wait_change(options.cancel.as_ref(), self.info.change_attributes(change))
    }

    /// Collects the documents of the group and of all nodes below it, and stores copies of them in
    /// one document of the group, so that readers can get them with one request (Zarr v2:
    /// `.zmetadata`; Zarr v3: in the group's own `zarr.json`, as zarr-python does). The copies are
    /// made from the real documents, never from earlier copies.
    ///
    /// Later changes made with this library update the copies too.
    ///
    /// # Errors
    /// The format is the draft or N5; the store cannot list; a document of the group is invalid;
    /// the store fails.
    ///
    /// ```
    /// use ndzarr::{Array, Format, Group, MemoryStore};
    ///
    /// let store = MemoryStore::new();
    /// let mut root = Group::create(&store, Format::Zarr2)?;
    /// root.create_group("run-1")?.create_array("signal", Array::<f32>::builder([100]))?;
    /// root.consolidate()?;
    /// assert!(store.get(".zmetadata").is_some());
    ///
    /// // From now on listing and opening through the group reads nothing more.
    /// let root = Group::open(&store)?;
    /// assert_eq!(root.walk()?.len(), 2);
    /// // The copies include the new group too.
    /// root.create_group("run-2")?;
    /// assert_eq!(root.walk()?.len(), 3);
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    pub fn consolidate(&mut self) -> Result<()> {
        let storage = self.info.storage.clone();
        let options = self.info.options.clone();
        storage.wait_change(options.cancel.as_ref(), self.info.consolidate())
    }
}

impl GroupIn<Asynchronous> {
    /// Asynchronous [`Group::merge_attributes`](crate::Group::merge_attributes).
    ///
    /// # Errors
    /// As for [`Group::merge_attributes`](crate::Group::merge_attributes).
    pub async fn merge_attributes(&mut self, attributes: Value) -> Result<()> {
        self.change_attributes(&GroupInfo::merging(attributes)?)
            .await
    }

    /// Asynchronous [`Group::set_attribute`](crate::Group::set_attribute).
    ///
    /// # Errors
    /// As for [`Group::set_attribute`](crate::Group::set_attribute).
    pub async fn set_attribute(
        &mut self,
        key: &str,
        value: &(impl Serialize + ?Sized),
    ) -> Result<()> {
        let change = self.info.setting(key, value)?;
        self.change_attributes(&change).await
    }

    /// Asynchronous [`Group::update_attribute`](crate::Group::update_attribute).
    ///
    /// # Errors
    /// As for [`Group::update_attribute`](crate::Group::update_attribute).
    pub async fn update_attribute<A: DeserializeOwned + Serialize + 'static>(
        &mut self,
        key: &str,
        update: impl FnMut(Option<A>) -> A + Send + 'static,
    ) -> Result<()> {
        let key = key.to_owned();
        let call = |mut info: GroupInfo| async move {
            info.update_attribute(&key, update).await?;
            Ok(info)
        };
        self.info = self.info.on_change_thread(call).await?;
        Ok(())
    }

    /// Asynchronous [`Group::change_attributes`](crate::Group::change_attributes).
    ///
    /// # Errors
    /// As for [`Group::change_attributes`](crate::Group::change_attributes).
    pub async fn change_attributes(&mut self, change: &AttributeChange) -> Result<()> {
        let change = change.clone();
        let call = |mut group: GroupInfo| async move {
            group.change_attributes(&change).await?;
            Ok(group)
        };
        self.info = self.info.on_change_thread(call).await?;
        Ok(())
    }

    /// Asynchronous [`Group::consolidate`](crate::Group::consolidate).
    ///
    /// # Errors
    /// As for [`Group::consolidate`](crate::Group::consolidate).
    pub async fn consolidate(&mut self) -> Result<()> {
        let call = |mut group: GroupInfo| async move {
            group.consolidate().await?;
            Ok(group)
        };
        self.info = self.info.on_change_thread(call).await?;
        Ok(())
    }
}
