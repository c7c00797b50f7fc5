//! Long lists are split into ranges, which are listed at once.

use std::collections::BTreeSet;
use std::sync::{Condvar, Mutex};

use ndzarr_store::{AsyncStore, Key, Prefix, StoreError, block_on};
use ndzarr_testkit::Random;
use ndzarr_testkit::object_server::{Dialect, Fault, FaultRule, ObjectServer, Request};

use crate::it::s3;

/// A thousand chunks in forty folders, a hundred pages.
fn server() -> ObjectServer {
    let server = ObjectServer::start(Dialect::S3);
    server.objects().limit_pages(10);
    for folder in 0..40 {
        for chunk in 0..25 {
            server
                .objects()
                .put(&format!("a/c/{folder}/{chunk}"), "value");
        }
    }
    server
}

fn listed(server: &ObjectServer, prefix: &str) -> Result<Vec<Key>, StoreError> {
    let mut keys = block_on(s3(server, "").list_prefix(&Prefix::new(prefix)?))?;
    keys.sort();
    Ok(keys)
}

fn stored(server: &ObjectServer, prefix: &str) -> Vec<Key> {
    let mut keys: Vec<Key> = server
        .objects()
        .keys()
        .iter()
        .filter_map(|key| Key::new(key).ok())
        .collect();
    keys.retain(|key| key.as_str().starts_with(prefix));
    keys.sort();
    keys
}

/// Returns `true` for the first request of a range: it starts after a name, and not at folders.
fn begins_range(request: &Request) -> bool {
    let has_delimiter = request
        .query("delimiter")
        .is_some_and(|delimiter| !delimiter.is_empty());
    request.query("start-after").is_some() && !has_delimiter
}

#[test]
fn ranges_of_a_long_list_are_read_at_once() -> Result<(), StoreError> {
    let server = server();
    // None is answered before eight have come.
    let n = Mutex::new(0);
    let come = Condvar::new();
    server.before_each(move |request| {
        if begins_range(request) {
            let mut n = n.lock().expect("no panic");
            *n += 1;
            come.notify_all();
            drop(come.wait_while(n, |n| *n < 8).expect("no panic"));
        }
    });
    assert_eq!(listed(&server, "a/")?, stored(&server, "a/"));
    // A hundred pages, the ends of ranges, and the searches for folders.
    assert!(server.traffic().requests < 150, "{:?}", server.traffic());
    Ok(())
}

#[test]
fn names_that_no_key_can_have_are_remembered_of_all_ranges() -> Result<(), StoreError> {
    let server = server();
    let names = ["a/c/20//0", "a/c/3//0", "a/c/39//0"];
    for name in names {
        server.objects().put(name, "value");
    }
    let store = s3(&server, "");
    let prefix = Prefix::new("a/")?;
    assert_eq!(block_on(store.list_prefix(&prefix))?.len(), 1000);
    assert_eq!(block_on(store.unlisted_names(&prefix))?, names);
    Ok(())
}

#[test]
fn short_lists_are_not_split() -> Result<(), StoreError> {
    let server = server();
    assert_eq!(listed(&server, "a/c/7/")?.len(), 25);
    assert_eq!(server.traffic().requests, 3);
    Ok(())
}

#[test]
fn a_service_that_ignores_where_to_begin_is_listed_in_order() -> Result<(), StoreError> {
    let server = server();
    server.faults([FaultRule::always(Fault::NoStartAfter)]);
    assert_eq!(listed(&server, "a/")?, stored(&server, "a/"));
    Ok(())
}

#[test]
fn every_list_is_complete_wherever_it_is_split() -> Result<(), StoreError> {
    let mut random = Random::seeded("lists");
    for _ in 0..60 {
        let server = ObjectServer::start(Dialect::S3);
        server.objects().limit_pages(1 + random.below(3) as usize);
        let names = ["0", "1", "10", "a", "b", "b b", "é", "zarr.json"];
        let mut keys = BTreeSet::new();
        for _ in 0..random.below(60) {
            let depth = 1 + random.below(4);
            let parts: Vec<&str> = (0..depth)
                .map(|_| names[random.below(8) as usize])
                .collect();
            keys.insert(parts.join("/"));
        }
        // Markers of folders, and names that are not keys, are ignored.
        keys.extend(["a/".to_owned(), "b//c".to_owned()]);
        for key in &keys {
            server.objects().put(key, "value");
        }
        for prefix in ["", "a/", "b/", "é/"] {
            assert_eq!(
                listed(&server, prefix)?,
                stored(&server, prefix),
                "{prefix:?} of {keys:?}"
            );
        }
    }
    Ok(())
}
