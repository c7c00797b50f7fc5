//! `NDZARR_DURABILITY`: what the writes to a folder sync, as its place says.

use std::path::Path;

use ndzarr::{Array, CopyOptions, ErrorKind, Format, Group, Place, Result, copy};

/// A place whose environment has this level, and nothing else.
fn place(path: &Path, level: &'static str) -> Place {
    Place::with_variables(path, move |name| (name == "NDZARR_DURABILITY").then(|| level.to_owned()))
}

fn shown(storage: &ndzarr::Storage) -> String {
    format!("{storage:?}")
}

#[test]
fn a_folder_has_the_level_of_the_variable() -> Result<()> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let levels =
        [("none", "None"), ("documents", "Documents"), ("", "Documents"), ("data", "Data"), ("full", "Full")];
    for (level, expected) in levels {
        let place = place(&folder.path().join(format!("a-{level}")), level);
        let created = Array::<u8>::builder([2]).create(&place)?;
        let opened = Array::<u8>::open(&place)?;
        for array in [created, opened] {
            let shown = shown(array.storage());
            assert!(shown.contains(&format!(", {expected}, ")), "{level}: {shown}");
        }
    }
    Ok(())
}

/// A folder that is found to be part of a hierarchy keeps its level.
#[test]
fn a_node_below_its_root_has_it_too() -> Result<()> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    Array::<u8>::builder([2]).format(Format::N5).create((folder.path(), "g/a"))?;
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
        Array::<u8>::builder([2]).create(place(&folder.path().join("b"), "1")).map(drop),
        copy(folder.path().join("a"), archive, &CopyOptions::default()).map(drop),
    ];
    for result in wrong {
        let error = result.expect_err("there is no such level");
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(
            error.to_string().contains("NDZARR_DURABILITY is none, documents, data or full, not"),
            "{error}"
        );
    }
    assert!(!folder.path().join("b").exists() && !folder.path().join("c.zip").exists());
    Ok(())
}
