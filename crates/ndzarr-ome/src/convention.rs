//! `Convention`: the rules that the metadata of an image follow.

use std::fmt;

/// The rules that the metadata of an image follow.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Convention {
    /// OME-Zarr, <https://ngff.openmicroscopy.org>.
    Ome {
        /// The stated version; if none is stated, the oldest that the metadata fit.
        version: String,
    },
    /// COSEM: each array has an attribute `transform`.
    Cosem,
    /// The N5 of BigDataViewer.
    Bdv {
        /// The number of the setup.
        setup: u32,
        /// The number of the time point.
        timepoint: u32,
    },
    /// The N5 of n5-viewer and Paintera.
    N5Viewer,
}

/// The name of the convention, such as `OME-Zarr 0.5`.
impl fmt::Display for Convention {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ome { version } => write!(f, "OME-Zarr {version}"),
            Self::Cosem => f.write_str("COSEM"),
            Self::Bdv { setup, timepoint } => {
                write!(f, "BigDataViewer, setup {setup}, time point {timepoint}")
            }
            Self::N5Viewer => f.write_str("n5-viewer"),
        }
    }
}
