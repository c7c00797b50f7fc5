//! Reads the attribute `multiscales`: of all versions of OME-Zarr, and of COSEM's groups.

use serde_json::Value;

use crate::axis::Axis;
use crate::convention::Convention;
use crate::find::image::Image;
use crate::find::transformation::Placement;
use crate::json::{self, Object, numbers, path_below, shown, text};
use crate::levels::level::Level;

/// More axes than any array has that ndzarr opens.
const MAX_AXES: usize = 64;

/// The images that the attributes of a group describe: one for each entry (OME-17).
pub(crate) fn images(attributes: &Object) -> Result<Vec<Image>, String> {
    let holder = json::namespace(attributes);
    let entries = holder.get("multiscales").map_or(&[][..], json::list);
    let mut images = Vec::with_capacity(entries.len());
    for (at, entry) in entries.iter().enumerate() {
        let image = image(entry, attributes, holder);
        images.push(image.map_err(|what| format!("{what}, in multiscales[{at}]"))?);
    }
    Ok(images)
}

fn image(entry: &Value, attributes: &Object, holder: &Object) -> Result<Image, String> {
    let datasets = match entry["datasets"].as_array() {
        Some(datasets) if !datasets.is_empty() => datasets,
        _ => return Err("has no list of datasets".to_owned()),
    };
    if datasets
        .iter()
        .all(|dataset| dataset["transform"].is_object())
    {
        return of_cosem(entry, datasets);
    }
    let mut warnings = Vec::new();
    let mut axes = stated_axes(entry, datasets, &mut warnings)?;
    let in_namespace = attributes.contains_key("ome");
    let stated = holder
        .get("version")
        .filter(|_| in_namespace)
        .or_else(|| entry.get("version"));
    let version = stated.and_then(json::version).unwrap_or_else(|| {
        let version = match entry["axes"].as_array().and_then(|axes| axes.first()) {
            _ if entry["coordinateSystems"].is_array() => "0.6",
            _ if in_namespace => "0.5",
            Some(Value::Object(_)) => "0.4",
            Some(_) => "0.3",
            None => "0.1",
        };
        warnings.push(format!("no version is stated: read as {version}"));
        version.to_owned()
    });
    let axes_are_stated = !axes.is_empty();
    if !axes_are_stated {
        axes = ["t", "c", "z", "y", "x"].map(Axis::new).to_vec();
        warnings.push("no axes are stated: read as t, c, z, y, x".to_owned());
    }
    // They are applied once, not for each level: a document may have many datasets and many of
    // them.
    let mut of_all_levels = Placement::identity(axes.len());
    // In 0.6 the transformations of the entry lead to other coordinate systems (OME-04).
    if !entry["coordinateSystems"].is_array() {
        of_all_levels.apply(&entry["coordinateTransformations"])?;
    }
    warnings.append(&mut of_all_levels.warnings);
    let mut levels = Vec::with_capacity(datasets.len());
    for dataset in datasets {
        let path = path_of(dataset)?;
        let at_level = |what: String| format!("{what}, at the dataset {path:?}");
        let mut placement = Placement::identity(axes.len());
        placement
            .apply(&dataset["coordinateTransformations"])
            .map_err(at_level)?;
        placement.scale_by(&of_all_levels.scale);
        placement.translate_by(&of_all_levels.translation);
        let placement = placement.without_zeros().map_err(at_level)?;
        for what in placement.warnings {
            warnings.push(format!("{what}, at the dataset {path:?}"));
        }
        levels.push(Level::new(path, placement.scale, placement.translation));
    }
    let has_scales = |dataset: &Value| {
        dataset["coordinateTransformations"]
            .as_array()
            .is_some_and(|t| !t.is_empty())
    };
    let mut image = Image::new(Convention::Ome { version }, axes, levels);
    image.axes_are_stated = axes_are_stated;
    image.needs_shapes = !datasets.iter().any(has_scales);
    image.name = text(&entry["name"]);
    image.method = text(&entry["type"]);
    image.warn_all(warnings);
    Ok(image)
}

/// The axes that an entry states; none before 0.3.
fn stated_axes(
    entry: &Value,
    datasets: &[Value],
    warnings: &mut Vec<String>,
) -> Result<Vec<Axis>, String> {
    let list = match entry["coordinateSystems"].as_array() {
        Some(systems) => {
            let name = datasets.iter().find_map(output_of);
            let named = systems
                .iter()
                .find(|system| name.is_some() && system["name"].as_str() == name);
            if named.is_none() && !systems.is_empty() {
                warnings.push(
                    "the datasets do not lead to a coordinate system that is listed".to_owned(),
                );
            }
            &named
                .or(systems.first())
                .ok_or("has no coordinate system")?["axes"]
        }
        None => &entry["axes"],
    };
    let list = match list {
        Value::Null => return Ok(Vec::new()),
        Value::Array(list) if list.is_empty() => return Err("has no axes".to_owned()),
        Value::Array(list) if list.len() <= MAX_AXES => list,
        Value::Array(list) => return Err(format!("has {} axes", list.len())),
        other => return Err(format!("has the axes {}", shown(other))),
    };
    let axis = |axis: &Value| {
        let name = text(axis)
            .or_else(|| text(&axis["name"]))
            .ok_or("has an axis without a name")?;
        Ok(Axis::stated(
            name,
            axis["type"].as_str(),
            text(&axis["unit"]),
        ))
    };
    list.iter().map(axis).collect()
}

/// The name of the coordinate system that a dataset's transformation leads to.
fn output_of(dataset: &Value) -> Option<&str> {
    let output = &dataset["coordinateTransformations"].as_array()?.last()?["output"];
    output["name"].as_str().or_else(|| output.as_str())
}

fn path_of(dataset: &Value) -> Result<String, String> {
    let path = dataset["path"]
        .as_str()
        .ok_or_else(|| format!("has a dataset with the path {}", shown(&dataset["path"])))?;
    path_below(path)
}

/// The image of an entry of COSEM: each dataset has a `transform` instead of a list of
/// transformations.
fn of_cosem(entry: &Value, datasets: &[Value]) -> Result<Image, String> {
    let mut levels = Vec::with_capacity(datasets.len());
    let mut axes = None;
    for dataset in datasets {
        let path = path_of(dataset)?;
        let transform = CosemTransform::read(&dataset["transform"])
            .map_err(|what| format!("{what}, at the dataset {path:?}"))?;
        axes.get_or_insert(transform.axes);
        levels.push(Level::new(
            path,
            transform.placement.scale,
            transform.placement.translation,
        ));
    }
    let axes = axes.unwrap_or_default();
    if levels.iter().any(|level| level.scale.len() != axes.len()) {
        return Err("has transforms of several numbers of axes".to_owned());
    }
    let mut image = Image::new(Convention::Cosem, axes, levels);
    image.name = text(&entry["name"]).filter(|name| !name.is_empty());
    Ok(image)
}

/// The attribute `transform` of COSEM, in C order (OME-07).
pub(crate) struct CosemTransform {
    pub(crate) axes: Vec<Axis>,
    pub(crate) placement: Placement,
}

impl CosemTransform {
    pub(crate) fn read(transform: &Value) -> Result<Self, String> {
        let scale = numbers(&transform["scale"])
            .ok_or_else(|| format!("has the scale {}", shown(&transform["scale"])))?;
        let n_axes = scale.len();
        if n_axes == 0 || n_axes > MAX_AXES {
            return Err(format!("has a transform of {n_axes} axes"));
        }
        let mut placement = Placement::identity(n_axes);
        placement.scale = scale;
        if let Some(translate) = transform.get("translate") {
            let translation = numbers(translate).filter(|list| list.len() == n_axes);
            placement.translation =
                translation.ok_or_else(|| format!("has the translation {}", shown(translate)))?;
        }
        let placement = placement.without_zeros()?;
        let stated = |key: &str, at: usize| text(&transform[key][at]);
        let usual_names = ["t", "c", "z", "y", "x"];
        let mut axes = Vec::with_capacity(n_axes);
        for at in 0..n_axes {
            let from_end = n_axes - at;
            let usual = usual_names
                .len()
                .checked_sub(from_end)
                .map(|at| usual_names[at].to_owned());
            let name = stated("axes", at)
                .or(usual)
                .unwrap_or_else(|| format!("d{at}"));
            axes.push(Axis::stated(name, None, stated("units", at)));
        }
        let mut found = Self { axes, placement };
        if transform["ordering"].as_str() == Some("F") {
            found.axes.reverse();
            found.placement.scale.reverse();
            found.placement.translation.reverse();
        }
        Ok(found)
    }
}

/// The second number of a version such as `0.6rc0`; `None` for other texts (OME-10).
pub(crate) fn minor_version(version: &str) -> Option<u32> {
    let digits: String = version
        .strip_prefix("0.")?
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    digits.parse().ok()
}
