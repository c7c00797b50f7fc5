//! Several images of a group, and groups without an image.

use ndzarr::Group;
use ndzarr_ome::Multiscale;
use serde_json::json;

use super::{open, put, refusal, scale, space, zarr2};

use crate::it::reading::{dataset, v04};

#[test]
fn ome_17_each_entry_is_an_image() {
    let entry = |name: &str, path: &str| json!({"version": "0.4", "name": name, "axes": space(&["y", "x"]), "datasets": [dataset(path, json!([scale(&[1.0, 1.0])]))]});
    let store = zarr2(
        &json!({"multiscales": [entry("a", "a0"), entry("b", "b0")]}),
        &[("a0", &[4, 4]), ("b0", &[8, 8])],
    );
    let image = open(&store);
    assert_eq!(
        (image.name.as_deref(), &image.warnings[..]),
        (Some("a"), &["it is the first of 2 images".to_owned()][..])
    );
    let all =
        Multiscale::find(&Group::open(&store).expect("it is a group")).expect("they are valid");
    assert_eq!(
        all.iter()
            .map(|image| image.name.as_deref())
            .collect::<Vec<_>>(),
        [Some("a"), Some("b")]
    );
    assert_eq!(all[1].array(0).expect("it is there").shape(), [8, 8]);
}

#[test]
fn series_of_bioformats2raw_are_found_by_list_or_by_number() {
    let layout = json!({"bioformats2raw.layout": 3});
    let store = zarr2(&layout, &[]);
    let image = |name: &str| {
        let mut attributes = v04(json!([dataset("0", json!([scale(&[1.0, 1.0])]))]));
        attributes["multiscales"][0]["name"] = name.into();
        attributes
    };
    for path in ["0", "1", "10", "2", "x"] {
        put(
            &store,
            &format!("{path}/.zgroup"),
            &json!({"zarr_format": 2}),
        );
        put(&store, &format!("{path}/.zattrs"), &image(path));
    }
    let names = |store| {
        let found =
            Multiscale::find(&Group::open(store).expect("it is a group")).expect("they are valid");
        found
            .into_iter()
            .map(|image| {
                format!(
                    "{} {}",
                    image.path(),
                    image.name.as_deref().unwrap_or_default()
                )
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&store), ["0 0", "1 1", "2 2", "10 10"]);
    assert!(
        open(&store)
            .warnings
            .contains(&"it is the first of 4 images".to_owned())
    );
    put(&store, "OME/.zgroup", &json!({"zarr_format": 2}));
    put(&store, "OME/.zattrs", &json!({"series": ["x", "0"]}));
    assert_eq!(names(&store), ["x x", "0 0"]);
    put(&store, "OME/.zattrs", &json!({"series": ["../0"]}));
    assert!(refusal(&store).contains("below it"));
}

#[test]
fn a_group_without_an_image_says_so() {
    let what = refusal(&zarr2(&json!({}), &[("a", &[4, 4])]));
    assert_eq!(what, "the group at \"\" has no multiscale image");
    let what = refusal(&zarr2(&json!({"multiscales": []}), &[]));
    assert_eq!(what, "the group at \"\" has no multiscale image");
}

#[test]
fn series_that_cannot_be_opened_are_named() {
    let store = zarr2(&json!({"bioformats2raw.layout": 3}), &[]);
    store
        .set("1/.zgroup", &b"{"[..])
        .expect("memory never fails");
    assert!(refusal(&store).contains("has \"1\", which cannot be opened"));
    put(&store, "0/.zgroup", &json!({"zarr_format": 2}));
    put(
        &store,
        "0/.zattrs",
        &v04(json!([dataset("0", json!([scale(&[1.0, 1.0])]))])),
    );
    let image = open(&store);
    assert!(
        image
            .warnings
            .iter()
            .any(|what| what.starts_with("\"1\" cannot be opened")),
        "{:?}",
        image.warnings
    );
}

#[test]
fn errors_say_which_entry_is_wrong() {
    let good = json!({"axes": space(&["y", "x"]), "datasets": [{"path": "0"}]});
    let what = refusal(&zarr2(
        &json!({"multiscales": [good, {"name": "cells"}]}),
        &[],
    ));
    assert_eq!(
        what,
        "the image at \"\" has no list of datasets, in multiscales[1]"
    );
}
