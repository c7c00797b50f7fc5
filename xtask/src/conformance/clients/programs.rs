//! Where the clients run: Debian in its folder, with packages of npm.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::machines::folder::{self, COMPILERS, Folder};
use crate::{python, remote::install};

/// The clients of Debian's Python.
pub(super) const OF_DEBIAN: [&str; 2] = ["GDAL", "netCDF4 of Debian"];

const NPM_PACKAGES: [&str; 2] = ["zarrita@0.7.5", "ome-zarr.js@0.0.19"];

/// Debian's packages, in steps.
const PACKAGES: [&[&str]; 2] = [
    &["nodejs", "chromium"],
    &["python3-gdal", "python3-netcdf4"],
];

/// The scripts in JavaScript, from the root of the repository.
pub(super) const SCRIPTS: &str = "xtask/src/conformance/clients";

/// The exit code of `client_reads.py` and `client_writes.py` if their program does not exist.
const NOT_INSTALLED: i32 = 3;

/// The output of a command: lines, each an outcome.
pub(super) fn lines(command: &mut Command) -> Result<String, String> {
    let output = command
        .stderr(Stdio::piped())
        .output()
        .map_err(|e| format!("{command:?}: {e}"))?;
    if !output.status.success() {
        let printed = String::from_utf8_lossy(&output.stderr);
        let why = if output.status.code() == Some(NOT_INSTALLED) {
            "not installed"
        } else {
            "failed"
        };
        return Err(format!("{why}: {}", printed.trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Debian, with the packages of the clients.
pub(super) fn debian() -> Result<Folder, String> {
    let folder = Folder::at(&folder::usual(), &COMPILERS)?;
    folder.add("clients", &PACKAGES)?;
    Ok(folder)
}

/// The folder of npm's packages.
pub(super) fn npm() -> Result<PathBuf, String> {
    let file = install::npm(
        "clients",
        "node_modules/zarrita/package.json",
        &NPM_PACKAGES,
    )?;
    file.ancestors()
        .nth(3)
        .map(Path::to_path_buf)
        .ok_or_else(|| "no folder of npm".to_owned())
}

/// Debian, which sees the working copy and the build folder in it.
pub(super) struct Inside<'f>(pub(super) &'f Folder);

impl<'f> Inside<'f> {
    pub(super) fn of(debian: &'f Result<Folder, String>) -> Result<Self, String> {
        debian.as_ref().map(Self).map_err(Clone::clone)
    }

    /// Runs a script with paths and other arguments.
    pub(super) fn run(
        &self,
        script: &[&str],
        paths: &[&Path],
        rest: &[&str],
    ) -> Result<String, String> {
        let mut command = self.0.inside();
        command.args(script);
        for path in paths {
            // The build folder may have been moved elsewhere.
            let seen = path.strip_prefix(python::repository());
            command.arg(seen.map_err(|_| format!("{} is not in the repository", path.display()))?);
        }
        lines(command.args(rest))
    }
}
