//! Changes attributes of nodes.

use ndzarr_engine::ConcurrentUpdate;
use ndzarr_metadata::{
    AttributeChange, DocumentChange, Node, NodeKind, OpenOptions, Wanted, attributes_key, change_attributes,
};
use ndzarr_model::Attributes;
use serde_json::Value;

use crate::error::{Error, ErrorKind, Result};
use crate::storage::Storage;
use crate::{consolidated, nodes};

/// Changes attributes in the store, and returns the changed node.
pub(crate) async fn change(
    storage: &Storage,
    node: &Node,
    change: &AttributeChange,
    policy: ConcurrentUpdate,
) -> Result<Node> {
    let key = attributes_key(node);
    let new = |current: Option<&[u8]>| change_attributes(node, current, change);
    storage.update(node, &key, policy, new).await?;
    let changed = DocumentChange { keys: vec![key], ..DocumentChange::default() };
    consolidated::refresh(storage, node, &changed, policy).await?;
    let wanted = if matches!(node.kind, NodeKind::Array(_)) { Wanted::Array } else { Wanted::Group };
    let options = OpenOptions { wanted, ..consolidated::options(node) };
    nodes::open_at(storage, &node.path, &options).await
}

/// The members of a JSON object.
pub(crate) fn object(value: Value) -> Result<Attributes> {
    match value {
        Value::Object(attributes) => Ok(attributes),
        other => Err(Error::new(
            ErrorKind::InvalidArgument,
            format!("attributes must be a JSON object, not {other}"),
        )),
    }
}
