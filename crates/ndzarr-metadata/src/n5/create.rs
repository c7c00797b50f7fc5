//! New datasets and groups.

use std::sync::Arc;

use bytes::Bytes;
use ndzarr_model::Attributes;

use crate::json;
use crate::json::{Json, Members};
use crate::known::Stop;
use crate::n5::document::{self, Contents, NAME, Own, Spot, is_hidden};
use crate::n5::{dataset, node, version};
use crate::operations::site::Site;
use crate::shared::attribute_texts::of_request;
use crate::{
    ArrayRequest, Context, CreateOptions, Creation, Document, Existing, ExistingDocument, Format,
    Known, MetadataError, N5GroupDocuments, NodeKind, NodePath, Wanted,
};

pub(crate) fn create_array(
    path: &NodePath,
    request: &ArrayRequest,
    known: &Known,
    options: &CreateOptions,
) -> Result<Creation, Stop> {
    let members = dataset::raise(request, options)?;
    let spot = survey(path, known, options)?;
    if options.existing == Existing::Refuse {
        refuse_document(&spot)?;
        // A group needs no document: readers would take whatever lies here for blocks of the
        // dataset.
        let listing = known.listing(&path.prefix())?;
        let others = listing.keys.iter().chain(&listing.prefixes);
        if others
            .filter(|name| !is_hidden(name))
            .any(|name| name != NAME)
        {
            return Err(MetadataError::occupied(path, "a group with nodes below it exists").into());
        }
    }
    let version = version::needed_by(&request.data_type);
    let members = with_version(&spot, members, path.is_root().then_some(version));
    let value = json::write_object(&document::key(path), members.clone())?;
    let contents = Contents::of_new(value.clone(), members);
    let mut node = node::dataset(path, &contents, options.n5_axes)?;
    if let NodeKind::Array(spec) = &mut node.kind {
        set_edge_blocks(spec, request.edge_blocks);
    }
    creation(&spot, options, version, value, node)
}

pub(crate) fn create_group(
    path: &NodePath,
    attributes: &Attributes,
    known: &Known,
    options: &CreateOptions,
) -> Result<Creation, Stop> {
    if let Some(name) = ["n5", "dimensions", "blockSize"]
        .into_iter()
        .find(|name| attributes.contains_key(*name))
    {
        let what = format!("reserves the attribute {name}");
        return Err(MetadataError::inexpressible(Format::N5, what).into());
    }
    let spot = survey(path, known, options)?;
    if options.existing == Existing::Refuse {
        refuse_document(&spot)?;
    }
    // Without any document a group would not exist in a store without folders.
    let versioned = path.is_root() || options.n5_group_documents == N5GroupDocuments::All;
    let version = version::of_groups();
    let members = with_version(
        &spot,
        of_request(attributes, options),
        versioned.then_some(version),
    );
    let value = json::write_object(&document::key(path), members.clone())?;
    let contents = Contents::of_new(value.clone(), members);
    let context = Context {
        n5_axes: options.n5_axes,
        ..Context::default()
    };
    let node = node::group(path, &contents, context);
    creation(&spot, options, version, value, node)
}

/// Looks at the place of a new node, and refuses what no option allows.
fn survey<'a>(
    path: &'a NodePath,
    known: &Known,
    options: &CreateOptions,
) -> Result<Spot<'a>, Stop> {
    for segment in path.segments() {
        if segment == NAME || is_hidden(segment) {
            let what = format!("{segment:?} is the name of a file of the format");
            return Err(MetadataError::Path {
                path: path.to_string(),
                what,
            }
            .into());
        }
    }
    let own = if options.existing == Existing::Replace {
        Own::IsReplaced
    } else {
        Own::Matters
    };
    let spot = Spot::look(path, known, own)?;
    if let Some(ancestor) = spot.enclosing_dataset() {
        return Err(MetadataError::occupied(
            ancestor,
            "an array exists, and arrays contain no nodes",
        )
        .into());
    }
    spot.check_versions()?;
    if options.existing == Existing::Beside {
        if !spot.own.is_blank() {
            return Err(
                MetadataError::occupied(path, "a node of this format already exists").into(),
            );
        }
        return Ok(spot);
    }
    // Zarr documents take precedence over N5's: the new node would be hidden, or hide an existing
    // one.
    Site::survey(path, known, options)?;
    Ok(spot)
}

fn refuse_document(spot: &Spot<'_>) -> Result<(), MetadataError> {
    if spot.own.describes_dataset(Wanted::Any) {
        return Err(MetadataError::occupied(spot.path, "an array is there"));
    }
    if !spot.own.is_blank() || (spot.own.bytes.is_some() && !is_empty_document(&spot.own)) {
        return Err(MetadataError::occupied(spot.path, "a group is there"));
    }
    Ok(())
}

/// True if a document is `null`, which is the same as absent.
fn is_empty_document(contents: &Contents) -> bool {
    contents
        .bytes
        .as_ref()
        .is_none_or(|bytes| bytes.trim_ascii() == b"null")
}

/// Puts the version first, if there is one. An existing version is never lowered, and raised if
/// necessary.
fn with_version(
    spot: &Spot<'_>,
    members: Members<'static>,
    needed: Option<&str>,
) -> Members<'static> {
    let mut all = Members::new();
    if let Some(needed) = needed {
        let current = spot
            .own
            .get("n5")
            .filter(|current| !version::is_too_low(Some(current), needed));
        all.insert("n5", current.map_or_else(|| needed.into(), Json::to_owned));
    }
    all.extend(members);
    all
}

fn creation(
    spot: &Spot<'_>,
    options: &CreateOptions,
    version: &str,
    value: Bytes,
    node: crate::Node,
) -> Result<Creation, Stop> {
    let mut put = match options.existing {
        Existing::Beside => Vec::new(),
        Existing::Refuse | Existing::Replace => ancestor_documents(spot, options, version)?,
    };
    let key = document::key(spot.path);
    let existing = match options.existing {
        // A blank one may already exist.
        Existing::Beside => ExistingDocument::Replace,
        existing => existing.of_document(),
    };
    put.push(Document {
        key,
        value,
        existing,
    });
    // The document first, so that readers never find an array with only some of its blocks.
    let (erase, erase_prefixes) = match options.existing {
        Existing::Replace => (vec![document::key(spot.path)], vec![spot.path.prefix()]),
        Existing::Refuse | Existing::Beside => (Vec::new(), Vec::new()),
    };
    let foreign = options.foreign;
    Ok(Creation {
        erase,
        erase_prefixes,
        foreign,
        put,
        claim: None,
        node,
    })
}

/// The documents that a container needs above the new node: a version at its root, and if requested
/// in every group. Any version above the node that is too low for it is raised: readers may take
/// each for the container's.
fn ancestor_documents(
    spot: &Spot<'_>,
    options: &CreateOptions,
    needed: &str,
) -> Result<Vec<Document>, MetadataError> {
    let mut put = Vec::new();
    let is_inside = spot.is_inside_container();
    for (path, contents) in &spot.ancestors {
        let key = document::key(path);
        let current = contents.get("n5");
        let wanted = if current.is_some() || path.is_root() && !is_inside {
            version::is_too_low(current, needed)
        } else {
            options.n5_group_documents == N5GroupDocuments::All && is_empty_document(contents)
        };
        if !wanted {
            continue;
        }
        if let Some(kind) = contents.other_kind {
            return Err(MetadataError::invalid(
                key,
                format_args!("is {kind}, which has no place for a version"),
            ));
        }
        let value = json::write(&key, &json::json!({"n5": needed}))?;
        put.push(Document {
            key,
            value,
            existing: ExistingDocument::Complete,
        });
    }
    Ok(put)
}

/// The value of a document that lacks members of `new` or has too low a version, with the new
/// members in front; `None` if it has them all.
pub(crate) fn complete(
    key: &str,
    new: &[u8],
    current: Option<&[u8]>,
) -> Result<Option<Bytes>, MetadataError> {
    let contents = Contents::read(key, current)?;
    if let Some(kind) = contents.other_kind {
        return Err(MetadataError::invalid(
            key,
            format_args!("is {kind}, which has no place for a version"),
        ));
    }
    let mut members = json::parse_object(key, new, json::IN_VALUES)?;
    members.retain(|name, value| match (name, value.as_str()) {
        ("n5", Some(needed)) => version::is_too_low(contents.get("n5"), needed),
        _ => contents.get(name).is_none(),
    });
    if members.is_empty() {
        return Ok(None);
    }
    for (name, value) in contents.members {
        if !members.contains_key(&name) {
            members.insert(name, value);
        }
    }
    Ok(Some(json::write_object(key, members)?))
}

/// No document says how blocks at the end are written: it applies only to this node.
fn set_edge_blocks(spec: &mut ndzarr_model::ArraySpec, edge_blocks: ndzarr_model::EdgeBlocks) {
    for codec in Arc::make_mut(&mut spec.codecs) {
        if let ndzarr_model::CodecConfig::N5Block(block) = &mut codec.config {
            block.edge_blocks = edge_blocks;
        }
    }
}
