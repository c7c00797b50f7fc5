//! Lists of extensions, which documents of both dialects have.

use crate::MetadataError;
use crate::json::{Json, Members, show};

/// Refuses extensions that must be understood: none is supported here.
pub(crate) fn check(key: &str, value: &Json<'_>) -> Result<(), MetadataError> {
    let Json::Array(items) = value else {
        return Err(MetadataError::invalid(
            key,
            format_args!("extensions is {}, not a list", value.kind()),
        ));
    };
    for (i, item) in items.iter().enumerate() {
        let invalid =
            |what: String| MetadataError::invalid(key, format_args!("extensions[{i}] {what}"));
        let Json::Object(members) = item else {
            return Err(invalid(format!("is {}, not an object", show(item))));
        };
        let Some(Json::String(uri)) = members.get("extension") else {
            return Err(invalid("has no URI as its extension".to_owned()));
        };
        match members.get("must_understand") {
            Some(Json::Bool(false)) => {}
            Some(Json::Bool(true)) => {
                return Err(MetadataError::unsupported(key, "extension", uri));
            }
            Some(other) => {
                return Err(invalid(format!(
                    "has must_understand {}, not true or false",
                    show(other)
                )));
            }
            None => return Err(invalid("has no must_understand".to_owned())),
        }
    }
    Ok(())
}

/// Refuses members that are not in `known`, naming the first.
pub(crate) fn check_members(
    key: &str,
    place: &str,
    members: &Members<'_>,
    known: &[&str],
) -> Result<(), MetadataError> {
    match members.keys().find(|name| !known.contains(name)) {
        None => Ok(()),
        Some(name) => Err(MetadataError::invalid(
            key,
            format_args!("{place} has an unknown member {name:?}"),
        )),
    }
}

/// `major` and `minor` of a version such as `3.0`, digits only.
pub(crate) fn version(text: &str) -> Option<(u64, u64)> {
    let (major, minor) = text.split_once('.')?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !digits(major) || !digits(minor) {
        return None;
    }
    Some((major.parse().ok()?, minor.parse().ok()?))
}
