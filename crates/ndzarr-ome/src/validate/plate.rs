//! Checks `plate`, `well`, and what bioformats2raw writes.

use serde_json::Value;

use super::finding::{Findings, Needed};
use crate::json::shown;

fn is_alphanumeric(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

fn is_count(value: &Value) -> bool {
    value.as_u64().is_some()
}

fn is_positive(value: &Value) -> bool {
    value.as_u64().is_some_and(|count| count > 0)
}

pub(super) fn plate(findings: &mut Findings, plate: &Value, _: u32) {
    findings.member(plate, "name", Needed::No, "a text", Value::is_string);
    findings.should_have(plate, &["name"]);
    findings.member(
        plate,
        "field_count",
        Needed::No,
        "a positive integer",
        is_positive,
    );
    findings.each(
        plate,
        "acquisitions",
        Needed::No,
        0,
        |findings, acquisition| {
            findings.member(
                acquisition,
                "id",
                Needed::Yes,
                "an integer, 0 or more",
                is_count,
            );
            findings.member(
                acquisition,
                "maximumfieldcount",
                Needed::No,
                "a positive integer",
                is_positive,
            );
            for key in ["name", "description"] {
                findings.member(acquisition, key, Needed::No, "a text", Value::is_string);
            }
            for key in ["starttime", "endtime"] {
                findings.member(
                    acquisition,
                    key,
                    Needed::No,
                    "an integer, 0 or more",
                    is_count,
                );
            }
            findings.should_have(acquisition, &["name", "maximumfieldcount"]);
        },
    );
    let items = |key: &str| plate[key].as_array().into_iter().flatten();
    findings.unique(
        "acquisitions",
        items("acquisitions").filter_map(|acquisition| acquisition.get("id")),
    );
    for key in ["columns", "rows"] {
        findings.each(plate, key, Needed::Yes, 1, |findings, named| {
            findings.member(
                named,
                "name",
                Needed::Yes,
                "a text of letters and digits",
                |name| name.as_str().is_some_and(is_alphanumeric),
            );
        });
        findings.unique(key, items(key).filter_map(|named| named.get("name")));
    }
    findings.each(plate, "wells", Needed::Yes, 1, |findings, well| {
        let kind = "a text of letters and digits, a slash, letters and digits";
        findings.member(well, "path", Needed::Yes, kind, |path| {
            let parts = path.as_str().and_then(|path| path.split_once('/'));
            parts.is_some_and(|(row, column)| is_alphanumeric(row) && is_alphanumeric(column))
        });
        for (key, list) in [("rowIndex", "rows"), ("columnIndex", "columns")] {
            let n = plate[list].as_array().map_or(0, Vec::len) as u64;
            findings.member(
                well,
                key,
                Needed::Yes,
                &format!("the index of one of the {n} {list}"),
                |index| index.as_u64().is_some_and(|index| index < n),
            );
        }
    });
    findings.unique("wells", items("wells").filter_map(|well| well.get("path")));
}

pub(super) fn well(findings: &mut Findings, well: &Value, minor: u32) {
    findings.each(well, "images", Needed::Yes, 1, |findings, image| {
        findings.member(image, "acquisition", Needed::No, "an integer", |id| {
            id.is_i64() || id.is_u64()
        });
        let kind = if minor >= 6 {
            "a name of letters, digits, _, . and -"
        } else {
            "a name of letters and digits"
        };
        findings.member(image, "path", Needed::Yes, kind, |path| {
            let Some(path) = path.as_str() else {
                return false;
            };
            match minor {
                0..=5 => is_alphanumeric(path),
                _ => {
                    let is_allowed =
                        |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
                    let is_only_dots = path.bytes().all(|byte| byte == b'.');
                    path.bytes().all(is_allowed) && !is_only_dots && !path.starts_with("__")
                }
            }
        });
    });
    let images = well["images"].as_array().into_iter().flatten();
    findings.unique("images", images.filter_map(|image| image.get("path")));
}

pub(super) fn layout(findings: &mut Findings, layout: &Value, _: u32) {
    if layout.as_f64() != Some(3.0) {
        findings.must("", format!("be 3, not {}", shown(layout)));
    }
}

pub(super) fn series(findings: &mut Findings, list: &Value, _: u32) {
    if !list
        .as_array()
        .is_some_and(|list| list.iter().all(Value::is_string))
    {
        findings.must("", format!("be a list of texts, not {}", shown(list)));
    }
}
