//! Opens arrays, groups, and nodes of either kind.

use crate::arrays::array::ArrayIn;
use crate::element_types::element_type::ElementType;
use crate::error::Result;
use crate::hierarchy::group::GroupIn;
use crate::hierarchy::node::AnyNode;
use crate::mode::{Asynchronous, Blocking};
use crate::places::open_options::OpenOptions;
use crate::places::place::Place;

impl OpenOptions<Blocking> {
    /// Opens an array.
    ///
    /// # Errors
    /// As for [`Array::open`].
    pub fn open_array<E: ElementType>(
        &self,
        place: impl Into<Place>,
    ) -> Result<ArrayIn<E, Blocking>> {
        let place = place.into().locate()?;
        let info = place.storage.clone().wait(self.array(place))?;
        E::check_stored(&info)?;
        Ok(info.into())
    }

    /// Opens a group.
    ///
    /// # Errors
    /// As for [`Group::open`].
    pub fn open_group(&self, place: impl Into<Place>) -> Result<GroupIn<Blocking>> {
        let place = place.into().locate()?;
        place
            .storage
            .clone()
            .wait(self.group(place))
            .map(GroupIn::from)
    }

    /// Opens the array or group at a place.
    ///
    /// # Errors
    /// As for [`AnyNode::open`].
    pub fn open_node(&self, place: impl Into<Place>) -> Result<AnyNode<Blocking>> {
        let place = place.into().locate()?;
        place
            .storage
            .clone()
            .wait(self.node(place))
            .map(AnyNode::from)
    }
}

impl OpenOptions<Asynchronous> {
    /// Opens an array.
    ///
    /// # Errors
    /// As for [`Array::open`](crate::Array::open).
    pub async fn open_array<E: ElementType>(
        &self,
        place: impl Into<Place>,
    ) -> Result<ArrayIn<E, Asynchronous>> {
        let options = self.clone();
        let place = place.into().located().await?;
        let storage = place.storage.clone();
        let info = storage
            .on_pool(|| async move { options.array(place).await })
            .await?;
        E::check_stored(&info)?;
        Ok(info.into())
    }

    /// Opens a group.
    ///
    /// # Errors
    /// As for [`Group::open`](crate::Group::open).
    pub async fn open_group(&self, place: impl Into<Place>) -> Result<GroupIn<Asynchronous>> {
        let options = self.clone();
        let place = place.into().located().await?;
        let storage = place.storage.clone();
        storage
            .on_pool(|| async move { options.group(place).await })
            .await
            .map(GroupIn::from)
    }

    /// Opens the array or group at a place.
    ///
    /// # Errors
    /// As for [`AnyNode::open`].
    pub async fn open_node(&self, place: impl Into<Place>) -> Result<AnyNode<Asynchronous>> {
        let options = self.clone();
        let place = place.into().located().await?;
        let storage = place.storage.clone();
        storage
            .on_pool(|| async move { options.node(place).await })
            .await
            .map(AnyNode::from)
    }
}

// The bound is that of each function: on the `impl`, it would not show the message of the trait.
impl<E> ArrayIn<E, Blocking> {
    /// Opens an array and detects its format. [`OpenOptions`](crate::OpenOptions) has more
    /// settings.
    ///
    /// # Errors
    /// No array exists there; its metadata is invalid or requires an unsupported feature; its
    /// elements are not of the type `E`.
    pub fn open(place: impl Into<Place>) -> Result<Self>
    where
        E: ElementType,
    {
        OpenOptions::<Blocking>::new().open_array(place)
    }
}

impl<E> ArrayIn<E, Asynchronous> {
    /// Asynchronous [`Array::open`](crate::Array::open).
    ///
    /// # Errors
    /// As for [`Array::open`](crate::Array::open).
    pub async fn open(place: impl Into<Place>) -> Result<Self>
    where
        E: ElementType,
    {
        OpenOptions::<Asynchronous>::new().open_array(place).await
    }
}

impl GroupIn<Blocking> {
    /// Opens a group and detects its format. [`OpenOptions`](crate::OpenOptions) has more settings.
    ///
    /// # Errors
    /// No group exists there; its metadata is invalid.
    pub fn open(place: impl Into<Place>) -> Result<Self> {
        OpenOptions::<Blocking>::new().open_group(place)
    }
}

impl GroupIn<Asynchronous> {
    /// Asynchronous [`Group::open`](crate::Group::open).
    ///
    /// # Errors
    /// As for [`Group::open`](crate::Group::open).
    pub async fn open(place: impl Into<Place>) -> Result<Self> {
        OpenOptions::<Asynchronous>::new().open_group(place).await
    }
}

impl AnyNode<Blocking> {
    /// Opens the array or group at a place. [`OpenOptions`](crate::OpenOptions) has more settings.
    ///
    /// # Errors
    /// Nothing exists there; its metadata is invalid or requires an unsupported feature.
    pub fn open(place: impl Into<Place>) -> Result<Self> {
        OpenOptions::<Blocking>::new().open_node(place)
    }
}

impl AnyNode<Asynchronous> {
    /// Asynchronous [`AnyNode::open`].
    ///
    /// # Errors
    /// As for [`AnyNode::open`].
    pub async fn open(place: impl Into<Place>) -> Result<Self> {
        OpenOptions::<Asynchronous>::new().open_node(place).await
    }
}
