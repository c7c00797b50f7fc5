//! Describes, validates and makes multiscale images.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use ndzarr::ndarray::ArrayD;
use ndzarr::{
    AnyArray, Cast, DataType, Format, Group, MemoryStore, Number, RunOptions, for_each_type,
};
use ndzarr_ome::metadata::{Channel, ImageLabel, LabelColor, Window};
use ndzarr_ome::{
    Axis, AxisKind, Convention, Downsample, Finding, Metadata, Multiscale, NewMultiscale,
    Requirement,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::arguments::place;
use crate::failure::Failure;

/// An image to create, with the elements of its finest level in C order.
#[derive(Deserialize)]
struct New {
    axes: Vec<NewAxis>,
    data_type: String,
    scale: Vec<f64>,
    #[serde(default)]
    translation: Option<Vec<f64>>,
    factors: Vec<u64>,
    levels: usize,
    method: String,
    chunks: Vec<u64>,
    #[serde(default)]
    shards: Option<Vec<u64>>,
    #[serde(default)]
    is_label: bool,
    values: Vec<f64>,
}

#[derive(Deserialize)]
struct NewAxis {
    name: String,
    len: u64,
    #[serde(default)]
    unit: Option<String>,
}

/// Prints a line of JSON that lists all images of a group, with the elements of all levels.
pub(crate) fn describe(store: &Path, out: &mut dyn Write) -> Result<(), Failure> {
    let group = Group::open(place(store, ""))?;
    let images = Multiscale::find(&group)?
        .iter()
        .map(described)
        .collect::<Result<Vec<_>, _>>()?;
    writeln!(out, "{}", Value::Array(images))?;
    Ok(())
}

fn described(image: &Multiscale) -> Result<Value, Failure> {
    let convention = match &image.convention {
        Convention::Ome { version } => format!("ome {version}"),
        Convention::Cosem => "cosem".to_owned(),
        Convention::Bdv { setup, timepoint } => format!("bdv {setup} {timepoint}"),
        other => format!("{other:?}").to_lowercase(),
    };
    let axis = |axis: &Axis| {
        let kind = match &axis.kind {
            AxisKind::Space => "space",
            AxisKind::Time => "time",
            AxisKind::Channel => "channel",
            AxisKind::Other(_) => "other",
        };
        json!({"name": axis.name, "kind": kind, "unit": axis.unit})
    };
    let mut levels = Vec::new();
    for (at, level) in image.levels.iter().enumerate() {
        let array = image.array(at)?;
        levels.push(json!({
            "path": level.path,
            "scale": level.scale,
            "translation": level.translation,
            "shape": array.shape(),
            "data_type": array.data_type().to_string(),
            "values": values(&array)?,
        }));
    }
    let metadata = Metadata::of(image.group().attributes());
    Ok(json!({
        "convention": convention,
        "name": image.name,
        "path": image.path(),
        "axes": image.axes.iter().map(axis).collect::<Vec<_>>(),
        "levels": levels,
        "channels": metadata.channels.iter().map(|channel| json!({"label": channel.label, "color": channel.color})).collect::<Vec<_>>(),
        "warnings": image.warnings,
        "findings": image.validate().iter().map(Finding::to_string).collect::<Vec<_>>(),
    }))
}

fn values(array: &AnyArray) -> Result<Vec<Value>, Failure> {
    let elements = array.read(..)?;
    Ok(
        for_each_type!(&elements, |array: Number| array.iter().map(|element| element.to_f64().into()).collect(), other => {
            return Err(Failure::new(format_args!("elements of {other:?}")));
        }),
    )
}

/// Validates documents of attributes and hierarchies, each with a line of JSON: if it opens, and
/// what it must and should have.
pub(crate) fn validate(paths: &[std::path::PathBuf], out: &mut dyn Write) -> Result<(), Failure> {
    for path in paths {
        let answer = match validated(path) {
            Ok(answer) => answer,
            Err(failure) => {
                json!({"opens": false, "error": failure.to_string(), "must": [], "should": []})
            }
        };
        writeln!(out, "{answer}")?;
    }
    Ok(())
}

fn validated(path: &Path) -> Result<Value, Failure> {
    let group = if path.is_dir() {
        Group::open(place(path, ""))?
    } else {
        let text = fs::read(path).map_err(|error| Failure::of_file(path, &error))?;
        let attributes: Value = serde_json::from_slice(&text)?;
        Group::builder()
            .format(Format::Zarr3)
            .attributes(attributes)
            .create(MemoryStore::new())?
    };
    let findings = ndzarr_ome::validate(group.attributes());
    let of = |requirement| -> Vec<String> {
        findings
            .iter()
            .filter(|finding| finding.requirement == requirement)
            .map(Finding::to_string)
            .collect()
    };
    let images = Multiscale::find(&group);
    Ok(json!({
        "opens": images.is_ok(),
        "error": images.as_ref().err().map(ToString::to_string),
        "images": images.map_or(0, |images| images.len()),
        "must": of(Requirement::Must),
        "should": of(Requirement::Should),
    }))
}

/// Creates an image, which a line of the input describes, and makes its levels.
pub(crate) fn create(store: &Path, format: Format) -> Result<(), Failure> {
    let mut line = String::new();
    io::stdin().read_line(&mut line)?;
    let new: New = serde_json::from_str(&line)?;
    let shape: Vec<usize> = new.axes.iter().map(|axis| axis.len as usize).collect();
    let method = match &new.method[..] {
        "mean" => Downsample::Mean,
        "mode" => Downsample::Mode,
        "stride" => Downsample::Stride,
        other => return Err(Failure::new(format_args!("the method {other}"))),
    };
    let axes = new.axes.into_iter().map(|axis| {
        let named = Axis::new(axis.name);
        (
            if let Some(unit) = axis.unit {
                named.with_unit(unit)
            } else {
                named
            },
            axis.len,
        )
    });
    let data_type = DataType::from_name(&new.data_type)
        .ok_or_else(|| Failure::new(format_args!("the type {}", new.data_type)))?;
    let mut metadata = Metadata::default();
    if new.is_label {
        let colors = vec![LabelColor {
            value: 1,
            rgba: Some([255, 0, 0, 128]),
        }];
        metadata.image_label = Some(ImageLabel {
            colors,
            ..ImageLabel::default()
        });
    } else {
        let window = Some(Window {
            start: 0.0,
            end: 100.0,
            min: 0.0,
            max: 255.0,
        });
        let label = Some("one".to_owned());
        metadata.channels = vec![Channel {
            label,
            color: Some([0, 255, 127]),
            window,
            active: Some(true),
        }];
    }
    let mut description = NewMultiscale::new(data_type, axes)
        .scale(new.scale)
        .factors(new.factors)
        .levels(new.levels)
        .method(method)
        .name("made")
        .metadata(metadata);
    if let Some(translation) = new.translation {
        description = description.translation(translation);
    }
    let image = Multiscale::create(place(store, ""), format, &description, |layout| {
        let layout = layout.chunks(&new.chunks);
        if let Some(shards) = &new.shards {
            layout.shards(shards)
        } else {
            layout
        }
    })?;
    let finest = image.array(0)?;
    let elements = ArrayD::from_shape_vec(shape, new.values)?;
    for_each_type!(finest.data_type(), T: Number => {
        let number = |float: &f64| <T as Number>::from_f64(*float, Cast::Checked);
        let numbers: Option<Vec<T>> = elements.iter().map(number).collect();
        let numbers = numbers.ok_or_else(|| Failure::new("a value does not fit"))?;
        finest.write(.., &ArrayD::from_shape_vec(elements.raw_dim(), numbers)?.into())?;
    }, other => return Err(Failure::new(format_args!("elements of {other}"))));
    image.make_levels(method, &RunOptions::default())?;
    Ok(())
}
