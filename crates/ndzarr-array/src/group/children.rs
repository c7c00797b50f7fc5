use std::num::NonZeroUsize;
use std::sync::Arc;

use futures_util::{StreamExt, stream};
use ndzarr_engine::in_parallel;
use ndzarr_metadata::{Consolidated, ConsolidatedUse, Known, Listing, Member, MemberKind, Node, Wanted};

use crate::any_array::AnyArray;
use crate::array::Array;
use crate::error::Result;
use crate::group::{AnyNode, Group};
use crate::storage::{Kind, wait};
use crate::{Element, nodes};

/// A child of a group, opened by [`Group::children`].
///
/// What is wrong with it, an unknown codec for instance, is an error when it is taken out, and none for the others.
#[derive(Debug)]
pub struct Child {
    member: Member,
    path: String,
    node: Result<AnyNode>,
}

impl Child {
    /// Its name in the group.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.member.name
    }

    /// Its path from the root of the store.
    #[must_use]
    pub fn path(&self) -> String {
        self.path.clone()
    }

    /// What it is.
    #[must_use]
    pub fn kind(&self) -> MemberKind {
        self.member.kind
    }

    /// The array or group.
    ///
    /// # Errors
    /// Its documents are invalid or ask for what is not supported.
    pub fn open(self) -> Result<AnyNode> {
        self.node
    }

    /// The array that it is.
    ///
    /// # Errors
    /// As [`open`](Self::open); it is a group; its elements are of another type.
    pub fn array<T: Element>(self) -> Result<Array<T>> {
        self.any_array()?.typed()
    }

    /// The array that it is, whatever its elements are.
    ///
    /// # Errors
    /// As [`open`](Self::open); it is a group.
    pub fn any_array(self) -> Result<AnyArray> {
        match self.node? {
            AnyNode::Array(array) => Ok(array),
            AnyNode::Group(group) => Err(nodes::not_a("array", &group.node, &group.storage)),
        }
    }

    /// The group that it is.
    ///
    /// # Errors
    /// As [`open`](Self::open); it is an array.
    pub fn group(self) -> Result<Group> {
        match self.node? {
            AnyNode::Group(group) => Ok(group),
            AnyNode::Array(array) => Err(nodes::not_a("group", &array.core.node, &array.core.storage)),
        }
    }
}

/// A child of which the documents were read that say what it is.
struct Found {
    member: Member,
    known: Known,
}

/// What a part of a listing tells of.
#[allow(clippy::large_enum_variant)]
enum Opened {
    Child(Child),
    /// A child of another kind than the first, for which nobody has looked at what is above.
    OtherKind(Found),
    Nothing,
}

impl Group {
    /// Its children, opened, in the order of their names: as [`members`](Self::members) and then
    /// [`any_array`](Self::any_array) or [`group`](Self::group) for each, but no document is read twice, and several threads
    /// are at it, as many as the [options](Self::with_options) allow. They are what they were at this moment.
    ///
    /// # Errors
    /// As [`members`](Self::members). A child that cannot be opened is an error of that child alone.
    ///
    /// ```
    /// use ndzarr_array::{Array, Format, Group, MemberKind};
    /// use ndzarr_store::MemoryStore;
    ///
    /// let root = Group::create(&MemoryStore::new(), "", Format::Zarr3)?;
    /// root.create_array("a", Array::<f32>::builder([10]))?;
    /// root.create_group("b")?;
    ///
    /// let mut found = Vec::new();
    /// for child in root.children()? {
    ///     found.push(match child.kind() {
    ///         MemberKind::Array => format!("{} of shape {:?}", child.path(), child.any_array()?.shape()),
    ///         MemberKind::Group => format!("{}/", child.path()),
    ///     });
    /// }
    /// assert_eq!(found, ["a of shape [10]", "b/"]);
    /// # Ok::<(), ndzarr_array::Error>(())
    /// ```
    pub fn children(&self) -> Result<Vec<Child>> {
        let mut children = wait(self.opened())?;
        children.sort_by(|a, b| a.member.name.cmp(&b.member.name));
        Ok(children)
    }

    /// Every node below it, opened, by path from the root of the store, parents before children: as [`walk`](Self::walk) with
    /// [`children`](Self::children) for every group, in as few rounds as the hierarchy is deep.
    ///
    /// # Errors
    /// A group cannot be listed. A node that cannot be opened is an error of that node alone; what is below a group that
    /// cannot be opened is left out.
    ///
    /// ```
    /// use ndzarr_array::{Array, Format, Group};
    /// use ndzarr_store::MemoryStore;
    ///
    /// let root = Group::create(&MemoryStore::new(), "", Format::Zarr2)?;
    /// let scan = root.create_group("scan")?;
    /// scan.create_array("0", Array::<u16>::builder([64, 64]))?;
    /// scan.create_array("1", Array::<u16>::builder([32, 32]))?;
    ///
    /// let paths: Vec<String> = root.descendants()?.iter().map(|node| node.path()).collect();
    /// assert_eq!(paths, ["scan", "scan/0", "scan/1"]);
    /// # Ok::<(), ndzarr_array::Error>(())
    /// ```
    pub fn descendants(&self) -> Result<Vec<Child>> {
        let mut found = Vec::new();
        let mut level = vec![self.clone()];
        while !level.is_empty() {
            let below = wait(self.each(level, async |group: Self| group.opened().await));
            level = Vec::new();
            for children in below {
                for child in children? {
                    if let Ok(AnyNode::Group(group)) = &child.node {
                        level.push(group.clone());
                    }
                    found.push(child);
                }
            }
        }
        found.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(found)
    }

    async fn opened(&self) -> Result<Vec<Child>> {
        if let Some(consolidated) = self.view.get().await? {
            let members = self.in_store(consolidated.members(&self.node))?;
            let open = |member| self.child(self.copied(&member, &consolidated), member);
            return Ok(in_parallel(members, self.options.threads, open));
        }
        let limits = &self.node.context.limits;
        let apart = |known: &Known| ndzarr_metadata::members_apart(&self.node, known);
        let (prefix, parts) = self.storage.conclude(&mut Known::new(), limits, apart).await?;
        let mut parts = parts.into_iter();
        let (mut children, mut others, mut above) = (Vec::new(), Vec::new(), Known::new());
        let mut kind = None;
        if let Some(part) = parts.next()
            && let Some(first) = self.find(&prefix, part).await?
        {
            kind = Some(first.member.kind);
            children.push(self.open_first(first, &mut above).await?);
        }
        let open = async |part| -> Result<Opened> {
            Ok(match self.find(&prefix, part).await? {
                Some(found) if Some(found.member.kind) == kind => {
                    Opened::Child(self.open_found(found, &above).await)
                }
                Some(found) => Opened::OtherKind(found),
                None => Opened::Nothing,
            })
        };
        for opened in self.each(parts.collect(), open).await {
            match opened? {
                Opened::Child(child) => children.push(child),
                Opened::OtherKind(found) => others.push(found),
                Opened::Nothing => {}
            }
        }
        for kind in [MemberKind::Array, MemberKind::Group] {
            let of_kind;
            (of_kind, others) = others.into_iter().partition(|found| found.member.kind == kind);
            let mut of_kind = Vec::into_iter(of_kind);
            let Some(first) = of_kind.next() else { continue };
            children.push(self.open_first(first, &mut above).await?);
            let open = async |found| self.open_found(found, &above).await;
            children.extend(self.each(of_kind.collect(), open).await);
        }
        Ok(children)
    }

    /// What becomes of each item, in their order: by several threads, or all at once where the store does not block.
    async fn each<T: Send, R: Send>(&self, items: Vec<T>, work: impl AsyncFn(T) -> R + Sync) -> Vec<R> {
        match &self.storage.0 {
            Kind::Blocking(_) => in_parallel(items, self.options.threads, |item| wait(work(item))),
            Kind::Async(_) => {
                let at_once = self.options.requests_in_flight.get();
                stream::iter(items).map(async |item| work(item).await).buffered(at_once).collect().await
            }
        }
    }

    pub(super) fn group_of(&self, node: Node) -> Result<Self> {
        if node.context.consolidated.is_some() {
            return Ok(self.hand_on(Self::seen_through(self.storage.clone(), node, Arc::clone(&self.view))?));
        }
        // It may have some of its own.
        let uses = match self.view.uses() {
            ConsolidatedUse::Require => ConsolidatedUse::Use,
            uses => uses,
        };
        Ok(self.hand_on(Self::new(self.storage.clone(), node, uses)?))
    }

    /// The child that a part of the listing tells of, if it is one.
    async fn find(&self, prefix: &str, part: Listing) -> Result<Option<Found>> {
        let mut known = Known::new();
        known.add_listing(prefix, part);
        let one = Some(NonZeroUsize::MIN);
        let members = nodes::members(&self.storage, &self.node, &mut known, one).await?;
        Ok(members.into_iter().next().map(|member| Found { member, known }))
    }

    async fn open_found(&self, found: Found, above: &Known) -> Child {
        let Found { member, known: read } = found;
        let mut known = above.clone();
        known.add(&read);
        self.child(self.open_known(&member, &mut known).await, member)
    }

    /// The first child of its kind. What is above all of them is looked at with it, and known from then on.
    async fn open_first(&self, found: Found, above: &mut Known) -> Result<Child> {
        let Found { member, known } = found;
        above.add(&known);
        let node = self.open_known(&member, above).await;
        above.forget_below(&self.node.path.child(&member.name)?.prefix());
        Ok(self.child(node, member))
    }

    fn child(&self, node: Result<Node>, member: Member) -> Child {
        let node = node.and_then(|node| match member.kind {
            MemberKind::Array => self.array_of(node).map(AnyNode::Array),
            MemberKind::Group => self.group_of(node).map(AnyNode::Group),
        });
        Child { node, path: self.node.path.prefix() + &member.name, member }
    }

    async fn open_known(&self, member: &Member, known: &mut Known) -> Result<Node> {
        let path = self.node.path.child(&member.name)?;
        let options = self.view.options(wanted(member));
        let conclude = |known: &Known| ndzarr_metadata::open(&path, known, &options);
        self.storage.conclude(known, &options.limits, conclude).await
    }

    /// A child as the consolidated metadata have it.
    fn copied(&self, member: &Member, consolidated: &Arc<Consolidated>) -> Result<Node> {
        let path = self.node.path.child(&member.name)?;
        self.in_store(consolidated.open(&path, &self.view.options(wanted(member))))
    }
}

fn wanted(member: &Member) -> Wanted {
    match member.kind {
        MemberKind::Array => Wanted::Array,
        MemberKind::Group => Wanted::Group,
    }
}
