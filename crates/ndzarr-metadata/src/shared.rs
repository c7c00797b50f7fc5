//! What documents of several formats have in common. None of it names a format's own folder.

pub(crate) mod attribute_texts;
pub(crate) mod base64;
pub(crate) mod chunk_grid;
pub(crate) mod dtype;
pub(crate) mod fields;
pub(crate) mod fill;
pub(crate) mod float;
pub(crate) mod names;
pub(crate) mod numcodecs;
pub(crate) mod request_parts;
pub(crate) mod stage;
