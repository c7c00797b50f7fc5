//! What moves elements between the engine and ndarrays.

pub(crate) mod assign;
pub(crate) mod box_tile;
pub(crate) mod cells;
pub(crate) mod output;
pub(crate) mod picked_parts;
pub(crate) mod places;
pub(crate) mod point_runs;
pub(crate) mod raw;
pub(crate) mod scatter;
pub(crate) mod to_view;
pub(crate) mod values;
