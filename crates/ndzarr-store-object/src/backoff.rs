//! Waits of random length, so that callers who failed together do not come back together.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// Before the next attempt, after this number of failures: up to 100 ms, doubled each time, at most 10 s.
pub(crate) fn backoff(failures: u32) -> Duration {
    up_to(Duration::from_millis(100), failures, Duration::from_secs(10))
}

/// At random up to this time, doubled with each further failure, at most `most`.
pub(crate) fn up_to(first: Duration, failures: u32, most: Duration) -> Duration {
    let longest = first.saturating_mul(1 << failures.saturating_sub(1).min(20)).min(most);
    let share = (random() >> 11) as f64 / (1_u64 << 53) as f64;
    longest.mul_f64(share)
}

pub(crate) fn random() -> u64 {
    RandomState::new().hash_one(0)
}
