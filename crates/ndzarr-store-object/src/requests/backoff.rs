//! Waits of random length, so that callers that failed together do not try again together.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// The wait before the next attempt, after this number of failures: up to 100 ms, doubled each
/// time, at most 10 s.
pub(crate) fn backoff(n_failures: u32) -> Duration {
    random_wait(
        Duration::from_millis(100),
        n_failures,
        Duration::from_secs(10),
    )
}

/// A random wait of up to `first`, doubled with each further failure, at most `max`.
pub(crate) fn random_wait(first: Duration, n_failures: u32, max: Duration) -> Duration {
    fraction(longest_wait(first, n_failures, max), random())
}

fn longest_wait(first: Duration, n_failures: u32, max: Duration) -> Duration {
    first
        .saturating_mul(1 << n_failures.saturating_sub(1).min(20))
        .min(max)
}

/// The fraction `random / 2^64` of a time.
fn fraction(time: Duration, random: u64) -> Duration {
    time.mul_f64((random >> 11) as f64 / (1_u64 << 53) as f64)
}

/// A random number, which in a forked child is not the same as in its parent.
pub(crate) fn random() -> u64 {
    RandomState::new().hash_one(std::process::id())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn rs_30_the_longest_wait_doubles_up_to_a_bound() {
        let max = Duration::from_secs(10);
        for (n_failures, expected) in [
            (0, 100),
            (1, 100),
            (2, 200),
            (3, 400),
            (7, 6400),
            (8, 10_000),
        ] {
            assert_eq!(
                longest_wait(100 * MS, n_failures, max),
                expected * MS,
                "{n_failures}"
            );
        }
        assert_eq!(longest_wait(100 * MS, u32::MAX, max), max);
        assert_eq!(longest_wait(Duration::MAX, 8, max), max);
    }

    #[test]
    fn rs_30_waits_are_spread_over_all_of_the_time() {
        let quarters: Vec<u64> = (0..4).map(|quarter| quarter << 62).collect();
        let waits: Vec<_> = quarters
            .iter()
            .map(|&random| fraction(400 * MS, random))
            .collect();
        assert_eq!(waits, [Duration::ZERO, 100 * MS, 200 * MS, 300 * MS]);
        let last = fraction(400 * MS, u64::MAX);
        assert!(last > 399 * MS && last <= 400 * MS, "{last:?}");
        assert_eq!(fraction(Duration::ZERO, u64::MAX), Duration::ZERO);
    }

    /// Clients that failed together try again at different times, on one thread and on several.
    #[test]
    fn rs_30_no_two_clients_wait_for_the_same_time() {
        let client = || (0..1000).map(|_| backoff(8)).collect::<Vec<_>>();
        let other = std::thread::spawn(client);
        let waits = [client(), other.join().expect("it does not panic")].concat();
        let different: HashSet<_> = waits.iter().collect();
        // There are 10^10 possible times; two pairs are the same in one of many millions of runs.
        assert!(different.len() >= waits.len() - 1, "{}", different.len());
        assert!(waits.iter().all(|wait| *wait <= Duration::from_secs(10)));
        // Thirty standard deviations of the mean around 5 s.
        let mean = waits.iter().sum::<Duration>() / 2000;
        assert!(
            (Duration::from_secs(3)..Duration::from_secs(7)).contains(&mean),
            "{mean:?}"
        );
    }
}
