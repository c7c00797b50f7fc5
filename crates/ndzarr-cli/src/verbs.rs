//! The verbs, each with its arguments.

pub(crate) mod attrs;
pub(crate) mod cat;
pub(crate) mod completions;
pub(crate) mod consolidate;
pub(crate) mod convert;
pub(crate) mod cp;
pub(crate) mod diff;
pub(crate) mod import;
pub(crate) mod info;
pub(crate) mod ls;
pub(crate) mod man;
pub(crate) mod pyramid;
pub(crate) mod repair;
pub(crate) mod rm;
pub(crate) mod stats;
pub(crate) mod verify;
pub(crate) mod view;
