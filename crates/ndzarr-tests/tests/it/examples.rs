//! Runs the examples, which fail if they read anything but what was written.

use std::path::Path;

use examples::{async_read, climate, own_store, pyramid, tour};
use ndarray::Array3;
use ndzarr::Array;

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
fn a_store_of_ones_own_runs() {
    own_store::main().expect("the store never fails");
}

/// From xarray 2026.9: `ds.t2m.sel(time=slice("2001-06-28", "2001-06-30"), lat=slice(50, 35),
/// lon=slice(2, 8)).mean()`, of 35 numbers and one that is missing.
#[test]
fn the_climate_has_the_mean_of_xarray() {
    climate::main().expect("the datasets are there");
    for dataset in ["xarray-packed-v2", "xarray-packed-v3"] {
        let store =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/cf").join(dataset).join("store");
        let mean = climate::mean(&store).expect("it is a dataset");
        assert!((mean - MEAN).abs() < 1e-11, "{dataset}: {mean}");
    }
}

/// The element at z, y, x is 100 z + y + x; by hand, the mean of 2 x 2 x 2 of them is
/// 200 z + 2 y + 2 x + 51, and that of 4 x 4 x 4 is 400 z + 4 y + 4 x + 153.
#[test]
fn the_pyramid_has_the_means() {
    pyramid::main().expect("the folder is empty");
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("volume.zarr");
    let volume =
        Array::<u16>::builder([20, 40, 44]).chunks([7, 16, 16]).create(&source).expect("a new array");
    let elements = Array3::from_shape_fn((20, 40, 44), |(z, y, x)| (100 * z + y + x) as u16);
    volume.write(.., &elements).expect("it fits");
    let image = pyramid::pyramid(&source, &folder.path().join("image.ome.zarr")).expect("it is a volume");
    for (level, shape, [of_z, of_yx, offset]) in
        [(0, (20, 40, 44), [100, 1, 0]), (1, (10, 20, 22), [200, 2, 51]), (2, (5, 10, 11), [400, 4, 153])]
    {
        let expected = Array3::from_shape_fn(shape, |(z, y, x)| (of_z * z + of_yx * (y + x) + offset) as u16);
        let read = image.array(level).expect("it is there").read(..).expect("it is whole");
        assert_eq!(read, expected.into_dyn().into(), "level {level}");
    }
}
