//! Tests and programs as `cargo test --workspace` builds them: with other packages or features
//! selected, cargo would build most of the workspace once more.

use std::path::PathBuf;
use std::process::Command;

use crate::python;

/// `cargo test` of these targets.
pub(crate) fn cargo_test(targets: &[&str]) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(python::repository());
    // That one needs cmake.
    cargo
        .args(["test", "--workspace", "--exclude", "ndzarr-zfp", "--quiet"])
        .args(targets);
    cargo
}

/// Builds the programs of ndzarr-conformance, and returns where the one of this name is.
///
/// # Errors
/// They cannot be built.
pub(crate) fn program(name: &str) -> Result<PathBuf, String> {
    // Cargo builds them for the tests that start them.
    python::succeed(cargo_test(&["--test", "programs"]).arg("--no-run"))?;
    Ok(python::target()
        .join("debug")
        .join(format!("{name}{}", std::env::consts::EXE_SUFFIX)))
}
