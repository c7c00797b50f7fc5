//! Checks raw snappy streams without decoding them.

use snap::raw::decompress_len;

/// The most bytes that one byte of a stream decodes to, rounded up: a copy of 64 bytes takes 3.
const MAX_RATIO: usize = 22;

/// Checks that a stream states a decoded size of `len` bytes, and that this is possible.
pub(crate) fn validate(stream: &[u8], len: usize) -> Result<(), String> {
    let found = decompress_len(stream).map_err(|error| error.to_string())?;
    if found != len {
        return Err(format!("decodes to {found} bytes, but {len} are expected"));
    }
    if len / MAX_RATIO > stream.len() {
        return Err(format!("{} bytes cannot hold {len}", stream.len()));
    }
    Ok(())
}
