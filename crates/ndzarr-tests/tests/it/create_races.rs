//! Several writers that create a node at one path at the same time: one succeeds, the others learn
//! that it exists.

use std::sync::{Arc, Barrier, Mutex};

use bytes::Bytes;
use ndzarr::Store;
use ndzarr::store::{Key, Precondition, Put, StoreError};
use ndzarr::{AnyNode, Array, Error, ErrorKind, Format, FsStore, Group, MemoryStore, Storage};
use ndzarr_testkit::{AsyncMemoryStore, Latency, forward};
use serde_json::json;

const FORMATS: [Format; 5] = [
    Format::Zarr2,
    Format::Zarr3,
    Format::N5,
    Format::DraftA,
    Format::DraftB,
];

/// Creates an array or a group, with an attribute that names its creator.
fn create(storage: &Storage, format: Format, who: usize, is_array: bool) -> Result<(), Error> {
    let attributes = json!({"who": who});
    if is_array {
        let array = Array::<u8>::builder([who as u64 + 1])
            .format(format)
            .attributes(attributes);
        return array.create((storage, "g/a")).map(drop);
    }
    Group::builder()
        .format(format)
        .attributes(attributes)
        .create((storage, "g/a"))
        .map(drop)
}

/// The creator of the node, and true if it is an array.
fn winner(storage: &Storage) -> (usize, bool) {
    match AnyNode::open((storage, "g/a")).expect("a node") {
        AnyNode::Array(array) => {
            let who = array.attributes()["who"].as_u64().expect("a number") as usize;
            assert_eq!(
                array.shape(),
                [who as u64 + 1],
                "document and attributes are of one writer"
            );
            (who, true)
        }
        AnyNode::Group(group) => (
            group.attributes()["who"].as_u64().expect("a number") as usize,
            false,
        ),
    }
}

fn race(storages: &[Storage], format: Format, is_array: impl Fn(usize) -> bool + Sync) {
    let start = Barrier::new(storages.len());
    let outcomes: Vec<Result<(), Error>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (storages.iter().enumerate())
            .map(|(who, storage)| {
                let start = &start;
                let is_array = &is_array;
                scope.spawn(move || {
                    start.wait();
                    create(storage, format, who, is_array(who))
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("no panic"))
            .collect()
    });
    let winners: Vec<usize> = (0..outcomes.len())
        .filter(|&who| outcomes[who].is_ok())
        .collect();
    assert_eq!(winners.len(), 1, "{format}: {outcomes:?}");
    for error in outcomes.iter().filter_map(|outcome| outcome.as_ref().err()) {
        assert_eq!(
            error.kind(),
            ErrorKind::AlreadyExists,
            "{format}: {error:?}"
        );
    }
    assert_eq!(
        winner(&storages[0]),
        (winners[0], is_array(winners[0])),
        "{format}"
    );
}

#[test]
fn one_of_several_threads_creates_a_node() {
    for format in FORMATS {
        for round in 0..20 {
            let folder = tempfile::tempdir().expect("a folder");
            let latency = Latency::default();
            let stores = [
                Storage::from(FsStore::new(folder.path())),
                Storage::from(MemoryStore::new()),
                Storage::asynchronous(AsyncMemoryStore::new(latency)),
            ];
            for storage in stores {
                let storages = vec![storage; 4];
                race(&storages, format, |_| true);
            }
            let memory = Storage::from(MemoryStore::new());
            race(&vec![memory; 4], format, |who| {
                (who + round).is_multiple_of(2)
            });
            let folder = tempfile::tempdir().expect("a folder");
            race(&vec![Storage::folder(folder.path()); 4], format, |who| {
                (who + round).is_multiple_of(2)
            });
        }
    }
}

type Rival = Box<dyn FnOnce() + Send>;

/// A store in which another process acts just before the n-th change.
struct Interrupted {
    inner: MemoryStore,
    pending: Mutex<Pending>,
}

struct Pending {
    /// How many changes come before the rival acts.
    n_changes: usize,
    rival: Option<Rival>,
}

impl std::fmt::Debug for Interrupted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Interrupted")
    }
}

impl Interrupted {
    fn before_a_change(&self) {
        let mut pending = self.pending.lock().expect("no panic");
        if pending.n_changes > 0 {
            pending.n_changes -= 1;
            return;
        }
        if let Some(rival) = pending.rival.take() {
            rival();
        }
    }
}

impl Store for Interrupted {
    forward!(inner: fetch, list_dir);

    fn name(&self) -> String {
        "interrupted".to_owned()
    }

    fn put(&self, key: &Key, parts: &[Bytes], only_if: Precondition) -> Result<Put, StoreError> {
        self.before_a_change();
        self.inner.put(key, parts, only_if)
    }

    fn erase(&self, key: &Key, only_if: Precondition) -> Result<Put, StoreError> {
        self.before_a_change();
        self.inner.erase(key, only_if)
    }
}

/// Before any of the changes, in a store with only conditional writes.
#[test]
fn one_of_two_writers_creates_a_node_whenever_the_other_comes() {
    for format in FORMATS {
        for (first, second) in [(true, true), (true, false), (false, true), (false, false)] {
            for n in 0..8 {
                let inner = MemoryStore::new();
                let outcome = Arc::new(Mutex::new(None));
                let storage = Storage::from(&inner);
                let seen = Arc::clone(&outcome);
                let rival: Rival = Box::new(move || {
                    *seen.lock().expect("no panic") = Some(create(&storage, format, 1, second));
                });
                let pending = Mutex::new(Pending {
                    n_changes: n,
                    rival: Some(rival),
                });
                let store = Interrupted {
                    inner: inner.clone(),
                    pending,
                };
                let own = create(&Storage::blocking(store), format, 0, first);
                let Some(other) = outcome.lock().expect("no panic").take() else {
                    continue;
                };
                let context = format!("{format} {first} {second} {n}: {own:?}, {other:?}");
                assert!(own.is_ok() != other.is_ok(), "{context}");
                let error = if own.is_ok() {
                    other.as_ref()
                } else {
                    own.as_ref()
                };
                assert_eq!(
                    error.expect_err("one fails").kind(),
                    ErrorKind::AlreadyExists,
                    "{context}"
                );
                let expected = if own.is_ok() { (0, first) } else { (1, second) };
                assert_eq!(winner(&Storage::from(&inner)), expected, "{context}");
            }
        }
    }
}
