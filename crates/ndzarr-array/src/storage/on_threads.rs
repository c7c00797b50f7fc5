//! Runs calls on a blocking store by the library's threads, so that the polling task is not
//! blocked.

use ndzarr_engine::{
    AnyStore, Cancel, EngineError, RunOptions, StopOnDrop, pass_dropped_futures, pooled, queued,
};
use ndzarr_store::block_on;

use super::Storage;
use crate::error::Result;

impl Storage {
    /// Runs a reading call: on a blocking store, by the library's pool.
    pub(crate) async fn on_pool<R: Send + 'static, F: Future<Output = R> + Send>(
        &self,
        call: impl FnOnce() -> F + Send + 'static,
    ) -> R {
        pass_dropped_futures(&self.store, None).await;
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
        let cancel = Cancel::of_scope();
        pass_dropped_futures(&self.store, cancel.as_ref()).await;
        let stop = StopOnDrop::part_of(cancel.as_ref(), &self.store);
        let part = stop.cancel().clone();
        let run = move || Ok(part.scope(|| block_on(call())));
        self.named(
            queued(&store.name(), Some(stop.cancel()), run)
                .await
                .map_err(EngineError::from),
        )?
    }
}
