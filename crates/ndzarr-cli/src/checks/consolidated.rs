//! Compares the consolidated metadata of a group with the documents of its nodes.

use std::collections::BTreeMap;

use ndzarr::store::Listed;
use ndzarr::{AnyNode, ConsolidatedUse, ErrorKind, Group, OpenOptions};
use serde_json::Value;

use crate::failure::{Failure, chain};
use crate::output::describe;
use crate::places::below;

/// The state of a group's consolidated metadata.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// The group has none.
    Absent,
    /// They agree with the documents.
    Fresh,
    /// They differ from the documents, or cannot be read.
    Stale(String),
    /// They have the only copy of a document: that of a node is gone or cannot be read.
    Ahead(String),
}

impl State {
    /// Compares the nodes that they describe with the documents.
    pub(crate) fn of(group: &Group, options: &OpenOptions) -> Result<Self, Failure> {
        let open = |uses| {
            options
                .clone()
                .consolidated(uses)
                .open_group((group.storage(), group.path()))
        };
        let copies = match open(ConsolidatedUse::Require) {
            Ok(group) => group,
            Err(error) => {
                return match error.kind() {
                    ErrorKind::NotFound => Ok(Self::Absent),
                    ErrorKind::InvalidMetadata => Ok(Self::Stale(chain(&error))),
                    _ => Err(error.into()),
                };
            }
        };
        let real = match open(ConsolidatedUse::Ignore) {
            // A folder without a document, below which others have found nodes: it has none of its
            // own.
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::Absent),
            real => real?,
        };
        // Zarr v2 has a copy of the group itself as well. ndzarr reads the document, others the
        // copy.
        if copies
            .group("")
            .is_ok_and(|copy| copy.attributes() != real.attributes())
        {
            return Ok(Self::Stale(
                "the attributes of the group itself have changed since".to_owned(),
            ));
        }
        let copies = match nodes(&copies) {
            Ok(nodes) => nodes,
            Err(error) => return Ok(Self::Stale(error.message().to_owned())),
        };
        let real = nodes(&real)?;
        for (path, _) in copies.iter().filter(|(_, copy)| copy.is_object()) {
            let what = match real.get(path) {
                Some(Value::String(_)) => "cannot be read",
                None if has_keys(group, path)? => "is gone, though it has chunks",
                _ => continue,
            };
            return Ok(Self::Ahead(format!(
                "they still describe {path:?}, whose own document {what}"
            )));
        }
        for (path, node) in &real {
            match copies.get(path) {
                None => return Ok(Self::Stale(format!("{path:?} is not in them"))),
                Some(copy) if copy != node => {
                    return Ok(Self::Stale(format!("{path:?} has changed since")));
                }
                Some(_) => {}
            }
        }
        match copies.keys().find(|path| !real.contains_key(*path)) {
            Some(path) => Ok(Self::Stale(format!(
                "{path:?} is in them, and is not there"
            ))),
            None => Ok(Self::Fresh),
        }
    }
}

/// True if the store has keys below a path in a group.
fn has_keys(group: &Group, path: &str) -> Result<bool, Failure> {
    let mut n = 0;
    let prefix = below(&format!("{}{path}", below(group.path())));
    group.storage().each_listed(&prefix, |_, listed| {
        n += u64::from(!matches!(listed, Listed::Folder))
    })?;
    Ok(n > 0)
}

/// The descriptions of all nodes below a group.
fn nodes(group: &Group) -> Result<BTreeMap<String, Value>, Failure> {
    let mut nodes = BTreeMap::new();
    for child in group.walk()? {
        let path = child.path();
        let node = match child.open() {
            Ok(AnyNode::Array(array)) => describe::array(&array, ndzarr::N5Axes::Native),
            Ok(AnyNode::Group(group)) => describe::group(&group),
            Err(error) => Value::String(chain(&error)),
        };
        nodes.insert(path, node);
    }
    Ok(nodes)
}
