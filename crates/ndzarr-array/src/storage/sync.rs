//! The locks of [`change`](super::change). In tests `shuttle` tries many orders of the threads; the
//! other unit tests use no storage.

#[cfg(test)]
pub(super) use shuttle::sync::{Mutex, MutexGuard};
#[cfg(not(test))]
pub(super) use std::sync::{Mutex, MutexGuard};
