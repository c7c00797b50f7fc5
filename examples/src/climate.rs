//! Climate data that xarray wrote: the mean temperature of a region and a time, from packed
//! integers with missing values and times by the conventions of CF, and stations by their names.
//!
//! ```sh
//! cargo run --release -p examples --features all climate
//! ```
#![allow(clippy::print_stdout)]

use std::path::Path;

use ndarray::ArrayD;
use ndzarr::AnyElements;
use ndzarr_cf::{Dataset, Result, Time};

/// What is read from the datasets.
#[derive(Debug)]
pub struct Climate {
    /// The mean temperature of the last three days of June in middle Europe.
    pub mean: f64,
    /// The times of these days.
    pub times: ArrayD<Option<Time>>,
    /// The heights of two stations in metres.
    pub heights: ArrayD<i16>,
    /// The codes of these stations.
    pub codes: AnyElements,
}

/// Runs the example.
///
/// # Errors
/// The datasets cannot be read.
pub fn main() -> Result<()> {
    let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/cf");
    for format in ["v2", "v3"] {
        let dataset = |name| testdata.join(format!("xarray-{name}-{format}/store"));
        println!(
            "{format}: {:?}",
            climate(&dataset("packed"), &dataset("kinds"))?
        );
    }
    Ok(())
}

/// Reads both datasets.
///
/// # Errors
/// A dataset cannot be read.
pub fn climate(weather: &Path, stations: &Path) -> Result<Climate> {
    let t2m = Dataset::open(weather)?.variable("t2m")?;
    let days = t2m.sel("time", "2001-06-28"..="2001-06-30")?;
    let region = days.sel("lat", 35.0..=50.0)?.sel("lon", 2.0..=8.0)?;
    let temperatures = region.read_as::<f64>()?;
    let present: Vec<f64> = temperatures
        .into_iter()
        .filter(|number| !number.is_nan())
        .collect();
    let mean = present.iter().sum::<f64>() / present.len() as f64;
    let times = days.coordinate("time")?.read_times()?;

    let heights = Dataset::open(stations)?
        .variable("height")?
        .sel("station", ["Oslo", "Bern"])?;
    let codes = heights.coordinate("code")?.read()?;
    Ok(Climate {
        mean,
        times,
        heights: heights.read_as()?,
        codes,
    })
}
