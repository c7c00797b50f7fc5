//! Images of several resolutions: [OME-Zarr](https://ngff.openmicroscopy.org) 0.1 to 0.6, and in N5
//! those of COSEM, BigDataViewer, n5-viewer and Paintera.
//!
//! A [`Multiscale`] has the same fields and calls for all of them: axes with units, levels from
//! fine to coarse with their scales and translations, and an array for each. OME-Zarr 0.4 and 0.5
//! are written.
//!
//! ```
//! use ndzarr::{DataType, Format, MemoryStore, RunOptions, ndarray::Array2};
//! use ndzarr_ome::{Axis, Downsample, Multiscale, NewMultiscale};
//!
//! let store = MemoryStore::new();
//! let axes = ["y", "x"].map(|name| (Axis::new(name).with_unit("micrometer"), 1000));
//! let new = NewMultiscale::new(DataType::UInt { bits: 16 }, axes).scale([0.2, 0.2]);
//! let image = Multiscale::create(&store, Format::Zarr3, &new, |layout| layout.chunks([250, 250]))?;
//! image.array(0)?.write(.., &Array2::from_shape_fn((1000, 1000), |(y, _)| y as u16).into())?;
//! image.make_levels(Downsample::Mean, &RunOptions::default())?;
//!
//! // `Multiscale::open("image.zarr")` opens a folder.
//! let image = Multiscale::open(&store)?;
//! let level = image.level_for(0.5, "µm")?;
//! assert_eq!(image.levels[level].scale, [0.4, 0.4]);
//! // The elements from 100 to 101 micrometers along y.
//! let array = image.array(level)?;
//! let region = image.levels[level].region(&[100.0..101.0, 0.0..1.0], array.shape());
//! assert_eq!(array.read_as::<f64, _>(&region, Default::default())?[[0, 0]], 500.0);
//! # Ok::<(), ndzarr_ome::Error>(())
//! ```
#![forbid(unsafe_code)]

mod axis;
mod convention;
mod create;
mod error;
mod find;
mod io;
mod json;
mod levels;
mod multiscale;
mod validate;

pub mod asynchronous;
#[cfg(any(doc, doctest))]
#[doc = include_str!("guide-links.txt")]
#[doc = include_str!("../guide/ome.md")]
pub mod guide {}
pub mod metadata;

// What the crate exports is tested in the program of its unit tests.
#[cfg(test)]
extern crate self as ndzarr_ome;
#[cfg(test)]
#[path = "../tests/it/main.rs"]
mod it;

pub use axis::{Axis, AxisKind};
pub use convention::Convention;
pub use create::new_multiscale::NewMultiscale;
pub use error::{Error, Result};
pub use levels::downsample::Downsample;
pub use levels::level::Level;
pub use metadata::Metadata;
pub use validate::{Finding, Requirement, validate};

/// An image of several resolutions, in OME-Zarr or one of the conventions of N5.
///
/// Its fields are what the metadata say, in the same terms for all [conventions](Convention): axes
/// in the order of the arrays, levels from fine to coarse. Opening reads only metadata; arrays are
/// opened one by one. [`asynchronous::Multiscale`] has these calls as futures, except for
/// `make_levels`.
///
/// ```
/// use ndzarr::{MemoryStore, ndarray::Array2};
/// use ndzarr_ome::Multiscale;
///
/// // An image that another program wrote.
/// let store = MemoryStore::new();
/// store.set(".zgroup", r#"{"zarr_format": 2}"#)?;
/// store.set(".zattrs", r#"{"multiscales": [{"version": "0.4", "axes": [
///     {"name": "y", "type": "space", "unit": "micrometer"}, {"name": "x", "type": "space", "unit": "micrometer"}],
///     "datasets": [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [0.5, 0.25]}]}]}]}"#)?;
/// store.set("0/.zarray", r#"{"zarr_format": 2, "shape": [40, 60], "chunks": [40, 60], "dtype": "<u2",
///     "compressor": null, "filters": null, "fill_value": 7, "order": "C"}"#)?;
///
/// let image = Multiscale::open(&store)?;
/// assert_eq!(image.levels[0].scale, [0.5, 0.25]);
/// let level = image.level_for(1000.0, "nm")?;
/// assert_eq!(image.array(level)?.read_as::<u16, _>(.., Default::default())?, Array2::from_elem((40, 60), 7).into_dyn());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type Multiscale = multiscale::Multiscale<ndzarr::Blocking>;
