//! Where work runs: on the calling thread, the library's, or as a future; and how it ends early.

pub(crate) mod budget;
pub(crate) mod cancel;
pub(crate) mod dropped_futures;
pub(crate) mod for_each;
pub(crate) mod io;
pub(crate) mod other_threads;
pub(crate) mod relayed;
pub(crate) mod revocable_lock;
pub(crate) mod scratch;
pub(crate) mod turn;

// What models of these modules replace (ndzarr-orders).
use crate::{EngineCause, cache, sync};
