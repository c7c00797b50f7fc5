//! The texts of errors, without URLs and secrets.

pub(crate) mod fault;
pub(crate) mod message;
pub(crate) mod secrets;
