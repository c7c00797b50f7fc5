//! Changes that queue, in many orders of their threads: `shuttle` decides who runs after every
//! lock.

use std::time::Duration;

use shuttle::sync::atomic::{AtomicUsize, Ordering};
use shuttle::sync::{Arc, Condvar, Mutex};
use shuttle::thread;

#[allow(unreachable_pub)]
#[path = "../../../ndzarr-pool/src/changes.rs"]
mod changes;

use changes::{Changes, Withdrawn};

/// Replaces the pool's module of this name. Its threads are counted.
pub(crate) mod threads {
    use super::*;

    pub(crate) fn start_change(work: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
        thread::spawn(work);
        Ok(())
    }

    /// Any time may pass.
    pub(crate) fn pause(_: Duration) {
        thread::yield_now();
    }
}

const STORE: &str = "a store";

/// Something that happens once.
#[derive(Clone, Default)]
struct Event(Arc<EventState>);

#[derive(Default)]
struct EventState {
    has_happened: Mutex<bool>,
    changed: Condvar,
}

impl Event {
    fn happen(&self) {
        *self.0.has_happened.lock().expect("no panic") = true;
        self.0.changed.notify_all();
    }

    fn wait(&self) {
        let mut has_happened = self.0.has_happened.lock().expect("no panic");
        while !*has_happened {
            has_happened = self.0.changed.wait(has_happened).expect("no panic");
        }
    }
}

/// The number of runs of each job, and a value that each job holds.
#[derive(Clone, Default)]
struct Jobs {
    runs: Arc<[AtomicUsize; 3]>,
    held: Arc<()>,
}

impl Jobs {
    fn push(&self, changes: &Arc<Changes>, i: usize, then: Event, after: Option<Event>) -> u64 {
        let own = self.clone();
        let job = move || {
            after.iter().for_each(Event::wait);
            own.runs[i].fetch_add(1, Ordering::SeqCst);
            let Jobs { held, .. } = own;
            drop(held);
            then.happen();
        };
        changes.push(STORE, Box::new(job)).expect("a thread")
    }

    fn runs(&self) -> [usize; 3] {
        [0, 1, 2].map(|i| self.runs[i].load(Ordering::SeqCst))
    }
}

/// Waits until all threads have ended: then nothing is kept for the store.
fn until_unused(changes: &Changes) {
    while !changes.is_unused() {
        thread::yield_now();
    }
}

/// Several callers at once, with fewer threads than jobs.
fn each_runs_once(usual: usize) {
    let changes = Changes::new(usual, 0);
    let jobs = Jobs::default();
    let callers: Vec<_> = (0..3)
        .map(|i| {
            let changes = Arc::clone(&changes);
            let jobs = jobs.clone();
            let done = Event::default();
            thread::spawn(move || {
                jobs.push(&changes, i, done.clone(), None);
                done.wait();
            })
        })
        .collect();
    callers
        .into_iter()
        .for_each(|caller| caller.join().expect("no panic"));
    assert_eq!(jobs.runs(), [1; 3]);
    until_unused(&changes);
}

/// The first job waits for the last one, which is in the queue after it and another one that waits,
/// too.
fn a_job_waits_for_a_later_one() {
    let changes = Changes::new(1, 0);
    let jobs = Jobs::default();
    let events: [Event; 3] = Default::default();
    jobs.push(&changes, 0, events[0].clone(), Some(events[2].clone()));
    jobs.push(&changes, 1, events[1].clone(), Some(events[2].clone()));
    jobs.push(&changes, 2, events[2].clone(), None);
    events.iter().for_each(Event::wait);
    assert_eq!(jobs.runs(), [1; 3]);
    until_unused(&changes);
}

/// One of the jobs is withdrawn: it either runs or is dropped.
fn one_is_withdrawn() {
    let changes = Changes::new(1, 0);
    let jobs = Jobs::default();
    let events: [Event; 3] = Default::default();
    let numbers = [0, 1, 2].map(|i| jobs.push(&changes, i, events[i].clone(), None));
    let withdrawn = changes.withdraw(STORE, numbers[1]);
    assert_eq!(
        changes.withdraw(STORE, numbers[1] + 100),
        Withdrawn::HasBegun,
        "another's"
    );
    if withdrawn == Withdrawn::HasBegun {
        events[1].wait();
    }
    events[0].wait();
    events[2].wait();
    until_unused(&changes);
    let runs = usize::from(withdrawn == Withdrawn::HasBegun);
    assert_eq!(jobs.runs(), [1, runs, 1]);
    // Whatever a job held is gone.
    assert_eq!(Arc::strong_count(&jobs.held), 1);
}

fn check(model: impl Fn() + Copy + Send + Sync + 'static) {
    shuttle::check_random(model, 10_000);
    shuttle::check_pct(model, 3_000, 3);
}

#[test]
fn each_change_runs_once() {
    check(|| each_runs_once(1));
    check(|| each_runs_once(2));
}

#[test]
fn a_change_that_others_wait_for_begins() {
    check(a_job_waits_for_a_later_one);
}

#[test]
fn a_change_that_was_taken_back_does_not_run() {
    check(one_is_withdrawn);
}
