//! Removing and replacing nodes leaves files that do not belong to them.

use std::error::Error;

use ndzarr::store::{Key, Precondition};
use ndzarr::{
    AnyNode, Array, CopyOptions, ErrorKind, Existing, Format, Group, MemoryStore, RunOptions,
    Storage, Store, asynchronous, copy,
};
use ndzarr_testkit::{AsyncMemoryStore, Latency, block_on};

type Outcome = Result<(), Box<dyn Error>>;

const FORMATS: [Format; 5] = [
    Format::Zarr2,
    Format::Zarr3,
    Format::N5,
    Format::DraftA,
    Format::DraftB,
];

/// The folder of the node `a` in which its chunks are.
fn folder(format: Format) -> &'static str {
    match format {
        Format::DraftA => "data/g/a/",
        Format::DraftB => "data/root/g/a/",
        _ => "g/a/",
    }
}

fn filled(store: &MemoryStore, format: Format) -> ndzarr::Result<Group> {
    let group = Group::create((store, "g"), format)?;
    group
        .create_array("a", Array::<u8>::builder([4, 4]).chunks([2, 2]))?
        .fill(.., 1)?;
    Ok(group)
}

#[test]
fn foreign_files_keep_a_node_from_being_removed_or_replaced() -> Outcome {
    for format in FORMATS {
        for name in ["stations.csv", "OME/METADATA.ome.xml", "README"] {
            let store = MemoryStore::new();
            let group = filled(&store, format)?;
            let foreign = format!("{}{name}", folder(format));
            store.set(&foreign, "mine")?;
            let before = store.keys();
            let refusals = [
                group.erase("a").err(),
                AnyNode::open((&store, "g/a"))?.erase_self().err(),
                group.clone().erase_self().err(),
                Array::<u8>::builder([4])
                    .format(format)
                    .overwrite()
                    .create((&store, "g/a"))
                    .err(),
                Group::builder()
                    .format(format)
                    .overwrite()
                    .create((&store, "g"))
                    .err(),
                group
                    .create_array("a", Array::<u8>::builder([4]).overwrite())
                    .err(),
            ];
            for error in refusals {
                let error = error.ok_or("it is refused")?;
                assert_eq!(error.kind(), ErrorKind::AlreadyExists, "{format} {name}");
                assert!(error.to_string().contains(&foreign), "{error}");
                assert!(error.to_string().contains("`force`"), "{error}");
            }
            assert_eq!(store.keys(), before, "{format} {name}: nothing was removed");

            let again = Array::<u8>::builder([4])
                .format(format)
                .overwrite()
                .force()
                .create((&store, "g/a"))?;
            assert_eq!((again.shape(), store.get(&foreign)), (&[4][..], None));
            store.set(&foreign, "mine")?;
            group
                .with_options(RunOptions::default().force())
                .erase_self()?;
            assert_eq!(store.get(&foreign), None, "{format} {name}");
        }
    }
    Ok(())
}

#[test]
fn what_belongs_to_a_node_is_removed_without_force() -> Outcome {
    for format in FORMATS {
        let store = MemoryStore::new();
        let mut group = filled(&store, format)?;
        group.merge_attributes(serde_json::json!({"site": "north"}))?;
        // A chunk that an interrupted shrinking has left outside of the grid.
        let chunk = store
            .keys()
            .into_iter()
            .find(|key| key.contains("g/a/") && key.ends_with('1'));
        let chunk = chunk.ok_or("a chunk")?;
        store.set(&format!("{}9", chunk.trim_end_matches('1')), "old")?;
        // What a killed copy has left.
        store.set(&format!("{}.ndzarr-copy", folder(format)), "{}")?;
        store.set(
            &format!("{}.ndzarr-temporary/4x4/0.0", folder(format)),
            "1234",
        )?;
        group.erase("a")?;
        assert!(
            store
                .keys()
                .iter()
                .all(|key| !key.contains("g/a/") && !key.contains("g/a.")),
            "{format}: {:?}",
            store.keys()
        );
    }
    // Chunks of a copy of a group that was killed have no document yet, only its note next to them.
    let store = MemoryStore::new();
    let group = filled(&store, Format::Zarr3)?;
    store.set("g/b/.ndzarr-copy", "{}")?;
    store.set("g/b/c/0/0", "1234")?;
    group.erase_self()?;
    assert!(
        store.keys().iter().all(|key| !key.starts_with("g/")),
        "{:?}",
        store.keys()
    );
    Ok(())
}

#[test]
fn only_a_broken_document_and_its_chunks_are_replaced() -> Outcome {
    let store = MemoryStore::new();
    filled(&store, Format::Zarr3)?;
    store.set("g/a/zarr.json", "{")?;
    store.set("g/a/notes.txt", "mine")?;
    let new = || Array::<u8>::builder([4]).overwrite();
    let error = new().create((&store, "g/a")).err().ok_or("it is refused")?;
    assert!(error.to_string().contains("g/a/notes.txt"), "{error}");
    store.erase(&Key::new("g/a/notes.txt")?, Precondition::None)?;
    assert_eq!(new().create((&store, "g/a"))?.read(..)?.sum(), 0);
    Ok(())
}

#[test]
fn a_copy_replaces_no_foreign_files() -> Outcome {
    let store = MemoryStore::new();
    let group = filled(&store, Format::Zarr3)?;
    store.set("g/a/notes.txt", "mine")?;
    let source = MemoryStore::new();
    Array::<u8>::builder([2])
        .create((&source, "a"))?
        .fill(.., 5)?;
    let options = CopyOptions::new().existing(Existing::Replace);
    let error = copy((&source, "a"), (&store, "g/a"), &options)
        .err()
        .ok_or("it is refused")?;
    assert!(error.to_string().contains("g/a/notes.txt"), "{error}");
    assert_eq!(group.array::<u8>("a")?.read(..)?.sum(), 16);
    let options = options.run(RunOptions::default().force());
    copy((&source, "a"), (&store, "g/a"), &options)?;
    assert_eq!(Array::<u8>::open((&store, "g/a"))?.read(..)?.sum(), 10);
    assert_eq!(store.get("g/a/notes.txt"), None);
    Ok(())
}

#[test]
fn asynchronous_calls_refuse_too() -> Outcome {
    let memory = MemoryStore::new();
    filled(&memory, Format::Zarr3)?;
    memory.set("g/a/notes.txt", "mine")?;
    let storage = Storage::asynchronous(AsyncMemoryStore::over(memory.clone(), Latency::default()));
    block_on(async {
        let group = asynchronous::Group::open((&storage, "g")).await?;
        let error = group.erase("a").await.err().ok_or("it is refused")?;
        assert!(error.to_string().contains("g/a/notes.txt"), "{error}");
        let node = asynchronous::AnyNode::open((&storage, "g")).await?;
        let contents = node.contents().await?;
        assert_eq!(
            (contents.n_arrays, contents.n_groups, contents.n_keys),
            (1, 1, 7)
        );
        assert_eq!(
            (contents.foreign, contents.orphans),
            (
                vec!["g/a/notes.txt".to_owned()],
                vec!["g/a/notes.txt".to_owned()]
            )
        );
        group
            .with_options(RunOptions::default().force())
            .erase("a")
            .await?;
        Outcome::Ok(())
    })?;
    assert_eq!(memory.keys(), ["g/zarr.json", "zarr.json"]);
    Ok(())
}

/// Names that no key has go with their folder.
#[cfg(unix)]
#[test]
fn names_that_are_no_keys_are_seen() -> Outcome {
    let folder = tempfile::tempdir()?;
    let group = Group::create(folder.path(), Format::Zarr3)?;
    group.create_array("a", Array::<u8>::builder([4]))?;
    let foreign = folder.path().join("a").join("C:\\notes.txt");
    std::fs::write(&foreign, "mine")?;
    let error = group.erase("a").err().ok_or("it is refused")?;
    assert!(error.to_string().contains("notes.txt"), "{error}");
    std::fs::remove_file(&foreign)?;
    // Lock files are the store's own.
    std::fs::write(folder.path().join("a/zarr.json.__lock"), "")?;
    group.erase("a")?;
    assert!(!folder.path().join("a").exists());
    Ok(())
}
