//! Lists the keys of a store.

use futures_util::StreamExt;
use ndzarr_store::{Key, Prefix, StoreError};

use super::{Kind, Storage};
use crate::error::Result;

impl Storage {
    /// Every key below a prefix.
    pub(crate) async fn list_prefix(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        let prefix = Prefix::new(prefix)?;
        let keys = match &self.0 {
            Kind::Blocking(store) => store.list_prefix(&prefix)?,
            Kind::Async(store) => store.list_prefix(&prefix).await?,
        };
        Ok(keys.iter().map(ToString::to_string).collect())
    }

    /// Passes on every key below a prefix, and the length of its value in bytes.
    pub(crate) async fn each_size(
        &self,
        prefix: &str,
        take: &mut (dyn FnMut(&Key, u64) + Send),
    ) -> Result<()> {
        let prefix = self.named(Prefix::new(prefix))?;
        let store = match &self.0 {
            Kind::Blocking(store) => return self.named(store.list_sizes(&prefix, take)),
            Kind::Async(store) => store,
        };
        let mut pages = store.list_sizes(&prefix);
        while let Some(page) = pages.next().await {
            self.named(page)?.iter().for_each(|(key, byte_len)| take(key, *byte_len));
        }
        Ok(())
    }
}
