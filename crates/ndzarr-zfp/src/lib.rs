//! Safe calls of zfp.
//!
//! zfp reads its streams without checking for their end. Here it gets a copy padded with zeros as
//! far as it can possibly read, and afterwards the number of bytes that it has read is checked.
//! Nothing here uses threads.
//!
//! The only unsafe code is in `stream.rs`.
//!
//! Without the feature `zfp` the crate is empty, so that a workspace with it builds without cmake
//! and libclang.

#[cfg(feature = "zfp")]
mod compress;
#[cfg(feature = "zfp")]
mod decompress;
#[cfg(feature = "zfp")]
mod error;
#[cfg(feature = "zfp")]
mod field;
#[cfg(feature = "zfp")]
mod stream;

#[cfg(feature = "zfp")]
pub use compress::{Framing, compress};
#[cfg(feature = "zfp")]
pub use decompress::{Framed, decompress, decompress_framed, header};
#[cfg(feature = "zfp")]
pub use error::Error;
#[cfg(feature = "zfp")]
pub use field::{Mode, Scalar, Shape};
