//! Tests on a file system that does not replace or remove files that are open, such as a share of
//! Windows.

use std::sync::atomic::{AtomicU64, Ordering};

use ndzarr_store::{Locked, Pin};

use super::*;
use crate::system::file_system::{FileSystem, Place};

/// Refuses to replace and to remove what this process has open. Its clock advances when the store
/// pauses.
#[derive(Debug, Default)]
struct Share {
    /// The steps of the times of files, in nanoseconds.
    tick: i128,
    millis: AtomicU64,
    /// What is closed after some pauses.
    closes_at: Mutex<Option<(u64, File)>>,
    /// Removes an open value to replace it, as Linux does on a share: the server keeps its name
    /// taken until it is closed.
    removes: bool,
}

/// True if this process has a file of this name open.
fn is_open(path: &Path) -> bool {
    fs::read_dir("/proc/self/fd")
        .into_iter()
        .flatten()
        .flatten()
        .any(|entry| fs::read_link(entry.path()).is_ok_and(|open| open == path))
}

/// Those of a precise clock, of exFAT, sshfs and FAT.
const TICKS: [i128; 4] = [1, 10_000_000, 1_000_000_000, 2_000_000_000];

impl Share {
    /// As FAT has it: a file is known by where its name stands in the folder, and only changes of
    /// the content have a time.
    fn seen(&self, stat: Stat, path: &Path) -> Stat {
        if self.tick == 1 {
            return stat;
        }
        let modified = stat.modified - stat.modified % self.tick;
        let mut file = stat.file;
        if !path.to_string_lossy().contains(".__lock") {
            file.number = 7;
        }
        Stat {
            file,
            modified,
            changed: modified,
            ..stat
        }
    }
}

impl Syscalls for Share {
    fn file_stat(&self, file: &File) -> io::Result<Stat> {
        use std::os::fd::AsRawFd;

        let path = fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
        Ok(self.seen(System.file_stat(file)?, &path))
    }
    fn stat(&self, path: &Path) -> io::Result<Stat> {
        Ok(self.seen(System.stat(path)?, path))
    }
    fn link_stat(&self, path: &Path) -> io::Result<Stat> {
        Ok(self.seen(System.link_stat(path)?, path))
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        if self.removes && held(&self.closes_at).is_some() {
            let _ = System.unlink(to);
            return Err(Errno::NOENT.into());
        }
        if is_open(to) {
            Err(Errno::BUSY.into())
        } else {
            System.rename(from, to)
        }
    }
    fn unlink(&self, path: &Path) -> io::Result<()> {
        let is_lock = path.to_string_lossy().ends_with(".__lock");
        if !is_lock && is_open(path) {
            Err(Errno::BUSY.into())
        } else {
            System.unlink(path)
        }
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
    store.fetch(&Fetch {
        key: key()?,
        of,
        want: Want::Whole { limit: 100 },
    })
}

fn pin(store: &FsStore) -> Result<Pin, Box<dyn Error>> {
    match fetch(store, Of::Any)? {
        Fetched::Parts { pin, .. } => Ok(pin),
        other => Err(format!("{other:?}").into()),
    }
}

fn setup(tick: i128) -> Result<(Setup, Arc<Share>, FsStore), Box<dyn Error>> {
    let setup = Setup::new()?;
    let share = Arc::new(Share {
        tick,
        ..Share::default()
    });
    let store = FsStore::builder(setup.folder.path()).build_on(share.clone());
    Ok((setup, share, store))
}

/// Pins of one value must not keep its next ones from being written, in this process or another.
#[test]
fn a_pinned_value_can_be_replaced() -> Outcome {
    for tick in TICKS {
        let (setup, _, store) = setup(tick)?;
        let old = pin(&store)?;
        let Put::Done(Some(new)) = put(&store, Precondition::Current(old.clone()))? else {
            panic!("it is current")
        };
        assert!(matches!(
            fetch(&store, Of::IfCurrent(old.clone()))?,
            Fetched::Changed
        ));
        assert!(
            matches!(fetch(&store, Of::Snapshot(old))?, Fetched::Changed),
            "it is not kept"
        );
        assert!(matches!(
            fetch(&store, Of::Snapshot(new.clone()))?,
            Fetched::Parts { size: 9, .. }
        ));
        // An update: the old value is read under the lock.
        let Locked::Held(mut lock) = store.lock(&key()?, Wait::Try)? else {
            panic!("it is free")
        };
        assert!(matches!(
            lock.fetch(Of::IfCurrent(new.clone()), Want::Size)?,
            Fetched::Parts { .. }
        ));
        lock.append(b"newer")?;
        let newer = lock.publish()?;
        assert!(matches!(
            fetch(&store, Of::IfCurrent(newer.clone()))?,
            Fetched::Parts { size: 5, .. }
        ));
        store.erase(&key()?, Precondition::Current(newer.clone()))?;
        assert!(matches!(
            fetch(&store, Of::Snapshot(newer))?,
            Fetched::Changed
        ));
        assert_eq!(setup.value()?, None);
    }
    Ok(())
}

#[test]
fn a_value_that_is_open_elsewhere_is_replaced_once_it_is_closed() -> Outcome {
    for (erases, tick) in [false, true]
        .into_iter()
        .flat_map(|erases| TICKS.map(|tick| (erases, tick)))
    {
        let (setup, share, store) = setup(tick)?;
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
fn a_value_that_was_removed_to_be_replaced_is_not_lost() -> Outcome {
    let setup = Setup::new()?;
    let share = Arc::new(Share {
        tick: 1,
        removes: true,
        ..Share::default()
    });
    let store = FsStore::builder(setup.folder.path()).locking(crate::Locking::Portable);
    let store = store.build_on(share.clone());
    let file = File::open(setup.folder.path().join("a/b"))?;
    *held(&share.closes_at) = Some((500, file));
    put(&store, Precondition::None)?;
    assert!(held(&share.closes_at).is_none(), "it was waited for");
    assert_eq!(setup.value()?.as_deref(), Some("new value"));
    Ok(())
}

/// A client of NFS renames an open value away before it replaces it: a writer that is killed in
/// between leaves none.
#[test]
fn an_update_on_nfs_does_not_keep_the_old_value_open() -> Outcome {
    let setup = Setup::new()?;
    let path = setup.folder.path().join("a/b");
    let (give, take) = std::sync::mpsc::channel();
    let meanwhile = Faulty::meanwhile("rename", move || {
        let _ = give.send(is_open(&path));
    });
    let store = setup.faulty(Faulty {
        file_system: Some(0x6969),
        ..meanwhile
    });
    let Locked::Held(mut lock) = store.lock(&key()?, Wait::Try)? else {
        panic!("it is free")
    };
    let Fetched::Parts { pin, .. } = lock.fetch(Of::Any, Want::Whole { limit: 100 })? else {
        panic!("it exists")
    };
    lock.append(b"newer")?;
    lock.publish()?;
    assert!(!take.recv()?);
    assert!(matches!(
        fetch(&store, Of::Snapshot(pin))?,
        Fetched::Changed
    ));
    assert_eq!(setup.value()?.as_deref(), Some("newer"));
    Ok(())
}

#[test]
fn a_value_that_stays_open_elsewhere_is_an_error() -> Outcome {
    let (setup, share, store) = setup(1)?;
    let file = File::open(setup.folder.path().join("a/b"))?;
    let errors = [
        put(&store, Precondition::None).err(),
        store.erase(&key()?, Precondition::None).err(),
    ];
    for (error, action) in errors.into_iter().zip(["publish", "erase"]) {
        let Some(StoreError::Io {
            action: tried,
            source,
            ..
        }) = error
        else {
            panic!("{error:?}")
        };
        assert_eq!(
            (tried, source.kind()),
            (action, io::ErrorKind::ResourceBusy)
        );
        assert!(
            source.to_string().starts_with("it is open elsewhere"),
            "{source}"
        );
    }
    assert_eq!(
        share.millis.load(Ordering::Relaxed),
        20_000,
        "ten seconds each"
    );
    drop(file);
    assert_eq!(
        (setup.value()?.as_deref(), setup.files()?),
        (Some("old value"), vec!["b".to_owned()])
    );
    Ok(())
}

/// Neither the number of the file, nor its size, nor the clock tells values apart that are written
/// at once.
#[test]
fn values_that_replace_each_other_at_once_are_told_apart() -> Outcome {
    for tick in TICKS {
        let (setup, _, store) = setup(tick)?;
        let mut pins = vec![pin(&store)?];
        for i in 0..20 {
            let value = format!("{i:09}");
            if i % 2 == 0 {
                store.put(&key()?, &[value.into()], Precondition::None)?;
            } else {
                let temporary = store.temporary(&key()?)?.ok_or("a file system has room")?;
                temporary.append(value.as_bytes())?;
                let Locked::Held(lock) = store.lock(&key()?, Wait::Try)? else {
                    panic!("it is free")
                };
                temporary.publish(lock)?;
            }
            pins.push(pin(&store)?);
            assert!(!is_open(&setup.folder.path().join("a/b")), "tick {tick}");
        }
        let current = pins.pop().ok_or("the last one")?;
        assert!(matches!(
            fetch(&store, Of::Snapshot(current))?,
            Fetched::Parts { size: 9, .. }
        ));
        for (i, old) in pins.into_iter().enumerate() {
            assert!(
                matches!(fetch(&store, Of::Snapshot(old))?, Fetched::Changed),
                "{i}, tick {tick}"
            );
        }
    }
    Ok(())
}
