//! What reads and writes elements and attributes, for arrays of any type and mode.

pub(crate) mod any_values;
pub(crate) mod attributes;
pub(crate) mod each;
pub(crate) mod elements;
pub(crate) mod field;
pub(crate) mod packed;
pub(crate) mod par;
pub(crate) mod vlen_array;
