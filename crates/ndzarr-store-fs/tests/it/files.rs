//! Tests of foreign files in the folder of a store.

use std::error::Error;
use std::fs::{self, OpenOptions};
use std::thread;

use ndzarr_store::{
    Fetch, Fetched, Key, Locked, Of, Pin, Precondition, Prefix, Put, Store, StoreError, Wait, Want,
};
use ndzarr_store_fs::FsStore;

type Outcome = Result<(), Box<dyn Error + Send + Sync>>;

const WHOLE: Want = Want::Whole { limit: u64::MAX };

fn fetch(store: &FsStore, key: &str, of: Of, want: Want) -> Result<Fetched, StoreError> {
    store.fetch(&Fetch {
        key: Key::new(key)?,
        of,
        want,
    })
}

fn put(store: &FsStore, key: &str, value: &'static str) -> Result<Put, StoreError> {
    store.put(&Key::new(key)?, &[value.into()], Precondition::None)
}

fn pin(store: &FsStore, key: &str) -> Result<Pin, Box<dyn Error + Send + Sync>> {
    match fetch(store, key, Of::Any, Want::Size)? {
        Fetched::Parts { pin, .. } => Ok(pin),
        other => Err(format!("{other:?}").into()),
    }
}

#[test]
fn v3_169_a_folder_is_no_value_and_nothing_lies_below_a_file() -> Outcome {
    let folder = tempfile::tempdir()?;
    let store = FsStore::new(folder.path());
    put(&store, "a/b", "value")?;
    for absent in ["a", "a/b/c", "a/b/c/d"] {
        let key = Key::new(absent)?;
        assert!(
            matches!(fetch(&store, absent, Of::Any, WHOLE)?, Fetched::Missing),
            "{absent}"
        );
        assert!(
            matches!(store.erase(&key, Precondition::None)?, Put::Done(None)),
            "{absent}"
        );
        for value in ["value", ""] {
            let Err(error) = put(&store, absent, value) else {
                panic!("{absent} written")
            };
            assert!(
                error.to_string().ends_with(&format!(" {absent}")),
                "{error}"
            );
        }
    }
    assert!(store.lock(&Key::new("a/b/c")?, Wait::Try).is_err());
    assert_eq!(store.list_prefix(&Prefix::root())?, [Key::new("a/b")?]);
    assert_eq!(
        fs::read_dir(folder.path().join("a"))?.count(),
        1,
        "no temporaries"
    );
    Ok(())
}

#[test]
fn v3_169_erasing_removes_empty_folders_up_to_the_root() -> Outcome {
    let folder = tempfile::tempdir()?;
    let root = folder.path().join("root");
    let store = FsStore::new(&root);
    put(&store, "a/b/c/d", "value")?;
    put(&store, "a/x", "value")?;
    store.erase(&Key::new("a/b/c/d")?, Precondition::None)?;
    assert!(root.join("a/x").exists() && !root.join("a/b").exists());
    store.erase(&Key::new("a/x")?, Precondition::None)?;
    assert_eq!(fs::read_dir(&root)?.count(), 0);
    put(&store, "a/b/c/d", "value")?;
    store.erase_prefix(&Prefix::new("a/b/c/")?, Wait::Block)?;
    assert_eq!(fs::read_dir(&root)?.count(), 0);
    Ok(())
}

#[test]
fn refusals_leave_no_folders() -> Outcome {
    let folder = tempfile::tempdir()?;
    let store = FsStore::new(folder.path().join("root"));
    put(&store, "x", "value")?;
    let stale = pin(&store, "x")?;
    let key = Key::new("a/b/c")?;
    assert!(matches!(
        store.put(&key, &[], Precondition::Current(stale.clone()))?,
        Put::Conflict
    ));
    assert!(matches!(
        store.erase(&key, Precondition::Current(stale))?,
        Put::Conflict
    ));
    store.erase(&key, Precondition::None)?;
    store.erase_prefix(&Prefix::new("a/b/")?, Wait::Block)?;
    assert!(!folder.path().join("root/a").exists());
    Ok(())
}

/// In a bucket a key may be absent while there are others below it, and there are no empty folders.
#[test]
fn an_empty_folder_in_the_place_of_a_value_is_an_error() -> Outcome {
    let folder = tempfile::tempdir()?;
    let store = FsStore::new(folder.path());
    fs::create_dir_all(folder.path().join("c/0/1"))?;
    let error = fetch(&store, "c/0/1", Of::Any, WHOLE).expect_err("nothing says that it is absent");
    assert!(error.to_string().contains("c/0/1"), "{error}");
    assert!(store.has(&Key::new("c/0/1")?).is_err());
    assert!(matches!(
        fetch(&store, "c/0", Of::Any, WHOLE)?,
        Fetched::Missing
    ));
    fs::write(folder.path().join("c/0/1/2"), "value")?;
    assert!(matches!(
        fetch(&store, "c/0/1", Of::Any, WHOLE)?,
        Fetched::Missing
    ));
    assert!(!store.has(&Key::new("c/0/1")?)?);
    Ok(())
}

#[cfg(unix)]
#[test]
fn a_list_of_lengths_goes_on_after_what_cannot_be_looked_at() -> Outcome {
    use ndzarr_store::Listed;

    let folder = tempfile::tempdir()?;
    let store = FsStore::new(folder.path());
    put(&store, "a", "value")?;
    put(&store, "z", "longer value")?;
    fs::create_dir(folder.path().join("empty"))?;
    std::os::unix::fs::symlink("nowhere", folder.path().join("link"))?;
    let mut listed = Vec::new();
    store.list_lengths(&Prefix::root(), &mut |key, what| {
        listed.push((key.to_string(), what))
    })?;
    listed.sort_by(|a, b| a.0.cmp(&b.0));
    let kinds: Vec<(&str, Option<u64>)> = listed
        .iter()
        .map(|(key, it)| (&**key, it.byte_len()))
        .collect();
    assert_eq!(
        kinds,
        [
            ("a", Some(5)),
            ("empty", None),
            ("link", None),
            ("z", Some(12))
        ]
    );
    assert!(matches!(&listed[1].1, Listed::Folder));
    assert!(
        matches!(&listed[2].1, Listed::Unreadable(error) if error.to_string().contains("link"))
    );
    Ok(())
}

#[cfg(unix)]
#[test]
fn what_is_no_key_is_not_listed_and_what_cannot_be_read_is() -> Outcome {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::net::UnixListener;
    use std::process::Command;

    let folder = tempfile::tempdir()?;
    let store = FsStore::new(folder.path());
    for value in ["a", "c/0/0", ".zarray", "é", "0.partial", ".n5tmp1"] {
        put(&store, value, "value")?;
    }
    fs::write(folder.path().join("left.__lock"), "by a killed writer")?;
    fs::create_dir(folder.path().join("folder.__lock"))?;
    fs::write(
        folder.path().join(OsStr::from_bytes(b"not UTF-8 \xff")),
        "value",
    )?;
    fs::write(folder.path().join("back\\slash"), "value")?;
    let _socket = UnixListener::bind(folder.path().join("socket"))?;
    assert!(
        Command::new("mkfifo")
            .arg(folder.path().join("pipe"))
            .status()?
            .success()
    );
    let listing = store.list_dir(&Prefix::root())?;
    assert_eq!(
        listing.keys,
        [
            ".n5tmp1",
            ".zarray",
            "0.partial",
            "a",
            "pipe",
            "socket",
            "é"
        ]
    );
    assert_eq!(listing.prefixes, ["c"]);
    // It never gets a writer; waiting for one would take for ever.
    assert!(fetch(&store, "pipe", Of::Any, WHOLE).is_err());
    assert!(fetch(&store, "socket", Of::Any, WHOLE).is_err());
    assert!(matches!(
        put(&store, "left.__lock", ""),
        Err(StoreError::InvalidKey { .. })
    ));
    assert!(matches!(
        put(&store, "folder.__lock/a", ""),
        Err(StoreError::InvalidKey { .. })
    ));
    store.erase_prefix(&Prefix::root(), Wait::Block)?;
    assert_eq!(fs::read_dir(folder.path())?.count(), 0);
    Ok(())
}

#[test]
fn names_that_are_too_long_are_errors() -> Outcome {
    let folder = tempfile::tempdir()?;
    let store = FsStore::new(folder.path());
    let long = "x".repeat(250);
    assert!(put(&store, &long, "value").is_err());
    fs::write(folder.path().join(&long), "of another program")?;
    assert!(matches!(
        fetch(&store, &long, Of::Any, WHOLE)?,
        Fetched::Parts { .. }
    ));
    store.erase_prefix(&Prefix::root(), Wait::Block)?;
    assert_eq!(fs::read_dir(folder.path())?.count(), 0);
    Ok(())
}

#[test]
fn a_value_larger_than_memory_is_refused() -> Outcome {
    let folder = tempfile::tempdir()?;
    let store = FsStore::new(folder.path());
    // A hole: it takes no space on disk.
    OpenOptions::new()
        .create_new(true)
        .write(true)
        .open(folder.path().join("a"))?
        .set_len(1 << 43)?;
    let whole = fetch(&store, "a", Of::Any, Want::Whole { limit: 1 << 20 });
    assert!(
        matches!(whole, Err(StoreError::TooLarge { size, .. }) if size == 1 << 43),
        "{whole:?}"
    );
    let Fetched::Parts { parts, .. } = fetch(&store, "a", Of::Any, Want::Tail(4))? else {
        panic!("it exists")
    };
    assert_eq!(parts[0][..], [0; 4]);
    Ok(())
}

#[test]
fn a_file_that_becomes_shorter_is_an_error() -> Outcome {
    let folder = tempfile::tempdir()?;
    let store = FsStore::new(folder.path());
    put(&store, "a", "a long value")?;
    let pin = pin(&store, "a")?;
    OpenOptions::new()
        .write(true)
        .open(folder.path().join("a"))?
        .set_len(3)?;
    let read = fetch(&store, "a", Of::Snapshot(pin.clone()), WHOLE);
    match &read {
        // Where a pin keeps its file open.
        Err(error) => assert!(
            matches!(error, StoreError::Io { action: "read", .. }),
            "{error:?}"
        ),
        Ok(read) => assert!(matches!(read, Fetched::Changed), "{read:?}"),
    }
    assert!(matches!(
        fetch(&store, "a", Of::IfCurrent(pin), WHOLE)?,
        Fetched::Changed
    ));
    Ok(())
}

/// Where files that are open can be replaced; see `windows.rs` for the others.
#[cfg(unix)]
#[test]
fn a_pin_outlives_its_value() -> Outcome {
    let folder = tempfile::tempdir()?;
    let store = FsStore::new(folder.path());
    put(&store, "a", "first")?;
    let first = pin(&store, "a")?;
    put(&store, "a", "second")?;
    store.erase_prefix(&Prefix::root(), Wait::Block)?;
    fs::create_dir(folder.path().join("a"))?;
    let Fetched::Parts { parts, size, .. } =
        fetch(&store, "a", Of::Snapshot(first.clone()), WHOLE)?
    else {
        panic!("the file is open")
    };
    assert_eq!((size, &parts[0][..]), (5, &b"first"[..]));
    assert!(matches!(
        fetch(&store, "a", Of::IfCurrent(first), WHOLE)?,
        Fetched::Changed
    ));
    Ok(())
}

#[test]
fn a_root_that_is_a_file_is_no_folder() -> Outcome {
    let folder = tempfile::tempdir()?;
    let root = folder.path().join("root");
    fs::write(&root, "value")?;
    let store = FsStore::new(&root);
    assert!(matches!(
        fetch(&store, "a", Of::Any, WHOLE)?,
        Fetched::Missing
    ));
    assert!(put(&store, "a", "value").is_err());
    store.erase_prefix(&Prefix::root(), Wait::Block)?;
    assert_eq!(fs::read_to_string(root)?, "value");
    Ok(())
}

#[test]
fn a_lock_on_a_folder_can_be_dropped() -> Outcome {
    let folder = tempfile::tempdir()?;
    let store = FsStore::new(folder.path());
    put(&store, "a/b", "value")?;
    let Locked::Held(mut lock) = store.lock(&Key::new("a")?, Wait::Try)? else {
        panic!("it is free")
    };
    assert!(matches!(lock.fetch(Of::Any, WHOLE)?, Fetched::Missing));
    lock.append(b"value")?;
    assert!(lock.publish().is_err());
    assert_eq!(fs::read_dir(folder.path())?.count(), 1);
    Ok(())
}

/// A writer below a prefix that is being erased comes before or after, and finds or makes the
/// folder.
#[test]
fn erasing_a_prefix_while_others_write() -> Outcome {
    let folder = tempfile::tempdir()?;
    let store = FsStore::new(folder.path());
    thread::scope(|scope| -> Outcome {
        let writers: Vec<_> = (0..4)
            .map(|slot| {
                let store = &store;
                scope.spawn(move || -> Outcome {
                    for i in 0..300 {
                        let key = Key::new(format!("a/b/{}", (slot + i) % 3))?;
                        store.put(&key, &["value".into()], Precondition::None)?;
                    }
                    Ok(())
                })
            })
            .collect();
        while writers.iter().any(|writer| !writer.is_finished()) {
            store.erase_prefix(&Prefix::new("a/")?, Wait::Block)?;
        }
        for writer in writers {
            writer.join().map_err(|_| "panicked")??;
        }
        Ok(())
    })?;
    store.erase_prefix(&Prefix::new("a/")?, Wait::Block)?;
    assert_eq!(fs::read_dir(folder.path())?.count(), 0);
    Ok(())
}
