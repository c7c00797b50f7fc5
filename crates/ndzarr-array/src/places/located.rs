//! `Located`: a store, a path in it, and what a URL says of the node.

use ndzarr_engine::Relay;
use ndzarr_metadata::Format;

use crate::error::Result;
#[cfg(feature = "fs")]
use crate::error::{Error, ErrorKind};
use crate::storage::Storage;

/// Makes a new archive visible.
pub(crate) type Finish = Box<dyn FnOnce() -> Result<()> + Send>;

/// A location in a store.
#[derive(Clone, Debug)]
pub(crate) struct Located {
    pub(crate) storage: Storage,
    pub(crate) path: String,
    /// The folder, if the location was given as one: the node may be a part of a hierarchy around
    /// it.
    #[cfg(feature = "fs")]
    pub(crate) folder: Option<std::path::PathBuf>,
    /// The format that a URL names.
    #[cfg(feature = "fs")]
    pub(crate) format: Option<crate::places::url::UrlFormat>,
}

impl Located {
    /// The place for work whose requests another task makes.
    pub(crate) fn relayed(self, relay: &Relay) -> Self {
        Self {
            storage: self.storage.relayed(relay),
            ..self
        }
    }

    /// Refuses a format other than the one that the URL names.
    pub(crate) fn check(&self, format: Format) -> Result<()> {
        #[cfg(feature = "fs")]
        if self.format.is_some_and(|named| !named.allows(format)) {
            let what = format!("the format is {format}, and the URL names another one");
            return Err(
                Error::new(ErrorKind::InvalidArgument, what).in_store(|| self.storage.name())
            );
        }
        let _ = format;
        Ok(())
    }
}
