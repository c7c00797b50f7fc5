//! The locks of [`call`](super::call), which a test replaces by shuttle's.

pub(super) use std::sync::{Mutex, MutexGuard};
