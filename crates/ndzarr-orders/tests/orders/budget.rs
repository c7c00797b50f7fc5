//! The in-flight budget under many thread orders: `shuttle` decides which thread runs after every
//! lock.

use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};

use shuttle::future::{block_on, spawn};
use shuttle::sync::Arc;

/// Replaces the library's module of this name.
mod sync {
    pub(crate) use shuttle::sync::{Arc, Mutex, MutexGuard};
    pub(crate) use std::sync::PoisonError;
}

#[path = "../../../ndzarr-engine/src/threads/budget.rs"]
mod budget;

use budget::Budget;

const ORDERS: usize = 2_000;

#[test]
fn units_come_back_and_waiters_take_turns() {
    let check = || {
        let budget = Budget::new(10);
        block_on(async {
            let first = budget.take(8).await;
            let mut second = pin!(budget.take(8));
            assert!(futures_util::poll!(second.as_mut()).is_pending());
            // A later, smaller request does not overtake.
            let mut third = pin!(budget.take(1));
            assert!(futures_util::poll!(third.as_mut()).is_pending());
            drop(first);
            let second = second.await;
            let third = third.await;
            drop((second, third));
            // More than the total: takes all of it.
            let all = budget.take(1_000).await;
            let mut next = pin!(budget.take(1));
            assert!(futures_util::poll!(next.as_mut()).is_pending());
            drop(all);
            next.await;
        });
    };
    shuttle::check_random(check, 10);
}

/// Takers on several tasks and threads: never more than the total, and each gets its turn, or
/// shuttle finds a deadlock.
fn contend() {
    let budget = Budget::new(3);
    let held = Arc::new(AtomicU64::new(0));
    let mut tasks = Vec::new();
    for units in [1, 2, 3, 7] {
        let budget = budget.clone();
        let held = Arc::clone(&held);
        tasks.push(spawn(async move {
            for _ in 0..2 {
                let share = budget.take(units).await;
                let now = held.fetch_add(units.min(3), Ordering::SeqCst) + units.min(3);
                assert!(now <= 3, "{now} units are held of 3");
                shuttle::future::yield_now().await;
                held.fetch_sub(units.min(3), Ordering::SeqCst);
                drop(share);
            }
        }));
    }
    // One that gives up, before or after its turn has come.
    let impatient = budget.clone();
    tasks.push(spawn(async move {
        let mut waiting = pin!(impatient.take(2));
        let _ = futures_util::poll!(waiting.as_mut());
        shuttle::future::yield_now().await;
    }));
    let thread = shuttle::thread::spawn(move || drop(block_on(budget.take(3))));
    block_on(async {
        for task in tasks {
            task.await.expect("no task panics");
        }
    });
    thread.join().expect("the thread does not panic");
}

#[test]
fn takers_in_random_orders() {
    shuttle::check_random(contend, ORDERS);
}

#[test]
fn takers_in_orders_with_few_switches() {
    shuttle::check_pct(contend, ORDERS, 3);
}
