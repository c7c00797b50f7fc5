//! `cargo xtask zfp`: builds and tests with the feature `zfp`, which needs cmake and libclang. Both
//! come from PyPI, into an environment below `target/`.

use std::path::PathBuf;
use std::process::Command;

use crate::python;

/// Options of the task.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The cargo command to run instead of the tests:
    /// `cargo xtask zfp -- build --release -p ndzarr --features zfp`.
    #[arg(last = true)]
    cargo: Vec<String>,
}

const TESTS: [&[&str]; 3] = [
    &["test", "--package", "ndzarr-zfp", "--features", "zfp"],
    &["test", "--package", "ndzarr-codec", "--features", "zfp"],
    &[
        "test",
        "--package",
        "ndzarr-tests",
        "--features",
        "zfp",
        "--test",
        "cases",
    ],
];

/// Runs the task.
///
/// # Errors
///
/// Why it could not run, or the first command that failed.
pub(crate) fn run(args: &Args) -> Result<(), String> {
    if args.cargo.is_empty() {
        return TESTS
            .iter()
            .try_for_each(|arguments| python::succeed(cargo()?.args(*arguments)));
    }
    python::succeed(cargo()?.args(&args.cargo))
}

/// Cargo, with cmake and libclang in its environment.
fn cargo() -> Result<Command, String> {
    let python = python::interpreter("zfp")?;
    let bin = python.parent().map(PathBuf::from).unwrap_or_default();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(bin).chain(std::env::split_paths(&path)))
        .map_err(|e| e.to_string())?;
    let libclang =
        output(Command::new(&python).args(["-c", "import clang; print(clang.__path__[0])"]))?;
    // The package has the library without the headers that belong to the compiler.
    let headers = output(Command::new("cc").arg("-print-file-name=include"))?;
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .current_dir(python::repository())
        .env("PATH", path)
        .env("LIBCLANG_PATH", PathBuf::from(libclang).join("native"))
        .env("BINDGEN_EXTRA_CLANG_ARGS", format!("-I{headers}"));
    Ok(cargo)
}

fn output(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|e| format!("{command:?}: {e}"))?;
    if !output.status.success() {
        return Err(format!("{command:?}: {}", output.status));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
