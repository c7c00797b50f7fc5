//! Zarr v2: an array document with some of its members changed.

mod arrays;
mod codecs;
mod create;
mod filters;
mod nodes;
mod values;

use ndzarr_model::ArraySpec;

use crate::it::store::{array, with};

pub(crate) const ARRAY: &str = r#"{"zarr_format":2,"shape":[4],"chunks":[2],"dtype":"<u2","compressor":null,
    "filters":null,"fill_value":7,"order":"C"}"#;

pub(crate) fn spec(members: &[(&str, &str)]) -> Result<ArraySpec, String> {
    array(".zarray", &with(ARRAY, members)).map_err(|e| e.to_string())
}

pub(crate) fn opens(members: &[(&str, &str)]) -> ArraySpec {
    spec(members).unwrap_or_else(|e| panic!("{members:?}: {e}"))
}

pub(crate) fn fails(members: &[(&str, &str)], in_message: &str) {
    let error = spec(members).expect_err(&format!("{members:?} opens"));
    assert!(error.starts_with(".zarray: "), "{error}");
    assert!(
        error.contains(in_message),
        "{error:?} does not name {in_message:?}"
    );
}
