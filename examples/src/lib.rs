//! Examples: programs that use ndzarr like any other. `cargo run --release -p examples <name>` runs
//! one.
#![deny(unsafe_code)]

pub mod async_read;
pub mod climate;
pub mod converter;
pub mod dump;
pub mod own_store;
pub mod points;
pub mod pyramid;
pub mod tour;
