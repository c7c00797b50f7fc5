//! What moves elements between the engine and ndarrays.

pub(crate) mod assign;
pub(crate) mod byte_tile;
pub(crate) mod convert_tile;
pub(crate) mod mask_tile;
pub(crate) mod output;
pub(crate) mod point_list;
pub(crate) mod point_tile;
pub(crate) mod raw;
pub(crate) mod source;
pub(crate) mod steps;
pub(crate) mod tile;
pub(crate) mod to_view;
pub(crate) mod values;
