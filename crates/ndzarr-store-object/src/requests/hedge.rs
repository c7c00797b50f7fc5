//! When a read whose answer is late is sent once more.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use ndzarr_store::PerProcess;

/// The answers whose median counts.
const ANSWERS: usize = 64;
/// One in this many requests may be sent twice.
const ONE_IN: u32 = 20;
/// Requests that pay for later ones: for a few at once.
const SAVED: u32 = 4 * ONE_IN;

#[derive(Debug)]
pub(crate) struct Hedge {
    /// The least patience.
    after: Duration,
    state: PerProcess<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    /// How long the last answers took to begin.
    heads: VecDeque<Duration>,
    /// Requests, each of which pays for a part of another one.
    saved: u32,
}

impl Hedge {
    pub(crate) fn new(after: Duration) -> Self {
        Self { after, state: PerProcess::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock_inherited()
    }

    /// A request ended whose answer began after this time, if there was one.
    pub(crate) fn answered(&self, head_after: Option<Duration>) {
        let mut state = self.state();
        state.saved = SAVED.min(state.saved + 1);
        let Some(head_after) = head_after else { return };
        if state.heads.len() == ANSWERS {
            state.heads.pop_front();
        }
        state.heads.push_back(head_after);
    }

    /// How long an answer may take to begin: three times as long as usual.
    pub(crate) fn patience(&self) -> Duration {
        let mut heads: Vec<Duration> = self.state().heads.iter().copied().collect();
        if heads.is_empty() {
            return self.after;
        }
        let middle = heads.len() / 2;
        let (_, median, _) = heads.select_nth_unstable(middle);
        self.after.max(3 * *median)
    }

    /// Whether a further request may be sent; then it counts.
    pub(crate) fn may_send(&self) -> bool {
        let mut state = self.state();
        let left = state.saved.checked_sub(ONE_IN);
        state.saved = left.unwrap_or(state.saved);
        left.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_follows_the_median_of_the_last_answers() {
        let ms = Duration::from_millis;
        let hedge = Hedge::new(ms(200));
        assert_eq!(hedge.patience(), ms(200));
        (0..64).for_each(|_| hedge.answered(Some(ms(10))));
        assert_eq!(hedge.patience(), ms(200));
        // One that is slow changes nothing, many do.
        hedge.answered(Some(ms(9000)));
        assert_eq!(hedge.patience(), ms(200));
        (0..40).for_each(|_| hedge.answered(Some(ms(100))));
        assert_eq!(hedge.patience(), ms(300));
        (0..64).for_each(|_| hedge.answered(None));
        assert_eq!(hedge.patience(), ms(300), "what had no answer is not counted");
    }

    #[test]
    fn one_in_twenty_requests_is_sent_twice() {
        let hedge = Hedge::new(Duration::ZERO);
        assert!(!hedge.may_send());
        let mut sent = 0;
        for _ in 0..1000 {
            hedge.answered(None);
            sent += u32::from(hedge.may_send());
        }
        assert_eq!(sent, 50);
        // After a long time without any, a few at once.
        (0..1000).for_each(|_| hedge.answered(None));
        assert_eq!((0..100).filter(|_| hedge.may_send()).count(), 4);
    }
}
