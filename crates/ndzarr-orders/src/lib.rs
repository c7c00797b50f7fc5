//! Locks of the library in many orders of their threads.
//!
//! `shuttle` decides in these tests which thread runs after every lock. `cargo test --workspace
//! --test orders` runs them; parts of the library are compiled once more with shuttle's locks.
#![forbid(unsafe_code)]
