//! `cat` and `import`: elements out, and in again.

use std::io::Write;
use std::process::Stdio;

use ndzarr::{Array, Format, codec};
use serde_json::json;

use crate::{Folder, Ran, files};

#[test]
fn elements_are_printed_in_each_form() {
    let folder = Folder::new();
    let array = Array::<f32>::builder([2, 2, 3]).chunks([1, 2, 2]);
    folder.array("a", array, |i| {
        if i[2] == 2 {
            f32::NAN
        } else {
            0.1 + (6 * i[0] + 3 * i[1] + i[2]) as f32
        }
    });
    assert_eq!(
        folder.good(&["cat", "a", "0"]),
        "0.1\t1.1\tNaN\n3.1\t4.1\tNaN\n"
    );
    assert_eq!(folder.good(&["cat", "a", "1,1,0"]), "9.1\n");
    assert_eq!(
        folder.good(&["cat", "a", "--as", "json"]),
        "[[[0.1,1.1,\"NaN\"],[3.1,4.1,\"NaN\"]],[[6.1,7.1,\"NaN\"],[9.1,10.1,\"NaN\"]]]\n"
    );
    assert_eq!(folder.json(&["cat", "a", "0, :, 0:0"]), [json!([[], []])]);
    let raw = folder
        .command(&["cat", "a", "0, 0, :2", "--as", "raw"])
        .output()
        .expect("it runs");
    assert_eq!(raw.stdout, [0.1_f32, 1.1].map(f32::to_ne_bytes).concat());
    let npy = folder
        .command(&["cat", "a", "0, 0, :2", "--as", "npy"])
        .output()
        .expect("it runs");
    // As numpy.save writes it.
    let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
    assert_eq!(&npy.stdout[..10], b"\x93NUMPY\x01\x00\x76\x00");
    assert_eq!(&npy.stdout[10..10 + header.len()], header.as_bytes());
    assert_eq!(npy.stdout.len(), 128 + 8);
}

#[test]
fn text_types_are_printed() {
    let folder = Folder::new();
    folder.array("s", Array::<String>::builder([2]), |i| {
        ["a\tb", "\u{1b}x"][i[0]].to_owned()
    });
    assert_eq!(folder.good(&["cat", "s"]), "a\\tb\t\\u{1b}x\n");
    assert_eq!(folder.json(&["cat", "s"]), [json!(["a\tb", "\u{1b}x"])]);
    assert!(
        folder
            .bad(3, &["cat", "s", "--as", "npy"])
            .contains("no fixed size")
    );
    folder.array("b", Array::<bool>::builder([2]), |i| i[0] == 1);
    assert_eq!(folder.good(&["cat", "b"]), "false\ttrue\n");
}

#[test]
fn npy_goes_round() {
    let folder = Folder::new();
    let array = Array::<i16>::builder([7, 5])
        .chunks([2, 2])
        .codecs([codec::gzip(1)]);
    folder.array("a", array, |i| (10 * i[0] + i[1]) as i16 - 20);
    let npy = folder
        .command(&["cat", "a", "--as", "npy"])
        .output()
        .expect("it runs")
        .stdout;
    std::fs::write(folder.path("a.npy"), &npy).expect("a file");
    for (format, chunks) in [("zarr3", "3,3"), ("zarr2", "7,5"), ("n5", "2,4")] {
        let target = format!("{format}.out");
        folder.good(&[
            "import", "a.npy", &target, "--format", format, "--chunks", chunks,
        ]);
        assert_eq!(folder.good(&["diff", "a", &target]), "", "{format}");
    }
    // Through a pipe, into shards.
    let mut child = folder.command(&["import", "-", "piped", "--chunks", "2,2", "--shards", "4,4"]);
    let mut child = child.stdin(Stdio::piped()).spawn().expect("it runs");
    child
        .stdin
        .take()
        .expect("it is piped")
        .write_all(&npy)
        .expect("it reads");
    assert!(child.wait().expect("it ends").success());
    assert_eq!(folder.good(&["diff", "a", "piped"]), "");
}

/// Files as NumPy 2 writes them, of numpy.array([[1, 2, 3], [4, 5, 6]], dtype) and with order="F".
#[test]
fn orders_and_byte_orders_of_numpy_are_read() {
    let folder = Folder::new();
    let file = |descr: &str, fortran: &str, elements: &[u8]| {
        let dict = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': (2, 3), }}");
        let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
        bytes.extend(dict.as_bytes());
        bytes.resize(127, b' ');
        bytes.push(b'\n');
        bytes.extend(elements);
        std::fs::write(folder.path("x.npy"), bytes).expect("a file");
    };
    let rows = "1\t2\t3\n4\t5\t6\n";
    file(">u2", "False", &[0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6]);
    folder.good(&["import", "x.npy", "big"]);
    assert_eq!(folder.good(&["cat", "big"]), rows);
    file("<u2", "True", &[1, 0, 4, 0, 2, 0, 5, 0, 3, 0, 6, 0]);
    folder.good(&["import", "x.npy", "fortran", "--chunks", "1,2"]);
    assert_eq!(folder.good(&["cat", "fortran"]), rows);
    file("|u1", "False", &[1, 2, 3, 4, 5]);
    assert!(
        folder
            .bad(3, &["import", "x.npy", "short"])
            .contains("5 of 6 bytes")
    );
    assert!(!folder.path("short/zarr.json").exists());
    file("|u1", "False", &[1, 2, 3, 4, 5, 6, 7]);
    assert!(
        folder
            .bad(3, &["import", "x.npy", "long"])
            .contains("more bytes")
    );
    assert!(!folder.path("long/zarr.json").exists());
}

#[test]
fn a_failed_import_removes_only_its_own() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("home")).expect("a folder");
    std::fs::write(folder.path("home/thesis.tex"), "years").expect("a file");
    std::fs::write(folder.path("x.raw"), [1, 2, 3]).expect("a file");
    let error = folder.bad(
        3,
        &[
            "import", "x.raw", "home", "--dtype", "uint8", "--shape", "4",
        ],
    );
    assert!(error.contains("3 of 4 bytes"), "{error}");
    assert!(folder.path("home/thesis.tex").is_file());
    // Nor is anything made inside an array.
    folder.array("a.zarr", Array::<u8>::builder([2]), |_| 1);
    let error = folder.bad(
        3,
        &[
            "import", "x.raw", "a.zarr/b", "--dtype", "uint8", "--shape", "3",
        ],
    );
    assert!(error.contains("is inside of the array"), "{error}");
}

#[test]
fn large_arrays_are_read_in_parts() {
    let folder = Folder::new();
    let array = Array::<u64>::builder([3, 1_500_000])
        .chunks([2, 70_000])
        .format(Format::Zarr2);
    folder.array("a", array, |i| (1_500_000 * i[0] + i[1]) as u64);
    let raw = folder
        .command(&["cat", "a", "--as", "raw"])
        .output()
        .expect("it runs")
        .stdout;
    assert!(
        raw.chunks(8)
            .enumerate()
            .all(|(n, bytes)| bytes == (n as u64).to_ne_bytes())
    );
    let ran = Ran::of(
        &folder
            .command(&["cat", "a", "--as", "json"])
            .output()
            .expect("it runs"),
    );
    let rows: Vec<Vec<u64>> = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!((rows.len(), rows[2][1_499_999]), (3, 4_499_999));
}

#[test]
fn an_import_that_is_killed_leaves_no_array() {
    let folder = Folder::new();
    let import = ["import", "-", "a.zarr", "--dtype", "uint8", "--shape", "4"];
    let mut child = folder
        .command(&import)
        .stdin(Stdio::piped())
        .spawn()
        .expect("it runs");
    // It has begun, and waits for elements.
    while !files(&folder.path(""))
        .iter()
        .any(|name| name.ends_with("zarr.json"))
    {
        assert!(child.try_wait().expect("its status").is_none());
    }
    child.kill().expect("it is killed");
    child.wait().expect("its status");
    folder.bad(3, &["info", "a.zarr"]);
    // What is left is in the way, and says how to go on.
    assert!(folder.bad(3, &import).contains("ndzarr rm"));
    folder.good(&["rm", "--yes", "a.zarr.importing"]);
    std::fs::write(folder.path("x.raw"), [1, 2, 3, 4]).expect("a file");
    let import = [
        "import", "x.raw", "a.zarr", "--dtype", "uint8", "--shape", "4",
    ];
    folder.good(&import);
    assert_eq!(folder.good(&["cat", "a.zarr"]), "1\t2\t3\t4\n");
    // An array that exists stays, and the folder has no other file.
    folder.bad(3, &import);
    assert_eq!(
        files(&folder.path("")),
        ["a.zarr/c/0", "a.zarr/zarr.json", "x.raw"]
    );
    assert!(!folder.path("a.zarr.importing").exists());
}

#[test]
fn an_import_uses_no_place_that_is_there() {
    let folder = Folder::new();
    std::fs::create_dir(folder.path("a.zarr.importing")).expect("a folder");
    std::fs::write(folder.path("a.zarr.importing/thesis.tex"), "years").expect("a file");
    std::fs::write(folder.path("x.raw"), [1, 2]).expect("a file");
    let import = [
        "import", "x.raw", "a.zarr", "--dtype", "uint8", "--shape", "2",
    ];
    assert!(folder.bad(3, &import).contains("a.zarr.importing exists"));
    assert_eq!(
        files(&folder.path("")),
        ["a.zarr.importing/thesis.tex", "x.raw"]
    );
}

/// The slowest axis has one index: a row of it is the whole array, of 1 GiB.
#[cfg(target_os = "linux")]
#[test]
fn an_import_takes_little_memory_whatever_the_shape() {
    let folder = Folder::new();
    let import = "ulimit -v 900000; head -c 1073741824 /dev/zero | \"$0\" import - a.zarr --dtype uint8 \
                  --shape 1,1073741824 --chunks 1,16777216 --codec none";
    let mut shell = std::process::Command::new("sh");
    let shell = shell
        .args(["-c", import, env!("CARGO_BIN_EXE_ndzarr")])
        .current_dir(folder.path(""));
    let output = shell.output().expect("it runs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn the_level_of_writes_is_a_variable() {
    let folder = Folder::new();
    std::fs::write(folder.path("raw"), [1, 2, 3]).expect("a file");
    let import = |level: &str, target: &str| {
        let arguments = ["import", "raw", target, "--dtype", "uint8", "--shape", "3"];
        let mut command = folder.command(&arguments);
        Ran::of(
            &command
                .env("NDZARR_DURABILITY", level)
                .output()
                .expect("it runs"),
        )
    };
    for level in ["", "none", "documents", "data", "full"] {
        let target = format!("a-{level}");
        assert_eq!(import(level, &target).status, 0, "{level}");
        assert_eq!(folder.good(&["cat", &target]), "1\t2\t3\n");
    }
    let ran = import("all", "b");
    assert_eq!(ran.status, 3, "{ran:?}");
    assert!(
        ran.err
            .contains("NDZARR_DURABILITY is none, documents, data or full, not \"all\""),
        "{ran:?}"
    );
    assert!(!folder.path("b").exists());
}
