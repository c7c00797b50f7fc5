//! Runs the examples, which fail if they read anything but what was written.

use std::path::Path;

use examples::{async_read, climate, own_store, tour};

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
