//! Creates consolidated metadata and keeps them up to date.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use bytes::Bytes;

use crate::json::spans::{self, Span, last};
use crate::json::{self, IN_VALUES, Json, json};
use crate::known::{Stop, resolve};
use crate::operations::consolidated::{
    DOCUMENT, DRAFT_DOCUMENT, consolidated_key, entries, is_relative,
};
use crate::v3::inline::{MEMBER, inline, without_inline};
use crate::{Format, Known, MemberKind, MetadataError, Node, NodeKind, NodePath, Resolved, v2, v3};

/// The documents that were changed, created or removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DocumentChange {
    /// Their keys.
    pub keys: Vec<String>,
    /// Prefixes below which any document may have changed.
    pub prefixes: Vec<String>,
}

/// True if a format keeps the copies in a separate document, which can be deleted when they cannot
/// be kept up to date. Otherwise they are part of a group's own document.
#[must_use]
pub fn copies_stand_alone(format: Format) -> bool {
    format != Format::Zarr3
}

/// Keys of the documents that may contain copies of those of a node, from the root down.
#[must_use]
pub fn consolidated_keys(format: Format, path: &NodePath) -> Vec<String> {
    let mut bases = path.ancestors();
    match format {
        Format::Zarr2 => {
            bases.push(path.clone());
            bases
                .iter()
                .map(|base| format!("{}{DOCUMENT}", base.prefix()))
                .collect()
        }
        Format::Zarr3 => bases.iter().map(v3::document_key).collect(),
        Format::DraftB => vec![DRAFT_DOCUMENT.to_owned()],
        Format::DraftA | Format::N5 => Vec::new(),
    }
}

/// The consolidated metadata under one of the [`consolidated_keys`], brought up to date with the
/// current documents, given its current value, read just before; `None` if nothing changes. Copies
/// of documents that did not change stay, byte for byte.
///
/// # Errors
/// The current value is not in a form in which a copy can be changed.
pub fn refresh_consolidated(
    format: Format,
    key: &str,
    current: &Bytes,
    change: &DocumentChange,
    known: &Known,
) -> Result<Resolved<Option<Bytes>>, MetadataError> {
    resolve(refresh(format, key, current, change, known))
}

fn refresh(
    format: Format,
    key: &str,
    current: &Bytes,
    change: &DocumentChange,
    known: &Known,
) -> Result<Option<Bytes>, Stop> {
    let Some((map, spans)) = map_of(format, key, current) else {
        return Ok(None);
    };
    let names = Names::new(format, key);
    let mut all = Copies::new();
    for (name, range) in &spans {
        all.insert((name, name.unpaired()), &current[range.clone()]);
    }
    // An empty map may mean that the content is unknown. With a single entry it would hide the
    // rest.
    if all.is_empty() {
        return Ok(None);
    }
    // Readers refuse a map of v3 with a node whose parent group is missing. Such entries that other
    // writers of v2 made stay.
    let stays = |name: &&str| format == Format::Zarr2 && names.is_orphan(name, &all);
    let stay: BTreeSet<String> = all
        .keys()
        .map(|(name, _)| *name)
        .filter(stays)
        .map(str::to_owned)
        .collect();
    let mut changed: BTreeSet<String> = change
        .keys
        .iter()
        .filter_map(|key| names.of_key(key))
        .collect();
    // Of the nodes that changed, not of entries, whose names may be anything.
    let parents: BTreeSet<String> = changed
        .iter()
        .flat_map(|name| names.parents(name))
        .collect();
    all.retain(|(name, token), _| {
        let is_below = |key: String| change.prefixes.iter().any(|prefix| key.starts_with(prefix));
        if !names.key(name).is_some_and(is_below) {
            return true;
        }
        if token.is_none() {
            changed.insert((*name).to_owned());
        }
        // An entry whose name cannot be part of a key no longer exists.
        token.is_none()
    });
    changed.extend(parents.into_iter().filter(|name| !has(&all, name)));
    let changed: Vec<(String, String)> = changed
        .into_iter()
        .filter_map(|name| Some((names.key(&name)?, name)))
        .collect();
    let keys: Vec<String> = changed.iter().map(|(key, _)| key.clone()).collect();
    let documents = known.many_documents(&keys)?;
    let mut copies: BTreeMap<&str, Vec<u8>> = BTreeMap::new();
    for ((key, name), bytes) in changed.iter().zip(documents) {
        all.remove(&(name, None));
        if let Some(bytes) = bytes {
            copies.insert(name, copy(format, key, bytes)?);
        }
    }
    for (name, copy) in &copies {
        all.insert((name, None), copy);
    }
    let all: Copies<'_> = (all.iter())
        .filter(|((name, _), _)| stay.contains(*name) || !names.is_orphan(name, &all))
        .map(|(&name, &copy)| (name, copy))
        .collect();
    let value = splice(current, &map, &all)?;
    Ok((value != *current).then_some(value))
}

/// The entries of a map, by name. A name with an unpaired surrogate comes with the document's
/// spelling, because several such names decode to the same text.
type Copies<'a> = BTreeMap<(&'a str, Option<&'a str>), &'a [u8]>;

fn has(all: &Copies<'_>, name: &str) -> bool {
    all.range((name, None)..)
        .next()
        .is_some_and(|((first, _), _)| *first == name)
}

/// True if the document under one of the [`consolidated_keys`] could contain copies but does not:
/// it may never have been consolidated, so [`consolidate`] has to create them.
#[must_use]
pub fn has_no_copies_yet(format: Format, key: &str, current: &Bytes) -> bool {
    matches!(format, Format::Zarr2 | Format::Zarr3)
        && map_of(format, key, current).is_some_and(|(_, spans)| spans.is_empty())
}

/// True if the own document of a group of Zarr v3 has copies of those below it. Other formats keep
/// them in a separate document.
#[must_use]
pub fn has_copies(group: &Node) -> bool {
    let own = consolidated_key(group).filter(|_| group.format == Format::Zarr3);
    let own = own.and_then(|key| group.documents.iter().find(|(name, _)| *name == key));
    let map = own.and_then(|(key, bytes)| map_of(group.format, key, bytes));
    map.is_some_and(|(_, copies)| !copies.is_empty())
}

/// Collects the documents of a group and of all nodes below it: the new value of the document under
/// [`consolidated_key`], given its current one. `documents` are the real ones, by key.
///
/// # Errors
/// The format has no consolidated metadata; the group's document is gone or cannot be read.
pub fn consolidate(
    node: &Node,
    current: Option<&[u8]>,
    documents: &BTreeMap<String, Bytes>,
) -> Result<Bytes, MetadataError> {
    let refuse = |what: &str| MetadataError::inexpressible(node.format, what);
    let key = consolidated_key(node).ok_or_else(|| refuse("has no consolidated metadata"))?;
    let empty = match node.format {
        _ if matches!(node.kind, NodeKind::Array(_)) => {
            return Err(refuse("consolidates the metadata of groups, not of arrays"));
        }
        Format::Zarr2 => json::write(
            &key,
            &json!({"metadata": {}, "zarr_consolidated_format": 1}),
        )?,
        Format::Zarr3 => {
            let current = current.ok_or_else(|| MetadataError::gone(&node.path, &key))?;
            let current = without_inline(current);
            let mut document = json::parse_object(&key, &current, IN_VALUES)?;
            let map = json!({"kind": "inline", "must_understand": false, "metadata": {}});
            document.insert(MEMBER, map);
            json::write_object(&key, document)?
        }
        Format::DraftA | Format::DraftB | Format::N5 => {
            return Err(refuse("has no consolidated metadata that are written"));
        }
    };
    let Some((map, _)) = map_of(node.format, &key, &empty) else {
        return Err(MetadataError::invalid(
            &key,
            "cannot hold consolidated metadata",
        ));
    };
    let names = Names::new(node.format, &key);
    let mut copies = BTreeMap::new();
    for (key, bytes) in documents {
        if let Some(name) = names.of_key(key) {
            copies.insert(name, copy(node.format, key, bytes)?);
        }
    }
    // Readers refuse a map with a node whose group is not in it, and do not find the node in a map
    // of v2.
    let missing: BTreeSet<String> = (copies.keys().flat_map(|name| names.parents(name)))
        .filter(|parent| !parent.ends_with(v2::ATTRIBUTES) && !copies.contains_key(parent))
        .collect();
    for parent in missing {
        let group = match node.format {
            Format::Zarr2 => json!({"zarr_format": 2}),
            _ => json!({"zarr_format": 3, "node_type": "group", "attributes": {}}),
        };
        let text = json::write(&key, &group)?;
        copies.insert(parent, copy(node.format, &key, &text)?);
    }
    let all = copies
        .iter()
        .map(|(name, copy)| ((name.as_str(), None), copy.as_slice()))
        .collect();
    splice(&empty, &map, &all)
}

/// The documents of a node as they are; empty for formats whose consolidated metadata are not
/// written.
///
/// # Errors
/// None.
pub fn node_documents(
    format: Format,
    path: &NodePath,
    known: &Known,
) -> Result<Resolved<Vec<(String, Bytes)>>, MetadataError> {
    let keys: Vec<String> = match format {
        Format::Zarr2 => [v2::ARRAY, v2::GROUP, v2::ATTRIBUTES]
            .map(|name| format!("{}{name}", path.prefix()))
            .to_vec(),
        Format::Zarr3 => vec![v3::document_key(path)],
        Format::DraftA | Format::DraftB | Format::N5 => Vec::new(),
    };
    let documents = known
        .presence(&keys)
        .and_then(|_| known.many_documents(&keys));
    resolve(documents.map(|documents| {
        let mut existing = Vec::new();
        for (key, bytes) in keys.iter().zip(documents) {
            if let Some(bytes) = bytes {
                existing.push((key.clone(), bytes.clone()));
            }
        }
        existing
    }))
}

/// The map of copies in a document, if it has one.
fn map_of<'a>(
    format: Format,
    key: &str,
    bytes: &'a Bytes,
) -> Option<(Range<usize>, Vec<Span<'a>>)> {
    if format == Format::Zarr3 {
        return inline(key, bytes).ok().flatten();
    }
    let spans = entries(key, bytes).ok()?;
    let top = spans::members(key, bytes, 0..bytes.len()).ok()?;
    Some((last(&top, "metadata")?.clone(), spans))
}

fn splice(text: &[u8], map: &Range<usize>, all: &Copies<'_>) -> Result<Bytes, MetadataError> {
    let len = all
        .iter()
        .map(|((name, _), copy)| name.len() + copy.len() + 8)
        .sum::<usize>()
        + text.len();
    let mut value = Vec::with_capacity(len);
    value.extend_from_slice(&text[..map.start]);
    for (i, ((name, token), copy)) in all.iter().enumerate() {
        value.extend_from_slice(if i == 0 { b"{\n" } else { b",\n" });
        match token {
            Some(token) => value.extend_from_slice(token.as_bytes()),
            None => value.extend_from_slice(Json::from(*name).to_string().as_bytes()),
        }
        value.extend_from_slice(b": ");
        value.extend_from_slice(copy);
    }
    value.extend_from_slice(if all.is_empty() { b"{}" } else { b"\n}" });
    value.extend_from_slice(&text[map.end..]);
    Ok(value.into())
}

/// A document as it appears in a map. Without its copy the map would say that it does not exist, so
/// one that is blank or cut, while another program writes it, is an error.
fn copy(format: Format, key: &str, bytes: &Bytes) -> Result<Vec<u8>, MetadataError> {
    let text = bytes
        .strip_prefix("\u{feff}".as_bytes())
        .unwrap_or(bytes)
        .trim_ascii();
    json::check_whole(key, text)?;
    if format != Format::Zarr3 || !matches!(v3::document::kind(key, text), Ok(MemberKind::Group)) {
        return Ok(text.to_vec());
    }
    // As in zarr-python: a group in the map states that its children are in the map.
    let text = without_inline(text);
    let top = spans::members(key, &text, 0..text.len())?;
    let has_map = last(&top, MEMBER).is_some();
    let comma = if top.is_empty() { "" } else { "," };
    let mut text = text.into_owned();
    if has_map {
        return Ok(text);
    }
    text.pop();
    let map = r#"{"kind":"inline","must_understand":false,"metadata":{}}"#;
    text.extend_from_slice(format!("{comma}\"{MEMBER}\":{map}}}").as_bytes());
    Ok(text)
}

/// Names in a map and keys of documents.
struct Names<'a> {
    format: Format,
    /// The keys of documents that the map can contain start with this.
    prefix: &'a str,
}

impl<'a> Names<'a> {
    fn new(format: Format, key: &'a str) -> Self {
        let name = match format {
            Format::Zarr2 => DOCUMENT,
            Format::Zarr3 => v3::DOCUMENT,
            Format::DraftA | Format::DraftB | Format::N5 => key,
        };
        Self {
            format,
            prefix: key.strip_suffix(name).unwrap_or_default(),
        }
    }

    /// The name of a document in the map; `None` if it does not belong into the map.
    fn of_key(&self, key: &str) -> Option<String> {
        let name = key.strip_prefix(self.prefix)?;
        match self.format {
            Format::Zarr3 => name
                .strip_suffix(v3::DOCUMENT)?
                .strip_suffix('/')
                .map(str::to_owned),
            Format::Zarr2 => {
                let file = name.rsplit('/').next().unwrap_or(name);
                [v2::ARRAY, v2::GROUP, v2::ATTRIBUTES]
                    .contains(&file)
                    .then(|| name.to_owned())
            }
            Format::DraftA | Format::DraftB | Format::N5 => {
                (name != DRAFT_DOCUMENT).then(|| name.to_owned())
            }
        }
    }

    /// The key of the document with this name, if it can be a key.
    fn key(&self, name: &str) -> Option<String> {
        is_relative(name).then(|| match self.format {
            Format::Zarr3 => format!("{}{name}/{}", self.prefix, v3::DOCUMENT),
            _ => format!("{}{name}", self.prefix),
        })
    }

    /// True if the document of a group between a node and the group that has the map is missing
    /// from it.
    fn is_orphan(&self, name: &str, all: &Copies<'_>) -> bool {
        // Groups of v2 need no attributes.
        let mut groups = self
            .parents(name)
            .filter(|name| !name.ends_with(v2::ATTRIBUTES));
        groups.any(|name| !has(all, &name))
    }

    /// The names of the documents of a node's parent groups, nearest first. They are made one by
    /// one, because the length of all of them together grows with the square of the length of the
    /// name.
    fn parents<'n>(&self, name: &'n str) -> impl Iterator<Item = String> + use<'n> {
        let format = self.format;
        let node = match self.format {
            Format::Zarr3 => name,
            Format::Zarr2 => name.rsplit_once('/').map_or("", |(node, _)| node),
            Format::DraftA | Format::DraftB | Format::N5 => "",
        };
        let parents =
            std::iter::successors(node.rsplit_once('/'), |(parent, _)| parent.rsplit_once('/'));
        parents.flat_map(move |(parent, _)| match format {
            Format::Zarr3 => vec![parent.to_owned()],
            _ => [v2::GROUP, v2::ATTRIBUTES]
                .map(|file| format!("{parent}/{file}"))
                .to_vec(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parents_are_named_one_by_one() {
        let check = |format: Format, key: &str, name: &str, expected: &[&str]| {
            let parents: Vec<String> = Names::new(format, key).parents(name).collect();
            assert_eq!(parents, expected, "{name}");
        };
        check(Format::Zarr3, "zarr.json", "a/b/c", &["a/b", "a"]);
        check(Format::Zarr3, "zarr.json", "a", &[]);
        let of_v2 = ["a/b/.zgroup", "a/b/.zattrs", "a/.zgroup", "a/.zattrs"];
        check(Format::Zarr2, ".zmetadata", "a/b/c/.zarray", &of_v2);
        check(Format::Zarr2, ".zmetadata", ".zattrs", &[]);
        // All of them together would have 2^39 bytes.
        let name = "a/".repeat(1 << 20);
        let mut parents = Names::new(Format::Zarr3, "zarr.json").parents(&name);
        assert_eq!(
            parents.next().map(|parent| parent.len()),
            Some((2 << 20) - 1)
        );
        assert_eq!(
            parents.next().map(|parent| parent.len()),
            Some((2 << 20) - 3)
        );
    }

    /// An entry whose parents are missing is not a reason to look for each of them.
    #[test]
    fn entries_below_a_change_name_no_other_documents() {
        let group = r#"{"zarr_format":3,"node_type":"group"}"#;
        let map = format!(
            r#"{{"kind":"inline","must_understand":false,"metadata":{{"a":{group},"a/b/c":{group}}}}}"#
        );
        let document =
            format!(r#"{{"zarr_format":3,"node_type":"group","consolidated_metadata":{map}}}"#);
        let change = DocumentChange {
            keys: Vec::new(),
            prefixes: vec!["a/".to_owned()],
        };
        let current = Bytes::from(document);
        let asked =
            refresh_consolidated(Format::Zarr3, "zarr.json", &current, &change, &Known::new());
        let Ok(Resolved::Need(crate::Need::Documents(keys))) = asked else {
            panic!("{asked:?}")
        };
        assert_eq!(keys, ["a/zarr.json", "a/b/c/zarr.json"]);
    }
}
