//! The pool and callers that block, nest and panic.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;

use ndzarr_pool::{Queue, Stay, available, gives_way, is_own_thread, share, spawn};
use ndzarr_testkit::in_own_process;

use crate::gate::Gate;

/// One test at a time: some need every thread of the pool.
fn one_at_a_time() -> MutexGuard<'static, ()> {
    static TESTS: Mutex<()> = Mutex::new(());
    TESTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Takes `n` pieces of work on up to `helpers` more threads.
fn each(n: usize, helpers: usize, piece: impl Fn(usize) + Sync) {
    let next = AtomicUsize::new(0);
    share(helpers, &|_| {
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            if i >= n {
                return Stay::Ended;
            }
            piece(i);
        }
    });
}

#[test]
fn every_piece_is_done_once_when_the_call_returns() {
    in_own_process!();
    let _guard = one_at_a_time();
    for (n, helpers) in [(0, 1), (1, 3), (100, 0), (1000, 1), (1000, 8)] {
        let done: Vec<AtomicUsize> = (0..n).map(|_| AtomicUsize::new(0)).collect();
        each(n, helpers, |i| {
            done[i].fetch_add(1, Ordering::Relaxed);
        });
        assert!(
            done.into_iter().all(|done| done.into_inner() == 1),
            "{n} pieces, {helpers} helpers"
        );
    }
}

#[test]
fn a_thread_of_the_pool_helps() {
    in_own_process!();
    let _guard = one_at_a_time();
    // No thread passes the barrier by itself.
    let both = Barrier::new(2);
    share(1, &|lane| {
        both.wait();
        assert_eq!(is_own_thread(), lane > 0);
        Stay::Ended
    });
}

#[test]
fn a_call_needs_no_thread_but_its_own() {
    in_own_process!();
    let _guard = one_at_a_time();
    // More callers than there are threads: all helpers are held up inside the calls of others.
    let gate = Gate::default();
    let (begun, count) = mpsc::channel();
    let callers: Vec<_> = (0..available())
        .map(|_| {
            let gate = gate.clone();
            let begun = begun.clone();
            thread::spawn(move || {
                share(1, &|_| {
                    begun.send(()).expect("the test listens");
                    gate.pass();
                    Stay::Ended
                });
            })
        })
        .collect();
    // Every caller and every thread of the pool is inside.
    count.iter().take(2 * available()).for_each(drop);
    let done = AtomicUsize::new(0);
    each(100, 4, |_| {
        each(3, 4, |_| {
            done.fetch_add(1, Ordering::Relaxed);
        });
    });
    assert_eq!(done.into_inner(), 300);
    gate.open();
    callers
        .into_iter()
        .for_each(|caller| caller.join().expect("no panic"));
}

#[test]
fn jobs_that_wait_for_later_jobs_end() {
    in_own_process!();
    let _guard = one_at_a_time();
    let (send, receive) = mpsc::channel();
    // Each job holds its thread up until the next one has run.
    let gates: Vec<Gate> = (0..available() + 4).map(|_| Gate::default()).collect();
    for (i, gate) in gates.iter().enumerate() {
        let gate = gate.clone();
        let next = gates.get(i + 1).cloned();
        let send = send.clone();
        spawn(Queue::COMPUTE, move || {
            if let Some(next) = next {
                next.pass();
            }
            // Before the next one can go on.
            send.send(i).expect("the test listens");
            gate.open();
        });
    }
    let mut order: Vec<usize> = receive.iter().take(gates.len()).collect();
    assert_eq!(order.first(), Some(&(gates.len() - 1)));
    order.sort_unstable();
    assert_eq!(order, (0..gates.len()).collect::<Vec<_>>());
}

#[test]
fn jobs_of_other_queues_begin_while_some_hang() {
    in_own_process!();
    let _guard = one_at_a_time();
    let gate = Gate::default();
    let hung = Queue::of_store("a store that hangs");
    // More than there will ever be threads for.
    for _ in 0..600 {
        let gate = gate.clone();
        spawn(hung, move || gate.pass());
    }
    let (send, receive) = mpsc::channel();
    // A thread that has run one of these is then held up itself.
    for i in 0..20 {
        let send = send.clone();
        spawn(Queue::of_store("another"), move || {
            send.send(i).expect("the test listens")
        });
        assert_eq!(receive.recv(), Ok(i));
    }
    gate.open();
}

#[test]
fn a_helper_gives_way_to_a_job() {
    in_own_process!();
    let _guard = one_at_a_time();
    let gate = Gate::default();
    let (send, receive) = mpsc::channel();
    // All threads of the pool are inside; the job can only run if one of them leaves.
    let all = Barrier::new(available() + 1);
    let interrupted = AtomicUsize::new(0);
    share(available(), &|lane| {
        all.wait();
        if lane == 0 {
            let opened = gate.clone();
            let send = send.clone();
            spawn(Queue::COMPUTE, move || {
                opened.open();
                send.send(()).expect("the test listens");
            });
            gate.pass();
            return Stay::Ended;
        }
        while !gives_way() {
            if gate.is_open() {
                return Stay::Ended;
            }
            thread::yield_now();
        }
        interrupted.fetch_add(1, Ordering::Relaxed);
        gate.pass();
        Stay::Ended
    });
    receive.recv().expect("the job ran");
}

#[test]
fn a_panic_comes_back_after_all_have_left() {
    in_own_process!();
    let _guard = one_at_a_time();
    let all = Barrier::new(2);
    let inside = AtomicUsize::new(0);
    for panics in [0, 1] {
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            share(1, &|lane| {
                inside.fetch_add(1, Ordering::SeqCst);
                all.wait();
                if lane == panics {
                    inside.fetch_sub(1, Ordering::SeqCst);
                    panic!("as a codec may");
                }
                thread::yield_now();
                inside.fetch_sub(1, Ordering::SeqCst);
                Stay::Ended
            });
        }));
        assert!(caught.is_err(), "lane {panics}");
        assert_eq!(inside.load(Ordering::SeqCst), 0);
    }
    // And the thread of the pool still helps.
    share(1, &|_| {
        all.wait();
        Stay::Ended
    });
}
