//! What the fuzz targets do with their input: one function each, which panics on a finding.
//!
//! `crates/ndzarr/tests/regression.rs` compiles this file too, and gives the functions the inputs of earlier findings
//! (`testdata/regression/`), so that `cargo test` runs them without a nightly compiler.
#![forbid(unsafe_code)]

pub mod codecs;
mod document;
pub mod draft_document;
pub mod elements;
pub mod keys;
pub mod n5_block;
pub mod n5_document;
pub mod round_trip;
pub mod shard;
pub mod zarr2_document;
pub mod zarr3_document;

/// What a target does with an input; it panics where something is wrong.
pub type Check = fn(&[u8]);

/// Every target by name.
pub const TARGETS: [(&str, Check); 10] = [
    ("codecs", codecs::check),
    ("draft_document", draft_document::check),
    ("elements", elements::check),
    ("keys", keys::check),
    ("n5_block", n5_block::check),
    ("n5_document", n5_document::check),
    ("round_trip", round_trip::check),
    ("shard", shard::check),
    ("zarr2_document", zarr2_document::check),
    ("zarr3_document", zarr3_document::check),
];
