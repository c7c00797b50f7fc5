//! Runs calls on a blocking store by the library's threads, so that the polling task is not
//! blocked.

use ndzarr_engine::{
    AnyStore, Cancel, EngineError, RunOptions, StopOnDrop, pass_dropped_futures, pooled, queued,
};
use ndzarr_store::block_on;

use super::Storage;
use crate::error::Result;

impl Storage {
    /// Waits for what a blocking store still stores for dropped futures.
    pub(crate) async fn pass_dropped_futures(&self, cancel: Option<&Cancel>) {
        if self.is_blocking() {
            pass_dropped_futures(&self.name(), cancel).await;
        }
    }

    /// Runs a reading call: on a blocking store, by the library's pool.
    pub(crate) async fn on_pool<R: Send + 'static, F: Future<Output = R> + Send>(
        &self,
        call: impl FnOnce() -> F + Send + 'static,
    ) -> R {
        match &self.store {
            AnyStore::Blocking(store) => {
                pooled(&store.name(), &RunOptions::default(), move |_| {
                    block_on(call())
                })
                .await
            }
            AnyStore::Async(_) => call().await,
        }
    }

    /// Runs a call that changes the store: on a blocking store, on a thread for changes when it is
    /// its turn, because it may wait for locks. Once the future is dropped, it publishes nothing
    /// more and does not wait for locks.
    pub(crate) async fn on_change_thread<
        R: Send + 'static,
        F: Future<Output = Result<R>> + Send,
    >(
        &self,
        call: impl FnOnce() -> F + Send + 'static,
    ) -> Result<R> {
        let AnyStore::Blocking(store) = &self.store else {
            return call().await;
        };
        let name = store.name();
        let stop = StopOnDrop::part_of(Cancel::of_scope().as_ref(), &name);
        let part = stop.cancel().clone();
        let run = move || Ok(part.scope(|| block_on(call())));
        self.named(
            queued(&name, Some(stop.cancel()), run)
                .await
                .map_err(EngineError::from),
        )?
    }
}
