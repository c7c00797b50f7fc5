//! Zarr v3: documents of an array and a group, and the array with some of its members changed.

mod array_codecs;
mod arrays;
mod codecs;
mod create;
mod nodes;
mod sharding;
mod values;

use ndzarr_model::ArraySpec;

use crate::it::store::{array, with};

/// V3-T01.
pub(crate) const ARRAY: &str = r#"{"zarr_format":3,"node_type":"array","shape":[4],"data_type":"uint16",
    "chunk_grid":{"name":"regular","configuration":{"chunk_shape":[2]}},
    "chunk_key_encoding":{"name":"default"},"fill_value":7,
    "codecs":[{"name":"bytes","configuration":{"endian":"little"}}]}"#;

pub(crate) const GROUP: &str = r#"{"zarr_format":3,"node_type":"group"}"#;

pub(crate) fn spec(members: &[(&str, &str)]) -> Result<ArraySpec, String> {
    array("zarr.json", &with(ARRAY, members)).map_err(|e| e.to_string())
}

pub(crate) fn opens(members: &[(&str, &str)]) -> ArraySpec {
    spec(members).unwrap_or_else(|e| panic!("{members:?}: {e}"))
}

pub(crate) fn fails(members: &[(&str, &str)], in_message: &str) {
    let error = spec(members).expect_err(&format!("{members:?} opens"));
    assert!(error.starts_with("zarr.json: "), "{error}");
    assert!(
        error.contains(in_message),
        "{error:?} does not name {in_message:?}"
    );
}
