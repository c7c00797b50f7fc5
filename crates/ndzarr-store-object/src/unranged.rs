//! A cache of values from servers that ignore ranges, so that a shard is not transferred again for
//! each of its parts.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};

use bytes::Bytes;
use ndzarr_store::{Key, PerProcess};

use crate::state::State;

#[derive(Debug, Default)]
pub(crate) struct UnrangedCache {
    /// Whole values, the latest at the end.
    values: PerProcess<Mutex<VecDeque<CachedValue>>>,
    reads: PerProcess<tokio::sync::Mutex<()>>,
}

#[derive(Debug)]
struct CachedValue {
    key: Key,
    state: State,
    bytes: Bytes,
}

impl UnrangedCache {
    /// The most bytes of a value that is read for a part of it, and of all values in the cache.
    pub(crate) const LIMIT: u64 = 256 << 20;

    fn values(&self) -> MutexGuard<'_, VecDeque<CachedValue>> {
        self.values.lock_inherited()
    }

    /// Waits until no other value is being read. Dropping the result lets others read.
    pub(crate) async fn lock_reads(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.reads
            .get(|_| tokio::sync::Mutex::default())
            .lock()
            .await
    }

    /// Returns `true` if a value is in the cache: requests for ranges of it would be in vain.
    pub(crate) fn contains(&self, key: &Key) -> bool {
        self.values().iter().any(|value| value.key == *key)
    }

    pub(crate) fn get(&self, key: &Key) -> Option<(State, Bytes)> {
        let values = self.values();
        let value = values.iter().find(|value| value.key == *key)?;
        Some((value.state.clone(), value.bytes.clone()))
    }

    /// Adds a value, unless later changes of it could not be noticed.
    pub(crate) fn insert(&self, key: &Key, state: &State, bytes: &Bytes) {
        let mut values = self.values();
        values.retain(|value| value.key != *key);
        if !state.shows_changes() {
            return;
        }
        values.push_back(CachedValue {
            key: key.clone(),
            state: state.clone(),
            bytes: bytes.clone(),
        });
        let mut byte_len: u64 = values.iter().map(|value| value.bytes.len() as u64).sum();
        while byte_len > Self::LIMIT
            && let Some(oldest) = values.pop_front()
        {
            byte_len -= oldest.bytes.len() as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(e_tag: Option<&str>, modified: i64) -> State {
        let e_tag = e_tag.map(str::to_owned);
        State {
            value: "a".into(),
            e_tag,
            version: None,
            modified: Some((modified, 1)),
        }
    }

    #[test]
    fn rs_14_values_are_kept_up_to_a_limit_and_only_if_a_change_can_be_seen() {
        let cache = UnrangedCache::default();
        let key = |name| Key::new(name).expect("a key");
        let large = || Bytes::from(vec![0; 150 << 20]);
        cache.insert(&key("a"), &state(Some("1"), 0), &large());
        cache.insert(&key("b"), &state(None, 1), &Bytes::from("b"));
        cache.insert(&key("c"), &state(None, 0), &Bytes::from("c"));
        assert!(
            cache.contains(&key("a")) && cache.contains(&key("b")) && !cache.contains(&key("c"))
        );
        cache.insert(&key("d"), &state(Some("1"), 0), &large());
        assert!(
            !cache.contains(&key("a")) && cache.contains(&key("b")) && cache.contains(&key("d"))
        );
        // The value was replaced by one whose later changes could not be noticed.
        cache.insert(&key("d"), &state(None, 0), &Bytes::from("d"));
        assert!(!cache.contains(&key("d")));
    }
}
