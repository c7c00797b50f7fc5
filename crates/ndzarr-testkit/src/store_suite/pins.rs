//! Checks that pins name one value and no other.

use ndzarr_store::{Fetched, Of, Pin, Precondition, Put, Store, Want};

use super::calls::{erase, fetch, get, key, ok, put, whole};

pub(super) fn check(make: &dyn Fn() -> Box<dyn Store>) {
    a_snapshot_is_never_of_another_value(&*make());
    only_the_current_value_is_current(&*make());
    a_put_names_its_value(&*make());
    pins_of_others_name_nothing(&*make());
    light_pins_name_the_same_state(&*make());
}

fn a_snapshot_is_never_of_another_value(store: &dyn Store) {
    put(store, "a", "old value");
    let pin = pin_of(store);
    for want in [whole(), Want::Tail(100)] {
        assert_part(
            fetch(store, "a", Of::Snapshot(pin.clone()), want),
            "old value",
        );
    }
    // A value of the same size, a longer one, none, and again one of the same size.
    put(store, "a", "new value");
    assert_old_or_changed(store, &pin);
    put(store, "a", "a value that is longer");
    assert_old_or_changed(store, &pin);
    erase(store, "a");
    assert_old_or_changed(store, &pin);
    put(store, "a", "NEW VALUE");
    assert_old_or_changed(store, &pin);
}

fn assert_old_or_changed(store: &dyn Store, pin: &Pin) {
    let want = Want::Ranges(vec![4..9, 0..3]);
    match fetch(store, "a", Of::Snapshot(pin.clone()), want) {
        Fetched::Changed => {}
        Fetched::Parts { size, parts, .. } => {
            assert_eq!(
                (size, &parts[0][..], &parts[1][..]),
                (9, &b"value"[..], &b"old"[..])
            );
        }
        Fetched::Missing => panic!("a snapshot exists or is Changed, not Missing"),
    }
}

fn only_the_current_value_is_current(store: &dyn Store) {
    put(store, "a", "first");
    put(store, "b", "other");
    let first = pin_of(store);
    let current = |pin: &Pin, want| fetch(store, "a", Of::IfCurrent(pin.clone()), want);
    assert_part(current(&first, whole()), "first");
    put(store, "b", "another");
    assert_part(current(&first, Want::Tail(2)), "st");
    put(store, "a", "2ndly");
    for want in [
        whole(),
        Want::Size,
        Want::Ranges(vec![0..1, 2..2]),
        Want::Tail(2),
    ] {
        assert!(matches!(current(&first, want), Fetched::Changed));
    }
    // An answer's pin is equivalent to the one in the request.
    let Fetched::Parts { pin: second, .. } = current(&pin_of(store), Want::Size) else {
        panic!("it is current")
    };
    assert_part(current(&second, whole()), "2ndly");
    erase(store, "a");
    assert!(matches!(current(&second, whole()), Fetched::Changed));
    put(store, "a", "third");
    for pin in [&first, &second] {
        assert!(matches!(current(pin, whole()), Fetched::Changed));
    }
}

fn a_put_names_its_value(store: &dyn Store) {
    let Put::Done(Some(pin)) = ok(store.put(&key("a"), &["mine".into()], Precondition::None))
    else {
        return;
    };
    assert_part(
        fetch(store, "a", Of::IfCurrent(pin.clone()), whole()),
        "mine",
    );
    assert_part(
        fetch(store, "a", Of::Snapshot(pin.clone()), whole()),
        "mine",
    );
    put(store, "a", "else");
    assert!(matches!(
        fetch(store, "a", Of::IfCurrent(pin), whole()),
        Fetched::Changed
    ));
}

fn light_pins_name_the_same_state(store: &dyn Store) {
    put(store, "a", "first");
    let Some(light) = pin_of(store).light() else {
        return;
    };
    assert!(light.is_light() && light.light().is_some());
    let of = |of: fn(Pin) -> Of, want| fetch(store, "a", of(light.clone()), want);
    for named in [Of::IfCurrent, Of::Snapshot] {
        assert!(matches!(
            of(named, Want::Size),
            Fetched::Parts { size: 5, .. }
        ));
        assert_part(of(named, whole()), "first");
    }
    put(store, "a", "other");
    assert!(matches!(of(Of::IfCurrent, Want::Size), Fetched::Changed));
    assert!(matches!(of(Of::IfCurrent, whole()), Fetched::Changed));
    assert_old_or_changed_is(of(Of::Snapshot, whole()), "first");
    erase(store, "a");
    assert!(matches!(of(Of::IfCurrent, Want::Size), Fetched::Changed));
}

fn assert_old_or_changed_is(fetched: Fetched, old: &str) {
    if !matches!(fetched, Fetched::Changed) {
        assert_part(fetched, old);
    }
}

fn pins_of_others_name_nothing(store: &dyn Store) {
    put(store, "a", "value");
    for of in [Of::Snapshot, Of::IfCurrent] {
        assert!(matches!(
            fetch(store, "a", of(Pin::new("of another store")), whole()),
            Fetched::Changed
        ));
    }
}

fn pin_of(store: &dyn Store) -> Pin {
    match get(store, "a") {
        Some((_, pin)) => pin,
        None => panic!("there is no value"),
    }
}

#[track_caller]
fn assert_part(fetched: Fetched, expected: &str) {
    match fetched {
        Fetched::Parts { parts, .. } => assert_eq!(parts[..], [expected.as_bytes()]),
        other => panic!("{other:?}"),
    }
}
