//! Changes the entries of `multiscales` in the attributes of a group.

use ndzarr::Group;
use serde_json::{Value, json};

use crate::create::new_multiscale::{NewMultiscale, made_by};
use crate::error::Result;
use crate::json::{self, path_below};
use crate::levels::downsample::Downsample;
use crate::levels::level::Level;

/// Changes the list of entries as `change` says, which returns true if it did. Returns false if
/// there is no list, or `change` does.
pub(crate) fn change_entries(
    group: &mut Group,
    mut change: impl FnMut(&mut Value) -> bool,
) -> Result<bool> {
    let in_namespace = group.attributes().get("ome").is_some_and(Value::is_object);
    let key = if in_namespace { "ome" } else { "multiscales" };
    let mut is_changed = false;
    group.update_attribute(key, |stated: Option<Value>| {
        let mut stated = stated.unwrap_or_default();
        let list = if in_namespace {
            stated.get_mut("multiscales")
        } else {
            Some(&mut stated)
        };
        is_changed = list.is_some_and(&mut change);
        stated
    })?;
    Ok(is_changed)
}

/// True if a dataset has this path.
pub(crate) fn is_at(dataset: &Value, path: &str) -> bool {
    dataset["path"]
        .as_str()
        .is_some_and(|stated| path_below(stated).as_deref() == Ok(path))
}

/// Adds datasets to the only entry, if its only dataset is the finest level. Returns true if it
/// did.
pub(crate) fn extend(
    list: &mut Value,
    finest: &str,
    datasets: &[Value],
    new: &NewMultiscale,
) -> bool {
    let Some([Value::Object(entry)]) = list.as_array_mut().map(|list| &mut list[..]) else {
        return false;
    };
    let Some(Value::Array(list)) = entry.get_mut("datasets") else {
        return false;
    };
    if !matches!(&list[..], [only] if is_at(only, finest)) {
        return false;
    }
    list.extend_from_slice(datasets);
    entry.extend(new.made_by());
    true
}

/// States in the entries that have these levels how they were made. Returns true if there is one.
pub(crate) fn state_method(list: &mut Value, levels: &[Level], method: Downsample) -> bool {
    let mut is_stated = false;
    for entry in list.as_array_mut().into_iter().flatten() {
        let datasets = json::list(&entry["datasets"]);
        let has_level = |level: &Level| datasets.iter().any(|dataset| is_at(dataset, &level.path));
        if !levels.iter().all(has_level) {
            continue;
        }
        if let Value::Object(entry) = entry {
            entry.extend(made_by(method, json!({})));
            is_stated = true;
        }
    }
    is_stated
}
