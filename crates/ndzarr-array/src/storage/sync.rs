//! What [`change`](super::change) locks with. Its test has another module of this name, which tries many
//! orders of the threads.

pub(super) use std::sync::{Mutex, MutexGuard};
