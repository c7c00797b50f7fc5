//! `Hedge`: decides when a read whose answer is late is sent once more.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use ndzarr_store::PerProcess;

/// The number of last answers of which the median is taken.
const MAX_ANSWERS: usize = 64;
/// One in this many requests may be sent twice.
const ONE_IN: u32 = 20;
/// The most credit that is saved: enough to send four requests twice at once.
const MAX_CREDIT: u32 = 4 * ONE_IN;

#[derive(Debug)]
pub(crate) struct Hedge {
    /// The shortest delay before a request is sent once more.
    after: Duration,
    state: PerProcess<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    /// How long the last answers took to begin.
    head_times: VecDeque<Duration>,
    /// Each request adds one, and each that is sent twice takes [`ONE_IN`].
    credit: u32,
}

impl Hedge {
    pub(crate) fn new(after: Duration) -> Self {
        Self {
            after,
            state: PerProcess::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock_inherited()
    }

    /// Notes that a request ended. Its answer, if there was one, began after this time.
    pub(crate) fn answered(&self, head_after: Option<Duration>) {
        let mut state = self.state();
        state.credit = MAX_CREDIT.min(state.credit + 1);
        let Some(head_after) = head_after else { return };
        if state.head_times.len() == MAX_ANSWERS {
            state.head_times.pop_front();
        }
        state.head_times.push_back(head_after);
    }

    /// How long an answer may take to begin before the request is sent once more: three times the
    /// median.
    pub(crate) fn delay(&self) -> Duration {
        let mut times: Vec<Duration> = self.state().head_times.iter().copied().collect();
        if times.is_empty() {
            return self.after;
        }
        let middle = times.len() / 2;
        let (_, median, _) = times.select_nth_unstable(middle);
        self.after.max(3 * *median)
    }

    /// Returns `true` if a request may be sent once more, and takes the credit for it.
    pub(crate) fn may_send(&self) -> bool {
        let mut state = self.state();
        if state.credit < ONE_IN {
            return false;
        }
        state.credit -= ONE_IN;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_delay_follows_the_median_of_the_last_answers() {
        let ms = Duration::from_millis;
        let hedge = Hedge::new(ms(200));
        assert_eq!(hedge.delay(), ms(200));
        (0..64).for_each(|_| hedge.answered(Some(ms(10))));
        assert_eq!(hedge.delay(), ms(200));
        // One slow answer changes nothing, many do.
        hedge.answered(Some(ms(9000)));
        assert_eq!(hedge.delay(), ms(200));
        (0..40).for_each(|_| hedge.answered(Some(ms(100))));
        assert_eq!(hedge.delay(), ms(300));
        (0..64).for_each(|_| hedge.answered(None));
        assert_eq!(
            hedge.delay(),
            ms(300),
            "requests without an answer are not counted"
        );
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
        // After a long time without late answers, a few may be sent at once.
        (0..1000).for_each(|_| hedge.answered(None));
        assert_eq!((0..100).filter(|_| hedge.may_send()).count(), 4);
    }
}
