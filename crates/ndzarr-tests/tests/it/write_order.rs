//! The order in which values are written and removed: after any number of writes, the content is
//! consistent.

use ndarray::Array2;
use ndzarr::store::{Key, Prefix, Wait};
use ndzarr::{Array, ArrayBuilder, ErrorKind, Format, FsStore, Group, MemoryStore, Storage, Store};
use ndzarr_testkit::RecordingStore;
use serde_json::json;

type Form = (&'static str, fn(ArrayBuilder<u16>) -> ArrayBuilder<u16>);

const FORMS: [Form; 6] = [
    ("zarr2", |b| b.format(Format::Zarr2)),
    ("zarr3", |b| b.separator('.')),
    ("zarr3 shards", |b| b.shards([4, 4])),
    ("draft A", |b| b.format(Format::DraftA)),
    ("draft B", |b| b.format(Format::DraftB)),
    ("n5", |b| b.format(Format::N5)),
];

/// The work, and the shapes of the array on the way.
type Work = fn(&Storage, &Form);

fn create(storage: &Storage, form: &Form, length: u64) -> Array<u16> {
    let builder = form.1(
        Array::<u16>::builder([length, 5])
            .chunks([2, 2])
            .overwrite(),
    );
    builder
        .attributes(json!({"length": length}))
        .create((storage, "g/1"))
        .expect("a new array")
}

/// Every element that is written equals the length of the array then, or after its append.
const WORKS: [(&str, Work); 5] = [
    ("create", |storage, form| {
        create(storage, form, 7);
    }),
    ("replace", |storage, form| {
        create(storage, form, 7)
            .fill([0..7, 0..5], 7)
            .expect("a write");
        create(storage, form, 3)
            .fill([0..3, 0..5], 3)
            .expect("a write");
    }),
    ("shrink and grow", |storage, form| {
        let mut a = create(storage, form, 7);
        a.fill([0..7, 0..5], 7).expect("a write");
        a.resize([3, 5]).expect("a resize");
        a.resize([9, 5]).expect("a resize");
    }),
    ("append", |storage, form| {
        let mut a = create(storage, form, 3);
        for length in [4, 7, 12] {
            let more = length - a.shape()[0];
            a.append(0, &Array2::from_elem((more as usize, 5), length as u16))
                .expect("an append");
        }
    }),
    ("erase", |storage, form| {
        create(storage, form, 7)
            .fill([0..7, 0..5], 7)
            .expect("a write");
        let root = Group::open(storage).expect("the root");
        root.erase("g").expect("it can be erased");
    }),
];

#[test]
fn the_content_is_consistent_after_any_number_of_writes() {
    for form in &FORMS {
        for (name, work) in WORKS {
            let recorder = RecordingStore::new(MemoryStore::new());
            work(&Storage::blocking(recorder.clone()), form);
            let store = MemoryStore::new();
            let mut seen = Vec::new();
            for (n, change) in recorder.log().iter().enumerate() {
                change.replay_into(&store).expect("a change");
                let at = format!("{} {name}: after {n} writes, up to {}", form.0, change.key);
                let a = match Array::<u16>::open((&store, "g/1")) {
                    Ok(a) => a,
                    // A folder of N5 with chunks and no document is a group.
                    Err(error)
                        if matches!(
                            error.kind(),
                            ErrorKind::NotFound | ErrorKind::WrongNodeKind
                        ) =>
                    {
                        continue;
                    }
                    Err(error) => panic!("{at}: {error:?}"),
                };
                let length = a.shape()[0];
                if seen.last() != Some(&length) {
                    seen.push(length);
                }
                let elements = a.read(..).unwrap_or_else(|error| panic!("{at}: {error:?}"));
                if name == "append" {
                    // Without locks the document first reserves the place, and the elements are the
                    // fill value until they are written. Under locks the elements come first: see
                    // `appends.rs`.
                    let row = |row: u64| {
                        [3, 4, 7, 12]
                            .into_iter()
                            .find(|&length| row < length)
                            .unwrap_or(0)
                    };
                    for (index, &element) in elements.indexed_iter() {
                        let expected = if index[0] < 3 {
                            0
                        } else {
                            row(index[0] as u64) as u16
                        };
                        let reserved = index[0] >= 3 && element == 0;
                        assert!(element == expected || reserved, "{at} {index:?}: {element}");
                    }
                } else {
                    assert_eq!(a.attributes().len(), 1, "{at}");
                    // No element belongs to another array or was cut off.
                    let known = if a.attributes()["length"] == 3 { 3 } else { 7 };
                    assert!(
                        elements
                            .iter()
                            .all(|&element| element == 0 || element == known),
                        "{at}: {elements}"
                    );
                }
            }
            let expected: &[u64] = match name {
                "create" | "erase" => &[7],
                "replace" => &[7, 3],
                "append" => &[3, 4, 7, 12],
                _ => &[7, 3, 9],
            };
            assert_eq!(seen, expected, "{} {name}", form.0);
        }
    }
}

#[test]
fn documents_are_removed_first() {
    for form in &FORMS {
        let recorder = RecordingStore::new(MemoryStore::new());
        let storage = Storage::blocking(recorder.clone());
        create(&storage, form, 7)
            .fill([0..7, 0..5], 7)
            .expect("a write");
        let before = recorder.log().len();
        Group::open(&storage)
            .expect("the root")
            .erase("g")
            .expect("it can be erased");
        let log = recorder.log();
        let is_document = |key: &str| key.contains(".z") || key.contains("json");
        let removed: Vec<bool> = log[before..]
            .iter()
            .map(|change| is_document(change.key.as_str()))
            .collect();
        assert!(
            removed.is_sorted_by(|first, second| first >= second),
            "{}: {:?}",
            form.0,
            &log[before..]
        );
        assert!(
            removed[0] && removed.len() > 4,
            "{}: {:?}",
            form.0,
            &log[before..]
        );
    }
}

#[test]
fn files_of_documents_are_removed_first() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = FsStore::new(folder.path());
    let a = Array::<u8>::builder([4])
        .chunks([1])
        .separator('.')
        .create((&store, "g/1"))
        .expect("a new array");
    a.fill([0..4], 1).expect("a write");
    // A holder of a chunk's lock delays its removal, but not that of the document.
    for chunk in 0..4 {
        let key = Key::new(format!("g/1/c.{chunk}")).expect("a key");
        let lock = store
            .lock(&key, ndzarr::store::Wait::Block)
            .expect("a lock");
        let store = &store;
        std::thread::scope(|scope| {
            scope.spawn(move || {
                store
                    .erase_prefix(&Prefix::new("g/").expect("a prefix"), Wait::Block)
                    .expect("it can be erased")
            });
            while folder.path().join("g/1/zarr.json").exists() {
                std::thread::yield_now();
            }
            assert!(folder.path().join(key.as_str()).exists());
            drop(lock);
        });
        assert!(!folder.path().join("g").exists());
        a.fill([0..4], 1).expect("a write");
        std::fs::write(folder.path().join("g/1/zarr.json"), b"{}").expect("a file");
    }
}
