//! Checks listing and erasing below a prefix.

use ndzarr_store::{Fetch, Fetched, Of, Prefix, Store, Wait, Want};

use super::calls::{assert_value, erase, key, ok, prefix, put};

pub(super) fn check(make: &dyn Fn() -> Box<dyn Store>) {
    v3_167_what_lies_directly_below(&*make());
    v3_167_every_key_below(&*make());
    neighbours_are_not_below(&*make());
    v3_t52_erasing_a_prefix_leaves_its_neighbours(&*make());
    v3_166_erasing_a_prefix_leaves_the_key(&*make());
    erasing_everything(&*make());
}

fn assert_dir(store: &dyn Store, below: &str, keys: &[&str], prefixes: &[&str]) {
    let mut listing = ok(store.list_dir(&prefix(below)));
    listing.keys.sort_unstable();
    listing.prefixes.sort_unstable();
    assert_eq!(listing.keys, keys, "keys below {below:?}");
    assert_eq!(listing.prefixes, prefixes, "prefixes below {below:?}");
}

fn assert_below(store: &dyn Store, below: &str, expected: &[&str]) {
    let mut keys = ok(store.list_prefix(&prefix(below)));
    keys.sort_unstable();
    assert_eq!(
        keys,
        expected.iter().map(|name| key(name)).collect::<Vec<_>>(),
        "below {below:?}"
    );
    let mut sizes = Vec::new();
    ok(store.list_lengths(&prefix(below), &mut |key, listed| {
        sizes.push((key.clone(), listed.byte_len()))
    }));
    sizes.sort_unstable();
    assert_eq!(
        sizes.iter().map(|(key, _)| key.clone()).collect::<Vec<_>>(),
        keys,
        "sizes below {below:?}"
    );
    for (key, byte_len) in sizes {
        let fetch = Fetch {
            key,
            of: Of::Any,
            want: Want::Size,
        };
        let Fetched::Parts { size, .. } = ok(store.fetch(&fetch)) else {
            panic!("{} exists", fetch.key)
        };
        assert_eq!(byte_len, Some(size), "{}", fetch.key);
    }
}

fn v3_167_what_lies_directly_below(store: &dyn Store) {
    assert_dir(store, "", &[], &[]);
    for name in ["a/b", "a/c", "a/d/e", "a/f/g", "a/f/h/i"] {
        put(store, name, "value");
    }
    assert_dir(store, "a/", &["b", "c"], &["d", "f"]);
    assert_dir(store, "", &[], &["a"]);
    assert_dir(store, "a/f/", &["g"], &["h"]);
    for unknown in ["b/", "a/x/", "a/b/", "a/d/e/f/"] {
        assert_dir(store, unknown, &[], &[]);
    }
    erase(store, "a/c");
    assert_dir(store, "a/", &["b"], &["d", "f"]);
}

fn v3_167_every_key_below(store: &dyn Store) {
    assert_below(store, "", &[]);
    let all = [".z", "a/b", "a/c", "a/d/e", "a/f/g", "b"];
    for name in all {
        put(store, name, "value");
    }
    assert_below(store, "", &all);
    assert_below(store, "a/", &["a/b", "a/c", "a/d/e", "a/f/g"]);
    assert_below(store, "a/d/", &["a/d/e"]);
    assert_below(store, "b/", &[]);
    assert_below(store, "x/y/", &[]);
}

/// In the order of bytes, `-` and `.` come before `/`, and `0` after it.
fn neighbours_are_not_below(store: &dyn Store) {
    for name in [
        "a-/x", "a.x", "a/-", "a/x/-", "a/x-", "a/x-y/z", "a/x/y", "a/x0", "a0", "ab/x",
    ] {
        put(store, name, "value");
    }
    assert_dir(store, "a/", &["-", "x-", "x0"], &["x", "x-y"]);
    assert_dir(store, "", &["a.x", "a0"], &["a", "a-", "ab"]);
    assert_below(store, "a/x/", &["a/x/-", "a/x/y"]);
}

fn v3_t52_erasing_a_prefix_leaves_its_neighbours(store: &dyn Store) {
    for name in [
        "foo/a",
        "foo/b/c",
        "foo/b/d",
        "foobar/a",
        "foo2",
        "a/zarr.json",
        "a2/zarr.json",
    ] {
        put(store, name, "value");
    }
    ok(store.erase_prefix(&prefix("foo/"), Wait::Block));
    ok(store.erase_prefix(&prefix("a/"), Wait::Block));
    ok(store.erase_prefix(&prefix("unknown/"), Wait::Block));
    ok(store.erase_prefix(&prefix("foo/"), Wait::Block));
    assert_below(store, "", &["a2/zarr.json", "foo2", "foobar/a"]);
    assert_dir(store, "", &["foo2"], &["a2", "foobar"]);
    put(store, "foo/a", "again");
    assert_value(store, "foo/a", Some("again"));
}

fn v3_166_erasing_a_prefix_leaves_the_key(store: &dyn Store) {
    put(store, "a", "value");
    ok(store.erase_prefix(&prefix("a/"), Wait::Block));
    assert_value(store, "a", Some("value"));
}

fn erasing_everything(store: &dyn Store) {
    ok(store.erase_prefix(&Prefix::root(), Wait::Block));
    for name in ["a", "b/c", "b/d/e"] {
        put(store, name, "value");
    }
    ok(store.erase_prefix(&Prefix::root(), Wait::Block));
    assert_dir(store, "", &[], &[]);
    assert_value(store, "b/d/e", None);
    put(store, "b/d/e", "again");
    assert_below(store, "", &["b/d/e"]);
}
