//! Documents that are kept together in one: `.zmetadata` of v2 and of the draft's dialect B, the inline map of v3
//! (as zarr-python writes it).

mod refresh;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use crate::json_spans::{self, Span, last};
use crate::known::{Stop, resolve};
use crate::members::child_names;
use crate::{
    Alike, ConsolidatedUse, Format, Known, Limits, Member, MetadataError, Node, NodeKind, NodePath,
    OpenOptions, Resolved, draft, v2, v3,
};

pub use refresh::{
    DocumentChange, consolidate, consolidated_key, consolidated_keys, copies_stand_alone, has_no_copies_yet,
    node_documents, refresh_consolidated,
};

/// Name of the document in v2, and its ending in the draft's dialect B.
pub(crate) const DOCUMENT: &str = ".zmetadata";

/// Key of the document of the draft's dialect B.
pub(crate) const DRAFT_DOCUMENT: &str = "meta/root/consolidated/.zmetadata";

/// Member of a v3 group that holds the documents of all nodes below it.
pub(crate) const MEMBER: &str = "consolidated_metadata";

/// The documents of a group and of all nodes below it, from one document: what it does not hold is not there. See
/// [`consolidated`].
#[derive(Debug, PartialEq, Eq)]
pub struct Consolidated {
    base: NodePath,
    format: Format,
    known: Known,
}

/// The consolidated metadata of a group, if it has some that can be used; nothing is read of the nodes in them.
///
/// An empty map is no such: what wrote it may have meant the copy of a group in a map further out.
///
/// # Errors
/// They have an array or group without the group that it is in (Zarr v3); they are required, and there are none,
/// or they are broken or of an unknown version, which otherwise is as good as none.
pub fn consolidated(
    node: &Node,
    known: &Known,
    uses: ConsolidatedUse,
) -> Result<Resolved<Option<Arc<Consolidated>>>, MetadataError> {
    node.context.limits.check_documents(known)?;
    resolve(find(node, known, uses))
}

fn find(node: &Node, known: &Known, uses: ConsolidatedUse) -> Result<Option<Arc<Consolidated>>, Stop> {
    if uses == ConsolidatedUse::Ignore || matches!(node.kind, NodeKind::Array(_)) {
        return Ok(None);
    }
    if let Some(found) = &node.context.consolidated {
        return Ok(Some(Arc::clone(found)));
    }
    let found = match (node.format, consolidated_key(node)) {
        (_, None) => None,
        (Format::Zarr3, Some(key)) => {
            let own = node.documents.iter().find(|(name, _)| *name == key).map(|(_, bytes)| bytes);
            own.map(|bytes| read(node.format, &node.path, &key, bytes, &node.context.limits))
                .transpose()?
                .flatten()
        }
        (format, Some(key)) => {
            let [bytes] = known.documents([&key])?;
            let base = if format == Format::Zarr2 { node.path.clone() } else { NodePath::root() };
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

/// Reads a document that holds others; `None` if it holds none, or says that they are of no use to anybody but its writer.
fn read(
    format: Format,
    base: &NodePath,
    key: &str,
    bytes: &Bytes,
    limits: &Limits,
) -> Result<Option<Consolidated>, MetadataError> {
    let mut documents = BTreeMap::new();
    let mut add = |name: String, (_, range): &Span<'_>| documents.insert(name, bytes.slice(range.clone()));
    match format {
        Format::Zarr3 => {
            let Some((_, entries)) = inline(key, bytes)? else { return Ok(None) };
            for entry in entries.iter().filter(|(name, _)| is_relative(name)) {
                add(format!("{}{}/{}", base.prefix(), entry.0, v3::DOCUMENT), entry);
            }
            check_parents(base, key, &documents)?;
        }
        Format::Zarr2 => {
            for entry in &entries(key, bytes)? {
                if is_document_of_v2(&entry.0) {
                    add(format!("{}{}", base.prefix(), entry.0), entry);
                }
            }
        }
        Format::DraftB => {
            for entry in &entries(key, bytes)? {
                if is_relative(&entry.0) {
                    add(entry.0.as_str().to_owned(), entry);
                }
            }
            if !documents.contains_key(v3::DOCUMENT) {
                return Ok(None);
            }
        }
        Format::DraftA | Format::N5 => return Ok(None),
    }
    if documents.is_empty() {
        return Ok(None);
    }
    let prefix = if format == Format::DraftB { String::new() } else { base.prefix() };
    let known = Known::closed(prefix, documents);
    known.values().try_for_each(|(key, bytes)| limits.check_document(key, bytes))?;
    Ok(Some(Consolidated { base: base.clone(), format, known }))
}

/// The entries of a `.zmetadata`.
pub(crate) fn entries<'a>(key: &str, bytes: &'a [u8]) -> Result<Vec<Span<'a>>, MetadataError> {
    let top = json_spans::members(key, bytes, 0..bytes.len())?;
    match last(&top, "zarr_consolidated_format").map(|range| &bytes[range.clone()]) {
        Some(b"1") => {}
        Some(other) => {
            let version = String::from_utf8_lossy(&other[..other.len().min(80)]).into_owned();
            return Err(MetadataError::unsupported(key, "zarr_consolidated_format", version));
        }
        None => return Err(MetadataError::invalid(key, "has no zarr_consolidated_format")),
    }
    match last(&top, "metadata") {
        Some(range) => json_spans::members(key, bytes, range.clone()),
        None => Err(MetadataError::invalid(key, "has no metadata")),
    }
}

/// Where a map is in the text, and its entries.
type SpannedMap<'a> = (Range<usize>, Vec<Span<'a>>);

/// The inline map of a v3 group: where it is, and its entries. None if there is no such member, or one of another kind.
fn inline<'a>(key: &str, bytes: &'a [u8]) -> Result<Option<SpannedMap<'a>>, MetadataError> {
    let mut entries = Vec::new();
    let map = inline_map(key, bytes, &mut |name| match name {
        Some(entry) => entries.push(entry),
        None => entries.clear(),
    })?;
    Ok(map.map(|map| (map, entries)))
}

/// An entry; `None` where a map begins, since of several the last one counts.
type OnEntry<'f, 'a> = &'f mut dyn FnMut(Option<Span<'a>>);

/// Where the inline map is, found in one go through the document, which is large if there is one.
fn inline_map<'a>(
    key: &str,
    bytes: &'a [u8],
    entry: OnEntry<'_, 'a>,
) -> Result<Option<Range<usize>>, MetadataError> {
    let mut found = None;
    json_spans::scan(key, bytes, 0..bytes.len(), |name, scanner| {
        let is_map = name == *MEMBER;
        if !is_map || !scanner.is_object() {
            scanner.value()?;
            if is_map {
                found = None;
            }
            return Ok(());
        }
        let (mut kind, mut map) = (None, None);
        scanner.object(|name, scanner| {
            match &*name {
                "kind" => kind = Some(scanner.value()?),
                "metadata" if scanner.is_object() => {
                    entry(None);
                    map = Some(scanner.object(|name, scanner| {
                        let range = scanner.value()?;
                        entry(Some((name, range)));
                        Ok(())
                    })?);
                }
                "metadata" => {
                    scanner.value()?;
                    map = None;
                }
                _ => {
                    scanner.value()?;
                }
            }
            Ok(())
        })?;
        let is_inline = kind.is_some_and(|range| &bytes[range] == b"\"inline\"");
        found = map.filter(|_| is_inline);
        Ok(())
    })?;
    Ok(found)
}

/// The document of a v3 node without the map of others that it may hold, so that it is not read to learn about the node.
pub(crate) fn without_inline(bytes: &[u8]) -> Cow<'_, [u8]> {
    // Most documents have none; a name that is written otherwise is read with the rest.
    let has_none = |text: &str| !text.contains("\"consolidated_metadata\"");
    if str::from_utf8(bytes).is_ok_and(has_none) {
        return Cow::Borrowed(bytes);
    }
    // What is wrong with it is found when it is read.
    let Ok(Some(map)) = inline_map("", bytes, &mut drop) else { return Cow::Borrowed(bytes) };
    Cow::Owned([&bytes[..map.start], b"{}", &bytes[map.end..]].concat())
}

/// Whether a name can be a path below a group.
pub(crate) fn is_relative(name: &str) -> bool {
    !name.contains(['\\', '\0']) && name.split('/').all(|segment| !matches!(segment, "" | "." | ".."))
}

fn is_document_of_v2(name: &str) -> bool {
    let (folder, file) = name.rsplit_once('/').unwrap_or(("", name));
    [v2::ARRAY, v2::GROUP, v2::ATTRIBUTES].contains(&file) && (file == name || is_relative(folder))
}

/// Every node has its group in the map, but for those of the group that has the map.
fn check_parents(
    base: &NodePath,
    key: &str,
    documents: &BTreeMap<String, Bytes>,
) -> Result<(), MetadataError> {
    for document in documents.keys() {
        let node = document.strip_suffix("/zarr.json").unwrap_or(document);
        let Some((parent, _)) = node.rsplit_once('/') else { continue };
        if parent != base.as_str() && !documents.contains_key(&format!("{parent}/{}", v3::DOCUMENT)) {
            let what = format_args!("{MEMBER} has {node}, but not {parent}, which it is in");
            return Err(MetadataError::invalid(key, what));
        }
    }
    Ok(())
}

impl Consolidated {
    /// Path of the group that has them.
    #[must_use]
    pub fn base(&self) -> &NodePath {
        &self.base
    }

    /// The node at a path, if they hold one. Nodes and members that are found from it come from them, too.
    ///
    /// # Errors
    /// They hold no such node; its document is not what the format asks for.
    pub fn open(self: &Arc<Self>, path: &NodePath, options: &OpenOptions) -> Result<Node, MetadataError> {
        match self.find(path, options)? {
            Some(node) => Ok(node),
            None => {
                let path = format!("{path} (in the consolidated metadata of {})", self.base);
                Err(MetadataError::NotFound { path, tried: Vec::new() })
            }
        }
    }

    /// As [`open`](Self::open), beside an array that the node may be alike to.
    ///
    /// ```
    /// use ndzarr_metadata::{Alike, ConsolidatedUse, Known, NodePath, OpenOptions, Resolved, consolidated, open};
    ///
    /// let array = r#"{"zarr_format": 3, "node_type": "array", "shape": [2], "data_type": "uint8", "codecs": ["bytes"],
    ///     "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}},
    ///     "chunk_key_encoding": "default", "fill_value": 0}"#;
    /// let other = array.replace("[2], \"data", "[3], \"data");
    /// let document = format!(
    ///     r#"{{"zarr_format": 3, "node_type": "group", "consolidated_metadata": {{"kind": "inline",
    ///         "must_understand": false, "metadata": {{"a": {array}, "b": {other}}}}}}}"#
    /// );
    /// let mut known = Known::new();
    /// known.add_document("zarr.json", Some(document.into()));
    /// let options = OpenOptions::default();
    /// let Resolved::Done(root) = open(&NodePath::root(), &known, &options)? else { panic!("all is known") };
    /// let Resolved::Done(Some(all)) = consolidated(&root, &known, ConsolidatedUse::Use)? else { panic!("a map") };
    ///
    /// let (a, b) = (NodePath::new("a")?, NodePath::new("b")?);
    /// let alike = Alike::to(&all.open(&a, &options)?).expect("an array of Zarr v3");
    /// assert_eq!(all.open_beside(&b, &options, &alike)?, all.open(&b, &options)?);
    /// # Ok::<(), ndzarr_metadata::MetadataError>(())
    /// ```
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_beside(
        self: &Arc<Self>,
        path: &NodePath,
        options: &OpenOptions,
        alike: &Alike,
    ) -> Result<Node, MetadataError> {
        match alike.open(path, &self.known, options).filter(|node| node.format == self.format) {
            Some(mut node) => {
                node.context.consolidated = Some(Arc::clone(self));
                Ok(node)
            }
            None => self.open(path, options),
        }
    }

    pub(crate) fn find(
        self: &Arc<Self>,
        path: &NodePath,
        options: &OpenOptions,
    ) -> Result<Option<Node>, MetadataError> {
        let options = OpenOptions { format: Some(self.format), ..options.clone() };
        let found = match self.format {
            Format::Zarr2 => v2::open(path, &self.known, &options),
            Format::Zarr3 => v3::open(path, &self.known, &options),
            Format::DraftA | Format::DraftB | Format::N5 => draft::open(path, &self.known, &options),
        };
        let Some(mut node) = settled(found)? else { return Ok(None) };
        if let NodeKind::Array(spec) = &node.kind {
            let key = node.documents.first().map_or(path.as_str(), |(key, _)| key);
            options.limits.check_array(key, spec)?;
        }
        node.context.limits = options.limits;
        node.context.extensions.clone_from(&options.extensions);
        node.context.consolidated = Some(Arc::clone(self));
        Ok(Some(node))
    }

    /// The names of the children of a group, sorted, where opening a child tells what it is (Zarr v3). `None` where it takes
    /// [`members`](Self::members).
    ///
    /// ```
    /// use ndzarr_metadata::{ConsolidatedUse, Known, MemberKind, NodePath, OpenOptions, Resolved, consolidated, open};
    ///
    /// let document = r#"{"zarr_format": 3, "node_type": "group", "consolidated_metadata": {"kind": "inline",
    ///     "must_understand": false, "metadata": {"a": {"zarr_format": 3, "node_type": "group"}}}}"#;
    /// let mut known = Known::new();
    /// known.add_document("zarr.json", Some(document.into()));
    /// let options = OpenOptions::default();
    /// let Resolved::Done(root) = open(&NodePath::root(), &known, &options)? else { panic!("all is known") };
    /// let Resolved::Done(Some(all)) = consolidated(&root, &known, ConsolidatedUse::Use)? else { panic!("a map") };
    ///
    /// assert_eq!(all.names(&root), Some(vec!["a".to_owned()]));
    /// assert_eq!(all.member(&root, "a")?.map(|member| member.kind), Some(MemberKind::Group));
    /// assert_eq!(all.member(&root, "b")?, None);
    /// # Ok::<(), ndzarr_metadata::MetadataError>(())
    /// ```
    #[must_use]
    pub fn names(&self, group: &Node) -> Option<Vec<String>> {
        if self.format != Format::Zarr3 {
            return None;
        }
        let listing = self.known.listing(&group.path.prefix()).ok()?;
        let has_document = |path: &NodePath| self.known.has(&v3::document_key(path));
        let is_node = |name: &str| v3::child_path(group, name).is_some_and(|path| has_document(&path));
        Some(child_names(&listing).into_iter().filter(|name| is_node(name)).cloned().collect())
    }

    /// One of the children of a group, of those that [`members`](Self::members) has, where there are [`names`](Self::names).
    ///
    /// # Errors
    /// Its document is so wrong that it does not even tell what it is.
    pub fn member(&self, group: &Node, name: &str) -> Result<Option<Member>, MetadataError> {
        let path = v3::child_path(group, name).filter(|_| self.format == Format::Zarr3);
        settled(path.map_or(Ok(None), |path| v3::member(&path, &self.known)))
    }

    /// The children of a group that they hold, or of the one that has them, sorted by name.
    ///
    /// # Errors
    /// The document of a child that has to be read is invalid.
    pub fn members(&self, group: &Node) -> Result<Vec<Member>, MetadataError> {
        settled(match self.format {
            Format::Zarr2 => v2::members(group, &self.known),
            Format::Zarr3 => v3::members(group, &self.known),
            Format::DraftA | Format::DraftB | Format::N5 => draft::members(group, &self.known),
        })
    }
}

/// An answer from facts that are all there: only what lies outside of them is missing, and that is not there.
fn settled<T: Default>(answer: Result<T, Stop>) -> Result<T, MetadataError> {
    match answer {
        Ok(answer) => Ok(answer),
        Err(Stop::Need(_)) => Ok(T::default()),
        Err(Stop::Error(error)) => Err(error),
    }
}

/// The node at a path that has no document of its own, in the consolidated metadata of an ancestor, the root first, or in
/// its own.
pub(crate) fn open_below(
    path: &NodePath,
    known: &Known,
    options: &OpenOptions,
) -> Result<Option<Node>, Stop> {
    let candidates = candidates(path, known, options)?;
    let keys: Vec<String> = candidates.iter().map(|(key, ..)| key.clone()).collect();
    known.are_there(&keys)?;
    let documents = known.many_documents(&keys)?;
    for ((key, format, base), bytes) in candidates.iter().zip(documents) {
        let Some(bytes) = bytes else { continue };
        let consolidated = match read(*format, base, key, bytes, &options.limits) {
            Ok(Some(consolidated)) => Arc::new(consolidated),
            Ok(None) => continue,
            // The ancestor's own document: an error, as everywhere. Others are as good as none.
            Err(error) if *format == Format::Zarr3 => return Err(error.into()),
            Err(_) => continue,
        };
        if let Some(node) = consolidated.find(path, options)? {
            return Ok(Some(node));
        }
    }
    Ok(None)
}

/// Keys of documents that may hold those of a node.
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
        candidates.push((format!("{}{DOCUMENT}", path.prefix()), Format::Zarr2, path.clone()));
    }
    if may_be(Format::DraftB) && draft::is_dialect_b(known, options)? {
        candidates.push((DRAFT_DOCUMENT.to_owned(), Format::DraftB, NodePath::root()));
    }
    Ok(candidates)
}
