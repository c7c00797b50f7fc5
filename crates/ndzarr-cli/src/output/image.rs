//! Describes multiscale images, as JSON and as text.

use ndzarr::{AnyArray, ErrorKind, Format, Group};
use ndzarr_metadata::data_type_json;
use ndzarr_ome::{Axis, Error, Multiscale};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::output::describe;

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Array(error) => error.into(),
            Error::Argument(what) => Self::usage(what),
            other => Self::new(other),
        }
    }
}

/// Tells if arrays and members of groups are opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    /// Only the attributes of the group are read.
    Little,
    /// Levels are opened, and in N5 the members of the group.
    Full,
}

/// The images of a group. For a group of Zarr without their metadata, nothing is opened.
pub(crate) fn find(group: &Group, effort: Effort) -> Result<Vec<Multiscale>, Error> {
    let attributes = group.attributes();
    let holder = attributes
        .get("ome")
        .and_then(Value::as_object)
        .unwrap_or(attributes);
    let has_metadata = ["multiscales", "bioformats2raw.layout"]
        .iter()
        .any(|key| holder.contains_key(*key));
    if !has_metadata && (group.format() != Format::N5 || effort == Effort::Little) {
        return Ok(Vec::new());
    }
    match Multiscale::find(group) {
        // A web server cannot list.
        Err(error) if error.kind() == Some(ErrorKind::Unsupported) && !has_metadata => {
            Ok(Vec::new())
        }
        found => found,
    }
}

/// An image, in the form that the reference describes.
pub(crate) fn value(image: &Multiscale, effort: Effort) -> Value {
    let levels = image.levels.iter().zip(arrays(image, effort)).map(|(level, array)| {
        let opened = array.as_ref().and_then(|array| array.as_ref().ok());
        let of_array = |get: fn(&AnyArray) -> Value| opened.map_or(Value::Null, get);
        json!({
            "path": level.path,
            "shape": of_array(|array| json!(array.shape())),
            "data_type": of_array(|array| data_type_json(array.data_type())),
            "scale": level.scale,
            "translation": level.translation,
            "error": array.as_ref().and_then(|array| array.as_ref().err()).map(ToString::to_string),
        })
    });
    json!({
        "path": image.path(),
        "convention": image.convention.to_string(),
        "name": image.name,
        "method": image.method,
        "axes": image.axes.iter().map(axis).collect::<Vec<_>>(),
        "levels": levels.collect::<Vec<_>>(),
        "warnings": image.warnings,
    })
}

/// The arrays of the levels; `None` for those that were not opened.
fn arrays(
    image: &Multiscale,
    effort: Effort,
) -> impl Iterator<Item = Option<Result<AnyArray, Error>>> {
    (0..image.levels.len()).map(move |level| (effort == Effort::Full).then(|| image.array(level)))
}

fn axis(axis: &Axis) -> Value {
    json!({"name": axis.name, "kind": axis.kind.name(), "unit": axis.unit})
}

/// An image as lines with labels.
pub(crate) fn lines(image: &Multiscale, effort: Effort) -> Vec<(String, String)> {
    let mut about = image.convention.to_string();
    if let Some(name) = &image.name {
        about += &format!(", {name:?}");
    }
    if let Some(method) = &image.method {
        about += &format!(", levels by {method}");
    }
    let axes = image.axes.iter().map(|axis| {
        let facts: Vec<&str> = [axis.kind.name(), axis.unit.as_deref()]
            .into_iter()
            .flatten()
            .collect();
        if facts.is_empty() {
            axis.name.clone()
        } else {
            format!("{} ({})", axis.name, facts.join(", "))
        }
    });
    let axes = axes.collect::<Vec<_>>().join(", ");
    let mut lines = vec![("image".to_owned(), about), ("axes".to_owned(), axes)];
    for (at, (level, array)) in image.levels.iter().zip(arrays(image, effort)).enumerate() {
        let mut text = match array {
            None => String::new(),
            Some(Ok(array)) => format!(
                "{}  {}  ",
                describe::shape(array.shape()),
                array.data_type()
            ),
            Some(Err(error)) => format!("cannot be opened: {error}  "),
        };
        text += &format!("scale {}", numbers(&level.scale));
        if level.translation.iter().any(|offset| *offset != 0.0) {
            text += &format!("  offset {}", numbers(&level.translation));
        }
        lines.push((format!("level {at}"), format!("{text}  ({})", level.path)));
    }
    lines.extend(
        image
            .warnings
            .iter()
            .map(|warning| ("warning".to_owned(), warning.clone())),
    );
    lines
}

fn numbers(list: &[f64]) -> String {
    list.iter()
        .map(f64::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}
