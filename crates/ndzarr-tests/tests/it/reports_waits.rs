//! A folder that reports when a call waits for a lock.

use std::sync::mpsc::{Receiver, Sender, channel};

use ndzarr::store::{Key, Locked, Prefix, StoreError, Wait};
use ndzarr::{FsStore, Store};
use ndzarr_testkit::forward;

/// Sends a message each time that a call looks whether it still waits.
#[derive(Debug)]
pub(crate) struct ReportsWaits {
    inner: FsStore,
    waits: Sender<()>,
}

impl ReportsWaits {
    pub(crate) fn new(inner: FsStore) -> (Self, Receiver<()>) {
        let (waits, receiver) = channel();
        (Self { inner, waits }, receiver)
    }

    fn reported<T>(&self, wait: Wait<'_>, call: impl FnOnce(Wait<'_>) -> T) -> T {
        let Wait::While(goes_on) = wait else {
            return call(wait);
        };
        call(Wait::While(&|| {
            // The receiver may be gone by the last of these.
            let _ = self.waits.send(());
            goes_on()
        }))
    }
}

impl Store for ReportsWaits {
    forward!(inner: name, fetch, put, erase, list_dir);

    fn lock(&self, key: &Key, wait: Wait<'_>) -> Result<Locked, StoreError> {
        self.reported(wait, |wait| self.inner.lock(key, wait))
    }

    fn erase_prefix(&self, prefix: &Prefix, wait: Wait<'_>) -> Result<(), StoreError> {
        self.reported(wait, |wait| self.inner.erase_prefix(prefix, wait))
    }
}
