use std::sync::Arc;

use futures_util::{StreamExt, stream};
use ndzarr_engine::in_parallel;
use ndzarr_metadata::{Consolidated, ConsolidatedUse, Known, Member, MemberKind, Node, Wanted};

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
    parent: Arc<str>,
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
        format!("{}{}", self.parent, self.member.name)
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

/// Where the documents of children are.
enum Documents {
    Consolidated(Arc<Consolidated>),
    /// What was read to list them, and what is above them.
    Read {
        listed: Known,
        above: Known,
    },
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
        let (mut members, documents) = wait(self.listed())?;
        members.sort_by(|a, b| a.name.cmp(&b.name));
        let parent: Arc<str> = self.node.path.prefix().into();
        let open = async |member: Member| Child {
            node: self.open_member(&member, &documents).await,
            parent: Arc::clone(&parent),
            member,
        };
        Ok(match &self.storage.0 {
            Kind::Blocking(_) => in_parallel(members, self.options.threads, |member| wait(open(member))),
            Kind::Async(_) => {
                let at_once = self.options.requests_in_flight.get();
                wait(stream::iter(members).map(open).buffered(at_once).collect())
            }
        })
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

    async fn listed(&self) -> Result<(Vec<Member>, Documents)> {
        if let Some(consolidated) = self.view.get().await? {
            let members = self.in_store(consolidated.members(&self.node))?;
            return Ok((members, Documents::Consolidated(consolidated)));
        }
        let (mut listed, mut above) = (Known::new(), Known::new());
        let members = nodes::members(&self.storage, &self.node, &mut listed, self.options.threads).await?;
        // What is above all of them is looked at once, for each kind. What is wrong with these two is found again.
        for kind in [MemberKind::Array, MemberKind::Group] {
            let Some(first) = members.iter().find(|member| member.kind == kind) else { continue };
            let prefix = self.node.path.child(&first.name)?.prefix();
            let mut known = listed.below(&prefix);
            known.add(&above);
            let _ = self.open_known(first, &mut known).await;
            listed.add(&known);
            known.forget_below(&prefix);
            above = known;
        }
        Ok((members, Documents::Read { listed, above }))
    }

    async fn open_member(&self, member: &Member, documents: &Documents) -> Result<AnyNode> {
        let node = match documents {
            Documents::Consolidated(consolidated) => {
                let path = self.node.path.child(&member.name)?;
                self.in_store(consolidated.open(&path, &self.view.options(wanted(member))))?
            }
            Documents::Read { listed, above } => {
                let mut known = listed.below(&self.node.path.child(&member.name)?.prefix());
                known.add(above);
                self.open_known(member, &mut known).await?
            }
        };
        match member.kind {
            MemberKind::Array => self.array_of(node).map(AnyNode::Array),
            MemberKind::Group => self.group_of(node).map(AnyNode::Group),
        }
    }

    async fn open_known(&self, member: &Member, known: &mut Known) -> Result<Node> {
        let path = self.node.path.child(&member.name)?;
        let options = self.view.options(wanted(member));
        let conclude = |known: &Known| ndzarr_metadata::open(&path, known, &options);
        self.storage.conclude(known, &options.limits, conclude).await
    }
}

fn wanted(member: &Member) -> Wanted {
    match member.kind {
        MemberKind::Array => Wanted::Array,
        MemberKind::Group => Wanted::Group,
    }
}
