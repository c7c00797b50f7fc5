//! `ImageLabel`: what the values of a label image mean.

use serde_json::{Map, Value, json};

use crate::json::{Object, integer, list, text};

/// What the values of a label image mean, and how they are shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImageLabel {
    /// Colours of values.
    pub colors: Vec<LabelColor>,
    /// Properties of values, each with its `label-value`.
    pub properties: Vec<Map<String, Value>>,
    /// The path of the group of the image that was labelled, from the group of the label image:
    /// `../../` unless stated.
    pub source: Option<String>,
}

/// The colour of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LabelColor {
    /// The value.
    pub value: i64,
    /// Red, green, blue and opacity.
    pub rgba: Option<[u8; 4]>,
}

impl ImageLabel {
    pub(crate) fn of(label: &Object) -> Self {
        let get = |key: &str| label.get(key).unwrap_or(&Value::Null);
        let color = |color: &Value| {
            let value = integer(&color["label-value"])?;
            let rgba = list(&color["rgba"]).iter().map(|part| u8::try_from(integer(part)?).ok());
            let rgba = rgba.collect::<Option<Vec<u8>>>().and_then(|rgba| rgba.try_into().ok());
            Some(LabelColor { value, rgba })
        };
        Self {
            colors: list(get("colors")).iter().filter_map(color).collect(),
            properties: list(get("properties")).iter().filter_map(|of| of.as_object().cloned()).collect(),
            source: text(&get("source")["image"]),
        }
    }

    pub(crate) fn to_json(&self) -> Value {
        let mut label = json!({});
        if !self.colors.is_empty() {
            let color = |color: &LabelColor| match color.rgba {
                Some(rgba) => json!({"label-value": color.value, "rgba": rgba}),
                None => json!({"label-value": color.value}),
            };
            label["colors"] = self.colors.iter().map(color).collect();
        }
        if !self.properties.is_empty() {
            label["properties"] = json!(self.properties);
        }
        if let Some(source) = &self.source {
            label["source"] = json!({"image": source});
        }
        label
    }
}
