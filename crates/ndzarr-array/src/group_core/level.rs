//! Opens the children of all groups of a level at once.

use std::slice;
use std::sync::{Arc, OnceLock};

use futures_util::{StreamExt, stream};
use ndzarr_engine::{AnyStore, in_parallel};
use ndzarr_metadata::{Children, ConsolidatedUse, Known, Node, NodeKind, OpenedChild, Wanted};
use ndzarr_store::block_on;

use super::{ChildCore, GroupCore, NodeCore};
use crate::core::Core;
use crate::error::Result;

/// A group that was listed.
struct Parent<'g> {
    group: &'g GroupCore,
    children: Children<'g>,
    /// One of its arrays, with which others may share its chain.
    beside: OnceLock<Core>,
}

/// The children of each group, unordered.
///
/// All groups are listed first. Then their children are opened as one task, however they are
/// distributed: if each thread opened the children of one group, all would wait for the largest
/// group, or start more threads.
pub(super) async fn children_of(groups: &[GroupCore]) -> Vec<Result<Vec<ChildCore>>> {
    let Some(first) = groups.first() else { return Vec::new() };
    let parents = first.each(groups.iter().collect(), GroupCore::listed).await;
    let n_children = |parent: &Result<Parent<'_>>| parent.as_ref().map_or(0, |parent| parent.children.len());
    let tasks =
        parents.iter().enumerate().flat_map(|(i, parent)| (0..n_children(parent)).map(move |at| (i, at)));
    let all = &parents;
    let open = |(i, at): (usize, usize)| async move {
        match &all[i] {
            Ok(parent) => (i, parent.open(at).await),
            Err(_) => (i, Ok(None)),
        }
    };
    let opened = first.each(tasks.collect(), open).await;

    let room = |parent: Result<Parent<'_>>| parent.map(|parent| Vec::with_capacity(parent.children.len()));
    let mut found: Vec<Result<Vec<ChildCore>>> = parents.into_iter().map(room).collect();
    for (i, child) in opened {
        match (&mut found[i], child) {
            (Ok(children), Ok(child)) => children.extend(child),
            (of_group, Err(error)) => *of_group = Err(error),
            (Err(_), Ok(_)) => {}
        }
    }
    found
}

impl Parent<'_> {
    async fn open(&self, at: usize) -> Result<Option<ChildCore>> {
        let (group, limits) = (self.group, &self.group.node.context.limits);
        let mut known = self.children.known(at);
        if let Some(key) = self.children.document(at) {
            // Spares a round in which nothing is concluded.
            group.storage.guess(&mut known, limits, slice::from_ref(key)).await;
        }
        let conclude = |known: &Known| self.children.open(at, known);
        let found = group.storage.conclude(&mut known, limits, conclude).await?;
        Ok(found.map(|OpenedChild { name, kind, node }| {
            let path = match &node {
                Ok(node) => node.path.as_str().to_owned(),
                Err(_) => group.below(&name),
            };
            let node = group.in_store(node).and_then(|node| match node.kind {
                NodeKind::Array(_) => self.array(node).map(NodeCore::Array),
                NodeKind::Group | NodeKind::ImplicitGroup => {
                    group.group_of(Arc::unwrap_or_clone(node)).map(NodeCore::Group)
                }
            });
            ChildCore { path, kind, node: node.map(Box::new) }
        }))
    }

    fn array(&self, node: Arc<Node>) -> Result<Core> {
        let array = self.group.array_of(node, self.beside.get())?;
        self.beside.get_or_init(|| array.clone());
        Ok(array)
    }
}

impl GroupCore {
    /// Runs a call for each item and keeps the results in order: on several threads, or all
    /// concurrently if the store does not block.
    async fn each<T: Send, R: Send, F: Future<Output = R> + Send>(
        &self,
        items: Vec<T>,
        work: impl Fn(T) -> F + Sync,
    ) -> Vec<R> {
        match &self.storage.0 {
            AnyStore::Blocking(_) => in_parallel(items, self.options.threads, |item| block_on(work(item))),
            AnyStore::Async(_) => {
                let at_once = self.options.requests_in_flight.get();
                let work = &work;
                let numbered = |(at, item)| async move { (at, work(item).await) };
                // In any order: behind a slow answer, `buffered` would hold back the next requests.
                let mut found: Vec<(usize, R)> = stream::iter(items.into_iter().enumerate())
                    .map(numbered)
                    .buffer_unordered(at_once)
                    .collect()
                    .await;
                found.sort_unstable_by_key(|&(at, _)| at);
                found.into_iter().map(|(_, result)| result).collect()
            }
        }
    }

    async fn listed(&self) -> Result<Parent<'_>> {
        let (consolidated, options) = (self.view.get().await?, self.view.options(Wanted::Any));
        let list = |known: &Known| Children::of(&self.node, consolidated.clone(), known, options.clone());
        let children = self.storage.conclude(&mut Known::new(), &options.limits, list).await?;
        Ok(Parent { group: self, children, beside: OnceLock::new() })
    }

    pub(super) fn group_of(&self, node: Node) -> Result<Self> {
        if node.context.consolidated_in.is_some() {
            return Ok(self.hand_on(Self::seen_through(self.storage.clone(), node, Arc::clone(&self.view))?));
        }
        // The group may have consolidated metadata itself.
        let uses = match self.view.uses() {
            ConsolidatedUse::Require => ConsolidatedUse::Use,
            uses => uses,
        };
        Ok(self.hand_on(Self::new(self.storage.clone(), node, uses)?))
    }
}
