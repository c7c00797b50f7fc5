//! Documents of Zarr v3.

use super::document;

/// Memory limit for an input.
pub const MAX_BYTES: usize = document::MAX_BYTES;

/// Runs an input.
pub fn check(data: &[u8]) {
    document::check(&[("zarr.json", data)], "");
}
