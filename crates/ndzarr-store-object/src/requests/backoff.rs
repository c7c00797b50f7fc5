//! Waits of random length, so that callers who failed together do not come back together.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// Before the next attempt, after this number of failures: up to 100 ms, doubled each time, at most 10 s.
pub(crate) fn backoff(failures: u32) -> Duration {
    up_to(Duration::from_millis(100), failures, Duration::from_secs(10))
}

/// At random up to this time, doubled with each further failure, at most `most`.
pub(crate) fn up_to(first: Duration, failures: u32, most: Duration) -> Duration {
    spread(longest(first, failures, most), random())
}

fn longest(first: Duration, failures: u32, most: Duration) -> Duration {
    first.saturating_mul(1 << failures.saturating_sub(1).min(20)).min(most)
}

/// The share of a time that a number is of all numbers.
fn spread(longest: Duration, random: u64) -> Duration {
    longest.mul_f64((random >> 11) as f64 / (1_u64 << 53) as f64)
}

/// Of a forked child not the same as of its parent.
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
        let most = Duration::from_secs(10);
        for (failures, expected) in [(0, 100), (1, 100), (2, 200), (3, 400), (7, 6400), (8, 10_000)] {
            assert_eq!(longest(100 * MS, failures, most), expected * MS, "{failures}");
        }
        assert_eq!(longest(100 * MS, u32::MAX, most), most);
        assert_eq!(longest(Duration::MAX, 8, most), most);
    }

    #[test]
    fn rs_30_waits_are_spread_over_all_of_the_time() {
        let shares: Vec<u64> = (0..4).map(|quarter| quarter << 62).collect();
        let waits: Vec<_> = shares.iter().map(|&random| spread(400 * MS, random)).collect();
        assert_eq!(waits, [Duration::ZERO, 100 * MS, 200 * MS, 300 * MS]);
        let last = spread(400 * MS, u64::MAX);
        assert!(last > 399 * MS && last <= 400 * MS, "{last:?}");
        assert_eq!(spread(Duration::ZERO, u64::MAX), Duration::ZERO);
    }

    /// Clients that failed together come back apart, on one thread and on several.
    #[test]
    fn rs_30_no_two_clients_wait_for_the_same_time() {
        let client = || (0..1000).map(|_| backoff(8)).collect::<Vec<_>>();
        let other = std::thread::spawn(client);
        let waits = [client(), other.join().expect("it does not panic")].concat();
        let different: HashSet<_> = waits.iter().collect();
        // Of 10^10 times that are possible; two pairs are the same in one of many millions of runs.
        assert!(different.len() >= waits.len() - 1, "{}", different.len());
        assert!(waits.iter().all(|wait| *wait <= Duration::from_secs(10)));
        // Thirty times the deviation of such a mean around 5 s.
        let mean = waits.iter().sum::<Duration>() / 2000;
        assert!((Duration::from_secs(3)..Duration::from_secs(7)).contains(&mean), "{mean:?}");
    }
}
