//! Checks coordinate transformations of 0.4 to 0.6.

use serde_json::Value;

use super::finding::{Findings, Needed};
use crate::json::shown;

/// Checks those of a dataset of 0.4 and 0.5, or of all datasets: a scale, then perhaps a
/// translation.
pub(super) fn of_dataset(
    findings: &mut Findings,
    holder: &Value,
    needed: Needed,
    n_axes: Option<usize>,
) {
    let key = "coordinateTransformations";
    findings.each(
        holder,
        key,
        needed,
        1,
        |findings, transformation| match transformation["type"].as_str() {
            Some(kind @ ("scale" | "translation")) => {
                // The numbers may be in a file of their own.
                if transformation.get("path").is_none() {
                    numbers(findings, transformation, kind);
                    let list = transformation[kind].as_array().map(Vec::len);
                    if let (Some(n_axes), Some(len)) = (n_axes, list)
                        && len != n_axes
                    {
                        findings.must(kind, format!("have {n_axes} numbers, one for each axis"));
                    }
                }
            }
            _ => {
                let what = format!(
                    "be \"scale\" or \"translation\", not {}",
                    shown(&transformation["type"])
                );
                findings.must("type", what);
            }
        },
    );
    let kinds = holder[key]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|t| t["type"].as_str());
    match &kinds.collect::<Vec<_>>()[..] {
        [] | ["scale"] | ["scale", "translation"] => {}
        _ => findings.must(key, "be one scale, then at most one translation"),
    }
}

/// Checks those of a dataset of 0.6: one, to a coordinate system.
pub(super) fn to_system(findings: &mut Findings, dataset: &Value) {
    let key = "coordinateTransformations";
    let n = findings.each(dataset, key, Needed::Yes, 1, |findings, transformation| {
        ends(findings, transformation, "path", "name");
        any(findings, transformation);
        match transformation["type"].as_str() {
            Some("identity" | "scale") => {}
            Some("sequence") => {
                let parts = transformation["transformations"]
                    .as_array()
                    .into_iter()
                    .flatten();
                let kinds = parts
                    .filter_map(|part| part["type"].as_str())
                    .collect::<Vec<_>>();
                if kinds != ["scale", "translation"] {
                    findings.must("transformations", "be a scale, then a translation");
                }
            }
            _ => {
                let what = format!(
                    "be \"identity\", \"scale\" or \"sequence\", not {}",
                    shown(&transformation["type"])
                );
                findings.must("type", what);
            }
        }
    });
    if n > 1 {
        findings.must(key, "have one item");
    }
}

/// Checks the input and the output of a transformation of 0.6: objects that have the given keys.
pub(super) fn ends(
    findings: &mut Findings,
    transformation: &Value,
    input_key: &str,
    output_key: &str,
) {
    for (end, needed) in [("input", input_key), ("output", output_key)] {
        match transformation.get(end) {
            None => findings.must(end, "be there"),
            Some(value) if !value.is_object() => {
                findings.must(end, format!("be an object, not {}", shown(value)));
            }
            Some(value) => findings.within(end, |findings| {
                for key in ["name", "path"] {
                    let needed = if key == needed {
                        Needed::Yes
                    } else {
                        Needed::No
                    };
                    findings.member(value, key, needed, "a text", Value::is_string);
                }
            }),
        }
    }
}

/// Checks any transformation of 0.6.
pub(super) fn any(findings: &mut Findings, transformation: &Value) {
    any_within(findings, transformation, 0);
}

fn any_within(findings: &mut Findings, transformation: &Value, depth: usize) {
    if depth > 16 {
        return findings.must("", "not be nested this deeply");
    }
    findings.member(
        transformation,
        "name",
        Needed::No,
        "a text",
        Value::is_string,
    );
    let is_text = Value::is_string;
    match transformation["type"].as_str() {
        Some("identity") => {}
        Some("scale") => {
            numbers(findings, transformation, "scale");
            let list = transformation["scale"].as_array().into_iter().flatten();
            if list.filter_map(Value::as_f64).any(|number| number <= 0.0) {
                findings.must("scale", "be positive");
            }
        }
        Some("translation") => numbers(findings, transformation, "translation"),
        Some("mapAxis") => indices(findings, transformation, "mapAxis", Needed::Yes, 2..=5),
        Some("projectAxis") => {
            let keys = ["droppedInputs", "createdOutputs"];
            for key in keys {
                indices(findings, transformation, key, Needed::No, 1..=3);
            }
            if keys.iter().all(|key| transformation.get(*key).is_none()) {
                findings.must("", "have droppedInputs or createdOutputs");
            }
        }
        Some(kind @ ("affine" | "rotation")) => match transformation.get(kind) {
            Some(matrix) if transformation.get("path").is_none() => {
                self::matrix(findings, kind, matrix)
            }
            None if transformation.get("path").is_some_and(is_text) => {}
            _ => findings.must("", format!("have either {kind} or path")),
        },
        Some("bijection") => {
            for key in ["forward", "inverse"] {
                match transformation.get(key) {
                    Some(part) => {
                        findings.within(key, |findings| any_within(findings, part, depth + 1))
                    }
                    None => findings.must(key, "be there"),
                }
            }
        }
        Some("sequence") => {
            findings.each(
                transformation,
                "transformations",
                Needed::Yes,
                0,
                |findings, part| {
                    any_within(findings, part, depth + 1);
                },
            );
        }
        Some("byDimension") => {
            findings.each(
                transformation,
                "transformations",
                Needed::Yes,
                0,
                |findings, part| {
                    for key in ["inputAxes", "outputAxes"] {
                        findings.member(part, key, Needed::Yes, "a list of numbers", |list| {
                            list.as_array()
                                .is_some_and(|list| list.iter().all(Value::is_number))
                        });
                    }
                    match part.get("transformation") {
                        Some(part) => {
                            findings.within("transformation", |f| any_within(f, part, depth + 1))
                        }
                        None => findings.must("transformation", "be there"),
                    }
                },
            );
        }
        Some("displacements" | "coordinates") => {
            findings.member(transformation, "path", Needed::Yes, "a text", is_text);
            let is_known =
                |value: &Value| matches!(value.as_str(), Some("nearest" | "linear" | "cubic"));
            let known = "\"nearest\", \"linear\" or \"cubic\"";
            findings.member(transformation, "interpolation", Needed::No, known, is_known);
        }
        _ => findings.must(
            "type",
            format!("be a known text, not {}", shown(&transformation["type"])),
        ),
    }
}

fn numbers(findings: &mut Findings, object: &Value, key: &str) {
    findings.member(object, key, Needed::Yes, "a list of numbers", |list| {
        list.as_array()
            .is_some_and(|list| list.iter().all(Value::is_number))
    });
}

/// Checks a list of indices of axes.
fn indices(
    findings: &mut Findings,
    object: &Value,
    key: &str,
    needed: Needed,
    lengths: std::ops::RangeInclusive<usize>,
) {
    let kind = format!(
        "a list of {} to {} different integers from 0 to 4",
        lengths.start(),
        lengths.end()
    );
    findings.member(object, key, needed, &kind, |list| {
        let Some(list) = list.as_array().filter(|list| lengths.contains(&list.len())) else {
            return false;
        };
        let is_index = |value: &Value| value.as_u64().is_some_and(|index| index <= 4);
        list.iter().all(is_index) && (1..list.len()).all(|at| !list[..at].contains(&list[at]))
    });
}

fn matrix(findings: &mut Findings, kind: &str, matrix: &Value) {
    let is_row = |row: &Value| {
        row.as_array()
            .is_some_and(|row| row.iter().all(Value::is_number))
    };
    let rows = matrix.as_array().filter(|rows| rows.iter().all(is_row));
    let Some(rows) = rows else {
        return findings.must(
            kind,
            format!("be a list of lists of numbers, not {}", shown(matrix)),
        );
    };
    let is_square = |n: usize| {
        rows.iter()
            .all(|row| row.as_array().is_some_and(|row| row.len() == n))
    };
    if kind == "rotation" && !((2..=5).contains(&rows.len()) && is_square(rows.len())) {
        findings.must(kind, "have as many columns as rows, 2 to 5");
    }
}
