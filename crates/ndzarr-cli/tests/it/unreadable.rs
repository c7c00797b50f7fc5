//! What cannot be read, listed or followed is named, and hides nothing else.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use ndzarr::{Array, Format, Group, codec};
use serde_json::{Value, json};

use crate::{Folder, Ran, files};

/// An array with a broken chunk, one that is a link to nowhere, a link in a circle, a pipe and a
/// folder.
fn array_with_strange_chunks() -> Folder {
    let folder = Folder::new();
    let root = Group::create(folder.path("g.zarr"), Format::Zarr3).expect("it is new");
    let array = Array::<u8>::builder([20])
        .chunks([2])
        .codecs([codec::crc32c()]);
    let a = root.create_array("a", array).expect("it is new");
    a.fill(.., 1).expect("it is written");
    let chunk = |n: usize| folder.path(&format!("g.zarr/a/c/{n}"));
    for n in [1, 3, 5, 7] {
        fs::remove_file(chunk(n)).expect("it is there");
    }
    symlink("nowhere", chunk(1)).expect("a link");
    symlink("3", chunk(3)).expect("a link");
    assert!(
        Command::new("mkfifo")
            .arg(chunk(5))
            .status()
            .expect("every Unix has it")
            .success()
    );
    fs::create_dir(chunk(7)).expect("a folder");
    fs::write(chunk(9), "odd!!!").expect("a file");
    folder
}

fn found(lines: &[Value]) -> Vec<(&str, &str)> {
    lines
        .iter()
        .filter_map(|line| Some((line["key"].as_str()?, line["kind"].as_str()?)))
        .collect()
}

#[test]
fn each_strange_chunk_is_named_and_the_rest_is_looked_at() {
    let folder = array_with_strange_chunks();
    let expected = [
        ("a/c/1", "unreadable"),
        ("a/c/3", "unreadable"),
        ("a/c/5", "unreadable"),
        ("a/c/7", "unreadable"),
        ("a/c/9", "damaged"),
    ];
    let ran = folder.run(&["verify", "g.zarr"]);
    assert_eq!((ran.status, &ran.err[..]), (1, ""), "{ran:?}");
    let lines = folder.json(&["verify", "g.zarr"]);
    let mut keys = found(&lines);
    keys.sort_unstable();
    assert_eq!(keys, expected);
    assert_eq!(lines.last().expect("a last line")["done"]["units"], 10);
    // The damaged chunk is put aside; the others are not the program's to remove.
    let ran = folder.run(&["repair", "--yes", "g.zarr"]);
    assert_eq!((ran.status, &ran.err[..]), (1, ""), "{ran:?}");
    assert!(
        ran.out.contains("quarantine a/c/9") && ran.out.contains("4 beyond repair"),
        "{ran:?}"
    );
    assert_eq!(files(&folder.path("g.zarr.quarantine")), ["a/c/9"]);
}

#[test]
fn strange_chunks_end_no_list() {
    let folder = array_with_strange_chunks();
    let printed = folder.good(&["info", "g.zarr/a"]);
    assert!(
        printed.contains("10 of 10 chunks, 4 values cannot be read"),
        "{printed}"
    );
    let info = folder.json(&["info", "g.zarr/a"]);
    assert_eq!(
        (
            &info[0]["stored"]["units"],
            &info[0]["stored"]["unreadable"]
        ),
        (&json!(10), &json!(4))
    );
    let printed = folder.good(&["ls", "-r", "-s", "g.zarr"]);
    assert!(
        printed.starts_with("a  ") && printed.contains("4 values cannot be read"),
        "{printed}"
    );
}

/// As DataLad and git-annex leave arrays whose content is elsewhere.
#[test]
fn an_array_of_links_to_nowhere_can_be_removed_and_replaced() {
    for removal in [
        &["rm", "--yes", "g.zarr/a"][..],
        &["cp", "b.zarr", "g.zarr/a", "--overwrite"],
    ] {
        let folder = array_with_strange_chunks();
        folder.array("b.zarr", Array::<u8>::builder([2]), |_| 7);
        folder.good(removal);
        let left = files(&folder.path("g.zarr/a"));
        let expected: &[&str] = if removal[0] == "rm" {
            &[]
        } else {
            &["c/0", "zarr.json"]
        };
        assert_eq!(left, expected, "{removal:?}");
    }
}

#[test]
fn an_empty_folder_in_the_place_of_a_chunk_is_not_the_fill_value() {
    let folder = array_with_strange_chunks();
    let error = folder.bad(3, &["cat", "g.zarr/a", "14"]);
    assert!(
        error.contains("c/7") && error.contains("an empty folder is in its place"),
        "{error}"
    );
    // With a key below it is a prefix, as in a bucket, and the chunk is not stored.
    fs::write(folder.path("g.zarr/a/c/7/0"), "x").expect("a file");
    assert_eq!(folder.good(&["cat", "g.zarr/a", "14"]), "0\n");
    let keys = folder.json(&["verify", "g.zarr", "--orphans"]);
    assert!(found(&keys).contains(&("a/c/7/0", "orphan")), "{keys:?}");
}

#[test]
fn names_that_no_key_can_have_are_orphans() {
    let folder = Folder::new();
    folder.array("a.zarr", Array::<u8>::builder([2]), |_| 7);
    fs::write(folder.path("a.zarr/C:\\notes.txt"), "x").expect("a file");
    folder.good(&["verify", "a.zarr"]);
    let keys = folder.json(&["verify", "a.zarr", "--orphans"]);
    assert_eq!(found(&keys), [("C:\\notes.txt", "orphan")]);
}

/// A command as a user who is not root, with a program that this user can reach.
fn as_other(folder: &Folder, arguments: &[&str]) -> Ran {
    let program = folder.path("program");
    if !program.exists() {
        let built = env!("CARGO_BIN_EXE_ndzarr");
        fs::hard_link(built, &program)
            .or_else(|_| fs::copy(built, &program).map(drop))
            .expect("a copy");
        fs::set_permissions(folder.path(""), fs::Permissions::from_mode(0o755)).expect("its owner");
    }
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder.path(""));
    if rustix::process::getuid().is_root() {
        command.uid(65534).gid(65534);
    }
    Ran::of(&command.output().expect("it runs"))
}

fn deny(path: &Path) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o0)).expect("its owner");
}

#[test]
fn what_is_denied_hides_nothing() {
    let folder = Folder::new();
    let root = Group::create(folder.path("g.zarr"), Format::Zarr3).expect("it is new");
    for name in ["a", "b", "c"] {
        let array = Array::<u8>::builder([4, 4])
            .chunks([2, 2])
            .codecs([codec::crc32c()]);
        root.create_array(name, array)
            .expect("it is new")
            .fill(.., 1)
            .expect("it is written");
    }
    root.create_group("d").expect("it is new");
    deny(&folder.path("g.zarr/a/c/0"));
    deny(&folder.path("g.zarr/b/zarr.json"));
    deny(&folder.path("g.zarr/c/c/1/1"));
    deny(&folder.path("g.zarr/d"));
    fs::write(folder.path("g.zarr/c/c/0/1"), "odd!!!!!").expect("a file");
    let ran = as_other(&folder, &["verify", "g.zarr", "--json"]);
    assert_eq!((ran.status, &ran.err[..]), (1, ""), "{ran:?}");
    let lines: Vec<Value> = ran
        .out
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON on each line"))
        .collect();
    let mut keys = found(&lines);
    keys.sort_unstable();
    let expected = [
        ("a/c/0/", "unreadable"),
        ("b/zarr.json", "unreadable"),
        ("c/c/0/1", "damaged"),
        ("c/c/1/1", "unreadable"),
        ("d/zarr.json", "unreadable"),
    ];
    assert_eq!(keys, expected);
    let ran = as_other(&folder, &["ls", "-r", "-s", "g.zarr"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    assert!(
        ran.out.contains("1 folder cannot be listed") && ran.out.contains("b  cannot be opened"),
        "{ran:?}"
    );
    let ran = as_other(&folder, &["repair", "g.zarr"]);
    assert_eq!((ran.status, &ran.err[..]), (1, ""), "{ran:?}");
    assert!(ran.out.contains("would quarantine c/c/0/1"), "{ran:?}");
    for path in ["g.zarr/a/c/0", "g.zarr/d"] {
        // So that the folder can be removed.
        fs::set_permissions(folder.path(path), fs::Permissions::from_mode(0o755))
            .expect("its owner");
    }
}

#[test]
fn what_may_not_be_removed_keeps_nothing_else() {
    let folder = Folder::new();
    let array = Array::<u8>::builder([4, 2]).chunks([2, 2]);
    folder.array("a.zarr", array, |_| 1);
    if rustix::process::getuid().is_root() {
        for path in ["", "a.zarr", "a.zarr/c", "a.zarr/c/0", "a.zarr/c/1"] {
            std::os::unix::fs::chown(folder.path(path), Some(65534), Some(65534))
                .expect("root may");
        }
    }
    fs::set_permissions(folder.path("a.zarr/c/0"), fs::Permissions::from_mode(0o555))
        .expect("its owner");
    let ran = as_other(&folder, &["rm", "--yes", "a.zarr"]);
    assert_eq!(ran.status, 3, "{ran:?}");
    assert!(ran.err.contains("Permission denied"), "{ran:?}");
    assert_eq!(files(&folder.path("a.zarr")), ["c/0/0"]);
    fs::set_permissions(folder.path("a.zarr/c/0"), fs::Permissions::from_mode(0o755))
        .expect("its owner");
}
