//! What a copy is to do for each node, found out before anything is written.

pub(crate) mod array_plan;
pub(crate) mod compressors;
pub(crate) mod conversion;
pub(crate) mod geometry;
pub(crate) mod members;
pub(crate) mod plan;
pub(crate) mod request;
pub(crate) mod strategy;
pub(crate) mod units;
pub(crate) mod window;
