//! OME-Zarr 0.1 to 0.6, and COSEM in Zarr.

use ndzarr_ome::{AxisKind, Convention};
use serde_json::{Value, json};

use super::{open, put, refusal, space, zarr2, zarr3};

#[test]
fn images_of_0_1_take_axes_and_scales_from_their_arrays() {
    let attributes = json!({"multiscales": [{"version": "0.1", "name": "old", "datasets": [{"path": "0"}, {"path": "1"}]}]});
    let store = zarr2(
        &attributes,
        &[("0", &[1, 3, 10, 200, 300]), ("1", &[1, 3, 10, 100, 100])],
    );
    let image = open(&store);
    assert_eq!(
        image.convention,
        Convention::Ome {
            version: "0.1".to_owned()
        }
    );
    assert_eq!(
        image
            .axes
            .iter()
            .map(|axis| &axis.name[..])
            .collect::<String>(),
        "tczyx"
    );
    assert_eq!(image.levels[1].scale, [1.0, 1.0, 1.0, 2.0, 3.0]);
    assert_eq!(image.levels[1].translation, [0.0, 0.0, 0.0, 0.5, 1.0]);
    assert!(
        image
            .warnings
            .iter()
            .any(|what| what.contains("follow from the shapes")),
        "{:?}",
        image.warnings
    );
    assert_eq!(image.array(1).expect("it is there").shape().len(), 5);

    let flat = open(&zarr2(
        &attributes,
        &[("0", &[200, 300]), ("1", &[100, 100])],
    ));
    assert_eq!(
        flat.axes
            .iter()
            .map(|axis| &axis.name[..])
            .collect::<String>(),
        "yx"
    );
    assert_eq!(flat.levels[1].scale, [2.0, 3.0]);
    // Arrays that cannot be opened are reported.
    let without = open(&zarr2(&attributes, &[("0", &[200, 300])]));
    assert!(
        without
            .warnings
            .iter()
            .any(|what| what.contains("\"1\" cannot be opened")),
        "{:?}",
        without.warnings
    );
}

#[test]
fn images_of_0_3_have_names_of_axes() {
    let attributes = json!({"multiscales": [{"version": "0.3", "axes": ["t", "c", "y", "x"], "datasets": [{"path": "0"}]}]});
    let image = open(&zarr2(&attributes, &[("0", &[2, 3, 20, 30])]));
    let kinds: Vec<_> = image.axes.iter().map(|axis| axis.kind.clone()).collect();
    assert_eq!(
        kinds,
        [
            AxisKind::Time,
            AxisKind::Channel,
            AxisKind::Space,
            AxisKind::Space
        ]
    );
    assert_eq!(
        image.convention,
        Convention::Ome {
            version: "0.3".to_owned()
        }
    );
}

fn v06(transformation: Value) -> Value {
    json!({"ome": {"version": "0.6rc0", "multiscales": [{
        "coordinateSystems": [{"name": "intrinsic", "axes": space(&["y", "x"])}],
        "datasets": [{"path": "s0", "coordinateTransformations": [transformation]}],
    }]}})
}

#[test]
fn transformations_of_0_6_are_read() {
    let from = json!({"path": "s0"});
    let to = json!({"name": "intrinsic"});
    for (transformation, scale, translation) in [
        (
            json!({"type": "identity", "input": from, "output": to}),
            [1.0, 1.0],
            [0.0, 0.0],
        ),
        (
            json!({"type": "scale", "scale": [4, 0.5], "input": from, "output": to}),
            [4.0, 0.5],
            [0.0, 0.0],
        ),
        (
            json!({"type": "sequence", "input": from, "output": to, "transformations": [
                {"type": "scale", "scale": [4, 3]}, {"type": "translation", "translation": [30, 20]}]}),
            [4.0, 3.0],
            [30.0, 20.0],
        ),
        // As the pre-releases wrote it.
        (
            json!({"type": "scale", "scale": [4, 3], "input": "s0", "output": "intrinsic"}),
            [4.0, 3.0],
            [0.0, 0.0],
        ),
    ] {
        let image = open(&zarr3(&v06(transformation.clone()), &[]));
        assert_eq!(
            (&image.levels[0].scale[..], &image.levels[0].translation[..]),
            (&scale[..], &translation[..])
        );
        assert_eq!(
            image.convention,
            Convention::Ome {
                version: "0.6rc0".to_owned()
            }
        );
        assert!(
            image.warnings.is_empty(),
            "{transformation}: {:?}",
            image.warnings
        );
    }
    let rotation =
        json!({"type": "rotation", "rotation": [[0, 1], [-1, 0]], "input": from, "output": to});
    let what = refusal(&zarr3(&v06(rotation), &[]));
    assert_eq!(
        what,
        "the image at \"\" has a transformation of the type \"rotation\", not a scale or translation, at the dataset \
         \"s0\", in multiscales[0]"
    );
}

#[test]
fn axes_of_later_versions_may_be_of_any_number_and_kind() {
    let axes: Vec<Value> = ["p", "q", "angle", "t", "z", "y", "x"]
        .iter()
        .map(|name| json!({"name": name}))
        .collect();
    let attributes = json!({"ome": {"version": "0.9.dev1", "multiscales": [{"axes": axes, "datasets": [
        {"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [1, 1, 1, 1, 2, 2, 2]}]}]}]}});
    let image = open(&zarr3(&attributes, &[]));
    assert_eq!(
        (image.axes.len(), &image.axes[0].kind),
        (7, &AxisKind::Other(None))
    );
}

#[test]
fn ome_07_cosem_in_zarr_is_in_c_order_unless_it_says_f() {
    let transform = |ordering: &str, axes: [&str; 3], scale: [f64; 3], translate: [f64; 3]| json!({"ordering": ordering, "axes": axes, "units": ["nm", "nm", "nm"], "scale": scale, "translate": translate});
    let c = transform("C", ["z", "y", "x"], [5.24, 4.0, 3.0], [1.0, 2.0, 3.0]);
    let f = transform("F", ["x", "y", "z"], [3.0, 4.0, 5.24], [3.0, 2.0, 1.0]);
    for transform in [c, f] {
        let attributes = json!({"multiscales": [{"name": "", "datasets": [{"path": "s0", "transform": transform}]}]});
        let of_group = zarr2(&attributes, &[("s0", &[10, 20, 30])]);
        let of_array = zarr2(&json!({}), &[("s0", &[10, 20, 30])]);
        put(&of_array, "s0/.zattrs", &json!({"transform": transform}));
        for store in [of_group, of_array] {
            let image = open(&store);
            assert_eq!(image.convention, Convention::Cosem);
            assert_eq!(
                image
                    .axes
                    .iter()
                    .map(|axis| &axis.name[..])
                    .collect::<String>(),
                "zyx"
            );
            assert_eq!(image.axes[0].unit.as_deref(), Some("nm"));
            assert_eq!(image.levels[0].scale, [5.24, 4.0, 3.0]);
            assert_eq!(image.levels[0].translation, [1.0, 2.0, 3.0]);
        }
    }
}
