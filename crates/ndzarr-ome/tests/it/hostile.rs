//! Documents that are damaged or meant to do harm end in errors or images, soon and without much
//! memory.

use ndzarr::{Group, MemoryStore};
use ndzarr_ome::{Metadata, Multiscale, validate};
use serde_json::{Value, json};

use super::{open, put, refusal, scale, space, translation, zarr2, zarr3};

fn v04(entry: Value) -> MemoryStore {
    zarr2(&json!({"multiscales": [entry]}), &[])
}

#[test]
fn what_cannot_be_understood_is_named() {
    let axes = space(&["y", "x"]);
    let datasets = |transformations: Value| json!([{"path": "0", "coordinateTransformations": transformations}]);
    for (entry, named) in [
        (json!({"axes": axes}), "no list of datasets"),
        (json!({"axes": axes, "datasets": []}), "no list of datasets"),
        (
            json!({"axes": axes, "datasets": [{"path": 0}]}),
            "the path 0",
        ),
        (json!({"axes": axes, "datasets": [{}]}), "the path null"),
        (json!({"axes": [], "datasets": [{"path": "0"}]}), "no axes"),
        (
            json!({"axes": [{}, {}], "datasets": [{"path": "0"}]}),
            "an axis without a name",
        ),
        (
            json!({"axes": "yx", "datasets": [{"path": "0"}]}),
            "the axes \"yx\"",
        ),
        (
            json!({"axes": vec!["x"; 1000], "datasets": [{"path": "0"}]}),
            "1000 axes",
        ),
        (
            json!({"axes": axes, "datasets": datasets(json!([{"type": "scale", "scale": "big"}]))}),
            "the scale \"big\"",
        ),
        (
            json!({"axes": axes, "datasets": datasets(json!([{"type": "affine"}]))}),
            "\"affine\"",
        ),
        (
            json!({"axes": axes, "datasets": datasets(json!([{"type": "scale", "scale": ["NaN", 1]}]))}),
            "not finite",
        ),
        (
            json!({"datasets": [{"path": "0", "transform": {"axes": ["x"]}}]}),
            "the scale null",
        ),
        (
            json!({"datasets": [{"path": "0", "transform": {"scale": []}}]}),
            "0 axes",
        ),
        (
            json!({"datasets": [{"path": "0", "transform": {"scale": [1, 1]}}, {"path": "1", "transform": {"scale": [1]}}]}),
            "several numbers of axes",
        ),
    ] {
        let what = refusal(&v04(entry.clone()));
        assert!(
            what.contains(named) && what.starts_with("the image at"),
            "{entry}: {what}"
        );
    }
}

#[test]
fn ome_18_numbers_that_are_texts_or_lists_of_another_length_are_read() {
    let datasets = json!([{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": ["0.5", 2]}]}]);
    let image = open(&v04(
        json!({"axes": space(&["y", "x"]), "datasets": datasets}),
    ));
    assert_eq!(image.levels[0].scale, [0.5, 2.0]);
    let datasets = json!([{"path": "0", "coordinateTransformations": [scale(&[2.0]), translation(&[1.0, 0.0, 3.0])]}]);
    let image = open(&v04(
        json!({"version": "0.4", "axes": space(&["y", "x"]), "datasets": datasets}),
    ));
    assert_eq!(
        (&image.levels[0].scale[..], &image.levels[0].translation[..]),
        (&[1.0, 1.0][..], &[0.0, 0.0][..])
    );
    assert_eq!(image.warnings.len(), 2, "{:?}", image.warnings);
    let datasets = json!([{"path": "0", "coordinateTransformations": [scale(&[0.0, -2.0])]}]);
    let image = open(&v04(
        json!({"version": "0.4", "axes": space(&["y", "x"]), "datasets": datasets}),
    ));
    assert_eq!(
        (&image.levels[0].scale[..], image.warnings.len()),
        (&[1.0, -2.0][..], 1)
    );
    // An axis may run backwards.
    assert_eq!(
        image.levels[0]
            .region(&[0.0..1.0, -8.0..-3.9], &[10, 10])
            .ranges(),
        [0..2, 2..5]
    );
}

/// Each member of a document replaced by values of other kinds.
#[test]
fn members_of_other_kinds_never_panic() {
    let document = json!({
        "version": "0.5",
        "multiscales": [{
            "name": "a", "type": "mean", "axes": space(&["z", "y", "x"]),
            "datasets": [
                {"path": "0", "coordinateTransformations": [scale(&[1.0, 1.0, 1.0]), translation(&[0.0, 0.0, 0.0])]},
                {"path": "1", "coordinateTransformations": [scale(&[2.0, 2.0, 2.0])]},
            ],
            "coordinateTransformations": [scale(&[1.0, 1.0, 1.0])],
        }],
        "omero": {"channels": [{"label": "a", "color": "00FF00", "window": {"start": 0, "end": 1, "min": 0, "max": 2}}]},
        "image-label": {"colors": [{"label-value": 1, "rgba": [1, 2, 3, 4]}], "properties": [{"label-value": 1}], "source": {"image": "../.."}},
        "plate": {"rows": [{"name": "A"}], "columns": [{"name": "1"}], "wells": [{"path": "A/1", "rowIndex": 0, "columnIndex": 0}], "acquisitions": [{"id": 0}]},
        "well": {"images": [{"path": "0", "acquisition": 0}]},
        "labels": ["a"], "series": ["0"], "bioformats2raw.layout": 3,
    });
    let others = [
        Value::Null,
        json!(true),
        json!(-1),
        json!(1e308),
        json!("é"),
        json!([]),
        json!({}),
        json!([[[]]]),
        json!({"type": {}}),
    ];
    let mut n_documents = 0;
    let mut pointers = vec![String::new()];
    while let Some(pointer) = pointers.pop() {
        let Some(value) = document.pointer(&pointer) else {
            continue;
        };
        match value {
            Value::Array(list) => {
                pointers.extend((0..list.len()).map(|at| format!("{pointer}/{at}")))
            }
            Value::Object(members) => {
                pointers.extend(members.keys().map(|key| format!("{pointer}/{key}")))
            }
            _ => {}
        }
        for other in &others {
            let mut damaged = document.clone();
            *damaged.pointer_mut(&pointer).expect("it is there") = other.clone();
            n_documents += 1;
            for attributes in [json!({"ome": damaged}), damaged.clone()] {
                let Some(members) = attributes.as_object() else {
                    continue;
                };
                let _ = (validate(members), Metadata::of(members));
                let group = Group::open(zarr3(&attributes, &[("0", &[4, 4, 4], &["z", "y", "x"])]))
                    .expect("it is a group");
                for image in Multiscale::find(&group).into_iter().flatten() {
                    let _ = (
                        image.level_for(1.0, None),
                        image.array(0).is_ok(),
                        image.validate().len(),
                    );
                    let _ = image.levels[0].region(&[0.0..1.0], &[4, 4, 4]);
                }
            }
        }
    }
    assert!(n_documents > 500, "{n_documents}");
}

#[test]
fn large_documents_take_little_time() {
    let dataset = |at: usize| json!({"path": at.to_string(), "coordinateTransformations": [scale(&[1.0, 1.0])]});
    let datasets: Vec<Value> = (0..20_000).map(dataset).collect();
    let store = v04(json!({"version": "0.4", "axes": space(&["y", "x"]), "datasets": datasets}));
    assert_eq!(open(&store).levels.len(), 20_000);
    // Each of these is wrong, and counts for each dataset.
    let datasets: Vec<Value> = (0..20_000)
        .map(|at| json!({"path": at.to_string()}))
        .collect();
    let of_all = vec![scale(&[1.0]); 20_000];
    let image = open(&v04(json!({
        "version": "0.4", "axes": space(&["y", "x"]), "datasets": datasets, "coordinateTransformations": of_all,
    })));
    assert_eq!((image.levels.len(), image.warnings.len()), (20_000, 1000));
    // In 0.6, each leads to a coordinate system of its own.
    let ends = |at: usize| {
        json!({"path": at.to_string(), "coordinateTransformations": [{"type": "identity",
        "input": {"path": at.to_string()}, "output": {"name": at.to_string()}}]})
    };
    let system = |at: usize| json!({"name": at.to_string(), "axes": space(&["y", "x"])});
    let (datasets, systems): (Vec<_>, Vec<_>) =
        (0..20_000).map(|at| (ends(at), system(at))).unzip();
    let attributes = json!({"ome": {"version": "0.6", "multiscales": [
        {"name": "a", "type": "mean", "metadata": {}, "coordinateSystems": systems, "datasets": datasets}]}});
    assert_eq!(
        validate(attributes.as_object().expect("it is an object")),
        []
    );
    let attributes = json!({"plate": {"rows": vec![json!({"name": "A"}); 20_000], "columns": [], "wells": vec![json!({}); 20_000]}});
    assert!(validate(attributes.as_object().expect("it is an object")).len() <= 1000);
}

#[test]
fn names_of_n5_are_not_numbers_of_levels_unless_they_are() {
    let store = MemoryStore::new();
    put(
        &store,
        "attributes.json",
        &json!({"n5": "2.0.0", "pixelResolution": [1, 1]}),
    );
    for name in [
        "s0",
        "s99999999999999999999",
        "s-1",
        "s1.5",
        "s",
        "sx",
        "s4294967295",
    ] {
        super::n5_dataset(&store, name, &[4, 4], json!({}));
    }
    let image = open(&store);
    let paths: Vec<_> = image.levels.iter().map(|level| &level.path[..]).collect();
    assert_eq!(paths, ["s0", "s4294967295"]);
    assert!(image.levels[1].scale[0].is_finite());
}

#[test]
fn arrays_without_axes_are_refused() {
    let attributes =
        json!({"multiscales": [{"version": "0.1", "datasets": [{"path": "0"}, {"path": "1"}]}]});
    let what = refusal(&zarr2(&attributes, &[("0", &[]), ("1", &[])]));
    assert_eq!(what, "the image at \"\" has a finest level without axes");
}
