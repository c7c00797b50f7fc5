//! `ndzarr convert`: gives a node the documents of another format, in place.

use std::path::PathBuf;

use clap::Args;
use ndzarr::{CopyLevel, CopyOptions, ErrorKind, Format};

use crate::arguments::Global;
use crate::arguments::formats;
use crate::arguments::sizes::plural;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::output::Output;
use crate::output::copies::run_copy;

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Path or URL of an array or a group.
    path: PathBuf,
    /// Format of the new documents. The chunks stay, and so do the old documents.
    #[arg(long, value_parser = formats::written())]
    to: Format,
    /// Say what would be done.
    #[arg(long)]
    dry_run: bool,
    /// Leave out what the format cannot express, and say so; otherwise it is an error.
    #[arg(long)]
    allow_loss: bool,
}

pub(crate) fn run(
    arguments: &Arguments,
    global: &Global,
    output: &mut Output,
) -> Result<Outcome, Failure> {
    let mut options = CopyOptions::new()
        .open(global.open_options())
        .n5_axes(global.n5_axes())
        .format(arguments.to)
        .at_most(CopyLevel::Metadata)
        .run(global.run_options());
    if arguments.allow_loss {
        options = options.record_losses();
    }
    if arguments.dry_run {
        options = options.dry_run();
    }
    let copies =
        run_copy(&arguments.path, &arguments.path, &options).map_err(|error| {
            match error.kind() {
                ErrorKind::InvalidArgument => {
                    Failure::from(error).with_hint("`ndzarr cp --format` makes a copy")
                }
                _ => error.into(),
            }
        })?;
    copies.print("copied", global, output)?;
    if !global.quiet && !output.json() {
        let verb = if arguments.dry_run {
            "would write"
        } else {
            "wrote"
        };
        let nodes = plural(copies.nodes.len() as u64, "node", "nodes");
        output.line(format!("{verb} the documents of {nodes}"))?;
    }
    Ok(copies.outcome)
}
