//! The Python scripts of the task.

use std::path::Path;
use std::process::Command;

use crate::python;

/// A script that shares a module with those of the fixtures.
///
/// # Errors
///
/// The environment cannot be made.
pub(super) fn script(environment: &str, name: &str) -> Result<Command, String> {
    let mut command = Command::new(python::interpreter(environment)?);
    command.arg(python::scripts().join("conformance").join(name));
    command
        .env("PYTHONPATH", python::scripts().join("fixtures"))
        .env("PYTHONDONTWRITEBYTECODE", "1");
    Ok(command)
}

/// Has a script judge outcomes, and write its part of the page if they are all there are.
///
/// # Errors
///
/// An outcome is wrong, as the script says.
pub(super) fn report(name: &str, outcomes: &[&Path], writes_page: bool) -> Result<(), String> {
    let mut command = Command::new("python3");
    command
        .arg(python::scripts().join("conformance").join(name))
        .args(outcomes);
    if writes_page {
        command.arg(python::repository().join("docs/internals/support.md"));
    }
    python::succeed(command.env("PYTHONDONTWRITEBYTECODE", "1"))
}
