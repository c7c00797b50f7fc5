//! `Convention`: whose rules the metadata of an image follow.

/// Whose rules the metadata of an image follow.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Convention {
    /// OME-Zarr, <https://ngff.openmicroscopy.org>.
    Ome {
        /// The version that is stated; where none is, the oldest that the metadata fit.
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
