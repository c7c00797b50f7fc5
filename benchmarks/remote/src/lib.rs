//! What the programs of the remote rows share: the proxy, its control port, and the request to an
//! engine.

pub mod control;
pub mod proxy;
pub mod request;
