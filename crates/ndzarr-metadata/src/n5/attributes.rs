//! What the user sees and changes of an `attributes.json`.

use bytes::Bytes;
use ndzarr_model::Attributes;
use serde_json::Value;

use crate::json::{self, NonFinite};
use crate::n5::attribute_path::AttributePath;
use crate::n5::document::{Contents, RESERVED, key};
use crate::{AttributeChange, MetadataError, Node, NodeKind, Wanted};

/// Members that make a document a dataset which is not read here.
const FOREIGN: [&str; 2] = ["codecs", "shardSize"];

/// The attributes without what the format keeps among them: six names on a dataset, `n5` on a group.
pub(crate) fn user_view(members: &Attributes, is_dataset: bool) -> Attributes {
    let hidden = |name: &str| if is_dataset { RESERVED.contains(&name) } else { name == "n5" };
    members.iter().filter(|(name, _)| !hidden(name)).map(|(n, v)| (n.clone(), v.clone())).collect()
}

/// The document after a change. What the change does not name stays as it is, the texts of numbers and the order of
/// members included.
pub(crate) fn change(
    node: &Node,
    current: Option<&[u8]>,
    change: &AttributeChange,
) -> Result<Bytes, MetadataError> {
    let key = key(&node.path);
    let is_dataset = matches!(node.kind, NodeKind::Array(_));
    // A group needs no document.
    if current.is_none() && is_dataset {
        return Err(MetadataError::gone(&node.path, &key));
    }
    let before = read(&key, current)?;
    if is_dataset && !Contents::read(&key, current)?.describes_dataset(Wanted::Group) {
        return Err(MetadataError::invalid(&key, "no longer describes the dataset that was opened"));
    }
    let after = apply(&key, &before, change, is_dataset)?;
    guard(&key, &before, &after, is_dataset)?;
    json::write(&key, &after)
}

fn read(key: &str, current: Option<&[u8]>) -> Result<Value, MetadataError> {
    let empty = || Value::Object(Attributes::new());
    match current {
        None => Ok(empty()),
        Some(bytes) if bytes.iter().all(u8::is_ascii_whitespace) => Ok(empty()),
        Some(bytes) => match json::parse(key, bytes, NonFinite::Accept)? {
            Value::Null => Ok(empty()),
            other => Ok(other),
        },
    }
}

fn apply(
    key: &str,
    before: &Value,
    change: &AttributeChange,
    is_dataset: bool,
) -> Result<Value, MetadataError> {
    let mut after = before.clone();
    match change {
        AttributeChange::SetN5Path { path, value } => AttributePath::parse(path)
            .set(&mut after, value.clone())
            .map_err(|what| MetadataError::invalid(key, format_args!("attribute path {path:?}: {what}")))?,
        AttributeChange::RemoveN5Path(path) => {
            AttributePath::parse(path).remove(&mut after);
        }
        AttributeChange::Merge(attributes) => {
            let members = object(key, &mut after)?;
            members.extend(attributes.iter().map(|(name, value)| (name.clone(), value.clone())));
        }
        AttributeChange::Replace(attributes) => {
            let members = object(key, &mut after)?;
            let visible = user_view(members, is_dataset);
            members.retain(|name, _| !visible.contains_key(name));
            members.extend(attributes.iter().map(|(name, value)| (name.clone(), value.clone())));
        }
        AttributeChange::Remove(names) => {
            let members = object(key, &mut after)?;
            for name in names {
                members.shift_remove(name);
            }
        }
    }
    Ok(after)
}

fn object<'a>(key: &str, document: &'a mut Value) -> Result<&'a mut Attributes, MetadataError> {
    let what = json::kind(document);
    document
        .as_object_mut()
        .ok_or_else(|| MetadataError::invalid(key, format_args!("is {what}, which has no attributes")))
}

/// Refuses a change of what the format keeps for itself, or one that makes a dataset of a group.
fn guard(key: &str, before: &Value, after: &Value, is_dataset: bool) -> Result<(), MetadataError> {
    let get = |document: &Value, name: &str| document.get(name).filter(|value| !value.is_null()).cloned();
    let refuse = |name: &str| {
        Err(MetadataError::invalid(
            key,
            format_args!("{name} is kept by the format and no attribute to change"),
        ))
    };
    for name in RESERVED.into_iter().chain(FOREIGN) {
        let (old, new) = (get(before, name), get(after, name));
        let newly_a_dataset = new.is_some() && matches!(name, "dimensions" | "blockSize");
        if old != new && (is_dataset || name == "n5" || newly_a_dataset) {
            return refuse(name);
        }
    }
    Ok(())
}
