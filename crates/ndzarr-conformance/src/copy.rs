//! Nodes in another format.

use std::io::Write;

use ndzarr::store::ZipWriter;
use ndzarr::{CopyLevel, CopyOptions, Storage, copy};
use serde_json::json;

use crate::arguments::{ConvertArguments, LossArgument};
use crate::failure::Failure;

/// Converts and prints the result for each node.
pub(crate) fn run(arguments: &ConvertArguments, out: &mut dyn Write) -> Result<(), Failure> {
    let open = arguments.node.options();
    let format = arguments.to.into();
    let mut options = CopyOptions::new()
        .format(format)
        .n5_axes(arguments.node.n5_axes.into())
        .open(open);
    if matches!(arguments.loss, LossArgument::Record) {
        options = options.record_losses();
    }
    let source = arguments.node.place();
    let path = &arguments.node.node;
    let into = &arguments.into;
    let is_archive = into
        .extension()
        .is_some_and(|ending| ending == "zip" || ending == "ozx");
    let report = if is_archive && !into.is_dir() {
        let archive = ZipWriter::create_file(into)?;
        let report = copy(source, (&archive, path), &options)?;
        archive.finish()?;
        report
    } else {
        copy(source, (Storage::folder(into), path), &options)?
    };
    for node in report.nodes {
        let level = match node.level {
            CopyLevel::Metadata => "metadata",
            CopyLevel::Rekeyed => "rekeyed",
            CopyLevel::Reencoded => "reencoded",
            _ => "unknown",
        };
        let line = json!({
            "path": node.target.trim_start_matches('/'),
            "level": level,
            "chunks": node.n_chunks,
            "losses": node.losses,
            "notes": node.notes,
        });
        writeln!(out, "{line}")?;
    }
    Ok(())
}
