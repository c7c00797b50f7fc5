//! `ndzarr info`: describes a node.

use std::path::{Path, PathBuf};

use clap::Args;
use ndzarr::{AnyArray, AnyNode, ErrorKind, Group, MemberKind};
use ndzarr_ome::Multiscale;
use serde_json::{Value, json};

use crate::arguments::Global;
use crate::arguments::sizes::{self, plural};
use crate::failure::{Failure, chain};
use crate::files::stored::{Stored, cannot_list};
use crate::output::describe;
use crate::output::image::{self, Effort};
use crate::output::{Output, Paint};
use crate::places::shown;

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Paths or URLs of arrays or groups.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Do not list the stored chunks, and do not open the levels of images, which takes a while if
    /// there are many.
    #[arg(long)]
    quick: bool,
}

pub(crate) fn run(
    arguments: &Arguments,
    global: &Global,
    output: &mut Output,
) -> Result<(), Failure> {
    for (number, path) in arguments.paths.iter().enumerate() {
        let node = global.open_options().open_node(path)?;
        if number > 0 && !output.json() {
            output.line("")?;
        }
        match node {
            AnyNode::Array(array) => print_array(&array, path, arguments, global, output)?,
            AnyNode::Group(group) => print_group(&group, path, arguments, output)?,
        }
    }
    Ok(())
}

fn print_array(
    array: &AnyArray,
    path: &Path,
    arguments: &Arguments,
    global: &Global,
    output: &mut Output,
) -> Result<(), Failure> {
    let mut stored = None;
    let mut warning = None;
    if !arguments.quick {
        match Stored::of(array) {
            Err(error) if error.kind() == ErrorKind::InvalidMetadata => {
                warning = Some(chain(&error))
            }
            found => stored = found?,
        }
    }
    if output.json() {
        let mut value = array_json(array, global, stored.as_ref());
        if let Some(what) = warning {
            warn(&mut value, &what);
        }
        return output.value(&value);
    }
    array_text(array, &shown(path), global, stored.as_ref(), output)?;
    warning.map_or(Ok(()), |what| fact("warning", &what, output))
}

fn print_group(
    group: &Group,
    path: &Path,
    arguments: &Arguments,
    output: &mut Output,
) -> Result<(), Failure> {
    let members = members(group)?;
    let mut warning = None;
    if !arguments.quick && members.as_ref().is_some_and(Vec::is_empty) {
        warning = arrays_in_folders(group)?;
    }
    let effort = if arguments.quick {
        Effort::Little
    } else {
        Effort::Full
    };
    let images = image::find(group, effort);
    if output.json() {
        let mut value = describe::group(group);
        value["members"] = members_json(members.as_deref());
        if let Some(what) = warning {
            warn(&mut value, &what);
        }
        add_images(&mut value, &images, effort);
        return output.value(&value);
    }
    group_text(group, &shown(path), members.as_deref(), output)?;
    if let Some(what) = warning {
        fact("warning", &what, output)?;
    }
    images_text(&images, effort, output)
}

/// Says where arrays lie below a group without members: in folders for which a writer has left out
/// the documents of groups.
fn arrays_in_folders(group: &Group) -> Result<Option<String>, Failure> {
    let mut paths = Vec::new();
    for child in group.walk()? {
        if child.kind() == Some(MemberKind::Array) {
            paths.push(child.path());
        }
    }
    let Some(first) = paths.first() else {
        return Ok(None);
    };
    let arrays = plural(paths.len() as u64, "array", "arrays");
    Ok(Some(format!(
        "{arrays} below folders without a document, which are no members: {first}"
    )))
}

/// The name of a member, and its kind if its document shows it.
type Member = (String, Option<MemberKind>);

/// The members of a group; `None` if they cannot be listed, as on a web server, which is not an
/// error.
fn members(group: &Group) -> Result<Option<Vec<Member>>, Failure> {
    match group.children() {
        Ok(children) => Ok(Some(
            children
                .iter()
                .map(|child| (child.name().to_owned(), child.kind()))
                .collect(),
        )),
        Err(error) if cannot_list(&error) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn members_json(members: Option<&[Member]>) -> Value {
    let Some(members) = members else {
        return Value::Null;
    };
    members
        .iter()
        .map(|(name, kind)| json!({"name": name, "node": describe::kind_name(*kind)}))
        .collect()
}

fn array_json(array: &AnyArray, global: &Global, stored: Option<&Stored>) -> Value {
    let mut value = describe::array(array, global.n5_axes());
    value["stored"] = stored.map_or(Value::Null, Stored::json);
    value
}

fn array_text(
    array: &AnyArray,
    name: &str,
    global: &Global,
    stored: Option<&Stored>,
    output: &mut Output,
) -> Result<(), Failure> {
    output.line(format!("{name}: an array of {}", array.format()))?;
    let axes = describe::order_of_axes(array.format(), global.n5_axes());
    fact(
        "shape",
        &format!("{}  ({axes})", describe::shape(array.shape())),
        output,
    )?;
    fact("data type", &array.data_type().to_string(), output)?;
    if let Some(names) = array.dimension_names() {
        let names: Vec<&str> = names
            .iter()
            .map(|name| name.as_deref().unwrap_or("-"))
            .collect();
        fact("dimensions", &names.join(", "), output)?;
    }
    let size = array.data_type().elem_size();
    let bytes = |shape: &[u64]| {
        let bytes = shape
            .iter()
            .fold(size? as u64, |bytes, &n| bytes.saturating_mul(n));
        Some(format!("  ({})", sizes::shown(bytes)))
    };
    let chunks = array.chunk_shape();
    fact(
        "chunks",
        &format!(
            "{}{}",
            describe::shape(&chunks),
            bytes(&chunks).unwrap_or_default()
        ),
        output,
    )?;
    if let Some(shards) = array.shard_shape() {
        fact(
            "shards",
            &format!(
                "{}{}",
                describe::shape(shards),
                bytes(shards).unwrap_or_default()
            ),
            output,
        )?;
    }
    fact("codecs", &describe::codecs(array), output)?;
    let spec = array.spec();
    let fill = ndzarr_metadata::fill_value_json(&spec.data_type, &spec.fill_value);
    fact("fill value", &fill.to_string(), output)?;
    let all = describe::byte_len(array);
    if let Some(all) = all {
        fact("size", &sizes::shown(all), output)?;
    }
    if let Some(stored) = stored {
        let Stored {
            n, n_all, bytes, ..
        } = stored;
        let left_out = stored.left_out();
        let what = if array.shard_shape().is_some() {
            "shards"
        } else {
            "chunks"
        };
        let ratio = match all {
            Some(all) if *bytes > 0 && n == n_all && left_out.is_empty() => {
                format!(", ratio {:.2}", all as f64 / *bytes as f64)
            }
            _ => String::new(),
        };
        fact(
            "stored",
            &format!(
                "{} in {n} of {n_all} {what}{ratio}{left_out}",
                sizes::shown(*bytes)
            ),
            output,
        )?;
    }
    attributes(array.attributes(), output)?;
    array
        .warnings()
        .iter()
        .try_for_each(|warning| fact("warning", warning, output))
}

fn group_text(
    group: &Group,
    name: &str,
    members: Option<&[Member]>,
    output: &mut Output,
) -> Result<(), Failure> {
    output.line(format!("{name}: a group of {}", group.format()))?;
    let listed = members.unwrap_or_default();
    let n = |wanted| listed.iter().filter(|(_, kind)| *kind == wanted).count() as u64;
    let arrays = plural(n(Some(MemberKind::Array)), "array", "arrays");
    let groups = plural(n(Some(MemberKind::Group)), "group", "groups");
    match members {
        Some(_) => fact("members", &format!("{arrays}, {groups}"), output)?,
        None => fact("members", "cannot be listed here", output)?,
    }
    for (name, kind) in listed {
        let ending = match kind {
            Some(MemberKind::Array) => "",
            Some(MemberKind::Group) => "/",
            None => "  (cannot be read)",
        };
        fact("", &format!("{name}{ending}"), output)?;
    }
    attributes(group.attributes(), output)?;
    group
        .warnings()
        .iter()
        .try_for_each(|warning| fact("warning", warning, output))
}

type Images = Result<Vec<Multiscale>, ndzarr_ome::Error>;

fn add_images(group: &mut Value, images: &Images, effort: Effort) {
    let images = match images {
        Ok(images) => images
            .iter()
            .map(|image| image::value(image, effort))
            .collect(),
        Err(error) => {
            warn(group, &unreadable(error));
            Value::Array(Vec::new())
        }
    };
    group["images"] = images;
}

fn warn(group: &mut Value, what: &str) {
    if let Some(list) = group["warnings"].as_array_mut() {
        list.push(what.into());
    }
}

fn images_text(images: &Images, effort: Effort, output: &mut Output) -> Result<(), Failure> {
    match images {
        Ok(images) => {
            for (label, text) in images.iter().flat_map(|image| image::lines(image, effort)) {
                fact(&label, &text, output)?;
            }
            Ok(())
        }
        Err(error) => fact("warning", &unreadable(error), output),
    }
}

fn unreadable(error: &ndzarr_ome::Error) -> String {
    format!("the image cannot be read: {error}")
}

/// Prints each attribute on a line of its own.
fn attributes(
    attributes: &serde_json::Map<String, Value>,
    output: &mut Output,
) -> Result<(), Failure> {
    for (number, (key, value)) in attributes.iter().enumerate() {
        let label = if number == 0 { "attributes" } else { "" };
        fact(label, &format!("{key} = {value}"), output)?;
    }
    Ok(())
}

/// Prints a line with a label.
fn fact(label: &str, text: &str, output: &mut Output) -> Result<(), Failure> {
    output.painted(Paint::Label, &format!("  {label:<12}"))?;
    output.line(text)
}
