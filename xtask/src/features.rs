//! `cargo xtask features`: that the crates build without warnings under any set of features. `zfp`,
//! which needs more than cargo and a C compiler, has its own task.

use std::process::Command;

use serde_json::Value;

use crate::python;

/// The feature that needs cmake and libclang.
const NEEDS_MORE: &str = "zfp";

/// Runs the task.
///
/// # Errors
///
/// Why it could not run, or the first command that failed.
pub(crate) fn run() -> Result<(), String> {
    // Each codec alone, and none.
    lint("ndzarr-codec", "")?;
    for feature in of("ndzarr-codec")? {
        lint("ndzarr-codec", &feature)?;
    }
    lint("ndzarr", "")?;
    lint("ndzarr", &of("ndzarr")?.join(","))?;
    // Deflate by flate2 alone.
    let mut cargo = cargo(&["test", "--quiet", "--lib"], "ndzarr-codec", "deflate");
    python::succeed(&mut cargo)
}

fn lint(package: &str, features: &str) -> Result<(), String> {
    eprintln!("{package}: {}", if features.is_empty() { "no features" } else { features });
    python::succeed(cargo(&["clippy", "--quiet"], package, features).args(["--", "-D", "warnings"]))
}

fn cargo(command: &[&str], package: &str, features: &str) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(python::repository()).args(command);
    cargo.args(["--package", package, "--no-default-features", "--features", features]);
    cargo
}

/// The features of a package that are to build here.
fn of(package: &str) -> Result<Vec<String>, String> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(python::repository()).args(["metadata", "--no-deps", "--format-version", "1"]);
    let output = cargo.output().map_err(|e| format!("{cargo:?}: {e}"))?;
    let metadata: Value = serde_json::from_slice(&output.stdout).map_err(|e| format!("{cargo:?}: {e}"))?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let features = packages
        .filter(|known| known["name"] == package)
        .filter_map(|known| known["features"].as_object())
        .flat_map(|features| features.keys().cloned())
        .filter(|feature| feature != "default" && feature != NEEDS_MORE);
    let features: Vec<String> = features.collect();
    if features.is_empty() { Err(format!("{package} has no features")) } else { Ok(features) }
}
