//! What the name of a key says about its value.

use ndzarr_metadata::is_draft_document;

/// What the name of a key says about its value, whatever array or group may be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyName {
    /// A document of a node, in any format: metadata, attributes, consolidated metadata.
    Document,
    /// What a copy, or the trial of a bucket, leaves until it has ended.
    OfCopy,
    /// Numbers, as in `0.1`, or the last name of `c/0/1`, or `c`: it may be that of a chunk.
    Chunk,
    /// Anything else.
    Other,
}

impl KeyName {
    /// ```
    /// use ndzarr::store::KeyName;
    ///
    /// assert_eq!(KeyName::of("a/zarr.json"), KeyName::Document);
    /// assert_eq!(KeyName::of("meta/root/a.array.json"), KeyName::Document);
    /// assert_eq!(KeyName::of("a/.ndzarr-temporary/8x8/0.0"), KeyName::OfCopy);
    /// assert_eq!(KeyName::of("a/c/0/1"), KeyName::Chunk);
    /// assert_eq!(KeyName::of("a/2024.csv"), KeyName::Other);
    /// ```
    #[must_use]
    pub fn of(key: &str) -> Self {
        let name = key.rsplit('/').next().unwrap_or(key);
        if is_of_copy(key) {
            Self::OfCopy
        } else if is_document(key, ".json") {
            Self::Document
        } else if is_of_chunk(name) {
            Self::Chunk
        } else {
            Self::Other
        }
    }
}

/// Returns `true` for a key, or the part of one below a node, that a copy uses, or by which a
/// bucket is tried.
pub(crate) fn is_of_copy(below: &str) -> bool {
    let is_it = |name: &str| {
        name == NOTE
            || [".ndzarr-temporary", ".ndzarr-trial-"]
                .iter()
                .any(|it| name.starts_with(it))
    };
    below.split('/').any(is_it)
}

/// The name of the note of a copy that has not ended.
pub(crate) const NOTE: &str = ".ndzarr-copy";

/// Returns `true` for the key of a document. `draft_suffix` is that of the draft's documents.
pub(crate) fn is_document(key: &str, draft_suffix: &str) -> bool {
    let name = key.rsplit('/').next().unwrap_or(key);
    let is_of_draft = is_draft_document(name, draft_suffix);
    match key.strip_prefix("meta/") {
        Some(_) if is_of_draft => true,
        // Those of the root have no name but the kind.
        Some(below)
            if below
                .strip_suffix(draft_suffix)
                .is_some_and(|it| matches!(it, "array" | "group")) =>
        {
            true
        }
        _ => !is_of_draft && ndzarr_metadata::is_document(name, draft_suffix),
    }
}

/// Returns `true` for `c`, and for numbers with `.` between them, which may follow `c` or `c.`.
fn is_of_chunk(name: &str) -> bool {
    let numbers = match name.strip_prefix('c') {
        Some("") => return true,
        Some(rest) => rest.strip_prefix('.').unwrap_or(rest),
        None => name,
    };
    numbers
        .split('.')
        .all(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_and_keys_of_copies_are_known() {
        for key in [
            "a/zarr.json",
            "meta/root/a.array.json",
            "meta/group.json",
            ".zgroup",
            "a/attributes.json",
        ] {
            assert_eq!(KeyName::of(key), KeyName::Document, "{key}");
        }
        for key in ["meta/a/group.json", "a/README.md", "a.array.json"] {
            assert_eq!(KeyName::of(key), KeyName::Other, "{key}");
        }
        for key in [
            ".ndzarr-copy",
            "a/.ndzarr-temporary/8x8/0.0",
            "a/.ndzarr-trial-0123",
        ] {
            assert_eq!(KeyName::of(key), KeyName::OfCopy, "{key}");
        }
        assert_eq!(KeyName::of("a/ndzarr-copy"), KeyName::Other);
    }

    #[test]
    fn names_of_chunks_are_numbers() {
        for name in ["c", "c/0", "c/0/12", "c.0.1", "0", "0.1", "c0/1", "3/2/1"] {
            assert_eq!(KeyName::of(&format!("a/{name}")), KeyName::Chunk, "{name}");
        }
        for name in ["", "notes.txt", "c/x", "c/0.txt", "0.", "0..1", "c.", "cat"] {
            assert_eq!(KeyName::of(&format!("a/{name}")), KeyName::Other, "{name}");
        }
    }
}
