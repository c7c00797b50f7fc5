//! New nodes where other writers left something, or act meanwhile.

use std::error::Error;
use std::sync::atomic::{AtomicBool, Ordering};

use ndzarr::store::{Fetch, Fetched, Key, Precondition, Prefix, StoreError};
use ndzarr::{Array, ArrayBuilder, ErrorKind, Format, FsStore, Group, MemoryStore, Storage, Store};
use ndzarr_store::is_numbered;
use ndzarr_testkit::{CountingStore, PlainStore, forward};
use serde_json::json;

type Outcome = Result<(), Box<dyn Error>>;

type Form = (&'static str, fn(ArrayBuilder<u16>) -> ArrayBuilder<u16>);

const FORMS: [Form; 8] = [
    ("v2", |b| b.format(Format::Zarr2)),
    ("v2 /", |b| b.format(Format::Zarr2).separator('/')),
    ("v3", |b| b),
    ("v3 .", |b| b.separator('.')),
    ("v3 as v2", |b| b.key_encoding("v2")),
    ("draft A", |b| b.format(Format::DraftA)),
    ("draft B .", |b| b.format(Format::DraftB).separator('.')),
    ("n5", |b| b.format(Format::N5)),
];

fn builder(form: &Form, shape: &[u64]) -> ArrayBuilder<u16> {
    let chunks = shape.iter().map(|_| 4).collect::<Vec<u64>>();
    form.1(Array::<u16>::builder(shape).chunks(chunks))
}

/// Chunks that lost their document, for example to a killed removal.
#[test]
fn chunks_of_an_interrupted_removal_do_not_show_in_a_new_array() -> Outcome {
    let folder = tempfile::tempdir()?;
    for (i, form) in FORMS.iter().enumerate() {
        for shape in [&[10, 30][..], &[]] {
            let name = form.0;
            if name == "n5" && shape.is_empty() {
                continue;
            }
            let files = folder.path().join(format!("{i}-{}", shape.len()));
            let stores: [std::sync::Arc<dyn Store>; 2] = [
                std::sync::Arc::new(MemoryStore::new()),
                std::sync::Arc::new(FsStore::new(&files)),
            ];
            for store in stores {
                let storage = Storage::from(store.clone());
                let a = builder(form, shape).create((&storage, "g/a"))?;
                // Only the last chunk is left.
                let last: Vec<std::ops::Range<u64>> = shape.iter().map(|&n| n - 1..n).collect();
                a.fill(&last[..], 5)?;
                for key in store.list_prefix(&Prefix::root())? {
                    let of_the_array = ["g/a/", "g/a."]
                        .iter()
                        .any(|part| key.as_str().contains(part));
                    if of_the_array && !is_numbered(key.name()) {
                        store.erase(&key, Precondition::None)?;
                    }
                }
                let error = builder(form, shape)
                    .create((&storage, "g/a"))
                    .expect_err(name);
                assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{name}: {error}");
                if form.0 != "n5" {
                    assert!(
                        error.to_string().contains("remove or overwrite them"),
                        "{name}: {error}"
                    );
                }
                assert!(
                    Array::<u16>::open((&storage, "g/a")).is_err(),
                    "{name}: nothing was written"
                );
                let new = builder(form, shape).overwrite().create((&storage, "g/a"))?;
                assert_eq!(new.read(..)?.sum(), 0, "{name}");
            }
        }
    }
    Ok(())
}

#[test]
fn keys_that_are_no_chunks_of_the_new_array_do_not_prevent_it() -> Outcome {
    let store = MemoryStore::new();
    for key in [
        "README.md",
        "a/notes.txt",
        "a/c.txt",
        "a/0.0.0/x",
        "a/c0",
        "a/cc/0",
        "a/1/",
        "b/0.0",
        "b/c/x",
    ] {
        if !key.ends_with('/') {
            store.set(key, "foreign")?;
        }
    }
    Array::<u8>::builder([3, 3]).create((&store, "a"))?;
    // Two dimensions with dots: neither a single number nor a folder.
    store.set("v/0", "foreign")?;
    store.set("v/0.0/x", "foreign")?;
    Array::<u8>::builder([3, 3])
        .format(Format::Zarr2)
        .create((&store, "v"))?;
    let error = Array::<u8>::builder([3, 3])
        .format(Format::Zarr2)
        .create((&store, "b"))
        .expect_err("chunk 0.0");
    assert_eq!(error.kind(), ErrorKind::AlreadyExists);
    // Empty folders are not chunks.
    let folder = tempfile::tempdir()?;
    std::fs::create_dir_all(folder.path().join("a/c/0/1"))?;
    Array::<u8>::builder([3, 3]).create((folder.path(), "a"))?;
    // A node where chunks would be.
    Group::create((&store, "h/c"), Format::Zarr3)?;
    store.erase(&Key::new("h/zarr.json")?, Precondition::None)?;
    assert!(Array::<u8>::builder([3, 3]).create((&store, "h")).is_err());
    Ok(())
}

#[test]
fn creating_looks_once_for_what_is_left() -> Outcome {
    let store = CountingStore::new(MemoryStore::new());
    let storage = Storage::blocking(store.clone());
    Group::create(&storage, Format::Zarr3)?;
    for i in 0..100 {
        store.inner().set(&format!("other/c/{i}"), "foreign")?;
    }
    store.reset();
    Array::<u8>::builder([3, 3]).create((&storage, "a"))?;
    assert_eq!(store.counts().lists, 1);
    Ok(())
}

#[test]
fn nothing_is_created_in_a_folder_below_an_array() -> Outcome {
    for format in [Format::Zarr3, Format::Zarr2, Format::N5, Format::DraftA] {
        let folder = tempfile::tempdir()?;
        let above = folder.path().join("a");
        Array::<u8>::builder([3]).format(format).create(&above)?;
        for below in ["b", "b/c"] {
            let place = above.join(below);
            let array = Array::<u8>::builder([3])
                .format(format)
                .overwrite()
                .create(&place);
            let group = Group::create(&place, format);
            let kinds = [
                array.err().map(|error| error.kind()),
                group.err().map(|error| error.kind()),
            ];
            assert_eq!(
                kinds,
                [Some(ErrorKind::WrongNodeKind); 2],
                "{format} {below}"
            );
            assert!(!above.join("b").exists());
        }
        // A group may be in between.
        let group = folder.path().join("g");
        Group::create(&group, format)?;
        Array::<u8>::builder([3])
            .format(format)
            .create(group.join("b"))?;
    }
    Ok(())
}

/// A store in which another process sets an attribute of the root, just after its document was read
/// for the first time.
#[derive(Debug)]
struct Meddled<S> {
    inner: S,
    done: AtomicBool,
}

const MEDDLED: &str = r#"{"old": 1, "mine": [1, 2]}"#;

impl<S: Store> Store for Meddled<S> {
    forward!(inner: name, put, erase, lock, list_dir);

    fn fetch(&self, fetch: &Fetch) -> Result<Fetched, StoreError> {
        let fetched = self.inner.fetch(fetch);
        if fetch.key.as_str() == "attributes.json" && !self.done.swap(true, Ordering::Relaxed) {
            self.inner
                .put(&fetch.key, &[MEDDLED.into()], Precondition::None)?;
        }
        fetched
    }
}

#[test]
fn the_version_of_an_n5_container_undoes_no_attribute() -> Outcome {
    for before in [None, Some(r#"{"old": 1}"#)] {
        let folder = tempfile::tempdir()?;
        check_version(FsStore::new(folder.path()), before)?;
        check_version(MemoryStore::new(), before)?;
        // The best possible there: nothing comes in between here.
        check_version(PlainStore::new(MemoryStore::new()), before)?;
    }
    Ok(())
}

fn check_version(inner: impl Store + Clone + 'static, before: Option<&'static str>) -> Outcome {
    let key = Key::new("attributes.json")?;
    if let Some(before) = before {
        inner.put(&key, &[before.into()], Precondition::None)?;
    }
    let storage = Storage::blocking(Meddled {
        inner: inner.clone(),
        done: AtomicBool::new(false),
    });
    Array::<u8>::builder([3])
        .format(Format::N5)
        .create((&storage, "g/a"))?;
    let root = Group::open(Storage::blocking(inner))?;
    assert_eq!(
        serde_json::to_value(root.attributes())?,
        json!({"old": 1, "mine": [1, 2]})
    );
    assert_eq!(root.format(), Format::N5);
    Ok(())
}
