//! Locates the member of a v3 group that contains the documents of all nodes below it.

use std::borrow::Cow;
use std::ops::Range;

use ndzarr_json::{JsonError, JsonText};

use crate::MetadataError;
use crate::json::spans::{Span, spans};

/// Name of the member.
pub(crate) const MEMBER: &str = "consolidated_metadata";

/// Position of a map in the text, and its entries.
type SpannedMap<'a> = (Range<usize>, Vec<Span<'a>>);

/// The inline map of a v3 group: its position and its entries. `None` if there is no such member,
/// or one of another kind.
pub(crate) fn inline<'a>(
    key: &str,
    bytes: &'a [u8],
) -> Result<Option<SpannedMap<'a>>, MetadataError> {
    let mut entries = Vec::new();
    let map = find(bytes, Some(&mut entries)).map_err(|error| MetadataError::json(key, &error))?;
    Ok(map.map(|map| (map, entries)))
}

/// The position of the inline map and, if requested, its entries, in one pass through the document,
/// which is large if it has a map. Of several the last one counts.
fn find<'a>(
    bytes: &'a [u8],
    mut entries: Option<&mut Vec<Span<'a>>>,
) -> Result<Option<Range<usize>>, JsonError> {
    let mut found = None;
    let mut text = JsonText::of_bytes(bytes).behind_mark();
    text.object()?;
    while let Some(name) = text.member()? {
        if name != *MEMBER {
            text.skip()?;
            continue;
        }
        found = None;
        if !text.is_object() {
            text.skip()?;
            continue;
        }
        let mut kind = None;
        let mut map = None;
        text.object()?;
        while let Some(name) = text.member()? {
            match &*name {
                "kind" => kind = Some(text.skip()?),
                "metadata" => {
                    let is_map = text.is_object();
                    let start = text.at();
                    match &mut entries {
                        Some(entries) if is_map => **entries = spans(&mut text)?,
                        _ => {
                            text.skip()?;
                        }
                    }
                    map = is_map.then(|| start..text.at());
                }
                _ => {
                    text.skip()?;
                }
            }
        }
        let is_inline = kind.is_some_and(|range| &bytes[range] == b"\"inline\"");
        found = map.filter(|_| is_inline);
    }
    Ok(found)
}

/// The document of a v3 node without the map that it may contain, which does not describe the node
/// itself.
pub(crate) fn without_inline(bytes: &[u8]) -> Cow<'_, [u8]> {
    // Most documents have none; a name in another spelling is parsed with the rest.
    let has_none = |text: &str| !text.contains("\"consolidated_metadata\"");
    if str::from_utf8(bytes).is_ok_and(has_none) {
        return Cow::Borrowed(bytes);
    }
    // Errors in it are reported when it is read.
    let Ok(Some(map)) = find(bytes, None) else {
        return Cow::Borrowed(bytes);
    };
    Cow::Owned([&bytes[..map.start], b"{}", &bytes[map.end..]].concat())
}
