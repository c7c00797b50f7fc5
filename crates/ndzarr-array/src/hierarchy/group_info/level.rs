//! Opens the children of all groups of a level at once.

use std::collections::VecDeque;
use std::future::{poll_fn, ready};
use std::num::NonZeroUsize;
use std::pin::pin;
use std::slice;
use std::sync::{Arc, OnceLock};
use std::task::Poll;

use futures_util::stream::FuturesUnordered;
use futures_util::{Stream, StreamExt, TryStreamExt, stream};
use ndzarr_engine::{AnyStore, in_parallel};
use ndzarr_metadata::{
    Children, Consolidated, ConsolidatedUse, Known, Listing, Node, NodeKind, OpenedChild, Wanted,
    is_node_document,
};
use ndzarr_store::{DirListing, block_on};

use super::{FoundChild, FoundNode, GroupInfo};
use crate::arrays::info::ArrayInfo;
use crate::error::{Error, ErrorKind, Result};
use crate::hierarchy::find_node;
use crate::storage::Unread;

/// A group that was listed, or a part of its list.
struct Parent<'g> {
    group: &'g GroupInfo,
    children: Children<'g>,
    /// One of its arrays, with which others may share its chain.
    sibling: OnceLock<ArrayInfo>,
}

/// What may be a child: the index of its group, which page of the group's list it is on, and where;
/// or the error of the list.
type Candidate<'g> = (usize, Result<(Arc<Parent<'g>>, usize)>);

/// What is directly below a group.
#[derive(Default)]
pub(super) struct Below {
    /// Its children, by path.
    pub(super) children: Vec<FoundChild>,
    /// Folders without a document of a node, in formats that have no groups without one. Nodes may
    /// be below them all the same, where a writer has left out the groups in between.
    pub(super) folders: Vec<GroupInfo>,
}

/// What a candidate for a child is.
enum Opened {
    Child(FoundChild),
    /// Boxed because few are, and all are moved.
    Folder(Box<GroupInfo>),
    Nothing,
}

/// What is directly below each group.
pub(super) async fn children_of(groups: &[GroupInfo]) -> Vec<Result<Below>> {
    let Some(first) = groups.first() else {
        return Vec::new();
    };
    let opened = match &first.storage.store {
        AnyStore::Blocking(_) => opened_by_threads(groups, first.options.threads),
        AnyStore::Async(_) => opened_at_once(groups, first.options.requests_in_flight.get()).await,
    };
    let mut found: Vec<Result<Below>> = groups.iter().map(|_| Ok(Below::default())).collect();
    for (i, opened) in opened {
        match (&mut found[i], opened) {
            (Ok(below), Ok(Opened::Child(child))) => below.children.push(child),
            (Ok(below), Ok(Opened::Folder(folder))) => below.folders.push(*folder),
            (of_group, Err(error)) => *of_group = Err(error),
            (Ok(_), Ok(Opened::Nothing)) | (Err(_), Ok(_)) => {}
        }
    }
    for Below { children, folders } in found.iter_mut().flatten() {
        children.sort_by(|a, b| a.path.cmp(&b.path));
        // A store may name a prefix on two pages.
        children.dedup_by(|a, b| a.path == b.path);
        folders.sort_by(|a, b| a.node.path.cmp(&b.node.path));
        folders.dedup_by(|a, b| a.node.path == b.node.path);
    }
    found
}

/// All groups are listed first. Then their children are opened as one task, however they are
/// distributed: if each thread opened the children of one group, all would wait for the largest
/// group, or start more threads.
fn opened_by_threads<'g>(
    groups: &'g [GroupInfo],
    threads: Option<NonZeroUsize>,
) -> Vec<(usize, Result<Opened>)> {
    let pages = |group: &'g GroupInfo| block_on(group.pages().collect::<Vec<_>>());
    let listed = in_parallel(groups.iter().collect(), threads, pages);
    let pages = listed.into_iter().enumerate();
    let pages = pages.flat_map(|(i, pages)| pages.into_iter().map(move |page| (i, page)));
    let candidates = pages.flat_map(candidates).collect();
    // Pinned here, so that the future is not moved.
    in_parallel(candidates, threads, |candidate| {
        block_on(pin!(open(candidate)))
    })
}

/// All groups are listed at once, and children are opened while the lists go on, in any order:
/// after a slow answer, an ordered buffer would hold back the next requests.
async fn opened_at_once<'g>(
    groups: &'g [GroupInfo],
    at_once: usize,
) -> Vec<(usize, Result<Opened>)> {
    let pages =
        |(i, group): (usize, &'g GroupInfo)| group.pages().map(move |page| (i, page)).boxed();
    let pages: Vec<_> = groups.iter().enumerate().map(pages).collect();
    let mut pages = stream::iter(pages).flatten_unordered(at_once).fuse();
    let mut waiting: VecDeque<Candidate<'g>> = VecDeque::new();
    let mut opening = FuturesUnordered::new();
    let mut opened = Vec::new();
    poll_fn(|context| {
        loop {
            let is_listed = loop {
                match pages.poll_next_unpin(context) {
                    Poll::Ready(Some((i, page))) => {
                        if page.is_err() {
                            // Its children will not be returned.
                            waiting.retain(|(other, _)| *other != i);
                        }
                        waiting.extend(candidates((i, page)));
                    }
                    Poll::Ready(None) => break true,
                    Poll::Pending => break false,
                }
            };
            let room = at_once - opening.len();
            opening.extend(waiting.drain(..room.min(waiting.len())).map(open));
            match opening.poll_next_unpin(context) {
                Poll::Ready(Some(child)) => opened.push(child),
                Poll::Ready(None) if is_listed => return Poll::Ready(()),
                _ => return Poll::Pending,
            }
        }
    })
    .await;
    opened
}

fn candidates((i, page): (usize, Result<Parent<'_>>)) -> impl Iterator<Item = Candidate<'_>> {
    let (page, error) = match page {
        Ok(page) => (Some(Arc::new(page)), None),
        Err(error) => (None, Some(error)),
    };
    let places = page
        .into_iter()
        .flat_map(|page| (0..page.children.len()).map(move |at| Ok((page.clone(), at))));
    places
        .chain(error.map(Err))
        .map(move |candidate| (i, candidate))
}

async fn open((i, candidate): Candidate<'_>) -> (usize, Result<Opened>) {
    match candidate {
        Ok((page, at)) => (i, page.open(at).await),
        Err(error) => (i, Err(error)),
    }
}

impl Parent<'_> {
    async fn open(&self, at: usize) -> Result<Opened> {
        let group = self.group;
        let limits = &self.group.node.context.limits;
        let mut known = self.children.known(at);
        let mut unread = Unread::new();
        if let Some(key) = self.children.document(at) {
            // Spares a round in which nothing is concluded.
            unread = group
                .storage
                .guess(&mut known, limits, slice::from_ref(key))
                .await;
        }
        let conclude = |known: &Known| self.children.open(at, known);
        let found = match group
            .storage
            .conclude_after(&mut unread, &mut known, limits, conclude)
            .await
        {
            // A document that cannot be read says nothing of the others; a service that fails does.
            Err(error) if is_of_one_document(&error, &group.storage.store) => {
                let path = group.below(self.children.name(at));
                return Ok(Opened::Child(FoundChild {
                    path,
                    kind: None,
                    node: Err(error),
                }));
            }
            found => found?,
        };
        let Some(OpenedChild { name, kind, node }) = found else {
            let folder = group.folder(self.children.name(at))?;
            return Ok(folder.map_or(Opened::Nothing, |folder| Opened::Folder(Box::new(folder))));
        };
        let path = match &node {
            Ok(node) => node.path.as_str().to_owned(),
            Err(_) => group.below(&name),
        };
        let node = group.in_store(node).and_then(|node| match node.kind {
            NodeKind::Array(_) => self.array(node).map(FoundNode::Array),
            NodeKind::Group | NodeKind::ImplicitGroup => group
                .group_of(Arc::unwrap_or_clone(node))
                .map(FoundNode::Group),
        });
        Ok(Opened::Child(FoundChild {
            path,
            kind,
            node: node.map(Box::new),
        }))
    }

    fn array(&self, node: Arc<Node>) -> Result<ArrayInfo> {
        let array = self.group.array_of(node, self.sibling.get())?;
        self.sibling.get_or_init(|| array.clone());
        Ok(array)
    }
}

fn is_of_one_document(error: &Error, store: &AnyStore) -> bool {
    match error.kind() {
        ErrorKind::Denied | ErrorKind::Corrupt => true,
        ErrorKind::Store => matches!(store, AnyStore::Blocking(_)),
        _ => false,
    }
}

impl GroupInfo {
    /// The children in as many parts as the store lists them in.
    fn pages(&self) -> impl Stream<Item = Result<Parent<'_>>> + Send {
        let pages = async move {
            let consolidated = self.view.get().await?;
            let listings = match Children::listed_in_parts(&self.node, consolidated.as_deref()) {
                Some(prefix) => {
                    let pages = self
                        .storage
                        .list_dir_pages(&prefix, &self.node.context.limits);
                    pages
                        .map_ok(move |page| Some((prefix.clone(), page)))
                        .boxed()
                }
                None => stream::once(ready(Ok(None))).boxed(),
            };
            // With the documents above the children, which are read once.
            let known = Known::new();
            Ok::<_, Error>(stream::try_unfold(
                (listings, known),
                move |(mut listings, mut known)| {
                    let consolidated = consolidated.clone();
                    async move {
                        let Some(listing) = listings.try_next().await? else {
                            return Ok(None);
                        };
                        if let Some((prefix, DirListing { keys, mut prefixes })) = listing {
                            // What is below a node of another format belongs to that.
                            if find_node::is_folder(&self.node)
                                && keys.iter().any(|key| is_node_document(key, ".json"))
                            {
                                prefixes.clear();
                            }
                            known.add_listing(prefix, Listing { keys, prefixes });
                        }
                        let page = self.parent(&mut known, consolidated).await?;
                        Ok(Some((page, (listings, known))))
                    }
                },
            ))
        };
        stream::once(pages).try_flatten()
    }

    async fn parent(
        &self,
        known: &mut Known,
        consolidated: Option<Arc<Consolidated>>,
    ) -> Result<Parent<'_>> {
        let options = self.view.options(Wanted::Any);
        let list =
            |known: &Known| Children::of(&self.node, consolidated.clone(), known, options.clone());
        let children = self.storage.conclude(known, &options.limits, list).await?;
        Ok(Parent {
            group: self,
            children,
            sibling: OnceLock::new(),
        })
    }

    /// The folder of this name in a group, as if it were a group.
    fn folder(&self, name: &str) -> Result<Option<Self>> {
        if self.node.context.consolidated_in.is_some()
            || !find_node::may_be_folder(&self.node, name)
        {
            return Ok(None);
        }
        let node = find_node::folder(&self.node, self.node.path.child(name)?);
        // Consolidated metadata are those of groups with a document.
        let folder = Self::new(self.storage.clone(), node, ConsolidatedUse::Ignore)?;
        Ok(Some(self.hand_on(folder)))
    }

    pub(super) fn group_of(&self, node: Node) -> Result<Self> {
        if node.context.consolidated_in.is_some() {
            return Ok(self.hand_on(Self::seen_through(
                self.storage.clone(),
                node,
                Arc::clone(&self.view),
            )?));
        }
        // The group may have consolidated metadata itself.
        let uses = match self.view.uses() {
            ConsolidatedUse::Require => ConsolidatedUse::Use,
            uses => uses,
        };
        Ok(self.hand_on(Self::new(self.storage.clone(), node, uses)?))
    }
}
