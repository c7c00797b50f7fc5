//! `verify` and `repair`: what they find, and what they leave alone.

use std::fs;
use std::path::Path;

use ndzarr::{Array, Format, Group, codec};
use serde_json::{Value, json};

use crate::{Folder, files};

/// A group with an array of each kind of damage.
fn damaged() -> Folder {
    let folder = Folder::new();
    let root = Group::create(folder.path("g.zarr"), Format::Zarr3).expect("it is new");
    let array = Array::<u16>::builder([8, 8]).chunks([4, 4]).codecs([codec::gzip(5)]);
    root.create_array("plain", array).expect("it is new").fill(.., 7).expect("it is written");
    let array = Array::<u16>::builder([8, 8]).chunks([2, 2]).shards([4, 4]).codecs([codec::crc32c()]);
    let array = root.create_array("shards", array).expect("it is new");
    let elements = ndzarr::ndarray::Array2::from_shape_fn([8, 8], |(y, x)| (1 + 8 * y + x) as u16);
    array.write(.., &elements).expect("it is written");
    let array = Array::<u16>::builder([8]).chunks([4]).codecs([codec::zstd(3)]);
    root.create_array("sound", array).expect("it is new").fill([0..4], 7).expect("it is written");
    let path = |name: &str| folder.path("g.zarr").join(name);
    // A truncated chunk.
    let chunk = fs::read(path("plain/c/0/1")).expect("it is there");
    fs::write(path("plain/c/0/1"), &chunk[..chunk.len() / 2]).expect("it is there");
    // A bit of the second inner chunk of a shard. Each has 8 bytes of elements and 4 of checksum.
    let mut shard = fs::read(path("shards/c/1/0")).expect("it is there");
    shard[13] ^= 1;
    fs::write(path("shards/c/1/0"), &shard).expect("it is there");
    // A shard whose index is cut off.
    let shard = fs::read(path("shards/c/1/1")).expect("it is there");
    fs::write(path("shards/c/1/1"), &shard[..shard.len() - 5]).expect("it is there");
    folder
}

fn found(lines: &[Value]) -> Vec<(String, String)> {
    let of = |line: &Value| Some((line["key"].as_str()?.to_owned(), line["kind"].as_str()?.to_owned()));
    lines.iter().filter_map(of).collect()
}

#[test]
fn each_broken_key_is_named() {
    let folder = damaged();
    let ran = folder.run(&["verify", "g.zarr"]);
    assert_eq!((ran.status, &ran.err[..]), (1, ""), "{}", ran.out);
    let lines: Vec<&str> = ran.out.lines().collect();
    assert!(lines[0].starts_with("plain/c/0/1: damaged: chunk [0, 1]: "), "{}", ran.out);
    assert!(lines[1].starts_with("shards/c/1/0: damaged: chunk [1, 0], inner chunk [0, 1]: "), "{}", ran.out);
    assert!(lines[2].starts_with("shards/c/1/1: damaged: chunk [1, 1]: "), "{}", ran.out);
    assert_eq!(lines[3], "decoded 9 stored values of 3 arrays: 3 wrong");
    let lines = folder.json(&["verify", "g.zarr"]);
    assert_eq!(lines[1]["inner_chunk"], json!([[0, 1]]));
    assert_eq!(lines[0]["codec"], "gzip");
    let done = &lines.last().expect("a last line")["done"];
    assert_eq!((&done["arrays"], &done["units"], &done["found"]), (&json!(3), &json!(9), &json!(3)));
    // An array alone, and nothing wrong.
    assert_eq!(folder.run(&["verify", "g.zarr/sound", "--quiet"]).out, "");
    assert_eq!(folder.run(&["verify", "g.zarr/sound"]).status, 0);
}

#[test]
fn a_quick_look_finds_what_sizes_tell() {
    let folder = damaged();
    let lines = folder.json(&["verify", "--quick", "g.zarr"]);
    assert_eq!(found(&lines), [("shards/c/1/1".to_owned(), "damaged".to_owned())]);
    fs::write(folder.path("g.zarr/sound/c/0"), "").expect("it is there");
    let raw = Array::<u16>::builder([4]).chunks([2]).codecs([]).format(Format::N5);
    folder.array("raw.n5", raw, |_| 1);
    let raw = Array::<u16>::builder([4]).chunks([2]).codecs([]);
    folder.array("raw.zarr", raw, |_| 1);
    fs::write(folder.path("raw.zarr/c/1"), "abc").expect("it is there");
    let keys = found(&folder.json(&["verify", "--quick", "g.zarr"]));
    assert_eq!(keys.len(), 2, "{keys:?}");
    let lines = folder.json(&["verify", "--quick", "raw.zarr"]);
    assert_eq!(lines[0]["what"], "it has 3 bytes instead of 4");
    assert_eq!(folder.run(&["verify", "--quick", "raw.n5"]).status, 0);
}

#[test]
fn documents_that_cannot_be_read_are_found() {
    let folder = damaged();
    fs::write(folder.path("g.zarr/plain/zarr.json"), "{\"zarr_format\": 3").expect("it is there");
    let keys = found(&folder.json(&["verify", "g.zarr"]));
    assert_eq!(keys[0], ("plain/zarr.json".to_owned(), "document".to_owned()));
    fs::write(folder.path("g.zarr/zarr.json"), "[]").expect("it is there");
    let ran = folder.run(&["verify", "g.zarr"]);
    assert_eq!(ran.status, 1, "{ran:?}");
    assert!(ran.out.starts_with("zarr.json: document: "), "{ran:?}");
    folder.bad(3, &["verify", "none.zarr"]);
}

#[test]
fn cli_11_what_is_not_stored_does_not_count_as_damage() {
    let folder = Folder::new();
    let array = Array::<u8>::builder([10]).chunks([2]).codecs([codec::gzip(1)]);
    let array = array.create(folder.path("a.zarr")).expect("it is new");
    array.fill([0..4], 1).expect("it is written");
    assert_eq!(folder.run(&["verify", "a.zarr"]).status, 0);
    let lines = folder.json(&["verify", "a.zarr", "--expect-all"]);
    let missing = ["c/2", "c/3", "c/4"].map(|key| (key.to_owned(), "missing".to_owned()));
    assert_eq!(found(&lines), missing);
    // Keys outside the grid, and files of other tools.
    fs::write(folder.path("a.zarr/c/5"), "x").expect("a file");
    fs::write(folder.path("a.zarr/c/0.partial"), "x").expect("a file");
    fs::write(folder.path("a.zarr/.DS_Store"), "x").expect("a file");
    assert_eq!(folder.run(&["verify", "a.zarr"]).status, 0);
    let ran = folder.run(&["verify", "a.zarr", "--orphans"]);
    assert_eq!(ran.status, 1);
    let lines = folder.json(&["verify", "a.zarr", "--orphans"]);
    let orphans = [".DS_Store", "c/0.partial", "c/5"].map(|key| (key.to_owned(), "orphan".to_owned()));
    assert_eq!(found(&lines), orphans);
}

#[test]
fn cli_12_arrays_without_a_checksum_are_named() {
    let folder = Folder::new();
    let root = Group::create(folder.path("g.zarr"), Format::Zarr3).expect("it is new");
    let codecs = [
        ("gzip", vec![codec::gzip(5)]),
        ("none", vec![]),
        ("zstd", vec![codec::zstd(3)]),
        ("zstd_crc", vec![codec::zstd(3), codec::crc32c()]),
    ];
    for (name, codecs) in codecs {
        let array = Array::<u16>::builder([64]).chunks([64]).codecs(codecs);
        root.create_array(name, array).expect("it is new").fill(.., 7).expect("it is written");
    }
    let array = Array::<u16>::builder([64]).chunks([8]).shards([64]).codecs([codec::zstd(3)]);
    root.create_array("shards", array).expect("it is new").fill(.., 7).expect("it is written");
    let lines = folder.json(&["verify", "g.zarr"]);
    let done = &lines.last().expect("a last line")["done"];
    assert_eq!(done["without_checksum"], json!(["none", "shards", "zstd"]));
    let text = folder.good(&["verify", "g.zarr"]);
    assert!(
        text.contains("without a checksum, so that changed bytes may go unnoticed: none, shards, zstd"),
        "{text}"
    );
    // What is not protected can indeed be changed unnoticed.
    let mut chunk = fs::read(folder.path("g.zarr/none/c/0")).expect("it is there");
    chunk[9] ^= 1;
    fs::write(folder.path("g.zarr/none/c/0"), chunk).expect("it is there");
    assert_eq!(folder.run(&["verify", "g.zarr"]).status, 0);
}

#[test]
fn stale_consolidated_metadata_are_found_and_renewed() {
    for format in [Format::Zarr2, Format::Zarr3] {
        let folder = Folder::new();
        let mut root = Group::create(folder.path("g.zarr"), format).expect("it is new");
        root.create_array("a", Array::<u8>::builder([4])).expect("it is new");
        root.consolidate().expect("it can list");
        assert_eq!(folder.run(&["verify", "g.zarr"]).status, 0);
        // Another program changes a document, and not the copies.
        let name = if format == Format::Zarr2 { "g.zarr/a/.zarray" } else { "g.zarr/a/zarr.json" };
        let text = fs::read_to_string(folder.path(name)).expect("it is there");
        let changed = text.replacen("4", "5", 1);
        // The shape is the only 4 of the document, or the first one.
        assert_ne!(text, changed);
        fs::write(folder.path(name), changed).expect("it is there");
        let ran = folder.run(&["verify", "g.zarr"]);
        assert_eq!(ran.status, 1, "{format}: {ran:?}");
        assert!(ran.out.starts_with(".: stale: "), "{format}: {ran:?}");
        assert_eq!(folder.run(&["repair", "g.zarr"]).status, 1);
        assert_eq!(folder.run(&["verify", "g.zarr"]).status, 1);
        folder.good(&["repair", "--yes", "g.zarr"]);
        folder.good(&["verify", "g.zarr"]);
    }
}

/// All files of a folder with their bytes.
/// The copies are the last that says what an array is.
#[test]
fn a_document_that_only_copies_still_have_is_never_lost() {
    for (format, name) in [(Format::Zarr3, "zarr.json"), (Format::Zarr2, ".zarray")] {
        for damage in ["gone", "cut off", "unknown type"] {
            let folder = Folder::new();
            let root = Group::create(folder.path("g.zarr"), format).expect("it is new");
            let array = Array::<u8>::builder([4]).chunks([2]);
            root.create_array("a", array).expect("it is new").fill(.., 7).expect("it is written");
            Group::open(folder.path("g.zarr")).expect("it is there").consolidate().expect("it is written");
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
            assert!(ran.out.contains("they still describe \"a\""), "{name}, {damage}: {ran:?}");
            let root = Group::open(folder.path("g.zarr")).expect("it is there");
            let read = root.array::<u8>("a").expect("by the copies").read(..).expect("elements");
            assert_eq!(read.into_raw_vec_and_offset().0, [7; 4], "{name}, {damage}");
        }
    }
}

fn content(folder: &Path) -> Vec<(String, Vec<u8>)> {
    files(folder)
        .into_iter()
        .map(|name| (name.clone(), fs::read(folder.join(name)).expect("it is there")))
        .collect()
}

#[test]
fn a_dry_run_changes_nothing() {
    let folder = damaged();
    let before = content(&folder.path("g.zarr"));
    let ran = folder.run(&["repair", "g.zarr"]);
    assert_eq!(ran.status, 1, "{ran:?}");
    assert_eq!(ran.out.lines().filter(|line| line.starts_with("would quarantine ")).count(), 3, "{ran:?}");
    assert_eq!(content(&folder.path("g.zarr")), before);
    assert_eq!(files(&folder.path("")).iter().filter(|name| name.contains("quarantine")).count(), 0);
}

#[test]
fn damaged_chunks_are_kept_and_what_can_be_read_stays() {
    let folder = damaged();
    let before = content(&folder.path("g.zarr"));
    let value = |name: &str| &before.iter().find(|(it, _)| it == name).expect("it was there").1;
    folder.good(&["repair", "--yes", "g.zarr"]);
    folder.good(&["verify", "g.zarr"]);
    // What was damaged is beside the group, byte for byte.
    for name in ["plain/c/0/1", "shards/c/1/0", "shards/c/1/1"] {
        let kept = fs::read(folder.path("g.zarr.quarantine").join(name)).expect("it is kept");
        assert!(kept == *value(name), "{name}");
    }
    assert_eq!(files(&folder.path("g.zarr.quarantine")).len(), 3);
    // Only the damaged inner chunk of a shard is lost: rows 4 and 5, columns 2 and 3.
    let shards = Array::<u16>::open(folder.path("g.zarr/shards")).expect("it is there");
    let elements = shards.read(..).expect("it can be read");
    for ((y, x), &element) in
        elements.into_dimensionality::<ndzarr::ndarray::Ix2>().expect("two axes").indexed_iter()
    {
        let is_lost = (y >= 4 && x >= 4) || ((4..6).contains(&y) && (2..4).contains(&x));
        assert_eq!(element, if is_lost { 0 } else { (1 + 8 * y + x) as u16 }, "{y} {x}");
    }
    let plain = Array::<u16>::open(folder.path("g.zarr/plain")).expect("it is there");
    assert_eq!(plain.read(..).expect("it can be read").iter().map(|&x| u32::from(x)).sum::<u32>(), 48 * 7);
    // Sound chunks are what they were.
    for (name, bytes) in &before {
        if !["plain/c/0/1", "shards/c/1/0", "shards/c/1/1"].contains(&&name[..]) {
            assert!(fs::read(folder.path("g.zarr").join(name)).expect("it stays") == *bytes, "{name}");
        }
    }
    // Another time there is nothing to do.
    assert_eq!(folder.good(&["repair", "--yes", "g.zarr"]), "nothing to repair\n");
}

#[test]
fn a_quarantine_never_replaces_what_is_in_it() {
    let folder = damaged();
    fs::create_dir_all(folder.path("q/plain/c/0")).expect("a folder");
    fs::write(folder.path("q/plain/c/0/1"), "older").expect("a file");
    folder.good(&["repair", "--yes", "g.zarr", "--quarantine", "q"]);
    assert_eq!(fs::read(folder.path("q/plain/c/0/1")).expect("it stays"), b"older");
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
    let held = store.lock(&Key::new("zarr.json").expect("a key"), Wait::Block).expect("it has locks");
    assert!(matches!(held, Locked::Held(_)));
    let ran = folder.run(&["repair", "a.zarr"]);
    assert_eq!(ran.status, 1);
    assert!(ran.out.contains("would remove c/0.__lock") && ran.out.contains("c/1.part0.__lock"), "{ran:?}");
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
    root.create_array("a", Array::<u8>::builder([4])).expect("it is new").fill(.., 1).expect("it is written");
    // As a copy of a group leaves it that was killed, and one of an array that was killed at its very end.
    fs::write(folder.path("g.zarr/.ndzarr-copy"), "{}").expect("a file");
    fs::write(folder.path("g.zarr/a/.ndzarr-copy"), "{}").expect("a file");
    fs::create_dir_all(folder.path("g.zarr/a/.ndzarr-temporary/2x2")).expect("a folder");
    fs::write(folder.path("g.zarr/a/.ndzarr-temporary/2x2/0.0"), "x").expect("a file");
    folder.good(&["repair", "--yes", "g.zarr"]);
    assert_eq!(files(&folder.path("g.zarr")), [".ndzarr-copy", "a/c/0", "a/zarr.json", "zarr.json"]);
    assert!(!folder.path("g.zarr/a/.ndzarr-temporary").exists());
}

#[test]
fn a_document_that_is_cut_off_does_not_hide_the_rest() {
    let folder = damaged();
    fs::write(folder.path("g.zarr/sound/zarr.json"), "{\"zarr_format\": 3").expect("it is there");
    fs::write(folder.path("g.zarr/notes.txt"), "x").expect("a file");
    let ran = folder.run(&["verify", "--orphans", "g.zarr"]);
    assert_eq!((ran.status, &ran.err[..]), (1, ""));
    assert!(
        ran.out.contains("notes.txt: orphan") && ran.out.contains("sound/zarr.json: document"),
        "{ran:?}"
    );
    assert!(!ran.out.contains("sound/c/0"), "{ran:?}");
    let ran = folder.run(&["repair", "g.zarr"]);
    assert_eq!((ran.status, &ran.err[..]), (1, ""));
    assert!(ran.out.contains("3 repairs to be made with --yes; 1 beyond repair"), "{ran:?}");
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
    assert_eq!((ran.status, ran.out.matches("quarantine shards/c/1/0").count()), (0, 3), "{ran:?}");
    let kept = folder.path("g.zarr.quarantine/shards/c/1");
    assert_eq!(files(&kept), ["0", "1"]);
    assert_eq!(fs::read(kept.join("0")).expect("it is kept"), bytes);
    folder.good(&["verify", "g.zarr"]);
}

/// A loop over all places would not end.
#[test]
fn a_chunk_at_the_end_of_a_huge_grid_is_put_aside() {
    let folder = Folder::new();
    let array = Array::<u8>::builder([1_u64 << 40]).chunks([1]).codecs([codec::gzip(5)]);
    let array = array.create(folder.path("a.zarr")).expect("it is new");
    let last = (1_u64 << 40) - 1;
    array.fill([last..last + 1], 1).expect("it is written");
    fs::write(folder.path(&format!("a.zarr/c/{last}")), "x").expect("it is there");
    folder.good(&["repair", "--yes", "a.zarr", "--quiet"]);
    assert_eq!(
        files(&folder.path("")),
        [format!("a.zarr.quarantine/c/{last}"), "a.zarr/zarr.json".to_owned()]
    );
}

#[test]
fn documents_of_the_draft_that_are_cut_off_are_found() {
    for format in [Format::DraftA, Format::DraftB] {
        let folder = Folder::new();
        let root = Group::create(folder.path("d.zarr"), format).expect("it is new");
        let group = root.create_group("g").expect("it is new");
        for name in ["a", "b"] {
            let array = group.create_array(name, Array::<u8>::builder([4]).codecs([codec::gzip(5)]));
            array.expect("it is new").fill(.., 1).expect("it is written");
        }
        let all = files(&folder.path("d.zarr"));
        let find = |end: &str| all.iter().find(|name| name.ends_with(end)).expect("it is there");
        fs::write(folder.path("d.zarr").join(find("g/a.array.json")), "{").expect("it is there");
        fs::write(folder.path("d.zarr").join(find("g/b/c0")), "x").expect("it is there");
        let keys = found(&folder.json(&["verify", "d.zarr", "--orphans"]));
        let expected = [("g/a.array.json", "document"), ("g/b/c0", "damaged")]
            .map(|(end, kind)| (find(end).clone(), kind.to_owned()));
        assert_eq!(keys, expected, "{format}");
    }
}

/// The document of the specification's example, with a shard in a shard: only the one in the middle has
/// a checksum, which covers what is in it.
#[test]
fn cli_12_a_checksum_between_nested_shards_counts() {
    let index = json!([{"name": "bytes", "configuration": {"endian": "little"}}]);
    let shards = |chunk: u64, codecs: Value| {
        json!({"name": "sharding_indexed", "configuration": {
            "chunk_shape": [chunk], "codecs": codecs, "index_codecs": index,
        }})
    };
    let bytes = json!({"name": "bytes"});
    for (middle, expected) in [
        (json!([shards(2, json!([bytes])), {"name": "crc32c"}]), json!([])),
        (json!([shards(2, json!([bytes]))]), json!([""])),
    ] {
        let folder = Folder::new();
        let document = json!({
            "zarr_format": 3, "node_type": "array", "shape": [8], "data_type": "uint8", "fill_value": 0,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [8]}},
            "chunk_key_encoding": {"name": "default"}, "codecs": [shards(4, middle)],
        });
        fs::create_dir(folder.path("a.zarr")).expect("a folder");
        fs::write(folder.path("a.zarr/zarr.json"), document.to_string()).expect("a file");
        let array = Array::<u8>::open(folder.path("a.zarr")).expect("it is there");
        array.fill(.., 1).expect("it is written");
        let lines = folder.json(&["verify", "a.zarr"]);
        assert_eq!(lines.last().expect("a last line")["done"]["without_checksum"], expected);
    }
}

#[test]
fn consolidated_metadata_of_v2_have_the_attributes_of_the_root() {
    let folder = Folder::new();
    let mut root = Group::create(folder.path("g.zarr"), Format::Zarr2).expect("it is new");
    root.create_array("a", Array::<u8>::builder([4])).expect("it is new");
    root.set_attribute("units", "K").expect("it is there");
    root.consolidate().expect("it can list");
    folder.good(&["verify", "g.zarr"]);
    fs::write(folder.path("g.zarr/.zattrs"), r#"{"units": "C"}"#).expect("it is there");
    let ran = folder.run(&["verify", "g.zarr"]);
    assert!(ran.status == 1 && ran.out.starts_with(".: stale: "), "{ran:?}");
    folder.good(&["repair", "--yes", "g.zarr"]);
    folder.good(&["verify", "g.zarr"]);
}
