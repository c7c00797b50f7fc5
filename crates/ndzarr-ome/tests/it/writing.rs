//! Images that are created here.

use ndzarr::{AnyNode, DataType, ErrorKind, Format, MemoryStore, Storage};
use ndzarr_ome::{Axis, AxisKind, Convention, Downsample, Multiscale, NewMultiscale, asynchronous};
use ndzarr_testkit::{AsyncMemoryStore, Latency};
use serde_json::{Value, json};

const UINT8: DataType = DataType::UInt { bits: 8 };

fn axes() -> [(Axis, u64); 4] {
    let space = |name: &str| Axis::new(name).with_unit("micrometer");
    [
        (Axis::new("c"), 2),
        (space("z"), 10),
        (space("y"), 301),
        (space("x"), 400),
    ]
}

fn new() -> NewMultiscale {
    NewMultiscale::new(UINT8, axes())
        .scale([1.0, 2.0, 0.5, 0.5])
        .factors([1, 1, 2, 2])
        .levels(3)
        .name("cells")
}

fn stored(store: &MemoryStore, key: &str) -> Value {
    serde_json::from_slice(&store.get(key).unwrap_or_else(|| panic!("{key} is stored")))
        .expect("it is JSON")
}

/// By the text of 0.5, by hand.
#[test]
fn ome_19_an_image_of_0_5_has_these_documents() {
    let store = MemoryStore::new();
    let image = Multiscale::create(&store, Format::Zarr3, &new(), |layout| {
        layout.chunks([1, 10, 64, 64])
    })
    .expect("it is valid");
    let mut ome = stored(&store, "zarr.json")["attributes"]["ome"].clone();
    assert_eq!(
        ome["multiscales"][0]["metadata"]["kwargs"],
        json!({"factors": [1, 1, 2, 2]})
    );
    ome["multiscales"][0]
        .as_object_mut()
        .expect("it is an object")
        .remove("metadata");
    assert_eq!(
        ome,
        json!({"version": "0.5", "multiscales": [{
            "name": "cells", "type": "mean",
            "axes": [
                {"name": "c", "type": "channel"},
                {"name": "z", "type": "space", "unit": "micrometer"},
                {"name": "y", "type": "space", "unit": "micrometer"},
                {"name": "x", "type": "space", "unit": "micrometer"},
            ],
            "datasets": [
                {"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [1.0, 2.0, 0.5, 0.5]}]},
                {"path": "1", "coordinateTransformations": [
                    {"type": "scale", "scale": [1.0, 2.0, 1.0, 1.0]}, {"type": "translation", "translation": [0.0, 0.0, 0.25, 0.25]}]},
                {"path": "2", "coordinateTransformations": [
                    {"type": "scale", "scale": [1.0, 2.0, 2.0, 2.0]}, {"type": "translation", "translation": [0.0, 0.0, 0.75, 0.75]}]},
            ],
        }]})
    );
    for (level, shape) in [
        (0, [2, 10, 301, 400]),
        (1, [2, 10, 151, 200]),
        (2, [2, 10, 76, 100]),
    ] {
        let document = stored(&store, &format!("{level}/zarr.json"));
        assert_eq!(
            document["dimension_names"],
            json!(["c", "z", "y", "x"]),
            "{level}"
        );
        assert_eq!(image.array(level).expect("it is there").shape(), shape);
    }
    assert_eq!(
        image.convention,
        Convention::Ome {
            version: "0.5".to_owned()
        }
    );
    assert!(image.warnings.is_empty(), "{:?}", image.warnings);
    assert_eq!(image.validate(), []);
}

#[test]
fn ome_19_an_image_of_0_4_has_nested_chunks() {
    let store = MemoryStore::new();
    let image = Multiscale::create((&store, "a"), Format::Zarr2, &new(), |layout| {
        layout.chunks([1, 10, 64, 64])
    })
    .expect("it is valid");
    let attributes = stored(&store, "a/.zattrs");
    assert_eq!(
        (
            &attributes["multiscales"][0]["version"],
            attributes.get("ome")
        ),
        (&json!("0.4"), None)
    );
    assert_eq!(stored(&store, "a/1/.zarray")["dimension_separator"], "/");
    assert_eq!((image.path(), image.levels.len()), ("a", 3));
    assert_eq!(image.validate(), []);
    image
        .array(0)
        .and_then(|array| Ok(array.fill(.., 3u8)?))
        .expect("it fits");
    assert!(store.get("a/0/1/0/4/6").is_some(), "{:?}", store.keys());
}

#[test]
fn a_stride_has_no_offset() {
    let new = new().method(Downsample::Stride);
    let image = Multiscale::create(MemoryStore::new(), Format::Zarr3, &new, |layout| layout)
        .expect("it is valid");
    assert_eq!(image.levels[2].translation, [0.0; 4]);
    assert_eq!(image.method.as_deref(), Some("stride"));
    assert!(image.warnings.is_empty(), "{:?}", image.warnings);
}

#[test]
fn levels_end_where_space_is_small() {
    for (shape, n_levels) in [
        ([256, 256], 1),
        ([257, 10], 2),
        ([3000, 2000], 5),
        ([1, 1], 1),
    ] {
        let axes = ["y", "x"].map(Axis::new).into_iter().zip(shape);
        let image = Multiscale::create(
            MemoryStore::new(),
            Format::Zarr3,
            &NewMultiscale::new(UINT8, axes),
            |layout| layout,
        );
        assert_eq!(
            image.expect("it is valid").levels.len(),
            n_levels,
            "{shape:?}"
        );
    }
    // An axis that levels do not shorten may be long.
    let axes = ["z", "y", "x"].map(|name| (Axis::new(name), 512));
    let new = NewMultiscale::new(UINT8, axes).factors([1, 2, 2]);
    let image = Multiscale::create(MemoryStore::new(), Format::Zarr3, &new, |layout| layout);
    let image = image.expect("it is valid");
    assert_eq!(image.levels.len(), 2);
    assert_eq!(
        image.array(1).expect("it is there").shape(),
        [512, 256, 256]
    );
    // Factors of 1 make nothing smaller.
    let new =
        NewMultiscale::new(UINT8, [(Axis::new("y"), 5000), (Axis::new("x"), 5000)]).factors([1, 1]);
    assert_eq!(
        Multiscale::create(MemoryStore::new(), Format::Zarr3, &new, |layout| layout)
            .expect("it is valid")
            .levels
            .len(),
        1
    );
}

#[test]
fn what_ome_zarr_does_not_allow_is_refused() {
    let image =
        |axes: &[&str]| NewMultiscale::new(UINT8, axes.iter().map(|name| (Axis::new(*name), 8)));
    let other = |name: &str| Axis::new(name).with_kind(AxisKind::Other(Some("phase".to_owned())));
    let phase = NewMultiscale::new(
        UINT8,
        [
            (other("p"), 2),
            (Axis::new("c"), 2),
            (Axis::new("y"), 8),
            (Axis::new("x"), 8),
        ],
    );
    for (new, named) in [
        (image(&["x"]), "then two or three of space"),
        (image(&["x", "t"]), "then two or three of space"),
        (image(&["y", "x", "c"]), "[\"y\", \"x\", \"c\"]"),
        (phase, "at most one of channels or another kind"),
        (image(&["x", "x"]), "two axes have the name \"x\""),
        (
            image(&["y", "x"]).scale([1.0]),
            "a scale of 1 numbers for 2 axes",
        ),
        (image(&["y", "x"]).scale([1.0, 0.0]), "not positive"),
        (image(&["y", "x"]).scale([1.0, f64::NAN]), "not positive"),
        (
            image(&["y", "x"]).translation([f64::INFINITY, 0.0]),
            "not finite",
        ),
        (image(&["y", "x"]).factors([0, 2]), "not from 1 to 1024"),
        (
            image(&["y", "x"])
                .scale([1.0, 1e306])
                .factors([1, 1024])
                .levels(3),
            "the scale of level 1 is not finite",
        ),
        // 2^21 elements in one.
        (
            image(&["z", "y", "x"]).factors([128, 128, 128]),
            "more than 1048576",
        ),
        (image(&["y", "x"]).levels(0), "0 levels"),
        (image(&["y", "x"]).levels(1 << 30), "levels, not 1 to 64"),
        (
            NewMultiscale::new(UINT8, [(Axis::new("y"), 0), (Axis::new("x"), 8)]),
            "without elements",
        ),
    ] {
        let store = MemoryStore::new();
        let what = Multiscale::create(&store, Format::Zarr3, &new, |layout| layout)
            .expect_err(named)
            .to_string();
        assert!(what.contains(named), "{what}");
        assert!(store.keys().is_empty(), "nothing is written");
    }
    let what = Multiscale::create(MemoryStore::new(), Format::N5, &new(), |layout| layout)
        .expect_err("N5")
        .to_string();
    assert!(what.contains("not in n5"), "{what}");
    let store = MemoryStore::new();
    let create = || Multiscale::create(&store, Format::Zarr3, &new(), |layout| layout);
    create().expect("it is valid");
    assert_eq!(
        create().expect_err("it is there").kind(),
        Some(ErrorKind::AlreadyExists)
    );
}

/// Futures may go to other threads.
fn sent<F: Future + Send>(future: F) -> F {
    future
}

#[test]
fn futures_do_the_same() {
    let memory = MemoryStore::new();
    let storage = Storage::asynchronous(AsyncMemoryStore::over(memory.clone(), Latency::default()));
    ndzarr::store::block_on(async {
        let created = sent(asynchronous::Multiscale::create(
            (&storage, "a"),
            Format::Zarr3,
            &new(),
            |layout| layout,
        ))
        .await;
        assert_eq!(created.expect("it is valid").levels.len(), 3);
        let image = sent(asynchronous::Multiscale::open((&storage, "a")))
            .await
            .expect("it is there");
        let array = sent(image.array(1)).await.expect("it is there");
        assert_eq!(array.shape(), [2, 10, 151, 200]);
        assert_eq!(sent(image.validate()).await, []);
        let group = image.group();
        let found = sent(asynchronous::Multiscale::find(&group))
            .await
            .expect("it is valid");
        assert_eq!((found.len(), found[0].path()), (1, "a"));
        let nothing = asynchronous::Multiscale::open((&storage, "b"))
            .await
            .expect_err("nothing is there");
        assert_eq!(nothing.kind(), Some(ErrorKind::NotFound));
    });
    // Blocking calls see the same, in the asynchronous store as well.
    for storage in [storage, Storage::from(memory)] {
        let image = Multiscale::open((&storage, "a")).expect("it is there");
        assert_eq!(
            image.array(2).expect("it is there").shape(),
            [2, 10, 76, 100]
        );
        assert!(matches!(
            AnyNode::open((&storage, "a/0")).expect("it is there"),
            AnyNode::Array(_)
        ));
    }
}

#[test]
fn futures_find_images_of_n5() {
    let memory = MemoryStore::new();
    super::put(&memory, "attributes.json", &json!({"n5": "2.5.0"}));
    super::put(
        &memory,
        "setup3/attributes.json",
        &json!({"downsamplingFactors": [[1, 1], [2, 4]]}),
    );
    super::n5_dataset(&memory, "setup3/timepoint7/s0", &[8, 8], json!({}));
    super::n5_dataset(&memory, "setup3/timepoint7/s1", &[4, 2], json!({}));
    let storage = Storage::asynchronous(AsyncMemoryStore::over(memory, Latency::default()));
    ndzarr::store::block_on(async {
        let image = asynchronous::Multiscale::open(&storage)
            .await
            .expect("it is there");
        assert_eq!(
            image.convention,
            Convention::Bdv {
                setup: 3,
                timepoint: 7
            }
        );
        assert_eq!(image.levels[1].scale, [2.0, 4.0]);
        assert_eq!(image.array(1).await.expect("it is there").shape(), [4, 2]);
    });
}

#[test]
fn a_wrong_layout_leaves_nothing() {
    let store = MemoryStore::new();
    let what = Multiscale::create(&store, Format::Zarr3, &new(), |layout| {
        layout.chunks([1, 2])
    });
    assert_ne!(
        what.expect_err("two axes of four").kind(),
        Some(ErrorKind::AlreadyExists)
    );
    assert!(store.keys().is_empty(), "{:?}", store.keys());
    let new = new();
    let future = asynchronous::Multiscale::create(&store, Format::Zarr3, &new, |layout| {
        layout.chunks([1, 2])
    });
    ndzarr::store::block_on(future).expect_err("two axes of four");
    assert!(store.keys().is_empty(), "{:?}", store.keys());
    Multiscale::create(&store, Format::Zarr3, &new, |layout| {
        layout.chunks([1, 2, 3, 4])
    })
    .expect("it is valid");
}
