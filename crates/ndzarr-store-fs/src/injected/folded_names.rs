//! Tests on file systems that ignore case and the form of Unicode, as those of Windows and macOS
//! do.

use std::ffi::{OsStr, OsString};
use std::sync::atomic::{AtomicUsize, Ordering};

use ndzarr_store::{DirListing, Locked, Prefix, Wait};

use super::*;
use crate::Locking;

/// Finds files by names that differ in case, in the form of `é`, or in characters without width,
/// and tells the path of an open one as it is stored.
#[derive(Clone, Copy, Debug)]
enum Folding {
    /// Keeps names as they are given, as APFS does.
    Keeping,
    /// Stores them in decomposed form, as HFS+ does.
    Decomposing,
}

const COMPOSED: &str = "\u{e9}";
const DECOMPOSED: &str = "e\u{301}";
const WITHOUT_WIDTH: &str = "\u{200c}";

fn decomposed(name: &OsStr) -> OsString {
    name.to_string_lossy().replace(COMPOSED, DECOMPOSED).into()
}

fn folded(name: &OsStr) -> String {
    decomposed(name)
        .to_string_lossy()
        .replace(WITHOUT_WIDTH, "")
        .to_ascii_lowercase()
}

impl Folding {
    /// The path as it is stored, as far as it exists.
    fn stored(self, path: &Path) -> PathBuf {
        let mut found = PathBuf::new();
        for name in path {
            let in_folder = fs::read_dir(&found).into_iter().flatten().flatten();
            let is_it = |entry: &fs::DirEntry| folded(&entry.file_name()) == folded(name);
            let spelled = in_folder
                .filter(is_it)
                .map(|entry| entry.file_name())
                .next();
            found.push(spelled.unwrap_or_else(|| match self {
                Self::Keeping => name.to_owned(),
                Self::Decomposing => decomposed(name),
            }));
        }
        found
    }
}

impl Syscalls for Folding {
    fn folds_names(&self) -> bool {
        true
    }
    fn listed_name(&self, path: &Path) -> io::Result<OsString> {
        System.link_stat(&self.stored(path))?;
        Ok(self.stored(path).file_name().unwrap_or_default().to_owned())
    }
    fn path_of(&self, file: &File) -> io::Result<PathBuf> {
        use std::os::fd::AsRawFd;

        fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))
    }
    fn open(&self, path: &Path) -> io::Result<File> {
        System.open(&self.stored(path))
    }
    fn create(&self, path: &Path) -> io::Result<File> {
        System.create(&self.stored(path))
    }
    fn reopen(&self, path: &Path) -> io::Result<File> {
        System.reopen(&self.stored(path))
    }
    fn open_unfollowed(&self, path: &Path) -> io::Result<File> {
        System.open_unfollowed(&self.stored(path))
    }
    fn stat(&self, path: &Path) -> io::Result<Stat> {
        System.stat(&self.stored(path))
    }
    fn link_stat(&self, path: &Path) -> io::Result<Stat> {
        System.link_stat(&self.stored(path))
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        System.rename(&self.stored(from), &self.stored(to))
    }
    fn unlink(&self, path: &Path) -> io::Result<()> {
        System.unlink(&self.stored(path))
    }
    fn make_folder(&self, path: &Path) -> io::Result<()> {
        System.make_folder(&self.stored(path))
    }
    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        System.remove_folder(&self.stored(path))
    }
    fn list(&self, path: &Path) -> io::Result<fs::ReadDir> {
        System.list(&self.stored(path))
    }
    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        System.resolve(&self.stored(path))
    }
}

fn stores(setup: &Setup) -> [FsStore; 3] {
    let builder = || FsStore::builder(setup.folder.path());
    [
        builder(),
        builder().locking(Locking::Portable),
        builder().links(crate::Links::Confine),
    ]
    .map(|builder| builder.build_on(Arc::new(Folding::Keeping)))
}

/// The other spellings of `a/b` and its folder are keys of their own, and cannot be written.
#[test]
fn keys_that_differ_in_case_are_not_mixed_up() -> Outcome {
    let setup = Setup::new()?;
    for store in stores(&setup) {
        for other in ["A/b", "a/B", "A/B"] {
            let other = Key::new(other)?;
            let fetch = Fetch {
                key: other.clone(),
                of: Of::Any,
                want: Want::Size,
            };
            assert!(matches!(store.fetch(&fetch)?, Fetched::Missing), "{other}");
            assert!(!store.has(&other)?, "{other}");
            for only_if in [Precondition::None, Precondition::Absent] {
                let put = store.put(&other, &["x".into()], only_if);
                assert!(
                    matches!(put, Err(StoreError::InvalidKey { .. })),
                    "{other}: {put:?}"
                );
            }
            let locked = store.lock(&other, Wait::Try);
            assert!(
                matches!(locked, Err(StoreError::InvalidKey { .. })),
                "{other}: {locked:?}"
            );
            let temporary = store.temporary(&other);
            assert!(
                matches!(temporary, Err(StoreError::InvalidKey { .. })),
                "{other}: {temporary:?}"
            );
            // Removing what is not there changes nothing, or is refused where that takes the lock.
            let _ = store.erase(&other, Precondition::None);
            assert_eq!(
                (setup.value()?.as_deref(), setup.files()?),
                (Some("old value"), vec!["b".to_owned()])
            );
        }
        assert_eq!(store.list_dir(&Prefix::new("A/")?)?, DirListing::default());
        store.erase_prefix(&Prefix::new("A/")?, Wait::Block)?;
        assert_eq!(store.list_prefix(&Prefix::root())?, [key()?]);
        assert_eq!(setup.value()?.as_deref(), Some("old value"));
    }
    Ok(())
}

#[test]
fn keys_in_their_own_spelling_are_written() -> Outcome {
    let setup = Setup::new()?;
    for store in stores(&setup) {
        for value in ["new", "newer"] {
            store.put(&key()?, &[value.into()], Precondition::None)?;
            assert_eq!(read(&store)?.as_deref(), Some(value));
        }
        let other = Key::new("New/Folder/x")?;
        store.put(&other, &["x".into()], Precondition::Absent)?;
        assert!(store.has(&other)? && store.has(&key()?)?);
        let mut keys = store.list_prefix(&Prefix::root())?;
        keys.sort();
        assert_eq!(keys, [other.clone(), key()?]);
        store.erase(&other, Precondition::None)?;
        assert!(!store.has(&other)?);
        let temporary = store.temporary(&key()?)?.ok_or("a file system has room")?;
        temporary.append(b"from a temporary")?;
        let Locked::Held(lock) = store.lock(&key()?, Wait::Try)? else {
            panic!("it is free")
        };
        temporary.publish(lock)?;
        assert_eq!(setup.value()?.as_deref(), Some("from a temporary"));
        assert_eq!(setup.files()?, ["b"]);
    }
    Ok(())
}

/// A link on the way has another path, but its own name counts.
#[test]
fn names_behind_links_are_compared_one_by_one() -> Outcome {
    let setup = Setup::new()?;
    std::os::unix::fs::symlink("a", setup.folder.path().join("link"))?;
    let [store, ..] = stores(&setup);
    let fetch = |key: &str| {
        store.fetch(&Fetch {
            key: Key::new(key)?,
            of: Of::Any,
            want: Want::Size,
        })
    };
    assert!(matches!(fetch("LINK/b")?, Fetched::Missing));
    assert!(matches!(fetch("link/B")?, Fetched::Missing));
    for key in ["a/b", "link/b"] {
        assert!(matches!(fetch(key)?, Fetched::Parts { .. }), "{key}");
        store.put(&Key::new(key)?, &["new".into()], Precondition::None)?;
    }
    Ok(())
}

/// APFS keeps the form of a name, and finds it by the other one too.
#[test]
fn keys_that_differ_in_the_form_of_unicode_are_not_mixed_up() -> Outcome {
    let setup = Setup::new()?;
    for (key, other) in [(COMPOSED, DECOMPOSED), (DECOMPOSED, COMPOSED)] {
        for store in stores(&setup) {
            let key = Key::new(format!("names/{key}/x"))?;
            let other = Key::new(format!("names/{other}/x"))?;
            store.put(&key, &["value".into()], Precondition::None)?;
            assert!(store.has(&key)? && !store.has(&other)?);
            let put = store.put(&other, &["other".into()], Precondition::None);
            assert!(matches!(put, Err(StoreError::InvalidKey { .. })), "{put:?}");
            assert_eq!(
                store.list_prefix(&Prefix::new("names/")?)?,
                std::slice::from_ref(&key)
            );
            store.erase(&key, Precondition::None)?;
        }
    }
    Ok(())
}

/// HFS+ would list a key in composed form by another name, so only the decomposed form is a key.
#[test]
fn keys_that_would_be_stored_in_another_form_are_refused() -> Outcome {
    let setup = Setup::new()?;
    let store = FsStore::builder(setup.folder.path()).build_on(Arc::new(Folding::Decomposing));
    let composed = Key::new(format!("a/{COMPOSED}"))?;
    let put = store.put(&composed, &["value".into()], Precondition::None);
    assert!(matches!(put, Err(StoreError::InvalidKey { .. })), "{put:?}");
    assert_eq!(setup.files()?, ["b"]);
    let decomposed = Key::new(format!("a/{DECOMPOSED}"))?;
    store.put(&decomposed, &["value".into()], Precondition::None)?;
    assert!(store.has(&decomposed)? && !store.has(&composed)?);
    assert_eq!(store.list_prefix(&Prefix::root())?, [key()?, decomposed]);
    Ok(())
}

/// Found by the name of a lock file, a value must neither be written over nor removed.
#[test]
fn what_is_found_by_the_name_of_a_lock_file_stays() -> Outcome {
    let setup = Setup::new()?;
    let [local, portable, confined] = stores(&setup);
    let stays = |store: &FsStore, shadow: &Path| -> Outcome {
        let locked = store.lock(&key()?, Wait::Try).map(drop);
        let erased = store.erase(&key()?, Precondition::None).map(drop);
        for refused in [put(store, Precondition::None).map(drop), locked, erased] {
            assert!(
                matches!(refused, Err(StoreError::InvalidKey { .. })),
                "{refused:?}"
            );
        }
        assert_eq!(fs::read_to_string(shadow)?, "value");
        assert_eq!(setup.value()?.as_deref(), Some("old value"));
        Ok(fs::remove_file(shadow)?)
    };
    for store in [&local, &portable, &confined] {
        let shadow = Key::new("a/b.__LOCK")?;
        let refused = store.put(&shadow, &["value".into()], Precondition::None);
        assert!(
            matches!(refused, Err(StoreError::InvalidKey { .. })),
            "{refused:?}"
        );
        let shadow = setup.folder.path().join(shadow.as_str());
        fs::write(&shadow, "value")?;
        stays(store, &shadow)?;
    }
    for store in [&local, &confined] {
        let shadow = Key::new(format!("a/b.__lo{WITHOUT_WIDTH}ck"))?;
        store.put(&shadow, &["value".into()], Precondition::None)?;
        stays(store, &setup.folder.path().join(shadow.as_str()))?;
    }
    fs::write(setup.folder.path().join("a/b.__LOCK"), "value")?;
    local.erase_prefix(&Prefix::new("a/")?, Wait::Block)?;
    assert!(!setup.folder.path().join("a").exists());
    Ok(())
}

#[test]
fn a_killed_writer_of_another_spelling_is_in_no_ones_way() -> Outcome {
    let setup = Setup::new()?;
    let [local, _, confined] = stores(&setup);
    for store in [local, confined] {
        fs::write(setup.folder.path().join("a/c.__lock"), "half of it")?;
        let other = Key::new("a/C")?;
        store.put(&other, &["value".into()], Precondition::Absent)?;
        assert_eq!(setup.files()?, ["C", "b"]);
        store.erase(&other, Precondition::None)?;
    }
    Ok(())
}

/// Replaces a file whenever its name is looked up, some times.
#[derive(Debug)]
struct Replacing(AtomicUsize);

impl Syscalls for Replacing {
    fn folds_names(&self) -> bool {
        true
    }
    fn listed_name(&self, path: &Path) -> io::Result<OsString> {
        System.link_stat(path)?;
        let replaces = |left: usize| left.checked_sub(1);
        match self
            .0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, replaces)
        {
            Ok(_) => Err(io::ErrorKind::ResourceBusy.into()),
            Err(_) => Ok(path.file_name().unwrap_or_default().to_owned()),
        }
    }
    fn path_of(&self, _: &File) -> io::Result<PathBuf> {
        Err(io::ErrorKind::NotFound.into())
    }
    fn now(&self) -> Duration {
        Duration::ZERO
    }
    fn pause(&self, _: Duration) {}
}

#[test]
fn a_value_that_is_replaced_while_its_name_is_looked_up_is_found() -> Outcome {
    let setup = Setup::new()?;
    let store = || FsStore::builder(setup.folder.path()).build_on(Arc::new(Replacing(20.into())));
    assert_eq!(read(&store())?.as_deref(), Some("old value"));
    assert!(store().has(&key()?)?);
    store().erase(&key()?, Precondition::None)?;
    assert_eq!(setup.value()?, None);
    Ok(())
}
