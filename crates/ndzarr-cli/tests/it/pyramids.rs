//! `pyramid`, and images in `info`.

use ndzarr::{Array, Format, Group};
use ndzarr_ome::Multiscale;
use serde_json::{Value, json};

use crate::{Folder, files};

/// Elements 10 y + x.
fn plain(folder: &Folder, name: &str) {
    let array = Array::<u16>::builder([6, 5]).chunks([4, 2]);
    folder.array(name, array, |index| (10 * index[0] + index[1]) as u16);
}

fn words(line: &str) -> Vec<&str> {
    line.split(' ').collect()
}

/// The means of 2 by 2 elements of it, ties to even.
const MEANS: &str = "6\t8\t9\n26\t28\t29\n46\t48\t49\n";

#[test]
fn an_array_becomes_an_image() {
    let folder = Folder::new();
    plain(&folder, "a.zarr");
    let more = "--levels 2 --scale 2,0.5 --translation -1,0 --unit micrometer --name cells";
    let printed = folder.good(&words(&format!("pyramid a.zarr image.zarr {more}")));
    assert_eq!(printed, "image.zarr: 2 levels, from 6 × 5 to 3 × 3\n");
    assert_eq!(folder.good(&["cat", "image.zarr/1"]), MEANS);
    folder.good(&["diff", "a.zarr", "image.zarr/0"]);
    folder.good(&["verify", "image.zarr"]);
    let image = Multiscale::open(folder.path("image.zarr")).expect("it is an image");
    assert!(
        !image
            .validate()
            .iter()
            .any(|finding| finding.to_string().contains(" must "))
    );

    let info = folder.good(&["info", "image.zarr"]);
    for line in [
        "image       OME-Zarr 0.5, \"cells\", levels by mean",
        "axes        y (space, micrometer), x (space, micrometer)",
        "level 0     6 × 5  uint16  scale 2, 0.5  offset -1, 0  (0)",
        "level 1     3 × 3  uint16  scale 4, 1  offset 0, 0.25  (1)",
    ] {
        assert!(info.lines().any(|it| it.trim() == line), "{line}\n{info}");
    }
    let expected = json!({
        "path": "", "convention": "OME-Zarr 0.5", "name": "cells", "method": "mean", "warnings": [],
        "axes": [
            {"name": "y", "kind": "space", "unit": "micrometer"},
            {"name": "x", "kind": "space", "unit": "micrometer"},
        ],
        "levels": [
            {"path": "0", "shape": [6, 5], "data_type": "uint16", "scale": [2.0, 0.5], "translation": [-1.0, 0.0],
             "error": null},
            {"path": "1", "shape": [3, 3], "data_type": "uint16", "scale": [4.0, 1.0], "translation": [0.0, 0.25],
             "error": null},
        ],
    });
    assert_eq!(
        folder.json(&["info", "image.zarr"])[0]["images"],
        json!([expected])
    );
    let quick = &folder.json(&["info", "--quick", "image.zarr"])[0]["images"][0]["levels"][0];
    assert_eq!(
        (&quick["shape"], &quick["scale"]),
        (&Value::Null, &json!([2.0, 0.5]))
    );
    assert_eq!(
        folder.json(&["pyramid", "a.zarr", "other.zarr", "--levels", "1"])[0]["levels"][0]["shape"],
        json!([6, 5])
    );
}

#[test]
fn the_arguments_say_how_levels_are_made() {
    let folder = Folder::new();
    plain(&folder, "a.zarr");
    for (method, expected) in [
        ("stride", "0\t3\n20\t23\n40\t43\n"),
        ("mode", "0\t3\n20\t23\n40\t43\n"),
    ] {
        let target = format!("{method}.zarr");
        let more = format!(
            "--levels 2 --factors 2,3 --method {method} --format zarr2 --chunks 3,3 --codec gzip:1"
        );
        folder.good(&words(&format!("pyramid -q a.zarr {target} {more}")));
        assert_eq!(folder.good(&["cat", &format!("{target}/1")]), expected);
        let info = &folder.json(&["info", &format!("{target}/1")])[0];
        assert_eq!(
            (&info["format"], &info["chunk_shape"]),
            (&json!("zarr2"), &json!([3, 3]))
        );
        assert_eq!(
            folder.json(&["info", &target])[0]["images"][0]["convention"],
            "OME-Zarr 0.4"
        );
    }
}

#[test]
fn axes_have_names_and_units() {
    let folder = Folder::new();
    let array = Array::<u8>::builder([2, 3, 4]).dimension_names(["c", "y", "x"]);
    folder.array("named.zarr", array, |_| 1);
    let array = Array::<u8>::builder([4, 3, 2]).format(Format::N5);
    folder.array("a.n5", array, |_| 1);
    let axes = |arguments: &[&str]| -> String {
        let all = [&["pyramid", "--levels", "1"], arguments, &["--overwrite"]].concat();
        let made = &folder.json(&all)[0];
        let axes = made["axes"].as_array().expect("a list").iter().map(|axis| {
            format!(
                "{} {}",
                axis["name"].as_str().expect("a name"),
                axis["unit"].as_str().unwrap_or("-")
            )
        });
        axes.collect::<Vec<_>>().join(", ")
    };
    assert_eq!(
        axes(&["named.zarr", "i.zarr", "--unit", "nanometer"]),
        "c -, y nanometer, x nanometer"
    );
    assert_eq!(
        axes(&[
            "named.zarr",
            "i.zarr",
            "--axes",
            "t,y,x",
            "--unit",
            "second,,nanometer"
        ]),
        "t second, y -, x nanometer"
    );
    assert_eq!(axes(&["a.n5", "i.zarr"]), "x -, y -, z -");
    assert_eq!(
        axes(&["a.n5", "i.zarr", "--n5-axes", "reversed"]),
        "z -, y -, x -"
    );
    for (arguments, what) in [
        (&["--axes", "y,x"][..], "2 names for 3 axes"),
        (&["--unit", "nm,nm"], "2 units for 3 axes"),
        (&["--axes", "x,c,y"], "OME-Zarr has at most"),
        (&["--scale", "1,0,1"], "not positive"),
        (&["--format", "n5"], "invalid value"),
    ] {
        let error = folder.bad(
            2,
            &[&["pyramid", "named.zarr", "none.zarr"], arguments].concat(),
        );
        assert!(error.contains(what), "{error}");
        assert!(!folder.path("none.zarr").exists());
    }
}

#[test]
fn an_image_of_one_level_gets_the_others_in_place() {
    let folder = Folder::new();
    plain(&folder, "a.zarr");
    folder.good(&[
        "pyramid",
        "-q",
        "a.zarr",
        "image.zarr",
        "--levels",
        "1",
        "--scale",
        "2,2",
    ]);
    // What an interrupted call has left.
    folder.good(&["cp", "-q", "a.zarr", "image.zarr/1"]);
    let error = folder.bad(3, &["pyramid", "image.zarr", "--levels", "2"]);
    assert!(error.contains("exist"), "{error}");
    let printed = folder.good(&["pyramid", "image.zarr", "--levels", "2", "--overwrite"]);
    assert_eq!(printed, "image.zarr: 2 levels, from 6 × 5 to 3 × 3\n");
    assert_eq!(folder.good(&["cat", "image.zarr/1"]), MEANS);

    let error = folder.bad(3, &["pyramid", "image.zarr"]);
    assert!(error.contains("2 levels already; --overwrite"), "{error}");
    let error = folder.bad(
        2,
        &["pyramid", "image.zarr", "--overwrite", "--levels", "3"],
    );
    assert!(error.contains("--levels does not change levels"), "{error}");
    // Again, from other elements.
    let array = Array::<u16>::open(folder.path("image.zarr/0")).expect("it is there");
    array.fill(.., 7).expect("it is written");
    folder.good(&["pyramid", "image.zarr", "--overwrite"]);
    assert_eq!(
        folder.good(&["cat", "image.zarr/1"]),
        "7\t7\t7\n7\t7\t7\n7\t7\t7\n"
    );

    let error = folder.bad(2, &["pyramid", "image.zarr", "--unit", "nm"]);
    assert!(
        error.contains("--unit is for the image of an array"),
        "{error}"
    );
    assert!(
        folder
            .bad(2, &["pyramid", "a.zarr"])
            .contains("name a target")
    );
    assert!(
        folder
            .bad(2, &["pyramid", "image.zarr", "b.zarr"])
            .contains("in place")
    );
    Group::create(folder.path("g.zarr"), Format::Zarr3).expect("it is new");
    assert!(
        folder
            .bad(3, &["pyramid", "g.zarr"])
            .contains("not a multiscale image")
    );
}

#[test]
fn labels_are_made_by_the_mode() {
    let folder = Folder::new();
    let array = Array::<u8>::builder([2, 4]).chunks([2, 2]);
    folder.array("a.zarr", array, |index| {
        [1, 1, 5, 9, 1, 7, 9, 9][4 * index[0] + index[1]]
    });
    folder.good(&["pyramid", "-q", "a.zarr", "labels.zarr", "--levels", "1"]);
    let mut group = Group::open(folder.path("labels.zarr")).expect("it is there");
    let mut ome = group.attributes()["ome"].clone();
    ome["image-label"] = json!({});
    group.set_attribute("ome", &ome).expect("it is written");
    folder.good(&["pyramid", "-q", "labels.zarr", "--levels", "2"]);
    assert_eq!(folder.good(&["cat", "labels.zarr/1"]), "1\t9\n");
}

/// Changes the attribute `ome` of the image `image.zarr`.
fn change_ome(folder: &Folder, change: impl FnOnce(&mut Value)) {
    let mut group = Group::open(folder.path("image.zarr")).expect("it is there");
    let mut ome = group.attributes()["ome"].clone();
    change(&mut ome);
    group.set_attribute("ome", &ome).expect("it is written");
}

/// The least of 2 by 2 elements, each of which occurs once.
const MODES: &str = "0\t2\t4\n20\t22\t24\n40\t42\t44\n";

#[test]
fn levels_of_another_method_are_made_as_the_arguments_say() {
    let folder = Folder::new();
    plain(&folder, "a.zarr");
    folder.good(&["pyramid", "-q", "a.zarr", "image.zarr", "--levels", "2"]);
    change_ome(&folder, |ome| {
        ome["multiscales"][0]["type"] = "gaussian".into();
    });
    let again = ["pyramid", "-q", "image.zarr", "--overwrite"];
    let error = folder.bad(3, &again);
    assert!(
        error.contains(r#"of the image were made by "gaussian"; --method says"#),
        "{error}"
    );
    assert_eq!(folder.good(&["cat", "image.zarr/1"]), MEANS);
    folder.good(&[&again[..], &["--method", "mode"]].concat());
    assert_eq!(folder.good(&["cat", "image.zarr/1"]), MODES);
    let image = Multiscale::open(folder.path("image.zarr")).expect("it is an image");
    assert_eq!(image.method.as_deref(), Some("mode"));
    folder.good(&again);
    assert_eq!(folder.good(&["cat", "image.zarr/1"]), MODES);
}

#[test]
fn labels_are_averaged_only_if_the_arguments_say_so() {
    let folder = Folder::new();
    plain(&folder, "a.zarr");
    folder.good(&["pyramid", "-q", "a.zarr", "image.zarr", "--levels", "2"]);
    change_ome(&folder, |ome| ome["image-label"] = json!({}));
    let again = ["pyramid", "-q", "image.zarr", "--overwrite"];
    let error = folder.bad(3, &again);
    assert!(
        error.contains(r#"of the labels were made by "mean"; --method says"#),
        "{error}"
    );
    folder.good(&[&again[..], &["--method", "mode"]].concat());
    assert_eq!(folder.good(&["cat", "image.zarr/1"]), MODES);
    folder.good(&[&again[..], &["--method", "mean"]].concat());
    assert_eq!(folder.good(&["cat", "image.zarr/1"]), MEANS);
}

#[test]
fn nothing_else_is_replaced() {
    let folder = Folder::new();
    plain(&folder, "a.zarr");
    let pyramid =
        |arguments: &[&str]| folder.run(&[&["pyramid", "-q", "--levels", "2"], arguments].concat());
    assert_eq!(pyramid(&["a.zarr", "image.zarr"]).status, 0);
    let again = pyramid(&["a.zarr", "image.zarr"]);
    assert_eq!(again.status, 3);
    assert!(again.err.contains("--overwrite replaces"), "{}", again.err);
    // Arguments that are wrong are noticed before anything is removed.
    let before = files(&folder.path("image.zarr"));
    assert_eq!(
        pyramid(&["a.zarr", "image.zarr", "--overwrite", "--chunks", "3"]).status,
        3
    );
    assert_eq!(files(&folder.path("image.zarr")), before);
    std::fs::write(folder.path("image.zarr/notes.txt"), "mine").expect("a file");
    let refused = pyramid(&["a.zarr", "image.zarr", "--overwrite"]);
    assert_eq!(refused.status, 3);
    assert!(refused.err.contains("notes.txt"), "{}", refused.err);
    std::fs::remove_file(folder.path("image.zarr/notes.txt")).expect("it is there");
    assert_eq!(pyramid(&["a.zarr", "image.zarr", "--overwrite"]).status, 0);
    // A target that holds the source, or is inside of it.
    let root = Group::create(folder.path("g.zarr"), Format::Zarr3).expect("it is new");
    let array = root
        .create_array("a", Array::<u16>::builder([6, 5]))
        .expect("it is new");
    array.fill(.., 7).expect("it is written");
    for (source, target) in [
        ("g.zarr/a", "g.zarr"),
        ("a.zarr", "a.zarr"),
        ("a.zarr", "a.zarr/x"),
    ] {
        let refused = pyramid(&[source, target, "--overwrite"]);
        assert_eq!(refused.status, 3, "{target}: {}", refused.err);
    }
    let refused = pyramid(&["g.zarr/a", "g.zarr", "--overwrite"]);
    assert!(
        refused
            .err
            .contains("holds the array that it is to be made from"),
        "{}",
        refused.err
    );
    assert!(
        array
            .read(..)
            .expect("it is whole")
            .iter()
            .all(|element| *element == 7)
    );
    assert_eq!(folder.good(&["cat", "a.zarr", "5, 4"]), "54\n");
}

#[test]
fn images_that_cannot_be_read_are_named_by_info() {
    let folder = Folder::new();
    let attributes = json!({"ome": {"version": "0.5", "multiscales": [{"axes": [{"name": "y"}, {"name": "x"}]}]}});
    let group = Group::builder()
        .attributes(attributes)
        .create(folder.path("g.zarr"));
    group.expect("it is new");
    let info = folder.good(&["info", "g.zarr"]);
    assert!(
        info.contains("the image cannot be read: the image at \"\" has no list of datasets"),
        "{info}"
    );
    let info = &folder.json(&["info", "g.zarr"])[0];
    assert_eq!(info["images"], json!([]));
    assert!(
        info["warnings"][0]
            .as_str()
            .is_some_and(|what| what.contains("no list of datasets")),
        "{info}"
    );
    // A level that is missing.
    plain(&folder, "a.zarr");
    folder.good(&["pyramid", "-q", "a.zarr", "image.zarr", "--levels", "2"]);
    std::fs::remove_dir_all(folder.path("image.zarr/1")).expect("it is there");
    let info = folder.good(&["info", "image.zarr"]);
    assert!(
        info.lines()
            .any(|line| line.trim().starts_with("level 1     cannot be opened: ")),
        "{info}"
    );
    let levels = &folder.json(&["info", "image.zarr"])[0]["images"][0]["levels"];
    assert_eq!(
        (&levels[1]["shape"], levels[1]["error"].is_string()),
        (&Value::Null, true)
    );
}

/// BigDataViewer's images are below the group, in N5.
#[test]
fn info_finds_images_of_n5() {
    let folder = Folder::new();
    let attributes = json!({"pixelResolution": {"unit": "um", "dimensions": [0.5, 2.0]}, "downsamplingFactors": [[1, 1], [2, 1]]});
    let root = Group::builder()
        .format(Format::N5)
        .attributes(attributes)
        .create(folder.path("a.n5"))
        .expect("it is new");
    for (name, shape) in [("s0", [40, 30]), ("s1", [20, 30])] {
        root.create_array(name, Array::<u8>::builder(shape))
            .expect("it is new");
    }
    let info = folder.good(&["info", "a.n5"]);
    for line in [
        "image       n5-viewer",
        "level 1     20 × 30  uint8  scale 1, 2  offset 0.25, 0  (s1)",
    ] {
        assert!(info.lines().any(|it| it.trim() == line), "{line}\n{info}");
    }
    let reversed = folder.json(&["info", "a.n5", "--n5-axes", "reversed"]);
    assert_eq!(
        reversed[0]["images"][0]["levels"][1]["shape"],
        json!([30, 20])
    );
    assert_eq!(
        folder.json(&["info", "--quick", "a.n5"])[0]["images"],
        json!([])
    );
}
