//! What a repair removes, and what it keeps in a quarantine.

use std::fs;
use std::path::Path;

use ndzarr::{Array, Format, Group, codec};

use crate::damage::damaged;
use crate::{Folder, files};

/// All files of a folder with their bytes.
/// The copies are the last that says what an array is.
#[test]
fn a_document_that_only_copies_still_have_is_never_lost() {
    for (format, name) in [(Format::Zarr3, "zarr.json"), (Format::Zarr2, ".zarray")] {
        for damage in ["gone", "cut off", "unknown type"] {
            let folder = Folder::new();
            let root = Group::create(folder.path("g.zarr"), format).expect("it is new");
            let array = Array::<u8>::builder([4]).chunks([2]);
            root.create_array("a", array)
                .expect("it is new")
                .fill(.., 7)
                .expect("it is written");
            Group::open(folder.path("g.zarr"))
                .expect("it is there")
                .consolidate()
                .expect("it is written");
            let path = folder.path("g.zarr/a").join(name);
            let text = fs::read_to_string(&path).expect("it is there");
            match damage {
                "gone" => fs::remove_file(&path).expect("it is there"),
                "cut off" => fs::write(&path, &text[..text.len() / 2]).expect("it is there"),
                _ => fs::write(&path, text.replace("uint8", "uint9").replace("|u1", "|u9"))
                    .expect("it is there"),
            }
            let ran = folder.run(&["repair", "--yes", "g.zarr"]);
            assert_eq!(ran.status, 1, "{name}, {damage}: {ran:?}");
            assert!(
                ran.out.contains("they still describe \"a\""),
                "{name}, {damage}: {ran:?}"
            );
            let root = Group::open(folder.path("g.zarr")).expect("it is there");
            let read = root
                .array::<u8>("a")
                .expect("by the copies")
                .read(..)
                .expect("elements");
            assert_eq!(read.into_raw_vec_and_offset().0, [7; 4], "{name}, {damage}");
        }
    }
}

fn content(folder: &Path) -> Vec<(String, Vec<u8>)> {
    files(folder)
        .into_iter()
        .map(|name| {
            (
                name.clone(),
                fs::read(folder.join(name)).expect("it is there"),
            )
        })
        .collect()
}

#[test]
fn a_dry_run_changes_nothing() {
    let folder = damaged();
    let before = content(&folder.path("g.zarr"));
    let ran = folder.run(&["repair", "g.zarr"]);
    assert_eq!(ran.status, 1, "{ran:?}");
    assert_eq!(
        ran.out
            .lines()
            .filter(|line| line.starts_with("would quarantine "))
            .count(),
        3,
        "{ran:?}"
    );
    assert_eq!(content(&folder.path("g.zarr")), before);
    assert_eq!(
        files(&folder.path(""))
            .iter()
            .filter(|name| name.contains("quarantine"))
            .count(),
        0
    );
}

#[test]
fn damaged_chunks_are_kept_and_what_can_be_read_stays() {
    let folder = damaged();
    let before = content(&folder.path("g.zarr"));
    let value = |name: &str| {
        &before
            .iter()
            .find(|(it, _)| it == name)
            .expect("it was there")
            .1
    };
    folder.good(&["repair", "--yes", "g.zarr"]);
    folder.good(&["verify", "g.zarr"]);
    // What was damaged is next to the group, byte for byte.
    for name in ["plain/c/0/1", "shards/c/1/0", "shards/c/1/1"] {
        let kept = fs::read(folder.path("g.zarr.quarantine").join(name)).expect("it is kept");
        assert!(kept == *value(name), "{name}");
    }
    assert_eq!(files(&folder.path("g.zarr.quarantine")).len(), 3);
    // Only the damaged inner chunk of a shard is lost: rows 4 and 5, columns 2 and 3.
    let shards = Array::<u16>::open(folder.path("g.zarr/shards")).expect("it is there");
    let elements = shards.read(..).expect("it can be read");
    for ((y, x), &element) in elements
        .into_dimensionality::<ndzarr::ndarray::Ix2>()
        .expect("two axes")
        .indexed_iter()
    {
        let is_lost = (y >= 4 && x >= 4) || ((4..6).contains(&y) && (2..4).contains(&x));
        assert_eq!(
            element,
            if is_lost { 0 } else { (1 + 8 * y + x) as u16 },
            "{y} {x}"
        );
    }
    let plain = Array::<u16>::open(folder.path("g.zarr/plain")).expect("it is there");
    assert_eq!(
        plain
            .read(..)
            .expect("it can be read")
            .iter()
            .map(|&x| u32::from(x))
            .sum::<u32>(),
        48 * 7
    );
    // Sound chunks are what they were.
    for (name, bytes) in &before {
        if !["plain/c/0/1", "shards/c/1/0", "shards/c/1/1"].contains(&&name[..]) {
            assert!(
                fs::read(folder.path("g.zarr").join(name)).expect("it stays") == *bytes,
                "{name}"
            );
        }
    }
    // Another time there is nothing to do.
    assert_eq!(
        folder.good(&["repair", "--yes", "g.zarr"]),
        "nothing to repair\n"
    );
}

#[test]
fn a_quarantine_never_replaces_what_is_in_it() {
    let folder = damaged();
    fs::create_dir_all(folder.path("q/plain/c/0")).expect("a folder");
    fs::write(folder.path("q/plain/c/0/1"), "older").expect("a file");
    folder.good(&["repair", "--yes", "g.zarr", "--quarantine", "q"]);
    assert_eq!(
        fs::read(folder.path("q/plain/c/0/1")).expect("it stays"),
        b"older"
    );
    assert!(folder.path("q/plain/c/0/1.1").is_file());
}

#[test]
fn what_killed_writers_left_is_removed_and_what_is_held_stays() {
    use ndzarr::FsStore;
    use ndzarr::Store;
    use ndzarr::store::{Key, Locked, Wait};

    let folder = Folder::new();
    let array = Array::<u8>::builder([4]).chunks([2]);
    folder.array("a.zarr", array, |_| 1);
    for name in ["c/0.__lock", "c/1.part0.__lock"] {
        fs::write(folder.path("a.zarr").join(name), vec![7; 1000]).expect("a file");
    }
    let store = FsStore::new(folder.path("a.zarr"));
    let held = store
        .lock(&Key::new("zarr.json").expect("a key"), Wait::Block)
        .expect("it has locks");
    assert!(matches!(held, Locked::Held(_)));
    let ran = folder.run(&["repair", "a.zarr"]);
    assert_eq!(ran.status, 1);
    assert!(
        ran.out.contains("would remove c/0.__lock") && ran.out.contains("c/1.part0.__lock"),
        "{ran:?}"
    );
    assert!(!ran.out.contains("zarr.json.__lock"), "{ran:?}");
    folder.good(&["repair", "--yes", "a.zarr"]);
    let left = files(&folder.path("a.zarr"));
    assert_eq!(left, ["c/0", "c/1", "zarr.json", "zarr.json.__lock"]);
    drop(held);
    assert_eq!(files(&folder.path("a.zarr")), ["c/0", "c/1", "zarr.json"]);
}

#[test]
fn what_an_unfinished_copy_needs_stays() {
    let folder = Folder::new();
    let root = Group::create(folder.path("g.zarr"), Format::Zarr3).expect("it is new");
    root.create_array("a", Array::<u8>::builder([4]))
        .expect("it is new")
        .fill(.., 1)
        .expect("it is written");
    // As a copy of a group leaves it that was killed, and one of an array that was killed at its
    // very end.
    fs::write(folder.path("g.zarr/.ndzarr-copy"), "{}").expect("a file");
    fs::write(folder.path("g.zarr/a/.ndzarr-copy"), "{}").expect("a file");
    fs::create_dir_all(folder.path("g.zarr/a/.ndzarr-temporary/2x2")).expect("a folder");
    fs::write(folder.path("g.zarr/a/.ndzarr-temporary/2x2/0.0"), "x").expect("a file");
    folder.good(&["repair", "--yes", "g.zarr"]);
    assert_eq!(
        files(&folder.path("g.zarr")),
        [".ndzarr-copy", "a/c/0", "a/zarr.json", "zarr.json"]
    );
    assert!(!folder.path("g.zarr/a/.ndzarr-temporary").exists());
}

#[test]
fn a_shard_is_kept_once() {
    let folder = damaged();
    let shard = folder.path("g.zarr/shards/c/1/0");
    // The inner chunks have 12 bytes each.
    let mut bytes = fs::read(&shard).expect("it is there");
    bytes[1] ^= 1;
    bytes[37] ^= 1;
    fs::write(&shard, &bytes).expect("it is there");
    let ran = folder.run(&["repair", "--yes", "g.zarr"]);
    assert_eq!(
        (
            ran.status,
            ran.out.matches("quarantine shards/c/1/0").count()
        ),
        (0, 3),
        "{ran:?}"
    );
    let kept = folder.path("g.zarr.quarantine/shards/c/1");
    assert_eq!(files(&kept), ["0", "1"]);
    assert_eq!(fs::read(kept.join("0")).expect("it is kept"), bytes);
    folder.good(&["verify", "g.zarr"]);
}

/// A loop over all places would not end.
#[test]
fn a_chunk_at_the_end_of_a_huge_grid_is_put_aside() {
    let folder = Folder::new();
    let array = Array::<u8>::builder([1_u64 << 40])
        .chunks([1])
        .codecs([codec::gzip(5)]);
    let array = array.create(folder.path("a.zarr")).expect("it is new");
    let last = (1_u64 << 40) - 1;
    array.fill([last..last + 1], 1).expect("it is written");
    fs::write(folder.path(&format!("a.zarr/c/{last}")), "x").expect("it is there");
    folder.good(&["repair", "--yes", "a.zarr", "--quiet"]);
    assert_eq!(
        files(&folder.path("")),
        [
            format!("a.zarr.quarantine/c/{last}"),
            "a.zarr/zarr.json".to_owned()
        ]
    );
}
