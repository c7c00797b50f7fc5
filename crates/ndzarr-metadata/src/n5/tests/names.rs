//! Tests of the names of dimensions.

use super::*;

/// z5py and xarray through zarr-python 2 show this dataset as an array of shape (4, 5, 6) whose
/// axes are z, y, x: "z" has 4 elements however the axes are presented.
#[test]
fn n5_names_of_python_are_in_the_reverse_order_of_the_document() {
    let with = |more: &str| {
        format!(
            r#"{{"dataType":"int16","compression":{{"type":"raw"}},"blockSize":[2,2,2],"dimensions":[6,5,4],{more}}}"#
        )
    };
    let names = |names: [&str; 3]| Some(names.map(|name| Some(name.to_owned())).to_vec());
    let opened = |document: &str, n5_axes| {
        let options = OpenOptions {
            n5_axes,
            ..OpenOptions::default()
        };
        open_with(&[("a/attributes.json", document)], "a", &options)
            .expect("valid")
            .expect("there")
    };
    let document = with(r#""_ARRAY_DIMENSIONS":["z","y","x"]"#);
    for (axes, expected) in [
        (N5Axes::Native, ["x", "y", "z"]),
        (N5Axes::Reversed, ["z", "y", "x"]),
    ] {
        let node = opened(&document, axes);
        let spec = node.kind.array().expect("a dataset");
        assert_eq!(spec.dimension_names, names(expected));
        let z = expected
            .iter()
            .position(|name| *name == "z")
            .expect("it is there");
        assert_eq!(spec.shape[z], 4);
        assert_eq!(node.attributes["_ARRAY_DIMENSIONS"], json!(["z", "y", "x"]));
        assert_eq!(node.warnings, [""; 0]);
    }
    let agreeing = with(r#""axes":["x","y","z"],"_ARRAY_DIMENSIONS":["z","y","x"]"#);
    assert_eq!(opened(&agreeing, N5Axes::Native).warnings, [""; 0]);

    // Two statements that differ: the one of N5 counts, and a warning has both.
    let both = opened(
        &with(r#""axes":["x","y","z"],"_ARRAY_DIMENSIONS":["x","y","z"]"#),
        N5Axes::Native,
    );
    assert_eq!(
        both.kind.array().expect("a dataset").dimension_names,
        names(["x", "y", "z"])
    );
    assert!(
        both.warnings[0].contains("axes counts"),
        "{:?}",
        both.warnings
    );
    assert!(
        both.warnings[0].contains("_ARRAY_DIMENSIONS"),
        "{:?}",
        both.warnings
    );
}
