//! The children of a group: listed, or each found and opened independently.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use crate::draft::layout::Layout;
use crate::known::{Stop, resolve};
use crate::operations::consolidated;
use crate::operations::open::find;
use crate::v3::alike::Alike;
use crate::{
    Consolidated, Format, Known, Listing, Member, MemberKind, MetadataError, Node, NodeKind,
    NodePath, OpenOptions, Resolved, Wanted, draft, n5, v2, v3,
};

/// The children of a group, sorted by name; an array has none. The children of a node that was
/// found in consolidated metadata come from these; those of any other node from the store.
///
/// # Errors
/// The document of a child that has to be read is invalid.
pub fn members(node: &Node, known: &Known) -> Result<Resolved<Vec<Member>>, MetadataError> {
    node.context.limits.check_documents(known)?;
    resolve(members_of(node, known))
}

fn members_of(node: &Node, known: &Known) -> Result<Vec<Member>, Stop> {
    match consolidated::around(node, known)? {
        Some(consolidated) => Ok(consolidated.members(node)?),
        None => listed(node, known),
    }
}

/// The children in the store.
pub(crate) fn listed(node: &Node, known: &Known) -> Result<Vec<Member>, Stop> {
    if matches!(node.kind, NodeKind::Array(_)) {
        return Ok(Vec::new());
    }
    match node.format {
        Format::Zarr2 => v2::members(node, known),
        Format::Zarr3 => v3::members(node, known),
        Format::DraftA | Format::DraftB => draft::members(node, known),
        Format::N5 => n5::members(node, known),
    }
}

/// The candidates for the children of a group. Each is found and opened independently, in any order
/// and by several threads at once. Documents above all of them are read once.
///
/// ```
/// use ndzarr_metadata::{Children, Known, Listing, MemberKind, NodePath, OpenOptions, Resolved, open};
///
/// let group = r#"{"zarr_format": 3, "node_type": "group"}"#;
/// let mut known = Known::new();
/// known.add_document("zarr.json", Some(group.into()));
/// known.add_listing("", Listing { keys: vec![], prefixes: vec!["a".into(), "b".into()] });
/// let options = OpenOptions::default();
/// let Resolved::Done(root) = open(&NodePath::root(), &known, &options)? else { panic!("all is known") };
/// let Resolved::Done(children) = Children::of(&root, None, &known, options)? else { panic!("all is known") };
/// assert_eq!(children.len(), 2);
///
/// let mut of_a = children.known(0);
/// of_a.add_document("a/zarr.json", Some(group.into()));
/// let Resolved::Done(Some(child)) = children.open(0, &of_a)? else { panic!("all is known") };
/// assert_eq!((&child.name[..], child.kind), ("a", Some(MemberKind::Group)));
/// assert_eq!(child.node?.path.as_str(), "a");
///
/// let mut of_b = children.known(1);
/// of_b.add_document("b/zarr.json", None);
/// assert!(matches!(children.open(1, &of_b)?, Resolved::Done(None)));
/// # Ok::<(), ndzarr_metadata::MetadataError>(())
/// ```
#[derive(Debug)]
pub struct Children<'g> {
    group: &'g Node,
    options: OpenOptions,
    /// The consolidated metadata that holds their documents, if they do not come from the store.
    consolidated: Option<Arc<Consolidated>>,
    /// The known facts about the documents above all of them.
    above: Known,
    /// The prefix that was listed.
    prefix: String,
    candidates: Vec<Candidate>,
    /// The first array of Zarr v3, as a template for similar ones.
    first: OnceLock<Option<Alike>>,
}

/// A candidate: leads to a child or to nothing.
#[derive(Debug)]
enum Candidate {
    /// Path and key of its only document (Zarr v3).
    Document(NodePath, String),
    /// Its name and the part of the listing that concerns it.
    Part(String, Listing),
    /// Certainly a child.
    Member(Member),
}

/// A child that was found.
#[derive(Debug)]
pub struct OpenedChild {
    /// Its name, one segment of a path.
    pub name: String,
    /// Its kind; `None` if its document does not show it, as that of a writer that was killed.
    pub kind: Option<MemberKind>,
    /// The node, or the error in its documents.
    pub node: Result<Arc<Node>, MetadataError>,
}

impl<'g> Children<'g> {
    /// The children of a group, from its consolidated metadata if given, otherwise from the store.
    /// An array has none.
    ///
    /// # Errors
    /// A document above the children, or that of a child that has to be read, is invalid.
    pub fn of(
        group: &'g Node,
        consolidated: Option<Arc<Consolidated>>,
        known: &Known,
        options: OpenOptions,
    ) -> Result<Resolved<Self>, MetadataError> {
        options.limits.check_documents(known)?;
        let options = OpenOptions {
            format: Some(group.format),
            ..options
        };
        let first = OnceLock::new();
        let mut children = Self {
            group,
            options,
            consolidated,
            above: Known::new(),
            prefix: String::new(),
            candidates: Vec::new(),
            first,
        };
        resolve(children.look(known).map(|()| children))
    }

    /// The prefix whose listing names the children, if each part of the listing can be evaluated
    /// without the others. In the drafts a child may have a key in one part and a prefix in
    /// another.
    #[must_use]
    pub fn listed_in_parts(group: &Node, consolidated: Option<&Consolidated>) -> Option<String> {
        let is_array = matches!(group.kind, NodeKind::Array(_));
        match group.format {
            _ if is_array || consolidated.is_some() => None,
            Format::Zarr2 | Format::Zarr3 | Format::N5 => Some(group.path.prefix()),
            Format::DraftA | Format::DraftB => None,
        }
    }

    fn look(&mut self, known: &Known) -> Result<(), Stop> {
        let group = self.group;
        if matches!(group.kind, NodeKind::Array(_)) {
            return Ok(());
        }
        if group.format == Format::Zarr3 {
            let known = self
                .consolidated
                .as_ref()
                .map_or(known, |consolidated| consolidated.known());
            let listing = known.listing(&group.path.prefix())?;
            let paths = listing
                .child_names()
                .into_iter()
                .filter_map(|name| v3::child_path(group, name));
            let candidate = |path: NodePath| {
                let key = v3::document_key(&path);
                Candidate::Document(path, key)
            };
            self.candidates = paths.map(candidate).collect();
            return Ok(());
        }
        if let Some(consolidated) = &self.consolidated {
            self.candidates = consolidated
                .members(group)?
                .into_iter()
                .map(Candidate::Member)
                .collect();
            return Ok(());
        }
        let (prefix, above, layout) = match group.format {
            Format::Zarr2 | Format::Zarr3 => (group.path.prefix(), Vec::new(), None),
            Format::N5 => (group.path.prefix(), n5::document_keys(&group.path), None),
            Format::DraftA | Format::DraftB => {
                let layout = Layout::of(group.format, &group.context);
                (
                    layout.meta_prefix(&group.path),
                    draft::keys_above_children(&layout, &group.path),
                    Some(layout),
                )
            }
        };
        let listing = known.listing(&prefix)?;
        let mut parts: BTreeMap<&str, Listing> = BTreeMap::new();
        for name in &listing.prefixes {
            parts.entry(name).or_default().prefixes = vec![name.clone()];
        }
        if let Some(layout) = layout {
            for key in &listing.keys {
                if let Some(name) = layout.array_name(key).or_else(|| layout.group_name(key)) {
                    parts.entry(name).or_default().keys.push(key.clone());
                }
            }
        }
        let part = |(name, listing): (&str, Listing)| Candidate::Part(name.to_owned(), listing);
        self.candidates = parts.into_iter().map(part).collect();
        let documents = known.many_documents(&above)?;
        for (key, document) in above.iter().zip(documents) {
            self.above.add_document(key, document.cloned());
        }
        self.prefix = prefix;
        Ok(())
    }

    /// The number of candidates, which is the maximum number of children.
    #[must_use]
    pub fn len(&self) -> usize {
        self.candidates.len()
    }

    /// True if there are certainly no children.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.candidates.is_empty()
    }

    /// The name of one of them.
    ///
    /// # Panics
    /// `at` is out of range.
    #[must_use]
    pub fn name(&self, at: usize) -> &str {
        match &self.candidates[at] {
            Candidate::Document(path, _) => path.name().unwrap_or_default(),
            Candidate::Part(name, _) => name,
            Candidate::Member(member) => &member.name,
        }
    }

    /// The known facts about one of them before anything is read for it.
    ///
    /// # Panics
    /// `at` is out of range.
    #[must_use]
    pub fn known(&self, at: usize) -> Known {
        let mut known = self.above.clone();
        if let Candidate::Part(_, listing) = &self.candidates[at] {
            known.add_listing(&self.prefix, listing.clone());
        }
        known
    }

    /// The key of the document that [`open`](Self::open) is sure to need from the store.
    ///
    /// # Panics
    /// `at` is out of range.
    #[must_use]
    pub fn document(&self, at: usize) -> Option<&String> {
        match &self.candidates[at] {
            Candidate::Document(_, key) if self.consolidated.is_none() => Some(key),
            _ => None,
        }
    }

    /// Opens one of them; `None` if it is not a node. `known` is the answer of
    /// [`known`](Self::known) plus what was read since.
    ///
    /// # Errors
    /// Too much was read for it. Errors in its documents are in [`OpenedChild::node`].
    ///
    /// # Panics
    /// `at` is out of range.
    pub fn open(
        &self,
        at: usize,
        known: &Known,
    ) -> Result<Resolved<Option<OpenedChild>>, MetadataError> {
        resolve(match &self.candidates[at] {
            Candidate::Document(path, key) => self.by_document(path, key, known),
            Candidate::Part(name, _) => self.by_listing(name, known),
            Candidate::Member(member) => self.open_member(member.clone(), known).map(Some),
        })
    }

    fn by_document(
        &self,
        path: &NodePath,
        key: &str,
        known: &Known,
    ) -> Result<Option<OpenedChild>, Stop> {
        let known = self
            .consolidated
            .as_ref()
            .map_or(known, |consolidated| consolidated.known());
        let [Some(document)] = known.documents([key])? else {
            return Ok(None);
        };
        let alike = self.first.get().and_then(Option::as_ref);
        let alike = alike.and_then(|alike| alike.open(path, key, document, &self.options));
        let opened = match alike {
            Some(node) => Ok(node),
            None => find(path, known, &self.options).map(Arc::new),
        };
        let opened = opened.map_err(|stop| match (stop, &self.consolidated) {
            (Stop::Error(error), Some(consolidated)) => Stop::Error(consolidated.of_copy(error)),
            (stop, _) => stop,
        });
        let kind = match &opened {
            Ok(node) if matches!(node.kind, NodeKind::Array(_)) => Some(MemberKind::Array),
            Ok(_) => Some(MemberKind::Group),
            Err(_) => v3::document::kind(key, document).ok(),
        };
        let opened = opened.map(|mut node| {
            if kind == Some(MemberKind::Array) {
                self.first.get_or_init(|| Alike::to(&node));
            } else {
                let base = self.consolidated.as_ref().map(|all| all.base().clone());
                Arc::make_mut(&mut node).context.consolidated_in = base;
            }
            node
        });
        let name = path.name().unwrap_or_default().to_owned();
        own_error(opened).map(|node| Some(OpenedChild { name, kind, node }))
    }

    fn by_listing(&self, name: &str, known: &Known) -> Result<Option<OpenedChild>, Stop> {
        self.options.limits.check_documents(known)?;
        match own_error(listed(self.group, known))? {
            Ok(members) => members
                .into_iter()
                .next()
                .map(|member| self.open_member(member, known))
                .transpose(),
            Err(error) => Ok(Some(OpenedChild {
                name: name.to_owned(),
                kind: None,
                node: Err(error),
            })),
        }
    }

    fn open_member(&self, member: Member, known: &Known) -> Result<OpenedChild, Stop> {
        let path = self.group.path.child(&member.name)?;
        let wanted = match member.kind {
            MemberKind::Array => Wanted::Array,
            MemberKind::Group => Wanted::Group,
        };
        let options = OpenOptions {
            wanted,
            ..self.options.clone()
        };
        let node = match &self.consolidated {
            Some(consolidated) => consolidated.open(&path, &options).map_err(Stop::Error),
            None => find(&path, known, &options),
        };
        Ok(OpenedChild {
            name: member.name,
            kind: Some(member.kind),
            node: own_error(node)?.map(Arc::new),
        })
    }
}

/// Passes on what is missing; an error belongs to the child.
fn own_error<T>(result: Result<T, Stop>) -> Result<Result<T, MetadataError>, Stop> {
    match result {
        Ok(result) => Ok(Ok(result)),
        Err(Stop::Error(error)) => Ok(Err(error)),
        Err(need) => Err(need),
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use ndzarr_model::Attributes;

    use super::*;
    use crate::{Context, Need, members};

    const DOCUMENTS: [(&str, &str); 7] = [
        (
            "g/a/zarr.json",
            r#"{"zarr_format": 3, "node_type": "array"}"#,
        ),
        (
            "g/b/zarr.json",
            r#"{"zarr_format": 3, "node_type": "group"}"#,
        ),
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

    /// Answers from these facts and the documents that exist.
    fn ask<T>(
        known: &mut Known,
        answer: impl Fn(&Known) -> Result<Resolved<T>, MetadataError>,
    ) -> Result<T, MetadataError> {
        loop {
            match answer(known)? {
                Resolved::Done(answer) => return Ok(answer),
                Resolved::Need(Need::Documents(keys)) => {
                    for key in keys {
                        let value = DOCUMENTS.iter().find(|(existing, _)| *existing == key);
                        known.add_document(&key, value.map(|(_, value)| Bytes::from(*value)));
                    }
                }
                Resolved::Need(Need::Listings(prefixes)) => {
                    for prefix in prefixes {
                        known.add_listing(prefix, Listing::default());
                    }
                }
                Resolved::Need(need) => panic!("{need:?} is known"),
            }
        }
    }

    #[test]
    fn all_that_are_found_are_the_members_of_the_group() {
        let strings = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        for format in [
            Format::Zarr2,
            Format::Zarr3,
            Format::N5,
            Format::DraftA,
            Format::DraftB,
        ] {
            let node = group(format);
            let keys = [
                "a.array.json",
                "a.group.json",
                "c.array.json",
                "v1.0.array.json",
                "x.json",
                ".array.json",
                "zarr.json",
            ];
            let listing = Listing {
                keys: strings(&keys),
                prefixes: strings(&[
                    "b", "a", "c", "a", "__a", ".a", "a.b", "a.", "..", "d\\e", "",
                ]),
            };
            let list = |known: &Known| Children::of(&node, None, known, OpenOptions::default());
            let Ok(Resolved::Need(Need::Listings(prefixes))) = list(&Known::new()) else {
                panic!("nothing is known yet");
            };
            let mut known = Known::new();
            known.add_listing(&prefixes[0], listing);
            let children = ask(&mut known, list).expect("a listing");
            let open = |at| {
                let opened = ask(&mut children.known(at), |known| children.open(at, known));
                let child = opened.expect("plain documents")?;
                assert_eq!(children.name(at), child.name, "{format}");
                Some(child)
            };
            let member = |child: OpenedChild| Member {
                name: child.name,
                kind: child.kind.expect("valid"),
            };
            let mut found: Vec<Member> = (0..children.len()).filter_map(open).map(member).collect();
            found.sort_by(|a, b| a.name.cmp(&b.name));
            let whole = ask(&mut known, |known| members(&node, known)).expect("plain documents");
            assert_eq!(found, whole, "{format}");
            let kind = |name: &str| {
                whole
                    .iter()
                    .find(|member| member.name == name)
                    .map(|member| member.kind)
            };
            assert_eq!(
                (kind("a"), kind("b")),
                (Some(MemberKind::Array), Some(MemberKind::Group)),
                "{format}"
            );
        }
    }
}
