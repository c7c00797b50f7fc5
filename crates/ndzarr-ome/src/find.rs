//! Finds the images of a group: its own, series of bioformats2raw, setups of BigDataViewer.

use ndzarr::{AnyNode, ErrorKind, Format, Group};
use serde_json::Value;

use crate::convention::Convention;
use crate::entry;
use crate::error::{Error, Result};
use crate::image::{Image, is_in_c_order};
use crate::io::{Children, Io};
use crate::json::{self, path_below};
use crate::scales::{Scales, numbered};

/// The images of a group, each with the group that it is in.
pub(crate) async fn find<I: Io>(io: &I, group: &Group) -> Result<Vec<(Group, Image)>> {
    let images = own(io, group).await?;
    if !images.is_empty() {
        return Ok(images);
    }
    let holder = json::namespace(group.attributes());
    if holder.contains_key("plate") || holder.contains_key("well") {
        return Ok(Vec::new());
    }
    if holder.contains_key("bioformats2raw.layout") {
        return series(io, group).await;
    }
    let children = io.children(group).await?;
    if group.format() != Format::N5 {
        let scales = Scales::of(group, &children);
        return Ok(scales
            .cosem()
            .map_err(at(group))?
            .map(|image| (group.clone(), image))
            .into_iter()
            .collect());
    }
    setups(io, group, children).await
}

fn at(group: &Group) -> impl Fn(String) -> Error {
    |what| Error::metadata(group.path(), what)
}

/// The images that the attributes of a group describe.
async fn own<I: Io>(io: &I, group: &Group) -> Result<Vec<(Group, Image)>> {
    let mut found = Vec::new();
    for mut image in entry::images(group.attributes()).map_err(at(group))? {
        if image.by_shape {
            let mut shapes = Vec::new();
            for level in &image.levels {
                match io.array(group, &level.path).await {
                    Ok(array) => shapes.push(Some(array.shape().to_vec())),
                    Err(error) if error.kind() == Some(ErrorKind::Cancelled) => return Err(error),
                    Err(error) => {
                        image.warnings.push(format!("the level {:?} cannot be opened: {error}", level.path));
                        shapes.push(None);
                    }
                }
            }
            image.scale_by_shapes(&shapes);
        }
        // Attributes have C order in every format (OME-07).
        if group.format() == Format::N5
            && let Some(level) = image.levels.first()
            && !io.array(group, &level.path).await.is_ok_and(|array| is_in_c_order(&array))
        {
            image = image.reversed();
        }
        found.push((group.clone(), image.ordered()));
    }
    Ok(found)
}

/// The images that bioformats2raw wrote: those that `OME` lists, else `0`, `1` and so on.
async fn series<I: Io>(io: &I, group: &Group) -> Result<Vec<(Group, Image)>> {
    let listed = match io.group(group, "OME").await {
        Ok(ome) => json::namespace(ome.attributes()).get("series").and_then(Value::as_array).cloned(),
        Err(error) if error.kind() == Some(ErrorKind::NotFound) => None,
        Err(error) => return Err(error),
    };
    let mut found = Vec::new();
    match listed {
        Some(paths) => {
            for path in &paths {
                let path = path.as_str().ok_or_else(|| format!("has the series {}", json::shown(path)));
                let path = path.and_then(path_below).map_err(at(group))?;
                found.extend(own(io, &io.group(group, &path).await?).await?);
            }
        }
        None => {
            for (_, node) in numbered(io.children(group).await?.nodes, "") {
                if let AnyNode::Group(image) = node {
                    found.extend(own(io, &image).await?);
                }
            }
        }
    }
    Ok(found)
}

/// The setups and time points of BigDataViewer, at the root of a container or in one setup; else the
/// levels that lie in the group itself.
async fn setups<I: Io>(io: &I, group: &Group, children: Children) -> Result<Vec<(Group, Image)>> {
    let mut setups = Vec::new();
    let is_setup = children.nodes.iter().any(|(name, _)| number_of(name, "timepoint").is_some());
    if is_setup {
        let own = group.path().rsplit('/').next().and_then(|name| number_of(name, "setup"));
        setups.push((own.unwrap_or(0), group.clone(), children));
    } else {
        for (number, node) in numbered(children.nodes.clone(), "setup") {
            if let AnyNode::Group(setup) = node {
                let timepoints = io.children(&setup).await?;
                setups.push((number, setup, timepoints));
            }
        }
        if setups.is_empty() {
            return in_group(io, group, children).await;
        }
    }
    let mut found = Vec::new();
    for (number, setup, timepoints) in setups {
        let factors = setup.attributes().get("downsamplingFactors");
        for (timepoint, node) in numbered(timepoints.nodes, "timepoint") {
            let AnyNode::Group(group) = node else { continue };
            let levels = io.children(&group).await?;
            let convention = Convention::Bdv { setup: number, timepoint };
            let image =
                Scales::of(&group, &levels).with_factors(factors).image(convention).map_err(at(&group))?;
            found.extend(image.map(|image| (group.clone(), image)));
        }
    }
    Ok(found)
}

/// The levels that lie in a group, or in the group `data` of Paintera.
async fn in_group<I: Io>(io: &I, group: &Group, children: Children) -> Result<Vec<(Group, Image)>> {
    let data = children.nodes.iter().find_map(|(name, node)| match node {
        AnyNode::Group(data) if name == "data" => Some(data.clone()),
        _ => None,
    });
    let (group, children) = match data {
        Some(data) if group.attributes().contains_key("painteraData") => {
            let children = io.children(&data).await?;
            (data, children)
        }
        _ => (group.clone(), children),
    };
    let image = Scales::of(&group, &children).image(Convention::N5Viewer).map_err(at(&group))?;
    Ok(image.map(|image| (group, image)).into_iter().collect())
}

fn number_of(name: &str, prefix: &str) -> Option<u32> {
    numbered(vec![(name.to_owned(), ())], prefix).first().map(|(number, ())| *number)
}
