//! `verify` and `repair`: what they find, and what they leave as it is.

use std::fs;

use ndzarr::{Array, Format, Group, codec};
use serde_json::{Value, json};

use crate::{Folder, files};

/// A group with an array of each kind of damage.
pub(crate) fn damaged() -> Folder {
    let folder = Folder::new();
    let root = Group::create(folder.path("g.zarr"), Format::Zarr3).expect("it is new");
    let array = Array::<u16>::builder([8, 8])
        .chunks([4, 4])
        .codecs([codec::gzip(5)]);
    root.create_array("plain", array)
        .expect("it is new")
        .fill(.., 7)
        .expect("it is written");
    let array = Array::<u16>::builder([8, 8])
        .chunks([2, 2])
        .shards([4, 4])
        .codecs([codec::crc32c()]);
    let array = root.create_array("shards", array).expect("it is new");
    let elements = ndzarr::ndarray::Array2::from_shape_fn([8, 8], |(y, x)| (1 + 8 * y + x) as u16);
    array.write(.., &elements).expect("it is written");
    let array = Array::<u16>::builder([8])
        .chunks([4])
        .codecs([codec::zstd(3)]);
    root.create_array("sound", array)
        .expect("it is new")
        .fill([0..4], 7)
        .expect("it is written");
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
    let of = |line: &Value| {
        Some((
            line["key"].as_str()?.to_owned(),
            line["kind"].as_str()?.to_owned(),
        ))
    };
    lines.iter().filter_map(of).collect()
}

#[test]
fn each_broken_key_is_named() {
    let folder = damaged();
    let ran = folder.run(&["verify", "g.zarr"]);
    assert_eq!((ran.status, &ran.err[..]), (1, ""), "{}", ran.out);
    let lines: Vec<&str> = ran.out.lines().collect();
    assert!(
        lines[0].starts_with("plain/c/0/1: damaged: chunk [0, 1]: "),
        "{}",
        ran.out
    );
    assert!(
        lines[1].starts_with("shards/c/1/0: damaged: chunk [1, 0], inner chunk [0, 1]: "),
        "{}",
        ran.out
    );
    assert!(
        lines[2].starts_with("shards/c/1/1: damaged: chunk [1, 1]: "),
        "{}",
        ran.out
    );
    assert_eq!(lines[3], "decoded 9 stored values of 3 arrays: 3 wrong");
    let lines = folder.json(&["verify", "g.zarr"]);
    assert_eq!(lines[1]["inner_chunk"], json!([[0, 1]]));
    assert_eq!(lines[0]["codec"], "gzip");
    let done = &lines.last().expect("a last line")["done"];
    assert_eq!(
        (&done["arrays"], &done["units"], &done["found"]),
        (&json!(3), &json!(9), &json!(3))
    );
    // Only an array, and nothing wrong.
    assert_eq!(folder.run(&["verify", "g.zarr/sound", "--quiet"]).out, "");
    assert_eq!(folder.run(&["verify", "g.zarr/sound"]).status, 0);
}

#[test]
fn a_quick_look_finds_what_sizes_tell() {
    let folder = damaged();
    let lines = folder.json(&["verify", "--quick", "g.zarr"]);
    assert_eq!(
        found(&lines),
        [("shards/c/1/1".to_owned(), "damaged".to_owned())]
    );
    fs::write(folder.path("g.zarr/sound/c/0"), "").expect("it is there");
    let raw = Array::<u16>::builder([4])
        .chunks([2])
        .codecs([])
        .format(Format::N5);
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
    assert_eq!(
        keys[0],
        ("plain/zarr.json".to_owned(), "document".to_owned())
    );
    fs::write(folder.path("g.zarr/zarr.json"), "[]").expect("it is there");
    let ran = folder.run(&["verify", "g.zarr"]);
    assert_eq!(ran.status, 1, "{ran:?}");
    assert!(ran.out.starts_with("zarr.json: document: "), "{ran:?}");
    folder.bad(3, &["verify", "none.zarr"]);
}

#[test]
fn cli_11_what_is_not_stored_does_not_count_as_damage() {
    let folder = Folder::new();
    let array = Array::<u8>::builder([10])
        .chunks([2])
        .codecs([codec::gzip(1)]);
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
    let orphans =
        [".DS_Store", "c/0.partial", "c/5"].map(|key| (key.to_owned(), "orphan".to_owned()));
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
        root.create_array(name, array)
            .expect("it is new")
            .fill(.., 7)
            .expect("it is written");
    }
    let array = Array::<u16>::builder([64])
        .chunks([8])
        .shards([64])
        .codecs([codec::zstd(3)]);
    root.create_array("shards", array)
        .expect("it is new")
        .fill(.., 7)
        .expect("it is written");
    let lines = folder.json(&["verify", "g.zarr"]);
    let done = &lines.last().expect("a last line")["done"];
    assert_eq!(done["without_checksum"], json!(["none", "shards", "zstd"]));
    let text = folder.good(&["verify", "g.zarr"]);
    assert!(
        text.contains(
            "without a checksum, so that changed bytes may go unnoticed: none, shards, zstd"
        ),
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
        root.create_array("a", Array::<u8>::builder([4]))
            .expect("it is new");
        root.consolidate().expect("it can list");
        assert_eq!(folder.run(&["verify", "g.zarr"]).status, 0);
        // Another program changes a document, and not the copies.
        let name = if format == Format::Zarr2 {
            "g.zarr/a/.zarray"
        } else {
            "g.zarr/a/zarr.json"
        };
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
    assert!(
        ran.out
            .contains("3 repairs to be made with --yes; 1 beyond repair"),
        "{ran:?}"
    );
}

#[test]
fn documents_of_the_draft_that_are_cut_off_are_found() {
    for format in [Format::DraftA, Format::DraftB] {
        let folder = Folder::new();
        let root = Group::create(folder.path("d.zarr"), format).expect("it is new");
        let group = root.create_group("g").expect("it is new");
        for name in ["a", "b"] {
            let array =
                group.create_array(name, Array::<u8>::builder([4]).codecs([codec::gzip(5)]));
            array
                .expect("it is new")
                .fill(.., 1)
                .expect("it is written");
        }
        let all = files(&folder.path("d.zarr"));
        let find = |end: &str| {
            all.iter()
                .find(|name| name.ends_with(end))
                .expect("it is there")
        };
        fs::write(folder.path("d.zarr").join(find("g/a.array.json")), "{").expect("it is there");
        fs::write(folder.path("d.zarr").join(find("g/b/c0")), "x").expect("it is there");
        let keys = found(&folder.json(&["verify", "d.zarr", "--orphans"]));
        let expected = [("g/a.array.json", "document"), ("g/b/c0", "damaged")]
            .map(|(end, kind)| (find(end).clone(), kind.to_owned()));
        assert_eq!(keys, expected, "{format}");
    }
}

/// The document of the specification's example, with a shard in a shard: only the one in the middle
/// has a checksum, which covers what is in it.
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
        (
            json!([shards(2, json!([bytes])), {"name": "crc32c"}]),
            json!([]),
        ),
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
        assert_eq!(
            lines.last().expect("a last line")["done"]["without_checksum"],
            expected
        );
    }
}

#[test]
fn consolidated_metadata_of_v2_have_the_attributes_of_the_root() {
    let folder = Folder::new();
    let mut root = Group::create(folder.path("g.zarr"), Format::Zarr2).expect("it is new");
    root.create_array("a", Array::<u8>::builder([4]))
        .expect("it is new");
    root.set_attribute("units", "K").expect("it is there");
    root.consolidate().expect("it can list");
    folder.good(&["verify", "g.zarr"]);
    fs::write(folder.path("g.zarr/.zattrs"), r#"{"units": "C"}"#).expect("it is there");
    let ran = folder.run(&["verify", "g.zarr"]);
    assert!(
        ran.status == 1 && ran.out.starts_with(".: stale: "),
        "{ran:?}"
    );
    folder.good(&["repair", "--yes", "g.zarr"]);
    folder.good(&["verify", "g.zarr"]);
}
