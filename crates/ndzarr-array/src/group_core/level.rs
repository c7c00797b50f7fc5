//! Opening the children of groups, in one go for all groups of a level.

use std::num::NonZeroUsize;
use std::sync::{Arc, OnceLock};

use futures_util::{StreamExt, stream};
use ndzarr_engine::in_parallel;
use ndzarr_metadata::{
    Alike, Consolidated, ConsolidatedUse, Known, Listing, Member, MemberKind, Node, NodeKind, OpenOptions,
    Wanted, document_apart, open_apart,
};
use ndzarr_store::block_on;

use super::{ChildCore, GroupCore, NodeCore};
use crate::core::Core;
use crate::error::Result;
use crate::nodes;
use crate::storage::Kind;

/// A group that was listed.
struct Parent {
    group: GroupCore,
    prefix: String,
    /// What children are opened with, whatever they are.
    options: OpenOptions,
    /// What is known of what is above all children.
    above: Known,
    /// The kind of children for which it is known.
    kind: Option<MemberKind>,
    children: Vec<ChildCore>,
    /// An array among them, of which others may have what is the same.
    beside: OnceLock<(Core, Option<Alike>)>,
    /// Children of a kind for which nobody has looked at what is above.
    others: Vec<Found>,
}

/// What becomes a child, or nothing.
enum Task {
    /// What of the listing tells of it.
    Part(Listing),
    /// What consolidated metadata have.
    Copy(Copied, Arc<Consolidated>),
}

enum Copied {
    Name(String),
    Member(Member),
}

/// A child of which the documents were read that say what it is.
struct Found {
    member: Member,
    known: Known,
}

enum Opened {
    Child(ChildCore),
    OtherKind(Found),
    Nothing,
}

/// The children of each group, in no order.
///
/// All groups are listed first. Then their children are opened as one piece of work, however they are spread: threads that
/// open the children of one group each would wait for the largest, or start others.
pub(super) async fn children_of(groups: &[GroupCore]) -> Vec<Result<Vec<ChildCore>>> {
    let Some(first) = groups.first() else { return Vec::new() };
    let listed = first.each(groups.iter().collect(), GroupCore::listed).await;
    let (mut parents, mut tasks) = (Vec::with_capacity(listed.len()), Vec::new());
    for (i, listed) in listed.into_iter().enumerate() {
        parents.push(listed.map(|(mut parent, found)| {
            parent.children.reserve(found.len());
            tasks.extend(found.into_iter().map(|task| (i, task)));
            parent
        }));
    }
    let all = &parents;
    let open = |(i, task): (usize, Task)| async move {
        match &all[i] {
            Ok(parent) => (i, parent.open(task).await),
            Err(_) => (i, Ok(Opened::Nothing)),
        }
    };
    let opened = first.each(tasks, open).await;

    for (i, opened) in opened {
        let Ok(parent) = &mut parents[i] else { continue };
        match opened {
            Ok(Opened::Child(child)) => parent.children.push(child),
            Ok(Opened::OtherKind(found)) => parent.others.push(found),
            Ok(Opened::Nothing) => {}
            Err(error) => parents[i] = Err(error),
        }
    }
    let finish = |parent: Result<Parent>| async move { parent?.finish().await };
    if parents.iter().any(|parent| parent.as_ref().is_ok_and(|parent| !parent.others.is_empty())) {
        return first.each(parents, finish).await;
    }
    parents.into_iter().map(|parent| parent.map(|parent| parent.children)).collect()
}

impl Parent {
    async fn open(&self, task: Task) -> Result<Opened> {
        let group = &self.group;
        match task {
            Task::Part(part) => {
                let mut known = Known::new();
                if let Some(node) = self.open_at_once(&part, &mut known).await? {
                    return Ok(Opened::Child(self.child_of(node)));
                }
                Ok(match group.find(&self.prefix, part, known).await? {
                    Some(found) if Some(found.member.kind) == self.kind => {
                        Opened::Child(group.open_found(found, &self.above).await)
                    }
                    Some(found) => Opened::OtherKind(found),
                    None => Opened::Nothing,
                })
            }
            Task::Copy(Copied::Name(name), consolidated) => {
                let path = group.node.path.child(&name)?;
                let node = match self.alike() {
                    Some(alike) => consolidated.open_beside(&path, &self.options, alike),
                    None => consolidated.open(&path, &self.options),
                };
                Ok(match node {
                    Ok(node) => Opened::Child(self.child_of(node)),
                    Err(error) => match group.in_store(consolidated.member(&group.node, &name))? {
                        Some(member) => Opened::Child(group.child(group.in_store(Err(error)), member)),
                        None => Opened::Nothing,
                    },
                })
            }
            Task::Copy(Copied::Member(member), consolidated) => {
                Ok(Opened::Child(group.child(group.copied(&member, &consolidated), member)))
            }
        }
    }

    /// The child that a part of the listing tells of, where its document says all of it.
    async fn open_at_once(&self, part: &Listing, known: &mut Known) -> Result<Option<Node>> {
        let (group, options) = (&self.group.node, &self.options);
        let Some((path, key)) = document_apart(group, part, options) else { return Ok(None) };
        let stored = self.group.storage.document(&key, options.limits.document_bytes).await?;
        let document = stored.map(|(_, document)| document);
        let node = document.as_ref().and_then(|it| open_apart(&path, &key, it, options, self.alike()));
        if node.is_none() {
            known.add_document(key, document);
        }
        Ok(node)
    }

    fn alike(&self) -> Option<&Alike> {
        self.beside.get()?.1.as_ref()
    }

    fn child_of(&self, node: Node) -> ChildCore {
        let path = node.path.as_str().to_owned();
        match node.kind {
            NodeKind::Array(_) => {
                let array = self.group.array_of(node, self.beside.get().map(|(core, _)| core));
                if let Ok(array) = &array {
                    self.beside.get_or_init(|| (array.clone(), Alike::to(&array.node)));
                }
                ChildCore {
                    path,
                    kind: MemberKind::Array,
                    node: array.map(|array| NodeCore::Array(array).into()),
                }
            }
            NodeKind::Group | NodeKind::ImplicitGroup => {
                let group = self.group.group_of(node);
                ChildCore {
                    path,
                    kind: MemberKind::Group,
                    node: group.map(|group| NodeCore::Group(group).into()),
                }
            }
        }
    }

    /// Opens the children of other kinds, too.
    async fn finish(mut self) -> Result<Vec<ChildCore>> {
        for kind in [MemberKind::Array, MemberKind::Group] {
            let of_kind;
            (of_kind, self.others) = self.others.into_iter().partition(|found| found.member.kind == kind);
            let mut of_kind = Vec::into_iter(of_kind);
            let Some(first) = of_kind.next() else { continue };
            self.children.push(self.group.open_first(first, &mut self.above).await?);
            let (group, above) = (&self.group, &self.above);
            let open = |found| async move { group.open_found(found, above).await };
            self.children.extend(self.group.each(of_kind.collect(), open).await);
        }
        Ok(self.children)
    }
}

impl GroupCore {
    /// What becomes of each item, in their order: by several threads, or all at once where the store does not block.
    async fn each<T: Send, R: Send, F: Future<Output = R> + Send>(
        &self,
        items: Vec<T>,
        work: impl Fn(T) -> F + Sync,
    ) -> Vec<R> {
        match &self.storage.0 {
            Kind::Blocking(_) => in_parallel(items, self.options.threads, |item| block_on(work(item))),
            Kind::Async(_) => {
                let at_once = self.options.requests_in_flight.get();
                stream::iter(items).map(work).buffered(at_once).collect().await
            }
        }
    }

    async fn listed(&self) -> Result<(Parent, Vec<Task>)> {
        let mut parent = Parent {
            group: self.clone(),
            prefix: String::new(),
            options: self.view.options(Wanted::Any),
            above: Known::new(),
            kind: None,
            children: Vec::new(),
            beside: OnceLock::new(),
            others: Vec::new(),
        };
        if let Some(consolidated) = self.view.get().await? {
            let copied: Vec<Copied> = match consolidated.names(&self.node) {
                Some(names) => names.into_iter().map(Copied::Name).collect(),
                None => {
                    let members = self.in_store(consolidated.members(&self.node))?;
                    members.into_iter().map(Copied::Member).collect()
                }
            };
            let task = |copied| Task::Copy(copied, Arc::clone(&consolidated));
            return Ok((parent, copied.into_iter().map(task).collect()));
        }
        let apart = |known: &Known| ndzarr_metadata::members_apart(&self.node, known);
        let parts;
        (parent.prefix, parts) =
            self.storage.conclude(&mut Known::new(), &self.node.context.limits, apart).await?;
        let mut parts = parts.into_iter();
        if let Some(part) = parts.next() {
            match parent.open(Task::Part(part)).await? {
                Opened::Child(child) => parent.children.push(child),
                Opened::OtherKind(first) => {
                    parent.kind = Some(first.member.kind);
                    parent.children.push(self.open_first(first, &mut parent.above).await?);
                }
                Opened::Nothing => {}
            }
        }
        Ok((parent, parts.map(Task::Part).collect()))
    }

    /// The child that a part of the listing tells of, if it is one.
    async fn find(&self, prefix: &str, part: Listing, mut known: Known) -> Result<Option<Found>> {
        known.add_listing(prefix, part);
        let one = Some(NonZeroUsize::MIN);
        let members = nodes::members(&self.storage, &self.node, &mut known, one).await?;
        Ok(members.into_iter().next().map(|member| Found { member, known }))
    }

    async fn open_found(&self, found: Found, above: &Known) -> ChildCore {
        let Found { member, known: read } = found;
        let mut known = above.clone();
        known.add(&read);
        self.child(self.open_known(&member, &mut known).await, member)
    }

    /// The first child of its kind. What is above all of them is looked at with it, and known from then on.
    async fn open_first(&self, found: Found, above: &mut Known) -> Result<ChildCore> {
        let Found { member, known } = found;
        above.add(&known);
        let node = self.open_known(&member, above).await;
        above.forget_below(&self.node.path.child(&member.name)?.prefix());
        Ok(self.child(node, member))
    }

    fn child(&self, node: Result<Node>, member: Member) -> ChildCore {
        let node = node.and_then(|node| match member.kind {
            MemberKind::Array => self.array_of(node, None).map(NodeCore::Array),
            MemberKind::Group => self.group_of(node).map(NodeCore::Group),
        });
        ChildCore { path: self.below(&member.name), kind: member.kind, node: node.map(Box::new) }
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
}

fn wanted(member: &Member) -> Wanted {
    match member.kind {
        MemberKind::Array => Wanted::Array,
        MemberKind::Group => Wanted::Group,
    }
}
