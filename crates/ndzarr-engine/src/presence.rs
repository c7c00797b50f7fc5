//! `Presence`: what reads and writes have shown about the keys of an array's chunks.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, PoisonError};

use ndzarr_store::Fetched;

/// Evidence that the chunks of an array lie under the keys that its document states: one of them
/// was found there. As long as all that were requested are absent, the chunks may lie under other
/// keys, which the owner can look for: see [`doubt`](Self::doubt).
#[derive(Debug, Default)]
pub struct Presence {
    state: AtomicU8,
    doubt: Mutex<Doubt>,
}

/// No chunk was requested yet.
const UNKNOWN: u8 = 0;
/// Every chunk requested so far is absent.
const ABSENT: u8 = 1;
/// A chunk was found, or no other keys are possible.
const CONFIRMED: u8 = 2;

/// Every chunk requested so far is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Doubt {
    /// How often a doubt was returned since [`count_anew`](Presence::count_anew), this one
    /// included.
    pub n: u64,
    /// The first absent chunks since the last doubt.
    pub absent: Vec<Vec<u64>>,
}

/// How many absent chunks a doubt lists.
const LISTED: usize = 8;

impl Clone for Presence {
    fn clone(&self) -> Self {
        let state = self.state.load(Ordering::Relaxed);
        let doubt = self
            .doubt
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        Self {
            state: state.into(),
            doubt: doubt.into(),
        }
    }
}

impl Presence {
    /// Ends all doubt: the keys are right, or no others are possible.
    pub fn confirm(&self) {
        if !self.is_confirmed() {
            self.state.store(CONFIRMED, Ordering::Relaxed);
        }
    }

    /// True if there can be no doubt any more.
    #[must_use]
    pub fn is_confirmed(&self) -> bool {
        self.state.load(Ordering::Relaxed) == CONFIRMED
    }

    /// Notes the store's answer about a chunk.
    pub(crate) fn note(&self, fetched: &Fetched, chunk: &[u64]) {
        match fetched {
            Fetched::Missing => self.note_absent(chunk),
            Fetched::Parts { .. } => self.confirm(),
            Fetched::Changed => {}
        }
    }

    /// Notes that a chunk is absent.
    pub fn note_absent(&self, chunk: &[u64]) {
        if self.is_confirmed() {
            return;
        }
        let _ = self
            .state
            .compare_exchange(UNKNOWN, ABSENT, Ordering::Relaxed, Ordering::Relaxed);
        let absent = &mut self
            .doubt
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .absent;
        if absent.len() < LISTED && !absent.iter().any(|listed| listed == chunk) {
            absent.push(chunk.to_vec());
        }
    }

    /// The doubt, if there is any. Its absent chunks are not listed again.
    #[must_use]
    pub fn doubt(&self) -> Option<Doubt> {
        if self.state.load(Ordering::Relaxed) != ABSENT {
            return None;
        }
        let mut doubt = self.doubt.lock().unwrap_or_else(PoisonError::into_inner);
        doubt.n += 1;
        Some(Doubt {
            n: doubt.n,
            absent: std::mem::take(&mut doubt.absent),
        })
    }

    /// Counts the next doubt as the first one again: a search for other keys did not end it.
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
        assert_eq!(
            presence.doubt(),
            Some(Doubt {
                n: 1,
                absent: vec![vec![1, 2]]
            })
        );
        assert_eq!(
            presence.doubt(),
            Some(Doubt {
                n: 2,
                absent: Vec::new()
            })
        );
        presence.count_anew();
        assert_eq!(
            presence.doubt(),
            Some(Doubt {
                n: 1,
                absent: Vec::new()
            })
        );
        presence.confirm();
        presence.note_absent(&[0, 0]);
        assert_eq!(presence.doubt(), None);
    }
}
