//! Changes through handles of nodes that were removed: they report it, and store nothing.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use ndarray::arr1;
use ndzarr::Store;
use ndzarr::store::{Fetch, Fetched, Key, Locked, StoreError, Wait};
use ndzarr::{Array, Error, ErrorKind, Format, FsStore, Group, MemoryStore, Storage};
use ndzarr_testkit::forward;
use serde_json::json;

const FORMATS: [Format; 5] = [
    Format::Zarr2,
    Format::Zarr3,
    Format::N5,
    Format::DraftA,
    Format::DraftB,
];

fn in_every_format(test: impl Fn(Format, &Storage)) {
    for format in FORMATS {
        let folder = tempfile::tempdir().expect("a folder");
        test(format, &Storage::from(FsStore::new(folder.path())));
        test(format, &Storage::from(MemoryStore::new()));
    }
}

#[test]
fn a_removed_array_stays_removed() {
    in_every_format(|format, storage| {
        let root = Group::create(storage, format).expect("a new group");
        let mut a = root
            .create_array("a", Array::<u8>::builder([4]))
            .expect("a new array");
        root.erase("a").expect("it exists");
        let errors = [
            a.merge_attributes(json!({"x": 1})).expect_err("it is gone"),
            a.resize([2]).expect_err("it is gone"),
            a.append(0, &arr1(&[1])).expect_err("it is gone"),
        ];
        for error in errors {
            assert_eq!(error.kind(), ErrorKind::NotFound, "{format}: {error:?}");
        }
        assert!(root.children().expect("a listing").is_empty(), "{format}");
        root.create_group("a")
            .expect("there is room for another node");
    });
}

#[test]
fn a_removed_group_stays_removed() {
    in_every_format(|format, storage| {
        let root = Group::create(storage, format).expect("a new group");
        let mut g = root.create_group("g").expect("a new group");
        root.erase("g").expect("it exists");
        let error = g.merge_attributes(json!({"x": 1})).expect_err("it is gone");
        assert_eq!(error.kind(), ErrorKind::NotFound, "{format}: {error:?}");
        assert!(root.children().expect("a listing").is_empty(), "{format}");
    });
}

type Rival = Box<dyn FnOnce() + Send>;

/// A folder in which another process acts just before a lock is taken.
struct Interrupted {
    inner: FsStore,
    rival: Arc<Mutex<Option<Rival>>>,
}

impl fmt::Debug for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Interrupted")
    }
}

impl Store for Interrupted {
    forward!(inner: name, fetch, put, erase, list_dir);

    fn lock(&self, key: &Key, wait: Wait<'_>) -> Result<Locked, StoreError> {
        let rival = self.rival.lock().expect("no panic").take();
        if let Some(rival) = rival {
            rival();
        }
        self.inner.lock(key, wait)
    }
}

type Change = fn(&mut Array<u8>) -> Result<(), Error>;

/// The node is removed after the change has looked for it and before the change has the lock.
#[test]
fn a_node_that_is_removed_meanwhile_leaves_nothing() {
    let changes: [(&str, Change); 4] = [
        ("attributes", |a| a.merge_attributes(json!({"x": 1}))),
        ("resize", |a| a.resize([2])),
        ("append", |a| a.append(0, &arr1(&[1]))),
        ("a shard", |a| a.shard_writer(&[0])?.finish()),
    ];
    for format in FORMATS {
        for (name, change) in changes {
            let has_shards = format != Format::Zarr2 && format != Format::N5;
            if name == "a shard" && !has_shards {
                continue;
            }
            let folder = tempfile::tempdir().expect("a folder");
            let root = Group::create(folder.path(), format).expect("a new group");
            let rival = Arc::new(Mutex::new(None::<Rival>));
            let store = Interrupted {
                inner: FsStore::new(folder.path()),
                rival: Arc::clone(&rival),
            };
            let builder = Array::<u8>::builder([4]).chunks([2]);
            let builder = if has_shards {
                builder.shards([4])
            } else {
                builder
            };
            root.create_array("a", builder).expect("a new array");
            let mut a = Array::<u8>::open((Storage::blocking(store), "a")).expect("opens");
            let eraser = root.clone();
            *rival.lock().expect("no panic") =
                Some(Box::new(move || eraser.erase("a").expect("it exists")));
            let error = change(&mut a).expect_err("it is gone");
            assert_eq!(
                error.kind(),
                ErrorKind::NotFound,
                "{format} {name}: {error:?}"
            );
            assert!(
                rival.lock().expect("no panic").is_none(),
                "{format} {name}: no lock was taken"
            );
            assert!(
                root.children().expect("a listing").is_empty(),
                "{format} {name}"
            );
            let left = nodes_left(folder.path());
            assert_eq!(left, [""; 0], "{format} {name}");
        }
    }
}

/// A folder that has no document of the array for a moment, as on NFS and FUSE while another host
/// replaces one that is open.
#[derive(Debug)]
struct Moment {
    inner: FsStore,
    is_missing: Arc<AtomicBool>,
}

impl Store for Moment {
    forward!(inner: name, put, erase, lock, list_dir);

    fn fetch(&self, fetch: &Fetch) -> Result<Fetched, StoreError> {
        let is_document = fetch.key.as_str() == "a/zarr.json";
        if is_document && self.is_missing.swap(false, Ordering::SeqCst) {
            return Ok(Fetched::Missing);
        }
        self.inner.fetch(fetch)
    }
}

#[test]
fn a_document_that_is_missing_for_a_moment_is_not_gone() {
    let folder = tempfile::tempdir().expect("a folder");
    let is_missing = Arc::new(AtomicBool::new(false));
    let store = Moment {
        inner: FsStore::new(folder.path()),
        is_missing: Arc::clone(&is_missing),
    };
    let a = Array::<u8>::builder([4])
        .chunks([2])
        .create((Storage::blocking(store), "a"));
    let mut a = a.expect("a new array");
    let changes: [Change; 3] = [
        |a| a.merge_attributes(json!({"x": 1})),
        |a| a.resize([2]),
        |a| a.append(0, &arr1(&[1])),
    ];
    for change in changes {
        is_missing.store(true, Ordering::SeqCst);
        change(&mut a).expect("it exists");
        assert!(!is_missing.load(Ordering::SeqCst), "it was not read");
    }
    let a = Array::<u8>::open((folder.path(), "a")).expect("it exists");
    assert_eq!(
        (a.shape(), a.attributes()["x"].as_u64()),
        (&[3][..], Some(1))
    );
}

/// Everything below a folder with `a` as a part of its path.
fn nodes_left(folder: &std::path::Path) -> Vec<String> {
    let mut left = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path
            .file_name()
            .is_some_and(|name| name == "a" || name.to_string_lossy().starts_with("a."))
        {
            left.push(path.display().to_string());
        } else if path.is_dir() {
            left.extend(nodes_left(&path));
        }
    }
    left
}
