//! The fuzz targets, one function each, which panics on a finding; and the cases of `testdata/`.
//!
//! `tests/cases/regression.rs` runs them on the inputs of earlier findings
//! (`testdata/regression/`), so that `cargo test` covers them without a nightly compiler.
#![forbid(unsafe_code)]

pub mod archive;
pub mod codecs;
pub mod deflate_encode;
pub mod deflate_two;
mod document;
pub mod draft_document;
pub mod elements;
mod fixture;
pub mod keys;
pub mod large_chunk;
pub mod n5_block;
pub mod n5_document;
pub mod round_trip;
pub mod shard;
pub mod two_values;
pub mod url;
pub mod zarr2_document;
pub mod zarr3_document;

pub use fixture::{
    Case, ExpectedArray, ExpectedBlock, ExpectedBlocks, ExpectedHierarchy, ExpectedNode, Kind,
    Stage, cases,
};

/// A target: takes an input and panics on a finding.
pub type Check = fn(&[u8]);

/// Every target by name, with the memory limit for an input.
pub const TARGETS: [(&str, Check, usize); 16] = [
    ("archive", archive::check, archive::MAX_BYTES),
    ("codecs", codecs::check, codecs::MAX_BYTES),
    (
        "deflate_encode",
        deflate_encode::check,
        deflate_encode::MAX_BYTES,
    ),
    ("deflate_two", deflate_two::check, deflate_two::MAX_BYTES),
    (
        "draft_document",
        draft_document::check,
        draft_document::MAX_BYTES,
    ),
    ("elements", elements::check, elements::MAX_BYTES),
    ("keys", keys::check, keys::MAX_BYTES),
    ("large_chunk", large_chunk::check, large_chunk::MAX_BYTES),
    ("n5_block", n5_block::check, n5_block::MAX_BYTES),
    ("n5_document", n5_document::check, n5_document::MAX_BYTES),
    ("round_trip", round_trip::check, round_trip::MAX_BYTES),
    ("shard", shard::check, shard::MAX_BYTES),
    ("two_values", two_values::check, two_values::MAX_BYTES),
    ("url", url::check, url::MAX_BYTES),
    (
        "zarr2_document",
        zarr2_document::check,
        zarr2_document::MAX_BYTES,
    ),
    (
        "zarr3_document",
        zarr3_document::check,
        zarr3_document::MAX_BYTES,
    ),
];
