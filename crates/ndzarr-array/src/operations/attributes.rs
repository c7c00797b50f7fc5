//! Reads and changes attributes of nodes.

use std::cell::Cell;

use bytes::Bytes;
use ndzarr_engine::ConcurrentUpdate;
use ndzarr_metadata::{
    AttributeChange, DocumentChange, Node, NodeKind, OpenOptions, Wanted, attributes_key,
    change_attributes, current_attribute,
};
use ndzarr_model::Attributes;
use serde_core::Serialize;
use serde_core::de::DeserializeOwned;
use serde_core::de::value::MapDeserializer;
use serde_json::Value;

use crate::error::{Error, ErrorKind, Result};
use crate::hierarchy::consolidated;
use crate::hierarchy::find_node;
use crate::storage::Storage;

/// Changes attributes in the store, and returns the changed node.
pub(crate) async fn change(
    storage: &Storage,
    node: &Node,
    change: &AttributeChange,
    policy: ConcurrentUpdate,
) -> Result<Node> {
    change_document(storage, node, policy, |current| {
        change_attributes(node, current, change)
    })
    .await
}

/// Replaces one attribute in the store by a function of it, and returns the changed node.
pub(crate) async fn update<A: DeserializeOwned + Serialize>(
    storage: &Storage,
    node: &Node,
    key: &str,
    mut update: impl FnMut(Option<A>) -> A,
    policy: ConcurrentUpdate,
) -> Result<Node> {
    let new = |current: Option<&[u8]>| {
        let value = current_attribute(node, current, key)?;
        let value = value.map(|value| parsed(node, key, &value)).transpose()?;
        Ok::<_, Error>(change_attributes(
            node,
            current,
            &setting(node, key, &update(value))?,
        )?)
    };
    change_document(storage, node, policy, new).await
}

async fn change_document<E: Into<Error>>(
    storage: &Storage,
    node: &Node,
    policy: ConcurrentUpdate,
    new: impl FnMut(Option<&[u8]>) -> Result<Bytes, E>,
) -> Result<Node> {
    let key = attributes_key(node);
    storage.update(node, &key, policy, new).await?;
    let changed = DocumentChange {
        keys: vec![key],
        ..DocumentChange::default()
    };
    consolidated::refresh(storage, node, &changed, policy).await?;
    let wanted = if matches!(node.kind, NodeKind::Array(_)) {
        Wanted::Array
    } else {
        Wanted::Group
    };
    let options = OpenOptions {
        wanted,
        ..node.open_options()
    };
    find_node::open_at(storage, &node.path, &options).await
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

/// The change that sets one attribute.
pub(crate) fn setting(
    node: &Node,
    key: &str,
    value: &(impl Serialize + ?Sized),
) -> Result<AttributeChange> {
    let value = serde_json::to_value(value).map_err(|error| {
        let what = format!(
            "the attribute {key:?} of {} cannot be JSON: {error}",
            name(node)
        );
        in_document(node, Error::new(ErrorKind::InvalidArgument, what))
    })?;
    Ok(AttributeChange::Merge(
        [(key.to_owned(), value)].into_iter().collect(),
    ))
}

/// One attribute as a Rust type.
pub(crate) fn one<A: DeserializeOwned>(
    storage: &Storage,
    node: &Node,
    key: &str,
) -> Result<Option<A>> {
    let value = node
        .attributes
        .get(key)
        .map(|value| parsed(node, key, value));
    value
        .transpose()
        .map_err(|error| error.in_store(|| storage.name()))
}

/// All attributes as one Rust type.
pub(crate) fn all<A: DeserializeOwned>(storage: &Storage, node: &Node) -> Result<A> {
    let mut members = node.attributes.iter();
    let current = Cell::new(None);
    // serde's errors do not name the member that they are about.
    let members = std::iter::from_fn(|| {
        let (key, value) = members.next().unzip();
        current.set(key);
        Some((key?.as_str(), value?))
    });
    A::deserialize(MapDeserializer::new(members)).map_err(|error: serde_json::Error| {
        let error = match current.get() {
            Some(key) => mismatch(node, key, &error),
            None => {
                let what = format!(
                    "the attributes of {} have another form: {error}",
                    name(node)
                );
                in_document(node, Error::new(ErrorKind::WrongType, what))
            }
        };
        error.in_store(|| storage.name())
    })
}

fn parsed<A: DeserializeOwned>(node: &Node, key: &str, value: &Value) -> Result<A> {
    A::deserialize(value).map_err(|error| mismatch(node, key, &error))
}

fn mismatch(node: &Node, key: &str, error: &serde_json::Error) -> Error {
    let what = format!(
        "the attribute {key:?} of {} has another form: {error}",
        name(node)
    );
    in_document(node, Error::new(ErrorKind::WrongType, what))
}

fn in_document(node: &Node, error: Error) -> Error {
    error.in_document(Some(&attributes_key(node)))
}

fn name(node: &Node) -> String {
    format!("{:?}", format!("/{}", node.path.as_str()))
}
