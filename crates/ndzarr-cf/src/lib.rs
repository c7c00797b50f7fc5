//! Datasets of [xarray](https://docs.xarray.dev) and of the
//! [CF conventions](https://cfconventions.org) in Zarr: packed numbers, missing values, times in
//! every calendar, coordinates and their labels.
//!
//! A [`Dataset`] is a group of arrays; a [`Variable`] of it is selected by labels and read decoded.
//! Elements that xarray writes are read as xarray shows them, and the reverse.
//!
//! ```
//! use ndarray::array;
//! use ndzarr::{DataType, Format, MemoryStore};
//! use ndzarr_cf::{Dataset, Time};
//! use serde_json::json;
//!
//! # let store = MemoryStore::new();
//! # let mut new = Dataset::create(&store, Format::Zarr3)?;
//! # let hours = json!({"units": "hours since 2001-05-31"});
//! # new.create_variable("time", DataType::Int { bits: 64 }, [("time", 3)], hours, |layout| layout)?
//! #     .write_times(&array![1, 2, 3].mapv(|day| Time::from(jiff::civil::date(2001, 6, day))))?;
//! # new.create_variable("t2m", DataType::Int { bits: 16 }, [("time", 3)], json!({"scale_factor": 0.1}), |layout| layout)?
//! #     .write(array![280.0, 281.0, 282.5])?;
//! // `Dataset::open("era5.zarr")` opens a folder.
//! let t2m = Dataset::open(&store)?.variable("t2m")?.sel("time", "2001-06-02"..="2001-06-03")?;
//! assert!((t2m.read_as::<f64>()?.sum() - 563.5).abs() < 1e-9);
//! # Ok::<(), ndzarr_cf::Error>(())
//! ```
#![forbid(unsafe_code)]

mod attributes;
mod contents;
mod coordinate;
mod dataset;
mod encoding;
mod error;
mod into_numbers;
mod new_variable;
mod selected;
mod time;
mod variable;

pub mod asynchronous;

// What the crate exports is tested in the program of its unit tests.
#[cfg(test)]
extern crate self as ndzarr_cf;
#[cfg(test)]
#[path = "../tests/it/main.rs"]
mod it;
#[cfg(any(doc, doctest))]
#[doc = include_str!("guide-links.txt")]
#[doc = include_str!("../guide/cf.md")]
pub mod guide {}

pub use coordinate::labels::Labels;
pub use error::{Error, Result};
pub use time::Time;
pub use time::calendar::Calendar;
pub use variable::Variable;

/// A dataset: the arrays of one group, as variables with dimensions, coordinates and units.
///
/// Opening reads only metadata, with one request if the group has consolidated metadata. It is
/// cheap to clone. [`asynchronous::Dataset`] has the same calls as futures.
///
/// ```
/// use ndarray::array;
/// use ndzarr::{DataType, Format, MemoryStore};
/// use ndzarr_cf::{Dataset, Labels};
/// use serde_json::json;
///
/// let store = MemoryStore::new();
/// let mut new = Dataset::create(&store, Format::Zarr2)?;
/// let float = DataType::Float { bits: 64 };
/// new.create_variable("lat", float, [("lat", 3)], json!({"units": "degrees_north"}), |layout| layout)?
///     .write(array![60.0, 50.0, 40.0])?;
/// let packed = json!({"scale_factor": 0.01, "add_offset": 273.15, "_FillValue": -32768, "units": "K"});
/// new.create_variable("t", DataType::Int { bits: 16 }, [("lat", 3)], packed, |layout| layout.chunks([2]))?
///     .write(array![280.0, f64::NAN, 290.5])?;
///
/// let dataset = Dataset::open(&store)?;
/// assert_eq!((dataset.coordinates(), dataset.data_variables()), (vec!["lat"], vec!["t"]));
/// let t = dataset.variable("t")?;
/// assert_eq!(t.sel("lat", 45.0..=60.0)?.read_as::<f64>()?[[0]], 280.0);
/// assert!(t.sel("lat", Labels::nearest(51.0))?.read_as::<f64>()?[[]].is_nan());
/// # Ok::<(), ndzarr_cf::Error>(())
/// ```
pub type Dataset = dataset::Dataset<ndzarr::Blocking>;
