//! Shows and changes the user's part of an `attributes.json`.

use bytes::Bytes;
use ndzarr_model::Attributes;

use crate::json::{self, Json, Members, NonFinite};
use crate::n5::attribute_path::AttributePath;
use crate::n5::document::{Contents, RESERVED, key};
use crate::shared::attribute_texts;
use crate::{AttributeChange, Format, MetadataError, Node, NodeKind, Wanted};

/// Members of a dataset that is not supported here.
const FOREIGN: [&str; 2] = ["codecs", "shardSize"];

/// The attributes without the format's own members: six names on a dataset, `n5` on a group.
pub(crate) fn user_view(members: &Members<'_>, is_dataset: bool) -> Attributes {
    let visible = members
        .iter()
        .filter(|(name, _)| !is_hidden(name, is_dataset));
    visible
        .map(|(name, value)| (name.to_owned(), value.to_value()))
        .collect()
}

fn is_hidden(name: &str, is_dataset: bool) -> bool {
    if is_dataset {
        RESERVED.contains(&name)
    } else {
        name == "n5"
    }
}

/// The document after a change. Members that the change does not name stay as they are, including
/// the texts of numbers and the order of members.
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
        return Err(MetadataError::invalid(
            &key,
            "no longer describes the dataset that was opened",
        ));
    }
    let after = apply(&key, &before, change, is_dataset)?;
    guard(&key, &before, &after, is_dataset)?;
    json::write(&key, &after)
}

fn read<'a>(key: &str, current: Option<&'a [u8]>) -> Result<Json<'a>, MetadataError> {
    let empty = || Json::Object(Members::new());
    match current {
        None => Ok(empty()),
        Some(bytes) => match json::parse(key, bytes, NonFinite::Accept)? {
            Json::Null => Ok(empty()),
            other => Ok(other),
        },
    }
}

fn apply<'a>(
    key: &str,
    before: &Json<'a>,
    change: &AttributeChange,
    is_dataset: bool,
) -> Result<Json<'a>, MetadataError> {
    let mut after = before.clone();
    match change {
        AttributeChange::SetN5Path { path, value } => AttributePath::parse(path)
            .set(&mut after, value.into())
            .map_err(|what| {
                MetadataError::invalid(key, format_args!("attribute path {path:?}: {what}"))
            })?,
        AttributeChange::RemoveN5Path(path) => {
            AttributePath::parse(path).remove(&mut after);
        }
        AttributeChange::Merge(_) | AttributeChange::Remove(_) => {
            attribute_texts::apply(Format::N5, object(key, &mut after)?, change)?;
        }
        AttributeChange::Replace(attributes) => {
            let members = object(key, &mut after)?;
            let mut visible = members.clone();
            visible.retain(|name, _| !is_hidden(name, is_dataset));
            members.retain(|name, _| is_hidden(name, is_dataset));
            members.extend(Members::in_place_of(&visible, attributes));
        }
    }
    Ok(after)
}

fn object<'d, 'a>(
    key: &str,
    document: &'d mut Json<'a>,
) -> Result<&'d mut Members<'a>, MetadataError> {
    let what = document.kind();
    document.as_object_mut().ok_or_else(|| {
        MetadataError::invalid(key, format_args!("is {what}, which has no attributes"))
    })
}

/// Refuses changes to the format's own members, and changes that turn a group into a dataset.
fn guard(
    key: &str,
    before: &Json<'_>,
    after: &Json<'_>,
    is_dataset: bool,
) -> Result<(), MetadataError> {
    fn get<'a>(document: &'a Json<'a>, name: &str) -> Option<&'a Json<'a>> {
        document.get(name).filter(|value| !value.is_null())
    }
    let refuse = |name: &str| {
        Err(MetadataError::invalid(
            key,
            format_args!("{name} is reserved by the format"),
        ))
    };
    for name in RESERVED.into_iter().chain(FOREIGN) {
        let old = get(before, name);
        let new = get(after, name);
        let newly_a_dataset = new.is_some() && matches!(name, "dimensions" | "blockSize");
        if old != new && (is_dataset || name == "n5" || newly_a_dataset) {
            return refuse(name);
        }
    }
    Ok(())
}
