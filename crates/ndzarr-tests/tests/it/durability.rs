//! `NDZARR_DURABILITY`: what the writes to a folder sync, as its place says.

use std::path::Path;

use ndzarr::store::Durability;
use ndzarr::{Array, CopyOptions, ErrorKind, Format, FsStore, Group, Place, Result, Storage, copy};
use ndzarr_testkit::{has_started, run_with_variables};

/// A place whose environment has this level, and nothing else.
fn place(path: &Path, level: &'static str) -> Place {
    Place::with_variables(path, move |name| {
        (name == "NDZARR_DURABILITY").then(|| level.to_owned())
    })
}

fn shown(storage: &Storage) -> String {
    format!("{storage:?}")
}

#[test]
fn a_folder_has_the_level_of_the_variable() -> Result<()> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let levels = [
        ("none", "None"),
        ("documents", "Documents"),
        ("", "Documents"),
        ("data", "Data"),
        ("full", "Full"),
    ];
    for (level, expected) in levels {
        let place = place(&folder.path().join(format!("a-{level}")), level);
        let created = Array::<u8>::builder([2]).create(&place)?;
        let opened = Array::<u8>::open(&place)?;
        for array in [created, opened] {
            let shown = shown(array.storage());
            assert!(
                shown.contains(&format!(", {expected}, ")),
                "{level}: {shown}"
            );
        }
    }
    Ok(())
}

/// A folder that is found to be part of a hierarchy keeps its level.
#[test]
fn a_node_below_its_root_has_the_level_too() -> Result<()> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    Array::<u8>::builder([2])
        .format(Format::N5)
        .create((folder.path(), "g/a"))?;
    let group = Group::open(place(&folder.path().join("g"), "none"))?;
    assert_eq!(group.path(), "g", "the group is one because of the root");
    let shown = shown(group.storage());
    assert!(shown.contains(", None, "), "{shown}");
    Ok(())
}

#[test]
fn another_level_is_an_error() -> Result<()> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    Array::<u8>::builder([2]).create((folder.path(), "a"))?;
    let archive = place(&folder.path().join("c.zip"), "all");
    let wrong = [
        Array::<u8>::open(place(&folder.path().join("a"), "Full")).map(drop),
        Array::<u8>::builder([2])
            .create(place(&folder.path().join("b"), "1"))
            .map(drop),
        copy(folder.path().join("a"), archive, &CopyOptions::default()).map(drop),
    ];
    for result in wrong {
        let error = result.expect_err("there is no such level");
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(
            error
                .to_string()
                .contains("NDZARR_DURABILITY is none, documents, data or full, not"),
            "{error}"
        );
    }
    assert!(!folder.path().join("b").exists() && !folder.path().join("c.zip").exists());
    Ok(())
}

/// All places that name one array by its folder.
fn places(root: &Path) -> [Place; 4] {
    [
        root.join("a").into(),
        (root, "a").into(),
        (Storage::folder(root), "a").into(),
        Storage::folder(root.join("a")).into(),
    ]
}

/// A store that was built has its own level, which no variable changes.
fn built(root: &Path) -> Place {
    (
        FsStore::builder(root).durability(Durability::Data).build(),
        "a",
    )
        .into()
}

#[test]
fn however_a_folder_is_named_it_has_the_level_of_the_process() -> Result<()> {
    const TEST: &str = "durability::however_a_folder_is_named_it_has_the_level_of_the_process";
    if !has_started() {
        for level in ["none", "full"] {
            run_with_variables(TEST, &[("NDZARR_DURABILITY", level)]);
        }
        return Ok(());
    }
    let expected = match std::env::var("NDZARR_DURABILITY").as_deref() {
        Ok("none") => Durability::None,
        _ => Durability::Full,
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    for place in places(folder.path()) {
        let created = Array::<u8>::builder([2]).overwrite().create(&place)?;
        let opened = Array::<u8>::open(&place)?;
        for array in [created, opened] {
            let shown = shown(array.storage());
            assert!(
                shown.contains(&format!(", {expected:?}, ")),
                "{place:?}: {shown}"
            );
        }
    }
    let shown = shown(Array::<u8>::open(built(folder.path()))?.storage());
    assert!(shown.contains(", Data, "), "{shown}");
    Ok(())
}

#[test]
fn however_a_folder_is_named_another_level_is_an_error() -> Result<()> {
    const TEST: &str = "durability::however_a_folder_is_named_another_level_is_an_error";
    if !has_started() {
        run_with_variables(TEST, &[("NDZARR_DURABILITY", "Full")]);
        return Ok(());
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    Array::<u8>::builder([2]).create(built(folder.path()))?;
    let new = folder.path().join("new");
    for (old, new) in places(folder.path()).into_iter().zip(places(&new)) {
        let results = [
            Array::<u8>::open(&old).map(drop),
            Array::<u8>::builder([2]).create(&new).map(drop),
            copy(built(folder.path()), &new, &CopyOptions::default()).map(drop),
        ];
        for result in results {
            let error = result.expect_err("there is no such level");
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
            let expected = "NDZARR_DURABILITY is none, documents, data or full, not \"Full\"";
            assert!(error.to_string().contains(expected), "{error}");
        }
    }
    assert!(!new.exists());
    Ok(())
}
