//! Tests changes that other threads poll, in many orders of the threads: `shuttle` decides which
//! one runs after every lock.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Weak};
use std::task::{Poll, Waker};

use shuttle::future::{block_on, yield_now};
use shuttle::thread;

/// Replaces the library's module of this name.
mod sync {
    pub(crate) use shuttle::sync::{Mutex, MutexGuard};
}

#[allow(unreachable_pub, dead_code)]
#[path = "../../../ndzarr-array/src/storage/call.rs"]
mod call;

use call::{Call, Change, run_change};
use sync::Mutex;

/// An event that a thread triggers, as a pool thread does at the end of a job.
#[derive(Clone, Default)]
struct Event(Arc<Mutex<(bool, Option<Waker>)>>);

impl Event {
    fn happen(&self) {
        let waker = {
            let mut state = self.0.lock().expect("no panic");
            state.0 = true;
            state.1.take()
        };
        waker.into_iter().for_each(Waker::wake);
    }

    async fn wait(&self) {
        poll_fn(|context| {
            {
                let mut state = self.0.lock().expect("no panic");
                if state.0 {
                    return Poll::Ready(());
                }
                state.1 = Some(context.waker().clone());
            }
            // The task that polls it may be at another step by now.
            thread::yield_now();
            Poll::Pending
        })
        .await;
    }
}

/// How long a helper polls.
#[derive(Clone, Copy, Debug)]
enum Helps {
    /// Polls it a few times, and is dropped, as by a timeout.
    ForAWhile,
    ToTheEnd,
}

#[derive(Clone, Default)]
struct Model {
    events: [Event; 2],
    change: Arc<Mutex<Weak<Change>>>,
    /// How often the work has advanced, and whether it may.
    steps: Arc<Mutex<(usize, bool)>>,
}

impl Model {
    /// A change that waits twice.
    async fn run(&self) -> usize {
        let model = self.clone();
        let work = async move {
            let change = Call::current().change.expect("a change polls this");
            *model.change.lock().expect("no panic") = change;
            for event in &model.events {
                event.wait().await;
                let mut steps = model.steps.lock().expect("no panic");
                assert!(!steps.1, "it was given up");
                steps.0 += 1;
            }
            model.steps.lock().expect("no panic").0
        };
        run_change(None, work).await
    }

    fn help(&self, helps: Helps) {
        let Some(change) = self.change.lock().expect("no panic").upgrade() else { return };
        block_on(async {
            let mut help = pin!(change.help());
            match helps {
                Helps::ToTheEnd => help.await,
                Helps::ForAWhile => {
                    for _ in 0..2 {
                        if futures_util::poll!(help.as_mut()).is_ready() {
                            break;
                        }
                        yield_now().await;
                    }
                }
            }
        });
    }

    /// Starts the threads that trigger the awaited events, and the helpers.
    fn others(&self, helpers: &[Helps]) -> Vec<thread::JoinHandle<()>> {
        let events = self.events.clone().map(|event| thread::spawn(move || event.happen()));
        let helpers = helpers.iter().map(|&helps| {
            let model = self.clone();
            thread::spawn(move || model.help(helps))
        });
        events.into_iter().chain(helpers.collect::<Vec<_>>()).collect()
    }
}

/// The change ends, whichever helpers stay or leave, and so do the helpers.
fn ends(helpers: &[Helps]) {
    let model = Model::default();
    let others = model.others(helpers);
    assert_eq!(block_on(model.run()), 2, "each part of it once");
    others.into_iter().for_each(|other| other.join().expect("no panic"));
}

/// Nothing of the change continues after its future was dropped, and no helper waits for it.
fn given_up(helpers: &[Helps]) {
    let model = Model::default();
    let others = model.others(helpers);
    {
        let mut run = Box::pin(model.run());
        block_on(async {
            let _ = futures_util::poll!(run.as_mut());
            yield_now().await;
        });
        drop(run);
        model.steps.lock().expect("no panic").1 = true;
    }
    others.into_iter().for_each(|other| other.join().expect("no panic"));
}

fn check(model: impl Fn() + Copy + Send + Sync + 'static) {
    shuttle::check_random(model, 10_000);
    shuttle::check_pct(model, 3_000, 3);
}

#[test]
fn a_change_ends_whoever_helps() {
    check(|| ends(&[Helps::ToTheEnd]));
    check(|| ends(&[Helps::ToTheEnd, Helps::ToTheEnd]));
}

#[test]
fn a_change_ends_whoever_stops_helping() {
    check(|| ends(&[Helps::ForAWhile]));
    check(|| ends(&[Helps::ForAWhile, Helps::ToTheEnd]));
}

#[test]
fn a_change_that_was_given_up_does_nothing_more() {
    check(|| given_up(&[Helps::ToTheEnd, Helps::ForAWhile]));
}
