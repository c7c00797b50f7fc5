//! Writes, replaces and erases values, with the locks and folders that this takes.

mod erase_prefix;
mod folders;
mod key_lock;
mod temporary;
mod value_lock;
mod write;
