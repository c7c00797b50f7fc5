//! Which thread runs after a lock, decided by `shuttle` in many orders.
#![cfg(not(any(target_family = "wasm", target_arch = "s390x")))]

mod budget;
mod cancel;
mod changes;
mod interleavings;
mod pool_offers;

use changes::threads;

/// Replaces the pool's module of this name, where its offers and changes are compiled once more.
mod sync {
    pub(crate) use shuttle::sync::{Arc, Condvar, Mutex, MutexGuard};
    pub(crate) use std::sync::PoisonError;
}
