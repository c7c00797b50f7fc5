//! The end of a dry run of `ndzarr cp`.

use ndzarr::MemberKind;
use serde_json::json;

use crate::arguments::Global;
use crate::arguments::sizes::{self, plural};
use crate::failure::Failure;
use crate::files::space::Space;
use crate::output::Output;
use crate::output::copies::Copied;

/// Prints the end of a dry run: the size of the copy, and the free space.
pub(crate) fn print_forecast(
    space: &Space,
    global: &Global,
    nodes: &[Copied],
    bytes: u64,
    output: &mut Output,
) -> Result<(), Failure> {
    let n_chunks: u64 = nodes.iter().map(|node| node.n_chunks).sum();
    if output.json() {
        return output.value(&json!({"would": {
            "arrays": nodes.iter().filter(|node| node.kind == MemberKind::Array).count(),
            "chunks": n_chunks,
            "byte_len": bytes,
            "expected": space.copy(),
            "temporary": nodes.iter().any(|node| node.temporary_bytes > 0),
            "free_space": space.free(),
        }}));
    }
    if global.quiet {
        return Ok(());
    }
    // With `--verbose` the notes are printed already.
    if !global.verbose {
        for node in nodes {
            for note in &node.notes {
                output.line(format!("{}: {note}", node.name()))?;
            }
        }
    }
    output.line(format!(
        "would copy {} in {}",
        sizes::shown(bytes),
        plural(n_chunks, "chunk", "chunks")
    ))?;
    if let Some(free) = space.free() {
        output.line(format!("free space at the target: {}", sizes::shown(free)))?;
    }
    match space.shortage() {
        Some(what) => output.line(format!("it would need --force: {what}")),
        None => Ok(()),
    }
}
