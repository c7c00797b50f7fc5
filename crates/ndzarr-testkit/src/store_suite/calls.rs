//! Calls of a store that panic where the suite cannot continue.

use std::fmt::Debug;

use bytes::Bytes;
use ndzarr_store::{Fetch, Fetched, Key, Of, Pin, Precondition, Prefix, Put, Store, Want};

pub(super) fn ok<T, E: Debug>(outcome: Result<T, E>) -> T {
    match outcome {
        Ok(value) => value,
        Err(e) => panic!("{e:?}"),
    }
}

pub(super) fn key(name: &str) -> Key {
    ok(Key::new(name))
}

pub(super) fn prefix(name: &str) -> Prefix {
    ok(Prefix::new(name))
}

pub(super) fn whole() -> Want {
    Want::Whole { limit: u64::MAX }
}

pub(super) fn fetch(store: &dyn Store, name: &str, of: Of, want: Want) -> Fetched {
    ok(store.fetch(&Fetch {
        key: key(name),
        of,
        want,
    }))
}

/// The value and its pin, if there is one.
pub(super) fn get(store: &dyn Store, name: &str) -> Option<(Bytes, Pin)> {
    value(fetch(store, name, Of::Any, whole()))
}

pub(super) fn value(fetched: Fetched) -> Option<(Bytes, Pin)> {
    match fetched {
        Fetched::Missing => None,
        Fetched::Changed => panic!("changed, though the request has no pin"),
        Fetched::Parts { pin, size, parts } => {
            assert_eq!(parts.len(), 1, "one part for a whole value");
            assert_eq!(size, parts[0].len() as u64);
            Some((parts[0].clone(), pin))
        }
    }
}

pub(super) fn put(store: &dyn Store, name: &str, value: &'static str) {
    let put = ok(store.put(&key(name), &[value.into()], Precondition::None));
    assert!(matches!(put, Put::Done(_)), "{put:?}");
}

pub(super) fn erase(store: &dyn Store, name: &str) {
    let put = ok(store.erase(&key(name), Precondition::None));
    assert!(matches!(put, Put::Done(None)), "{put:?}");
}

#[track_caller]
pub(super) fn assert_value(store: &dyn Store, name: &str, expected: Option<&str>) {
    let found = get(store, name).map(|(value, _)| value);
    assert_eq!(found.as_deref(), expected.map(str::as_bytes), "{name}");
}
