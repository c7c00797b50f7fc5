//! Images of existing elements: of arrays, and levels for images with one.

use std::sync::atomic::{AtomicU64, Ordering};

use ndarray::{Array2, ArrayD};
use ndzarr::{
    AnyArray, AnyElements, Array, Cancel, DataType, ErrorKind, Existing, Format, Group,
    MemoryStore, Progress, RunOptions, codec,
};
use ndzarr_ome::{Axis, Downsample, Multiscale, NewMultiscale};
use serde_json::{Value, json};

use super::{put, scale, space, translation};

const UINT16: DataType = DataType::UInt { bits: 16 };

fn axes() -> [(Axis, u64); 2] {
    [(Axis::new("y"), 6), (Axis::new("x"), 5)]
}

/// Elements 10 y + x, in chunks that do not divide the shape.
fn plain(store: &MemoryStore, format: Format) -> AnyArray {
    let array = Array::<u16>::builder([6, 5])
        .chunks([4, 2])
        .codecs([codec::gzip(1)])
        .fill_value(9)
        .format(format);
    let array = array.create((store, "plain")).expect("it is valid");
    array
        .write(
            ..,
            &Array2::from_shape_fn((6, 5), |(y, x)| (10 * y + x) as u16),
        )
        .expect("it fits");
    array.into()
}

fn read(image: &Multiscale, level: usize) -> ArrayD<u16> {
    match image.array(level).expect("it is there").read(..) {
        Ok(AnyElements::UInt16(elements)) => elements,
        other => panic!("{other:?}"),
    }
}

/// Means of 2 by 2: that of 0, 1, 10, 11 is 5.5, which becomes 6; that of only 4 and 14 is 9.
fn means() -> ArrayD<u16> {
    ndarray::array![[6, 8, 9], [26, 28, 29], [46, 48, 49]].into_dyn()
}

#[test]
fn an_array_becomes_an_image() {
    for format in [Format::Zarr2, Format::Zarr3] {
        let store = MemoryStore::new();
        let array = plain(&store, format);
        let new = NewMultiscale::new(UINT16, axes())
            .scale([2.0, 0.5])
            .levels(2);
        let options = RunOptions::default();
        let image = Multiscale::create_from(
            &array,
            (&store, "image"),
            format,
            &new,
            |layout| layout,
            &options,
        )
        .expect("it is valid");
        assert_eq!(
            read(&image, 0),
            Array2::from_shape_fn((6, 5), |(y, x)| (10 * y + x) as u16).into_dyn()
        );
        assert_eq!(read(&image, 1), means());
        let coarse = image.array(1).expect("it is there");
        assert_eq!(
            (coarse.chunk_shape(), coarse.fill_value()),
            (vec![4, 2], array.fill_value())
        );
        assert!(
            format!("{:?}", coarse.spec().codecs).contains("Gzip"),
            "{:?}",
            coarse.spec().codecs
        );
        assert_eq!(
            (&image.levels[1].scale[..], &image.levels[1].translation[..]),
            (&[4.0, 1.0][..], &[1.0, 0.25][..])
        );
        let findings = image.validate();
        assert!(
            !findings
                .iter()
                .any(|finding| finding.to_string().contains("must")),
            "{findings:?}"
        );
    }
}

/// At no step do the documents show a reader a level without its elements.
#[test]
fn an_interrupted_image_has_no_level_that_opens() {
    for format in [Format::Zarr2, Format::Zarr3] {
        let store = MemoryStore::new();
        let array = plain(&store, format);
        let new = NewMultiscale::new(UINT16, axes()).levels(2);
        let interrupted = |most: u64, existing: Existing| {
            let cancel = Cancel::new();
            let n_reports = AtomicU64::new(0);
            let stop = cancel.clone();
            let seen = store.clone();
            let on_progress = move |_: Progress| {
                let names = [".zarray", "zarr.json"];
                let is_level = |key: &String| {
                    key.starts_with("image/")
                        && key != "image/zarr.json"
                        && names.iter().any(|name| key.ends_with(name))
                };
                assert!(!seen.keys().iter().any(is_level), "{:?}", seen.keys());
                if n_reports.fetch_add(1, Ordering::SeqCst) + 1 == most {
                    stop.cancel();
                }
            };
            let options = RunOptions::default().cancel(cancel).progress(on_progress);
            let new = new.clone().existing(existing);
            Multiscale::create_from(
                &array,
                (&store, "image"),
                format,
                &new,
                |layout| layout,
                &options,
            )
        };
        for most in 1..6 {
            let error = interrupted(most, Existing::Replace).expect_err("it is cancelled");
            assert_eq!(error.kind(), Some(ErrorKind::Cancelled), "{error}");
            let group = Group::open((&store, "image")).expect("the group");
            assert_eq!(
                group.children().expect("a list").len(),
                0,
                "{format}, {most}"
            );
            assert!(Multiscale::open((&store, "image")).is_err());
            assert!(AnyArray::open((&store, "image/0")).is_err());
        }
        interrupted(100, Existing::Replace).expect("it ends");
        let image = Multiscale::open((&store, "image")).expect("an image");
        assert_eq!(read(&image, 1), means());
        assert!(
            !store.keys().iter().any(|key| key.contains(".ndzarr")),
            "{:?}",
            store.keys()
        );
    }
}

#[test]
fn until_all_elements_are_there_the_group_is_not_an_image() {
    let store = MemoryStore::new();
    let array = plain(&store, Format::Zarr3);
    let new = NewMultiscale::new(UINT16, axes()).levels(2);
    let create = |new: &NewMultiscale, options: RunOptions| {
        Multiscale::create_from(
            &array,
            (&store, "image"),
            Format::Zarr3,
            new,
            |layout| layout,
            &options,
        )
    };
    let cancel = Cancel::new();
    let stop = cancel.clone();
    let options = RunOptions::default()
        .cancel(cancel)
        .progress(move |_| stop.cancel());
    assert_eq!(
        create(&new, options).expect_err("it was cancelled").kind(),
        Some(ErrorKind::Cancelled)
    );
    let error = Multiscale::open((&store, "image"))
        .expect_err("it has no metadata")
        .to_string();
    assert_eq!(error, "the group at \"image\" has no multiscale image");
    let again = create(&new, RunOptions::default()).expect_err("a group is there");
    assert_eq!(again.kind(), Some(ErrorKind::AlreadyExists));
    let image =
        create(&new.existing(Existing::Replace), RunOptions::default()).expect("it is replaced");
    assert_eq!(read(&image, 1), means());
}

#[test]
fn arrays_that_do_not_fit_are_refused_before_anything_is_written() {
    let store = MemoryStore::new();
    let array = plain(&store, Format::Zarr3);
    let bools: AnyArray = Array::<bool>::builder([6, 5])
        .create((&store, "bools"))
        .expect("it is valid")
        .into();
    let keys = store.keys();
    let other = [(Axis::new("y"), 6), (Axis::new("x"), 6)];
    for (array, new, expected) in [
        (&array, NewMultiscale::new(UINT16, other), "[6, 5]"),
        (
            &array,
            NewMultiscale::new(DataType::UInt { bits: 8 }, axes()),
            "uint16",
        ),
        (
            &bools,
            NewMultiscale::new(DataType::Bool, axes()),
            "no mean",
        ),
    ] {
        let options = RunOptions::default();
        let image = Multiscale::create_from(
            array,
            (&store, "image"),
            Format::Zarr3,
            &new,
            |layout| layout,
            &options,
        );
        let what = image.expect_err(expected).to_string();
        assert!(what.contains(expected), "{what}");
    }
    let image = Multiscale::create_from(
        &array,
        (&store, "image"),
        Format::Zarr3,
        &NewMultiscale::new(UINT16, axes()),
        |layout| layout.chunks([1]),
        &RunOptions::default(),
    );
    image.expect_err("chunks of one axis");
    assert_eq!(store.keys(), keys);
}

/// An image of one level by another program, whose entry scales all levels.
fn one_level(attributes: Value) -> MemoryStore {
    let store = MemoryStore::new();
    put(&store, "g/.zgroup", &json!({"zarr_format": 2}));
    put(&store, "g/.zattrs", &attributes);
    let array = Array::<u16>::builder([6, 5])
        .chunks([4, 2])
        .format(Format::Zarr2)
        .create((&store, "g/a/s0"));
    let elements = Array2::from_shape_fn((6, 5), |(y, x)| (10 * y + x) as u16);
    array
        .and_then(|array| array.write(.., &elements))
        .expect("it fits");
    store
}

fn entry() -> Value {
    json!({"version": "0.4", "axes": space(&["y", "x"]), "name": "cells", "datasets": [
        {"path": "a/s0/", "coordinateTransformations": [scale(&[2.0, 1.0]), translation(&[0.0, 3.0])]}],
        "coordinateTransformations": [scale(&[10.0, 10.0])]})
}

#[test]
fn an_image_of_one_level_gets_the_others() {
    let store = one_level(json!({"multiscales": [entry()], "omero": {"channels": []}}));
    let image = Multiscale::open((&store, "g")).expect("it is an image");
    let new = image
        .to_new()
        .expect("it is of 0.4")
        .factors([2, 2])
        .levels(2);
    let image = image
        .add_levels(&new, |layout| layout, &RunOptions::default())
        .expect("they fit");
    assert_eq!(read(&image, 1), means());
    // Of the dataset 4 and 2, and (2 - 1) / 2 of 2 and 1; times 10.
    assert_eq!(
        (&image.levels[1].scale[..], &image.levels[1].translation[..]),
        (&[40.0, 20.0][..], &[10.0, 35.0][..])
    );
    let attributes = Group::open((&store, "g"))
        .expect("it is there")
        .attributes()
        .clone();
    let mut expected = entry();
    let added = json!({"path": "a/s1", "coordinateTransformations": [scale(&[4.0, 2.0]), translation(&[1.0, 3.5])]});
    expected["datasets"]
        .as_array_mut()
        .expect("a list")
        .push(added);
    let mut written = attributes["multiscales"][0].clone();
    assert_eq!(written["type"], "mean");
    for key in ["type", "metadata"] {
        written.as_object_mut().expect("an object").remove(key);
    }
    assert_eq!(written, expected);
    assert_eq!(attributes["omero"], json!({"channels": []}));
    let what = image
        .add_levels(&new, |layout| layout, &RunOptions::default())
        .expect_err("it has them")
        .to_string();
    assert_eq!(what, "the image has 2 levels already");
}

#[test]
fn an_array_next_to_an_image_is_replaced_only_with_overwrite() {
    let store = one_level(json!({"multiscales": [entry()]}));
    Array::<u8>::builder([3])
        .format(Format::Zarr2)
        .create((&store, "g/a/s1"))
        .expect("it is valid");
    let image = Multiscale::open((&store, "g")).expect("it is an image");
    let new = image
        .to_new()
        .expect("it is of 0.4")
        .levels(2)
        .method(Downsample::Stride);
    let error = image
        .add_levels(&new, |layout| layout, &RunOptions::default())
        .expect_err("an array is there");
    assert_eq!(error.kind(), Some(ErrorKind::AlreadyExists), "{error}");
    let image = image
        .add_levels(&new, |layout| layout.overwrite(), &RunOptions::default())
        .expect("it overwrites");
    assert_eq!(
        read(&image, 1),
        ndarray::array![[0, 2, 4], [20, 22, 24], [40, 42, 44]].into_dyn()
    );
    assert_eq!(image.method.as_deref(), Some("stride"));
}

#[test]
fn levels_are_added_to_one_image_of_a_version_that_is_written() {
    let oldest = json!({"version": "0.3", "axes": ["y", "x"], "datasets": [{"path": "a/s0"}]});
    for (attributes, expected) in [
        (
            json!({"multiscales": [oldest]}),
            "levels are added to images of OME-Zarr 0.4",
        ),
        (
            json!({"multiscales": [entry(), entry()]}),
            "the group has 2 images",
        ),
    ] {
        let store = one_level(attributes);
        let group = Group::open((&store, "g")).expect("it is a group");
        let image = Multiscale::find(&group).expect("they are images").remove(0);
        let what = image.to_new().expect_err(expected).to_string();
        assert!(what.starts_with(expected), "{what}");
        let new = NewMultiscale::new(UINT16, axes()).levels(2);
        let what = image
            .add_levels(&new, |layout| layout, &RunOptions::default())
            .expect_err(expected);
        assert!(what.to_string().starts_with(expected), "{what}");
    }
}

#[test]
fn metadata_that_changed_meanwhile_stay() {
    let store = one_level(json!({"multiscales": [entry()]}));
    let image = Multiscale::open((&store, "g")).expect("it is an image");
    let new = image.to_new().expect("it is of 0.4").levels(2);
    let mut other = entry();
    other["datasets"][0]["path"] = "elsewhere".into();
    put(&store, "g/.zattrs", &json!({"multiscales": [other]}));
    let what = image
        .add_levels(&new, |layout| layout, &RunOptions::default())
        .expect_err("it changed")
        .to_string();
    assert_eq!(what, "the image at \"g\" has other levels than before");
    let attributes = Group::open((&store, "g"))
        .expect("it is there")
        .attributes()
        .clone();
    assert_eq!(attributes["multiscales"], json!([other]));
}
