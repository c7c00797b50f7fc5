//! Finds the images of a group: its own, series of bioformats2raw, setups of BigDataViewer.

pub(crate) mod entry;
pub(crate) mod image;
mod scales;
pub(crate) mod transformation;

use ndzarr::{AnyNode, ErrorKind, Format, Group};
use serde_json::Value;

use crate::convention::Convention;
use crate::error::{Error, Result};
use crate::find::image::{Image, is_in_c_order};
use crate::find::scales::{Scales, numbered};
use crate::io::{Children, Io};
use crate::json::{self, path_below};

/// The images of a group, each with the group that has it.
pub(crate) async fn find<I: Io>(io: &I, group: &Group) -> Result<Vec<(Group, Image)>> {
    let images = images_of_attributes(io, group).await?;
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
        let image = Scales::of(group, &children)
            .cosem()
            .map_err(error_in(group))?;
        return Ok(image
            .into_iter()
            .map(|image| (group.clone(), image))
            .collect());
    }
    setups(io, group, children).await
}

/// True if an error is about a node: it is missing, or this crate cannot read it. Other errors are
/// about the store or the call.
fn is_of_node(error: &Error) -> bool {
    use ErrorKind::{Corrupt, InvalidMetadata, NotFound, Unsupported, WrongNodeKind};
    matches!(
        error.kind(),
        Some(NotFound | WrongNodeKind | InvalidMetadata | Unsupported | Corrupt)
    )
}

/// Reports children that cannot be opened: as warnings of the first image, or as an error if none
/// was found.
fn with_broken(
    group: &Group,
    mut found: Vec<(Group, Image)>,
    broken: Vec<(String, String)>,
) -> Result<Vec<(Group, Image)>> {
    for (path, what) in broken {
        match found.first_mut() {
            Some((_, image)) => image.warn(format!("{path:?} cannot be opened: {what}")),
            None => {
                let what = format!("has {path:?}, which cannot be opened: {what}");
                return Err(Error::metadata(group.path(), what));
            }
        }
    }
    Ok(found)
}

/// The broken children of a group whose names are a prefix and a number, by their paths.
fn broken_in(group: &Group, children: &Children, prefix: &str) -> Vec<(String, String)> {
    let within = group.path();
    let path = |name: &str| {
        if within.is_empty() {
            name.to_owned()
        } else {
            format!("{within}/{name}")
        }
    };
    let named = children
        .broken
        .iter()
        .map(|(name, what)| (name.clone(), (path(name), what.clone())));
    numbered(named.collect(), prefix)
        .into_iter()
        .map(|(_, child)| child)
        .collect()
}

/// For `map_err`: the error that the metadata of a group are wrong.
fn error_in(group: &Group) -> impl Fn(String) -> Error {
    |what| Error::metadata(group.path(), what)
}

/// The images that the attributes of a group describe.
async fn images_of_attributes<I: Io>(io: &I, group: &Group) -> Result<Vec<(Group, Image)>> {
    let mut found = Vec::new();
    for mut image in entry::images(group.attributes()).map_err(error_in(group))? {
        if image.needs_shapes {
            let mut shapes = Vec::new();
            let mut warnings = Vec::new();
            for level in &image.levels {
                match io.array(group, &level.path).await {
                    Ok(array) => {
                        let mut shape = array.shape().to_vec();
                        if !is_in_c_order(&array) {
                            shape.reverse();
                        }
                        shapes.push(Some(shape));
                    }
                    Err(error) if !is_of_node(&error) => return Err(error),
                    Err(error) => {
                        warnings.push(format!(
                            "the level {:?} cannot be opened: {error}",
                            level.path
                        ));
                        shapes.push(None);
                    }
                }
            }
            image.warn_all(warnings);
            image.scale_by_shapes(&shapes).map_err(error_in(group))?;
        }
        // Attributes are in C order in every format (OME-07).
        if group.format() == Format::N5 && !are_in_c_order(io, group, &image).await? {
            image = image.reversed();
        }
        found.push((group.clone(), image.ordered()));
    }
    Ok(found)
}

/// True if the axes of the arrays are in C order, as those of the first that can be opened.
async fn are_in_c_order<I: Io>(io: &I, group: &Group, image: &Image) -> Result<bool> {
    for level in &image.levels {
        match io.array(group, &level.path).await {
            Ok(array) => return Ok(is_in_c_order(&array)),
            // Opening the level gives this error again.
            Err(error) if is_of_node(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(false)
}

/// The images that bioformats2raw wrote: those that `OME` lists, otherwise `0`, `1` and so on.
async fn series<I: Io>(io: &I, group: &Group) -> Result<Vec<(Group, Image)>> {
    let listed = match io.group(group, "OME").await {
        Ok(ome) => json::namespace(ome.attributes())
            .get("series")
            .and_then(Value::as_array)
            .cloned(),
        Err(error) if error.kind() == Some(ErrorKind::NotFound) => None,
        Err(error) => return Err(error),
    };
    let mut found = Vec::new();
    let mut broken = Vec::new();
    match listed {
        Some(paths) => {
            for path in &paths {
                let path = path
                    .as_str()
                    .ok_or_else(|| format!("has the series {}", json::shown(path)));
                let path = path.and_then(path_below).map_err(error_in(group))?;
                found.extend(images_of_attributes(io, &io.group(group, &path).await?).await?);
            }
        }
        None => {
            let children = io.children(group).await?;
            broken = broken_in(group, &children, "");
            for (_, node) in numbered(children.nodes, "") {
                if let AnyNode::Group(image) = node {
                    found.extend(images_of_attributes(io, &image).await?);
                }
            }
        }
    }
    with_broken(group, found, broken)
}

/// The setups and time points of BigDataViewer, at the root of a container or in one setup;
/// otherwise the image whose levels are in the group itself.
async fn setups<I: Io>(io: &I, group: &Group, children: Children) -> Result<Vec<(Group, Image)>> {
    let mut setups = Vec::new();
    let is_timepoint = |name: &String| number_of(name, "timepoint").is_some();
    let is_setup = children.nodes.iter().any(|(name, _)| is_timepoint(name))
        || children.broken.iter().any(|(name, _)| is_timepoint(name));
    let mut broken = broken_in(group, &children, "setup");
    if is_setup {
        let number = group
            .path()
            .rsplit('/')
            .next()
            .and_then(|name| number_of(name, "setup"));
        setups.push((number.unwrap_or(0), group.clone(), children));
    } else {
        for (number, node) in numbered(children.nodes.clone(), "setup") {
            if let AnyNode::Group(setup) = node {
                let timepoints = io.children(&setup).await?;
                setups.push((number, setup, timepoints));
            }
        }
        if setups.is_empty() {
            return with_broken(group, in_group(io, group, children).await?, broken);
        }
    }
    let mut found = Vec::new();
    for (number, setup, timepoints) in setups {
        broken.extend(broken_in(&setup, &timepoints, "timepoint"));
        let factors = setup.attributes().get("downsamplingFactors");
        for (timepoint, node) in numbered(timepoints.nodes, "timepoint") {
            let AnyNode::Group(group) = node else {
                continue;
            };
            let levels = io.children(&group).await?;
            let convention = Convention::Bdv {
                setup: number,
                timepoint,
            };
            let scales = Scales::of(&group, &levels).with_factors(factors);
            match scales.image(convention).map_err(error_in(&group))? {
                Some(image) => found.push((group.clone(), image)),
                None => broken.extend(broken_in(&group, &levels, "s")),
            }
        }
    }
    with_broken(group, found, broken)
}

/// The image whose levels are in a group, or in the group `data` of Paintera.
async fn in_group<I: Io>(io: &I, group: &Group, children: Children) -> Result<Vec<(Group, Image)>> {
    let is_paintera = group.attributes().contains_key("painteraData");
    if is_paintera
        && let Some((name, what)) = children.broken.iter().find(|(name, _)| name == "data")
    {
        return with_broken(group, Vec::new(), vec![(name.clone(), what.clone())]);
    }
    let data = children.nodes.iter().find_map(|(name, node)| match node {
        AnyNode::Group(data) if name == "data" => Some(data.clone()),
        _ => None,
    });
    let (group, children) = match data {
        Some(data) if is_paintera => {
            let children = io.children(&data).await?;
            (data, children)
        }
        _ => (group.clone(), children),
    };
    match Scales::of(&group, &children)
        .image(Convention::N5Viewer)
        .map_err(error_in(&group))?
    {
        Some(image) => Ok(vec![(group, image)]),
        None => {
            let broken = broken_in(&group, &children, "s");
            with_broken(&group, Vec::new(), broken)
        }
    }
}

/// The number after the prefix of a name.
fn number_of(name: &str, prefix: &str) -> Option<u32> {
    numbered(vec![(name.to_owned(), ())], prefix)
        .first()
        .map(|(number, ())| *number)
}
