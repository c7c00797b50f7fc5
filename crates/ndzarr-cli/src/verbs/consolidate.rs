//! `ndzarr consolidate`: collects the metadata of all nodes below a group in one document.

use std::path::PathBuf;

use clap::Args;
use ndzarr::AnyNode;

use crate::arguments::Global;
use crate::failure::Failure;
use crate::output::Output;
use crate::places::shown;

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Path or URL of a group of Zarr v2 or v3.
    path: PathBuf,
}

pub(crate) fn run(
    arguments: &Arguments,
    global: &Global,
    output: &mut Output,
) -> Result<(), Failure> {
    let options = global.document_options();
    let AnyNode::Group(mut group) = global.open_by(&options, &arguments.path)? else {
        return Err(Failure::usage(format_args!(
            "{} is an array, not a group",
            shown(&arguments.path)
        )));
    };
    group.consolidate()?;
    if global.verbose && !output.json() {
        output.line(format!("{}: consolidated", shown(&arguments.path)))?;
    }
    Ok(())
}
