//! A process that may open few files: what is kept open only to save time is closed, and no call
//! keeps a file open for each node that it looks at.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use ndzarr::store::{
    DirListing, Fetch, Fetched, Key, Of, Pin, Precondition, Prefix, Put, StoreError,
};
use ndzarr::{Array, CopyOptions, Format, Group, MemoryStore, Result, Storage, Store, copy};
use ndzarr_testkit::{forward, in_own_process};
use serde_json::json;

/// How many files may be open.
const MOST: usize = 12;

/// A store whose pins are open files.
#[derive(Clone, Debug, Default)]
struct FewFiles {
    inner: MemoryStore,
    open: Arc<AtomicUsize>,
}

/// An open file.
struct Open(Arc<AtomicUsize>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl FewFiles {
    fn open(&self, what: &dyn ToString) -> Result<Open, StoreError> {
        let file = Open(Arc::clone(&self.open));
        if self.open.fetch_add(1, Ordering::SeqCst) >= MOST {
            // EMFILE, or ERROR_TOO_MANY_OPEN_FILES.
            let error = io::Error::from_raw_os_error(if cfg!(windows) { 4 } else { 24 });
            return Err(StoreError::io("open", what.to_string(), error));
        }
        Ok(file)
    }
}

/// The pin of the store inside. A condition that no value fulfils has another one.
fn inner(pin: &Pin) -> Pin {
    pin.get::<(Pin, Option<Open>)>()
        .map_or_else(|| pin.clone(), |(pin, _)| pin.clone())
}

fn inner_condition(only_if: Precondition) -> Precondition {
    match only_if {
        Precondition::Current(pin) => Precondition::Current(inner(&pin)),
        other => other,
    }
}

impl Store for FewFiles {
    forward!(inner: name, can);

    fn fetch(&self, fetch: &Fetch) -> Result<Fetched, StoreError> {
        let (of, file) = match &fetch.of {
            Of::Any => (Of::Any, Some(self.open(&fetch.key)?)),
            Of::IfCurrent(pin) => (Of::IfCurrent(inner(pin)), Some(self.open(&fetch.key)?)),
            // It is read from the file that is open.
            Of::Snapshot(pin) => (Of::Snapshot(inner(pin)), None),
        };
        let fetched = self.inner.fetch(&Fetch {
            of,
            ..fetch.clone()
        })?;
        let Fetched::Parts { pin, size, parts } = fetched else {
            return Ok(fetched);
        };
        let pin = match (&fetch.of, file) {
            (Of::Snapshot(pin), _) => pin.clone(),
            (_, file) => Pin::holding((pin, file), |_| None),
        };
        Ok(Fetched::Parts { pin, size, parts })
    }

    fn put(&self, key: &Key, parts: &[Bytes], only_if: Precondition) -> Result<Put, StoreError> {
        let _file = self.open(key)?;
        Ok(
            match self.inner.put(key, parts, inner_condition(only_if))? {
                Put::Done(_) => Put::Done(None),
                other => other,
            },
        )
    }

    fn erase(&self, key: &Key, only_if: Precondition) -> Result<Put, StoreError> {
        let _file = self.open(key)?;
        self.inner.erase(key, inner_condition(only_if))
    }

    fn list_dir(&self, prefix: &Prefix) -> Result<DirListing, StoreError> {
        let _file = self.open(prefix)?;
        self.inner.list_dir(prefix)
    }

    fn list_prefix(&self, prefix: &Prefix) -> Result<Vec<Key>, StoreError> {
        let _file = self.open(prefix)?;
        self.inner.list_prefix(prefix)
    }
}

/// Indexes of shards are cached with open files, 64 at most. Any call that needs one of these
/// closes them.
#[test]
fn calls_about_documents_close_the_files_of_cached_indexes() {
    in_own_process!();
    let calls = || -> Result<()> {
        let store = FewFiles::default();
        let storage = Storage::blocking(store.clone());
        let group = Group::builder().create((&storage, ""))?;
        let a = Array::<u16>::builder([200, 64])
            .chunks([1, 8])
            .shards([1, 64])
            .create((&storage, "a"))?;
        a.fill(.., 1)?;
        let mut rows = 0..200_u64;
        let mut fill_up = || {
            while store.open.load(Ordering::SeqCst) < MOST {
                let row = rows.next().expect("there are more shards than files");
                assert_eq!(a.read((row, 0..8)).expect("a read").sum(), 8);
            }
        };
        let mut handle = a.clone();
        fill_up();
        handle.refresh()?;
        fill_up();
        Array::<u16>::open((&storage, "a"))?;
        fill_up();
        handle.merge_attributes(json!({"a": 1}))?;
        fill_up();
        assert_eq!(group.walk()?.len(), 1);
        fill_up();
        assert_eq!(a.units().stored()?.count(), 200);
        fill_up();
        Array::<u8>::builder([1]).create((&storage, "b"))?;
        fill_up();
        group.erase("b")?;
        fill_up();
        handle.resize([100, 64])?;
        Ok(())
    };
    calls().expect("files are closed");
}

/// No call keeps a file open for each node.
#[test]
fn calls_about_many_nodes_need_few_files() {
    in_own_process!();
    let calls = |format| -> Result<()> {
        let storage = Storage::blocking(FewFiles::default());
        let mut group = Group::builder().format(format).create((&storage, ""))?;
        for n in 0..100 {
            Group::builder()
                .format(format)
                .create((&storage, n.to_string()))?;
        }
        assert_eq!(group.walk()?.len(), 100);
        group.consolidate()?;
        assert_eq!(group.walk()?.len(), 100);
        let copied = Storage::blocking(FewFiles::default());
        copy((&storage, ""), (&copied, ""), &CopyOptions::new())?;
        assert_eq!(Group::open((&copied, ""))?.walk()?.len(), 100);
        Ok(())
    };
    for format in [Format::Zarr2, Format::Zarr3] {
        calls(format).unwrap_or_else(|error| panic!("{format:?}: {error}"));
    }
}
