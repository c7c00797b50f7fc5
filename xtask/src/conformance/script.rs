//! The Python scripts of the task.

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
    command.env("PYTHONPATH", python::scripts().join("fixtures")).env("PYTHONDONTWRITEBYTECODE", "1");
    Ok(command)
}
