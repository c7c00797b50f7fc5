//! The mean temperature of a region and a time of a dataset that xarray wrote: packed integers with
//! missing values, and times by the conventions of CF.
//!
//! ```sh
//! cargo run --release -p examples climate
//! ```
#![allow(clippy::print_stdout)]

use std::path::Path;

use ndzarr_cf::{Dataset, Result};

/// Runs the example.
///
/// # Errors
/// The dataset cannot be read.
pub fn main() -> Result<()> {
    let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/cf");
    for dataset in ["xarray-packed-v2", "xarray-packed-v3"] {
        println!("{dataset}: {:.2} K", mean(&testdata.join(dataset).join("store"))?);
    }
    Ok(())
}

/// The mean over the last three days of June, and over middle Europe.
///
/// # Errors
/// The dataset cannot be read.
pub fn mean(place: &Path) -> Result<f64> {
    let region = Dataset::open(place)?
        .variable("t2m")?
        .sel("time", "2001-06-28"..="2001-06-30")?
        .sel("lat", 35.0..=50.0)?
        .sel("lon", 2.0..=8.0)?;
    let temperatures = region.read_as::<f64>()?;
    let present: Vec<f64> = temperatures.into_iter().filter(|number| !number.is_nan()).collect();
    Ok(present.iter().sum::<f64>() / present.len() as f64)
}
