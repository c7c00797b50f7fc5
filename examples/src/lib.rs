//! Examples: programs that use ndzarr as others would. `cargo run --release -p examples <name>` runs one.
#![deny(unsafe_code)]

pub mod async_read;
pub mod own_store;
pub mod tour;
