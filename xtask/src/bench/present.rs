//! Shows what was measured, by `xtask/python/bench/present.py`.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde::Serialize;

use super::args::Args;
use crate::python;

/// Prints the table of these rows. If they are to be recorded, writes them as the record of today
/// or of this name.
///
/// # Errors
/// A file cannot be written, or the script fails.
pub(super) fn show(rows: &impl Serialize, args: &Args, name: Option<&str>) -> Result<(), String> {
    let file = python::target().join("bench.json");
    let text = serde_json::to_string(rows).map_err(|e| e.to_string())?;
    fs::write(&file, text).map_err(|e| format!("{}: {e}", file.display()))?;
    present("table", Some(&file), None)?;
    if args.record {
        present("record", Some(&file), name)
    } else {
        Ok(())
    }
}

/// Draws the README's picture and the page of the records from the latest ones.
///
/// # Errors
/// A file cannot be written, or the script fails.
pub(super) fn draw() -> Result<(), String> {
    present("draw", None, None)
}

/// Runs a task of the script that presents what was measured.
fn present(task: &str, file: Option<&Path>, name: Option<&str>) -> Result<(), String> {
    let script = python::scripts().join("bench").join("present.py");
    python::succeed(
        Command::new("python3")
            .arg("-B")
            .arg(script)
            .arg(task)
            .args(file)
            .args(name),
    )
}
