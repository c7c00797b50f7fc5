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
    [FsStore::new(root), FsStore::builder(root).links(Links::Confine).build()]
}

fn said(error: &dyn Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", said(source)),
        None => error.to_string(),
    }
}

/// Broken links, as git-annex and DataLad leave for missing content: no other element may become
/// the fill value.
#[test]
fn b2_a_chunk_that_is_a_link_to_nowhere_is_an_error() -> Outcome {
    const TARGET: &str = "../../.git/annex/objects/XX/YY/KEY";
    for (format, chunk) in [(Format::Zarr3, "a/c/0"), (Format::Zarr2, "a/0"), (Format::N5, "a/0")] {
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
                for error in [a.read(..).err(), a.read([1..2]).err(), a.fill([0..1], 9).err()] {
                    let Some(error) = error else { panic!("{format:?}: taken for absent") };
                    let said = said(&error);
                    assert!(said.contains(TARGET) && said.contains(chunk), "{said}");
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
    for (format, document) in
        [(Format::Zarr3, "zarr.json"), (Format::Zarr2, ".zarray"), (Format::N5, "attributes.json")]
    {
        let folder = tempfile::tempdir()?;
        let group = Group::create(folder.path(), format)?;
        group.create_array("a", Array::<u8>::builder([4]).chunks([4]))?.fill(.., 5)?;
        let file = folder.path().join("a").join(document);
        fs::remove_file(&file)?;
        symlink("../.git/annex/KEY", &file)?;
        symlink("../.git/annex/FOLDER", folder.path().join("b"))?;
        for store in stores(folder.path()) {
            for (path, target) in [("a", "annex/KEY"), ("b", "annex/FOLDER")] {
                let Err(error) = AnyArray::open((&store, path)) else { panic!("{path} opened") };
                assert!(said(&error).contains(target), "{format:?} {path}: {}", said(&error));
                let created = Array::<u8>::builder([4]).format(format).create((&store, path));
                let Err(error) = created else { panic!("{path} created") };
                assert!(said(&error).contains(target), "{format:?} {path}: {}", said(&error));
            }
        }
        assert!(file.is_symlink());
    }
    Ok(())
}

/// 31 folders with two links each to the next are 2³¹ ways.
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
                    symlink(format!("../d{}", i + 1), folder.path().join(format!("d{i}/{name}")))?;
                }
            }
        }
        for store in stores(folder.path()) {
            let below = Group::open((&store, "d0"))?.walk()?;
            let paths: Vec<String> = below.iter().map(|child| child.path()).collect();
            assert_eq!(below.len(), 2 * (DEPTH - 1), "{format:?}: both links of each folder");
            assert!(below.iter().all(|child| child.kind() == Some(MemberKind::Group)));
            assert_eq!(paths[..3], ["a", "a/a", "a/a/a"]);
            assert!(paths.contains(&"b".to_owned()) && !paths.contains(&"b/a".to_owned()));
            let children = Group::open((&store, "d0"))?.walk()?;
            assert_eq!(children.iter().map(|child| child.path()).collect::<Vec<_>>(), paths);
            // Nodes skipped by a walk still exist.
            assert_eq!(Group::open((&store, "d0/b/b"))?.children()?.len(), 2);
        }
    }
    Ok(())
}

/// The writer works on a temporary below the array, for as long as it likes.
#[test]
fn c3_an_array_is_removed_beside_an_open_shard_writer() -> Outcome {
    for anew in [false, true] {
        let folder = tempfile::tempdir()?;
        let group = Group::create(folder.path(), Format::Zarr3)?;
        let builder =
            || Array::<u8>::builder([64]).chunks([4]).shards([16]).attributes(json!({"anew": anew}));
        let a = group.create_array("a", builder())?;
        a.fill(.., 1)?;
        let writer = a.shard_writer(&[0])?;
        let inner = ndzarr::ndarray::Array1::from_elem(4, 7_u8);
        writer.write_chunk(&[0], &inner)?;
        group.erase("a")?;
        assert!(!folder.path().join("a").exists());
        if anew {
            group.create_array("a", builder())?;
        }
        // It has nothing to publish any more, and must not put a chunk of the old array into a new
        // one.
        let Err(error) = writer.finish() else { panic!("published") };
        let what = if anew { "removed" } else { "gone" };
        assert!(said(&error).contains(what), "{}", said(&error));
        assert!(!folder.path().join("a/c").exists());
        if anew {
            let a = group.array::<u8>("a")?;
            assert_eq!(a.read(..)?.iter().max(), Some(&0));
        }
    }
    Ok(())
}
