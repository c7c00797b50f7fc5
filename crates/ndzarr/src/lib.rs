//! Chunked N-dimensional arrays in Zarr v2, Zarr v3, the May-2022 draft of Zarr v3, and N5.
//!
//! ```
//! use ndarray::Array2;
//! use ndzarr::{Array, MemoryStore, codec, s};
//!
//! let store = MemoryStore::new();
//! let a = Array::<f32>::builder([100, 80])
//!     .chunks([10, 10])
//!     .shards([50, 40])
//!     .codecs([codec::zstd(3)])
//!     .fill_value(f32::NAN)
//!     .dimension_names(["y", "x"])
//!     .create((&store, "temperature"))?;
//! a.write(s![0..2, ..], &Array2::ones((2, 80)))?;
//!
//! let a = Array::<f32>::open((&store, "temperature"))?;
//! let corner = a.read(s![0..3, 0..2])?;
//! assert_eq!(corner[[1, 1]], 1.0);
//! assert!(corner[[2, 0]].is_nan());
//! # Ok::<(), ndzarr::Error>(())
//! ```
#![forbid(unsafe_code)]

pub use ndzarr_array::*;
pub use ndzarr_store::{AsyncStore, MemoryStore, Store};
#[cfg(feature = "fs")]
pub use ndzarr_store_fs as fs;
#[cfg(feature = "fs")]
pub use ndzarr_store_fs::FsStore;
pub use {ndarray, ndzarr_codec, ndzarr_engine, ndzarr_grid, ndzarr_metadata, ndzarr_model, ndzarr_store};

/// Compiles and runs the examples of the guide, which is not part of the published package.
#[cfg(doctest)]
mod guide {
    #[doc = include_str!("../../../docs/guide/opening.md")]
    mod opening {}
    #[doc = include_str!("../../../docs/guide/reading.md")]
    mod reading {}
    #[doc = include_str!("../../../docs/guide/writing.md")]
    mod writing {}
    #[doc = include_str!("../../../docs/guide/groups.md")]
    mod groups {}
    #[doc = include_str!("../../../docs/guide/chunks.md")]
    mod chunks {}
    #[doc = include_str!("../../../docs/guide/n5.md")]
    mod n5 {}
    #[doc = include_str!("../../../docs/guide/options.md")]
    mod options {}
    #[doc = include_str!("../../../docs/guide/errors.md")]
    mod errors {}
    #[doc = include_str!("../../../docs/guide/convert.md")]
    mod convert {}
    #[doc = include_str!("../../../docs/guide/extending.md")]
    mod extending {}
    #[doc = include_str!("../../../docs/guide/crates.md")]
    mod crates {}
    #[doc = include_str!("../../../README.md")]
    mod readme {}
}
