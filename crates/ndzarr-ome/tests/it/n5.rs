//! Images of N5: BigDataViewer, n5-viewer, Paintera, COSEM. Arrays and lists are in N5's order, x
//! first.

use ndzarr::{Format, Group, MemoryStore, N5Axes, OpenOptions};
use ndzarr_ome::{Axis, Convention, Multiscale};
use serde_json::{Value, json};

use super::{n5_dataset, open, put, refusal, scale, space};

fn container(attributes: Value) -> MemoryStore {
    let store = MemoryStore::new();
    let mut document = json!({"n5": "2.5.0"});
    let members = document.as_object_mut().expect("it is an object");
    members.extend(attributes.as_object().expect("it is an object").clone());
    put(&store, "attributes.json", &document);
    store
}

fn names(axes: &[Axis]) -> String {
    axes.iter().map(|axis| &axis.name[..]).collect()
}

fn find(store: &MemoryStore) -> Vec<Multiscale> {
    Multiscale::find(&Group::open(store).expect("it is a group")).expect("they are valid")
}

/// Opened with the axes of zarr-python 2 and z5py, x last.
fn reversed(store: &MemoryStore) -> Multiscale {
    let group = OpenOptions::new()
        .n5_axes(N5Axes::Reversed)
        .open_group(store)
        .expect("it is a group");
    Multiscale::find(&group).expect("they are valid").remove(0)
}

/// Two setups; the second has one level less at time point 1, and other factors.
fn bdv() -> MemoryStore {
    let store = container(json!({}));
    let factors = [
        json!([[1, 1, 1], [2, 2, 1], [4, 4, 2]]),
        json!([[1, 1, 1], [3, 3, 3]]),
    ];
    for (setup, factors) in factors.into_iter().enumerate() {
        put(
            &store,
            &format!("setup{setup}/attributes.json"),
            &json!({"downsamplingFactors": factors, "dataType": "uint8"}),
        );
    }
    for (path, dimensions) in [
        ("setup0/timepoint0/s0", [40, 30, 20]),
        ("setup0/timepoint0/s1", [20, 15, 20]),
        ("setup0/timepoint0/s2", [10, 8, 10]),
        ("setup0/timepoint10/s0", [40, 30, 20]),
        ("setup0/timepoint10/s2", [10, 8, 10]),
        ("setup0/timepoint2/s0", [40, 30, 20]),
        ("setup1/timepoint0/s0", [9, 9, 9]),
        ("setup1/timepoint0/s1", [3, 3, 3]),
    ] {
        n5_dataset(&store, path, &dimensions, json!({}));
    }
    put(
        &store,
        "setup1/timepoint0/attributes.json",
        &json!({"resolution": [0.5, 0.5, 2.0]}),
    );
    store
}

#[test]
fn ome_08_factors_are_on_the_setup_and_time_points_may_lack_levels() {
    let found = find(&bdv());
    let which: Vec<_> = found
        .iter()
        .map(|image| (image.convention.clone(), image.levels.len()))
        .collect();
    let bdv = |setup, timepoint| Convention::Bdv { setup, timepoint };
    assert_eq!(
        which,
        [
            (bdv(0, 0), 3),
            (bdv(0, 2), 1),
            (bdv(0, 10), 2),
            (bdv(1, 0), 2)
        ]
    );
    assert_eq!(names(&found[0].axes), "xyz");
    assert_eq!(found[0].levels[1].scale, [2.0, 2.0, 1.0]);
    assert_eq!(found[0].levels[1].translation, [0.5, 0.5, 0.0]);
    // s1 is missing; s2 has its own factors.
    let level = &found[2].levels[1];
    assert_eq!(
        (&level.path[..], &level.scale[..], &level.translation[..]),
        ("s2", &[4.0, 4.0, 2.0][..], &[1.5, 1.5, 0.5][..])
    );
    assert_eq!(found[2].array(1).expect("it is there").shape(), [10, 8, 10]);
    assert_eq!(found[2].path(), "setup0/timepoint10");
}

#[test]
fn ome_09_voxels_have_no_size_unless_the_time_point_states_one() {
    let found = find(&bdv());
    assert_eq!(
        (found[0].levels[0].scale[0], &found[0].axes[0].unit),
        (1.0, &None)
    );
    assert!(
        found[0]
            .warnings
            .iter()
            .any(|what| what.contains("no size of voxels")),
        "{:?}",
        found[0].warnings
    );
    assert_eq!(found[3].levels[1].scale, [1.5, 1.5, 6.0]);
    assert!(found[3].warnings.is_empty(), "{:?}", found[3].warnings);
}

#[test]
fn a_setup_and_a_time_point_can_be_opened() {
    let store = bdv();
    let setup = Multiscale::open((&store, "setup1")).expect("it is a setup");
    assert_eq!(
        setup.convention,
        Convention::Bdv {
            setup: 1,
            timepoint: 0
        }
    );
    // The factors are in the group above the time point, which is not read.
    let timepoint = Multiscale::open((&store, "setup0/timepoint0")).expect("it has levels");
    assert_eq!(timepoint.levels[1].scale, [2.0, 2.0, 2.0]);
    assert!(
        timepoint
            .warnings
            .iter()
            .any(|what| what.contains("no factors are stated")),
        "{:?}",
        timepoint.warnings
    );
}

#[test]
fn n5_viewer_states_factors_and_the_size_of_voxels() {
    let resolution = json!({"unit": "um", "dimensions": [0.5, 0.25, 2.0]});
    let factors = json!([[1, 1, 1], [2, 2, 1]]);
    // The factors are on the group, or on each dataset, or are 2 to the power of the level.
    let on_group =
        container(json!({"pixelResolution": resolution, "downsamplingFactors": factors}));
    let old = container(json!({"pixelResolution": resolution, "scales": factors}));
    let on_datasets = container(json!({"pixelResolution": resolution}));
    for (store, on_dataset) in [
        (&on_group, json!({})),
        (&old, json!({})),
        (&on_datasets, json!({"downsamplingFactors": [2, 2, 1]})),
    ] {
        n5_dataset(store, "s0", &[40, 30, 22], json!({}));
        n5_dataset(store, "s1", &[20, 15, 22], on_dataset);
        let image = open(store);
        assert_eq!(image.convention, Convention::N5Viewer);
        assert_eq!(image.levels[1].scale, [1.0, 0.5, 2.0]);
        assert_eq!(image.levels[1].translation, [0.25, 0.125, 0.0]);
        assert_eq!(image.axes[2].unit.as_deref(), Some("um"));
        assert_eq!(image.array(1).expect("it is there").shape(), [20, 15, 22]);
        assert!(image.warnings.is_empty(), "{:?}", image.warnings);

        let image = reversed(store);
        assert_eq!(
            (names(&image.axes), &image.levels[1].scale[..]),
            ("zyx".to_owned(), &[2.0, 0.5, 1.0][..])
        );
        assert_eq!(image.array(1).expect("it is there").shape(), [22, 15, 20]);
    }
    n5_dataset(&on_group, "s2", &[5, 4, 10], json!({}));
    let image = open(&on_group);
    assert_eq!(image.levels[2].scale, [2.0, 1.0, 8.0]);
    assert!(
        image.warnings[0].contains("power of 2"),
        "{:?}",
        image.warnings
    );
}

#[test]
fn paintera_has_a_group_data_with_an_offset() {
    let store = container(json!({}));
    put(
        &store,
        "raw/attributes.json",
        &json!({"painteraData": {"type": "raw"}}),
    );
    put(
        &store,
        "raw/data/attributes.json",
        &json!({"multiScale": true, "resolution": [4.0, 4.0, 40.0], "offset": [100.0, 0.0, -40.0]}),
    );
    n5_dataset(&store, "raw/data/s0", &[40, 30, 20], json!({}));
    n5_dataset(
        &store,
        "raw/data/s1",
        &[20, 15, 20],
        json!({"downsamplingFactors": [2.0, 2.0, 1.0]}),
    );
    let image = Multiscale::open((&store, "raw")).expect("it is an image");
    assert_eq!(image.path(), "raw/data");
    assert_eq!(image.levels[0].translation, [100.0, 0.0, -40.0]);
    assert_eq!(
        (&image.levels[1].scale[..], &image.levels[1].translation[..]),
        (&[8.0, 8.0, 40.0][..], &[102.0, 2.0, -40.0][..])
    );
}

#[test]
fn ome_07_cosem_in_n5_turns_its_lists() {
    let transform = |ordering: Value, scale: [f64; 3]| {
        let axes = if ordering == "F" {
            ["x", "y", "z"]
        } else {
            ["z", "y", "x"]
        };
        let mut transform = json!({"axes": axes, "units": ["nm", "nm", "nm"], "scale": scale, "translate": [0.0, 0.0, 0.0]});
        if !ordering.is_null() {
            transform["ordering"] = ordering;
        }
        transform
    };
    for (ordering, scale) in [
        (Value::Null, [5.0, 4.0, 3.0]),
        (json!("C"), [5.0, 4.0, 3.0]),
        (json!("F"), [3.0, 4.0, 5.0]),
    ] {
        let transform = transform(ordering, scale);
        let on_datasets = container(json!({}));
        n5_dataset(
            &on_datasets,
            "s0",
            &[40, 30, 20],
            json!({"transform": transform, "pixelResolution": {"dimensions": [9, 9, 9], "unit": "nm"}}),
        );
        let on_group = container(
            json!({"multiscales": [{"name": "em", "datasets": [{"path": "s0", "transform": transform}]}]}),
        );
        n5_dataset(&on_group, "s0", &[40, 30, 20], json!({}));
        for store in [on_datasets, on_group] {
            let image = open(&store);
            assert_eq!(image.convention, Convention::Cosem);
            assert_eq!(
                (names(&image.axes), &image.levels[0].scale[..]),
                ("xyz".to_owned(), &[3.0, 4.0, 5.0][..])
            );
            let array = image.array(0).expect("it is there");
            assert_eq!(array.shape(), [40, 30, 20], "x has 40 elements of 3 nm");
            let image = reversed(&store);
            assert_eq!(
                (names(&image.axes), &image.levels[0].scale[..]),
                ("zyx".to_owned(), &[5.0, 4.0, 3.0][..])
            );
            assert_eq!(image.array(0).expect("it is there").shape(), [20, 30, 40]);
        }
    }
}

#[test]
fn ome_20_a_folder_without_a_version_is_opened() {
    let store = MemoryStore::new();
    put(
        &store,
        "image/attributes.json",
        &json!({"pixelResolution": {"unit": "nm", "dimensions": [4, 4]}}),
    );
    n5_dataset(&store, "image/s0", &[40, 30], json!({}));
    n5_dataset(
        &store,
        "image/s1",
        &[20, 15],
        json!({"downsamplingFactors": [2, 2]}),
    );
    let image = Multiscale::open((&store, "image")).expect("it is an image");
    assert_eq!(image.levels[1].scale, [8.0, 8.0]);
    let warning = "the version of N5 is not stated, neither in image/attributes.json nor above";
    assert_eq!(image.group().warnings(), [warning]);
    // An error of a place without anything is that of the group.
    let error = Multiscale::open((&store, "nothing")).expect_err("nothing is there");
    assert_eq!(error.kind(), Some(ndzarr::ErrorKind::NotFound));
}

#[test]
fn ome_21_axes_and_units_may_be_lists() {
    let store = container(
        json!({"axes": ["x", "t"], "units": ["nm", "s"], "resolution": [10, 20], "scales": [[1, 1], [2, 2]]}),
    );
    n5_dataset(&store, "s0", &[40, 30], json!({}));
    n5_dataset(&store, "s1", &[20, 15], json!({}));
    let image = open(&store);
    assert_eq!(
        image.axes,
        [
            Axis::new("x").with_unit("nm"),
            Axis::new("t").with_unit("s")
        ]
    );
    assert_eq!(
        (&image.levels[1].scale[..], &image.levels[1].translation[..]),
        (&[20.0, 40.0][..], &[5.0, 10.0][..])
    );
}

#[test]
fn levels_that_cannot_be_opened_are_reported() {
    let store = container(
        json!({"pixelResolution": [1, 1], "downsamplingFactors": [[1, 1], [2, 2], [4, 4]]}),
    );
    n5_dataset(&store, "s0", &[40, 30], json!({}));
    n5_dataset(&store, "s1", &[20, 15], json!({"dataType": "unheard-of"}));
    n5_dataset(&store, "s2", &[10, 8], json!({}));
    n5_dataset(&store, "s3", &[10, 8, 2], json!({}));
    let image = open(&store);
    let paths: Vec<_> = image.levels.iter().map(|level| &level.path[..]).collect();
    assert_eq!(paths, ["s0", "s2"]);
    let is_named = |what: &String| what.contains("\"s1\" cannot be opened");
    assert!(image.warnings.iter().any(is_named), "{:?}", image.warnings);
    assert!(
        image
            .warnings
            .iter()
            .any(|what| what.contains("\"s3\" has 3 axes")),
        "{:?}",
        image.warnings
    );
}

#[test]
fn images_without_a_level_that_can_be_opened_are_refused() {
    let store = container(json!({"pixelResolution": [1, 1]}));
    for path in ["s0", "s1", "other"] {
        n5_dataset(&store, path, &[40, 30], json!({"dataType": "unheard-of"}));
    }
    let what = refusal(&store);
    assert!(
        what.starts_with("the image at \"\" has \"s0\", which cannot be opened: "),
        "{what}"
    );
    // One of several time points of BigDataViewer.
    let store = bdv();
    n5_dataset(
        &store,
        "setup1/timepoint0/s0",
        &[9, 9, 9],
        json!({"dataType": "unheard-of"}),
    );
    n5_dataset(
        &store,
        "setup1/timepoint0/s1",
        &[3, 3, 3],
        json!({"dataType": "unheard-of"}),
    );
    let found = find(&store);
    assert_eq!(found.len(), 3);
    let is_named = |what: &String| what.starts_with("\"setup1/timepoint0/s0\" cannot be opened");
    assert!(
        found[0].warnings.iter().any(is_named),
        "{:?}",
        found[0].warnings
    );
}

#[test]
fn groups_of_other_things_have_no_image() {
    let store = container(json!({}));
    n5_dataset(&store, "s0", &[40, 30], json!({}));
    assert!(
        find(&store).is_empty(),
        "one dataset of this name says nothing of levels"
    );
    n5_dataset(&store, "raw", &[40, 30], json!({}));
    assert!(Multiscale::open((&store, "raw")).is_err());
    assert_eq!(
        Group::open(&store).expect("it is a group").format(),
        Format::N5
    );
}

#[test]
fn scales_by_shapes_are_in_the_order_of_n5() {
    let store = container(json!({"multiscales": [{"datasets": [{"path": "s0"}, {"path": "s1"}]}]}));
    n5_dataset(&store, "s0", &[40, 30], json!({}));
    n5_dataset(&store, "s1", &[20, 10], json!({}));
    let image = open(&store);
    assert_eq!(
        (names(&image.axes), &image.levels[1].scale[..]),
        ("xy".to_owned(), &[2.0, 3.0][..])
    );
    assert_eq!(image.array(1).expect("it is there").shape(), [20, 10]);
    let image = reversed(&store);
    assert_eq!(
        (names(&image.axes), &image.levels[1].scale[..]),
        ("yx".to_owned(), &[3.0, 2.0][..])
    );
    assert_eq!(image.array(1).expect("it is there").shape(), [10, 20]);
}

/// The order follows from a level that can be opened.
#[test]
fn damaged_levels_do_not_turn_the_axes() {
    let dataset = |path: &str, size: f64| json!({"path": path, "coordinateTransformations": [scale(&[size, 2.0 * size])]});
    let entry =
        json!({"axes": space(&["y", "x"]), "datasets": [dataset("s0", 1.0), dataset("s1", 2.0)]});
    let store = container(json!({"multiscales": [entry]}));
    n5_dataset(&store, "s0", &[40, 30], json!({"dataType": "unheard-of"}));
    n5_dataset(&store, "s1", &[20, 15], json!({}));
    let image = open(&store);
    assert_eq!(
        (names(&image.axes), &image.levels[1].scale[..]),
        ("xy".to_owned(), &[4.0, 2.0][..])
    );
    let image = reversed(&store);
    assert_eq!(
        (names(&image.axes), &image.levels[1].scale[..]),
        ("yx".to_owned(), &[2.0, 4.0][..])
    );
}

/// Where the store fails, neither the order nor the scales are known.
#[test]
fn failures_of_the_store_are_errors() {
    use ndzarr::store::StoreError;
    use ndzarr::{ErrorKind, Storage};
    use ndzarr_testkit::{Call, FaultStore};
    for transformations in [json!([scale(&[1.0, 2.0])]), Value::Null] {
        let dataset = json!({"path": "s0", "coordinateTransformations": transformations});
        let store = container(
            json!({"multiscales": [{"axes": space(&["y", "x"]), "datasets": [dataset]}]}),
        );
        n5_dataset(&store, "s0", &[40, 30], json!({}));
        let store = FaultStore::new(store);
        let error = StoreError::io("read", "s0", std::io::Error::other("the disk is gone"));
        store.fail_key(Call::Fetch, "s0/attributes.json", error);
        let error =
            Multiscale::open(Storage::blocking(store.clone())).expect_err("the store fails");
        assert_eq!(error.kind(), Some(ErrorKind::Store), "{error}");
        store.heal();
        Multiscale::open(Storage::blocking(store)).expect("it works again");
    }
}

#[test]
fn setups_and_time_points_that_cannot_be_opened_are_named() {
    let store = bdv();
    for path in ["setup2", "setup1/timepoint4"] {
        n5_dataset(&store, path, &[9, 9, 9], json!({"dataType": "unheard-of"}));
    }
    let found = find(&store);
    assert_eq!(found.len(), 4);
    for path in ["\"setup2\"", "\"setup1/timepoint4\""] {
        let is_named = |what: &String| what.starts_with(path);
        assert!(
            found[0].warnings.iter().any(is_named),
            "{path}: {:?}",
            found[0].warnings
        );
    }
}

#[test]
fn damaged_attributes_of_a_folder_are_an_error() {
    let store = MemoryStore::new();
    store
        .set("image/attributes.json", &b"{"[..])
        .expect("memory never fails");
    let error = Multiscale::open((&store, "image")).expect_err("it is not JSON");
    assert_ne!(error.kind(), Some(ndzarr::ErrorKind::NotFound), "{error}");
    let future = ndzarr_ome::asynchronous::Multiscale::open((&store, "image"));
    let error = ndzarr::store::block_on(future).expect_err("it is not JSON");
    assert_ne!(error.kind(), Some(ndzarr::ErrorKind::NotFound), "{error}");
}
