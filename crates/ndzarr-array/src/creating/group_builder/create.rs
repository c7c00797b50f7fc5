//! Creates the group that a builder describes.

use super::GroupBuilder;
use crate::error::Result;
use crate::hierarchy::group::GroupIn;
use crate::mode::{Asynchronous, Blocking};
use crate::places::place::Place;

impl GroupBuilder<Blocking> {
    /// Creates the group, and the groups above it that the format requires.
    ///
    /// # Errors
    /// There is something at the place already; an ancestor is an array; the name is not allowed;
    /// the store fails.
    pub fn create(self, place: impl Into<Place>) -> Result<GroupIn<Blocking>> {
        let place = place.into().locate()?;
        place
            .storage
            .clone()
            .wait_change(None, self.make(place))
            .map(GroupIn::from)
    }
}

impl GroupBuilder<Asynchronous> {
    /// Asynchronous [`GroupBuilder::create`].
    ///
    /// # Errors
    /// As for [`GroupBuilder::create`].
    pub async fn create(self, place: impl Into<Place>) -> Result<GroupIn<Asynchronous>> {
        let place = place.into().located().await?;
        let storage = place.storage.clone();
        storage
            .on_change_thread(|| async move { self.make(place).await })
            .await
            .map(GroupIn::from)
    }
}
