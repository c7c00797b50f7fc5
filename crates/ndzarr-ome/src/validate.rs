//! `validate`: compares metadata of OME-Zarr with the specification.

mod arrays;
mod finding;
mod image;
mod label;
mod plate;
mod scene;
mod transformations;

use serde_json::Value;

use crate::find::entry::minor_version;
use crate::json::{self, Object, shown};

pub(crate) use arrays::{Expected, check as check_arrays};
pub(crate) use finding::Findings;
pub use finding::{Finding, Requirement};

/// Compares the attributes of a group with the specification of OME-Zarr, in the version that they
/// state, 0.4 to 0.6; without a known version, in the one whose form they have.
///
/// Opening is more lenient: it reads everything that can be understood. Arrays are not checked
/// here: `validate` of [`Multiscale`](crate::Multiscale) checks them, too.
///
/// ```
/// use ndzarr_ome::{Requirement, validate};
/// use serde_json::json;
///
/// let attributes = json!({"ome": {"version": "0.5", "multiscales": [{
///     "name": "cells", "type": "mean", "metadata": {},
///     "axes": [{"name": "y", "type": "space"}, {"name": "x", "type": "space"}],
///     "datasets": [{"path": "0", "coordinateTransformations": [{"type": "scale", "scale": [1]}]}],
/// }]}});
/// let findings = validate(attributes.as_object().expect("it is an object"));
/// assert_eq!(findings[0].requirement, Requirement::Must);
/// assert_eq!(
///     findings[0].to_string(),
///     "ome.multiscales[0].datasets[0].coordinateTransformations[0].scale must have 2 numbers, one for each axis",
/// );
/// # assert_eq!(findings.len(), 1);
/// ```
#[must_use]
pub fn validate(attributes: &Object) -> Vec<Finding> {
    let mut findings = Findings::default();
    match attributes.get("ome") {
        None => check(&mut findings, attributes, false),
        Some(Value::Object(holder)) => findings.within("ome", |findings| {
            match holder.get("version") {
                Some(Value::String(_)) => {}
                Some(other) => findings.must("version", format!("be a text, not {}", shown(other))),
                None => findings.must("version", "be there"),
            }
            check(findings, holder, true);
        }),
        Some(other) => findings.must("ome", format!("be an object, not {}", shown(other))),
    }
    findings.list
}

/// A check of a member, for the minor version of OME-Zarr.
type Check = fn(&mut Findings, &Value, u32);

/// The checks of the kinds of groups, by the member that only such a group has.
const KINDS: &[(&str, Check)] = &[
    ("multiscales", image::multiscales),
    ("omero", image::omero),
    ("labels", label::labels),
    ("image-label", label::image_label),
    ("plate", plate::plate),
    ("well", plate::well),
    ("bioformats2raw.layout", plate::layout),
    ("series", plate::series),
    ("scene", scene::scene),
];

fn check(findings: &mut Findings, holder: &Object, in_namespace: bool) {
    let minor = minor(holder, in_namespace);
    let mut n_kinds = 0;
    for (key, check) in KINDS {
        if let Some(value) = holder.get(*key) {
            n_kinds += 1;
            findings.within(key, |findings| check(findings, value, minor));
        }
    }
    if n_kinds == 0 {
        let known: Vec<_> = KINDS.iter().map(|(key, _)| *key).collect();
        findings.must("", format!("have one of {}", known.join(", ")));
    }
}

/// The minor version to check: 4 for 0.4.
fn minor(holder: &Object, in_namespace: bool) -> u32 {
    let first = holder
        .get("multiscales")
        .map_or(&Value::Null, |list| &list[0]);
    let stated = [
        holder.get("version"),
        first.get("version"),
        holder.get("plate").and_then(|plate| plate.get("version")),
        holder.get("well").and_then(|well| well.get("version")),
    ];
    let stated = stated
        .into_iter()
        .flatten()
        .find_map(|version| minor_version(&json::version(version)?));
    let stated = stated.filter(|minor| *minor <= 6);
    stated.unwrap_or_else(|| match &first["axes"] {
        _ if first["coordinateSystems"].is_array() => 6,
        _ if in_namespace => 5,
        axes if axes[0].is_string() => 3,
        Value::Null if first.is_object() => 2,
        _ => 4,
    })
}
