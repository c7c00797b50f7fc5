//! The stored objects, their hashes, and values in gzip.

pub(super) mod gzip;
pub(super) mod md5;
pub(super) mod objects;
