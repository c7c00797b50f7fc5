//! Values from servers that ignore ranges. They are kept, so that the parts of a shard do not each cost
//! all of it.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};

use bytes::Bytes;
use ndzarr_store::{Key, PerProcess};

use crate::state::State;

#[derive(Debug, Default)]
pub(crate) struct Unranged {
    /// Whole values, the one kept last at the end.
    values: PerProcess<Mutex<VecDeque<(Key, State, Bytes)>>>,
    turn: PerProcess<tokio::sync::Mutex<()>>,
}

impl Unranged {
    /// The most bytes of a value that is read for a part of it, and of all that are kept.
    pub(crate) const LIMIT: u64 = 256 << 20;

    fn lock(&self) -> MutexGuard<'_, VecDeque<(Key, State, Bytes)>> {
        self.values.lock_inherited()
    }

    /// Waits for the turn to read one. It ends when the result is dropped.
    pub(crate) async fn turn(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.turn.get(|_| tokio::sync::Mutex::default()).lock().await
    }

    /// Whether a value is kept: then ranges need not be tried.
    pub(crate) fn has(&self, key: &Key) -> bool {
        self.lock().iter().any(|(kept, ..)| kept == key)
    }

    pub(crate) fn get(&self, key: &Key) -> Option<(State, Bytes)> {
        let values = self.lock();
        let (_, state, value) = values.iter().find(|(kept, ..)| kept == key)?;
        Some((state.clone(), value.clone()))
    }

    /// Keeps a value, unless it cannot be known later whether it is current.
    pub(crate) fn keep(&self, key: &Key, state: &State, value: &Bytes) {
        let mut values = self.lock();
        values.retain(|(kept, ..)| kept != key);
        if !state.is_telling() {
            return;
        }
        values.push_back((key.clone(), state.clone(), value.clone()));
        let mut byte_len: u64 = values.iter().map(|(.., value)| value.len() as u64).sum();
        while byte_len > Self::LIMIT
            && let Some((.., value)) = values.pop_front()
        {
            byte_len -= value.len() as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(e_tag: Option<&str>, modified: i64) -> State {
        let e_tag = e_tag.map(str::to_owned);
        State { value: "a".into(), e_tag, version: None, modified: Some((modified, 1)) }
    }

    #[test]
    fn rs_14_values_are_kept_up_to_a_limit_and_only_if_a_change_can_be_seen() {
        let (unranged, key) = (Unranged::default(), |name| Key::new(name).expect("a key"));
        let large = || Bytes::from(vec![0; 150 << 20]);
        unranged.keep(&key("a"), &state(Some("1"), 0), &large());
        unranged.keep(&key("b"), &state(None, 1), &Bytes::from("b"));
        unranged.keep(&key("c"), &state(None, 0), &Bytes::from("c"));
        assert!(unranged.has(&key("a")) && unranged.has(&key("b")) && !unranged.has(&key("c")));
        unranged.keep(&key("d"), &state(Some("1"), 0), &large());
        assert!(!unranged.has(&key("a")) && unranged.has(&key("b")) && unranged.has(&key("d")));
        // It has become another one, which nothing tells from the next.
        unranged.keep(&key("d"), &state(None, 0), &Bytes::from("d"));
        assert!(!unranged.has(&key("d")));
    }
}
