//! Documents of Zarr v2. The first byte chooses the kind.

use super::document;

/// Memory limit for an input.
pub const MAX_BYTES: usize = document::MAX_BYTES;

const ARRAY: &[u8] =
    br#"{"zarr_format":2,"shape":[20],"chunks":[10],"dtype":"<u2","compressor":null,"filters":null,
    "fill_value":1,"order":"C"}"#;
const GROUP: &[u8] = br#"{"zarr_format":2}"#;

/// The kinds of documents, by first byte.
pub const KINDS: [&str; 4] = [".zarray", ".zgroup", ".zattrs", ".zattrs"];

/// Runs an input.
pub fn check(data: &[u8]) {
    let Some((&kind, document)) = data.split_first() else {
        return;
    };
    match kind % 4 {
        0 => document::check(&[(".zarray", document)], ""),
        1 => document::check(&[(".zgroup", document)], ""),
        2 => document::check(&[(".zarray", ARRAY), (".zattrs", document)], ""),
        _ => document::check(
            &[
                (".zgroup", GROUP),
                ("a/.zarray", ARRAY),
                (".zattrs", document),
            ],
            "",
        ),
    }
}
