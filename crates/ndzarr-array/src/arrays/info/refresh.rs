//! Brings a handle up to date with the documents in the store.

use std::sync::Arc;

use ndzarr_metadata::{OpenOptions, Wanted, is_same_array};

use super::ArrayInfo;
use crate::error::{Error, ErrorKind, Result};
use crate::hierarchy::find_node;

impl ArrayInfo {
    /// Reads the documents again.
    pub(crate) async fn refresh_handle(&mut self) -> Result<()> {
        let options = OpenOptions {
            wanted: Wanted::Array,
            ..self.node.open_options()
        };
        let node = find_node::open_at(&self.storage, &self.node.path, &options).await?;
        let now = node
            .kind
            .array()
            .filter(|now| is_same_array(self.spec(), now))
            .ok_or_else(|| {
                let what = "another array is there than the one that was opened";
                self.name(Error::new(ErrorKind::InvalidMetadata, what))
            })?;
        let grid = now
            .grid()
            .map_err(|error| Error::new(ErrorKind::InvalidMetadata, error));
        let grid = self.named(grid)?;
        self.data = match &self.data {
            Ok(data) => Ok(Arc::new(self.named(data.regridded(grid))?)),
            Err(error) => Err(error.clone()),
        };
        self.node = Arc::new(node);
        Ok(())
    }
}
