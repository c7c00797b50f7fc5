//! What part of an array is read or written, and shapes.

pub(crate) mod array_selections;
pub(crate) mod axis_selection;
pub(crate) mod mask;
pub(crate) mod point_list;
pub(crate) mod points;
pub(crate) mod resolved;
pub(crate) mod selection;
pub(crate) mod to_shape;
pub(crate) mod views;
