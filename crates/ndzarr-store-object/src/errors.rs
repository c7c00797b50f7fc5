//! What errors say, without URLs and secrets.

pub(crate) mod fault;
pub(crate) mod secrets;
pub(crate) mod told;
