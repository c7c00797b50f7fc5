//! Calls over a blocking store that threads of the library run, so that the polling task is not blocked.

use ndzarr_engine::{EngineError, RunOptions, on_own_thread, pooled};
use ndzarr_store::block_on;

use super::{Colour, Kind, Storage, given_up};
use crate::error::Result;

impl Storage {
    /// Runs a call that reads: over a blocking store, on the library's pool.
    pub(crate) async fn handed<R: Send + 'static, F: Future<Output = R> + Send>(
        &self,
        call: impl FnOnce() -> F + Send + 'static,
    ) -> R {
        match &self.0 {
            Kind::Blocking(_) => pooled(&RunOptions::default(), move |_| block_on(call())).await,
            Kind::Async(_) => call().await,
        }
    }

    /// Runs a call that changes the store: over a blocking store, on a thread of its own, since it may wait for locks. When the
    /// future is dropped, nothing more of it is published, and it waits for no lock.
    pub(crate) async fn handed_change<R: Send + 'static, F: Future<Output = Result<R>> + Send>(
        &self,
        call: impl FnOnce() -> F + Send + 'static,
    ) -> Result<R> {
        if let Kind::Async(_) = &self.0 {
            return call().await;
        }
        let (_stop, options) = RunOptions::default().part();
        let run = move || {
            given_up::begin(options);
            Ok(block_on(call()))
        };
        on_own_thread(run).await.map_err(EngineError::from)?
    }

    /// Asks the store in the midst of a call: others wait for it, where the call is asynchronous and the store blocks.
    pub(crate) async fn ask<R: Send + 'static, F: Future<Output = Result<R>> + Send>(
        &self,
        colour: Colour,
        call: impl FnOnce(Self) -> F + Send + 'static,
    ) -> Result<R> {
        let own = self.clone();
        match colour {
            Colour::Blocking => call(own).await,
            Colour::Async => self.handed_change(move || call(own)).await,
        }
    }
}
