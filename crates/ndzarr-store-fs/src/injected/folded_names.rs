//! Tests on a file system that ignores case, as those of Windows and macOS do.

use std::ffi::OsString;

use ndzarr_store::{DirListing, Locked, Prefix, Wait};

use super::*;
use crate::Locking;

/// Finds files by names that differ in case, and tells the path of an open one as it is stored.
#[derive(Debug)]
struct Folding;

/// The path as it is stored, as far as it is there.
fn stored(path: &Path) -> PathBuf {
    let mut found = PathBuf::new();
    for name in path {
        let in_folder = fs::read_dir(&found).into_iter().flatten().flatten();
        let is_it = |entry: &fs::DirEntry| entry.file_name().eq_ignore_ascii_case(name);
        let spelled = in_folder.filter(is_it).map(|entry| entry.file_name()).next();
        found.push(spelled.as_deref().unwrap_or(name));
    }
    found
}

impl Syscalls for Folding {
    fn folds_names(&self) -> bool {
        true
    }
    fn listed_name(&self, path: &Path) -> io::Result<OsString> {
        System.link_stat(&stored(path))?;
        Ok(stored(path).file_name().unwrap_or_default().to_owned())
    }
    fn path_of(&self, file: &File) -> io::Result<PathBuf> {
        use std::os::fd::AsRawFd;

        fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))
    }
    fn open(&self, path: &Path) -> io::Result<File> {
        System.open(&stored(path))
    }
    fn create(&self, path: &Path) -> io::Result<File> {
        System.create(&stored(path))
    }
    fn reopen(&self, path: &Path) -> io::Result<File> {
        System.reopen(&stored(path))
    }
    fn open_unfollowed(&self, path: &Path) -> io::Result<File> {
        System.open_unfollowed(&stored(path))
    }
    fn stat(&self, path: &Path) -> io::Result<Stat> {
        System.stat(&stored(path))
    }
    fn link_stat(&self, path: &Path) -> io::Result<Stat> {
        System.link_stat(&stored(path))
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        System.rename(&stored(from), &stored(to))
    }
    fn unlink(&self, path: &Path) -> io::Result<()> {
        System.unlink(&stored(path))
    }
    fn make_folder(&self, path: &Path) -> io::Result<()> {
        System.make_folder(&stored(path))
    }
    fn remove_folder(&self, path: &Path) -> io::Result<()> {
        System.remove_folder(&stored(path))
    }
    fn list(&self, path: &Path) -> io::Result<fs::ReadDir> {
        System.list(&stored(path))
    }
    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        System.resolve(&stored(path))
    }
}

fn stores(setup: &Setup) -> [FsStore; 3] {
    let builder = || FsStore::builder(setup.folder.path());
    [builder(), builder().locking(Locking::Portable), builder().links(crate::Links::Confine)]
        .map(|builder| builder.build_on(Arc::new(Folding)))
}

/// The other spellings of `a/b` and its folder are keys of their own, and cannot be written.
#[test]
fn keys_that_differ_in_case_are_not_mixed_up() -> Outcome {
    let setup = Setup::new()?;
    for store in stores(&setup) {
        for other in ["A/b", "a/B", "A/B"] {
            let other = Key::new(other)?;
            let fetch = Fetch { key: other.clone(), of: Of::Any, want: Want::Size };
            assert!(matches!(store.fetch(&fetch)?, Fetched::Missing), "{other}");
            assert!(!store.has(&other)?, "{other}");
            for only_if in [Precondition::None, Precondition::Absent] {
                let put = store.put(&other, &["x".into()], only_if);
                assert!(matches!(put, Err(StoreError::InvalidKey { .. })), "{other}: {put:?}");
            }
            let locked = store.lock(&other, Wait::Try);
            assert!(matches!(locked, Err(StoreError::InvalidKey { .. })), "{other}: {locked:?}");
            let temporary = store.temporary(&other);
            assert!(matches!(temporary, Err(StoreError::InvalidKey { .. })), "{other}: {temporary:?}");
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
        let Locked::Held(lock) = store.lock(&key()?, Wait::Try)? else { panic!("it is free") };
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
    let fetch = |key: &str| store.fetch(&Fetch { key: Key::new(key)?, of: Of::Any, want: Want::Size });
    assert!(matches!(fetch("LINK/b")?, Fetched::Missing));
    assert!(matches!(fetch("link/B")?, Fetched::Missing));
    for key in ["a/b", "link/b"] {
        assert!(matches!(fetch(key)?, Fetched::Parts { .. }), "{key}");
        store.put(&Key::new(key)?, &["new".into()], Precondition::None)?;
    }
    Ok(())
}
