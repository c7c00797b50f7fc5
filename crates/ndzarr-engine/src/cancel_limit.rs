//! Tests how long a dropped call waits; no time passes in the models of `cancel`.

use std::time::Duration;

use crate::cancel::{CancelOnDrop, Publishing, Under};

#[test]
fn a_dropped_call_waits_for_requests_without_locks_up_to_a_limit() {
    let stop = CancelOnDrop::part_of(None);
    let request = Publishing::begin(Some(stop.cancel()), Under::Nothing).expect("it goes on");
    stop.cancel().settle_unlocked(Duration::from_millis(1));
    assert!(!stop.cancel().is_settled(), "the store has not answered");
    std::thread::scope(|scope| {
        scope.spawn(move || drop(request));
        stop.cancel().settle_unlocked(Duration::from_secs(3600));
    });
    assert!(stop.cancel().is_settled());
}
