//! What the programs of the remote rows share: the proxy, and what an engine is told.

pub mod control;
pub mod proxy;
pub mod request;
