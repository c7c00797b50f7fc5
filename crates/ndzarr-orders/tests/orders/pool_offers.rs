//! Offers in many orders of their threads: `shuttle` decides who runs after every lock.

use shuttle::sync::atomic::{AtomicUsize, Ordering};
use shuttle::sync::{Arc, Mutex};
use shuttle::thread;

#[allow(unreachable_pub)]
#[path = "../../../ndzarr-pool/src/offer.rs"]
mod offer;

use offer::{Offer, Stay, run_with_helpers};

/// Helpers that find the offer at any time, or when it is over.
fn helped(interrupted: bool) {
    let found: Arc<Mutex<Option<Arc<Offer>>>> = Arc::default();
    let helpers: Vec<_> = (0..3)
        .map(|_| {
            let found = Arc::clone(&found);
            thread::spawn(move || {
                for _ in 0..2 {
                    let offer = found.lock().expect("no panic").clone();
                    if let Some(offer) = offer {
                        let had_free_lane = offer.has_free_lane();
                        assert!(offer.help().is_none() || had_free_lane || interrupted);
                    }
                    thread::yield_now();
                }
            })
        })
        .collect();
    {
        // Gone when the call has returned: no helper may be inside then.
        let inside = AtomicUsize::new(0);
        let left = AtomicUsize::new(4);
        run_with_helpers(
            2,
            &|lane| {
                let now = inside.fetch_add(1, Ordering::SeqCst) + 1;
                assert!(now <= 3, "two helpers and the caller");
                assert!(lane <= 2);
                thread::yield_now();
                let took =
                    left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1));
                inside.fetch_sub(1, Ordering::SeqCst);
                match took {
                    Ok(_) if lane > 0 && interrupted => Stay::Interrupted,
                    Ok(_) | Err(_) => Stay::Ended,
                }
            },
            |offer| *found.lock().expect("no panic") = Some(Arc::clone(offer)),
            |_| (),
        );
        assert_eq!(inside.load(Ordering::SeqCst), 0, "all have left");
    }
    for helper in helpers {
        helper.join().expect("no panic");
    }
    let offer = found.lock().expect("no panic").take();
    assert!(
        offer.is_some_and(|offer| offer.help().is_none() && !offer.has_free_lane()),
        "it is over"
    );
}

#[test]
fn nobody_is_inside_when_the_call_returns() {
    for interrupted in [false, true] {
        shuttle::check_random(move || helped(interrupted), 3_000);
        shuttle::check_pct(move || helped(interrupted), 3_000, 3);
    }
}
