//! One behaviour suite that every store must pass.
//!
//! ```
//! use ndzarr_store::MemoryStore;
//!
//! let supports = ndzarr_testkit::check_store(|| Box::new(MemoryStore::new()));
//! assert!(supports.preconditions && supports.lists && !supports.locks);
//! ```

mod listing;
mod locks;
mod pins;
mod preconditions;
mod turns;
mod values;

use std::fmt::Debug;

use bytes::Bytes;
use ndzarr_store::{
    AsyncStore, Fetch, Fetched, Key, Locked, Of, Pin, Precondition, Prefix, Put, Store, Wait, Want,
};

use crate::BlockOn;

/// What a store that passed can do beyond reading, writing and erasing. The rest of the suite was skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Supports {
    /// Writes with a precondition.
    pub preconditions: bool,
    /// Locks.
    pub locks: bool,
    /// Listing and erasing of prefixes.
    pub lists: bool,
}

/// Panics unless the stores that `make` makes, each of them empty, behave as [`Store`] says.
pub fn check_store(make: impl Fn() -> Box<dyn Store>) -> Supports {
    let supports = probe(&*make());
    values::check(&make);
    pins::check(&make);
    if supports.preconditions {
        preconditions::check(&make);
        turns::by_precondition(&*make());
    } else {
        preconditions::check_unsupported(&*make());
    }
    if supports.locks {
        locks::check(&make);
        turns::by_lock(&*make());
    }
    if supports.locks && supports.preconditions {
        turns::by_both(&*make());
    }
    turns::readers_see_whole_values(&*make());
    if supports.lists {
        listing::check(&make);
    }
    supports
}

/// The same for async stores.
pub fn check_async_store(make: impl Fn() -> Box<dyn AsyncStore>) -> Supports {
    check_store(|| Box::new(BlockOn(make())))
}

fn probe(store: &dyn Store) -> Supports {
    let at = key("probe");
    let preconditions = !matches!(ok(store.put(&at, &["x".into()], Precondition::Absent)), Put::Unsupported);
    let locks = !matches!(ok(store.lock(&at, Wait::Try)), Locked::Unsupported);
    let lists = store.list_dir(&Prefix::root()).is_ok();
    Supports { preconditions, locks, lists }
}

fn ok<T, E: Debug>(outcome: Result<T, E>) -> T {
    match outcome {
        Ok(value) => value,
        Err(e) => panic!("{e:?}"),
    }
}

fn key(name: &str) -> Key {
    ok(Key::new(name))
}

fn prefix(name: &str) -> Prefix {
    ok(Prefix::new(name))
}

fn whole() -> Want {
    Want::Whole { limit: u64::MAX }
}

fn fetch(store: &dyn Store, name: &str, of: Of, want: Want) -> Fetched {
    ok(store.fetch(&Fetch { key: key(name), of, want }))
}

/// The value and its pin, if there is one.
fn get(store: &dyn Store, name: &str) -> Option<(Bytes, Pin)> {
    value(fetch(store, name, Of::Any, whole()))
}

fn value(fetched: Fetched) -> Option<(Bytes, Pin)> {
    match fetched {
        Fetched::Missing => None,
        Fetched::Changed => panic!("changed, though no pin was asked for"),
        Fetched::Parts { pin, size, parts } => {
            assert_eq!(parts.len(), 1, "one part for a whole value");
            assert_eq!(size, parts[0].len() as u64);
            Some((parts[0].clone(), pin))
        }
    }
}

fn put(store: &dyn Store, name: &str, value: &'static str) {
    let put = ok(store.put(&key(name), &[value.into()], Precondition::None));
    assert!(matches!(put, Put::Done(_)), "{put:?}");
}

fn erase(store: &dyn Store, name: &str) {
    let put = ok(store.erase(&key(name), Precondition::None));
    assert!(matches!(put, Put::Done(None)), "{put:?}");
}

#[track_caller]
fn assert_value(store: &dyn Store, name: &str, expected: Option<&str>) {
    let found = get(store, name).map(|(value, _)| value);
    assert_eq!(found.as_deref(), expected.map(str::as_bytes), "{name}");
}
