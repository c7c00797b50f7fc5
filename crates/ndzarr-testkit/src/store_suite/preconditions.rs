//! Checks puts and erases that have a precondition.

use ndzarr_store::{Pin, Precondition, Put, Store};

use super::calls::{assert_value, erase, get, key, ok, put};

pub(super) fn check(make: &dyn Fn() -> Box<dyn Store>) {
    only_if_absent(&*make());
    only_if_current(&*make());
}

/// A store that cannot check a precondition must not write regardless.
pub(super) fn check_unsupported(store: &dyn Store) {
    put(store, "a", "value");
    let Some((_, pin)) = get(store, "a") else {
        panic!("it was put")
    };
    for only_if in [Precondition::Absent, Precondition::Current(pin)] {
        assert!(matches!(
            ok(store.put(&key("a"), &["new".into()], only_if)),
            Put::Unsupported
        ));
    }
    assert_value(store, "a", Some("value"));
}

/// A store that cannot check a precondition must not erase regardless.
pub(super) fn check_erase_unsupported(store: &dyn Store) {
    put(store, "a", "value");
    for only_if in [
        Precondition::Absent,
        Precondition::Current(pin_of(store, "a")),
    ] {
        assert!(matches!(
            ok(store.erase(&key("a"), only_if)),
            Put::Unsupported
        ));
    }
    assert_value(store, "a", Some("value"));
}

fn only_if_absent(store: &dyn Store) {
    let put_absent =
        |value: &'static str| ok(store.put(&key("a/b"), &[value.into()], Precondition::Absent));
    assert!(matches!(put_absent("first"), Put::Done(_)));
    assert!(matches!(put_absent("second"), Put::Conflict));
    assert_value(store, "a/b", Some("first"));
    erase(store, "a/b");
    assert!(matches!(put_absent("third"), Put::Done(_)));
    assert_value(store, "a/b", Some("third"));
    // An empty value is a value.
    put(store, "a/b", "");
    assert!(matches!(put_absent("fourth"), Put::Conflict));
    assert_value(store, "a/b", Some(""));
}

fn only_if_current(store: &dyn Store) {
    put(store, "a", "one");
    let one = pin_of(store, "a");
    let of_other_store = Pin::new("of another store");
    let put_current = |value: &'static str, pin: &Pin| {
        ok(store.put(
            &key("a"),
            &[value.into()],
            Precondition::Current(pin.clone()),
        ))
    };
    assert!(matches!(put_current("no", &of_other_store), Put::Conflict));
    assert!(matches!(put_current("two", &one), Put::Done(_)));
    assert!(matches!(put_current("no", &one), Put::Conflict));
    assert_value(store, "a", Some("two"));
    let two = pin_of(store, "a");
    if let Put::Done(Some(three)) = put_current("3rd", &two) {
        assert!(matches!(put_current("4th", &three), Put::Done(_)));
        assert_value(store, "a", Some("4th"));
    }
    let last = pin_of(store, "a");
    erase(store, "a");
    for pin in [&one, &two, &last, &of_other_store] {
        assert!(matches!(put_current("no", pin), Put::Conflict));
    }
    assert_value(store, "a", None);
    let conflict = store.put(&key("never/stored"), &[], Precondition::Current(last));
    assert!(matches!(ok(conflict), Put::Conflict));
    assert_value(store, "never/stored", None);
}

pub(super) fn check_erase(store: &dyn Store) {
    let erase_if = |only_if| ok(store.erase(&key("a"), only_if));
    assert!(matches!(erase_if(Precondition::Absent), Put::Done(None)));
    put(store, "a", "one");
    let one = pin_of(store, "a");
    assert!(matches!(erase_if(Precondition::Absent), Put::Conflict));
    put(store, "a", "two");
    assert!(matches!(
        erase_if(Precondition::Current(one.clone())),
        Put::Conflict
    ));
    assert_value(store, "a", Some("two"));
    assert!(matches!(
        erase_if(Precondition::Current(pin_of(store, "a"))),
        Put::Done(None)
    ));
    assert_value(store, "a", None);
    assert!(matches!(
        erase_if(Precondition::Current(one)),
        Put::Conflict
    ));
}

fn pin_of(store: &dyn Store, name: &str) -> Pin {
    match get(store, name) {
        Some((_, pin)) => pin,
        None => panic!("{name} has no value"),
    }
}
