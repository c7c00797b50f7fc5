//! Lists keys, and what lies among them under other names.

pub(crate) mod leftovers;
mod list;
mod unlisted;
