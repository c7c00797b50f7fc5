//! Making the elements of levels.

use ndarray::{Array2, Array3, ArrayD};
use ndzarr::{AnyElements, Cancel, DataType, ErrorKind, Format, MemoryStore, RunOptions};
use ndzarr_ome::{Axis, Downsample, Multiscale, NewMultiscale};
use serde_json::json;

use super::{open, scale, space, translation, zarr2};

const UINT16: DataType = DataType::UInt { bits: 16 };

fn made(new: &NewMultiscale, chunks: &[u64], shards: Option<&[u64]>) -> Multiscale {
    let create = Multiscale::create(MemoryStore::new(), Format::Zarr3, new, |layout| {
        let layout = layout.chunks(chunks);
        if let Some(shards) = shards {
            layout.shards(shards)
        } else {
            layout
        }
    });
    create.expect("it is valid")
}

fn axes(shape: &[u64]) -> Vec<(Axis, u64)> {
    let names = &["t", "c", "z", "y", "x"][5 - shape.len()..];
    names
        .iter()
        .map(|name| Axis::new(*name))
        .zip(shape.iter().copied())
        .collect()
}

/// The definition: the group of elements that each element is made of, reduced by the method.
fn naive(fine: &ArrayD<u16>, factors: &[usize], method: Downsample) -> ArrayD<u16> {
    let shape: Vec<usize> = fine
        .shape()
        .iter()
        .zip(factors)
        .map(|(len, f)| len.div_ceil(*f))
        .collect();
    let mut groups = ArrayD::from_elem(shape, Vec::new());
    for (at, &element) in fine.indexed_iter() {
        let group: Vec<usize> = (0..factors.len())
            .map(|axis| at[axis] / factors[axis])
            .collect();
        groups[&group[..]].push(element);
    }
    groups.mapv_into_any(|mut group: Vec<u16>| match method {
        Downsample::Mean => {
            let sum: u64 = group.iter().map(|x| u64::from(*x)).sum();
            let n = group.len() as u64;
            let whole = sum / n;
            let rest = sum % n;
            (whole + u64::from(2 * rest > n || 2 * rest == n && whole % 2 == 1)) as u16
        }
        Downsample::Mode => {
            group.sort_unstable();
            let count = |value: u16| group.iter().filter(|other| **other == value).count();
            let most = group.iter().map(|value| count(*value)).max();
            group
                .iter()
                .copied()
                .find(|value| Some(count(*value)) == most)
                .expect("no group is empty")
        }
        _ => group[0],
    })
}

#[test]
fn levels_equal_their_definition_whatever_the_chunks() {
    // Odd lengths, chunks that divide nothing, shards, one chunk, chunks of single rows.
    let layouts: [(&[u64], Option<&[u64]>); 5] = [
        (&[1, 7, 5, 9], None),
        (&[2, 4, 4, 4], Some(&[2, 8, 8, 16])),
        (&[3, 17, 21, 26], None),
        (&[1, 1, 21, 26], None),
        (&[2, 3, 3, 3], Some(&[2, 6, 9, 12])),
    ];
    let shape = [3, 17, 21, 26];
    let elements = ArrayD::from_shape_fn(vec![3, 17, 21, 26], |at| {
        ((at[0] * 7919 + at[1] * 104 + at[2] * 31 + at[3] * 17) % 50) as u16
    });
    for factors in [[1, 2, 2, 2], [1, 1, 3, 2], [2, 4, 1, 5]] {
        for method in [Downsample::Mean, Downsample::Mode, Downsample::Stride] {
            let usize_factors = factors.map(|f| f as usize);
            let first = naive(&elements, &usize_factors, method);
            let second = naive(&first, &usize_factors, method);
            for (chunks, shards) in layouts {
                let new = NewMultiscale::new(UINT16, axes(&shape))
                    .factors(factors)
                    .levels(3)
                    .method(method);
                let image = made(&new, chunks, shards);
                image
                    .array(0)
                    .and_then(|array| Ok(array.write(.., &elements.clone().into())?))
                    .expect("it fits");
                // Little memory, so that blocks are made in parts.
                let options = RunOptions::default().bytes_in_flight(20_000);
                image.make_levels(method, &options).expect("they fit");
                for (level, expected) in [(1, &first), (2, &second)] {
                    let read = image
                        .array(level)
                        .expect("it is there")
                        .read(..)
                        .expect("it is whole");
                    assert_eq!(
                        read,
                        AnyElements::UInt16(expected.clone()),
                        "{method:?} {factors:?} {chunks:?} {level}"
                    );
                }
            }
        }
    }
}

#[test]
fn labels_of_every_width_and_bools_keep_their_values() {
    let ids = Array2::from_shape_fn((6, 8), |(y, x)| {
        if x < 4 {
            u64::MAX - 1
        } else {
            (1 << 60) + y as u64 / 4
        }
    });
    let image = made(
        &NewMultiscale::new(DataType::UInt { bits: 64 }, axes(&[6, 8]))
            .levels(2)
            .method(Downsample::Mode),
        &[4, 4],
        None,
    );
    image
        .array(0)
        .and_then(|array| Ok(array.write(.., &ids.into())?))
        .expect("it fits");
    image
        .make_levels(Downsample::Mode, &RunOptions::default())
        .expect("they fit");
    let AnyElements::UInt64(read) = image
        .array(1)
        .expect("it is there")
        .read(..)
        .expect("it is whole")
    else {
        panic!("they are uint64")
    };
    assert_eq!(
        read,
        ndarray::array![
            [u64::MAX - 1, u64::MAX - 1, 1 << 60, 1 << 60],
            [u64::MAX - 1, u64::MAX - 1, 1 << 60, 1 << 60],
            [u64::MAX - 1, u64::MAX - 1, (1 << 60) + 1, (1 << 60) + 1],
        ]
        .into_dyn()
    );

    let mask = Array2::from_shape_fn((4, 4), |(y, _)| y > 0);
    let new = NewMultiscale::new(DataType::Bool, axes(&[4, 4]))
        .levels(2)
        .method(Downsample::Mode);
    let image = made(&new, &[4, 4], None);
    image
        .array(0)
        .and_then(|array| Ok(array.write(.., &mask.into())?))
        .expect("it fits");
    image
        .make_levels(Downsample::Mode, &RunOptions::default())
        .expect("they fit");
    let read = image
        .array(1)
        .expect("it is there")
        .read(..)
        .expect("it is whole");
    // Two of each in the first rows: the least.
    assert_eq!(
        read,
        AnyElements::Bool(ndarray::array![[false, false], [true, true]].into_dyn())
    );
    let what = image
        .make_levels(Downsample::Mean, &RunOptions::default())
        .expect_err("bools")
        .to_string();
    assert!(what.contains("no mean"), "{what}");
}

#[test]
fn what_does_not_fit_is_refused_before_anything_is_made() {
    let new = NewMultiscale::new(UINT16, axes(&[64, 64])).levels(3);
    let image = made(&new, &[16, 16], None);
    image
        .array(0)
        .and_then(|array| Ok(array.write(.., &Array2::<u16>::ones((64, 64)).into())?))
        .expect("it fits");
    let what = image
        .make_levels(Downsample::Stride, &RunOptions::default())
        .expect_err("they are means")
        .to_string();
    assert!(what.contains("of a stride it is 0"), "{what}");

    let mut other = image.clone();
    other.levels[2].scale = vec![5.0, 5.0];
    let what = other
        .make_levels(Downsample::Mean, &RunOptions::default())
        .expect_err("5 / 2")
        .to_string();
    assert!(what.contains("not a multiple of 2"), "{what}");
    other = image.clone();
    image
        .array(2)
        .and_then(|mut array| Ok(array.resize([15, 16])?))
        .expect("it can shrink");
    let what = other
        .make_levels(Downsample::Mean, &RunOptions::default())
        .expect_err("15 rows")
        .to_string();
    assert!(what.contains("the shape [15, 16], not [16, 16]"), "{what}");
    assert_eq!(
        other
            .array(1)
            .expect("it is there")
            .units()
            .stored()
            .expect("memory lists")
            .len(),
        0
    );

    let new = NewMultiscale::new(DataType::Complex { bits: 64 }, axes(&[4, 4])).levels(2);
    let what = made(&new, &[4, 4], None)
        .make_levels(Downsample::Mean, &RunOptions::default())
        .expect_err("complex")
        .to_string();
    assert!(what.contains("complex64"), "{what}");
}

#[test]
fn errors_of_chunks_and_cancelling_stop_the_call() {
    let store = MemoryStore::new();
    let new = NewMultiscale::new(UINT16, axes(&[64, 64])).levels(2);
    let image = Multiscale::create(&store, Format::Zarr3, &new, |layout| {
        layout.chunks([16, 16])
    })
    .expect("it is valid");
    image
        .array(0)
        .and_then(|array| Ok(array.write(.., &Array2::<u16>::ones((64, 64)).into())?))
        .expect("it fits");
    let cancel = Cancel::new();
    cancel.cancel();
    let error = image
        .make_levels(Downsample::Mean, &RunOptions::default().cancel(cancel))
        .expect_err("it was cancelled");
    assert_eq!(error.kind(), Some(ErrorKind::Cancelled), "{error}");
    store
        .set("0/c/3/3", &b"broken"[..])
        .expect("memory never fails");
    let error = image
        .make_levels(Downsample::Mean, &RunOptions::default())
        .expect_err("a chunk is broken");
    assert_eq!(error.kind(), Some(ErrorKind::Corrupt), "{error}");
    assert!(error.to_string().contains("0/c/3/3"), "{error}");
}

/// Levels that another program has described: from 3, with a translation of its own, anisotropic.
#[test]
fn levels_that_others_described_are_made() {
    let store = MemoryStore::new();
    let names = [("a", [10u64, 9]), ("b", [10, 5]), ("c", [5, 2])];
    let scales = [
        ([0.3, 0.1], [7.0, 1.0]),
        ([0.3, 0.2], [7.0, 1.05]),
        ([0.6, 0.6], [7.15, 1.25]),
    ];
    let datasets = names.iter().zip(scales).map(|((name, _), (scale, translation))| {
        json!({"path": name, "coordinateTransformations": [super::scale(&scale), super::translation(&translation)]})
    });
    let attributes = json!({"multiscales": [{"version": "0.4", "axes": space(&["y", "x"]), "datasets": datasets.collect::<Vec<_>>()}]});
    super::put(&store, ".zgroup", &json!({"zarr_format": 2}));
    super::put(&store, ".zattrs", &attributes);
    for (name, shape) in names {
        let array = ndzarr::Array::<f32>::builder(shape)
            .chunks([4, 4])
            .format(Format::Zarr2)
            .create((&store, name));
        if name == "a" {
            array
                .expect("it is valid")
                .write(
                    ..,
                    &Array2::from_shape_fn((10, 9), |(y, x)| (y * 9 + x) as f32),
                )
                .expect("it fits");
        }
    }
    let image = open(&store);
    image
        .make_levels(Downsample::Mean, &RunOptions::default())
        .expect("they fit");
    let first_row = |level: usize| match image.array(level).expect("it is there").read(..) {
        Ok(AnyElements::Float32(elements)) => elements.index_axis_move(ndarray::Axis(0), 0),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        first_row(1).as_slice(),
        Some(&[0.5, 2.5, 4.5, 6.5, 8.0][..])
    );
    assert_eq!(first_row(2).as_slice(), Some(&[7.0, 11.75][..]));
}

/// Each chunk of the finest level is read once, as a whole.
#[test]
fn each_chunk_is_read_once() {
    use ndzarr::Storage;
    use ndzarr_testkit::CountingStore;
    let store = CountingStore::new(MemoryStore::new());
    let new = NewMultiscale::new(UINT16, axes(&[64, 64, 64])).levels(2);
    let place = Storage::blocking(store.clone());
    let image = Multiscale::create(&place, Format::Zarr3, &new, |layout| {
        layout.chunks([16, 16, 16])
    })
    .expect("it is valid");
    let elements = Array3::from_shape_fn((64, 64, 64), |(z, y, x)| (z + y + x) as u16);
    image
        .array(0)
        .and_then(|array| Ok(array.write(.., &elements.into())?))
        .expect("it fits");
    store.reset();
    image
        .make_levels(Downsample::Mean, &RunOptions::default())
        .expect("they fit");
    let counts = store.reset();
    // 64 chunks, and two documents.
    assert!(counts.fetches <= 64 + 4, "{counts:?}");
}

#[test]
fn damaged_chunks_of_the_coarser_level_are_replaced() {
    let store = MemoryStore::new();
    let new = NewMultiscale::new(UINT16, axes(&[32, 32])).levels(2);
    let image = Multiscale::create(&store, Format::Zarr3, &new, |layout| {
        layout.chunks([16, 16])
    })
    .expect("it is valid");
    let ones = Array2::<u16>::ones((32, 32));
    image
        .array(0)
        .and_then(|array| Ok(array.write(.., &ones.into())?))
        .expect("it fits");
    store
        .set("1/c/0/0", &b"broken"[..])
        .expect("memory never fails");
    image
        .make_levels(Downsample::Mean, &RunOptions::default())
        .expect("it is replaced");
    let read = image
        .array(1)
        .expect("it is there")
        .read(..)
        .expect("it is whole");
    assert_eq!(read, AnyElements::UInt16(Array2::ones((16, 16)).into_dyn()));
}

/// Factors of 1024 along seven axes have a product of 2^70.
#[test]
fn factors_with_a_product_above_u64_are_refused() {
    let names = ["a", "b", "c", "d", "e", "f", "g"];
    let dataset = |path: &str, size: f64| {
        let offset = (size - 1.0) / 2.0;
        json!({"path": path, "coordinateTransformations": [scale(&[size; 7]), translation(&[offset; 7])]})
    };
    let attributes = json!({"multiscales": [{"version": "0.4", "axes": space(&names),
        "datasets": [dataset("0", 1.0), dataset("1", 1024.0)]}]});
    let image = open(&zarr2(&attributes, &[("0", &[1; 7]), ("1", &[1; 7])]));
    let what = image
        .make_levels(Downsample::Mean, &RunOptions::default())
        .expect_err("2^70")
        .to_string();
    assert!(what.contains("stand for more than 1048576"), "{what}");
}

#[test]
fn the_metadata_state_the_method_that_was_used() {
    for format in [Format::Zarr2, Format::Zarr3] {
        let store = MemoryStore::new();
        let new = NewMultiscale::new(UINT16, axes(&[4, 4]))
            .levels(2)
            .name("cells");
        let image = Multiscale::create(&store, format, &new, |layout| layout);
        let image = image.expect("it is valid");
        assert_eq!(image.method.as_deref(), Some("mean"));
        let made = image.make_levels(Downsample::Mode, &RunOptions::default());
        let made = made.expect("they fit");
        let opened = open(&store);
        for image in [&made, &opened] {
            assert_eq!(image.method.as_deref(), Some("mode"), "{format:?}");
            assert_eq!(image.name.as_deref(), Some("cells"), "{format:?}");
            assert_eq!(image.levels.len(), 2, "{format:?}");
        }
    }
}

/// The group has two images, of which one is made again. The other has no method.
#[test]
fn only_the_image_that_is_made_again_states_the_method() {
    let dataset = |path: &str, size: f64| {
        let offset = (size - 1.0) / 2.0;
        json!({"path": path, "coordinateTransformations": [scale(&[size; 2]), translation(&[offset; 2])]})
    };
    let entry = |kind: Option<&str>, paths: [&str; 2]| {
        let datasets = [dataset(paths[0], 1.0), dataset(paths[1], 2.0)];
        let mut entry = json!({"version": "0.4", "axes": space(&["y", "x"]), "datasets": datasets});
        if let Some(kind) = kind {
            entry["type"] = kind.into();
            entry["metadata"] = json!({"method": "of another program"});
        }
        entry
    };
    let entries = [entry(Some("gaussian"), ["a", "b"]), entry(None, ["c", "d"])];
    let attributes = json!({"multiscales": entries, "mine": 1});
    let shapes: [(&str, &[u64]); 4] = [
        ("a", &[4, 4]),
        ("b", &[2, 2]),
        ("c", &[4, 4]),
        ("d", &[2, 2]),
    ];
    let store = zarr2(&attributes, &shapes);
    let group = ndzarr::Group::open(&store).expect("it is there");
    for image in Multiscale::find(&group).expect("there are two") {
        image
            .make_levels(Downsample::Mean, &RunOptions::default())
            .expect("they fit");
    }
    let group = ndzarr::Group::open(&store).expect("it is there");
    let stated = &group.attributes()["multiscales"];
    assert_eq!(stated[0]["type"], "mean");
    assert_eq!(
        stated[0]["metadata"]["method"],
        "ndzarr_ome::Multiscale::make_levels"
    );
    assert_eq!(
        stated[0]["datasets"],
        attributes["multiscales"][0]["datasets"]
    );
    assert_eq!(stated[1], attributes["multiscales"][1]);
    assert_eq!(group.attributes()["mine"], 1);
}
