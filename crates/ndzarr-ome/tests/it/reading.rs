//! Images of OME-Zarr are read, even if their documents omit or reorder members.

use ndzarr::ndarray::ArrayD;
use ndzarr_ome::{AxisKind, Convention};
use serde_json::{Value, json};

use super::{open, put, refusal, scale, space, translation, zarr2, zarr3};

/// An image of 0.4 with these datasets.
pub(crate) fn v04(datasets: Value) -> Value {
    json!({"multiscales": [{"version": "0.4", "name": "cells", "axes": space(&["y", "x"]), "datasets": datasets}]})
}

pub(crate) fn dataset(path: &str, transformations: Value) -> Value {
    json!({"path": path, "coordinateTransformations": transformations})
}

#[test]
fn an_image_of_0_4_is_read() {
    let datasets = json!([
        dataset("0", json!([scale(&[0.5, 0.25])])),
        dataset(
            "1",
            json!([scale(&[1.0, 0.5]), translation(&[0.25, 0.125])])
        ),
    ]);
    let image = open(&zarr2(
        &v04(datasets),
        &[("0", &[40, 60]), ("1", &[20, 30])],
    ));
    assert_eq!(
        image.convention,
        Convention::Ome {
            version: "0.4".to_owned()
        }
    );
    assert_eq!((image.name.as_deref(), image.path()), (Some("cells"), ""));
    assert_eq!(
        image
            .axes
            .iter()
            .map(|axis| &axis.name[..])
            .collect::<Vec<_>>(),
        ["y", "x"]
    );
    assert!(image.axes.iter().all(|axis| axis.kind == AxisKind::Space));
    assert_eq!(image.axes[0].unit.as_deref(), Some("micrometer"));
    assert_eq!(
        (&image.levels[0].scale[..], &image.levels[0].translation[..]),
        (&[0.5, 0.25][..], &[0.0, 0.0][..])
    );
    assert_eq!(
        (&image.levels[1].scale[..], &image.levels[1].translation[..]),
        (&[1.0, 0.5][..], &[0.25, 0.125][..])
    );
    assert!(image.warnings.is_empty(), "{:?}", image.warnings);
    assert_eq!(image.array(1).expect("it is there").shape(), [20, 30]);
    assert_eq!(
        image.array(2).expect_err("there are two").to_string(),
        "there is no level 2 of 2"
    );
}

#[test]
fn ome_01_levels_are_bound_by_path() {
    let datasets = json!([
        dataset("3", json!([scale(&[8.0, 8.0]), translation(&[3.5, 3.5])])),
        dataset("4", json!([scale(&[16.0, 16.0]), translation(&[7.5, 7.5])])),
        dataset(
            "5",
            json!([scale(&[32.0, 32.0]), translation(&[15.5, 15.5])])
        ),
    ]);
    // The arrays 0 to 2 are there as well.
    let shapes: [(&str, &[u64]); 6] = [
        ("0", &[800, 800]),
        ("1", &[400, 400]),
        ("2", &[200, 200]),
        ("3", &[100, 100]),
        ("4", &[50, 50]),
        ("5", &[25, 25]),
    ];
    let image = open(&zarr2(&v04(datasets), &shapes));
    assert_eq!(image.levels[0].path, "3");
    assert_eq!(image.array(0).expect("it is there").shape(), [100, 100]);
    assert_eq!(image.array(2).expect("it is there").shape(), [25, 25]);
    assert!(image.warnings.is_empty(), "{:?}", image.warnings);
}

#[test]
fn ome_02_levels_are_sorted_from_fine_to_coarse() {
    let datasets = json!([
        dataset("2", json!([scale(&[4.0, 4.0]), translation(&[1.5, 1.5])])),
        dataset("0", json!([scale(&[1.0, 1.0])])),
        dataset("1", json!([scale(&[2.0, 2.0]), translation(&[0.5, 0.5])])),
    ]);
    let image = open(&zarr2(&v04(datasets), &[]));
    assert_eq!(
        image
            .levels
            .iter()
            .map(|level| &level.path[..])
            .collect::<Vec<_>>(),
        ["0", "1", "2"]
    );
    assert!(
        image.warnings[0].contains("from fine to coarse"),
        "{:?}",
        image.warnings
    );
    assert_eq!(image.warnings.len(), 1);
}

/// Factors 1, 2 and 4; a factor f shifts the first element by (f - 1) / 2.
#[test]
fn ome_02_the_finest_level_has_the_most_elements_wherever_it_is_listed() {
    let attributes = |paths: [&str; 3]| {
        let datasets = paths.map(|path| json!({"path": path}));
        json!({"multiscales": [{"version": "0.3", "axes": ["y", "x"], "datasets": datasets}]})
    };
    let shapes: [(&str, &[u64]); 3] = [("a", &[64, 64]), ("b", &[128, 128]), ("c", &[256, 256])];
    for paths in [["a", "b", "c"], ["c", "b", "a"], ["b", "c", "a"]] {
        let image = open(&zarr2(&attributes(paths), &shapes));
        let levels: Vec<_> = image
            .levels
            .iter()
            .map(|level| (&level.path[..], level.scale[0], level.translation[1]))
            .collect();
        assert_eq!(
            levels,
            [("c", 1.0, 0.0), ("b", 2.0, 0.5), ("a", 4.0, 1.5)],
            "{paths:?}"
        );
        assert_eq!(
            image
                .warnings
                .iter()
                .any(|what| what.contains("from fine to coarse")),
            paths[0] != "c",
            "{:?}",
            image.warnings
        );
    }
}

/// Shapes and scales of the coins of scikit-image as ome-zarr-py writes them.
#[test]
fn ome_03_scales_are_those_that_are_stated() {
    let datasets = json!([
        dataset("0", json!([scale(&[1.0, 1.0])])),
        dataset("1", json!([scale(&[2.0066006600660065, 2.0])])),
        dataset("2", json!([scale(&[4.04, 4.042105263157895])])),
    ]);
    let image = open(&zarr2(
        &v04(datasets),
        &[("0", &[303, 384]), ("1", &[151, 192]), ("2", &[75, 95])],
    ));
    assert_eq!(image.levels[1].scale, [2.0066006600660065, 2.0]);
    assert_eq!(image.levels[2].scale, [4.04, 4.042105263157895]);
}

#[test]
fn ome_04_transformations_of_the_image_come_last_and_in_0_6_lead_elsewhere() {
    let mut attributes = v04(json!([dataset(
        "0",
        json!([scale(&[2.0, 2.0]), translation(&[1.0, 3.0])])
    )]));
    attributes["multiscales"][0]["coordinateTransformations"] =
        json!([scale(&[10.0, 100.0]), translation(&[0.5, 0.0])]);
    let image = open(&zarr2(&attributes, &[]));
    assert_eq!(
        (&image.levels[0].scale[..], &image.levels[0].translation[..]),
        (&[20.0, 200.0][..], &[10.5, 300.0][..])
    );

    let attributes = json!({"ome": {"version": "0.6rc0", "multiscales": [{
        "coordinateSystems": [{"name": "world", "axes": space(&["b", "a"])}, {"name": "physical", "axes": space(&["y", "x"])}],
        "datasets": [{"path": "0", "coordinateTransformations": [{
            "type": "scale", "scale": [2, 3], "input": {"path": "0"}, "output": {"name": "physical"}}]}],
        "coordinateTransformations": [{
            "type": "scale", "scale": [10, 10], "input": {"name": "physical"}, "output": {"name": "world"}}],
    }]}});
    let image = open(&zarr3(&attributes, &[]));
    assert_eq!(image.levels[0].scale, [2.0, 3.0]);
    // Not those of the first coordinate system, but of the one that datasets lead to.
    assert_eq!(image.axes[0].name, "y");
    assert!(image.warnings.is_empty(), "{:?}", image.warnings);
}

#[test]
fn ome_06_levels_that_are_shifted_are_reported() {
    let at = |offset: f64| {
        let second = json!([scale(&[2.0, 2.0]), translation(&[offset, offset])]);
        open(&zarr2(
            &v04(json!([
                dataset("0", json!([scale(&[1.0, 1.0])])),
                dataset("1", second)
            ])),
            &[],
        ))
    };
    assert!(at(0.5).warnings.is_empty());
    let image = at(0.0);
    assert!(
        image.warnings[0].contains("\"1\" is shifted"),
        "{:?}",
        image.warnings
    );
    assert_eq!(
        image.levels[1].translation,
        [0.0, 0.0],
        "it is read as it is stated"
    );
}

#[test]
fn ome_10_versions_are_anything() {
    let entry = |version: Value| {
        let mut attributes = v04(json!([dataset("0", json!([scale(&[1.0, 1.0])]))]));
        match version {
            Value::Null => attributes["multiscales"][0]
                .as_object_mut()
                .map(|entry| entry.remove("version")),
            version => attributes["multiscales"][0]
                .as_object_mut()
                .map(|entry| entry.insert("version".to_owned(), version)),
        };
        attributes
    };
    for (stated, read) in [
        (json!("0.4"), "0.4"),
        (json!(0.4), "0.4"),
        (json!("0.9.dev1"), "0.9.dev1"),
        (Value::Null, "0.4"),
    ] {
        let image = open(&zarr2(&entry(stated.clone()), &[]));
        assert_eq!(
            image.convention,
            Convention::Ome {
                version: read.to_owned()
            },
            "{stated}"
        );
        assert_eq!(
            image.warnings.len(),
            usize::from(stated.is_null()),
            "{:?}",
            image.warnings
        );
    }
    for (stated, read) in [
        (json!("0.5"), "0.5"),
        (json!("0.6.dev3"), "0.6.dev3"),
        (Value::Null, "0.5"),
    ] {
        let mut inner = entry(Value::Null);
        if !stated.is_null() {
            inner["version"] = stated.clone();
        }
        let image = open(&zarr3(&json!({"ome": inner}), &[]));
        assert_eq!(
            image.convention,
            Convention::Ome {
                version: read.to_owned()
            },
            "{stated}"
        );
    }
}

#[test]
fn ome_11_of_two_documents_those_of_v3_count() {
    let store = zarr2(
        &v04(json!([dataset("0", json!([scale(&[1.0, 1.0])]))])),
        &[],
    );
    let newer = json!({"ome": {"version": "0.5", "multiscales": [{
        "axes": space(&["y", "x"]), "datasets": [dataset("s0", json!([scale(&[7.0, 7.0])]))]}]}});
    put(
        &store,
        "zarr.json",
        &json!({"zarr_format": 3, "node_type": "group", "attributes": newer}),
    );
    let image = open(&store);
    assert_eq!(
        (&image.levels[0].path[..], image.levels[0].scale[0]),
        ("s0", 7.0)
    );
}

#[test]
fn ome_13_time_and_channels_do_not_choose_a_level() {
    let axes = json!([{"name": "t", "type": "time", "unit": "millisecond"}, {"name": "c", "type": "channel"},
        {"name": "y", "type": "space", "unit": "um"}, {"name": "x", "type": "space", "unit": "micrometer"}]);
    let level =
        |path: &str, size: f64| dataset(path, json!([scale(&[1000.0, 1.0, size, size / 2.0])]));
    let attributes = json!({"multiscales": [{"version": "0.4", "axes": axes,
        "datasets": [level("0", 0.5), level("1", 1.0), level("2", 2.0)]}]});
    let image = open(&zarr2(&attributes, &[]));
    for (size, unit, level) in [
        (1.0, None, 1),
        (1.5, None, 1),
        (2.0, None, 2),
        (1000.0, None, 2),
        (0.1, None, 0),
        (1000.0, Some("nm"), 1),
        (0.002, Some("mm"), 2),
    ] {
        assert_eq!(
            image.level_for(size, unit).expect("units of length"),
            level,
            "{size} {unit:?}"
        );
    }
    let what = image
        .level_for(1.0, "second")
        .expect_err("it is no length")
        .to_string();
    assert_eq!(
        what,
        "the axis \"y\" has the unit \"um\", which is not comparable with \"second\""
    );
    assert_eq!(image.level_for(f64::NAN, None).expect("no unit"), 0);
}

#[test]
fn ome_14_another_number_of_axes_is_an_error() {
    let image = open(&zarr2(
        &v04(json!([dataset("0", json!([scale(&[1.0, 1.0])]))])),
        &[("0", &[2, 40, 60])],
    ));
    let what = image.array(0).expect_err("it has three axes").to_string();
    assert_eq!(
        what,
        "the image at \"\" has 2 axes, and its level \"0\" an array of 3"
    );
    let findings = image.validate();
    assert!(
        findings
            .iter()
            .any(|finding| finding.to_string() == "0 must have 2 axes, not 3"),
        "{findings:?}"
    );
}

#[test]
fn ome_15_levels_outside_the_image_are_refused() {
    for path in ["../other/0", "/0", "https://example.org/0", ".."] {
        let what = refusal(&zarr2(
            &v04(json!([dataset(path, json!([scale(&[1.0, 1.0])]))])),
            &[],
        ));
        assert!(what.contains(path) && what.contains("below it"), "{what}");
    }
    let image = open(&zarr2(
        &v04(json!([dataset("deep/0/", json!([scale(&[1.0, 1.0])]))])),
        &[("deep/0", &[4, 4])],
    ));
    assert_eq!(image.array(0).expect("it is there").path(), "deep/0");
}

#[test]
fn coordinates_go_both_ways() {
    let datasets = json!([dataset(
        "0",
        json!([scale(&[0.5, 2.0]), translation(&[10.0, -4.0])])
    )]);
    let image = open(&zarr2(&v04(datasets), &[("0", &[40, 60])]));
    let level = &image.levels[0];
    assert_eq!(level.to_physical(&[0.0, 0.0]), [10.0, -4.0]);
    assert_eq!(level.to_physical(&[4.0, 3.5]), [12.0, 3.0]);
    assert_eq!(level.to_index(&[12.0, 3.0]), [4.0, 3.5]);
    let shape = [40, 60];
    // Elements reach from 9.75 to 10.25, to 10.75, and so on; and from -5 to -3, to -1, and so on.
    assert_eq!(
        level.region(&[9.0..10.5, -3.0..1.0], &shape).ranges(),
        [0..2, 1..3]
    );
    assert_eq!(
        level.region(&[10.25..10.25, 0.0..0.0], &shape).ranges()[0],
        1..1
    );
    assert_eq!(
        level
            .region(&[-1e300..1e300, f64::NAN..f64::NAN], &shape)
            .ranges()[0],
        0..40
    );
    assert!(level.region(&[1e300..1e301, 0.0..1.0], &shape).is_empty());
    assert_eq!(level.region(&[], &shape).ranges(), [0..40, 0..60]);
    let array = image.array(0).expect("it is there");
    let read = array.read_as::<u8, _>(
        level.region(&[9.0..10.5, -3.0..1.0], &shape),
        Default::default(),
    );
    assert_eq!(read.expect("it is inside"), ArrayD::<u8>::zeros(vec![2, 2]));
}

#[test]
fn scales_by_shapes_follow_what_the_entry_states() {
    let attributes = json!({"multiscales": [{"version": "0.3", "axes": ["y", "x"],
        "datasets": [{"path": "0"}, {"path": "1"}],
        "coordinateTransformations": [scale(&[0.5, 3.0]), translation(&[10.0, -1.0])]}]});
    let image = open(&zarr2(&attributes, &[("0", &[40, 60]), ("1", &[20, 15])]));
    assert_eq!(image.levels[0].scale, [0.5, 3.0]);
    assert_eq!(image.levels[0].translation, [10.0, -1.0]);
    // Factors 2 and 4: 0.5 * 2 and 3 * 4; 10 + 0.5 / 2 and -1 + 3 * 3 / 2.
    assert_eq!(image.levels[1].scale, [1.0, 12.0]);
    assert_eq!(image.levels[1].translation, [10.25, 3.5]);
}

#[test]
fn ome_14_axes_that_are_stated_stay() {
    let entry = |axes: Value| {
        let mut entry = json!({"version": "0.3", "datasets": [{"path": "0"}]});
        if !axes.is_null() {
            entry["axes"] = axes;
        }
        open(&zarr2(
            &json!({"multiscales": [entry]}),
            &[("0", &[40, 60])],
        ))
    };
    let image = entry(json!(["t", "c", "z", "y", "x"]));
    let what = image.array(0).expect_err("it has two axes").to_string();
    assert_eq!(
        what,
        "the image at \"\" has 5 axes, and its level \"0\" an array of 2"
    );
    let image = entry(Value::Null);
    assert_eq!(
        image.array(0).expect("the last two are meant").shape(),
        [40, 60]
    );
}

#[test]
fn whole_images_are_placed_after_each_level() {
    let attributes = json!({"multiscales": [{"version": "0.4", "axes": space(&["y", "x"]),
        "datasets": [dataset("0", json!([scale(&[2.0, 3.0]), translation(&[1.0, 5.0])]))],
        "coordinateTransformations": [translation(&[1.0, 0.0]), scale(&[10.0, 2.0])]}]});
    let image = open(&zarr2(&attributes, &[]));
    // (1 + 1) * 10 and 5 * 2.
    assert_eq!(image.levels[0].scale, [20.0, 6.0]);
    assert_eq!(image.levels[0].translation, [20.0, 10.0]);
}
