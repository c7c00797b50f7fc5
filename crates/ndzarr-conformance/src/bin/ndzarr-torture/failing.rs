//! Stores and servers that fail.

pub(crate) mod faults;
pub(crate) mod soak;
