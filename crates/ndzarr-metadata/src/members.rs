//! Lists the children of a group.

use std::collections::BTreeMap;

use bytes::Bytes;

use crate::known::{Stop, resolve};
use crate::path::is_name;
use crate::{
    Alike, Format, Known, Listing, Member, MetadataError, Node, NodeKind, NodePath, OpenOptions, Resolved,
    draft, n5, open, v2, v3,
};

/// The children of a group, sorted by name; none for an array. Of a node that was found in consolidated metadata, those that
/// they hold; of any other, those that are there.
///
/// # Errors
/// The document of a child that has to be read is invalid.
pub fn members(node: &Node, known: &Known) -> Result<Resolved<Vec<Member>>, MetadataError> {
    if let Some(consolidated) = &node.context.consolidated {
        return consolidated.members(node).map(Resolved::Done);
    }
    node.context.limits.check_documents(known)?;
    resolve(match node.format {
        Format::Zarr2 => v2::members(node, known),
        Format::Zarr3 => v3::members(node, known),
        Format::DraftA | Format::DraftB => draft::members(node, known),
        Format::N5 => n5::members(node, known),
    })
}

/// What of a listing concerns each child of a group, and the prefix that the listing is of: the [`members`] by one part are one
/// child or none, and those by all parts are those of the group. So each can be found and opened apart from the others. Of a node
/// that was found in consolidated metadata, and of an array, there are no parts.
///
/// ```
/// use ndzarr_metadata::{Known, Listing, Need, NodePath, OpenOptions, Resolved, members, members_apart, open};
///
/// let mut known = Known::new();
/// let group = r#"{"zarr_format": 3, "node_type": "group"}"#;
/// known.add_document("zarr.json", Some(group.into()));
/// let Resolved::Done(root) = open(&NodePath::root(), &known, &OpenOptions::default())? else { panic!("all is known") };
///
/// known.add_listing("", Listing { keys: vec![], prefixes: vec!["a".into(), "b".into()] });
/// let Resolved::Done((prefix, mut parts)) = members_apart(&root, &known)? else { panic!("all is known") };
/// assert_eq!((&prefix[..], parts.len()), ("", 2));
///
/// let mut of_b = Known::new();
/// of_b.add_listing(prefix, parts.remove(1));
/// assert!(matches!(members(&root, &of_b)?, Resolved::Need(Need::Documents(keys)) if keys == ["b/zarr.json"]));
/// # Ok::<(), ndzarr_metadata::MetadataError>(())
/// ```
///
/// # Errors
/// None: whatever is listed is taken as it is.
pub fn members_apart(node: &Node, known: &Known) -> Result<Resolved<(String, Vec<Listing>)>, MetadataError> {
    resolve(apart(node, known))
}

fn apart(node: &Node, known: &Known) -> Result<(String, Vec<Listing>), Stop> {
    if node.context.consolidated.is_some() || matches!(node.kind, NodeKind::Array(_)) {
        return Ok((String::new(), Vec::new()));
    }
    let layout = match node.format {
        Format::DraftA | Format::DraftB => Some(draft::layout::Layout::of(node.format, &node.context)),
        Format::Zarr2 | Format::Zarr3 | Format::N5 => None,
    };
    let prefix = layout.as_ref().map_or_else(|| node.path.prefix(), |layout| layout.meta_prefix(&node.path));
    let listing = known.listing(&prefix)?;
    let mut parts: BTreeMap<&str, Listing> = BTreeMap::new();
    for name in &listing.prefixes {
        parts.entry(name).or_default().prefixes = vec![name.clone()];
    }
    if let Some(layout) = &layout {
        for key in &listing.keys {
            if let Some(name) = layout.array_name(key).or_else(|| layout.group_name(key)) {
                parts.entry(name).or_default().keys.push(key.clone());
            }
        }
    }
    let parts = parts.into_values().collect();
    Ok((prefix, parts))
}

/// Path and key of the one document that says both what the child is that a part of [`members_apart`] tells of, and all else:
/// see [`open_apart`]. `None` in other formats than Zarr v3, and where there is no child.
#[must_use]
pub fn document_apart(group: &Node, part: &Listing, options: &OpenOptions) -> Option<(NodePath, String)> {
    if group.format != Format::Zarr3 || options.format != Some(Format::Zarr3) {
        return None;
    }
    let ([name], []) = (part.prefixes.as_slice(), part.keys.as_slice()) else { return None };
    let path = v3::child_path(group, name)?;
    let key = v3::document_key(&path);
    Some((path, key))
}

/// The child at a path, by the document that [`document_apart`] names. `None` where it takes [`members`] and [`open`] to find out:
/// where something is wrong, so that an error is the one that these give. An array that is [`Alike`] costs less.
///
/// ```
/// use ndzarr_metadata::{Known, Listing, NodePath, OpenOptions, Format, Resolved, document_apart, open, open_apart};
///
/// let mut known = Known::new();
/// let document = r#"{"zarr_format": 3, "node_type": "group"}"#;
/// known.add_document("zarr.json", Some(document.into()));
/// let options = OpenOptions { format: Some(Format::Zarr3), ..OpenOptions::default() };
/// let Resolved::Done(root) = open(&NodePath::root(), &known, &options)? else { panic!("all is known") };
///
/// let part = Listing { keys: vec![], prefixes: vec!["a".into()] };
/// let (path, key) = document_apart(&root, &part, &options).expect("a child of Zarr v3");
/// assert_eq!(key, "a/zarr.json");
/// let a = open_apart(&path, &key, &document.into(), &options, None).expect("a group");
/// assert_eq!(a.path.as_str(), "a");
/// # Ok::<(), ndzarr_metadata::MetadataError>(())
/// ```
#[must_use]
pub fn open_apart(
    path: &NodePath,
    key: &str,
    document: &Bytes,
    options: &OpenOptions,
    alike: Option<&Alike>,
) -> Option<Node> {
    if let Some(node) = alike.and_then(|alike| alike.open_document(path, key, document, options)) {
        return Some(node);
    }
    let mut known = Known::new();
    known.add_document(key, Some(document.clone()));
    match open(path, &known, options) {
        Ok(Resolved::Done(node)) => Some(node),
        Ok(Resolved::Need(_)) | Err(_) => None,
    }
}

/// The names of the prefixes of a listing, sorted; names that no path can have belong to something else.
pub(crate) fn child_names(listing: &Listing) -> Vec<&String> {
    let mut names: Vec<&String> = listing.prefixes.iter().filter(|name| is_name(name)).collect();
    names.sort();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use ndzarr_model::Attributes;

    use super::*;
    use crate::{Context, MemberKind, Need, NodePath};

    const DOCUMENTS: [(&str, &str); 7] = [
        ("g/a/zarr.json", r#"{"zarr_format": 3, "node_type": "array"}"#),
        ("g/b/zarr.json", r#"{"zarr_format": 3, "node_type": "group"}"#),
        ("g/a/.zarray", "{}"),
        ("g/a/.zgroup", "{}"),
        ("g/b/.zgroup", "{}"),
        (
            "g/a/attributes.json",
            r#"{"dimensions": [1], "blockSize": [1], "dataType": "uint8", "compression": {"type": "raw"}}"#,
        ),
        ("g/b/attributes.json", "{}"),
    ];

    fn group(format: Format) -> Node {
        Node {
            format,
            path: NodePath::new("g").expect("a path"),
            kind: NodeKind::Group,
            attributes: Attributes::new(),
            context: Context::default(),
            documents: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// The members by a listing, and the documents that are there.
    fn by(node: &Node, prefix: &str, listing: Listing) -> Vec<Member> {
        let mut known = Known::new();
        known.add_listing(prefix, listing);
        loop {
            match members(node, &known).expect("plain documents") {
                Resolved::Done(members) => return members,
                Resolved::Need(Need::Documents(keys)) => {
                    for key in keys {
                        let value = DOCUMENTS.iter().find(|(there, _)| *there == key);
                        known.add_document(&key, value.map(|(_, value)| Bytes::from(*value)));
                    }
                }
                Resolved::Need(need) => panic!("{need:?} is known"),
            }
        }
    }

    #[test]
    fn members_of_all_parts_are_those_of_the_group() {
        let strings = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        for format in [Format::Zarr2, Format::Zarr3, Format::N5, Format::DraftA, Format::DraftB] {
            let node = group(format);
            let keys = ["a.array.json", "a.group.json", "c.array.json", "x.json", ".array.json", "zarr.json"];
            let listing = Listing {
                keys: strings(&keys),
                prefixes: strings(&["b", "a", "c", "a", "__a", ".a", "..", "d\\e", ""]),
            };
            let Ok(Resolved::Need(Need::Listings(prefixes))) = members_apart(&node, &Known::new()) else {
                panic!("nothing is known yet");
            };
            let mut known = Known::new();
            known.add_listing(&prefixes[0], listing.clone());
            let Ok(Resolved::Done((prefix, parts))) = members_apart(&node, &known) else {
                panic!("the listing is known");
            };
            assert_eq!(prefixes, std::slice::from_ref(&prefix));
            let apart: Vec<Vec<Member>> = parts.into_iter().map(|part| by(&node, &prefix, part)).collect();
            assert!(apart.iter().all(|members| members.len() <= 1), "{format}: {apart:?}");
            let mut apart = apart.concat();
            apart.sort_by(|a, b| a.name.cmp(&b.name));
            let whole = by(&node, &prefix, listing);
            assert_eq!(apart, whole, "{format}");
            let kind = |name: &str| whole.iter().find(|member| member.name == name).map(|member| member.kind);
            assert_eq!(
                (kind("a"), kind("b")),
                (Some(MemberKind::Array), Some(MemberKind::Group)),
                "{format}"
            );
        }
    }
}
