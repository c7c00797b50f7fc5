//! The calls of a store, and how each of their requests is sent.

mod erase;
mod list;
mod long_list;
mod read;
mod send;
mod trial;
pub(crate) mod write;
