//! A bucket of object_store.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use object_store::ObjectStore;
use object_store::list::PaginatedListStore;

#[cfg(feature = "s3")]
use crate::client::region::Regional;

/// The store of object_store, which is replaced by another one once the region of the bucket is
/// known.
pub(crate) struct Backend {
    store: Arc<dyn ObjectStore>,
    /// `None` if it cannot list.
    lists: Option<Arc<dyn PaginatedListStore>>,
    #[cfg(feature = "s3")]
    regional: Option<Regional>,
    /// The same bucket, where values are erased one by one: used once the service has refused a
    /// batch.
    single_eraser: Option<Arc<dyn ObjectStore>>,
    is_without_batches: AtomicBool,
}

impl Backend {
    pub(crate) fn new(store: Arc<impl ObjectStore + PaginatedListStore>) -> Self {
        Self {
            lists: Some(store.clone()),
            ..Self::unlisted(store)
        }
    }

    /// The backend of a service that cannot list.
    pub(crate) fn unlisted(store: Arc<impl ObjectStore>) -> Self {
        Self {
            store,
            lists: None,
            #[cfg(feature = "s3")]
            regional: None,
            single_eraser: None,
            is_without_batches: AtomicBool::new(false),
        }
    }

    #[cfg(feature = "s3")]
    pub(crate) fn with_single_eraser(self, store: Option<Arc<impl ObjectStore>>) -> Self {
        Self {
            single_eraser: store.map(|store| store as _),
            ..self
        }
    }

    /// Returns `true` if the service has refused to erase several values at once.
    pub(crate) fn is_without_batches(&self) -> bool {
        self.is_without_batches.load(Relaxed)
    }

    /// From now on values are erased one by one. Returns `false` if they cannot be.
    pub(crate) fn end_batches(&self) -> bool {
        self.is_without_batches
            .store(self.single_eraser.is_some(), Relaxed);
        self.is_without_batches()
    }

    /// The store that erases values, in a batch or each by a request.
    pub(crate) fn eraser(&self, in_batch: bool) -> &dyn ObjectStore {
        match &self.single_eraser {
            Some(single) if !in_batch => &**single,
            _ => self.store(),
        }
    }

    #[cfg(feature = "s3")]
    pub(crate) fn in_region(self, regional: Option<Regional>) -> Self {
        Self { regional, ..self }
    }

    /// Finds the region of the bucket, unless it is given or known.
    pub(crate) async fn find_region(&self) {
        #[cfg(feature = "s3")]
        if let Some(regional) = &self.regional {
            regional.find_store().await;
        }
    }

    pub(crate) fn store(&self) -> &dyn ObjectStore {
        #[cfg(feature = "s3")]
        if let Some(store) = self.regional.as_ref().and_then(Regional::store) {
            return store;
        }
        &*self.store
    }

    pub(crate) fn lists(&self) -> Option<&dyn PaginatedListStore> {
        #[cfg(feature = "s3")]
        if let Some(store) = self.regional.as_ref().and_then(Regional::store) {
            return Some(store);
        }
        self.lists.as_deref()
    }
}

#[cfg(all(test, feature = "s3"))]
impl Backend {
    /// Sends requests to a server of the test instead of Amazon.
    pub(crate) fn go_to(&mut self, server: &str, limit: std::time::Duration) {
        if let Some(regional) = &mut self.regional {
            let store = regional.go_to(server, limit);
            self.lists = Some(store.clone());
            self.store = store;
        }
    }

    pub(crate) fn regional(&self) -> Option<&Regional> {
        self.regional.as_ref()
    }
}
