//! `AnyStore`: a store whose calls block, or one whose calls are futures.

use std::sync::Arc;

use ndzarr_store::{AsyncStore, Can, Store};

/// A store of either kind.
#[derive(Clone, Debug)]
pub enum AnyStore {
    /// A store with blocking calls.
    Blocking(Arc<dyn Store>),
    /// An asynchronous store.
    Async(Arc<dyn AsyncStore>),
}

impl AnyStore {
    /// Its name, for messages.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Blocking(store) => store.name(),
            Self::Async(store) => store.name(),
        }
    }

    /// What it can do beyond reading.
    #[must_use]
    pub fn can(&self) -> Can {
        match self {
            Self::Blocking(store) => store.can(),
            Self::Async(store) => store.can(),
        }
    }
}
