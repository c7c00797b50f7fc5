//! Abandoned calls under many thread orders: `shuttle` decides which thread runs after every lock.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use ndzarr_store::{
    Fetch, Fetched, Key, KeyLock, Locked, Of, Pin, Precondition, Put, Store, StoreError, Wait, Want,
};
use shuttle::thread;

/// Replaces the library's modules of these names.
mod sync {
    pub(crate) use shuttle::sync::atomic::AtomicBool;
    pub(crate) use shuttle::sync::{Arc, Condvar, Mutex, MutexGuard};
    pub(crate) use std::sync::PoisonError;
}
mod cache {
    pub(crate) fn with_files<T>(mut attempt: impl FnMut() -> T) -> T {
        attempt()
    }
}

#[allow(unreachable_pub, dead_code, clippy::needless_update)]
#[path = "../../../ndzarr-engine/src/threads/cancel.rs"]
mod cancel;
#[path = "../../../ndzarr-engine/src/threads/revocable_lock.rs"]
mod revocable_lock;
#[allow(dead_code)]
#[path = "../../../ndzarr-engine/src/threads/turn.rs"]
mod turn;

use cancel::{Cancel, CancelOnDrop, check_cancel, publishing};
use sync::{Arc, Mutex, MutexGuard};
use turn::{Patience, Taken, Turn};

#[derive(Clone, Debug, Default)]
struct RunOptions {
    cancel: Option<Cancel>,
}

impl RunOptions {
    fn part(&self) -> (CancelOnDrop, Self) {
        let stop = CancelOnDrop::part_of(self.cancel.as_ref());
        let cancel = Some(stop.cancel().clone());
        (stop, Self { cancel })
    }
}

#[derive(Debug)]
enum EngineCause {
    Cancelled,
    Store(StoreError),
}

impl From<StoreError> for EngineCause {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// A store whose requests take time: other threads run in the middle of each.
#[derive(Clone)]
struct Model {
    locks: Locks,
    state: Arc<Mutex<State>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Locks {
    OfKeys,
    None,
}

#[derive(Default)]
struct State {
    locked: HashSet<Key>,
    /// Keys whose lock is in use.
    in_use: HashSet<Key>,
    values: HashMap<Key, u8>,
    /// The published values, in order.
    log: Vec<(Key, u8)>,
}

impl Model {
    fn new(locks: Locks) -> Self {
        Self {
            locks,
            state: Arc::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no panic")
    }

    fn value(&self, name: &str) -> Option<u8> {
        self.state().values.get(&key(name)).copied()
    }

    /// The number of published values of this writer.
    fn published(&self, writer: u8) -> usize {
        self.state()
            .log
            .iter()
            .filter(|(_, value)| *value == writer)
            .count()
    }

    fn store(&self, key: &Key, value: u8) {
        thread::yield_now();
        {
            let mut state = self.state();
            state.values.insert(key.clone(), value);
            state.log.push((key.clone(), value));
        }
        thread::yield_now();
    }
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.locks)
    }
}

impl Store for Model {
    fn name(&self) -> String {
        "model".to_owned()
    }

    fn fetch(&self, _: &Fetch) -> Result<Fetched, StoreError> {
        Ok(Fetched::Missing)
    }

    fn put(&self, key: &Key, parts: &[Bytes], _: Precondition) -> Result<Put, StoreError> {
        self.store(key, parts[0][0]);
        Ok(Put::Done(None))
    }

    fn erase(&self, _: &Key, _: Precondition) -> Result<Put, StoreError> {
        Ok(Put::Unsupported)
    }

    fn lock(&self, key: &Key, wait: Wait<'_>) -> Result<Locked, StoreError> {
        if self.locks == Locks::None {
            return Ok(Locked::Unsupported);
        }
        loop {
            {
                let mut state = self.state();
                if state.locked.insert(key.clone()) {
                    assert!(
                        !state.in_use.contains(key),
                        "the lock was given away while it was in use"
                    );
                    let lock = Lock {
                        store: self.clone(),
                        key: key.clone(),
                        new: Vec::new(),
                    };
                    return Ok(Locked::Held(Box::new(lock)));
                }
            }
            match wait {
                Wait::Block => {}
                Wait::While(goes_on) if goes_on() => {}
                Wait::Try | Wait::While(_) => return Ok(Locked::Busy),
            }
            thread::yield_now();
        }
    }
}

struct Lock {
    store: Model,
    key: Key,
    new: Vec<u8>,
}

impl Lock {
    /// Runs an action under the lock that takes time.
    fn using(&self, action: impl FnOnce()) {
        assert!(
            self.store.state().in_use.insert(self.key.clone()),
            "two threads use one lock"
        );
        thread::yield_now();
        action();
        self.store.state().in_use.remove(&self.key);
    }
}

impl KeyLock for Lock {
    fn fetch(&mut self, _: Of, _: Want) -> Result<Fetched, StoreError> {
        self.using(thread::yield_now);
        Ok(Fetched::Missing)
    }

    fn append(&mut self, part: &[u8]) -> Result<u64, StoreError> {
        self.new.extend_from_slice(part);
        self.using(thread::yield_now);
        Ok(0)
    }

    fn write_at(&mut self, _: u64, _: &[u8]) -> Result<(), StoreError> {
        unreachable!("nobody does")
    }

    fn publish(self: Box<Self>) -> Result<Pin, StoreError> {
        self.using(|| self.store.store(&self.key, self.new[0]));
        Ok(Pin::new(()))
    }

    fn erase(self: Box<Self>) -> Result<(), StoreError> {
        unreachable!("nobody does")
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        assert!(
            self.store.state().locked.remove(&self.key),
            "it is freed once"
        );
    }
}

fn key(name: &str) -> Key {
    Key::new(name).expect("a key")
}

/// Publishes a value as the jobs of calls do.
fn write(
    store: &Model,
    name: &str,
    value: u8,
    patience: Patience,
    options: &RunOptions,
) -> Result<bool, EngineCause> {
    write_after(store, name, value, patience, options, thread::yield_now)
}

/// Publishes a value after a computation under the lock.
fn write_after(
    store: &Model,
    name: &str,
    value: u8,
    patience: Patience,
    options: &RunOptions,
    compute: impl FnOnce(),
) -> Result<bool, EngineCause> {
    check_cancel(options.cancel.as_ref())?;
    match Turn::take(store, &key(name), patience, options.cancel.as_ref())? {
        Taken::Turn(mut turn) => {
            turn.fetch(Of::Any, Want::Size)?;
            compute();
            turn.append(&[value])?;
            turn.publish()?;
        }
        Taken::Busy => return Ok(false),
        Taken::Unsupported => {
            compute();
            publishing(options.cancel.as_ref(), || {
                store.put(&key(name), &[vec![value].into()], Precondition::None)
            })?;
        }
    }
    Ok(true)
}

/// How a call is abandoned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GivenUp {
    /// Its future is dropped.
    Dropped,
    /// Through its caller's token.
    Cancelled,
}

const GIVEN_UP: [GivenUp; 2] = [GivenUp::Dropped, GivenUp::Cancelled];
const LOCKS: [Locks; 2] = [Locks::OfKeys, Locks::None];

/// The abandoned call, one that runs at the same time, and one that begins afterwards.
const OLD: u8 = 1;
const CONCURRENT: u8 = 2;
const NEW: u8 = 3;

/// A call of several jobs, two of which need the same key, is abandoned at any moment; then others
/// write.
fn given_up(locks: Locks, how: GivenUp) {
    let store = Model::new(locks);
    let cancel = Cancel::new();
    let (stop, part) = RunOptions {
        cancel: Some(cancel.clone()),
    }
    .part();
    let job = |name: &'static str, patience, value, options: &RunOptions| {
        let store = store.clone();
        let options = options.clone();
        thread::spawn(move || write(&store, name, value, patience, &options))
    };
    let jobs = [
        job("a", Patience::Wait, OLD, &part),
        job("b", Patience::Wait, OLD, &part),
        job("a", Patience::Try, OLD, &part),
    ];
    let concurrent = job("b", Patience::Wait, CONCURRENT, &RunOptions::default());
    thread::yield_now();
    match how {
        GivenUp::Dropped => drop(stop),
        GivenUp::Cancelled => cancel.cancel(),
    }
    if locks == Locks::None {
        // What keeps later calls away (`dropped_futures.rs`).
        while cancel.stores_unlocked() {
            cancel.settle_unlocked(Duration::from_millis(10));
        }
    }
    let before = store.published(OLD);
    for name in ["a", "b"] {
        let written = write(&store, name, NEW, Patience::Wait, &RunOptions::default());
        assert!(matches!(written, Ok(true)), "{written:?}");
        // Others wait for a publication in progress under a lock.
        assert_ne!(store.value(name), Some(OLD), "it came after a later call");
    }
    let mut done = 0;
    for job in jobs {
        match job.join().expect("no panic") {
            Ok(written) => done += usize::from(written),
            Err(EngineCause::Cancelled) => {}
            Err(EngineCause::Store(error)) => panic!("{error}"),
        }
    }
    assert!(
        matches!(concurrent.join().expect("no panic"), Ok(true)),
        "others continue"
    );
    assert_eq!(
        store.published(OLD),
        done,
        "each is published once if it says so, else not at all"
    );
    assert_eq!((store.published(CONCURRENT), store.published(NEW)), (1, 2));
    assert_eq!(store.value("a"), Some(NEW));
    assert_ne!(store.value("b"), Some(OLD));
    if locks == Locks::None {
        assert_eq!(
            store.published(OLD),
            before,
            "nothing keeps later calls from coming before it"
        );
    }
    let state = store.state();
    assert!(
        state.locked.is_empty() && state.in_use.is_empty(),
        "all locks are free"
    );
}

/// Nothing is published after [`Cancel::settle`], with or without locks.
fn settled(locks: Locks) {
    let store = Model::new(locks);
    let cancel = Cancel::new();
    let part = RunOptions {
        cancel: Some(Cancel::part_of(Some(&cancel))),
    };
    let jobs = ["a", "b"].map(|name| {
        let store = store.clone();
        let part = part.clone();
        thread::spawn(move || write(&store, name, OLD, Patience::Wait, &part))
    });
    thread::yield_now();
    cancel.cancel();
    cancel.settle();
    assert!(cancel.is_settled());
    let before = store.published(OLD);
    let done = jobs.map(|job| usize::from(matches!(job.join().expect("no panic"), Ok(true))));
    assert_eq!(store.published(OLD), before);
    assert_eq!(done.into_iter().sum::<usize>(), before);
}

/// An abandoned computation under a lock keeps no writer waiting, even if it never ends.
fn frees_locks(how: GivenUp) {
    let store = Model::new(Locks::OfKeys);
    let cancel = Cancel::new();
    let (stop, part) = RunOptions {
        cancel: Some(cancel.clone()),
    }
    .part();
    let (goes_on, computes) = shuttle::sync::mpsc::channel();
    let job = {
        let store = store.clone();
        let compute = move || computes.recv().expect("the test lets it go on");
        thread::spawn(move || write_after(&store, "a", OLD, Patience::Wait, &part, compute))
    };
    thread::yield_now();
    match how {
        GivenUp::Dropped => drop(stop),
        GivenUp::Cancelled => cancel.cancel(),
    }
    let written = write(&store, "a", NEW, Patience::Wait, &RunOptions::default());
    assert!(matches!(written, Ok(true)), "{written:?}");
    let _ = goes_on.send(());
    assert!(matches!(
        job.join().expect("no panic"),
        Err(EngineCause::Cancelled)
    ));
    assert_eq!(store.value("a"), Some(NEW));
}

/// Only one part is stopped; its whole and other parts continue.
fn parts(locks: Locks) {
    let store = Model::new(locks);
    let whole = RunOptions {
        cancel: Some(Cancel::new()),
    };
    let (stop, first) = whole.part();
    let (_second, other) = whole.part();
    let jobs = [("a", first), ("a", other), ("b", whole.clone())].map(|(name, options)| {
        let store = store.clone();
        thread::spawn(move || write(&store, name, OLD, Patience::Wait, &options))
    });
    drop(stop);
    let [_, other, whole_job] = jobs.map(|job| job.join().expect("no panic"));
    assert!(matches!((other, whole_job), (Ok(true), Ok(true))));
    assert!(
        whole
            .cancel
            .is_some_and(|whole| !whole.is_cancelled() && whole.is_settled())
    );
    assert_eq!(store.value("b"), Some(OLD));
}

fn check(model: impl Fn() + Copy + Send + Sync + 'static) {
    shuttle::check_random(model, 3_000);
    shuttle::check_pct(model, 1_000, 3);
}

#[test]
fn nothing_of_a_call_that_was_given_up_comes_after_a_later_one() {
    for (locks, how) in LOCKS
        .into_iter()
        .flat_map(|locks| GIVEN_UP.map(|how| (locks, how)))
    {
        check(move || given_up(locks, how));
    }
}

#[test]
fn nothing_is_published_once_it_has_settled() {
    for locks in LOCKS {
        check(move || settled(locks));
    }
}

#[test]
fn locks_are_free_at_once() {
    for how in GIVEN_UP {
        check(move || frees_locks(how));
    }
}

#[test]
fn other_parts_go_on() {
    for locks in LOCKS {
        check(move || parts(locks));
    }
}
