//! The waits of writers after conflicts with other writers.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use ndzarr_store::{Key, PerProcess};

use crate::requests::backoff::random_wait;

/// The first wait is up to this many times as long as the request took. Shorter waits do not
/// separate eight writers, however fast or slow the service is.
const REQUEST_TIMES: u32 = 8;
const MIN_FIRST_WAIT: Duration = Duration::from_millis(20);
const MAX_WAIT: Duration = Duration::from_secs(10);
/// The most keys that are remembered. Keys of calls that were given up stay, so all are forgotten
/// then.
const MAX_KEYS: usize = 1024;

/// The number of conflicts in a row for each key.
#[derive(Debug, Default)]
pub(crate) struct Conflicts(PerProcess<Mutex<HashMap<Key, u32>>>);

impl Conflicts {
    fn counts(&self) -> MutexGuard<'_, HashMap<Key, u32>> {
        self.0.lock_inherited()
    }

    /// Records one more conflict, found by a request that took `took`. Returns how long to wait
    /// before the next attempt: writers that try again at the same time would conflict again.
    pub(crate) fn record(&self, key: &Key, took: Duration) -> Duration {
        let mut counts = self.counts();
        if counts.len() >= MAX_KEYS {
            counts.clear();
        }
        let count = counts.entry(key.clone()).or_default();
        *count = count.saturating_add(1);
        let first = took
            .saturating_mul(REQUEST_TIMES)
            .clamp(MIN_FIRST_WAIT, MAX_WAIT);
        random_wait(first, *count, first.saturating_mul(50).min(MAX_WAIT))
    }

    /// Forgets the conflicts of a value, since it was written.
    pub(crate) fn clear(&self, key: &Key) {
        self.counts().remove(key);
    }
}
