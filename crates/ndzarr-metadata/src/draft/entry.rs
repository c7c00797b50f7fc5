//! The entry point document of a hierarchy.

use bytes::Bytes;

use crate::draft::extensions::{self, check_members, version};
use crate::draft::layout::{Dialect, Layout, is_name_char};
use crate::json::{self, IN_VALUES, Json, as_u64, json, show};
use crate::{Format, MetadataError, UnknownType};

/// Key of the document, which exists only at the root of the store.
pub(crate) const KEY: &str = "zarr.json";

const URI_A: &str = "https://purl.org/zarr/spec/core/3.0";
const URI_B: &str = "https://purl.org/zarr/spec/protocol/core/3.0";
const SUFFIX: &str = ".json";

/// The layout that the root states; `None` for the final v3. A dialect requested as `format` takes
/// precedence over the document.
pub(crate) fn read(bytes: &[u8], format: Option<Format>) -> Result<Option<Layout>, MetadataError> {
    let members = json::parse_object(KEY, bytes, IN_VALUES)?;
    let uri = match members.get("zarr_format") {
        Some(Json::String(uri)) => uri,
        Some(number) if as_u64(number) == Some(3) => return Ok(None),
        Some(other) => {
            return Err(MetadataError::invalid(
                KEY,
                format_args!("zarr_format is {}", show(other)),
            ));
        }
        None => return Err(MetadataError::invalid(KEY, "has no zarr_format")),
    };
    let Some((dialect, minor)) = core_version(uri) else {
        return Err(MetadataError::unsupported(KEY, "zarr_format", uri));
    };
    let required = |name: &str| {
        members
            .get(name)
            .ok_or_else(|| MetadataError::invalid(KEY, format_args!("has no {name}")))
    };
    let encoding = required("metadata_encoding")?;
    let suffix = match dialect {
        Dialect::A => {
            if members.contains_key("metadata_key_suffix") {
                let what = "metadata_key_suffix stands outside metadata_encoding, as the zarr_format does not have it";
                return Err(MetadataError::invalid(KEY, what));
            }
            suffix_a(encoding, minor)?
        }
        Dialect::B => {
            check_encoding_b(encoding)?;
            required("metadata_key_suffix")?
        }
    };
    extensions::check(KEY, required("extensions")?)?;
    // Later minor versions may have more members.
    if minor == 0 {
        let known = [
            "zarr_format",
            "metadata_encoding",
            "metadata_key_suffix",
            "extensions",
        ];
        check_members(KEY, "the entry point", &members, &known)?;
    }
    let suffix = match suffix {
        Json::String(suffix) if !suffix.is_empty() && suffix.chars().all(is_name_char) => {
            suffix.to_string()
        }
        other => {
            let what = format_args!(
                "metadata_key_suffix is {}, which no key can end in",
                show(other)
            );
            return Err(MetadataError::invalid(KEY, what));
        }
    };
    Ok(Some(Layout {
        dialect: format.and_then(Dialect::of).unwrap_or(dialect),
        suffix,
        unknown_type: UnknownType::Refuse,
    }))
}

/// The dialect and the minor version in the path of a URI.
fn core_version(uri: &str) -> Option<(Dialect, u64)> {
    let address = uri
        .strip_prefix("https://")
        .or_else(|| uri.strip_prefix("http://"))?;
    let (_, path) = address.split_once('/')?;
    let core = path.strip_prefix("zarr/spec/")?;
    let (dialect, text) = match core.strip_prefix("protocol/core/") {
        Some(text) => (Dialect::B, text),
        None => (Dialect::A, core.strip_prefix("core/")?),
    };
    match version(text)? {
        (3, minor) => Some((dialect, minor)),
        _ => None,
    }
}

fn unsupported_encoding(encoding: &Json<'_>) -> MetadataError {
    let name = match encoding {
        Json::String(uri) => uri.to_string(),
        other => show(other),
    };
    MetadataError::unsupported(KEY, "metadata encoding", name)
}

fn suffix_a<'a>(encoding: &'a Json<'a>, minor: u64) -> Result<&'a Json<'a>, MetadataError> {
    let Json::Object(members) = encoding else {
        let what = format_args!("metadata_encoding is {}, not an object", encoding.kind());
        return Err(MetadataError::invalid(KEY, what));
    };
    if members.contains_key("extension")
        || members.get("type").and_then(Json::as_str) != Some("json")
    {
        return Err(unsupported_encoding(encoding));
    }
    if minor == 0 {
        check_members(
            KEY,
            "metadata_encoding",
            members,
            &["type", "metadata_key_suffix"],
        )?;
    }
    members
        .get("metadata_key_suffix")
        .ok_or_else(|| MetadataError::invalid(KEY, "metadata_encoding has no metadata_key_suffix"))
}

/// Accepts any URI of the same form as the format's, with any suffix in the document.
fn check_encoding_b(encoding: &Json<'_>) -> Result<(), MetadataError> {
    match encoding {
        Json::String(uri) if matches!(core_version(uri), Some((Dialect::B, _))) => Ok(()),
        Json::String(_) => Err(unsupported_encoding(encoding)),
        other => {
            let what = format_args!("metadata_encoding is {}, not a URI", other.kind());
            Err(MetadataError::invalid(KEY, what))
        }
    }
}

/// The layout and the entry point of a new hierarchy.
pub(crate) fn new(dialect: Dialect) -> Result<(Layout, Bytes), MetadataError> {
    let document = match dialect {
        Dialect::A => json!({
            "zarr_format": URI_A,
            "metadata_encoding": {"type": "json", "metadata_key_suffix": SUFFIX},
            "extensions": [],
        }),
        Dialect::B => json!({
            "extensions": [],
            "metadata_encoding": URI_B,
            "metadata_key_suffix": SUFFIX,
            "zarr_format": URI_B,
        }),
    };
    let bytes = json::write(KEY, &document)?;
    Ok((
        Layout {
            dialect,
            suffix: SUFFIX.to_owned(),
            unknown_type: UnknownType::Refuse,
        },
        bytes,
    ))
}
