//! Tests on a file system that does not replace or remove files that are open, such as a share of
//! Windows.

use std::sync::atomic::{AtomicU64, Ordering};

use ndzarr_store::{Locked, Pin};

use super::*;
use crate::file_system::{FileSystem, Place};

/// Refuses to replace and to remove what this process has open. Its clock advances when the store
/// pauses.
#[derive(Debug, Default)]
struct Share {
    millis: AtomicU64,
    /// What is closed after some pauses.
    closes_at: Mutex<Option<(u64, File)>>,
}

/// Whether this process has a file of this name open.
fn is_open(path: &Path) -> bool {
    fs::read_dir("/proc/self/fd")
        .into_iter()
        .flatten()
        .flatten()
        .any(|entry| fs::read_link(entry.path()).is_ok_and(|open| open == path))
}

impl Syscalls for Share {
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        if is_open(to) { Err(Errno::BUSY.into()) } else { System.rename(from, to) }
    }
    fn unlink(&self, path: &Path) -> io::Result<()> {
        let is_lock = path.to_string_lossy().ends_with(".__lock");
        if !is_lock && is_open(path) { Err(Errno::BUSY.into()) } else { System.unlink(path) }
    }
    fn file_system(&self, _: &File) -> io::Result<FileSystem> {
        Ok(FileSystem::of_volume("NTFS", 0, Place::Drive))
    }
    fn now(&self) -> Duration {
        Duration::from_millis(self.millis.load(Ordering::Relaxed))
    }
    fn pause(&self, _: Duration) {
        let now = self.millis.fetch_add(1, Ordering::Relaxed) + 1;
        held(&self.closes_at).take_if(|(at, _)| *at <= now);
    }
}

fn fetch(store: &FsStore, of: Of) -> Result<Fetched, StoreError> {
    store.fetch(&Fetch { key: key()?, of, want: Want::Whole { limit: 100 } })
}

fn pin(store: &FsStore) -> Result<Pin, Box<dyn Error>> {
    match fetch(store, Of::Any)? {
        Fetched::Parts { pin, .. } => Ok(pin),
        other => Err(format!("{other:?}").into()),
    }
}

fn setup() -> Result<(Setup, Arc<Share>, FsStore), Box<dyn Error>> {
    let (setup, share) = (Setup::new()?, Arc::new(Share::default()));
    let store = FsStore::builder(setup.folder.path()).build_on(share.clone());
    Ok((setup, share, store))
}

/// Pins of one value must not keep its next ones from being written, in this process or another.
#[test]
fn a_pinned_value_can_be_replaced() -> Outcome {
    let (setup, _, store) = setup()?;
    let old = pin(&store)?;
    let Put::Done(Some(new)) = put(&store, Precondition::Current(old.clone()))? else {
        panic!("it is current")
    };
    assert!(matches!(fetch(&store, Of::IfCurrent(old.clone()))?, Fetched::Changed));
    assert!(matches!(fetch(&store, Of::Snapshot(old))?, Fetched::Changed), "it is not kept");
    assert!(matches!(fetch(&store, Of::Snapshot(new.clone()))?, Fetched::Parts { size: 9, .. }));
    // An update: the old value is read under the lock.
    let Locked::Held(mut lock) = store.lock(&key()?, Wait::Try)? else { panic!("it is free") };
    assert!(matches!(lock.fetch(Of::IfCurrent(new.clone()), Want::Size)?, Fetched::Parts { .. }));
    lock.append(b"newer")?;
    let newer = lock.publish()?;
    assert!(matches!(fetch(&store, Of::IfCurrent(newer.clone()))?, Fetched::Parts { size: 5, .. }));
    store.erase(&key()?, Precondition::Current(newer.clone()))?;
    assert!(matches!(fetch(&store, Of::Snapshot(newer))?, Fetched::Changed));
    assert_eq!(setup.value()?, None);
    Ok(())
}

#[test]
fn a_value_that_is_open_elsewhere_is_replaced_once_it_is_closed() -> Outcome {
    for erases in [false, true] {
        let (setup, share, store) = setup()?;
        let file = File::open(setup.folder.path().join("a/b"))?;
        assert!(is_open(&setup.folder.path().join("a/b")));
        *held(&share.closes_at) = Some((500, file));
        if erases {
            store.erase(&key()?, Precondition::None)?;
        } else {
            put(&store, Precondition::None)?;
        }
        assert!(held(&share.closes_at).is_none());
        assert_eq!(setup.value()?.as_deref(), (!erases).then_some("new value"));
    }
    Ok(())
}

#[test]
fn a_value_that_stays_open_elsewhere_is_an_error() -> Outcome {
    let (setup, share, store) = setup()?;
    let file = File::open(setup.folder.path().join("a/b"))?;
    let errors = [put(&store, Precondition::None).err(), store.erase(&key()?, Precondition::None).err()];
    for (error, action) in errors.into_iter().zip(["publish", "erase"]) {
        let Some(StoreError::Io { action: tried, source, .. }) = error else { panic!("{error:?}") };
        assert_eq!((tried, source.kind()), (action, io::ErrorKind::ResourceBusy));
        assert!(source.to_string().starts_with("it is open elsewhere"), "{source}");
    }
    assert_eq!(share.millis.load(Ordering::Relaxed), 20_000, "ten seconds each");
    drop(file);
    assert_eq!((setup.value()?.as_deref(), setup.files()?), (Some("old value"), vec!["b".to_owned()]));
    Ok(())
}

/// Where the clock of the file system is too coarse to tell two values apart, a pin keeps the file.
#[test]
fn a_value_that_its_identity_does_not_tell_apart_stays_open() -> Outcome {
    let (setup, _, store) = setup()?;
    let path = setup.folder.path().join("a/b");
    assert!(pin(&store).is_ok() && !is_open(&path));
    let coarse = crate::stat::Stat { modified: 2_000_000_000, changed: 4_000_000_000, ..System.stat(&path)? };
    assert!(!crate::identity::Identity::of(&coarse).is_precise());
    let precise = crate::stat::Stat { changed: 4_000_000_100, ..coarse };
    assert!(crate::identity::Identity::of(&precise).is_precise());
    Ok(())
}
