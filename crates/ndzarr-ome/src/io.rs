//! `Io`: the requests of finding images, as blocking calls and as futures.

use ndzarr::{Any, AnyArray, AnyNode, Group, asynchronous};

use crate::error::Result;

/// How groups are opened and listed.
pub(crate) trait Io: Sync {
    /// The group of this name or path below a group.
    fn group(&self, within: &Group, name: &str) -> impl Future<Output = Result<Group>> + Send;

    /// The array of this name or path below a group.
    fn array(&self, within: &Group, name: &str) -> impl Future<Output = Result<AnyArray>> + Send;

    /// The children of a group.
    fn children(&self, group: &Group) -> impl Future<Output = Result<Children>> + Send;
}

/// The children of a group, with their names.
#[derive(Debug, Default)]
pub(crate) struct Children {
    pub(crate) nodes: Vec<(String, AnyNode)>,
    /// The names of those that cannot be opened, each with the reason.
    pub(crate) broken: Vec<(String, String)>,
}

impl Children {
    fn add(&mut self, name: String, node: ndzarr::Result<AnyNode>) {
        match node {
            Ok(node) => self.nodes.push((name, node)),
            Err(error) => self.broken.push((name, error.to_string())),
        }
    }
}

/// Calls block, so that their futures are ready at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Here;

/// Calls are futures.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Awaited;

impl Io for Here {
    async fn group(&self, within: &Group, name: &str) -> Result<Group> {
        Ok(within.group(name)?)
    }

    async fn array(&self, within: &Group, name: &str) -> Result<AnyArray> {
        Ok(within.array::<Any>(name)?)
    }

    async fn children(&self, group: &Group) -> Result<Children> {
        let mut children = Children::default();
        for child in group.children()? {
            children.add(child.name().to_owned(), child.open());
        }
        Ok(children)
    }
}

impl Io for Awaited {
    async fn group(&self, within: &Group, name: &str) -> Result<Group> {
        Ok(asynchronous::Group::from(within.clone())
            .group(name)
            .await?
            .into())
    }

    async fn array(&self, within: &Group, name: &str) -> Result<AnyArray> {
        Ok(asynchronous::Group::from(within.clone())
            .array::<Any>(name)
            .await?
            .into())
    }

    async fn children(&self, group: &Group) -> Result<Children> {
        let mut children = Children::default();
        for child in asynchronous::Group::from(group.clone()).children().await? {
            let name = child.name().to_owned();
            let node = child.open().map(|node| match node {
                asynchronous::AnyNode::Array(array) => AnyNode::Array(array.into()),
                asynchronous::AnyNode::Group(group) => AnyNode::Group(group.into()),
            });
            children.add(name, node);
        }
        Ok(children)
    }
}
