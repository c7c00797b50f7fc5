//! Documents collected in one: `.zmetadata` of v2 and of the draft's dialect B, the inline map of
//! v3 (as zarr-python writes it).

mod refresh;

use std::sync::Arc;

use bytes::Bytes;

use crate::json::spans::{self, Span, last};
use crate::known::{Stop, resolve};
use crate::v3::inline::{MEMBER, inline};
use crate::{
    ConsolidatedUse, Format, Known, Limits, Member, MetadataError, Node, NodeKind, NodePath,
    OpenOptions, Resolved, draft, v2, v3,
};

pub use refresh::{
    DocumentChange, consolidate, consolidated_keys, copies_stand_alone, has_copies,
    has_no_copies_yet, node_documents, refresh_consolidated,
};

/// Name of the document in v2, and its suffix in the draft's dialect B.
pub(crate) const DOCUMENT: &str = ".zmetadata";

/// Key of the document of the draft's dialect B.
pub(crate) const DRAFT_DOCUMENT: &str = "meta/root/consolidated/.zmetadata";

/// The documents of a group and of all nodes below it, from one document: what it does not contain
/// does not exist. See [`consolidated`].
#[derive(Debug)]
pub struct Consolidated {
    base: NodePath,
    format: Format,
    known: Known,
}

/// Key of the document in which a group's consolidated metadata are, or would be; `None` for
/// formats that have none.
#[must_use]
pub fn consolidated_key(node: &Node) -> Option<String> {
    key_at(node.format, &node.path)
}

/// Key of the document in which the consolidated metadata of the group at a path are, or would be;
/// `None` for formats that have none.
pub(crate) fn key_at(format: Format, base: &NodePath) -> Option<String> {
    match format {
        Format::Zarr2 => Some(format!("{}{DOCUMENT}", base.prefix())),
        Format::Zarr3 => Some(v3::document_key(base)),
        Format::DraftB => Some(DRAFT_DOCUMENT.to_owned()),
        Format::DraftA | Format::N5 => None,
    }
}

/// The usable consolidated metadata of a group, if any; the nodes in them are not read.
///
/// An empty map does not count: its writer may have meant the copy of a group in a map further out.
///
/// # Errors
/// They contain an array or group without its parent group (Zarr v3); they are required and
/// missing, broken or of an unknown version. Broken metadata that are not required are ignored.
pub fn consolidated(
    node: &Node,
    known: &Known,
    uses: ConsolidatedUse,
) -> Result<Resolved<Option<Arc<Consolidated>>>, MetadataError> {
    node.context.limits.check_documents(known)?;
    resolve(find(node, known, uses))
}

fn find(
    node: &Node,
    known: &Known,
    uses: ConsolidatedUse,
) -> Result<Option<Arc<Consolidated>>, Stop> {
    if uses == ConsolidatedUse::Ignore || matches!(node.kind, NodeKind::Array(_)) {
        return Ok(None);
    }
    if let Some(found) = around(node, known)? {
        return Ok(Some(Arc::new(found)));
    }
    let found = match (node.format, consolidated_key(node)) {
        (_, None) => None,
        (Format::Zarr3, Some(key)) => {
            let own = node
                .documents
                .iter()
                .find(|(name, _)| *name == key)
                .map(|(_, bytes)| bytes);
            own.map(|bytes| read(node.format, &node.path, &key, bytes, &node.context.limits))
                .transpose()?
                .flatten()
        }
        (format, Some(key)) => {
            let [bytes] = known.documents([&key])?;
            let base = if format == Format::Zarr2 {
                node.path.clone()
            } else {
                NodePath::root()
            };
            match bytes.map(|bytes| read(format, &base, &key, bytes, &node.context.limits)) {
                None => None,
                Some(Ok(found)) => found,
                Some(Err(error)) if uses == ConsolidatedUse::Require => return Err(error.into()),
                Some(Err(_)) => None,
            }
        }
    };
    match found {
        Some(found) => Ok(Some(Arc::new(found))),
        None if uses == ConsolidatedUse::Require => {
            let path = format!("{} (consolidated metadata)", node.path);
            let tried = consolidated_key(node).into_iter().collect();
            Err(MetadataError::NotFound { path, tried }.into())
        }
        None => Ok(None),
    }
}

/// The consolidated metadata in which a node was found, if any.
pub(crate) fn around(node: &Node, known: &Known) -> Result<Option<Consolidated>, Stop> {
    let Some(base) = &node.context.consolidated_in else {
        return Ok(None);
    };
    let Some(key) = key_at(node.format, base) else {
        return Ok(None);
    };
    let [bytes] = known.documents([&key])?;
    let read = bytes.map(|bytes| read(node.format, base, &key, bytes, &node.context.limits));
    Ok(read.transpose()?.flatten())
}

/// Reads a document that contains others; `None` if it contains none, or says that only its writer
/// can use them.
fn read(
    format: Format,
    base: &NodePath,
    key: &str,
    bytes: &Bytes,
    limits: &Limits,
) -> Result<Option<Consolidated>, MetadataError> {
    let mut documents = Vec::new();
    let mut add = |name: String, (_, range): &Span<'_>| {
        documents.push((name, Some(bytes.slice(range.clone()))))
    };
    let prefix = if format == Format::DraftB {
        String::new()
    } else {
        base.prefix()
    };
    match format {
        Format::Zarr3 => {
            let Some((_, entries)) = inline(key, bytes)? else {
                return Ok(None);
            };
            for entry in entries.iter().filter(|(name, _)| is_relative(name)) {
                add([&*prefix, &*entry.0, "/", v3::DOCUMENT].concat(), entry);
            }
        }
        Format::Zarr2 => {
            for entry in entries(key, bytes)?
                .iter()
                .filter(|(name, _)| is_document_of_v2(name))
            {
                add([&*prefix, &*entry.0].concat(), entry);
            }
        }
        Format::DraftB => {
            for entry in entries(key, bytes)?
                .iter()
                .filter(|(name, _)| is_relative(name))
            {
                add(entry.0.to_string(), entry);
            }
        }
        Format::DraftA | Format::N5 => {}
    }
    if documents.is_empty() {
        return Ok(None);
    }
    let known = Known::closed(prefix, documents);
    match format {
        Format::Zarr3 => check_parents(base, key, &known)?,
        Format::DraftB if !known.has(v3::DOCUMENT) => return Ok(None),
        _ => {}
    }
    known
        .values()
        .try_for_each(|(key, bytes)| limits.check_document(key, bytes))?;
    Ok(Some(Consolidated {
        base: base.clone(),
        format,
        known,
    }))
}

/// The entries of a `.zmetadata`.
pub(crate) fn entries<'a>(key: &str, bytes: &'a [u8]) -> Result<Vec<Span<'a>>, MetadataError> {
    let top = spans::members(key, bytes, 0..bytes.len())?;
    match last(&top, "zarr_consolidated_format").map(|range| &bytes[range.clone()]) {
        Some(b"1") => {}
        Some(other) => {
            let version = String::from_utf8_lossy(&other[..other.len().min(80)]).into_owned();
            return Err(MetadataError::unsupported(
                key,
                "zarr_consolidated_format",
                version,
            ));
        }
        None => {
            return Err(MetadataError::invalid(
                key,
                "has no zarr_consolidated_format",
            ));
        }
    }
    match last(&top, "metadata") {
        Some(range) => spans::members(key, bytes, range.clone()),
        None => Err(MetadataError::invalid(key, "has no metadata")),
    }
}

/// True if a name can be a path below a group.
pub(crate) fn is_relative(name: &str) -> bool {
    !name.contains(['\\', '\0'])
        && name
            .split('/')
            .all(|segment| !matches!(segment, "" | "." | ".."))
}

fn is_document_of_v2(name: &str) -> bool {
    let (folder, file) = name.rsplit_once('/').unwrap_or(("", name));
    [v2::ARRAY, v2::GROUP, v2::ATTRIBUTES].contains(&file) && (file == name || is_relative(folder))
}

/// Every node has its parent group in the map, except direct children of the group that has the
/// map.
fn check_parents(base: &NodePath, key: &str, known: &Known) -> Result<(), MetadataError> {
    // Nodes of one group follow each other.
    let mut last = base.as_str();
    for (document, _) in known.values() {
        let node = document.strip_suffix("/zarr.json").unwrap_or(document);
        let Some((parent, _)) = node.rsplit_once('/') else {
            continue;
        };
        if parent == last || parent == base.as_str() {
            continue;
        }
        if !known.has(&[parent, "/", v3::DOCUMENT].concat()) {
            let what = format_args!("{MEMBER} has {node}, but not {parent}, which it is in");
            return Err(MetadataError::invalid(key, what));
        }
        last = parent;
    }
    Ok(())
}

impl Consolidated {
    /// Path of the group that has the consolidated metadata.
    #[must_use]
    pub fn base(&self) -> &NodePath {
        &self.base
    }

    /// The node at a path, if it is contained. Nodes and members found from it also come from the
    /// consolidated metadata.
    ///
    /// # Errors
    /// There is no such node; its document is invalid.
    pub fn open(&self, path: &NodePath, options: &OpenOptions) -> Result<Node, MetadataError> {
        match self.find(path, options)? {
            Some(node) => Ok(node),
            None => {
                let path = format!("{path} (in the consolidated metadata of {})", self.base);
                Err(MetadataError::NotFound {
                    path,
                    tried: Vec::new(),
                })
            }
        }
    }

    fn find(&self, path: &NodePath, options: &OpenOptions) -> Result<Option<Node>, MetadataError> {
        let options = OpenOptions {
            format: Some(self.format),
            ..options.clone()
        };
        let found = match self.format {
            Format::Zarr2 => v2::open(path, &self.known, &options),
            Format::Zarr3 => v3::open(path, &self.known, &options),
            Format::DraftA | Format::DraftB | Format::N5 => {
                draft::open(path, &self.known, &options)
            }
        };
        let Some(node) = settled(found).map_err(|error| self.of_copy(error))? else {
            return Ok(None);
        };
        self.own(node, &options).map(Some)
    }

    /// The error of a contained document, by the key of the one that contains it: the node's own
    /// document may be valid.
    pub(crate) fn of_copy(&self, error: MetadataError) -> MetadataError {
        match (error, key_at(self.format, &self.base)) {
            (MetadataError::Invalid { key, what }, Some(of_all)) => {
                MetadataError::invalid(of_all, format_args!("its copy of {key}: {what}"))
            }
            (error, _) => error,
        }
    }

    /// A contained node, as it is opened.
    fn own(&self, node: Node, options: &OpenOptions) -> Result<Node, MetadataError> {
        let mut node = node.opened_with(options)?;
        node.context.consolidated_in = Some(self.base.clone());
        Ok(node)
    }

    /// The contained documents, with everything else known to be absent.
    pub(crate) fn known(&self) -> &Known {
        &self.known
    }

    /// The contained children of a group, which may be the one that has the metadata, sorted by
    /// name.
    ///
    /// # Errors
    /// The document of a child that has to be read is invalid.
    pub fn members(&self, group: &Node) -> Result<Vec<Member>, MetadataError> {
        if matches!(group.kind, NodeKind::Array(_)) {
            return Ok(Vec::new());
        }
        settled(match self.format {
            Format::Zarr2 => v2::members(group, &self.known),
            Format::Zarr3 => v3::members(group, &self.known),
            Format::DraftA | Format::DraftB | Format::N5 => draft::members(group, &self.known),
        })
    }
}

/// An answer from complete facts: only documents outside of them can be missing, and those do not
/// exist.
fn settled<T: Default>(answer: Result<T, Stop>) -> Result<T, MetadataError> {
    match answer {
        Ok(answer) => Ok(answer),
        Err(Stop::Need(_)) => Ok(T::default()),
        Err(Stop::Error(error)) => Err(error),
    }
}

/// The node at a path without a document of its own, from the consolidated metadata of an ancestor,
/// the root first, or from its own.
pub(crate) fn open_below(
    path: &NodePath,
    known: &Known,
    options: &OpenOptions,
) -> Result<Option<Node>, Stop> {
    let candidates = candidates(path, known, options)?;
    let keys: Vec<String> = candidates.iter().map(|(key, ..)| key.clone()).collect();
    known.presence(&keys)?;
    let documents = known.many_documents(&keys)?;
    for ((key, format, base), bytes) in candidates.iter().zip(documents) {
        let Some(bytes) = bytes else { continue };
        let consolidated = match read(*format, base, key, bytes, &options.limits) {
            Ok(Some(consolidated)) => consolidated,
            Ok(None) => continue,
            // The ancestor's own document is broken: an error, as everywhere. Others are ignored.
            Err(error) if *format == Format::Zarr3 => return Err(error.into()),
            Err(_) => continue,
        };
        if let Some(node) = consolidated.find(path, options)? {
            return Ok(Some(node));
        }
    }
    Ok(None)
}

/// Keys of documents that may contain those of a node.
pub(crate) fn candidates(
    path: &NodePath,
    known: &Known,
    options: &OpenOptions,
) -> Result<Vec<(String, Format, NodePath)>, Stop> {
    if options.consolidated == ConsolidatedUse::Ignore {
        return Ok(Vec::new());
    }
    let may_be = |format| options.format.is_none_or(|asked| asked == format);
    let mut candidates = Vec::new();
    for base in path.ancestors() {
        if may_be(Format::Zarr3) {
            candidates.push((v3::document_key(&base), Format::Zarr3, base.clone()));
        }
        if may_be(Format::Zarr2) {
            candidates.push((format!("{}{DOCUMENT}", base.prefix()), Format::Zarr2, base));
        }
    }
    if may_be(Format::Zarr2) {
        candidates.push((
            format!("{}{DOCUMENT}", path.prefix()),
            Format::Zarr2,
            path.clone(),
        ));
    }
    if may_be(Format::DraftB) && draft::is_dialect_b(known, options)? {
        candidates.push((DRAFT_DOCUMENT.to_owned(), Format::DraftB, NodePath::root()));
    }
    Ok(candidates)
}
