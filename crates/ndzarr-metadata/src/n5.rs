//! N5 (<https://github.com/saalfeldlab/n5#file-system-specification>): one `attributes.json` for
//! each dataset, and for groups that have attributes.

mod attribute_path;
mod attributes;
mod compression;
mod create;
mod dataset;
mod document;
mod node;
#[cfg(test)]
mod tests;
mod version;

pub(crate) use create::complete;

use ndzarr_model::ArraySpec;

use crate::json::Json;
use crate::known::Stop;
use crate::n5::document::{Contents, Own, Spot, is_hidden};
use crate::{
    Context, Erasure, Format, Known, Member, MemberKind, MetadataError, N5VersionCheck, Node,
    NodePath, OpenOptions, Wanted,
};

pub(crate) use attributes::change as change_attributes;
pub(crate) use create::{create_array, create_group};
pub(crate) use dataset::check_lengths;
pub(crate) use document::{NAME as DOCUMENT, key as document_key};

/// The dataset or group at a path. Without a document that has `n5` on the way down from the root,
/// only datasets and groups with members of their own are found, unless the format is requested.
pub(crate) fn open(
    path: &NodePath,
    known: &Known,
    options: &OpenOptions,
) -> Result<Option<Node>, Stop> {
    if let Some((own, version)) = dataset_at(path, known, options)? {
        if let Some((key, version)) = version {
            version::check(&key, &version)?;
        }
        return Ok(Some(node::dataset(path, &own, options.n5_axes)?));
    }
    let spot = Spot::look(path, known, Own::Matters)?;
    let check_versions = || match options.n5_version {
        N5VersionCheck::Enforce => spot.check_versions(),
        N5VersionCheck::Skip => Ok(()),
    };
    let is_container = spot.own.get("n5").is_some();
    if spot.enclosing_dataset().is_some() && !is_container {
        return Ok(None);
    }
    let is_stated =
        is_container || spot.is_inside_container() || options.format == Some(Format::N5);
    // Viewers of N5, tensorstore and neuroglancer write images without the version of their
    // container.
    if !is_stated && spot.own.members.is_empty() {
        return Ok(None);
    }
    if spot.own.bytes.is_none() && !spot.has_prefix(known)? {
        return Ok(None);
    }
    check_versions()?;
    let context = Context {
        n5_axes: options.n5_axes,
        ..Context::default()
    };
    let mut group = node::group(path, &spot.own, context);
    if !is_stated {
        group.warnings.push(format!(
            "the version of N5 is not stated, neither in {} nor above",
            document::key(path)
        ));
    }
    Ok(Some(group))
}

/// Keys of the documents that describe a path: those of its ancestors, from the root down, and its
/// own.
pub(crate) fn document_keys(path: &NodePath) -> Vec<String> {
    let mut paths = path.ancestors();
    paths.push(path.clone());
    paths.iter().map(document::key).collect()
}

type Version = (String, Json<'static>);

/// The document of a dataset, and the version to check: that of the outermost container, found with
/// as few reads as possible.
fn dataset_at(
    path: &NodePath,
    known: &Known,
    options: &OpenOptions,
) -> Result<Option<(Contents, Option<Version>)>, Stop> {
    let keys = document_keys(path);
    let presence = known.presence(&keys)?;
    let mut present = keys
        .into_iter()
        .zip(presence)
        .filter(|(_, is_present)| *is_present)
        .map(|(key, _)| key);
    let own_key = document::key(path);
    let Some(outermost) = present.next() else {
        return Ok(None);
    };
    // Both in one round.
    let documents = known.many_documents(&[own_key.clone(), outermost.clone()])?;
    let own = Contents::read(&own_key, documents[0].map(|bytes| &bytes[..]))?;
    if !own.describes_dataset(options.wanted) {
        return Ok(None);
    }
    if options.n5_version == N5VersionCheck::Skip {
        return Ok(Some((own, None)));
    }
    for key in std::iter::once(outermost).chain(present) {
        let [bytes] = known.documents([&key])?;
        let contents = Contents::read(&key, bytes.map(|bytes| &bytes[..]))?;
        if let Some(version) = contents.get("n5") {
            let version = (key, version.to_owned());
            return Ok(Some((own, Some(version))));
        }
    }
    Ok(Some((own, None)))
}

/// The datasets and groups directly below a group: its prefixes, distinguished by their documents.
pub(crate) fn members(node: &Node, known: &Known) -> Result<Vec<Member>, Stop> {
    let listing = known.listing(&node.path.prefix())?;
    let mut names: Vec<&String> = listing
        .prefixes
        .iter()
        .filter(|name| !is_hidden(name))
        .collect();
    names.sort();
    names.dedup();
    // Names that cannot be part of a path are files of something else.
    let children: Vec<(&String, String)> = names
        .into_iter()
        .filter_map(|name| Some((name, document::key(&node.path.child(name).ok()?))))
        .collect();
    let keys: Vec<String> = children.iter().map(|(_, key)| key.clone()).collect();
    let documents = known.many_documents(&keys)?;
    let mut members = Vec::with_capacity(children.len());
    for ((name, key), bytes) in children.into_iter().zip(documents) {
        let contents = Contents::read(&key, bytes.map(|bytes| &bytes[..]))?;
        let kind = if contents.describes_dataset(Wanted::Any) {
            MemberKind::Array
        } else {
            MemberKind::Group
        };
        members.push(Member {
            name: name.clone(),
            kind,
        });
    }
    Ok(members)
}

/// Everything below the node's prefix, including its document. At the root that is the whole store.
pub(crate) fn erase(node: &Node) -> Erasure {
    Erasure {
        documents: vec![document::key(&node.path)],
        prefixes: vec![node.path.prefix()],
    }
}

/// The dataset of a node as its `attributes.json` describes it.
pub(crate) fn array_spec(node: &Node, key: &str, bytes: &[u8]) -> Result<ArraySpec, MetadataError> {
    let contents = Contents::read(key, Some(bytes))?;
    node::dataset(&node.path, &contents, node.context.n5_axes)?.into_array(key)
}
