//! `ndzarr rm`: removes an array or a group.

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use ndzarr::AnyNode;
use serde_json::json;

use crate::arguments::sizes::{self, plural};
use crate::arguments::{Global, has_document, local_folder};
use crate::failure::Failure;
use crate::output::Output;
use crate::places::shown;

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Path or URL of an array, or of a group, which is removed with everything below it.
    path: PathBuf,
    /// Do not ask.
    #[arg(short, long)]
    yes: bool,
    /// Remove files that do not belong to the array or group as well.
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(
    arguments: &Arguments,
    global: &Global,
    output: &mut Output,
) -> Result<(), Failure> {
    let place = shown(&arguments.path);
    if let Some(target) = local_folder(&arguments.path).and_then(|folder| target_of_link(&folder)) {
        let target = shown(&target);
        return Err(Failure::new(format_args!(
            "{place} is a link to {target}: remove the one or the other"
        )));
    }
    let folder = local_folder(&arguments.path).and_then(|folder| folder.canonicalize().ok());
    let options = global.document_options();
    let run = if arguments.force {
        global.run_options().force()
    } else {
        global.run_options()
    };
    let node = match global.open_by(&options, &arguments.path)? {
        AnyNode::Array(array) => AnyNode::Array(array.with_options(run)),
        AnyNode::Group(group) => AnyNode::Group(group.with_options(run)),
    };
    let checked_contents = || {
        let contents = node.contents()?;
        let n = plural(contents.foreign.len() as u64, "file", "files");
        if let Some(key) = contents.foreign.first().filter(|_| !arguments.force) {
            return Err(Failure::new(format_args!(
                "{place} holds {n} that do not belong to it, such as {key:?}; --force removes them too"
            )));
        }
        // With N5 as the format, any folder is a group.
        let is_stated = folder
            .as_ref()
            .is_none_or(|folder| folder.ancestors().any(has_document));
        if let Some(key) = contents
            .foreign
            .first()
            .filter(|_| !is_stated && contents.n_documents == 0)
        {
            return Err(Failure::new(format_args!(
                "nothing in {place} says that it is an array or a group, and it holds {n} that do not belong to \
                 one, such as {key:?}; remove it yourself if it is not needed"
            )));
        }
        let names_format =
            global.format.is_some() || names_format(&arguments.path.to_string_lossy());
        if let Some(key) = contents
            .of_other_formats
            .first()
            .filter(|_| names_format && !arguments.force)
        {
            return Err(Failure::new(format_args!(
                "{place} is a node of another format as well, by {key:?}, which would go with it; --force removes both"
            )));
        }
        Ok(contents)
    };
    let contents = checked_contents()?;
    let what = format!(
        "{} and {} with {}, {}",
        plural(contents.n_arrays, "array", "arrays"),
        plural(contents.n_groups, "group", "groups"),
        plural(contents.n_keys, "file", "files"),
        sizes::shown(contents.byte_len)
    );
    if !arguments.yes {
        if !confirmed(&format!("{place}: remove {what}? [y/N] "))? {
            return Err(Failure::new("nothing was removed"));
        }
        // Others may have added files before the answer came.
        checked_contents()?;
    }
    let is_root = node.path().is_empty();
    node.erase_self()?;
    if let Some(folder) = local_folder(&arguments.path).filter(|_| is_root) {
        // `erase_self` leaves the folder of a store, which is of no use if it is empty. Another
        // writer may have used it again.
        let _ = std::fs::remove_dir(folder);
    }
    if output.json() {
        return output.value(&json!({
            "arrays": contents.n_arrays,
            "groups": contents.n_groups,
            "keys": contents.n_keys,
            "byte_len": contents.byte_len,
        }));
    }
    if global.verbose {
        output.line(format!("removed {what}"))
    } else {
        Ok(())
    }
}

/// The target of a folder that is a link itself.
fn target_of_link(folder: &Path) -> Option<PathBuf> {
    // Without a trailing slash, which would follow the link.
    std::fs::read_link(folder.components().collect::<PathBuf>()).ok()
}

/// True if a place names a format, as `a.zarr|zarr2:` does.
fn names_format(place: &str) -> bool {
    place
        .rsplit_once('|')
        .is_some_and(|(_, last)| last.starts_with("zarr") || last.starts_with("n5"))
}

/// Asks a question; returns true if the answer is yes.
fn confirmed(question: &str) -> Result<bool, Failure> {
    if !io::stdin().is_terminal() {
        return Err(Failure::usage(
            "there is no terminal to ask on: --yes removes without asking",
        ));
    }
    let mut err = io::stderr().lock();
    let _ = write!(err, "{question}");
    let _ = err.flush();
    let mut answer = String::new();
    io::stdin()
        .lock()
        .read_line(&mut answer)
        .map_err(|error| Failure::new(format_args!("standard input: {error}")))?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
