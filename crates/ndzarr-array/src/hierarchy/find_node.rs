//! Finds and opens nodes, for arrays and groups alike.

use std::borrow::Cow;
#[cfg(feature = "fs")]
use std::path::{Path, PathBuf};

use ndzarr_metadata::{
    ArrayRequest, CreateOptions, Creation, Format, Known, Node, NodeKind, NodePath, OpenOptions,
};
use ndzarr_store::StoreError;

use crate::error::{Error, ErrorKind, Result};
use crate::hierarchy::key_name::NOTE;
use crate::places::located::Located;
#[cfg(feature = "fs")]
use crate::places::url::UrlFormat;
use crate::storage::{Storage, Unread};

/// The document in Zarr v2 that a node may lack.
const ATTRIBUTES_OF_V2: &str = ".zattrs";

/// Opens the node at a path of a store.
pub(crate) async fn open(storage: &Storage, path: &str, options: &OpenOptions) -> Result<Node> {
    let path = NodePath::new(path)?;
    open_at(storage, &path, options).await
}

pub(crate) async fn open_at(
    storage: &Storage,
    path: &NodePath,
    options: &OpenOptions,
) -> Result<Node> {
    open_knowing(storage, path, options, &mut Known::new(), None).await
}

/// Opens a node with what is known, which then includes the documents that were read; also one that
/// may be needed next, if that costs no time.
async fn open_knowing(
    storage: &Storage,
    path: &NodePath,
    options: &OpenOptions,
    known: &mut Known,
    also: Option<String>,
) -> Result<Node> {
    let conclude = |known: &Known| ndzarr_metadata::open(path, known, options);
    let mut unread = Unread::new();
    if !storage.is_blocking() {
        let mut keys = ndzarr_metadata::likely_documents(path, options);
        keys.extend(also);
        unread = storage.guess(known, &options.limits, &keys).await;
    }
    let mut denied: Vec<(String, Error)> = Vec::new();
    loop {
        let error = match storage
            .conclude_after(&mut unread, known, &options.limits, conclude)
            .await
        {
            Err(error) => error,
            Ok(mut node) => {
                let warning =
                    |(key, _)| format!("reading {key} is denied, which is taken for its absence");
                node.warnings.extend(denied.into_iter().map(warning));
                return Ok(node);
            }
        };
        match may_be_absent(&error) {
            // A service that may not be listed denies what does not exist, too. Of the documents
            // that a search asks for, most do not: if one of a node can be read, the others are
            // absent.
            Some(key) if denied.iter().all(|(other, _)| *other != key) => {
                known.add_document(key.clone(), None);
                denied.push((key, error));
            }
            _ if error.kind() == ErrorKind::NotFound => {
                return Err(denied.into_iter().next().map_or(error, |(_, first)| first));
            }
            _ => return Err(error),
        }
    }
}

/// The key of a document that a service denied, if another one can be that of the node instead.
/// Attributes in a document of their own cannot be told from none, unless the user said what a
/// denial means.
fn may_be_absent(error: &Error) -> Option<String> {
    let source = std::error::Error::source(error)?.downcast_ref::<StoreError>()?;
    let StoreError::Denied {
        or_missing, key, ..
    } = source
    else {
        return None;
    };
    (*or_missing || !key.ends_with(ATTRIBUTES_OF_V2)).then(|| key.clone())
}

/// Finds the node at a place. A folder is the root of a store, or part of a hierarchy described
/// further up (the draft of v3, implicit groups of N5). Also returns the documents that were read
/// for it; those of a group may include its consolidated metadata.
pub(crate) async fn find(place: Located, options: &OpenOptions) -> Result<(Storage, Node, Known)> {
    let options = &*in_named_format(&place, options);
    let mut known = Known::new();
    let path = NodePath::new(&place.path)?;
    let also = ndzarr_metadata::likely_consolidated(&path, options);
    match open_knowing(&place.storage, &path, options, &mut known, also).await {
        Ok(node)
            if matches!(node.kind, NodeKind::ImplicitGroup)
                && is_unfinished(&place.storage, &path).await =>
        {
            let what = format!("no group at \"{path}\": {UNFINISHED}");
            Err(Error::new(ErrorKind::NotFound, what).in_store(|| place.storage.name()))
        }
        Ok(mut node) => {
            place.check(node.format)?;
            node.warnings.extend_from_slice(place.storage.warnings());
            Ok((place.storage, node, known))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            find_otherwise(&place, &path, options, error).await
        }
        Err(error) => Err(error),
    }
}

/// The options, in the format that the URL of a place names.
#[cfg(feature = "fs")]
fn in_named_format<'o>(place: &Located, options: &'o OpenOptions) -> Cow<'o, OpenOptions> {
    match place.format {
        Some(UrlFormat::One(format)) if options.format.is_none() => Cow::Owned(OpenOptions {
            format: Some(format),
            ..options.clone()
        }),
        _ => Cow::Borrowed(options),
    }
}

#[cfg(not(feature = "fs"))]
fn in_named_format<'o>(_: &Located, options: &'o OpenOptions) -> Cow<'o, OpenOptions> {
    Cow::Borrowed(options)
}

/// The node of a place that has no documents, if it is a folder of a hierarchy; else says more
/// about the place.
async fn find_otherwise(
    place: &Located,
    path: &NodePath,
    options: &OpenOptions,
    mut error: Error,
) -> Result<(Storage, Node, Known)> {
    // A request for a message is not made over a network.
    if place.storage.is_blocking() && is_unfinished(&place.storage, path).await {
        error = error.after(UNFINISHED);
    }
    #[cfg(feature = "fs")]
    if let Some(folder) = &place.folder {
        return match find_above(&place.storage, folder, options).await? {
            Some((storage, node)) => Ok((storage, node, Known::new())),
            None => Err(at_folder(error, folder)),
        };
    }
    #[cfg(not(feature = "fs"))]
    let _ = options;
    if place.path.is_empty() {
        Err(below(error, &place.storage).await)
    } else {
        Err(error)
    }
}

const UNFINISHED: &str =
    "a copy to this place has not ended: resume it, or replace or remove what is there";

/// Returns `true` if a copy to a place has not ended.
async fn is_unfinished(storage: &Storage, path: &NodePath) -> bool {
    storage
        .has(&format!("{}{NOTE}", path.prefix()))
        .await
        .unwrap_or(false)
}

/// Describes a store at whose root no node was found: an archive of a folder often has that folder
/// only, and the URL of an archive does not say that it is one.
async fn below(error: Error, storage: &Storage) -> Error {
    let name = storage.name();
    let file = name.trim_end_matches('/');
    if !name.contains('|') && [".zip", ".ozx"].iter().any(|ending| file.ends_with(ending)) {
        return error.after(&format!("if it is an archive, open {file}|zip:"));
    }
    let listing = storage.listing("").await.unwrap_or_default();
    // macOS puts its own files next to the folder.
    let is_own =
        |name: &&String| name.starts_with("._") || matches!(&***name, "__MACOSX" | ".DS_Store");
    let mut keys = listing.keys.iter().filter(|name| !is_own(name));
    let mut folders = listing.prefixes.iter().filter(|name| !is_own(name));
    let (None, Some(folder), None) = (keys.next(), folders.next(), folders.next()) else {
        return error;
    };
    let separator = if name.ends_with(':') { "" } else { "/" };
    error.after(&format!(
        "everything is below {folder:?}: open {name}{separator}{folder}"
    ))
}

/// The node that a folder is in the hierarchy around it.
#[cfg(feature = "fs")]
async fn find_above(
    storage: &Storage,
    folder: &Path,
    options: &OpenOptions,
) -> Result<Option<(Storage, Node)>> {
    let absolute = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    for root in absolute.ancestors().skip(1) {
        let is_root = ["zarr.json", "attributes.json", ".zgroup", ".zmetadata"]
            .iter()
            .any(|name| root.join(name).is_file());
        let below = absolute
            .strip_prefix(root)
            .ok()
            .and_then(|below| below.to_str());
        let (true, Some(below)) = (is_root, below) else {
            continue;
        };
        let storage = storage.in_folder(root);
        match open(&storage, below, options).await {
            Ok(node) => return Ok(Some((storage, node))),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// Checks the place of a new node: its format, and that the folders above are none of an array.
pub(crate) async fn check_new(place: &Located, format: Format) -> Result<()> {
    place.check(format)?;
    #[cfg(feature = "fs")]
    if let Some(folder) = place
        .folder
        .as_ref()
        .filter(|folder| crate::places::archive::is_new(folder))
    {
        let what = "is the name of an archive, which is written as a whole: by a copy to it, or by a writer of archives";
        return Err(Error::new(
            ErrorKind::InvalidArgument,
            format!("{} {what}", folder.display()),
        ));
    }
    #[cfg(feature = "fs")]
    if let Some(folder) = &place.folder
        && let Some((storage, node)) = nearest_above(folder).await
        && matches!(node.kind, NodeKind::Array(_))
    {
        return Err(not_a("a group", &node, &storage));
    }
    Ok(())
}

/// What creates an array at a place.
pub(crate) async fn new_array(
    place: Located,
    request: &ArrayRequest,
    options: &CreateOptions,
) -> Result<(Storage, Creation)> {
    check_new(&place, options.format).await?;
    let storage = place.storage;
    let path = NodePath::new(&place.path)?;
    let conclude = |known: &Known| ndzarr_metadata::create_array(&path, request, known, options);
    let creation = storage
        .conclude(&mut Known::new(), &options.limits, conclude)
        .await?;
    Ok((storage, creation))
}

/// The node of the nearest folder above that is one.
#[cfg(feature = "fs")]
async fn nearest_above(folder: &Path) -> Option<(Storage, Node)> {
    let absolute = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    for above in absolute.ancestors().skip(1) {
        if has_document(above) {
            let storage = Storage::folder(above);
            if let Ok(node) = open(&storage, "", &OpenOptions::default()).await {
                return Some((storage, node));
            }
        }
    }
    None
}

/// Returns `true` if a folder has the document of a node.
#[cfg(feature = "fs")]
fn has_document(folder: &Path) -> bool {
    let documents = ["zarr.json", ".zarray", ".zgroup", "attributes.json"];
    documents.iter().any(|name| folder.join(name).is_file())
}

/// The nearest folder below that has the document of a node, relative to the folder. Links are not
/// followed.
#[cfg(feature = "fs")]
fn nearest_below(folder: &Path) -> Option<PathBuf> {
    /// How many files and folders are looked at.
    const MOST: usize = 100;
    let mut n_seen = 0;
    let mut level = vec![folder.to_owned()];
    while !level.is_empty() {
        let mut below = Vec::new();
        for entry in level.iter().flat_map(std::fs::read_dir).flatten() {
            n_seen += 1;
            if n_seen > MOST {
                return None;
            }
            let entry = entry.ok()?;
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                below.push(entry.path());
            }
        }
        below.sort();
        if let Some(found) = below.iter().find(|below| has_document(below)) {
            return found.strip_prefix(folder).ok().map(Path::to_owned);
        }
        level = below;
    }
    None
}

/// Describes a folder in which no node was found.
#[cfg(feature = "fs")]
fn at_folder(error: Error, folder: &Path) -> Error {
    let state = match std::fs::metadata(folder) {
        Err(_) => "no such folder".to_owned(),
        Ok(found) if !found.is_dir() => "a file, not a folder".to_owned(),
        Ok(_) if std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none()) => {
            "the folder is empty".to_owned()
        }
        Ok(_) => {
            let nowhere = "there is no node in the folder, nor a hierarchy above that contains it";
            match nearest_below(folder) {
                Some(below) => format!("{nowhere}; the nearest below it is {}", below.display()),
                None => nowhere.to_owned(),
            }
        }
    };
    error.after(&format!("{}: {state}", folder.display()))
}

/// A folder without a document of a node, in a format that has no groups without one, as if it were
/// a group. Nodes may be below it all the same, where a writer has left out the groups in between.
pub(crate) fn folder(like: &Node, path: NodePath) -> Node {
    let (attributes, documents, warnings) = Default::default();
    let context = like.context.clone();
    Node {
        format: like.format,
        path,
        kind: NodeKind::ImplicitGroup,
        attributes,
        context,
        documents,
        warnings,
    }
}

/// Returns `true` for such a folder.
pub(crate) fn is_folder(node: &Node) -> bool {
    node.kind == NodeKind::ImplicitGroup && matches!(node.format, Format::Zarr2 | Format::Zarr3)
}

/// Returns `true` if a folder of this name below a group may lead to nodes, though it is no child.
pub(crate) fn may_be_folder(group: &Node, name: &str) -> bool {
    match group.format {
        Format::Zarr2 => group.path.child(name).is_ok(),
        // Names that begin so are reserved.
        Format::Zarr3 => !name.starts_with("__") && group.path.child(name).is_ok(),
        _ => false,
    }
}

/// An error saying that a node is of the wrong kind.
pub(crate) fn not_a(what: &str, node: &Node, storage: &Storage) -> Error {
    let is = if matches!(node.kind, NodeKind::Array(_)) {
        "an array"
    } else {
        "a group"
    };
    let document = node.documents.first().map(|(key, _)| &key[..]);
    Error::new(
        ErrorKind::WrongNodeKind,
        format!("\"{}\" is {is}, not {what}", node.path),
    )
    .in_document(document)
    .in_store(|| storage.name())
}
