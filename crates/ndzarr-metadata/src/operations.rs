//! What callers ask for, whatever the format: opens, creates, changes and lists nodes.

pub(crate) mod attributes;
pub(crate) mod children;
pub(crate) mod consolidated;
pub(crate) mod convert;
pub(crate) mod create;
pub(crate) mod document_names;
pub(crate) mod missing_values;
pub(crate) mod neutral_json;
pub(crate) mod open;
pub(crate) mod shape;
pub(crate) mod site;
