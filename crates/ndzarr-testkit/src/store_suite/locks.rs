//! Checks the locks of keys.

use std::thread;

use ndzarr_store::{Fetched, KeyLock, Locked, Of, Prefix, Store, Wait, Want};

use super::calls::{assert_value, erase, fetch, key, ok, prefix, put, whole};

pub(super) fn check(make: &dyn Fn() -> Box<dyn Store>) {
    one_holder_at_a_time(&*make());
    nothing_shows_before_it_is_published(&*make());
    dropping_leaves_the_old_value(&*make());
    parts_may_come_in_any_order(&*make());
    erasing_under_the_lock(&*make());
    locks_are_not_listed(&*make());
}

fn hold(store: &dyn Store, name: &str) -> Box<dyn KeyLock> {
    match ok(store.lock(&key(name), Wait::Block)) {
        Locked::Held(lock) => lock,
        Locked::Busy => panic!("busy, though it was to wait"),
        Locked::Unsupported => panic!("unsupported, though it was not before"),
    }
}

fn is_busy(store: &dyn Store, name: &str) -> bool {
    matches!(ok(store.lock(&key(name), Wait::Try)), Locked::Busy)
}

fn one_holder_at_a_time(store: &dyn Store) {
    let lock = hold(store, "a/b");
    assert!(is_busy(store, "a/b"), "held by this thread");
    thread::scope(|scope| {
        let busy = scope.spawn(|| is_busy(store, "a/b"));
        assert!(busy.join().is_ok_and(|busy| busy), "held by another thread");
    });
    assert!(!is_busy(store, "a/c"), "another key is free");
    drop(lock);
    assert!(!is_busy(store, "a/b"), "dropped");
    assert_value(store, "a/b", None);
    ok(hold(store, "a/b").publish());
    assert!(!is_busy(store, "a/b"), "published");
    ok(hold(store, "a/b").erase());
    assert!(!is_busy(store, "a/b"), "erased");
    // A lock may be held by another thread than the one that took it.
    let lock = hold(store, "a/b");
    thread::scope(|scope| scope.spawn(move || ok(lock.publish())).join().is_ok());
    assert_value(store, "a/b", Some(""));
}

fn nothing_shows_before_it_is_published(store: &dyn Store) {
    put(store, "a", "old");
    let mut lock = hold(store, "a");
    ok(lock.append(b"new"));
    assert_value(store, "a", Some("old"));
    let Fetched::Parts {
        parts, pin: old, ..
    } = ok(lock.fetch(Of::Any, whole()))
    else {
        panic!("it has a value")
    };
    assert_eq!(parts[..], ["old"]);
    let pin = ok(lock.publish());
    assert_value(store, "a", Some("new"));
    assert!(matches!(
        fetch(store, "a", Of::IfCurrent(old), Want::Size),
        Fetched::Changed
    ));
    assert!(matches!(
        fetch(store, "a", Of::IfCurrent(pin), Want::Size),
        Fetched::Parts { size: 3, .. }
    ));
    put(store, "a", "newer");
    assert_value(store, "a", Some("newer"));
}

fn dropping_leaves_the_old_value(store: &dyn Store) {
    drop(hold(store, "a/b"));
    assert_value(store, "a/b", None);
    put(store, "a/b", "old");
    let mut lock = hold(store, "a/b");
    ok(lock.append(b"a new one that is never published"));
    drop(lock);
    assert_value(store, "a/b", Some("old"));
    let mut lock = hold(store, "a/b");
    ok(lock.append(b"short"));
    ok(lock.publish());
    assert_value(store, "a/b", Some("short"));
}

fn parts_may_come_in_any_order(store: &dyn Store) {
    let mut lock = hold(store, "a");
    assert_eq!(ok(lock.append(b"0123")), 0);
    assert_eq!(ok(lock.append(b"")), 4);
    assert_eq!(ok(lock.append(b"45")), 4);
    ok(lock.write_at(1, b"ab"));
    ok(lock.write_at(8, b"89"));
    assert_eq!(ok(lock.append(b"!")), 10);
    ok(lock.publish());
    assert_value(store, "a", Some("0ab345\0\089!"));
}

fn erasing_under_the_lock(store: &dyn Store) {
    ok(hold(store, "a/b").erase());
    assert_value(store, "a/b", None);
    put(store, "a/b", "old");
    let mut lock = hold(store, "a/b");
    ok(lock.append(b"new"));
    ok(lock.erase());
    assert_value(store, "a/b", None);
    put(store, "a/b", "again");
    erase(store, "a/b");
    assert_value(store, "a/b", None);
}

fn locks_are_not_listed(store: &dyn Store) {
    put(store, "a/b", "value");
    let mut locks = [hold(store, "a/b"), hold(store, "a/c")];
    ok(locks[1].append(b"new"));
    let Ok(listing) = store.list_dir(&prefix("a/")) else {
        return;
    };
    assert_eq!(listing.keys, ["b"]);
    assert!(listing.prefixes.is_empty(), "{listing:?}");
    assert_eq!(ok(store.list_prefix(&Prefix::root())), [key("a/b")]);
}
