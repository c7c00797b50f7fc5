//! Findings about metadata. Documents are written by hand, from the texts of 0.4 to 0.6.

use ndzarr_ome::{Requirement, validate};
use serde_json::{Value, json};

use super::{open, scale, space, translation, zarr3};

fn findings(attributes: &Value, requirement: Requirement) -> Vec<String> {
    let all = validate(attributes.as_object().expect("it is an object"));
    all.iter()
        .filter(|finding| finding.requirement == requirement)
        .map(ToString::to_string)
        .collect()
}

/// The only finding about a document.
fn must(attributes: &Value) -> String {
    let found = findings(attributes, Requirement::Must);
    assert_eq!(found.len(), 1, "{attributes}: {found:?}");
    found[0].clone()
}

fn v04() -> Value {
    json!({"multiscales": [{
        "version": "0.4", "name": "a", "type": "mean", "metadata": {},
        "axes": [{"name": "t", "type": "time"}, {"name": "c", "type": "channel"}, {"name": "y", "type": "space"}, {"name": "x", "type": "space"}],
        "datasets": [{"path": "0", "coordinateTransformations": [scale(&[1.0; 4]), translation(&[0.0; 4])]}],
        "coordinateTransformations": [scale(&[1.0; 4])],
    }]})
}

fn v06() -> Value {
    json!({"ome": {"version": "0.6rc0", "multiscales": [{
        "name": "a", "type": "mean", "metadata": {},
        "coordinateSystems": [{"name": "physical", "axes": space(&["y", "x"])}, {"name": "turned", "axes": space(&["y", "x"])}],
        "datasets": [
            {"path": "0", "coordinateTransformations": [
                {"type": "scale", "scale": [1, 1], "input": {"path": "0"}, "output": {"name": "physical"}}]},
            {"path": "1", "coordinateTransformations": [
                {"type": "sequence", "input": {"path": "1"}, "output": {"name": "physical"},
                    "transformations": [scale(&[2.0, 2.0]), translation(&[0.5, 0.5])]}]},
        ],
        "coordinateTransformations": [
            {"type": "rotation", "rotation": [[0, 1], [-1, 0]], "input": {"name": "physical"}, "output": {"name": "turned"}}],
    }]}})
}

fn changed(mut document: Value, pointer: &str, to: Value) -> Value {
    *document
        .pointer_mut(pointer)
        .unwrap_or_else(|| panic!("{pointer} is there")) = to;
    document
}

fn without(mut document: Value, pointer: &str, key: &str) -> Value {
    let object = document.pointer_mut(pointer).and_then(Value::as_object_mut);
    object
        .and_then(|object| object.remove(key))
        .unwrap_or_else(|| panic!("{pointer}/{key} is there"));
    document
}

#[test]
fn valid_documents_have_no_findings() {
    for document in [v04(), v06()] {
        assert_eq!(
            validate(document.as_object().expect("it is an object")),
            [],
            "{document}"
        );
    }
    let mut v05 = json!({"ome": v04()});
    v05["ome"]["version"] = "0.5".into();
    assert_eq!(validate(v05.as_object().expect("it is an object")), []);
}

#[test]
fn what_an_image_of_0_4_lacks_is_named() {
    let entry = "/multiscales/0";
    let dataset = "/multiscales/0/datasets/0";
    for (document, expected) in [
        (
            without(v04(), entry, "datasets"),
            "multiscales[0].datasets must be there",
        ),
        (
            changed(v04(), "/multiscales/0/datasets", json!([])),
            "multiscales[0].datasets must have at least 1 item",
        ),
        (
            without(v04(), dataset, "path"),
            "multiscales[0].datasets[0].path must be there",
        ),
        (
            changed(v04(), "/multiscales", json!([])),
            "multiscales must have at least 1 item",
        ),
        (
            changed(v04(), "/multiscales", json!({})),
            "multiscales must be a list, not {}",
        ),
        (
            without(v04(), dataset, "coordinateTransformations"),
            "multiscales[0].datasets[0].coordinateTransformations must be there",
        ),
        (
            changed(
                v04(),
                "/multiscales/0/datasets/0/coordinateTransformations",
                json!([translation(&[0.0; 4]), scale(&[1.0; 4])]),
            ),
            "multiscales[0].datasets[0].coordinateTransformations must be one scale, then at most one translation",
        ),
        (
            changed(
                v04(),
                "/multiscales/0/datasets/0/coordinateTransformations/0/scale",
                json!([1, 1]),
            ),
            "multiscales[0].datasets[0].coordinateTransformations[0].scale must have 4 numbers, one for each axis",
        ),
        (
            changed(v04(), "/multiscales/0/axes/3/name", json!("y")),
            "multiscales[0].axes must not have \"y\" twice",
        ),
        (
            changed(v04(), "/multiscales/0/axes/1/type", json!("time")),
            "multiscales[0].axes must have at most one item of the type \"time\" and one of \"channel\" or another type",
        ),
        (
            changed(v04(), "/multiscales/0/axes/1/type", json!("other")).clone(),
            "",
        ),
        (
            changed(
                changed(v04(), "/multiscales/0/axes/0/type", json!("channel")),
                "/multiscales/0/axes/1/type",
                json!("time"),
            ),
            "multiscales[0].axes must be in the order time, channel or another type, space",
        ),
    ] {
        match expected {
            "" => assert_eq!(findings(&document, Requirement::Must), [""; 0]),
            _ => assert_eq!(must(&document), expected),
        }
    }
    assert_eq!(
        findings(&without(v04(), entry, "name"), Requirement::Should),
        ["multiscales[0].name should be there"]
    );
    assert_eq!(
        findings(&without(v04(), entry, "version"), Requirement::Should),
        ["multiscales[0].version should be there"]
    );
}

/// 0.4 and 0.5, "multiscales" metadata: three axes of space "SHOULD be ordered as zyx".
#[test]
fn axes_of_space_in_another_order_are_a_finding() {
    let with = |names: &[&str]| {
        let n = names.len();
        let document = changed(v04(), "/multiscales/0/axes", json!(space(names)));
        let each = json!([scale(&vec![1.0; n])]);
        let document = changed(
            document,
            "/multiscales/0/datasets/0/coordinateTransformations",
            each.clone(),
        );
        changed(document, "/multiscales/0/coordinateTransformations", each)
    };
    let turned = with(&["x", "y", "z"]);
    assert_eq!(findings(&turned, Requirement::Must), [""; 0]);
    let should = findings(&turned, Requirement::Should);
    assert_eq!(
        should,
        ["multiscales[0].axes should have z, y, x in this order, not x, y, z"]
    );
    for names in [&["z", "y", "x"][..], &["y", "x"], &["a", "b", "c"]] {
        assert_eq!(
            findings(&with(names), Requirement::Should),
            [""; 0],
            "{names:?}"
        );
    }
}

#[test]
fn what_an_image_of_0_6_lacks_is_named() {
    let at = "/ome/multiscales/0";
    let first = "/ome/multiscales/0/datasets/0/coordinateTransformations/0";
    let named = "ome.multiscales[0].datasets[0].coordinateTransformations[0]";
    let rotation = "/ome/multiscales/0/coordinateTransformations/0";
    for (document, expected) in [
        (without(v06(), "/ome", "version"), "ome.version must be there".to_owned()),
        (without(v06(), at, "coordinateSystems"), "ome.multiscales[0].coordinateSystems must be there".to_owned()),
        (changed(v06(), &format!("{first}/input"), json!("0")), format!("{named}.input must be an object, not \"0\"")),
        (changed(v06(), &format!("{first}/output"), json!({"path": "x"})), format!("{named}.output.name must be there")),
        (changed(v06(), &format!("{first}/scale"), json!([1, 0])), format!("{named}.scale must be positive")),
        (
            changed(v06(), &format!("{first}/scale"), json!([1])),
            "ome.multiscales[0].datasets[0].coordinateTransformations must have 2 numbers in each transformation, one for each axis".to_owned(),
        ),
        (
            changed(v06(), "/ome/multiscales/0/datasets/1/coordinateTransformations/0/transformations/1", scale(&[1.0, 1.0])),
            "ome.multiscales[0].datasets[1].coordinateTransformations[0].transformations must be a scale, then a translation".to_owned(),
        ),
        (
            changed(v06(), &format!("{rotation}/rotation"), json!([[0, 1], [-1]])),
            "ome.multiscales[0].coordinateTransformations[0].rotation must have as many columns as rows, 2 to 5".to_owned(),
        ),
        (
            changed(v06(), "/ome/multiscales/0/coordinateSystems/1/name", json!("physical")),
            "ome.multiscales[0].coordinateSystems must not have \"physical\" twice".to_owned(),
        ),
        (
            changed(v06(), "/ome/multiscales/0/coordinateSystems/1/axes/0", json!({"name": "c", "type": "channel"})),
            "ome.multiscales[0].coordinateSystems[1].axes must have 2 or 3 items of the type \"space\", or at least 2 of \"array\"".to_owned(),
        ),
    ] {
        assert_eq!(must(&document), expected);
    }
}

#[test]
fn what_plates_wells_and_labels_lack_is_named() {
    let plate = |plate: Value| {
        let mut document = json!({"plate": {"name": "p", "rows": [{"name": "A"}], "columns": [{"name": "1"}],
            "wells": [{"path": "A/1", "rowIndex": 0, "columnIndex": 0}]}});
        document["plate"]
            .as_object_mut()
            .expect("it is an object")
            .extend(plate.as_object().expect("it is an object").clone());
        document
    };
    let label = |label: Value| json!({"image-label": label});
    for (document, expected) in [
        (
            plate(json!({"rows": [{"name": "A"}, {"name": "A"}]})),
            "plate.rows must not have \"A\" twice",
        ),
        (
            plate(json!({"rows": [{"name": "A-1"}]})),
            "plate.rows[0].name must be a text of letters and digits, not \"A-1\"",
        ),
        (
            plate(json!({"field_count": 0})),
            "plate.field_count must be a positive integer, not 0",
        ),
        (
            plate(json!({"wells": [{"path": "A/1/0", "rowIndex": 0, "columnIndex": 0}]})),
            "plate.wells[0].path must be a text of letters and digits, a slash, letters and digits, not \"A/1/0\"",
        ),
        (
            plate(json!({"wells": [{"path": "A/1", "rowIndex": 1, "columnIndex": 0}]})),
            "plate.wells[0].rowIndex must be the index of one of the 1 rows, not 1",
        ),
        (
            json!({"well": {"images": [{"path": "0"}, {"path": "0"}]}}),
            "well.images must not have \"0\" twice",
        ),
        (
            json!({"well": {"images": [{"path": "0_1"}]}}),
            "well.images[0].path must be a name of letters and digits, not \"0_1\"",
        ),
        (
            json!({"ome": {"version": "0.6rc0", "well": {"images": [{"path": "__0"}]}}}),
            "ome.well.images[0].path must be a name of letters, digits, _, . and -, not \"__0\"",
        ),
        (
            label(json!({"colors": [{"rgba": [0, 0, 0, 0]}]})),
            "image-label.colors[0].label-value must be there",
        ),
        (
            label(json!({"colors": [{"label-value": 1, "rgba": [0, 0, 0, 256]}]})),
            "image-label.colors[0].rgba must be a list of four integers from 0 to 255, not [0,0,0,256]",
        ),
        (
            label(json!({"colors": [{"label-value": 1}, {"label-value": 1}]})),
            "image-label.colors must not have 1 twice",
        ),
        (
            json!({"bioformats2raw.layout": 2}),
            "bioformats2raw.layout must be 3, not 2",
        ),
        (
            json!({"ome": {"version": "0.6rc0", "scene": {}}}),
            "ome.scene.coordinateTransformations must be there",
        ),
        (
            json!({"omero": {"channels": [{"window": {"start": 0, "end": 1, "min": 0, "max": 1}}]}}),
            "omero.channels[0].color must be there",
        ),
    ] {
        assert_eq!(must(&document), expected);
    }
    assert!(
        must(&json!({"unknown": 1}))
            .starts_with("the attributes must have one of multiscales, omero,")
    );
    assert_eq!(
        findings(&label(json!({})), Requirement::Should),
        ["image-label.colors should be there"]
    );
}

#[test]
fn ome_14_dimension_names_that_differ_are_a_finding() {
    let mut attributes = json!({"ome": v04()});
    attributes["ome"]["version"] = "0.5".into();
    let right: (&str, &[u64], &[&str]) = ("0", &[1, 1, 8, 8], &["t", "c", "y", "x"]);
    let wrong: (&str, &[u64], &[&str]) = ("0", &[1, 1, 8, 8], &["t", "c", "x", "y"]);
    assert_eq!(open(&zarr3(&attributes, &[right])).validate(), []);
    let findings = open(&zarr3(&attributes, &[wrong])).validate();
    assert_eq!(
        findings[0].to_string(),
        "0 must have the dimension names [\"t\", \"c\", \"y\", \"x\"]"
    );
    let findings = open(&zarr3(&attributes, &[])).validate();
    assert!(
        findings[0]
            .to_string()
            .starts_with("0 must be an array that can be opened"),
        "{findings:?}"
    );
}

#[test]
fn ome_10_versions_above_0_6_go_by_their_form() {
    let entry = json!({"name": "a", "type": "mean", "metadata": {}, "axes": super::space(&["y", "x"]),
        "datasets": [{"path": "0", "coordinateTransformations": [super::scale(&[1.0, 1.0])]}]});
    for version in ["0.5", "0.7", "0.9.dev1"] {
        let document = json!({"ome": {"version": version, "multiscales": [entry]}});
        assert_eq!(
            validate(document.as_object().expect("it is an object")),
            [],
            "{version}"
        );
    }
}

#[test]
fn labels_of_uint64_are_valid() {
    let document = json!({"image-label": {"version": "0.4", "colors": [{"label-value": 18446744073709551615_u64}]}});
    assert_eq!(validate(document.as_object().expect("it is an object")), []);
}
