//! The times of requests: their limit, the pauses between attempts, and the runtime that they run
//! on.

pub(crate) mod backoff;
pub(crate) mod conflicts;
pub(crate) mod hedge;
pub(crate) mod limit;
pub(crate) mod runtime;
