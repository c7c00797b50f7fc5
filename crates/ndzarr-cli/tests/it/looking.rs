//! `info`, `attrs`, `rm`, `consolidate`, `convert`.

use ndzarr::{AnyNode, Array, Format, Group, codec};
use serde_json::json;

use crate::{Folder, files, testdata};

#[test]
fn info_says_what_an_array_is() {
    let folder = Folder::new();
    let array = Array::<u16>::builder([6, 8])
        .chunks([2, 2])
        .shards([4, 4])
        .codecs([codec::zstd(3)]);
    let array = array
        .fill_value(7)
        .dimension_names(["y", "x"])
        .attributes(json!({"units": "K"}));
    let array = array.create(folder.path("a.zarr")).expect("it is new");
    array.fill([0..1, 0..1], 1).expect("it is written");
    let text = folder.good(&["info", "a.zarr"]);
    for line in [
        "shape       6 × 8  (the last axis varies fastest)",
        "data type   uint16",
        "chunks      2 × 2  (8 B)",
        "shards      4 × 4  (32 B)",
        "fill value  7",
        "dimensions  y, x",
        "size        96 B",
        "attributes  units = \"K\"",
    ] {
        assert!(text.lines().any(|it| it.trim() == line), "{line}\n{text}");
    }
    assert!(text.contains("in 1 of 4 shards"), "{text}");
    let info = &folder.json(&["info", "a.zarr"])[0];
    assert_eq!(info["stored"]["units"], 1);
    assert_eq!(info["stored"]["of_units"], 4);
    assert_eq!(info["shard_shape"], json!([4, 4]));
    assert_eq!(info["n5_axes"], json!(null));
}

#[test]
fn the_order_of_axes_of_n5_is_always_printed() {
    let folder = Folder::new();
    let array = Array::<u8>::builder([3, 5])
        .chunks([2, 2])
        .format(Format::N5);
    folder.array("a.n5", array, |index| (10 * index[0] + index[1]) as u8);
    let native = folder.good(&["info", "a.n5"]);
    assert!(
        native.contains("3 × 5  (N5's own order, the first axis varies fastest)"),
        "{native}"
    );
    let reversed = folder.good(&["info", "a.n5", "--n5-axes", "reversed"]);
    assert!(
        reversed.contains("5 × 3  (reversed, the last axis varies fastest)"),
        "{reversed}"
    );
    assert_eq!(folder.json(&["info", "a.n5"])[0]["n5_axes"], "native");
    assert_eq!(folder.good(&["cat", "a.n5", "2, 4"]), "24\n");
    assert_eq!(
        folder.good(&["cat", "a.n5", "4, 2", "--n5-axes", "reversed"]),
        "24\n"
    );
}

#[test]
fn arrays_of_other_writers_are_described() {
    let folder = Folder::new();
    let info = folder.json(&["info", &testdata("n5/java-hierarchy/store/bzip2")]);
    assert_eq!(
        (&info[0]["format"], &info[0]["data_type"]),
        (&json!("n5"), &json!("uint16"))
    );
    assert_eq!(
        folder.json(&["info", &testdata("n5/java-hierarchy/store")])[0]["members"]
            .as_array()
            .map(Vec::len),
        Some(6)
    );
}

#[test]
fn cli_18_chunks_are_counted_by_a_list() {
    let folder = Folder::new();
    let array = Array::<u8>::builder([3000])
        .chunks([1])
        .format(Format::Zarr2);
    let array = array.create(folder.path("a.zarr")).expect("it is new");
    array.fill([0..2000], 1).expect("it is written");
    // A value that cannot be read is counted as well: nothing is read.
    std::fs::write(folder.path("a.zarr/7"), "").expect("it is there");
    let stored = &folder.json(&["info", "a.zarr"])[0]["stored"];
    assert_eq!(
        (&stored["units"], &stored["of_units"]),
        (&json!(2000), &json!(3000))
    );
    assert_eq!(
        folder.json(&["info", "--quick", "a.zarr"])[0]["stored"],
        json!(null)
    );
}

#[test]
fn attributes_are_changed_one_by_one() {
    let folder = Folder::new();
    Group::create(folder.path("g.zarr"), Format::Zarr3).expect("it is new");
    folder.good(&[
        "attrs",
        "g.zarr",
        "set",
        "units=\"K\"",
        "scale=[0.5, 2]",
        "other=null",
    ]);
    assert_eq!(
        folder.json(&["attrs", "g.zarr"]),
        [json!({"units": "K", "scale": [0.5, 2], "other": null})]
    );
    // A quick reader of JSON takes the number next to this one.
    folder.good(&["attrs", "g.zarr", "set", "other=0.9452706955539223"]);
    assert_eq!(
        folder.good(&["attrs", "g.zarr", "get", "other"]),
        "0.9452706955539223\n"
    );
    folder.good(&["attrs", "g.zarr", "rm", "other"]);
    assert_eq!(folder.good(&["attrs", "g.zarr", "get", "units"]), "\"K\"\n");
    assert!(
        folder
            .bad(3, &["attrs", "g.zarr", "get", "other"])
            .contains("no attribute \"other\"")
    );
    assert!(
        folder
            .bad(3, &["attrs", "g.zarr", "rm", "other"])
            .contains("no attribute \"other\"")
    );
    assert!(
        folder
            .bad(2, &["attrs", "g.zarr", "set", "units=K"])
            .contains("not JSON")
    );
}

#[test]
fn only_what_belongs_to_a_node_is_removed() {
    let folder = Folder::new();
    let array = Array::<u8>::builder([4]).chunks([2]);
    folder.array("a.zarr", array, |index| 1 + index[0] as u8);
    // Without a terminal it cannot ask.
    assert!(folder.bad(2, &["rm", "a.zarr"]).contains("--yes"));
    std::fs::write(folder.path("a.zarr/notes.txt"), "mine").expect("a file");
    let error = folder.bad(3, &["rm", "--yes", "a.zarr"]);
    assert!(error.contains("notes.txt"), "{error}");
    assert_eq!(files(&folder.path("a.zarr")).len(), 4);
    std::fs::remove_file(folder.path("a.zarr/notes.txt")).expect("it is there");
    folder.good(&["rm", "--yes", "a.zarr"]);
    assert!(!folder.path("a.zarr").exists());

    let root = Group::create(folder.path("g.zarr"), Format::Zarr3).expect("it is new");
    root.create_array("a", Array::<u8>::builder([4]))
        .expect("it is new");
    root.create_array("b", Array::<u8>::builder([4]))
        .expect("it is new");
    folder.good(&["rm", "--yes", "g.zarr/a"]);
    assert_eq!(folder.good(&["ls", "g.zarr"]), "b\n");
}

/// The `script` of util-linux gives it a terminal to ask on.
#[cfg(target_os = "linux")]
#[test]
fn a_file_that_comes_before_the_answer_stays() {
    use std::io::{Read, Write};
    use std::process::{Command, Stdio};

    let folder = Folder::new();
    folder.array("a.zarr", Array::<u8>::builder([4]), |_| 1);
    let mut rm = Command::new("script");
    rm.args([
        "-qec",
        concat!(env!("CARGO_BIN_EXE_ndzarr"), " rm a.zarr"),
        "/dev/null",
    ]);
    rm.current_dir(folder.path(""))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut rm = rm.spawn().expect("Linux has it");
    let mut input = rm.stdin.take().expect("a pipe");
    let mut output = rm.stdout.take().expect("a pipe");
    let mut printed = Vec::new();
    while !printed.ends_with(b"[y/N] ") {
        let mut byte = [0];
        output.read_exact(&mut byte).expect("it asks");
        printed.extend(byte);
    }
    std::fs::write(folder.path("a.zarr/notes.txt"), "mine").expect("a file");
    input.write_all(b"y\n").expect("it reads");
    output.read_to_end(&mut printed).expect("it ends");
    let printed = String::from_utf8_lossy(&printed);
    assert!(printed.contains("such as \"notes.txt\""), "{printed}");
    assert_eq!(rm.wait().expect("its status").code(), Some(3));
    assert_eq!(
        files(&folder.path("a.zarr")),
        ["c/0", "notes.txt", "zarr.json"]
    );
}

#[test]
fn metadata_are_consolidated() {
    let folder = Folder::new();
    let root = Group::create(folder.path("g.zarr"), Format::Zarr2).expect("it is new");
    root.create_array("a", Array::<u8>::builder([4]))
        .expect("it is new");
    folder.good(&["consolidate", "g.zarr"]);
    assert!(folder.path("g.zarr/.zmetadata").is_file());
    assert!(
        folder
            .bad(2, &["consolidate", "g.zarr/a"])
            .contains("not a group")
    );
}

#[test]
fn conversion_in_place_writes_documents_alone() {
    let folder = Folder::new();
    let array = Array::<u16>::builder([6])
        .chunks([2])
        .format(Format::Zarr2)
        .codecs([codec::zlib(5)]);
    folder.array("a.zarr", array, |index| index[0] as u16);
    let before = files(&folder.path("a.zarr"));
    let printed = folder.good(&["convert", "a.zarr", "--to", "zarr3", "--dry-run"]);
    assert!(printed.contains("would write"), "{printed}");
    assert_eq!(files(&folder.path("a.zarr")), before);
    folder.good(&["convert", "a.zarr", "--to", "zarr3"]);
    assert_eq!(files(&folder.path("a.zarr")).len(), before.len() + 1);
    let AnyNode::Array(array) = AnyNode::open(folder.path("a.zarr")).expect("it is there") else {
        panic!()
    };
    assert_eq!(array.format(), Format::Zarr3);
    assert_eq!(folder.good(&["cat", "a.zarr"]), "0\t1\t2\t3\t4\t5\n");
    let error = folder.bad(3, &["convert", "a.zarr", "--to", "n5"]);
    assert!(error.contains("ndzarr cp --format"), "{error}");
}
