//! Checks `labels` and `image-label`.

use serde_json::Value;

use super::finding::{Findings, Needed};
use crate::json::{integer, shown};

pub(super) fn labels(findings: &mut Findings, list: &Value, _: u32) {
    if !list
        .as_array()
        .is_some_and(|list| list.iter().all(Value::is_string))
    {
        findings.must("", format!("be a list of texts, not {}", shown(list)));
    }
}

pub(super) fn image_label(findings: &mut Findings, label: &Value, _: u32) {
    if !label.is_object() {
        return findings.must("", format!("be an object, not {}", shown(label)));
    }
    findings.should_have(label, &["colors"]);
    let is_value = |value: &Value| value.is_u64() || integer(value).is_some();
    findings.each(label, "colors", Needed::No, 1, |findings, color| {
        findings.member(color, "label-value", Needed::Yes, "an integer", is_value);
        findings.member(
            color,
            "rgba",
            Needed::No,
            "a list of four integers from 0 to 255",
            |rgba| {
                let parts = rgba.as_array().filter(|parts| parts.len() == 4);
                parts.is_some_and(|parts| {
                    parts
                        .iter()
                        .all(|part| part.as_u64().is_some_and(|part| part <= 255))
                })
            },
        );
    });
    let colors = label["colors"].as_array().into_iter().flatten();
    findings.unique(
        "colors",
        colors.filter_map(|color| color.get("label-value")),
    );
    findings.each(
        label,
        "properties",
        Needed::No,
        1,
        |findings, properties| {
            findings.member(
                properties,
                "label-value",
                Needed::Yes,
                "an integer",
                is_value,
            );
        },
    );
    let properties = label["properties"].as_array().into_iter().flatten();
    findings.unique("properties", properties);
    findings.member(label, "source", Needed::No, "an object", Value::is_object);
    if let Some(source) = label.get("source") {
        findings.within("source", |findings| {
            findings.member(source, "image", Needed::No, "a text", Value::is_string);
        });
    }
}
