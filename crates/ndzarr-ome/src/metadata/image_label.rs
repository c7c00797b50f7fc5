//! `ImageLabel`: what the values of a label image mean.

use serde_json::{Map, Number, Value, json};

use crate::error::{Error, Result};
use crate::json::{Object, integer, list, text};

/// What the values of a label image mean, and how they are shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImageLabel {
    /// Colours of values.
    pub colors: Vec<LabelColor>,
    /// Properties of values, each with its `label-value`.
    pub properties: Vec<Map<String, Value>>,
    /// The path of the group of the labelled image, from the group of the label image: `../../` if
    /// it is not stated.
    pub source: Option<String>,
}

/// The colour of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LabelColor {
    /// The value: an element of an array of any type of integers.
    pub value: i128,
    /// Red, green, blue and opacity.
    pub rgba: Option<[u8; 4]>,
}

impl ImageLabel {
    pub(crate) fn of(label: &Object) -> Self {
        let get = |key: &str| label.get(key).unwrap_or(&Value::Null);
        let color = |color: &Value| {
            let value = &color["label-value"];
            let value = value
                .as_u64()
                .map(i128::from)
                .or_else(|| integer(value).map(i128::from))?;
            let rgba = list(&color["rgba"])
                .iter()
                .map(|part| u8::try_from(integer(part)?).ok());
            let rgba = rgba
                .collect::<Option<Vec<u8>>>()
                .and_then(|rgba| rgba.try_into().ok());
            Some(LabelColor { value, rgba })
        };
        Self {
            colors: list(get("colors")).iter().filter_map(color).collect(),
            properties: list(get("properties"))
                .iter()
                .filter_map(|item| item.as_object().cloned())
                .collect(),
            source: text(&get("source")["image"]),
        }
    }

    pub(crate) fn to_json(&self) -> Result<Value> {
        let mut label = json!({});
        if !self.colors.is_empty() {
            let color = |color: &LabelColor| {
                let value = Number::from_i128(color.value).ok_or_else(|| {
                    Error::Argument(format!("the label {} does not fit in 64 bits", color.value))
                })?;
                Ok(match color.rgba {
                    Some(rgba) => json!({"label-value": value, "rgba": rgba}),
                    None => json!({"label-value": value}),
                })
            };
            label["colors"] = self.colors.iter().map(color).collect::<Result<_>>()?;
        }
        if !self.properties.is_empty() {
            label["properties"] = json!(self.properties);
        }
        if let Some(source) = &self.source {
            label["source"] = json!({"image": source});
        }
        Ok(label)
    }
}
