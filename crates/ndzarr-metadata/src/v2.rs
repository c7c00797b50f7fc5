//! Zarr v2: `.zarray`, `.zgroup`, `.zattrs`.

pub(crate) mod create;
pub(crate) mod document;
pub(crate) mod fill;
pub(crate) mod objects;
pub(crate) mod spellings;

use bytes::Bytes;
use ndzarr_model::ArraySpec;

use crate::known::Stop;
use crate::shared::attribute_texts;
use crate::{
    AttributeChange, Context, Erasure, Format, Known, Member, MemberKind, MetadataError, Node,
    NodeKind, NodePath, OpenOptions, json,
};

pub(crate) use crate::shared::names::{ARRAY, ATTRIBUTES, GROUP};
pub(crate) use create::create;

/// Keys of the documents that make a node; one of them is enough.
pub(crate) fn document_keys(path: &NodePath) -> Vec<String> {
    [ARRAY, GROUP]
        .map(|name| format!("{}{name}", path.prefix()))
        .to_vec()
}

/// The node at a path; an array before a group.
pub(crate) fn open(
    path: &NodePath,
    known: &Known,
    options: &OpenOptions,
) -> Result<Option<Node>, Stop> {
    let prefix = path.prefix();
    let [array_key, group_key, attributes_key] =
        [ARRAY, GROUP, ATTRIBUTES].map(|name| format!("{prefix}{name}"));
    // Once it is known which of them exists, it is read together with its attributes.
    if known.has(&array_key) {
        known.documents([&array_key, &attributes_key])?;
    } else if known.has(&group_key) {
        known.documents([&group_key, &attributes_key])?;
    }
    let [array] = known.documents([&array_key])?;
    let (key, bytes) = match array {
        Some(bytes) => (array_key.clone(), bytes),
        None => match known.documents([&group_key])? {
            [Some(bytes)] => (group_key.clone(), bytes),
            [None] => return Ok(None),
        },
    };
    let [attribute_bytes] = known.documents([&attributes_key])?;
    let attributes = document::attributes(&attributes_key, attribute_bytes.map(|bytes| &**bytes))?;
    let mut warnings = Vec::new();
    let kind = if array.is_some() {
        NodeKind::Array(Box::new(document::array(
            path,
            &key,
            bytes,
            &attributes,
            &mut warnings,
        )?))
    } else {
        document::check_group(&key, bytes)?;
        NodeKind::Group
    };
    let mut documents = vec![(key, bytes.clone())];
    documents.extend(attribute_bytes.map(|bytes| (attributes_key, bytes.clone())));
    if array.is_some() && known.has(&group_key) {
        warnings.push(format!(
            "{group_key} also exists; the node is read as the array of {array_key}"
        ));
    }
    Ok(Some(Node {
        format: Format::Zarr2,
        path: path.clone(),
        kind,
        attributes,
        context: Context {
            n5_axes: options.n5_axes,
            ..Context::default()
        },
        documents,
        warnings,
    }))
}

/// The children that have a document of their own.
pub(crate) fn members(node: &Node, known: &Known) -> Result<Vec<Member>, Stop> {
    let prefix = node.path.prefix();
    let listing = known.listing(&prefix)?;
    let names = listing.child_names();
    let keys = |name: &str| -> Vec<String> {
        names
            .iter()
            .map(|child| format!("{prefix}{child}/{name}"))
            .collect()
    };
    let array_keys = keys(ARRAY);
    let arrays: Vec<bool> = known
        .many_documents(&array_keys)?
        .iter()
        .map(Option::is_some)
        .collect();
    let group_keys: Vec<String> = keys(GROUP)
        .into_iter()
        .zip(&arrays)
        .filter(|(_, array)| !**array)
        .map(|(key, _)| key)
        .collect();
    let mut groups = known.many_documents(&group_keys)?.into_iter();
    let mut members = Vec::new();
    for (name, array) in names.into_iter().zip(arrays) {
        let kind = if array {
            MemberKind::Array
        } else if groups.next().flatten().is_some() {
            MemberKind::Group
        } else {
            continue;
        };
        members.push(Member {
            name: name.clone(),
            kind,
        });
    }
    Ok(members)
}

/// Key of the document that holds a node's attributes.
pub(crate) fn attributes_key(node: &Node) -> String {
    format!("{}{ATTRIBUTES}", node.path.prefix())
}

/// The new `.zattrs`; all of it belongs to the user.
pub(crate) fn change_attributes(
    node: &Node,
    current: Option<&[u8]>,
    change: &AttributeChange,
) -> Result<Bytes, MetadataError> {
    let key = attributes_key(node);
    let mut changed = current.map_or(Ok(json::Members::new()), |current| {
        json::parse_object(&key, current, json::NonFinite::Accept)
    })?;
    attribute_texts::apply(node.format, &mut changed, change)?;
    json::write_object(&key, changed)
}

/// The keys and prefixes to remove with a node: everything below it.
pub(crate) fn erase(node: &Node) -> Erasure {
    let prefix = node.path.prefix();
    let documents = [ARRAY, GROUP, ATTRIBUTES]
        .map(|name| format!("{prefix}{name}"))
        .to_vec();
    Erasure {
        documents,
        prefixes: vec![prefix],
    }
}

/// The array of a node as its `.zarray` describes it.
pub(crate) fn array_spec(node: &Node, key: &str, bytes: &[u8]) -> Result<ArraySpec, MetadataError> {
    document::array(&node.path, key, bytes, &node.attributes, &mut Vec::new())
}
