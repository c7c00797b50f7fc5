//! Programs that write documents and blocks in place, as Java N5 does: for a moment a value is
//! blank or cut. Calls wait for it, and one that stays so is an error; nothing is ever made from
//! it.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use ndzarr::ndarray::array;
use ndzarr::{
    Array, DamageReport, Error, ErrorKind, Format, Group, RunOptions, Storage, asynchronous, codec,
};
use ndzarr_store::{
    Fetch, Fetched, Key, KeyLock, Locked, Of, Pin, Precondition, Put, Store, StoreError, Wait, Want,
};
use ndzarr_store_fs::FsStore;
use ndzarr_testkit::block_on;
use serde_json::json;

type Outcome<T = ()> = Result<T, Error>;

const FORMATS: [Format; 5] = [
    Format::Zarr2,
    Format::Zarr3,
    Format::DraftA,
    Format::DraftB,
    Format::N5,
];

/// A file, and what it has when it is whole.
type Rest = (PathBuf, Vec<u8>);

/// A store of files of which another program has cut one. It writes the rest when a caller waits
/// for it.
#[derive(Clone, Debug)]
pub(crate) struct CutFiles {
    inner: FsStore,
    rest: Arc<Mutex<Option<Rest>>>,
    /// The values that were locked themselves.
    locked: Arc<Mutex<Vec<String>>>,
}

impl CutFiles {
    pub(crate) fn new(root: &Path) -> Self {
        Self {
            inner: FsStore::new(root),
            rest: Arc::default(),
            locked: Arc::default(),
        }
    }

    pub(crate) fn storage(&self) -> Storage {
        Storage::blocking(self.clone())
    }

    /// Cuts a file, to be written later or never.
    pub(crate) fn cut(&self, path: &Path, to: &[u8], later: Option<&[u8]>) {
        *self.rest.lock().expect("no panic") = later.map(|value| (path.to_owned(), value.to_vec()));
        fs::write(path, to).expect("it can be written");
    }
}

impl Store for CutFiles {
    fn inner(&self) -> Option<&dyn Store> {
        Some(&self.inner)
    }

    fn name(&self) -> String {
        self.inner.name()
    }

    fn fetch(&self, fetch: &Fetch) -> Result<Fetched, StoreError> {
        self.inner.fetch(fetch)
    }

    fn put(&self, key: &Key, parts: &[Bytes], only_if: Precondition) -> Result<Put, StoreError> {
        self.inner.put(key, parts, only_if)
    }

    fn erase(&self, key: &Key, only_if: Precondition) -> Result<Put, StoreError> {
        self.inner.erase(key, only_if)
    }

    fn stays(&self, _: &Key, _: &Pin, _: Wait<'_>) -> Result<bool, StoreError> {
        let Some((path, value)) = self.rest.lock().expect("no panic").take() else {
            return Ok(true);
        };
        fs::write(path, value).expect("it can be written");
        Ok(false)
    }

    fn lock(&self, key: &Key, wait: Wait<'_>) -> Result<Locked, StoreError> {
        Ok(match self.inner.lock(key, wait)? {
            Locked::Held(lock) => Locked::Held(Box::new(Watched {
                lock,
                key: key.to_string(),
                locked: Arc::clone(&self.locked),
            })),
            other => other,
        })
    }
}

struct Watched {
    lock: Box<dyn KeyLock>,
    key: String,
    locked: Arc<Mutex<Vec<String>>>,
}

impl KeyLock for Watched {
    fn lock_value(&mut self, wait: Wait<'_>) -> Result<bool, StoreError> {
        self.locked.lock().expect("no panic").push(self.key.clone());
        self.lock.lock_value(wait)
    }

    fn fetch(&mut self, of: Of, want: Want) -> Result<Fetched, StoreError> {
        self.lock.fetch(of, want)
    }

    fn append(&mut self, part: &[u8]) -> Result<u64, StoreError> {
        self.lock.append(part)
    }

    fn write_at(&mut self, at: u64, part: &[u8]) -> Result<(), StoreError> {
        self.lock.write_at(at, part)
    }

    fn publish(self: Box<Self>) -> Result<Pin, StoreError> {
        self.lock.publish()
    }

    fn erase(self: Box<Self>) -> Result<(), StoreError> {
        self.lock.erase()
    }
}

/// The document below a folder that has this text.
fn document_with(folder: &Path, text: &str) -> PathBuf {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if fs::read_to_string(&path).is_ok_and(|content| content.contains(text)) {
                return path;
            }
        }
    }
    panic!("no document has {text}");
}

/// What a document is while it is written.
fn cuts(document: &[u8]) -> [&[u8]; 4] {
    [b"", b" \n", &document[..1], &document[..document.len() / 2]]
}

/// An array with elements and an attribute, and a group with another.
fn hierarchy(root: &Path, format: Format) -> Outcome {
    Group::builder()
        .format(format)
        .attributes(json!({"of the group": 1}))
        .create((root, "g"))?;
    let builder = Array::<u8>::builder([4])
        .chunks([2])
        .format(format)
        .codecs([codec::gzip(1)]);
    let a = builder
        .attributes(json!({"of the array": [1, 2]}))
        .create((root, "g/a"))?;
    a.fill(.., 7)
}

type Change = fn(&mut Array<u8>) -> Outcome;

const ATTRIBUTES: Change = |a| a.merge_attributes(json!({"new": true}));
const ONE_ATTRIBUTE: Change = |a| a.update_attribute("new", |old: Option<bool>| old.is_none());
const RESIZE: Change = |a| a.resize([6]);
const SHRINK: Change = |a| a.resize([3]);
const APPEND: Change = |a| a.append(0, &array![8, 8]);

/// Changes as futures.
const AS_FUTURES: [Change; 3] = [
    |a| block_on(as_future(a).merge_attributes(json!({"new": true}))),
    |a| block_on(as_future(a).resize(&[6])),
    |a| block_on(as_future(a).append(0, &array![8, 8])),
];

fn as_future(a: &Array<u8>) -> asynchronous::Array<u8> {
    asynchronous::Array::from(a.clone())
}

fn changes_of_arrays() -> Vec<Change> {
    [
        vec![ATTRIBUTES, ONE_ATTRIBUTE, RESIZE, SHRINK, APPEND],
        AS_FUTURES.to_vec(),
    ]
    .concat()
}

#[test]
fn a_change_waits_for_a_document_that_is_being_written() -> Outcome {
    for format in FORMATS {
        for change in changes_of_arrays() {
            let texts: &[&str] = if format == Format::Zarr2 {
                &["of the array", "shape"]
            } else {
                &["of the array"]
            };
            for text in texts {
                let folder = tempfile::tempdir().expect("a folder");
                hierarchy(folder.path(), format)?;
                let files = CutFiles::new(folder.path());
                let mut a = Array::<u8>::open((files.storage(), "g/a"))?;
                let document = document_with(folder.path(), text);
                let whole = fs::read(&document).expect("it exists");
                for cut in cuts(&whole) {
                    files.cut(&document, cut, Some(&whole));
                    change(&mut a).unwrap_or_else(|error| panic!("{format}, {cut:?}: {error:?}"));
                    // Where the change had nothing to do with that document.
                    if files.rest.lock().expect("no panic").take().is_some() {
                        fs::write(&document, &whole).expect("it can be written");
                    }
                    let b = Array::<u8>::open((folder.path(), "g/a"))?;
                    assert_eq!(b.attributes()["of the array"], json!([1, 2]), "{format}");
                    assert_eq!(b.read([0..3])?, array![7, 7, 7], "{format}");
                    a = Array::<u8>::open((files.storage(), "g/a"))?;
                    // What it is changed from next.
                    a.resize([4])?;
                    a.fill(.., 7)?;
                    a.change_attributes(&ndzarr::AttributeChange::Remove(vec!["new".to_owned()]))?;
                }
            }
        }
    }
    Ok(())
}

fn check_error(error: &Error, document: &Path, cut: &[u8], what: &str) {
    assert_eq!(
        error.kind(),
        ErrorKind::InvalidMetadata,
        "{what}: {error:?}"
    );
    let key = error.key().unwrap_or_else(|| panic!("{what}: {error:?}"));
    assert!(document.ends_with(key), "{what}: {error:?}");
    let is_blank = cut.iter().all(u8::is_ascii_whitespace);
    assert_eq!(
        error.to_string().contains("is blank"),
        is_blank,
        "{what}: {error}"
    );
    assert_eq!(fs::read(document).expect("it exists"), cut, "{what}");
}

#[test]
fn nothing_is_made_from_a_document_that_stays_blank_or_cut() -> Outcome {
    for format in FORMATS {
        let folder = tempfile::tempdir().expect("a folder");
        hierarchy(folder.path(), format)?;
        let files = CutFiles::new(folder.path());
        let mut a = Array::<u8>::open((files.storage(), "g/a"))?;
        let mut g = Group::open((files.storage(), "g"))?;
        let is_v2 = format == Format::Zarr2;
        for (text, changes) in [
            (
                "of the array",
                vec![ATTRIBUTES, ONE_ATTRIBUTE, AS_FUTURES[0]],
            ),
            (
                if is_v2 { "shape" } else { "of the array" },
                vec![RESIZE, SHRINK, APPEND, AS_FUTURES[1], AS_FUTURES[2]],
            ),
        ] {
            let document = document_with(folder.path(), text);
            let whole = fs::read(&document).expect("it exists");
            for cut in cuts(&whole) {
                files.cut(&document, cut, None);
                for change in &changes {
                    let error = change(&mut a).expect_err("it stays so");
                    check_error(
                        &error,
                        &document,
                        cut,
                        &format!("{format}, a change of {text}"),
                    );
                }
                let error = Array::<u8>::open((files.storage(), "g/a")).expect_err("it stays so");
                check_error(&error, &document, cut, &format!("{format}, opened"));
                fs::write(&document, &whole).expect("it can be written");
                assert_eq!(a.read(..)?, array![7, 7, 7, 7].into_dyn());
            }
        }
        let document = document_with(folder.path(), "of the group");
        let whole = fs::read(&document).expect("it exists");
        for cut in cuts(&whole) {
            files.cut(&document, cut, None);
            let error = g
                .merge_attributes(json!({"new": 1}))
                .expect_err("it stays so");
            check_error(
                &error,
                &document,
                cut,
                &format!("{format}, a change of the group"),
            );
            let error = Group::open((files.storage(), "g")).expect_err("it stays so");
            check_error(
                &error,
                &document,
                cut,
                &format!("{format}, the group is opened"),
            );
        }
    }
    Ok(())
}

/// Without its copy in the map, the array would not exist for those who read the map.
#[test]
fn no_copy_is_left_out_of_consolidated_metadata() -> Outcome {
    for format in [Format::Zarr2, Format::Zarr3] {
        let folder = tempfile::tempdir().expect("a folder");
        hierarchy(folder.path(), format)?;
        let files = CutFiles::new(folder.path());
        let mut g = Group::open((files.storage(), "g"))?;
        let document = document_with(folder.path(), "shape");
        let whole = fs::read(&document).expect("it exists");
        files.cut(&document, b"", None);
        let error = g.consolidate().expect_err("it stays so");
        check_error(&error, &document, b"", &format!("{format}"));
        files.cut(&document, b"", Some(&whole));
        g.consolidate()?;
        fs::remove_file(&document).expect("it was there");
        assert!(
            Group::open((folder.path(), "g"))?.contains("a")?,
            "{format}: it is in the map"
        );
    }
    Ok(())
}

#[test]
fn no_dataset_is_made_over_one_that_java_is_writing() -> Outcome {
    let folder = tempfile::tempdir().expect("a folder");
    hierarchy(folder.path(), Format::N5)?;
    let files = CutFiles::new(folder.path());
    let document = folder.path().join("g/a/attributes.json");
    let whole = fs::read(&document).expect("it exists");
    for format in [Format::N5, Format::Zarr3] {
        let builder = Array::<u8>::builder([9]).format(format);
        files.cut(&document, b"", Some(&whole));
        let error = builder
            .clone()
            .create((files.storage(), "g/a"))
            .expect_err("it exists");
        assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{error:?}");
        files.cut(&document, b"", None);
        let error = builder
            .create((files.storage(), "g/a"))
            .expect_err("it may exist");
        check_error(&error, &document, b"", "created");
    }
    let new = Array::<u8>::builder([9])
        .format(Format::N5)
        .overwrite()
        .create((files.storage(), "g/a"))?;
    assert_eq!(new.shape(), [9]);
    Ok(())
}

/// A dataset of one block, the file of the block, and what it is.
fn block(folder: &Path, compressed: bool) -> Outcome<(PathBuf, Vec<u8>)> {
    let mut builder = Array::<u16>::builder([4]).chunks([4]).format(Format::N5);
    if compressed {
        builder = builder.codecs([codec::gzip(1)]);
    }
    builder
        .create((folder, "a"))?
        .write(.., &array![1, 2, 3, 4])?;
    let path = folder.join("a/0");
    let whole = fs::read(&path).expect("it exists");
    Ok((path, whole))
}

#[test]
fn readers_and_writers_wait_for_a_block_that_is_being_written() -> Outcome {
    for compressed in [false, true] {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, whole) = block(folder.path(), compressed)?;
        let files = CutFiles::new(folder.path());
        let a = Array::<u16>::open((files.storage(), "a"))?;
        for len in 0..whole.len() {
            let cut = || files.cut(&path, &whole[..len], Some(&whole));
            cut();
            assert_eq!(a.read(..)?, array![1, 2, 3, 4].into_dyn(), "{len}");
            cut();
            assert_eq!(a.read([1..3])?, array![2, 3], "{len}");
            cut();
            assert_eq!(
                block_on(asynchronous::Array::from(a.clone()).read(..))?,
                array![1, 2, 3, 4].into_dyn()
            );
            cut();
            let read = a.n5_blocks().read(&[0])?.expect("a block");
            assert_eq!(read.elements, [1, 2, 3, 4], "{len}");
            cut();
            let report = DamageReport::new();
            let tolerant = a
                .clone()
                .with_options(RunOptions::default().fill_damaged(&report));
            assert_eq!(tolerant.read(..)?, array![1, 2, 3, 4].into_dyn(), "{len}");
            assert!(report.take().is_empty(), "{len}");
            cut();
            a.write([1..2], &array![9])?;
            assert_eq!(a.read(..)?, array![1, 9, 3, 4].into_dyn(), "{len}");
            cut();
            block_on(asynchronous::Array::from(a.clone()).write([1..2], &array![9]))?;
            assert_eq!(a.read(..)?, array![1, 9, 3, 4].into_dyn(), "{len}");
        }
    }
    Ok(())
}

#[test]
fn a_block_that_stays_cut_is_an_error() -> Outcome {
    for compressed in [false, true] {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, whole) = block(folder.path(), compressed)?;
        let files = CutFiles::new(folder.path());
        let a = Array::<u16>::open((files.storage(), "a"))?;
        for len in 0..whole.len() {
            files.cut(&path, &whole[..len], None);
            for error in [
                a.read(..).expect_err("it is cut"),
                a.n5_blocks().read(&[0]).expect_err("it is cut"),
                a.write([1..2], &array![9]).expect_err("it is cut"),
                block_on(asynchronous::Array::from(a.clone()).write([1..2], &array![9]))
                    .expect_err("it is cut"),
            ] {
                assert_eq!(error.kind(), ErrorKind::Corrupt, "{error:?}");
                assert_eq!(error.key(), Some("a/0"), "{error:?}");
            }
            assert_eq!(
                fs::read(&path).expect("it exists"),
                whole[..len],
                "nothing was made from it"
            );
        }
    }
    Ok(())
}

/// Where other programs lock the value itself, and a part of it is kept.
#[test]
fn only_documents_and_parts_of_blocks_lock_the_value_itself() -> Outcome {
    for format in FORMATS {
        let folder = tempfile::tempdir().expect("a folder");
        hierarchy(folder.path(), format)?;
        let files = CutFiles::new(folder.path());
        let mut a = Array::<u8>::open((files.storage(), "g/a"))?;
        let locked = || std::mem::take(&mut *files.locked.lock().expect("no panic"));
        a.write([0..2], &array![1, 2])?;
        assert_eq!(locked(), [""; 0], "{format}: nothing is kept");
        a.write([1..2], &array![3])?;
        let expected: &[&str] = if format == Format::N5 {
            &["g/a/0"]
        } else {
            &[]
        };
        assert_eq!(locked(), expected, "{format}");
        a.merge_attributes(json!({"new": 1}))?;
        assert_eq!(locked().len(), 1, "{format}");
    }
    Ok(())
}
