//! Opens the children of a group and walks the hierarchy below it.

use std::collections::{BTreeSet, HashSet};
use std::slice;

use ndzarr_metadata::MemberKind;

use super::level::{Below, children_of};
use super::{FoundChild, FoundNode, GroupInfo};
use crate::error::Result;
use crate::hierarchy::find_node;

/// The targets of symbolic links that a walk has entered, each once.
struct Entered(HashSet<(u64, u64)>);

impl Entered {
    /// Returns the group, unless the walk has entered it before and did not reach it without links
    /// this time.
    fn if_new(&mut self, group: GroupInfo) -> Result<Option<GroupInfo>> {
        let is_new = group
            .storage
            .place(&group.node)?
            .is_none_or(|place| self.0.insert(place));
        Ok(is_new.then_some(group))
    }
}

impl GroupInfo {
    pub(crate) async fn children(&self) -> Result<Vec<FoundChild>> {
        let below = children_of(slice::from_ref(self)).await;
        let below = below
            .into_iter()
            .next()
            .unwrap_or_else(|| Ok(Below::default()))?;
        Ok(self.relative(below.children))
    }

    /// Every node below it. Where a writer has left out the documents of groups, those above a node
    /// are groups all the same.
    pub(crate) async fn walk(&self) -> Result<Vec<FoundChild>> {
        let mut found: Vec<FoundChild> = Vec::new();
        let mut entered = Entered(HashSet::new());
        // Where each group of the level is among those that were found; the first is not.
        let mut places = vec![None];
        let mut level = Vec::from_iter(entered.if_new(self.clone())?);
        while !level.is_empty() {
            let below = children_of(&level).await;
            level.clear();
            for (below, place) in below.into_iter().zip(std::mem::take(&mut places)) {
                let Below { children, folders } = match (below, place) {
                    (Ok(below), _) => below,
                    (Err(error), None) => return Err(error),
                    (Err(error), Some(place)) => {
                        let group: &mut FoundChild = &mut found[place];
                        (group.kind, group.node) = (None, Err(error));
                        continue;
                    }
                };
                let folders = folders.into_iter().map(|folder| FoundChild {
                    path: folder.node.path.as_str().to_owned(),
                    kind: Some(MemberKind::Group),
                    node: Ok(Box::new(FoundNode::Group(folder))),
                });
                for child in children.into_iter().chain(folders) {
                    let group = match child.node.as_deref() {
                        Ok(FoundNode::Group(group)) => entered.if_new(group.clone())?,
                        _ => None,
                    };
                    if let Some(group) = group {
                        level.push(group);
                        places.push(Some(found.len()));
                    }
                    found.push(child);
                }
            }
        }
        Ok(self.relative(with_nodes(found)))
    }

    /// In the order of their paths, relative to the group.
    fn relative(&self, mut found: Vec<FoundChild>) -> Vec<FoundChild> {
        found.sort_by(|a, b| a.path.cmp(&b.path));
        let prefix = self.node.path.prefix();
        found
            .iter_mut()
            .filter(|child| child.path.starts_with(&prefix))
            .for_each(|child| {
                child.path.drain(..prefix.len());
            });
        found
    }
}

/// What was found without the folders that have no node below them.
fn with_nodes(mut found: Vec<FoundChild>) -> Vec<FoundChild> {
    let is_folder = |child: &FoundChild| match child.node.as_deref() {
        Ok(FoundNode::Group(group)) => find_node::is_folder(&group.node),
        _ => false,
    };
    if !found.iter().any(is_folder) {
        return found;
    }
    let nodes: BTreeSet<String> = found
        .iter()
        .filter(|child| !is_folder(child))
        .map(|child| child.path.clone())
        .collect();
    found.retain(|child| {
        let below = format!("{}/", child.path);
        !is_folder(child)
            || nodes
                .range(below.clone()..)
                .next()
                .is_some_and(|path| path.starts_with(&below))
    });
    found
}
