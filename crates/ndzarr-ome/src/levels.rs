//! The levels of an image: their coordinates, and how coarser ones are made from finer ones.

pub(crate) mod downsample;
pub(crate) mod level;
pub(crate) mod make_levels;
