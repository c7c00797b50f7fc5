//! Creates arrays and groups, and checks what lies at their place.

pub(crate) mod builder;
pub(crate) mod default_chunks;
pub(crate) mod group_builder;
pub(crate) mod new_array;
pub(crate) mod occupied;
pub(crate) mod replaces_source;
pub(crate) mod unseen;
