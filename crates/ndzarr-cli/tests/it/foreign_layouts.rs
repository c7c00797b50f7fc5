//! Chunks that are not where the metadata say, and archives of other systems.

use std::fs;
use std::path::Path;

use ndzarr::MemoryStore;
use serde_json::json;

use crate::Folder;

/// 4 x 4 numbers in chunks of 2 x 2, each with 1 2 3 4, nested; `members` say what the document has
/// of the separator.
fn nested(folder: &Folder, name: &str, members: &str) {
    let array = folder.path(name);
    for i in ["0", "1"] {
        fs::create_dir_all(array.join(i)).expect("a folder");
        for j in ["0", "1"] {
            fs::write(array.join(i).join(j), [1, 0, 2, 0, 3, 0, 4, 0]).expect("a chunk");
        }
    }
    let document = format!(
        r#"{{"zarr_format":2,"shape":[4,4],"chunks":[2,2],"dtype":"<i2","compressor":null,"fill_value":0,
            "order":"C","filters":null{members}}}"#
    );
    fs::write(array.join(".zarray"), document).expect("a document");
}

/// `"useZlib": false`, which n5-zarr writes, is read, named and no damage.
#[test]
fn odd_documents_are_named_and_nothing_is_wrong() {
    let folder = Folder::new();
    let odd = "useZlib";
    let case = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../testdata/zarr3/hand-odd-use-zlib-gzip/store");
    let place = case.to_str().expect("a path of text");
    let printed = folder.good(&["verify", place]);
    assert!(
        printed.contains(odd) && printed.contains("nothing wrong"),
        "{printed}"
    );
    assert!(!folder.good(&["verify", "--quiet", place]).contains(odd));
    let lines = folder.json(&["verify", place]);
    assert_eq!(
        (&lines[0]["kind"], &lines[0]["key"]),
        (&json!("warning"), &json!(".")),
        "{lines:?}"
    );
    assert!(folder.good(&["info", place]).contains(odd));
}

/// As tensorstore and old zarr-python leave them: no document in the folder between a group and its
/// array.
#[test]
fn info_says_that_arrays_lie_below_folders_without_a_document() {
    let folder = Folder::new();
    fs::create_dir_all(folder.path("root/raw")).expect("folders");
    fs::write(folder.path("root/.zgroup"), r#"{"zarr_format":2}"#).expect("a document");
    fs::write(folder.path("root/raw/note.txt"), "-").expect("a file");
    assert!(!folder.good(&["info", "root"]).contains("warning"));
    nested(&folder, "root/raw/channel", r#","dimension_separator":"/""#);
    let warning = "1 array below folders without a document, which are no members: raw/channel";
    let text = folder.good(&["info", "root"]);
    assert!(
        text.contains("0 arrays, 0 groups") && text.contains(warning),
        "{text}"
    );
    let value = &folder.json(&["info", "root"])[0];
    assert_eq!(
        (&value["members"], &value["warnings"]),
        (&json!([]), &json!([warning]))
    );
    assert!(
        !folder
            .good(&["info", "--quick", "root"])
            .contains("warning")
    );
}

#[test]
fn nested_chunks_that_the_metadata_do_not_state_are_named() {
    let folder = Folder::new();
    let cases = [
        ("absent", ""),
        ("misspelt", r#","dimension_seperator":"/""#),
        ("wrong", r#","dimension_separator":".""#),
    ];
    for (name, members) in cases {
        nested(&folder, name, members);
        let copy = format!("{name}-copy");
        let refused = format!("{name}-refused");
        for arguments in [
            &["cat", name, "0, :"][..],
            &["cp", name, &refused],
            &["stats", name],
        ] {
            let error = folder.bad(3, arguments);
            assert!(
                error.contains("open the array with the separator '/'"),
                "{arguments:?}: {error}"
            );
        }
        let ran = folder.run(&["verify", name]);
        assert_eq!(ran.status, 1, "{ran:?}");
        assert!(
            ran.out.contains(".zarray: document: ") && ran.out.contains("separator '/'"),
            "{}",
            ran.out
        );
        assert!(
            folder
                .good(&["info", name])
                .contains("warning     no chunk lies under a key with")
        );
        let info = folder.json(&["info", name]);
        assert_eq!(info[0]["stored"], json!(null));
        assert_eq!(info[0]["warnings"].as_array().map(Vec::len), Some(1));
        assert!(
            folder
                .run(&["ls", "-s", name])
                .out
                .contains("separator '/'")
        );

        let slash = |arguments: &[&str]| folder.good(&[arguments, &["--separator", "/"]].concat());
        assert_eq!(slash(&["cat", name, "0, :"]), "1\t2\t1\t2\n");
        assert!(slash(&["info", name]).contains("32 B in 4 of 4 chunks"));
        assert!(slash(&["verify", name]).contains("nothing wrong"));
        slash(&["cp", name, &copy]);
        assert_eq!(folder.good(&["cat", &copy, "3, :"]), "3\t4\t3\t4\n");
    }
    // Beside chunks that are as stated.
    fs::write(folder.path("absent/0.0"), [0; 8]).expect("a chunk");
    let found = folder.json(&["verify", "absent"]);
    assert_eq!(
        (&found[0]["key"], &found[0]["kind"]),
        (&json!("0/0"), &json!("orphan")),
        "{found:?}"
    );
    let is_counted = |found: &[serde_json::Value], n: u64| {
        found.iter().any(|line| {
            let what = line["what"].as_str().unwrap_or_default();
            what.contains(&format!("{n} of its chunks lie under another separator"))
        })
    };
    assert!(is_counted(&found, 4), "{found:?}");
    // No chunk of 2 x 2.
    fs::create_dir(folder.path("absent/9")).expect("a folder");
    fs::write(folder.path("absent/9/9"), [0; 8]).expect("a file");
    let found = folder.json(&["verify", "absent"]);
    assert!(is_counted(&found, 4), "{found:?}");
    assert!(
        folder
            .bad(2, &["info", "absent", "--separator", "-"])
            .contains("--separator")
    );
}

/// An archive without compression, of the names and values.
fn archive(entries: &[(&[u8], &[u8])]) -> Vec<u8> {
    let long = |value: usize| (value as u32).to_le_bytes();
    let short = |value: usize| (value as u16).to_le_bytes();
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for (name, value) in entries {
        let mut crc = flate2::Crc::new();
        crc.update(value);
        let sizes = [
            &crc.sum().to_le_bytes()[..],
            &long(value.len()),
            &long(value.len()),
        ]
        .concat();
        let common = [
            &[20, 0, 0, 0, 0, 0, 0, 0, 33, 0][..],
            &sizes,
            &short(name.len()),
            &[0, 0],
        ]
        .concat();
        // Made by MS-DOS.
        directory.extend(
            [
                &b"PK\x01\x02\x14\x00"[..],
                &common,
                &[0; 10],
                &long(out.len()),
                name,
            ]
            .concat(),
        );
        out.extend([&b"PK\x03\x04"[..], &common, name, value].concat());
    }
    let n = short(entries.len());
    let start = long(out.len());
    let end = [
        &b"PK\x05\x06"[..],
        &[0; 4],
        &n,
        &n,
        &long(directory.len()),
        &start,
        &[0, 0],
    ]
    .concat();
    [out, directory, end].concat()
}

#[test]
fn archives_of_other_systems_are_read() {
    let folder = Folder::new();
    let store = MemoryStore::new();
    let array = ndzarr::Array::<i16>::builder([2])
        .create(&store)
        .expect("a new array");
    array
        .write(.., &ndzarr::ndarray::arr1(&[5, 6]))
        .expect("a write");
    let document = store.get("zarr.json").expect("a document");
    let chunk = store.get("c/0").expect("a chunk");
    let make = |name: &str, entries: &[(&[u8], &[u8])]| {
        fs::write(folder.path(name), archive(entries)).expect("a file");
    };
    make("plain.zip", &[(b"zarr.json", &document), (b"c/0", &chunk)]);
    make(
        "windows.zip",
        &[(b"zarr.json", &document), (b"c\\0", &chunk)],
    );
    make(
        "bsdtar.zip",
        &[
            (b"./", b""),
            (b"./zarr.json", &document),
            (b"./c/0", &chunk),
        ],
    );
    for name in ["plain.zip", "windows.zip", "bsdtar.zip"] {
        assert_eq!(folder.good(&["cat", name]), "5\t6\n", "{name}");
        assert!(
            folder
                .good(&["verify", name])
                .contains("decoded 1 stored value of 1 array: nothing wrong")
        );
    }
    let outer: [(&[u8], &[u8]); 3] = [
        (b"a.zarr/zarr.json", &document),
        (b"a.zarr/c/0", &chunk),
        (b"__MACOSX/a.zarr/._zarr.json", b"x"),
    ];
    make("macos.zip", &outer);
    let error = folder.bad(3, &["cat", "macos.zip"]);
    assert!(
        error.contains("everything is below \"a.zarr\": open "),
        "{error}"
    );
    assert_eq!(folder.good(&["cat", "macos.zip|zip:a.zarr"]), "5\t6\n");

    // What cannot be a key is named.
    make(
        "odd.zip",
        &[
            (b"zarr.json", &document),
            (b"c/0", &chunk),
            (b"../c/0", b"x"),
            (b"\xe9", b"x"),
        ],
    );
    let ran = folder.run(&["verify", "odd.zip"]);
    assert_eq!(ran.status, 1, "{ran:?}");
    assert!(
        ran.out.contains(
            r#".: orphan: entries of the archive whose names cannot be keys are not shown: "../c/0", ""#
        ),
        "{}",
        ran.out
    );
    let ran = folder.run(&["verify", "odd.zip", "--orphans"]);
    assert_eq!(ran.out.matches("../c/0").count(), 1, "{}", ran.out);
    assert!(
        folder
            .good(&["info", "odd.zip"])
            .contains("warning     entries of the archive")
    );
    make(
        "two.zip",
        &[
            (b"zarr.json", &document),
            (b"c/0", &chunk),
            (b"c\\0", &chunk),
        ],
    );
    assert!(
        folder
            .bad(3, &["cat", "two.zip"])
            .contains(r#"its entries "c/0" and "c\\0" are of one key"#)
    );
}
