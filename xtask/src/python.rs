//! Pinned virtual environments for the Python peers, below `target/xtask-venvs`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The root of the repository.
pub(crate) fn repository() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).to_path_buf()
}

/// The folder of the benchmark's engines in Python.
pub(crate) fn engines() -> PathBuf {
    repository()
        .join("benchmarks")
        .join("engines")
        .join("python")
}

/// The folder of the committed scripts, by task, and of the requirement files.
pub(crate) fn scripts() -> PathBuf {
    repository().join("xtask").join("python")
}

/// Returns the interpreter of the environment `name`, which holds what `requirements/<name>.txt`
/// pins.
///
/// An environment is made once and used again for as long as that file stays the same: a copy of it
/// inside the environment, written last, says what was installed.
///
/// # Errors
///
/// A message when the file cannot be read, or `python3 -m venv` or pip fails.
pub(crate) fn interpreter(name: &str) -> Result<PathBuf, String> {
    let pins_file = scripts().join("requirements").join(format!("{name}.txt"));
    let pins = fs::read(&pins_file).map_err(|e| format!("{}: {e}", pins_file.display()))?;
    let venv = target().join("xtask-venvs").join(name);
    let python = venv.join("bin").join("python");
    let installed = venv.join("installed.txt");
    if fs::read(&installed).is_ok_and(|old| old == pins) {
        return Ok(python);
    }
    if venv.exists() {
        fs::remove_dir_all(&venv).map_err(|e| format!("{}: {e}", venv.display()))?;
    }
    eprintln!("making the Python environment {}", venv.display());
    succeed(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
    succeed(
        Command::new(&python)
            .args([
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
                "--no-deps",
                "-r",
            ])
            .arg(&pins_file),
    )?;
    succeed(Command::new(&python).args(["-m", "pip", "--disable-pip-version-check", "check"]))?;
    fs::write(&installed, pins).map_err(|e| format!("{}: {e}", installed.display()))?;
    Ok(python)
}

/// Runs `command` to its end.
///
/// # Errors
///
/// A message when it cannot be started or does not exit with 0.
pub(crate) fn succeed(command: &mut Command) -> Result<(), String> {
    let status = command
        .status()
        .map_err(|e| format!("{}: {e}", command.get_program().display()))?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("{command:?} failed: {status}"))
    }
}

/// The build folder, which `CARGO_TARGET_DIR` may have moved.
pub(crate) fn target() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(dir) => repository().join(dir),
        None => repository().join("target"),
    }
}
