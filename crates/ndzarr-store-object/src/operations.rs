//! The calls of a store, and the sending of their requests.

mod erase;
mod list;
mod long_list;
mod read;
mod send;
mod trial;
pub(crate) mod write;
