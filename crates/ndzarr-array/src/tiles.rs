//! What moves elements between the engine and ndarrays.

pub(crate) mod assign;
pub(crate) mod box_tile;
pub(crate) mod cells;
pub(crate) mod mask_tile;
pub(crate) mod output;
pub(crate) mod picked_parts;
pub(crate) mod point_list;
pub(crate) mod point_tile;
pub(crate) mod raw;
pub(crate) mod to_view;
pub(crate) mod values;
