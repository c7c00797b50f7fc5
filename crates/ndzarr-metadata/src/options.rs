//! What callers may set: how nodes are opened, what a document may ask for, types and grids of
//! their own.

pub(crate) mod extensions;
pub(crate) mod limits;
pub(crate) mod open_options;
