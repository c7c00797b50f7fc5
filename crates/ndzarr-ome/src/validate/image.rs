//! Checks `multiscales` and `omero`.

use std::collections::HashMap;

use serde_json::Value;

use super::finding::{Findings, Needed};
use super::transformations;
use crate::json::shown;

pub(super) fn multiscales(findings: &mut Findings, list: &Value, minor: u32) {
    let Some(entries) = list.as_array() else {
        return findings.must("", format!("be a list, not {}", shown(list)));
    };
    if entries.is_empty() {
        findings.must("", "have at least 1 item");
    }
    findings.unique("", entries.iter());
    for (at, entry) in entries.iter().enumerate() {
        findings.within(&format!("[{at}]"), |findings| {
            self::entry(findings, entry, minor)
        });
    }
}

fn entry(findings: &mut Findings, entry: &Value, minor: u32) {
    if !entry.is_object() {
        return findings.must("", format!("be an object, not {}", shown(entry)));
    }
    findings.member(entry, "name", Needed::No, "a text", Value::is_string);
    findings.should_have(entry, &["name", "type", "metadata"]);
    if minor <= 4 {
        findings.should_have(entry, &["version"]);
    }
    let n_axes = match minor {
        0..=2 => None,
        3..=5 => axes(findings, entry, minor),
        _ => {
            findings.each(
                entry,
                "coordinateSystems",
                Needed::Yes,
                1,
                coordinate_system,
            );
            let systems = entry["coordinateSystems"].as_array();
            findings.unique(
                "coordinateSystems",
                systems
                    .into_iter()
                    .flatten()
                    .filter_map(|system| system.get("name")),
            );
            None
        }
    };
    let n_axes_of = n_axes_of_systems(entry);
    findings.each(entry, "datasets", Needed::Yes, 1, |findings, dataset| {
        findings.member(dataset, "path", Needed::Yes, "a text", Value::is_string);
        match minor {
            0..=3 => {}
            4 | 5 => transformations::of_dataset(findings, dataset, Needed::Yes, n_axes),
            _ => {
                transformations::to_system(findings, dataset);
                lengths(findings, &n_axes_of, dataset);
            }
        }
    });
    let paths = entry["datasets"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|dataset| dataset.get("path"));
    findings.unique("datasets", paths);
    match minor {
        0..=3 => {}
        4 | 5 => transformations::of_dataset(findings, entry, Needed::No, n_axes),
        _ => {
            findings.each(
                entry,
                "coordinateTransformations",
                Needed::No,
                1,
                |findings, transformation| {
                    transformations::any(findings, transformation);
                    transformations::ends(findings, transformation, "name", "name");
                },
            );
        }
    }
}

/// The number of axes of each coordinate system, by its name; of several with one name, the first
/// counts.
fn n_axes_of_systems(entry: &Value) -> HashMap<&str, Option<usize>> {
    let systems = entry["coordinateSystems"]
        .as_array()
        .into_iter()
        .flatten()
        .rev();
    systems
        .filter_map(|system| {
            Some((
                system["name"].as_str()?,
                system["axes"].as_array().map(Vec::len),
            ))
        })
        .collect()
}

/// Checks that a scale or translation of 0.6 has a number for each axis of the coordinate system
/// that it leads to.
fn lengths(findings: &mut Findings, n_axes_of: &HashMap<&str, Option<usize>>, dataset: &Value) {
    let transformation = &dataset["coordinateTransformations"][0];
    let name = transformation["output"]["name"].as_str();
    let Some(&Some(n_axes)) = name.and_then(|name| n_axes_of.get(name)) else {
        return;
    };
    let parts = transformation["transformations"]
        .as_array()
        .map_or(std::slice::from_ref(transformation), Vec::as_slice);
    for part in parts {
        for list in [&part["scale"], &part["translation"]]
            .into_iter()
            .filter_map(Value::as_array)
        {
            if list.len() != n_axes {
                let what =
                    format!("have {n_axes} numbers in each transformation, one for each axis");
                findings.must("coordinateTransformations", what);
            }
        }
    }
}

/// Checks the axes of 0.3 to 0.5. Returns their number.
fn axes(findings: &mut Findings, entry: &Value, minor: u32) -> Option<usize> {
    let n_axes = findings.each(
        entry,
        "axes",
        Needed::Yes,
        2,
        |findings, axis| match minor {
            3 => {
                if !axis.is_string() {
                    findings.must("", format!("be a text, not {}", shown(axis)));
                }
            }
            _ => {
                findings.member(axis, "name", Needed::Yes, "a text", Value::is_string);
                findings.member(axis, "type", Needed::No, "a text", Value::is_string);
                findings.member(axis, "unit", Needed::No, "a text", Value::is_string);
            }
        },
    );
    let list = entry["axes"].as_array()?;
    if n_axes > 5 {
        findings.must("axes", "have at most 5 items");
    }
    if minor == 3 {
        findings.unique("axes", list.iter());
        return Some(n_axes);
    }
    findings.unique("axes", list.iter().filter_map(|axis| axis.get("name")));
    let rank = |axis: &Value| match axis["type"].as_str() {
        Some("time") => 0,
        Some("space") => 2,
        _ => 1,
    };
    let count = |wanted: usize| list.iter().filter(|axis| rank(axis) == wanted).count();
    if !(2..=3).contains(&count(2)) {
        findings.must("axes", "have 2 or 3 items of the type \"space\"");
    }
    if count(0) > 1 || count(1) > 1 {
        findings.must(
            "axes",
            "have at most one item of the type \"time\" and one of \"channel\" or another type",
        );
    }
    if !list.is_sorted_by_key(rank) {
        findings.must(
            "axes",
            "be in the order time, channel or another type, space",
        );
    }
    let space = list
        .iter()
        .filter(|axis| rank(axis) == 2)
        .filter_map(|axis| axis["name"].as_str());
    let space: Vec<&str> = space.collect();
    let is_zyx = space == ["z", "y", "x"];
    if !is_zyx && space.len() == 3 && ["z", "y", "x"].iter().all(|name| space.contains(name)) {
        findings.should(
            "axes",
            format!("have z, y, x in this order, not {}", space.join(", ")),
        );
    }
    Some(n_axes)
}

/// Checks a coordinate system of 0.6.
pub(super) fn coordinate_system(findings: &mut Findings, system: &Value) {
    findings.member(
        system,
        "name",
        Needed::Yes,
        "a text of at least one character",
        is_name,
    );
    let n_axes = findings.each(system, "axes", Needed::Yes, 1, |findings, axis| {
        findings.member(
            axis,
            "name",
            Needed::Yes,
            "a text of at least one character",
            is_name,
        );
        for key in ["type", "unit", "longName"] {
            findings.member(axis, key, Needed::No, "a text", Value::is_string);
        }
        findings.member(
            axis,
            "discrete",
            Needed::No,
            "true or false",
            Value::is_boolean,
        );
    });
    let Some(list) = system["axes"].as_array() else {
        return;
    };
    if n_axes > 5 {
        findings.must("axes", "have at most 5 items");
    }
    findings.unique("axes", list.iter().filter_map(|axis| axis.get("name")));
    let count = |kind: &str| {
        list.iter()
            .filter(|axis| axis["type"].as_str() == Some(kind))
            .count()
    };
    if (2..=3).contains(&count("space")) == (count("array") >= 2) {
        findings.must(
            "axes",
            "have 2 or 3 items of the type \"space\", or at least 2 of \"array\"",
        );
    }
}

fn is_name(value: &Value) -> bool {
    value.as_str().is_some_and(|name| !name.is_empty())
}

pub(super) fn omero(findings: &mut Findings, omero: &Value, minor: u32) {
    let needed = if minor >= 4 { Needed::Yes } else { Needed::No };
    findings.each(omero, "channels", Needed::Yes, 0, |findings, channel| {
        findings.member(channel, "color", needed, "a text", Value::is_string);
        findings.member(channel, "label", Needed::No, "a text", Value::is_string);
        findings.member(channel, "family", Needed::No, "a text", Value::is_string);
        findings.member(
            channel,
            "active",
            Needed::No,
            "true or false",
            Value::is_boolean,
        );
        findings.member(channel, "window", needed, "an object", Value::is_object);
        let Some(window) = channel.get("window").filter(|window| window.is_object()) else {
            return;
        };
        findings.within("window", |findings| {
            for key in ["start", "end", "min", "max"] {
                findings.member(window, key, Needed::Yes, "a number", Value::is_number);
            }
        });
    });
}
