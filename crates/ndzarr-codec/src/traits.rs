//! The traits of codecs, and the link of a bytes→bytes codec in a pipe.

pub(crate) mod array_to_array;
pub(crate) mod array_to_bytes;
pub(crate) mod bytes_codec;
pub(crate) mod link;
