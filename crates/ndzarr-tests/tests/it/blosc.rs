//! Chunks of c-blosc: foreign ones, hostile ones and parts of ours.

mod foreign_chunks;
mod hostile_chunks;
mod parts;
