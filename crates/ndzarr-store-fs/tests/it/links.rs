//! Symbolic links (V3-T65).

use std::error::Error;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use ndzarr_store::{
    DirListing, Fetch, Fetched, Key, Locked, Of, Precondition, Prefix, Put, Store, StoreError,
    Wait, Want,
};
use ndzarr_store_fs::{FsStore, Links};

type Outcome = Result<(), Box<dyn Error>>;

fn stores(root: &Path) -> [FsStore; 2] {
    [
        FsStore::new(root),
        FsStore::builder(root).links(Links::Confine).build(),
    ]
}

fn get(store: &FsStore, key: &str) -> Result<Option<String>, StoreError> {
    let fetch = Fetch {
        key: Key::new(key)?,
        of: Of::Any,
        want: Want::Whole { limit: 1000 },
    };
    Ok(match store.fetch(&fetch)? {
        Fetched::Parts { parts, .. } => Some(String::from_utf8_lossy(&parts[0]).into_owned()),
        _ => None,
    })
}

fn put(store: &FsStore, key: &str, value: &'static str) -> Result<Put, StoreError> {
    store.put(&Key::new(key)?, &[value.into()], Precondition::None)
}

fn dir(store: &FsStore, prefix: &str) -> Result<DirListing, StoreError> {
    store.list_dir(&Prefix::new(prefix)?)
}

fn listing(keys: &[&str], prefixes: &[&str]) -> DirListing {
    let owned = |names: &[&str]| names.iter().map(ToString::to_string).collect();
    DirListing {
        keys: owned(keys),
        prefixes: owned(prefixes),
    }
}

fn all(store: &FsStore, prefix: &str) -> Result<Vec<String>, StoreError> {
    let mut keys: Vec<_> = store
        .list_prefix(&Prefix::new(prefix)?)?
        .iter()
        .map(ToString::to_string)
        .collect();
    keys.sort();
    Ok(keys)
}

#[test]
fn v3_t65_links_out_of_the_store() -> Outcome {
    let folder = tempfile::tempdir()?;
    let (root, outside) = (folder.path().join("root"), folder.path().join("outside"));
    for folder in [&root.join("real"), &outside] {
        fs::create_dir_all(folder)?;
        fs::write(folder.join("x"), "value")?;
    }
    symlink(&outside, root.join("dir"))?;
    symlink(outside.join("x"), root.join("key"))?;
    symlink("real", root.join("inner"))?;
    symlink(root.join("real/x"), root.join("real/y"))?;
    let [follow, confine] = stores(&root);

    assert_eq!(get(&follow, "dir/x")?.as_deref(), Some("value"));
    assert_eq!(get(&follow, "key")?.as_deref(), Some("value"));
    assert_eq!(dir(&follow, "dir/")?, listing(&["x"], &[]));
    assert_eq!(
        all(&follow, "")?,
        ["dir/x", "inner/x", "inner/y", "key", "real/x", "real/y"]
    );

    for store in [&follow, &confine] {
        assert_eq!(get(store, "inner/x")?.as_deref(), Some("value"));
        assert_eq!(get(store, "real/y")?.as_deref(), Some("value"));
        assert_eq!(dir(store, "inner/")?, listing(&["x", "y"], &[]));
        assert_eq!(
            dir(store, "")?,
            listing(&["key"], &["dir", "inner", "real"])
        );
    }
    let refused = [
        get(&confine, "dir/x").err(),
        get(&confine, "dir/absent/x").err(),
        get(&confine, "key").err(),
        dir(&confine, "dir/").err(),
        all(&confine, "").err(),
        put(&confine, "dir/x", "new").err(),
        put(&confine, "dir/new/y", "new").err(),
        confine.erase(&Key::new("dir/x")?, Precondition::None).err(),
        confine.lock(&Key::new("dir/x")?, Wait::Try).err(),
        confine
            .erase_prefix(&Prefix::new("dir/sub/")?, Wait::Block)
            .err(),
    ];
    for (i, error) in refused.into_iter().enumerate() {
        let Some(error) = error else {
            panic!("{i} is not refused")
        };
        let why = error
            .source()
            .map(ToString::to_string)
            .unwrap_or_else(|| error.to_string());
        assert!(why.contains("link"), "{why}");
    }
    assert_eq!(fs::read_dir(&outside)?.count(), 1);
    assert_eq!(fs::read_to_string(outside.join("x"))?, "value");
    Ok(())
}

#[test]
fn the_root_may_be_reached_through_a_link() -> Outcome {
    let folder = tempfile::tempdir()?;
    fs::create_dir(folder.path().join("real"))?;
    symlink("real", folder.path().join("link"))?;
    for store in stores(&folder.path().join("link")) {
        put(&store, "a/b/c", "value")?;
        assert_eq!(get(&store, "a/b/c")?.as_deref(), Some("value"));
        assert_eq!(all(&store, "")?, ["a/b/c"]);
        store.erase(&Key::new("a/b/c")?, Precondition::None)?;
        assert_eq!(
            fs::read_dir(folder.path().join("real"))?.count(),
            0,
            "empty folders go"
        );
        put(&store, "a/b/c", "value")?;
        store.erase_prefix(&Prefix::root(), Wait::Block)?;
        assert_eq!(dir(&store, "")?, DirListing::default());
        assert!(folder.path().join("link").is_symlink());
    }
    Ok(())
}

#[test]
fn v3_t65_cycles_end() -> Outcome {
    let folder = tempfile::tempdir()?;
    let root = folder.path().join("root");
    fs::create_dir_all(root.join("a/b"))?;
    fs::create_dir_all(root.join("c"))?;
    fs::write(root.join("a/b/x"), "value")?;
    symlink("itself", root.join("itself"))?;
    symlink("absent", root.join("dangling"))?;
    symlink("..", root.join("a/up"))?;
    symlink(".", root.join("a/here"))?;
    symlink("../../a", root.join("a/b/a"))?;
    symlink("../c", root.join("a/c"))?;
    symlink("../a", root.join("c/a"))?;
    symlink(folder.path(), root.join("c/above"))?;
    for store in stores(&root) {
        assert_eq!(dir(&store, "a/")?, listing(&[], &["b", "c"]));
        assert_eq!(dir(&store, "a/b/")?, listing(&["x"], &[]));
        assert_eq!(all(&store, "a/b/")?, ["a/b/x"]);
        assert!(get(&store, "dangling").is_err());
        assert!(get(&store, "itself").is_err());
        assert!(get(&store, "itself/x").is_err());
        assert_eq!(get(&store, "a/b/a/b/x")?.as_deref(), Some("value"));
    }
    // Each folder is entered by the way without links, and once by a way with links.
    let keys = [
        "a/b/x",
        "c/a/b/x",
        "c/above/root/dangling",
        "c/above/root/itself",
        "dangling",
        "itself",
    ];
    assert_eq!(all(&FsStore::new(&root), "")?, keys);
    Ok(())
}

/// A value of git-annex is a link: replacing one replaces the link.
#[test]
fn writing_replaces_the_link() -> Outcome {
    let folder = tempfile::tempdir()?;
    let (root, annexed) = (folder.path().join("root"), folder.path().join("annexed"));
    fs::create_dir(&root)?;
    for store in stores(&root) {
        for value in ["a", "b", "c"] {
            fs::write(&annexed, "annexed")?;
            symlink(&annexed, root.join(value))?;
        }
        put(&store, "a", "new")?;
        store.erase(&Key::new("b")?, Precondition::None)?;
        let Locked::Held(mut lock) = store.lock(&Key::new("c")?, Wait::Try)? else {
            panic!("it is free")
        };
        lock.append(b"new")?;
        lock.publish()?;
        assert_eq!(all(&store, "")?, ["a", "c"]);
        assert!(!root.join("a").is_symlink() && !root.join("b").is_symlink());
        assert_eq!(fs::read_to_string(&annexed)?, "annexed");
        store.erase_prefix(&Prefix::root(), Wait::Block)?;
    }
    Ok(())
}

#[test]
fn erasing_a_prefix_does_not_follow_links() -> Outcome {
    let folder = tempfile::tempdir()?;
    let (root, outside) = (folder.path().join("root"), folder.path().join("outside"));
    fs::create_dir(&outside)?;
    fs::write(outside.join("x"), "value")?;
    for store in stores(&root) {
        put(&store, "a/b/c", "value")?;
        symlink(&outside, root.join("a/dir"))?;
        symlink(outside.join("x"), root.join("a/b/key"))?;
        symlink("nowhere", root.join("a/b/dangling"))?;
        symlink(&outside, root.join("link"))?;
        symlink(outside.join("x"), root.join("key"))?;
        store.erase_prefix(&Prefix::new("link/")?, Wait::Block)?;
        assert!(!root.join("link").is_symlink());
        store.erase_prefix(&Prefix::new("key/")?, Wait::Block)?;
        assert!(root.join("key").is_symlink(), "a value next to the prefix");
        store.erase_prefix(&Prefix::new("a/")?, Wait::Block)?;
        assert!(!root.join("a").exists());
        store.erase_prefix(&Prefix::root(), Wait::Block)?;
        assert_eq!(fs::read_dir(&root)?.count(), 0);
        assert_eq!(fs::read_to_string(outside.join("x"))?, "value");
    }
    Ok(())
}

/// git-annex and DataLad leave such links for files that were not fetched: they must not count as
/// absent.
#[test]
fn a_link_to_nowhere_is_an_error() -> Outcome {
    let folder = tempfile::tempdir()?;
    let root = folder.path().join("root");
    fs::create_dir_all(root.join("a"))?;
    symlink("../annex/object", root.join("a/0"))?;
    symlink("../annex/folder", root.join("a/c"))?;
    for store in stores(&root) {
        for (key, target) in [
            ("a/0", "../annex/object"),
            ("a/c/0", "../annex/folder"),
            ("a/c", "../annex/folder"),
        ] {
            let whole = Key::new(key)?;
            let fetch = |want| {
                store.fetch(&Fetch {
                    key: whole.clone(),
                    of: Of::Any,
                    want,
                })
            };
            let Locked::Held(mut lock) = (if key == "a/c/0" {
                Locked::Busy
            } else {
                store.lock(&whole, Wait::Try)?
            }) else {
                assert!(
                    store.lock(&whole, Wait::Try).is_err(),
                    "there is no folder for it"
                );
                continue;
            };
            let errors = [
                fetch(Want::Size).err(),
                fetch(Want::Whole { limit: 10 }).err(),
                store.has(&whole).err(),
                store
                    .fetch_pieces(&whole, 1, &[0..1], &mut [0], &mut |_| {})
                    .err(),
                lock.fetch(Of::Any, Want::Tail(1)).err(),
            ];
            drop(lock);
            for (i, error) in errors.into_iter().enumerate() {
                let Some(error) = error else {
                    panic!("{i}: {key} is taken for absent")
                };
                let why = error.source().map(ToString::to_string).unwrap_or_default();
                assert!(
                    why.contains(target) && why.contains("root/a/"),
                    "{key}: {why}"
                );
            }
            assert!(
                store
                    .put(&whole, &["x".into()], Precondition::Absent)
                    .is_err(),
                "{key}"
            );
        }
        assert!(get(&store, "a/c/0").is_err());
        assert!(put(&store, "a/c/0", "x").is_err());
        assert!(dir(&store, "a/c/").is_err());
        assert_eq!(dir(&store, "a/")?, listing(&["0", "c"], &[]));
        assert_eq!(get(&store, "a/1")?, None);
    }
    // A whole value replaces the link, as it does every other.
    let [store, _] = stores(&root);
    put(&store, "a/0", "whole")?;
    assert_eq!(get(&store, "a/0")?.as_deref(), Some("whole"));
    store.erase(&Key::new("a/c")?, Precondition::None)?;
    assert_eq!(get(&store, "a/c/0")?, None);
    Ok(())
}

/// 31 links to the next folder in two ways each are 2³¹ ways.
#[test]
fn a_listing_enters_each_folder_once_behind_links() -> Outcome {
    const DEPTH: usize = 32;
    let folder = tempfile::tempdir()?;
    for i in 0..DEPTH {
        let one = folder.path().join(format!("d{i}"));
        fs::create_dir(&one)?;
        fs::write(one.join("x"), "value")?;
        if i + 1 < DEPTH {
            symlink(format!("../d{}", i + 1), one.join("a"))?;
            symlink(format!("../d{}", i + 1), one.join("b"))?;
        }
    }
    for store in stores(folder.path()) {
        let keys = all(&store, "")?;
        // Each folder by its own way, and all but the first by one with links.
        assert_eq!(keys.len(), 2 * DEPTH - 1);
        assert!(
            keys.contains(&"d0/a/x".to_owned()) && !keys.contains(&"d0/b/x".to_owned()),
            "{keys:?}"
        );
        assert_eq!(all(&store, "d0/")?.len(), DEPTH);
        assert_eq!(get(&store, "d0/b/b/b/x")?.as_deref(), Some("value"));
    }
    Ok(())
}

/// It is not a lock, and erasing must not stop half-way because of it.
#[test]
fn erasing_removes_links_with_the_names_of_lock_files() -> Outcome {
    let folder = tempfile::tempdir()?;
    let (root, outside) = (folder.path().join("root"), folder.path().join("outside"));
    fs::write(&outside, "value")?;
    for store in stores(&root) {
        put(&store, "a/0", "value")?;
        put(&store, "a/zarr.json", "value")?;
        for (target, name) in [
            ("../../outside", "0"),
            ("nowhere", "zarr.json"),
            ("0.__lock", "1"),
        ] {
            symlink(target, root.join(format!("a/{name}.__lock")))?;
        }
        store.erase_prefix(&Prefix::new("a/")?, Wait::Block)?;
        assert!(!root.join("a").exists());
        assert_eq!(fs::read_to_string(&outside)?, "value");
    }
    Ok(())
}
