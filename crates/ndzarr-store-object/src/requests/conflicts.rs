//! How long a writer waits whose value another one has replaced.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use ndzarr_store::{Key, PerProcess};

use crate::requests::backoff::up_to;

/// A writer waits at first up to this many times what its request took. Shorter waits do not separate
/// eight writers, however fast or slow the service.
const REQUESTS: u32 = 8;
const FIRST: Duration = Duration::from_millis(20);
const MOST: Duration = Duration::from_secs(10);
/// Keys of calls that were given up stay; with more than this they are forgotten together.
const KEYS: usize = 1024;

/// For each key how often in a row other writers were first.
#[derive(Debug, Default)]
pub(crate) struct Conflicts(PerProcess<Mutex<HashMap<Key, u32>>>);

impl Conflicts {
    fn counts(&self) -> MutexGuard<'_, HashMap<Key, u32>> {
        self.0.lock_inherited()
    }

    /// One more conflict, found by a request that took `took`: how long to wait before the value is
    /// looked at again. Writers that all come back at once would meet again.
    pub(crate) fn met(&self, key: &Key, took: Duration) -> Duration {
        let mut counts = self.counts();
        if counts.len() >= KEYS {
            counts.clear();
        }
        let count = counts.entry(key.clone()).or_default();
        *count = count.saturating_add(1);
        let first = took.saturating_mul(REQUESTS).clamp(FIRST, MOST);
        up_to(first, *count, first.saturating_mul(50).min(MOST))
    }

    /// The value was written.
    pub(crate) fn over(&self, key: &Key) {
        self.counts().remove(key);
    }
}
