//! JSON texts, which `json` of Python makes and reads.

use ndzarr::AttributeChange;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::{Map, Value};

pub(crate) fn parsed(text: &str) -> PyResult<Value> {
    serde_json::from_str(text).map_err(|error| PyValueError::new_err(format!("{error} in {text}")))
}

pub(crate) fn text(attributes: &Map<String, Value>) -> String {
    Value::Object(attributes.clone()).to_string()
}

/// "merge" and "replace" take an object, "remove" a list of names.
pub(crate) fn attribute_change(how: &str, text: &str) -> PyResult<AttributeChange> {
    let wrong = || PyValueError::new_err(format!("attributes cannot be changed to {text}"));
    Ok(match (how, parsed(text)?) {
        ("merge", Value::Object(attributes)) => AttributeChange::Merge(attributes),
        ("replace", Value::Object(attributes)) => AttributeChange::Replace(attributes),
        ("remove", Value::Array(names)) => {
            let names = names
                .iter()
                .map(|name| name.as_str().map(str::to_owned).ok_or_else(wrong));
            AttributeChange::Remove(names.collect::<PyResult<_>>()?)
        }
        _ => return Err(wrong()),
    })
}
