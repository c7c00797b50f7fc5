//! Runs the examples, which fail if they read anything but what was written.

use std::path::{Path, PathBuf};

use examples::{async_read, climate, converter, dump, own_store, points, pyramid, tour};
use ndarray::{Array1, Array3, array};
use ndzarr::{Array, Cancel, CopyOptions, DataType, Datetime64, ErrorKind, Group, TimeUnit, copy};

/// What xarray makes of the box of the example about climate.
const MEAN: f64 = 284.271_428_571_428_5;

#[test]
fn the_tour_runs() {
    tour::main().expect("every array of the tour is read as it was written");
}

#[test]
fn asynchronous_reads_run() {
    async_read::main().expect("the store never fails");
}

#[test]
fn a_custom_store_runs() {
    own_store::main().expect("the store never fails");
}

/// The mean is from xarray 2026.9: `ds.t2m.sel(time=slice("2001-06-28", "2001-06-30"),
/// lat=slice(50, 35), lon=slice(2, 8)).mean()`, of 35 numbers and one that is missing; the rest is
/// what was given to xarray.
#[test]
fn the_climate_is_that_of_xarray() {
    climate::main().expect("the datasets exist");
    for format in ["v2", "v3"] {
        let store = |name| testdata(&format!("cf/xarray-{name}-{format}/store"));
        let check = |weather: &Path| {
            let read = climate::climate(weather, &store("kinds")).expect("they are datasets");
            assert!((read.mean - MEAN).abs() < 1e-11, "{format}: {}", read.mean);
            let times = read
                .times
                .map(|time| time.expect("no time is missing").to_string());
            let twice_a_day = [28, 29, 30]
                .into_iter()
                .flat_map(|day| ["00", "12"].map(|hour| format!("2001-06-{day}T{hour}:00:00")));
            assert!(times.into_iter().eq(twice_a_day), "{format}");
            assert_eq!(read.heights.as_slice(), Some(&[23, 540][..]));
            assert_eq!(
                read.codes,
                array!["os", "b"].mapv(str::to_owned).into_dyn().into()
            );
        };
        check(&store("packed"));
        // Times in NumPy's own type.
        let folder = tempfile::tempdir().expect("a folder");
        let weather = folder.path().join("weather");
        copy(store("packed"), &weather, &CopyOptions::new()).expect("a copy");
        let group = Group::open(&weather).expect("a group");
        group.erase("time").expect("it exists");
        let seconds = DataType::DateTime64 {
            unit: TimeUnit::Second,
            scale: 1,
        };
        let time = Array::<Datetime64>::builder([6])
            .data_type(seconds)
            .dimension_names(["time"]);
        let time = group.create_array("time", time).expect("a new array");
        let first = 993_686_400;
        time.write(
            ..,
            &Array1::from_iter((0..6).map(|n| Datetime64(first + n * 43_200))),
        )
        .expect("it fits");
        check(&weather);
    }
}

fn testdata(case: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../testdata")
        .join(case)
}

/// What the writer of a case stored, as numbers of 2 bytes.
fn written(case: &str) -> Vec<u16> {
    let bytes =
        std::fs::read(testdata(case).join("expected.bin")).expect("the case has its elements");
    bytes
        .chunks_exact(2)
        .map(|pair| u16::from_le_bytes([pair[0], pair[1]]))
        .collect()
}

#[test]
fn the_converter_keeps_what_tensorstore_wrote_and_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = testdata("n5/ts-3d/store/a");
    let target = folder.path().join("a.zarr");
    let cancel = Cancel::new();
    cancel.cancel();
    let stopped = converter::convert(&source, &target, &cancel).expect_err("it was stopped");
    assert_eq!(stopped.kind(), ErrorKind::Cancelled);
    assert!(Array::<u16>::open(&target).is_err(), "it is not complete");
    converter::convert(&source, &target, &Cancel::new()).expect("it goes on");
    let a = Array::<u16>::open(&target).expect("the copy");
    assert_eq!(
        (a.shard_shape(), a.chunk_shape()),
        (Some(&[256, 256, 256][..]), vec![64, 64, 64])
    );
    let all = a.read(..).expect("a read");
    assert!(all.iter().copied().eq(written("n5/ts-3d")), "{all}");
}

/// The elements are the sums of their coordinates, so every sum can be computed without an array.
#[test]
fn points_lists_and_masks_pick_what_their_coordinates_say() {
    points::main().expect("the store never fails");
    let volume = points::volume([96, 80, 64]).expect("there is memory");
    let sum = |[z, y, x]: [usize; 3]| (z + y + x) as u32;
    let spiral = points::spiral();
    let rows = [90, 3, 3]
        .into_iter()
        .flat_map(|z| [79, 0].map(|y| (0..64).map(|x| sum([z, y, x])).sum::<u32>()));
    let plane = (0..96).map(|z| sum([z, 40, 10]) + sum([z, 40, 20]));
    // Planes 95, 93, … 85: the sixth.
    let thinned = (0..80)
        .step_by(2)
        .flat_map(|y| (0..64).step_by(2).map(move |x| sum([85, y, x])));
    let expected = [
        spiral.iter().map(|&point| sum(point)).sum::<u32>(),
        rows.sum::<u32>(),
        (0..64).map(|at| 3 * at).sum::<u32>(),
        plane.sum::<u32>(),
        thinned.sum::<u32>(),
    ];
    assert_eq!(points::pick(&volume).expect("it fits"), expected);
    let distinct: std::collections::BTreeSet<_> = spiral.into_iter().collect();
    // The origin was 0 before, and is one of the points.
    assert_eq!(points::blank(&volume).expect("it fits"), distinct.len());
}

#[test]
fn the_dump_has_the_numbers_that_were_written() {
    let numbers = written("n5/ts-3d");
    let least = numbers.iter().min().expect("some");
    let most = numbers.iter().max().expect("some");
    let mean = numbers.iter().map(|&number| f64::from(number)).sum::<f64>() / numbers.len() as f64;
    let dumped = dump::dump(testdata("n5/ts-3d/store/a")).expect("it opens");
    let expected = format!("uint16 [5, 4, 3] in [2, 3, 2]: {least} to {most}, mean {mean}\n");
    assert!(dumped.ends_with(&expected), "{dumped} {expected}");
    // Every type and format of the cases has a line.
    for (case, what) in [
        ("zarr3/zp3-dtype-bytes", "bytes"),
        ("zarr2/zp2-dtype-struct-mixed-endian", "struct"),
        ("zarr3/zp3-dtype-b1-le", "bool"),
    ] {
        let dumped = dump::dump(testdata(case).join("store")).expect("it opens");
        assert!(
            dumped.contains(what) && !dumped.contains("cannot be read"),
            "{case}: {dumped}"
        );
    }
}

/// The element at z, y, x is 100 z + y + x; by hand, the mean of 2 x 2 x 2 of them is
/// 200 z + 2 y + 2 x + 51, and that of 4 x 4 x 4 is 400 z + 4 y + 4 x + 153.
#[test]
fn the_pyramid_has_the_means() {
    pyramid::main().expect("the folder is empty");
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("volume.zarr");
    let volume = Array::<u16>::builder([20, 40, 44])
        .chunks([7, 16, 16])
        .create(&source)
        .expect("a new array");
    let elements = Array3::from_shape_fn((20, 40, 44), |(z, y, x)| (100 * z + y + x) as u16);
    volume.write(.., &elements).expect("it fits");
    let image =
        pyramid::pyramid(&source, &folder.path().join("image.ome.zarr")).expect("it is a volume");
    for (level, shape, [of_z, of_yx, offset]) in [
        (0, (20, 40, 44), [100, 1, 0]),
        (1, (10, 20, 22), [200, 2, 51]),
        (2, (5, 10, 11), [400, 4, 153]),
    ] {
        let expected = Array3::from_shape_fn(shape, |(z, y, x)| {
            (of_z * z + of_yx * (y + x) + offset) as u16
        });
        let read = image
            .array(level)
            .expect("it exists")
            .read(..)
            .expect("it is whole");
        assert_eq!(read, expected.into_dyn().into(), "level {level}");
    }
}
