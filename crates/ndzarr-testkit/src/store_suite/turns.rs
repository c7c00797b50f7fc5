//! Checks that writers of one key on several threads are serialized.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use bytes::Bytes;
use ndzarr_store::{Fetched, Locked, Of, Precondition, Put, Store, StoreError, Wait};

use super::calls::{get, key, ok, value, whole};

const WRITERS: usize = 4;
const ROUNDS: u8 = 50;

/// Each writer increases its own byte of one value; none may undo the update of another.
fn check(store: &dyn Store, update: impl Fn(&dyn Store, usize) + Sync) {
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let update = &update;
            scope.spawn(move || (0..ROUNDS).for_each(|_| update(store, writer)));
        }
    });
    let found = get(store, "a/slots").map(|(value, _)| value);
    assert_eq!(
        found.as_deref(),
        Some(&[ROUNDS; WRITERS][..]),
        "no update is lost"
    );
}

pub(super) fn by_precondition(store: &dyn Store) {
    check(store, update_by_precondition);
}

pub(super) fn by_lock(store: &dyn Store) {
    check(store, update_by_lock);
}

/// A put with a precondition and a lock exclude each other too.
pub(super) fn by_both(store: &dyn Store) {
    check(store, |store, writer| match writer % 2 {
        0 => update_by_lock(store, writer),
        _ => update_by_precondition(store, writer),
    });
}

fn update_by_precondition(store: &dyn Store, writer: usize) {
    loop {
        let (old, only_if) = match get(store, "a/slots") {
            Some((old, pin)) => (old, Precondition::Current(pin)),
            None => (Bytes::new(), Precondition::Absent),
        };
        match ok(store.put(
            &key("a/slots"),
            &[counted_up(&old, writer).to_vec().into()],
            only_if,
        )) {
            Put::Done(_) => return,
            Put::Conflict => {}
            Put::Unsupported => panic!("unsupported, though it was not before"),
        }
    }
}

fn update_by_lock(store: &dyn Store, writer: usize) {
    let Locked::Held(mut lock) = ok(store.lock(&key("a/slots"), Wait::Block)) else {
        panic!("it was to wait")
    };
    let old = value(ok(lock.fetch(Of::Any, whole()))).map_or_else(Bytes::new, |(old, _)| old);
    ok(lock.append(&counted_up(&old, writer)));
    ok(lock.publish());
}

fn counted_up(old: &[u8], writer: usize) -> [u8; WRITERS] {
    let mut slots = [0; WRITERS];
    slots[..old.len()].copy_from_slice(old);
    slots[writer] += 1;
    slots
}

/// While a value is written, readers see the old or the new one, not parts of both, and with a pin
/// always the same one.
pub(super) fn readers_see_whole_values(store: &dyn Store) {
    const SIZES: [usize; 3] = [40_000, 100, 70_000];
    let values = [0, 1, 2].map(|i| Bytes::from(vec![i; SIZES[usize::from(i)]]));
    let put = |i: usize| loop {
        match store.put(&key("a"), &[values[i % 3].clone()], Precondition::None) {
            // Readers of Windows may keep the old value open for too long. Nothing has changed.
            Err(StoreError::Io {
                action: "publish", ..
            }) if cfg!(windows) => {}
            other => break drop(ok(other)),
        }
    };
    put(0);
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let Some((first, pin)) = get(store, "a") else {
                        panic!("it always has a value")
                    };
                    assert!(values.contains(&first), "torn");
                    let again = ndzarr_store::Fetch {
                        key: key("a"),
                        of: Of::Snapshot(pin),
                        want: whole(),
                    };
                    if let Fetched::Parts { parts, .. } = ok(store.fetch(&again)) {
                        assert!(parts[0] == first, "another value under the pin");
                    }
                }
            });
        }
        scope.spawn(|| {
            // The readers must stop also when this thread panics.
            let _done = SetOnDrop(&done);
            // On a Windows share, each put waits for a moment in which no reader has the value
            // open.
            (0..if cfg!(windows) { 15 } else { 150 }).for_each(put);
        });
    });
}

struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
