//! `Presence`: whether any chunk was found under the keys that the document states.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};

use ndzarr_store::Fetched;

/// Whether any chunk of an array was found under the keys that its document states. If only absent
/// ones were asked for, the chunks may lie under other keys, which the owner can look for: see
/// [`doubt`](Self::doubt).
#[derive(Debug, Default)]
pub struct Presence {
    state: AtomicU8,
    doubt: Mutex<Doubt>,
}

/// Nothing was asked for yet.
const UNKNOWN: u8 = 0;
/// Only absent chunks were asked for.
const ABSENT: u8 = 1;
/// A chunk was found, or there are no other keys.
const SETTLED: u8 = 2;

/// That every chunk asked for so far was absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Doubt {
    /// How often it was taken since [`count_anew`](Presence::count_anew), this time included.
    pub n: u64,
    /// The first chunks that were absent since it was taken last.
    pub absent: Vec<Vec<u64>>,
}

/// The number of absent chunks that are kept.
const KEPT: usize = 8;

impl Clone for Presence {
    fn clone(&self) -> Self {
        let state = self.state.load(Ordering::Relaxed);
        let doubt = self.doubt.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Self { state: state.into(), doubt: doubt.into() }
    }
}

impl Presence {
    /// Ends all doubt: the keys are right, or there are no others.
    pub fn settle(&self) {
        if !self.is_settled() {
            self.state.store(SETTLED, Ordering::Relaxed);
        }
    }

    /// True if there can be no doubt any more.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.state.load(Ordering::Relaxed) == SETTLED
    }

    /// Takes notice of what the store says about a chunk.
    pub(crate) fn note(&self, fetched: &Fetched, chunk: &[u64]) {
        match fetched {
            Fetched::Missing => self.note_absent(chunk),
            Fetched::Parts { .. } => self.settle(),
            Fetched::Changed => {}
        }
    }

    /// Takes notice of a chunk that is absent.
    pub fn note_absent(&self, chunk: &[u64]) {
        if self.is_settled() {
            return;
        }
        let _ = self.state.compare_exchange(UNKNOWN, ABSENT, Ordering::Relaxed, Ordering::Relaxed);
        let absent = &mut self.doubt.lock().unwrap_or_else(PoisonError::into_inner).absent;
        if absent.len() < KEPT && !absent.iter().any(|kept| kept == chunk) {
            absent.push(chunk.to_vec());
        }
    }

    /// Takes the doubt, if there is any.
    #[must_use]
    pub fn doubt(&self) -> Option<Doubt> {
        if self.state.load(Ordering::Relaxed) != ABSENT {
            return None;
        }
        let mut doubt = self.doubt.lock().unwrap_or_else(PoisonError::into_inner);
        doubt.n += 1;
        Some(Doubt { n: doubt.n, absent: std::mem::take(&mut doubt.absent) })
    }

    /// The next doubt is the first one again: a look around did not end it.
    pub fn count_anew(&self) {
        self.doubt.lock().unwrap_or_else(PoisonError::into_inner).n = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_absent_chunks_raise_doubt() {
        let presence = Presence::default();
        assert_eq!(presence.doubt(), None);
        presence.note_absent(&[1, 2]);
        presence.note_absent(&[1, 2]);
        assert_eq!(presence.doubt(), Some(Doubt { n: 1, absent: vec![vec![1, 2]] }));
        assert_eq!(presence.doubt(), Some(Doubt { n: 2, absent: Vec::new() }));
        presence.count_anew();
        assert_eq!(presence.doubt(), Some(Doubt { n: 1, absent: Vec::new() }));
        presence.settle();
        presence.note_absent(&[0, 0]);
        assert_eq!(presence.doubt(), None);
    }
}
