//! `read`, `info` and `list` find what `write` has created, in each format; and the exit statuses.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

fn run<I: AsRef<std::ffi::OsStr>>(args: &[I]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ndzarr-conformance"))
        .args(args)
        .output()
        .expect("the program starts")
}

fn line(output: &Output) -> Value {
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).expect("one line of JSON")
}

fn text(path: &Path) -> &str {
    path.to_str()
        .expect("temporary folders have ordinary names")
}

/// Writes elements by a spec as `node` of a new store.
fn write(folder: &TempDir, node: &str, spec: &Value, elements: &[u8]) -> Output {
    let path = |name: &str| folder.path().join(name);
    fs::write(path("spec.json"), spec.to_string()).expect("a file");
    fs::write(path("in.bin"), elements).expect("a file");
    let store = path("store");
    let spec = path("spec.json");
    let input = path("in.bin");
    run(&[
        "write",
        text(&store),
        node,
        "--spec",
        text(&spec),
        "--in",
        text(&input),
    ])
}

/// The line of `info` and the elements.
fn read(folder: &TempDir, node: &str, options: &[&str]) -> (Value, Vec<u8>) {
    let store = folder.path().join("store");
    let out = folder.path().join("out.bin");
    let mut args = vec!["read", text(&store), node, "--out", text(&out)];
    args.extend(options);
    let info = line(&run(&args));
    (info, fs::read(&out).expect("the elements"))
}

fn refused(output: &Output, what: &str) {
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(
        message.starts_with("error: ") && message.contains(what),
        "{message}"
    );
    assert_eq!(message.trim_end().lines().count(), 1, "{message}");
    assert!(output.stdout.is_empty());
}

fn ramp() -> Vec<u8> {
    (1..=15u16).flat_map(u16::to_le_bytes).collect()
}

/// The spec of a 5x3 array of uint16 with these further members.
fn spec(format: &str, others: Value) -> Value {
    let mut spec =
        json!({"format": format, "shape": [5, 3], "chunk_shape": [2, 2], "data_type": "uint16"});
    for (name, value) in others.as_object().into_iter().flatten() {
        spec[name] = value.clone();
    }
    spec
}

pub(crate) fn each_format_gives_back_what_was_written() {
    let gzip = json!({"name": "gzip", "configuration": {"level": 1}});
    let bytes = json!({"name": "bytes", "configuration": {"endian": "big"}});
    let transpose = json!({"name": "transpose", "configuration": {"order": [1, 0]}});
    let cases = [
        ("zarr2", json!({})),
        (
            "zarr2",
            json!({"codecs": {"compressor": {"id": "zlib", "level": 1}, "filters": null}}),
        ),
        (
            "zarr2",
            json!({"order": "F", "endian": "big", "dimension_separator": "/", "fill_value": null}),
        ),
        (
            "zarr3",
            json!({"attributes": {"x": [1, null]}, "dimension_names": ["y", null]}),
        ),
        (
            "zarr3",
            json!({"codecs": [transpose, bytes, gzip], "fill_value": 7}),
        ),
        (
            "zarr3",
            json!({"codecs": [gzip], "order": "F", "endian": "big"}),
        ),
        (
            "zarr3",
            json!({"shard_shape": [4, 4], "codecs": [bytes, gzip]}),
        ),
        (
            "zarr3",
            json!({"chunk_key_encoding": {"name": "v2", "configuration": {"separator": "/"}}}),
        ),
        ("zarr3-draft-a", json!({"attributes": {"x": [1, null]}})),
        (
            "zarr3-draft-a",
            json!({"order": "F", "endian": "big", "shard_shape": [4, 4], "fill_value": 7}),
        ),
        (
            "zarr3-draft-b",
            json!({"codecs": {"compressor": {"id": "zlib", "level": 1}, "filters": null}}),
        ),
        (
            "zarr3-draft-b",
            json!({"order": "F", "endian": "big", "shard_shape": [4, 4], "fill_value": null}),
        ),
        ("n5", json!({})),
        (
            "n5",
            json!({"codecs": {"type": "gzip"}, "n5_axes": "reversed", "endian": "big"}),
        ),
        (
            "n5",
            json!({"edge_blocks": "padded", "fill_value": 0, "n5_group_documents": "all"}),
        ),
    ];
    for (format, others) in cases {
        let folder = TempDir::new().expect("a folder");
        let spec = spec(format, others);
        let written = write(&folder, "a/b", &spec, &ramp());
        assert!(
            written.status.success(),
            "{spec}: {}",
            String::from_utf8_lossy(&written.stderr)
        );
        let options = match spec["n5_axes"].as_str() {
            Some(axes) => vec!["--n5-axes", axes],
            None => vec![],
        };
        let (info, elements) = read(&folder, "a/b", &options);
        assert_eq!(elements, ramp(), "{spec}");
        // The draft has two dialects, but one name.
        let name = if format.starts_with("zarr3-draft") {
            "zarr3-draft"
        } else {
            format
        };
        assert_eq!(info["format"], name, "{spec}");
        for name in [
            "shape",
            "chunk_shape",
            "data_type",
            "shard_shape",
            "dimension_names",
        ] {
            assert_eq!(info[name], spec[name], "{name} of {spec}");
        }
        assert_eq!(
            info["attributes"],
            *spec.get("attributes").unwrap_or(&json!({})),
            "{spec}"
        );

        let store = folder.path().join("store");
        let list = run(&["list", text(&store)]);
        let nodes: Vec<Value> = list
            .stdout
            .split(|&b| b == b'\n')
            .filter_map(|line| serde_json::from_slice(line).ok())
            .collect();
        let expected = json!([{"path": "", "node": "group"}, {"path": "a", "node": "group"}, {"path": "a/b", "node": "array"}]);
        assert_eq!(Value::from(nodes), expected, "{spec}");
        assert_eq!(
            line(&run(&["info", text(&store), "a"]))["members"],
            json!({"b": "array"})
        );
    }
}

pub(crate) fn a_region_is_part_of_the_whole() {
    let folder = TempDir::new().expect("a folder");
    assert!(
        write(&folder, "", &spec("zarr3", json!({})), &ramp())
            .status
            .success()
    );
    let (_, elements) = read(&folder, "", &["--region", "1:4,1:3"]);
    let expected: Vec<u8> = [5u16, 6, 8, 9, 11, 12]
        .into_iter()
        .flat_map(u16::to_le_bytes)
        .collect();
    assert_eq!(elements, expected);
    let (_, elements) = read(&folder, "", &["--region", "2:2,0:3"]);
    assert!(elements.is_empty());
}

/// The documents below the root are gone, so that the consolidated one is read.
pub(crate) fn consolidated_metadata_stand_for_the_documents() {
    for (format, gone) in [
        ("zarr2", &["g/.zgroup", "g/a/.zarray", "g/a/.zattrs"][..]),
        ("zarr3", &["g/zarr.json", "g/a/zarr.json"]),
    ] {
        let folder = TempDir::new().expect("a temporary folder");
        let made = write(
            &folder,
            "g/a",
            &spec(format, json!({"attributes": {"x": 1}})),
            &ramp(),
        );
        assert!(
            made.status.success(),
            "{}",
            String::from_utf8_lossy(&made.stderr)
        );
        let store = folder.path().join("store");
        refused(
            &run(&["info", text(&store), "--consolidated", "require"]),
            "consolidated",
        );
        assert!(run(&["consolidate", text(&store)]).status.success());
        for document in gone {
            fs::remove_file(store.join(document)).expect(document);
        }
        assert_eq!(
            line(&run(&["info", text(&store), "--consolidated", "require"]))["members"],
            json!({"g": "group"})
        );
        let (info, elements) = read(&folder, "g/a", &[]);
        assert_eq!(
            (elements, &info["attributes"]),
            (ramp(), &json!({"x": 1})),
            "{format}"
        );
        refused(
            &run(&["info", text(&store), "g/a", "--consolidated", "ignore"]),
            "g/a",
        );
    }
}

pub(crate) fn elements_are_printed_as_fill_values() {
    let folder = TempDir::new().expect("a folder");
    let spec = json!({"format": "zarr3", "shape": [2, 2], "data_type": "float32"});
    let elements: Vec<u8> = [1.5f32, f32::NAN, -0.0, f32::NEG_INFINITY]
        .map(f32::to_le_bytes)
        .concat();
    assert!(write(&folder, "a", &spec, &elements).status.success());
    let output = run(&[format!(
        "--array_path={}",
        text(&folder.path().join("store/a"))
    )]);
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "1.5\n\"NaN\"\n-0.0\n\"-Infinity\"\n"
    );
}

pub(crate) fn arrays_without_dimensions_or_elements() {
    for (shape, elements) in [(json!([]), &[7u8, 0][..]), (json!([0, 3]), &[])] {
        for format in ["zarr2", "zarr3"] {
            let folder = TempDir::new().expect("a folder");
            let spec = json!({"format": format, "shape": shape, "data_type": "uint16"});
            let written = write(&folder, "", &spec, elements);
            assert!(
                written.status.success(),
                "{spec}: {}",
                String::from_utf8_lossy(&written.stderr)
            );
            let (info, read) = read(&folder, "", &[]);
            assert_eq!((&info["shape"], &read[..]), (&shape, elements), "{spec}");
        }
    }
}

pub(crate) fn bad_data_is_one_line_and_status_1() {
    let folder = TempDir::new().expect("a folder");
    let store = folder.path().join("store");
    refused(&run(&["info", text(&store)]), "no array or group");
    refused(&run(&["list", text(&store)]), "no array or group");
    refused(
        &write(&folder, "", &spec("zarr3", json!({})), &ramp()[1..]),
        "29 bytes",
    );
    assert!(
        !store.exists(),
        "nothing is made of a file of the wrong size"
    );
    for (others, what) in [
        (json!({"data_type": "float7"}), "float7"),
        (json!({"fill_value": null}), "fill value"),
        (json!({"shap": 1}), "shap"),
        (json!({"codecs": [{"name": "brotli"}]}), "brotli"),
        (
            json!({"codecs": [{"name": "bytes", "configuration": {"endian": "big"}}], "endian": "little"}),
            "order",
        ),
    ] {
        refused(&write(&folder, "", &spec("zarr3", others), &ramp()), what);
    }
    refused(
        &write(
            &folder,
            "",
            &spec("n5", json!({"endian": "little"})),
            &ramp(),
        ),
        "big-endian",
    );
    assert!(
        write(&folder, "", &spec("zarr3", json!({})), &ramp())
            .status
            .success()
    );
    refused(
        &write(&folder, "", &spec("zarr3", json!({})), &ramp()),
        "already exists",
    );
    let out = folder.path().join("out.bin");
    refused(
        &run(&["read", text(&store), "--out", text(&out), "--region", "0:1"]),
        "2 dimensions",
    );
    refused(
        &run(&[
            "read",
            text(&store),
            "--out",
            text(&out),
            "--region",
            "0:9,0:1",
        ]),
        "0..9",
    );
    fs::write(store.join("c/0/0"), [1]).expect("a file");
    refused(&run(&["read", text(&store), "--out", text(&out)]), "c/0/0");
}

pub(crate) fn bad_usage_is_status_2() {
    for args in [&[][..], &["nothing"], &["read", "x"], &["info"]] {
        assert_eq!(run::<&str>(args).status.code(), Some(2), "{args:?}");
    }
    for region in ["4", "0:4,", "a:b", "-1:2", "0:1:2"] {
        let args = ["read", "x", "--out", "y", "--region", region];
        assert_eq!(run(&args).status.code(), Some(2), "{region}");
    }
    assert_eq!(run(&["--help"]).status.code(), Some(0));
}

pub(crate) fn unknown_codecs_of_v2_do_not_hide_the_metadata() {
    let folder = TempDir::new().expect("a folder");
    assert!(
        write(&folder, "", &spec("zarr2", json!({})), &ramp())
            .status
            .success()
    );
    let store = folder.path().join("store");
    let out = folder.path().join("out.bin");
    let document = store.join(".zarray");
    let mut members: Value =
        serde_json::from_slice(&fs::read(&document).expect("a document")).expect("JSON");
    members["compressor"] = json!({"id": "brotli", "level": 3});
    fs::write(&document, members.to_string()).expect("a file");
    fs::write(store.join(".zattrs"), "{\"x\": NaN}").expect("a file");

    let info = line(&run(&["info", text(&store)]));
    assert_eq!(info["shape"], json!([5, 3]));
    assert_eq!(info["attributes"], json!({"x": "NaN"}));
    assert!(info["codecs"].to_string().contains("brotli"), "{info}");
    refused(&run(&["read", text(&store), "--out", text(&out)]), "brotli");
}

pub(crate) fn a_batch_answers_each_line() {
    let folder = TempDir::new().expect("a folder");
    assert!(
        write(&folder, "", &spec("zarr3", json!({})), &ramp())
            .status
            .success()
    );
    let store = folder.path().join("store");
    let mut child = Command::new(env!("CARGO_BIN_EXE_ndzarr-conformance"))
        .arg("batch")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let lines = [
        json!(["info", text(&store)]),
        json!(["info", text(&store), "nothing"]),
        json!(["info"]),
        json!(1),
    ];
    let mut input = child.stdin.take().expect("a pipe");
    for line in lines {
        writeln!(input, "{line}").expect("the program reads");
    }
    drop(input);
    let output = child.wait_with_output().expect("the program ends");
    assert!(output.status.success());
    let answers: Vec<Value> = output
        .stdout
        .split(|&b| b == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).expect("JSON"))
        .collect();
    let statuses: Vec<_> = answers
        .iter()
        .map(|answer| answer["status"].as_u64())
        .collect();
    assert_eq!(statuses, [Some(0), Some(1), Some(2), Some(2)]);
    assert!(
        answers[0]["stdout"]
            .as_str()
            .is_some_and(|line| line.contains("uint16"))
    );
    assert!(
        answers[1]["stderr"]
            .as_str()
            .is_some_and(|line| line.starts_with("error: "))
    );
}
