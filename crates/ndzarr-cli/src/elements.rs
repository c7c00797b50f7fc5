//! Elements of arrays: as text, differences of runs, sums and percentiles over stored elements.

pub(crate) mod difference;
pub(crate) mod ranks;
pub(crate) mod sparse;
pub(crate) mod sums;
pub(crate) mod text;
