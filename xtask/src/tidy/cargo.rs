//! What cargo knows of the workspace.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// The answer of `cargo metadata`.
///
/// # Errors
///
/// A message when cargo fails or its output is unexpected.
pub(super) fn metadata(root: &Path, option: &str) -> Result<Value, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", option])
        .current_dir(root)
        .output()
        .map_err(|e| format!("cargo metadata: {e}"))?;
    if !output.status.success() {
        return Err(format!(
            "cargo metadata: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        ));
    }
    serde_json::from_slice(&output.stdout).map_err(|e| format!("cargo metadata: {e}"))
}
