//! Threads that all calls of a process share, and on which no call depends.
//!
//! - [`share`] runs work on the calling thread. Idle threads of the pool help. The call ends when
//!   the work has ended on every thread that began it; it never waits for a thread to become free,
//!   and while it waits it runs nothing else. So it may be called anywhere: on a thread of another
//!   pool, under a lock, within shared work.
//! - [`spawn`] hands over a job that runs on a thread of the pool. If every thread is blocked, by a
//!   slow store for instance, another one is started. Jobs of different stores take turns.
//! - [`queue_change`] hands over a job that may wait for locks. It runs on one of a few other
//!   threads, so that the pool continues to compute.
//!
//! Threads start on first use, one for each processor, and again in a forked child.
//!
//! ```
//! use std::sync::atomic::{AtomicUsize, Ordering};
//!
//! use ndzarr_pool::{Stay, share};
//!
//! let items = [1, 2, 3, 4, 5];
//! let next = AtomicUsize::new(0);
//! let sum = AtomicUsize::new(0);
//! share(3, &|_lane| {
//!     while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
//!         sum.fetch_add(*item, Ordering::Relaxed);
//!     }
//!     Stay::Ended
//! });
//! assert_eq!(sum.into_inner(), 15);
//! ```
#![deny(unsafe_code)]

mod changes;
mod offer;
mod pool;
mod queued_change;
mod threads;

/// The primitives that [`offer`] and [`changes`] wait with; their tests replace this module by
/// shuttle's.
mod sync {
    pub(crate) use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
}

pub use changes::Withdrawn;
pub use offer::Stay;
pub use pool::{HAS_THREADS, Queue, available, gives_way, is_own_thread, share, spawn};
pub use queued_change::{QueuedChange, queue_change};
pub use threads::{is_change_thread, start_change};
