//! Tests and programs as `cargo test --workspace` builds them: with other packages or features selected,
//! cargo would build most of the workspace once more.

use std::path::PathBuf;
use std::process::Command;

use crate::python;

/// `cargo test` of the integration tests.
pub(crate) fn cargo_test() -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(python::repository());
    // That one needs cmake.
    cargo.args(["test", "--workspace", "--exclude", "ndzarr-zfp", "--quiet", "--test", "it"]);
    cargo
}

/// Builds the programs that integration tests run, and returns where the one of this name is.
///
/// # Errors
/// They cannot be built.
pub(crate) fn program(name: &str) -> Result<PathBuf, String> {
    python::succeed(cargo_test().arg("--no-run"))?;
    Ok(python::target().join("debug").join(format!("{name}{}", std::env::consts::EXE_SUFFIX)))
}
