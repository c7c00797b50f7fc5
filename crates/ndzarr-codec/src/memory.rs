//! Bounds on the memory that decoders take: sizes checked in advance, and output that grows with
//! the content.

pub(crate) mod bounded;
// The codecs of the build determine which part of it is used.
#[cfg_attr(not(feature = "default"), allow(dead_code))]
pub(crate) mod sink;
