//! Arrays and groups with symbolic links in their folders.
#![cfg(unix)]

use std::error::Error;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use ndzarr::store::Links;
use ndzarr::{AnyArray, Array, Format, FsStore, Group, MemberKind};
use serde_json::json;

type Outcome = Result<(), Box<dyn Error>>;

fn stores(root: &Path) -> [FsStore; 2] {
    [
        FsStore::new(root),
        FsStore::builder(root).links(Links::Confine).build(),
    ]
}

/// The message of an error, and those of its causes.
fn full_message(error: &dyn Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", full_message(source)),
        None => error.to_string(),
    }
}

/// Broken links, as git-annex and DataLad leave for missing content: no other element may become
/// the fill value.
#[test]
fn b2_a_chunk_that_is_a_link_to_nowhere_is_an_error() -> Outcome {
    const TARGET: &str = "../../.git/annex/objects/XX/YY/KEY";
    for (format, chunk) in [
        (Format::Zarr3, "a/c/0"),
        (Format::Zarr2, "a/0"),
        (Format::N5, "a/0"),
    ] {
        for shards in [false, true] {
            if shards && format != Format::Zarr3 {
                continue;
            }
            let folder = tempfile::tempdir()?;
            let mut builder = Array::<u8>::builder([4]).chunks([4]).format(format);
            if shards {
                builder = builder.chunks([2]).shards([4]);
            }
            builder.create((folder.path(), "a"))?.fill(.., 5)?;
            let file = folder.path().join(chunk);
            let value = fs::read(&file)?;
            fs::remove_file(&file)?;
            symlink(TARGET, &file)?;
            for store in stores(folder.path()) {
                let a = Array::<u8>::open((&store, "a"))?;
                for error in [
                    a.read(..).err(),
                    a.read([1..2]).err(),
                    a.fill([0..1], 9).err(),
                ] {
                    let Some(error) = error else {
                        panic!("{format:?}: taken for absent")
                    };
                    let message = full_message(&error);
                    assert!(
                        message.contains(TARGET) && message.contains(chunk),
                        "{message}"
                    );
                }
                assert!(file.is_symlink(), "nothing took its place");
            }
            // The whole of it may be written.
            let a = Array::<u8>::open((folder.path(), "a"))?;
            a.fill(.., 5)?;
            assert_eq!(fs::read(&file)?, value);
        }
    }
    Ok(())
}

/// A document or folder that was not fetched is not treated as absent.
#[test]
fn b2_documents_and_folders_that_are_links_to_nowhere_are_errors() -> Outcome {
    for (format, document) in [
        (Format::Zarr3, "zarr.json"),
        (Format::Zarr2, ".zarray"),
        (Format::N5, "attributes.json"),
    ] {
        let folder = tempfile::tempdir()?;
        let group = Group::create(folder.path(), format)?;
        group
            .create_array("a", Array::<u8>::builder([4]).chunks([4]))?
            .fill(.., 5)?;
        let file = folder.path().join("a").join(document);
        fs::remove_file(&file)?;
        symlink("../.git/annex/KEY", &file)?;
        symlink("../.git/annex/FOLDER", folder.path().join("b"))?;
        for store in stores(folder.path()) {
            for (path, target) in [("a", "annex/KEY"), ("b", "annex/FOLDER")] {
                let Err(error) = AnyArray::open((&store, path)) else {
                    panic!("{path} opened")
                };
                assert!(
                    full_message(&error).contains(target),
                    "{format:?} {path}: {}",
                    full_message(&error)
                );
                let created = Array::<u8>::builder([4])
                    .format(format)
                    .create((&store, path));
                let Err(error) = created else {
                    panic!("{path} created")
                };
                assert!(
                    full_message(&error).contains(target),
                    "{format:?} {path}: {}",
                    full_message(&error)
                );
            }
        }
        assert!(file.is_symlink());
    }
    Ok(())
}

/// 31 folders with two links each to the next are 2³¹ paths.
#[test]
fn c5_a_walk_through_few_links_ends() -> Outcome {
    const DEPTH: usize = 32;
    for format in [Format::Zarr3, Format::Zarr2, Format::N5] {
        let folder = tempfile::tempdir()?;
        let root = Group::create(folder.path(), format)?;
        for i in 0..DEPTH {
            root.create_group(&format!("d{i}"))?;
            for name in ["a", "b"] {
                if i + 1 < DEPTH {
                    symlink(
                        format!("../d{}", i + 1),
                        folder.path().join(format!("d{i}/{name}")),
                    )?;
                }
            }
        }
        for store in stores(folder.path()) {
            let below = Group::open((&store, "d0"))?.walk()?;
            let paths: Vec<String> = below.iter().map(|child| child.path()).collect();
            assert_eq!(
                below.len(),
                2 * (DEPTH - 1),
                "{format:?}: both links of each folder"
            );
            assert!(
                below
                    .iter()
                    .all(|child| child.kind() == Some(MemberKind::Group))
            );
            assert_eq!(paths[..3], ["a", "a/a", "a/a/a"]);
            assert!(paths.contains(&"b".to_owned()) && !paths.contains(&"b/a".to_owned()));
            let children = Group::open((&store, "d0"))?.walk()?;
            assert_eq!(
                children
                    .iter()
                    .map(|child| child.path())
                    .collect::<Vec<_>>(),
                paths
            );
            // Nodes skipped by a walk still exist.
            assert_eq!(Group::open((&store, "d0/b/b"))?.children()?.len(), 2);
        }
    }
    Ok(())
}

/// The writer works on a temporary below the array, for as long as it likes.
#[test]
fn c3_an_array_is_removed_while_a_shard_writer_is_open() -> Outcome {
    for is_recreated in [false, true] {
        let folder = tempfile::tempdir()?;
        let group = Group::create(folder.path(), Format::Zarr3)?;
        let builder = || {
            Array::<u8>::builder([64])
                .chunks([4])
                .shards([16])
                .attributes(json!({"is_recreated": is_recreated}))
        };
        let a = group.create_array("a", builder())?;
        a.fill(.., 1)?;
        let writer = a.shard_writer(&[0])?;
        let inner = ndzarr::ndarray::Array1::from_elem(4, 7_u8);
        writer.write_chunk(&[0], &inner)?;
        group.erase("a")?;
        assert!(!folder.path().join("a").exists());
        if is_recreated {
            group.create_array("a", builder())?;
        }
        // It has nothing to publish any more, and must not put a chunk of the old array into a new
        // one.
        let Err(error) = writer.finish() else {
            panic!("published")
        };
        let what = if is_recreated { "removed" } else { "gone" };
        assert!(
            full_message(&error).contains(what),
            "{}",
            full_message(&error)
        );
        assert!(!folder.path().join("a/c").exists());
        if is_recreated {
            let a = group.array::<u8>("a")?;
            assert_eq!(a.read(..)?.iter().max(), Some(&0));
        }
    }
    Ok(())
}

/// An array of sevens, whose folder `c` is elsewhere.
fn with_linked_chunks(folder: &std::path::Path, to: &str) -> ndzarr::Array<u8> {
    let array = ndzarr::Array::<u8>::builder([8, 4])
        .chunks([1, 4])
        .create((folder, "a"))
        .expect("a new array");
    array.fill(.., 7).expect("elements");
    std::fs::rename(folder.join("a/c"), folder.join("disk")).expect("it moves");
    std::os::unix::fs::symlink(to, folder.join("a/c")).expect("a link");
    array
}

/// The chunks are on a disk that is not mounted now: no copy of fill values, and nothing that comes
/// back.
#[test]
fn chunks_under_a_link_to_nowhere_are_neither_copied_nor_forgotten() {
    use ndzarr::{CopyOptions, MemoryStore, copy};

    let folder = tempfile::tempdir().expect("a folder");
    let mut array = with_linked_chunks(folder.path(), "../mounted-later");
    for options in [CopyOptions::new(), CopyOptions::new().chunks([2, 4])] {
        let to = MemoryStore::new();
        copy((folder.path(), "a"), (&to, "b"), &options).expect_err("its chunks cannot be read");
        assert!(ndzarr::Array::<u8>::open((&to, "b")).is_err());
    }
    array
        .resize([2, 4])
        .expect_err("its chunks cannot be removed");
    assert_eq!(
        ndzarr::Array::<u8>::open((folder.path(), "a"))
            .expect("an array")
            .shape(),
        [8, 4]
    );
    std::fs::rename(
        folder.path().join("disk"),
        folder.path().join("mounted-later"),
    )
    .expect("it moves");
    array.resize([2, 4]).expect("it shrinks");
    array.resize([8, 4]).expect("it grows");
    assert!(
        array
            .read([2..8, 0..4])
            .expect("elements")
            .iter()
            .all(|element| *element == 0)
    );
}

/// A folder next to those of chunks that has no chunk's name does not matter.
#[test]
fn other_links_to_nowhere_do_not_matter() {
    let folder = tempfile::tempdir().expect("a folder");
    let array = ndzarr::Array::<u8>::builder([8, 4])
        .chunks([1, 4])
        .create((folder.path(), "a"));
    array.expect("a new array").fill(.., 7).expect("elements");
    std::os::unix::fs::symlink("nowhere", folder.path().join("a/notes")).expect("a link");
    std::fs::write(folder.path().join("a/17"), "a file").expect("a file");
    let to = ndzarr::MemoryStore::new();
    ndzarr::copy(
        (folder.path(), "a"),
        (&to, "b"),
        &ndzarr::CopyOptions::new(),
    )
    .expect("a copy");
    let copied = ndzarr::Array::<u8>::open((&to, "b"))
        .expect("the copy")
        .read(..)
        .expect("elements");
    assert!(copied.iter().all(|element| *element == 7));
}

/// `c` leads to the folder of the array: chunks of Zarr v2 with `/`, seen as those of v3. Rows that
/// are links to one row. Both are read, so both are copied.
#[test]
fn what_is_read_by_links_is_copied() {
    use ndzarr::{Array, CopyOptions, MemoryStore, copy};
    use std::os::unix::fs::symlink;

    let up = |folder: &std::path::Path| {
        for row in 0..8 {
            let [from, to] = ["c", "."].map(|parent| folder.join(format!("a/{parent}/{row}")));
            std::fs::rename(from, to).expect("it moves");
        }
        std::fs::remove_dir(folder.join("a/c")).expect("it is empty");
        symlink(".", folder.join("a/c")).expect("a link");
    };
    let rows = |folder: &std::path::Path| {
        for row in 1..8 {
            std::fs::remove_dir_all(folder.join(format!("a/c/{row}"))).expect("a row");
            symlink("0", folder.join(format!("a/c/{row}"))).expect("a link");
        }
    };
    for shrinks in [true, false] {
        let folder = tempfile::tempdir().expect("a folder");
        let array = Array::<u8>::builder([8, 4])
            .chunks([1, 4])
            .create((folder.path(), "a"));
        let mut array = array.expect("a new array");
        array.fill(.., 7).expect("elements");
        if shrinks {
            up(folder.path())
        } else {
            rows(folder.path())
        }
        for options in [CopyOptions::new(), CopyOptions::new().chunks([2, 4])] {
            let to = MemoryStore::new();
            copy((folder.path(), "a"), (&to, "b"), &options).expect("a copy");
            let copied = Array::<u8>::open((&to, "b"))
                .expect("the copy")
                .read(..)
                .expect("elements");
            assert_eq!(copied, array.read(..).expect("elements"));
            assert!(copied.iter().all(|element| *element == 7));
        }
        // If rows are links to one row, removing them would remove the one that stays.
        if shrinks {
            array.resize([2, 4]).expect("it shrinks");
            array.resize([8, 4]).expect("it grows");
            assert!(
                array
                    .read([2..8, 0..4])
                    .expect("elements")
                    .iter()
                    .all(|element| *element == 0)
            );
            assert!(
                array
                    .read([0..2, 0..4])
                    .expect("elements")
                    .iter()
                    .all(|element| *element == 7)
            );
        }
    }
}
