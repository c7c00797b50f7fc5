//! Prefixes of chunks that are complete chunks by their format: the rest is to be ignored.

use super::select::Target;

/// Case, key, and the length of the chunk.
const TABLE: &[(&str, &str, usize)] = &[
    // Bytes after the zlib stream are ignored (V2-T30).
    ("zarr2/hand-stream-zlib-trailing-bytes", "0", 41),
];

pub(crate) fn allows(target: &Target, len: usize) -> bool {
    let mut entries = TABLE.iter();
    entries
        .any(|&(case, key, whole)| target.case.path() == case && target.key == key && len >= whole)
}
