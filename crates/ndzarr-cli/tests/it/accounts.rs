//! What `cp` and other verbs do with files of others, and with arrays that cannot be decoded or
//! have no group.

use crate::{Folder, files};

/// Writes files below a folder.
fn put(folder: &Folder, values: &[(&str, &str)]) {
    for (name, value) in values {
        let file = folder.path(name);
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        std::fs::write(file, value).expect("a file");
    }
}

const GROUP: &str = r#"{"zarr_format": 2}"#;

const ARRAY: &str = r#"{"zarr_format": 2, "shape": [3], "chunks": [3], "dtype": "|u1", "compressor": null,
    "filters": null, "order": "C", "fill_value": 0}"#;

#[test]
fn files_of_others_are_copied_and_what_is_left_out_is_said() {
    let folder = Folder::new();
    put(
        &folder,
        &[
            ("a/.zgroup", GROUP),
            ("a/0/.zarray", ARRAY),
            ("a/0/0", "123"),
            ("a/0/5", "456"),
            ("a/OME/METADATA.ome.xml", "<OME/>"),
            ("a/points.parquet/part.0.parquet", "PAR1"),
        ],
    );
    let out = folder.good(&["cp", "--verify", "a", "b"]);
    let lines: Vec<&str> = out.lines().collect();
    let files =
        "copied other files: 2 files: \"OME/METADATA.ome.xml\", \"points.parquet/part.0.parquet\"";
    assert_eq!(
        lines[..3],
        [
            files,
            "left out, outside of the array: 1 file: \"0/5\"",
            "the elements and the other files of source and copy are equal"
        ]
    );
    assert_eq!(
        std::fs::read(folder.path("b/OME/METADATA.ome.xml")).expect("a file"),
        b"<OME/>"
    );
    let out = folder.good(&["cp", "--no-other-files", "--verify", "a", "c"]);
    assert!(
        out.starts_with("left out, of no array or group: 2 files: "),
        "{out}"
    );
    assert!(!folder.path("c/OME").exists());
    let would = folder.good(&["cp", "--dry-run", "a", "d"]);
    assert!(
        would.starts_with("would copy other files: 2 files: "),
        "{would}"
    );
    let lines = folder.json(&["cp", "a", "e"]);
    let keys = lines
        .iter()
        .find_map(|line| line.get("keys"))
        .expect("an account");
    assert_eq!(
        (&keys["documents"], &keys["chunks"], &keys["files"]["n"]),
        (&2.into(), &1.into(), &2.into())
    );
    assert_eq!(keys["left_out"][0]["first"][0], "0/5");
}

/// A copy that is killed before it has begun leaves the lock of its note, and nothing else.
#[test]
fn a_lock_of_a_killed_copy_is_no_file_of_others() {
    let folder = Folder::new();
    put(
        &folder,
        &[
            ("a/.zarray", ARRAY),
            ("a/0", "123"),
            ("b/.ndzarr-copy.__lock", "of a process that is gone"),
        ],
    );
    folder.good(&["cp", "a", "b", "--overwrite", "--verify"]);
    put(
        &folder,
        &[
            ("c/.ndzarr-copy.__lock", "of a process that is gone"),
            ("c/notes.txt", "of others"),
        ],
    );
    let said = folder.bad(3, &["cp", "a", "c", "--overwrite"]);
    assert!(
        said.contains("the folder is not an array or a group"),
        "{said}"
    );
    assert_eq!(
        std::fs::read(folder.path("c/notes.txt")).expect("a file"),
        b"of others"
    );
}

#[test]
fn an_array_that_cannot_be_decoded_stops_no_verb() {
    let folder = Folder::new();
    let pickles = r#"{"zarr_format": 2, "shape": [2], "chunks": [2], "dtype": "|O", "compressor": null, "order": "C",
        "filters": [{"id": "pickle", "protocol": 5}], "fill_value": 0}"#;
    let wavpack = r#"{"zarr_format": 2, "shape": [2], "chunks": [2], "dtype": "<i4", "filters": null, "order": "C",
        "compressor": {"id": "wavpack", "level": 1}, "fill_value": 0}"#;
    for (name, document) in [("pickles", pickles), ("wavpack", wavpack)] {
        let at = |path: &str| format!("{name}/{path}");
        put(
            &folder,
            &[
                (&at(".zgroup"), GROUP),
                (&at("odd/.zarray"), document),
                (&at("odd/0"), "opaque"),
                (&at("z/.zarray"), ARRAY),
                (&at("z/0"), "123"),
            ],
        );
        let copy = format!("{name}.copy");
        let out = folder.good(&["cp", "--verify", name, &copy]);
        assert!(
            out.contains("odd: copied as it is: ") && out.contains("source and copy are equal"),
            "{out}"
        );
        assert_eq!(files(&folder.path(name)), files(&folder.path(&copy)));
        // It is named, the others are copied, and the exit status says so.
        let v3 = format!("{name}.v3");
        let ran = folder.run(&["cp", "--format", "zarr3", name, &v3]);
        assert_eq!(ran.status, 1, "{ran:?}");
        assert!(
            ran.out.contains("odd: not copied: ") && ran.out.contains(name),
            "{ran:?}"
        );
        assert_eq!(
            folder.good(&["cat", &format!("{v3}/z")]).trim(),
            "49\t50\t51"
        );

        let ran = folder.run(&["verify", name]);
        assert_eq!(ran.status, 1, "{ran:?}");
        assert!(
            ran.out.contains("odd") && ran.out.contains(": 1 wrong"),
            "{ran:?}"
        );
        let ran = folder.run(&["stats", name]);
        assert_eq!(ran.status, 3, "{ran:?}");
        assert!(
            ran.out.contains("odd: ") && ran.out.contains("z:") && ran.err.contains("1 array"),
            "{ran:?}"
        );
        let ran = folder.run(&["diff", name, &copy]);
        assert_eq!(ran.status, 3, "{ran:?}");
        assert!(
            ran.out.contains("odd: cannot be compared: ") && ran.err.contains("1 array"),
            "{ran:?}"
        );
        std::fs::write(folder.path(&format!("{copy}/z/0")), "124").expect("a file");
        let ran = folder.run(&["diff", name, &copy]);
        assert!(ran.out.contains("z: 1 element differs"), "{ran:?}");
    }
}

#[test]
fn arrays_below_folders_without_a_document_are_found() {
    let folder = Folder::new();
    put(
        &folder,
        &[
            ("a/.zgroup", GROUP),
            ("a/raw/channel/.zarray", ARRAY),
            ("a/raw/channel/0", "123"),
        ],
    );
    assert_eq!(
        folder
            .good(&["ls", "-r", "a"])
            .split_whitespace()
            .collect::<Vec<_>>(),
        ["raw/", "raw/channel"]
    );
    let out = folder.good(&["cp", "--verify", "a", "b"]);
    assert!(out.contains("copied 1 array"), "{out}");
    assert_eq!(folder.good(&["cat", "b/raw/channel"]).trim(), "49\t50\t51");
    std::fs::remove_dir_all(folder.path("b/raw")).expect("a folder");
    let ran = folder.run(&["diff", "a", "b"]);
    assert_eq!(ran.status, 1, "{ran:?}");
    assert!(
        ran.out.contains("raw/channel: only in the first"),
        "{ran:?}"
    );
    assert!(
        folder
            .good(&["verify", "a"])
            .contains("1 stored value of 1 array: nothing wrong")
    );
    folder.good(&["consolidate", "a"]);
    assert!(
        folder
            .good(&["verify", "a"])
            .contains("1 stored value of 1 array: nothing wrong")
    );
    assert!(folder.good(&["cat", "a/raw/channel"]).contains("50"));
}

#[test]
fn a_target_that_is_named_like_an_archive_is_one() {
    let folder = Folder::new();
    put(
        &folder,
        &[
            ("a/.zgroup", GROUP),
            ("a/z/.zarray", ARRAY),
            ("a/z/0", "123"),
            ("a/notes.txt", "-"),
        ],
    );
    folder.good(&["cp", "--verify", "a", "b.zip"]);
    assert!(folder.path("b.zip").is_file());
    assert_eq!(folder.good(&["cat", "b.zip|zip:z"]).trim(), "49\t50\t51");
    folder.bad(3, &["cp", "a", "b.zip"]);
    // It holds what does not belong to a node.
    folder.bad(3, &["cp", "--overwrite", "a", "b.zip"]);
    folder.good(&["cp", "--no-other-files", "a", "c.zip"]);
    folder.good(&["cp", "--overwrite", "--format", "zarr3", "a", "c.zip"]);
    assert_eq!(folder.json(&["info", "c.zip"])[0]["format"], "zarr3");
    folder.good(&["import", "--dtype", "u1", "--shape", "3", "a/z/0", "d.ozx"]);
    assert_eq!(folder.good(&["cat", "d.ozx"]).trim(), "49\t50\t51");
    folder.good(&[
        "import", "--dtype", "u1", "--shape", "1,3", "a/z/0", "plane",
    ]);
    folder.bad(3, &["pyramid", "plane", "e.ozx"]);
    assert!(!folder.path("e.ozx").exists());
}
