//! Opens the children of a group and walks the hierarchy below it.

use std::collections::HashSet;
use std::slice;

use super::level::children_of;
use super::{ChildCore, GroupCore, NodeCore};
use crate::error::Result;

/// The targets of symbolic links that a walk has entered, each once.
struct Entered(HashSet<(u64, u64)>);

impl Entered {
    /// Returns the group, unless the walk has entered it before and did not reach it without links
    /// this time.
    fn if_new(&mut self, group: GroupCore) -> Result<Option<GroupCore>> {
        let is_new = group.storage.place(&group.node)?.is_none_or(|place| self.0.insert(place));
        Ok(is_new.then_some(group))
    }
}

impl GroupCore {
    pub(crate) async fn children(&self) -> Result<Vec<ChildCore>> {
        let children = children_of(slice::from_ref(self)).await;
        let children = children.into_iter().next().unwrap_or_else(|| Ok(Vec::new()))?;
        Ok(self.relative(children))
    }

    pub(crate) async fn walk(&self) -> Result<Vec<ChildCore>> {
        let mut found: Vec<ChildCore> = Vec::new();
        let mut entered = Entered(HashSet::new());
        // Where each group of the level is among those that were found; the first is not.
        let mut places = vec![None];
        let mut level = Vec::from_iter(entered.if_new(self.clone())?);
        while !level.is_empty() {
            let below = children_of(&level).await;
            level.clear();
            for (children, place) in below.into_iter().zip(std::mem::take(&mut places)) {
                let children = match (children, place) {
                    (Ok(children), _) => children,
                    (Err(error), None) => return Err(error),
                    (Err(error), Some(place)) => {
                        let group: &mut ChildCore = &mut found[place];
                        (group.kind, group.node) = (None, Err(error));
                        continue;
                    }
                };
                for child in children {
                    let group = match child.node.as_deref() {
                        Ok(NodeCore::Group(group)) => entered.if_new(group.clone())?,
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
        Ok(self.relative(found))
    }

    /// In the order of their paths, relative to the group.
    fn relative(&self, mut found: Vec<ChildCore>) -> Vec<ChildCore> {
        found.sort_by(|a, b| a.path.cmp(&b.path));
        let prefix = self.node.path.prefix();
        found.iter_mut().filter(|child| child.path.starts_with(&prefix)).for_each(|child| {
            child.path.drain(..prefix.len());
        });
        found
    }
}
