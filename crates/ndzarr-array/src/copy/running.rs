//! Does what the plan of a copy says.

pub(crate) mod arrays;
pub(crate) mod blocks;
pub(crate) mod chunks;
pub(crate) mod dry_run;
pub(crate) mod files;
pub(crate) mod groups;
pub(crate) mod run;
pub(crate) mod steps;
pub(crate) mod temporary;
