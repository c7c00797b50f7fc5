//! What Windows does otherwise: open files, locks, names.

use std::error::Error;
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use ndzarr_store::{
    DirListing, Fetch, Fetched, Key, Locked, Of, Precondition, Prefix, Store, StoreError, Wait,
    Want,
};
use ndzarr_store_fs::{FsStore, Links};

type Outcome = Result<(), Box<dyn Error + Send + Sync>>;

fn fetch(store: &FsStore, key: &str, of: Of) -> Result<Fetched, StoreError> {
    store.fetch(&Fetch {
        key: Key::new(key)?,
        of,
        want: Want::Whole { limit: 1000 },
    })
}

fn get(store: &FsStore, key: &str) -> Result<Option<String>, StoreError> {
    Ok(match fetch(store, key, Of::Any)? {
        Fetched::Parts { parts, .. } => Some(String::from_utf8_lossy(&parts[0]).into_owned()),
        _ => None,
    })
}

fn put(store: &FsStore, key: &str, value: &'static str) -> Result<(), StoreError> {
    store
        .put(&Key::new(key)?, &[value.into()], Precondition::None)
        .map(drop)
}

#[test]
fn a_value_is_replaced_and_erased_while_this_process_pins_it() -> Outcome {
    let folder = tempfile::tempdir()?;
    let store = FsStore::new(folder.path());
    let mut pins = Vec::new();
    for value in ["first", "second", "third"] {
        put(&store, "a", value)?;
        let Fetched::Parts { pin, .. } = fetch(&store, "a", Of::Any)? else {
            panic!("just written")
        };
        pins.push((value, pin));
    }
    for (value, pin) in &pins {
        // The value itself, where it is kept, and no other.
        match fetch(&store, "a", Of::Snapshot(pin.clone()))? {
            Fetched::Parts { parts, .. } => assert_eq!(parts[0], value.as_bytes()),
            other => assert!(matches!(other, Fetched::Changed) && *value != "third"),
        }
        let current = fetch(&store, "a", Of::IfCurrent(pin.clone()))?;
        assert_eq!(matches!(current, Fetched::Parts { .. }), *value == "third");
    }
    store.erase(&Key::new("a")?, Precondition::None)?;
    assert_eq!(get(&store, "a")?, None);
    put(&store, "a", "fourth")?;
    assert_eq!(get(&store, "a")?.as_deref(), Some("fourth"));
    Ok(())
}

#[test]
fn a_value_that_another_program_has_open_is_replaced_once_it_is_closed() -> Outcome {
    let folder = tempfile::tempdir()?;
    let store = FsStore::new(folder.path());
    put(&store, "a", "old")?;
    let file = File::open(folder.path().join("a"))?;
    thread::scope(|scope| -> Outcome {
        let writer = scope.spawn(|| put(&store, "a", "new"));
        // Until it is closed the value is the old or, where open files are replaced, the new one.
        assert!(matches!(get(&store, "a")?.as_deref(), Some("old" | "new")));
        drop(file);
        writer.join().map_err(|_| "panicked")??;
        Ok(())
    })?;
    assert_eq!(get(&store, "a")?.as_deref(), Some("new"));
    assert_eq!(fs::read_dir(folder.path())?.count(), 1);
    Ok(())
}

/// The error comes after ten seconds, where open files are not replaced. It changes nothing.
#[test]
fn a_value_that_stays_open_is_an_error_and_the_call_can_be_repeated() -> Outcome {
    let folder = tempfile::tempdir()?;
    let store = FsStore::new(folder.path());
    put(&store, "a", "old")?;
    let file = File::open(folder.path().join("a"))?;
    if let Err(e) = put(&store, "a", "new") {
        let StoreError::Io {
            action: "publish",
            source,
            ..
        } = &e
        else {
            return Err(e.into());
        };
        assert!(
            source.to_string().starts_with("it is open elsewhere"),
            "{source}"
        );
        assert_eq!(get(&store, "a")?.as_deref(), Some("old"));
        assert_eq!(fs::read_dir(folder.path())?.count(), 1);
        drop(file);
        put(&store, "a", "new")?;
    }
    assert_eq!(get(&store, "a")?.as_deref(), Some("new"));
    Ok(())
}

/// A file that is open is gone once it is closed, at the latest; an erasure does not wait for that.
#[test]
fn a_folder_with_an_open_file_is_erased_at_once() -> Outcome {
    let folder = tempfile::tempdir()?;
    let store = FsStore::new(folder.path());
    put(&store, "a/b", "old")?;
    let file = File::open(folder.path().join("a/b"))?;
    let (start, prefix) = (Instant::now(), Prefix::new("a/")?);
    store.erase_prefix(&prefix, Wait::Try)?;
    assert!(
        start.elapsed() < Duration::from_secs(10),
        "{:?}",
        start.elapsed()
    );
    assert_eq!(get(&store, "a/b")?, None);
    drop(file);
    store.erase_prefix(&prefix, Wait::Try)?;
    assert!(!folder.path().join("a").exists());
    Ok(())
}

/// Locks are mandatory: those of the whole file would keep readers of the new value out.
#[test]
fn a_lock_keeps_no_reader_out() -> Outcome {
    let folder = tempfile::tempdir()?;
    let store = FsStore::new(folder.path());
    put(&store, "a", "old")?;
    let Locked::Held(mut lock) = store.lock(&Key::new("a")?, Wait::Try)? else {
        panic!("it is free")
    };
    lock.append(b"new")?;
    assert!(matches!(
        store.lock(&Key::new("a")?, Wait::Try)?,
        Locked::Busy
    ));
    assert_eq!(get(&store, "a")?.as_deref(), Some("old"));
    assert_eq!(
        fs::read(folder.path().join("a.__lock"))?,
        b"new",
        "by any other program too"
    );
    let pin = lock.publish()?;
    let Fetched::Parts { .. } = fetch(&store, "a", Of::Any)? else {
        panic!()
    };
    assert!(matches!(
        fetch(&store, "a", Of::IfCurrent(pin))?,
        Fetched::Parts { size: 3, .. }
    ));
    assert!(matches!(
        store.lock(&Key::new("a")?, Wait::Try)?,
        Locked::Held(_)
    ));
    Ok(())
}

#[test]
fn names_that_windows_cannot_hold_are_refused() -> Outcome {
    let folder = tempfile::tempdir()?;
    let store = FsStore::new(folder.path());
    for key in [
        "con",
        "a/NUL.json",
        "a.",
        "a /b",
        "c:/x",
        "a:stream",
        "what?",
        "lpt1",
    ] {
        let refused = put(&store, key, "value");
        assert!(
            matches!(refused, Err(StoreError::InvalidKey { .. })),
            "{key}: {refused:?}"
        );
    }
    assert!(Key::new("a\\b").is_err());
    assert_eq!(fs::read_dir(folder.path())?.count(), 0);
    Ok(())
}

#[test]
fn keys_that_differ_in_case_are_not_mixed_up() -> Outcome {
    let folder = tempfile::tempdir()?;
    let store = FsStore::new(folder.path());
    put(&store, "Group/zarr.json", "value")?;
    for other in ["group/zarr.json", "Group/ZARR.json", "GROUP/new"] {
        assert_eq!(get(&store, other)?, None, "{other}");
        assert!(!store.has(&Key::new(other)?)?, "{other}");
        let refused = put(&store, other, "other");
        assert!(
            matches!(refused, Err(StoreError::InvalidKey { .. })),
            "{other}: {refused:?}"
        );
        store.erase(&Key::new(other)?, Precondition::None)?;
    }
    assert_eq!(
        store.list_dir(&Prefix::new("group/")?)?,
        DirListing::default()
    );
    store.erase_prefix(&Prefix::new("group/")?, Wait::Block)?;
    assert_eq!(
        store.list_prefix(&Prefix::root())?,
        [Key::new("Group/zarr.json")?]
    );
    assert_eq!(get(&store, "Group/zarr.json")?.as_deref(), Some("value"));
    Ok(())
}

#[test]
fn paths_may_be_longer_than_260_characters() -> Outcome {
    let folder = tempfile::tempdir()?;
    let store = FsStore::new(folder.path());
    let key = format!("{}/zarr.json", ["a-folder-with-a-long-name"; 20].join("/"));
    put(&store, &key, "value")?;
    assert_eq!(get(&store, &key)?.as_deref(), Some("value"));
    assert_eq!(store.list_prefix(&Prefix::root())?, [Key::new(&key)?]);
    store.erase(&Key::new(&key)?, Precondition::None)?;
    assert_eq!(fs::read_dir(folder.path())?.count(), 0);
    Ok(())
}

#[test]
fn a_read_only_value_is_read_and_not_replaced_half() -> Outcome {
    let folder = tempfile::tempdir()?;
    let store = FsStore::new(folder.path());
    put(&store, "a", "old")?;
    let path = folder.path().join("a");
    let mut permissions = fs::metadata(&path)?.permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&path, permissions)?;
    assert_eq!(get(&store, "a")?.as_deref(), Some("old"));
    let now = if put(&store, "a", "new").is_ok() {
        "new"
    } else {
        "old"
    };
    assert_eq!(get(&store, "a")?.as_deref(), Some(now));
    assert_eq!(fs::read_dir(folder.path())?.count(), 1);
    let mut permissions = fs::metadata(&path)?.permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&path, permissions)?;
    assert!(store.erase(&Key::new("a")?, Precondition::None).is_err());
    assert!(store.erase_prefix(&Prefix::root(), Wait::Block).is_err());
    assert_eq!(get(&store, "a")?.as_deref(), Some(now));
    assert_eq!(fs::read_dir(folder.path())?.count(), 1);
    Ok(())
}

/// Caches have no others. Wine does not replace open files, so there is none.
#[test]
#[ignore = "it needs NTFS"]
fn a_light_pin_of_a_file_that_nothing_touched_for_a_while_is_checked() -> Outcome {
    let folder = tempfile::tempdir()?;
    let store = FsStore::new(folder.path());
    put(&store, "a", "first")?;
    let an_hour_ago = SystemTime::now() - Duration::from_secs(3600);
    File::options()
        .write(true)
        .open(folder.path().join("a"))?
        .set_modified(an_hour_ago)?;
    let Fetched::Parts { pin, .. } = fetch(&store, "a", Of::Any)? else {
        panic!("just written")
    };
    let light = pin.light().ok_or("a pin that keeps the file open alone")?;
    assert!(matches!(
        fetch(&store, "a", Of::IfCurrent(light.clone()))?,
        Fetched::Parts { .. }
    ));
    put(&store, "a", "other")?;
    assert!(matches!(
        fetch(&store, "a", Of::IfCurrent(light))?,
        Fetched::Changed
    ));
    Ok(())
}

/// Links to folders that every user may make.
fn make_junction(at: &Path, target: &Path) -> Outcome {
    let made = Command::new("cmd")
        .args(["/c", "mklink", "/J"])
        .args([at, target])
        .output()?;
    if made.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&made.stderr).into())
    }
}

#[test]
#[ignore = "wine 10 makes no junctions; .github/workflows/ci.yml runs this on Windows"]
fn junctions_are_followed_unless_they_are_confined() -> Outcome {
    let folder = tempfile::tempdir()?;
    let (root, outside) = (folder.path().join("root"), folder.path().join("outside"));
    for folder in [&root.join("real"), &outside] {
        fs::create_dir_all(folder)?;
        fs::write(folder.join("x"), "value")?;
    }
    make_junction(&root.join("out"), &outside)?;
    make_junction(&root.join("inner"), &root.join("real"))?;
    make_junction(&root.join("real/up"), &root)?;
    let follow = FsStore::new(&root);
    let confine = FsStore::builder(&root).links(Links::Confine).build();
    assert_eq!(get(&follow, "out/x")?.as_deref(), Some("value"));
    for store in [&follow, &confine] {
        assert_eq!(get(store, "inner/x")?.as_deref(), Some("value"));
        // The junction that leads back up is not entered.
        assert_eq!(
            store.list_dir(&Prefix::new("real/")?)?.prefixes,
            Vec::<String>::new()
        );
    }
    let refused = [
        get(&confine, "out/x").map(drop),
        put(&confine, "out/x", "new"),
        put(&confine, "out/new/y", "new"),
        confine.list_dir(&Prefix::new("out/")?).map(drop),
        confine
            .erase(&Key::new("out/x")?, Precondition::None)
            .map(drop),
    ];
    for (i, refused) in refused.into_iter().enumerate() {
        assert!(
            matches!(refused, Err(StoreError::Io { .. })),
            "{i}: {refused:?}"
        );
    }
    // Erasing removes the junction, not what it leads to.
    follow.erase_prefix(&Prefix::new("out/")?, Wait::Block)?;
    assert!(!root.join("out").exists());
    assert_eq!(fs::read_to_string(outside.join("x"))?, "value");
    assert_eq!(fs::read_dir(&outside)?.count(), 1);
    Ok(())
}
