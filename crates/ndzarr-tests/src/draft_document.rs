//! Documents of the draft of Zarr v3. The first byte chooses the document and the dialect.

use super::document;

/// Memory limit for an input.
pub const MAX_BYTES: usize = document::MAX_BYTES;

const ENTRY_A: &[u8] = br#"{"zarr_format":"https://purl.org/zarr/spec/core/3.0",
    "metadata_encoding":{"type":"json","metadata_key_suffix":".json"},"extensions":[]}"#;
const ENTRY_B: &[u8] =
    br#"{"extensions":[],"metadata_encoding":"https://purl.org/zarr/spec/protocol/core/3.0",
    "metadata_key_suffix":".json","zarr_format":"https://purl.org/zarr/spec/protocol/core/3.0"}"#;
const ARRAY_A: &[u8] = br#"{"shape":[4],"data_type":"uint16","chunk_grid":{"type":"regular","chunk_shape":[2],
    "separator":"/"},"chunk_memory_layout":"C","codecs":[{"type":"https://purl.org/zarr/spec/codecs/endian/1.0",
    "configuration":{"endian":"big"}}],"fill_value":7,"extensions":[],"attributes":{}}"#;
const ARRAY_B: &[u8] =
    br#"{"attributes":{},"chunk_grid":{"chunk_shape":[2],"separator":".","type":"regular"},
    "chunk_memory_layout":"F","data_type":">u2","extensions":[],"fill_value":5,"shape":[4]}"#;

/// The kinds of documents, by first byte: dialect, and the suffix of their keys.
pub const KINDS: [(char, &str); 6] = [
    ('a', ".array.json"),
    ('b', ".array.json"),
    ('a', ".group.json"),
    ('b', ".group.json"),
    ('a', "zarr.json"),
    ('b', "zarr.json"),
];

/// Runs an input.
pub fn check(data: &[u8]) {
    let Some((&kind, document)) = data.split_first() else {
        return;
    };
    match kind % 6 {
        0 => document::check(
            &[("zarr.json", ENTRY_A), ("meta/a.array.json", document)],
            "a",
        ),
        1 => document::check(
            &[("zarr.json", ENTRY_B), ("meta/root/a.array.json", document)],
            "a",
        ),
        2 => document::check(
            &[("zarr.json", ENTRY_A), ("meta/a.group.json", document)],
            "a",
        ),
        3 => document::check(
            &[("zarr.json", ENTRY_B), ("meta/root/a.group.json", document)],
            "a",
        ),
        4 => document::check(
            &[("zarr.json", document), ("meta/a.array.json", ARRAY_A)],
            "a",
        ),
        _ => document::check(
            &[("zarr.json", document), ("meta/root/a.array.json", ARRAY_B)],
            "a",
        ),
    }
}
