//! `ndzarr ls`: lists the nodes below a group.

use std::path::PathBuf;

use clap::Args;
use ndzarr::{Any, AnyArray, AnyNode, Child, ErrorKind, MemberKind};
use ndzarr_metadata::data_type_json;
use serde_json::{Value, json};

use crate::arguments::Global;
use crate::arguments::sizes;
use crate::failure::{Failure, chain};
use crate::files::stored::Stored;
use crate::output::describe;
use crate::output::describe::kind_name;
use crate::output::{Output, Paint};

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Path or URL of a group; an array is listed by itself.
    path: PathBuf,
    /// List the nodes below groups as well.
    #[arg(short, long)]
    recursive: bool,
    /// With type, shape and chunks of arrays.
    #[arg(short, long)]
    long: bool,
    /// With the size of arrays as they are stored, which lists their chunks.
    #[arg(short, long)]
    sizes: bool,
}

pub(crate) fn run(
    arguments: &Arguments,
    global: &Global,
    output: &mut Output,
) -> Result<(), Failure> {
    let group = match global.open(&arguments.path)? {
        AnyNode::Array(array) => return print("", Ok(array), arguments, output),
        AnyNode::Group(group) => group,
    };
    let mut children = if arguments.recursive {
        group.walk()?
    } else {
        group.children()?
    };
    children.sort_by_cached_key(Child::path);
    for child in children {
        let path = child.path();
        match child.kind() {
            Some(MemberKind::Array) => print(&path, child.array::<Any>(), arguments, output)?,
            kind => {
                let error = child.open().err().map(|error| chain(&error));
                if output.json() {
                    output
                        .value(&json!({"path": path, "node": kind_name(kind), "error": error}))?;
                    continue;
                }
                let slash = if kind.is_some() { "/" } else { "" };
                output.painted(Paint::Group, &format!("{path}{slash}"))?;
                match error {
                    None => output.line("")?,
                    Some(error) => print_error(&error, output)?,
                }
            }
        }
    }
    Ok(())
}

/// Prints the line of an array.
fn print(
    path: &str,
    array: Result<AnyArray, ndzarr::Error>,
    arguments: &Arguments,
    output: &mut Output,
) -> Result<(), Failure> {
    let (array, stored) = match array {
        Ok(array) if arguments.sizes => match Stored::of(&array) {
            Err(error) if error.kind() == ErrorKind::InvalidMetadata => (Err(error), None),
            stored => (Ok(array), stored?),
        },
        array => (array, None),
    };
    if output.json() {
        let mut value =
            json!({"path": path, "node": kind_name(Some(MemberKind::Array)), "error": Value::Null});
        match &array {
            Ok(array) => {
                value["format"] = array.format().to_string().into();
                value["shape"] = json!(array.shape());
                value["chunk_shape"] = json!(array.chunk_shape());
                value["shard_shape"] = json!(array.shard_shape());
                value["data_type"] = data_type_json(array.data_type());
            }
            Err(error) => value["error"] = chain(error).into(),
        }
        if let Some(stored) = stored {
            value["stored"] = stored.json();
        }
        return output.value(&value);
    }
    let mut line = if path.is_empty() {
        ".".to_owned()
    } else {
        path.to_owned()
    };
    match &array {
        Ok(array) if arguments.long => {
            let chunks = describe::shape(&array.chunk_shape());
            line += &format!(
                "  {}  {}  in {chunks}",
                array.data_type(),
                describe::shape(array.shape())
            );
            if let Some(shards) = array.shard_shape() {
                line += &format!(" in shards of {}", describe::shape(shards));
            }
        }
        Ok(_) => {}
        Err(error) => {
            output.painted(Paint::Label, &line)?;
            return print_error(&chain(error), output);
        }
    }
    if let Some(stored) = stored {
        line += &format!("  {}{}", sizes::shown(stored.bytes), stored.left_out());
    }
    output.line(line)
}

/// Prints the rest of the line of a node that cannot be opened.
fn print_error(error: &str, output: &mut Output) -> Result<(), Failure> {
    output.painted(Paint::Bad, &format!("  cannot be opened: {error}"))?;
    output.line("")
}
