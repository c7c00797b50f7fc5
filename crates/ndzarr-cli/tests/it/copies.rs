//! `cp`: what it copies, what it refuses, and what a killed one leaves.

use std::process::Stdio;

use ndzarr::{AnyArray, AnyNode, Array, ErrorKind, Format, Group, codec};
use serde_json::json;

use crate::{Folder, Ran, files};

#[test]
fn chunks_codecs_types_and_formats_change() {
    let folder = Folder::new();
    let array = Array::<u16>::builder([20, 30])
        .chunks([5, 30])
        .codecs([codec::gzip(5)]);
    folder.array("a.zarr", array, |index| (30 * index[0] + index[1]) as u16);
    let printed = folder.good(&[
        "cp", "a.zarr", "b.n5", "--format", "n5", "--chunks", "20,3", "--verify",
    ]);
    assert!(
        printed.contains("the elements of source and copy are equal"),
        "{printed}"
    );
    let arguments = [
        "--chunks",
        "4,4",
        "--shards",
        "8,8",
        "--codec",
        "zstd:3,crc32c",
        "--dtype",
        "float32",
    ];
    folder.good(
        &[
            &["cp", "a.zarr", "c.zarr", "--scale", "0.5", "--offset", "-1"][..],
            &arguments,
        ]
        .concat(),
    );
    let copy = Array::<f32>::open(folder.path("c.zarr")).expect("it is there");
    assert_eq!(
        (copy.chunk_shape(), copy.shard_shape()),
        (vec![4, 4], Some(&[8, 8][..]))
    );
    assert_eq!(
        copy.read([19..20, 29..30]).expect("it is read")[[0, 0]],
        599.0 * 0.5 - 1.0
    );
    folder.good(&[
        "cp",
        "c.zarr",
        "e.zarr",
        "--index-location",
        "start",
        "--verify",
    ]);
    let document: serde_json::Value =
        serde_json::from_slice(&std::fs::read(folder.path("e.zarr/zarr.json")).expect("read"))
            .expect("JSON");
    assert_eq!(
        document["codecs"][0]["configuration"]["index_location"],
        "start"
    );
    assert!(
        folder
            .bad(2, &["cp", "a.zarr", "d.zarr", "--codec", "lz5"])
            .contains("lz5")
    );
    assert!(
        folder
            .bad(2, &["cp", "a.zarr", "d.zarr", "--dtype", "f99"])
            .contains("f99")
    );
    let error = folder.bad(3, &["cp", "a.zarr", "h.zarr", "--dtype", "uint8"]);
    assert!(
        error.contains("out of range of uint8") && error.contains("--saturate"),
        "{error}"
    );
}

#[test]
fn a_part_is_copied_and_compared() {
    let folder = Folder::new();
    let array = Array::<u16>::builder([20, 30])
        .chunks([5, 30])
        .codecs([codec::gzip(5)]);
    folder.array("a.zarr", array, |index| (30 * index[0] + index[1]) as u16);
    let cp = [
        "cp",
        "a.zarr",
        "b.zarr",
        "--select",
        "-3:, ::-7",
        "--verify",
    ];
    let lines = folder.json(&cp);
    let done = lines
        .iter()
        .find_map(|line| line.get("done"))
        .expect("what was done");
    assert_eq!(
        (&done["arrays"], &done["byte_len"]),
        (&json!(1), &json!(3 * 5 * 2))
    );
    let copy = Array::<u16>::open(folder.path("b.zarr")).expect("it is there");
    assert_eq!(
        (copy.shape(), copy.chunk_shape()),
        (&[3, 5][..], vec![5, 30])
    );
    assert_eq!(
        copy.read([2..3, 0..5])
            .expect("it is read")
            .into_raw_vec_and_offset()
            .0,
        [599, 592, 585, 578, 571]
    );
    let printed = folder.good(&[
        "cp",
        "a.zarr",
        "c.zarr",
        "--select",
        "[4:11, 5:6]",
        "--verify",
        "--dtype",
        "float32",
    ]);
    assert!(
        printed.contains("every chunk of the copy can be read"),
        "{printed}"
    );
    let printed = folder.good(&[
        "cp", "a.zarr", "d.zarr", "--select", "...", "--chunks", "7,7", "--verify",
    ]);
    assert!(
        printed.contains("the elements of source and copy are equal"),
        "{printed}"
    );

    // As elsewhere, ranges are clipped, and an index outside is wrong; one inside would drop its
    // axis.
    folder.good(&["cp", "a.zarr", "e.zarr", "--select", "18:100"]);
    let error = folder.bad(3, &["cp", "a.zarr", "f.zarr", "--select", "3"]);
    assert!(
        error.contains("take a range of length 1 instead of an index"),
        "{error}"
    );
    assert!(
        folder
            .bad(2, &["cp", "a.zarr", "f.zarr", "--select", "20"])
            .contains("outside")
    );
    Group::create(folder.path("g.zarr"), Format::Zarr3).expect("it is new");
    assert!(
        folder
            .bad(2, &["cp", "g.zarr", "f.zarr", "--select", "0:1"])
            .contains("is a group")
    );
    assert!(!folder.path("f.zarr").exists());
}

#[test]
fn groups_are_copied_with_all_below() {
    let folder = Folder::new();
    let root = Group::create(folder.path("g.zarr"), Format::Zarr3).expect("it is new");
    for name in ["a", "b/c"] {
        let array = Array::<u8>::builder([10]).chunks([3]);
        root.create_array(name, array)
            .expect("it is new")
            .fill(.., 3)
            .expect("it is written");
    }
    let lines = folder.json(&["cp", "g.zarr", "h.zarr"]);
    let paths: Vec<_> = lines
        .iter()
        .filter_map(|line| line["target"].as_str())
        .collect();
    assert_eq!(paths, ["", "a", "b", "b/c"]);
    let done = &lines.last().expect("a last line")["done"];
    assert_eq!(
        (&done["arrays"], &done["chunks"], &done["byte_len"]),
        (&json!(2), &json!(8), &json!(20))
    );
    assert_eq!(
        folder
            .run(&["diff", "g.zarr", "h.zarr", "--attributes"])
            .status,
        0
    );
}

#[test]
fn cli_03_a_killed_copy_cannot_be_opened_and_goes_on() {
    let folder = Folder::new();
    let array = Array::<u32>::builder([1000, 64])
        .chunks([10, 64])
        .codecs([codec::zstd(19)]);
    let mixed = |index: &[usize]| {
        (index[0] as u32)
            .wrapping_mul(2_654_435_761)
            .wrapping_add(index[1] as u32)
    };
    folder.array("a.zarr", array, mixed);
    let copy = [
        "cp",
        "a.zarr",
        "b.zarr",
        "--chunks",
        "10,32",
        "--threads",
        "1",
    ];
    let mut killed = 0;
    for point in 0..10 {
        let arguments = if point == 0 {
            copy.to_vec()
        } else {
            [&copy[..], &["--resume"]].concat()
        };
        let mut child = folder.command(&arguments);
        let mut child = child
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it runs");
        // Once it has written some more chunks.
        let had = files(&folder.path("b.zarr")).len();
        while child.try_wait().expect("its status").is_none() {
            if files(&folder.path("b.zarr")).len() > had + 15 {
                child.kill().expect("it is killed");
            }
        }
        let is_success = child.wait().expect("its status").success();
        if folder.path("b.zarr/zarr.json").is_file() {
            // It may have been killed after its last write but one, or its last.
            folder.good(&["repair", "--yes", "--quiet", "b.zarr"]);
            break;
        }
        assert!(!is_success);
        killed += 1;
        assert_eq!(
            AnyArray::open(folder.path("b.zarr"))
                .expect_err("it is not an array")
                .kind(),
            ErrorKind::NotFound
        );
        assert_eq!(folder.run(&["info", "b.zarr"]).status, 3);
        // Without --resume it is refused, and the hint says how to go on.
        let error = folder.bad(3, &copy);
        assert!(error.contains("--resume"), "{error}");
    }
    assert!(killed > 0, "it was never killed");
    if !folder.path("b.zarr/zarr.json").is_file() {
        folder.good(&[&copy[..], &["--resume"]].concat());
    }
    folder.good(&["diff", "a.zarr", "b.zarr"]);
    let left: Vec<_> = files(&folder.path("b.zarr"))
        .into_iter()
        .filter(|name| name.contains("ndzarr"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn cli_07_what_a_format_lacks_is_named() {
    let folder = Folder::new();
    let attributes = json!({"units": "K"});
    for (from, name) in [(Format::Zarr2, "v2"), (Format::Zarr3, "v3")] {
        let mut array = Array::<f32>::builder([4, 4])
            .chunks([2, 2])
            .format(from)
            .fill_value(1.5);
        if from == Format::Zarr3 {
            array = array.dimension_names(["y", "x"]);
        }
        array
            .attributes(attributes.clone())
            .create(folder.path(name))
            .expect("it is new");
    }
    // N5 has no fill value but 0.
    for from in ["v2", "v3"] {
        let target = format!("{from}.n5");
        let error = folder.bad(3, &["cp", from, &target, "--format", "n5"]);
        assert!(
            error.contains("fill value") && error.contains("--allow-loss"),
            "{error}"
        );
        assert!(!folder.path(&target).exists());
        let lines = folder.json(&["cp", from, &target, "--format", "n5", "--allow-loss"]);
        let losses = lines[0]["losses"].to_string();
        assert!(losses.contains("fill value"), "{losses}");
        assert_eq!(folder.good(&["cat", &target, "0,0"]), "1.5\n");
        assert_eq!(folder.json(&["attrs", &target])[0]["units"], "K");
    }
    // Between the versions of Zarr nothing is lost; names become attributes and come back.
    assert_eq!(
        folder.json(&["cp", "v2", "b3", "--format", "zarr3"])[0]["losses"],
        json!([])
    );
    let lines = folder.json(&["cp", "v3", "b2", "--format", "zarr2"]);
    assert_eq!(lines[0]["losses"], json!([]), "{lines:?}");
    // The draft has a fill value and attributes, as v3 and v2 have.
    let draft = Array::<f32>::builder([4])
        .chunks([2])
        .format(Format::DraftB)
        .fill_value(1.5);
    draft
        .attributes(attributes)
        .create(folder.path("draft"))
        .expect("it is new");
    for (format, target) in [("zarr3", "d3"), ("zarr2", "d2")] {
        let lines = folder.json(&["cp", "draft", target, "--format", format]);
        assert_eq!(lines[0]["losses"], json!([]), "{lines:?}");
        assert_eq!(folder.good(&["cat", target, "0"]), "1.5\n");
        assert_eq!(folder.json(&["attrs", target])[0]["units"], "K");
    }
    assert!(
        folder
            .bad(3, &["cp", "draft", "d.n5", "--format", "n5"])
            .contains("fill value")
    );
    // A type that a format lacks is always an error.
    let complex = AnyArray::builder([2]).data_type(ndzarr::DataType::Complex { bits: 64 });
    complex.create(folder.path("c.zarr")).expect("it is new");
    assert!(
        folder
            .bad(
                3,
                &["cp", "c.zarr", "c.n5", "--format", "n5", "--allow-loss"]
            )
            .contains("complex64")
    );
    // The order of N5's axes is kept, and turned where it is asked for.
    let n5 = Array::<u8>::builder([3, 5])
        .chunks([3, 5])
        .format(Format::N5);
    folder.array("axes.n5", n5, |index| (10 * index[0] + index[1]) as u8);
    folder.good(&["cp", "axes.n5", "axes.zarr", "--format", "zarr3"]);
    assert_eq!(
        folder.json(&["info", "axes.zarr"])[0]["shape"],
        json!([3, 5])
    );
    let lines = folder.json(&["cp", "axes.n5", "axes2.zarr", "--format", "zarr2"]);
    assert_eq!(lines[0]["losses"], json!([]), "{lines:?}");
    assert_eq!(
        folder.json(&["info", "axes2.zarr"])[0]["shape"],
        json!([3, 5])
    );
    assert_eq!(folder.good(&["cat", "axes2.zarr", "2,4"]), "24\n");
    folder.good(&[
        "cp",
        "axes.n5",
        "turned.zarr",
        "--format",
        "zarr3",
        "--n5-axes",
        "reversed",
    ]);
    assert_eq!(
        folder.json(&["info", "turned.zarr"])[0]["shape"],
        json!([5, 3])
    );
    assert_eq!(folder.good(&["cat", "turned.zarr", "4,2"]), "24\n");
}

#[test]
fn cli_08_the_codec_stays_where_the_format_has_it() {
    let folder = Folder::new();
    let blosc = codec::blosc(codec::BloscCname::Zstd, 5, codec::BloscShuffle::Byte);
    let array = Array::<u16>::builder([16])
        .chunks([4])
        .codecs([blosc])
        .format(Format::Zarr2);
    folder.array("a.zarr", array, |index| index[0] as u16);
    for (format, target) in [("zarr3", "b.zarr"), ("n5", "b.n5"), ("zarr2", "b2.zarr")] {
        folder.good(&[
            "cp", "a.zarr", target, "--format", format, "--chunks", "8", "--verify",
        ]);
        let codecs = folder.json(&["info", target])[0]["codecs"].to_string();
        assert!(
            codecs.contains("blosc") && codecs.contains("zstd"),
            "{codecs}"
        );
    }
}

#[test]
fn a_copy_with_damage_says_where() {
    let folder = Folder::new();
    let array = Array::<u16>::builder([8])
        .chunks([2])
        .codecs([codec::gzip(5)]);
    folder.array("a.zarr", array, |index| index[0] as u16);
    std::fs::write(folder.path("a.zarr/c/2"), "odd").expect("it is there");
    let ran = Ran::of(
        &folder
            .command(&["cp", "a.zarr", "b.zarr", "--chunks", "4", "--json"])
            .output()
            .expect("it runs"),
    );
    assert_eq!(ran.status, 3);
    let error: serde_json::Value = serde_json::from_str(&ran.err).expect("JSON");
    assert_eq!(
        (&error["error"]["kind"], &error["error"]["key"]),
        (&json!("corrupt"), &json!("c/2"))
    );
    assert!(AnyNode::open(folder.path("b.zarr")).is_err());
}
