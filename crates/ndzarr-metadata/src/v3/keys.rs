//! Reads and writes the chunk key encoding of Zarr v3.

use ndzarr_model::KeyEncoding;

use crate::MetadataError;
use crate::json::{Json, json};
use crate::shared::fields::{Place, separator};
use crate::v3::extension::{Extension, named};

/// Reads the `chunk_key_encoding` of a document (Zarr v3 specification, "Chunk key encoding").
pub(crate) fn parse(key: &str, value: &Json<'_>) -> Result<KeyEncoding, MetadataError> {
    const PLACE: Place<'_> = Place::Member("chunk_key_encoding");
    let extension = Extension::parse(key, PLACE, value)?;
    if !matches!(extension.name, "default" | "v2") {
        return Err(MetadataError::unsupported(
            key,
            "chunk key encoding",
            extension.name,
        ));
    }
    let mut configuration = extension.configuration(key, PLACE);
    let separator = configuration.optional("separator", "\"/\" or \".\"", |value| {
        separator(value.as_str()?)
    })?;
    configuration.end()?;
    Ok(match extension.name {
        "default" => KeyEncoding::Default {
            separator: separator.unwrap_or('/'),
        },
        _ => KeyEncoding::V2 {
            separator: separator.unwrap_or('.'),
        },
    })
}

/// The `chunk_key_encoding` of a document; `None` if v3 does not know it.
pub(crate) fn write(encoding: KeyEncoding) -> Option<Json<'static>> {
    let (name, separator) = match encoding {
        KeyEncoding::Default { separator } => ("default", separator),
        KeyEncoding::V2 { separator } => ("v2", separator),
        _ => return None,
    };
    Some(named(name, json!({"separator": separator.to_string()})))
}
