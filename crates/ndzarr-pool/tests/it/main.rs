//! The pool beside its callers, and its offers in many orders.
#![deny(unsafe_code)]

mod offers;
mod pool;

/// What stands for the library's own module of this name, where `offer` is compiled once more.
mod sync {
    pub(crate) use shuttle::sync::{Arc, Condvar, Mutex, MutexGuard};
    pub(crate) use std::sync::PoisonError;
}
