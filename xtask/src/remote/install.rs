//! Installs servers and packages below `target/`, from npm, Debian and crates.io. Those of PyPI come with the
//! environment of Python.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::python;

const AZURITE: &str = "azurite@3.37.0";
const S3S_FS: &str = "0.14.1";

fn folder(name: &str) -> Result<PathBuf, String> {
    let folder = python::target().join("xtask-servers").join(name);
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    Ok(folder)
}

/// Makes a program that is not there; `make` is given the folder.
fn once(
    name: &str,
    program: &str,
    make: impl FnOnce(&Path) -> Result<(), String>,
) -> Result<PathBuf, String> {
    let folder = folder(name)?;
    let path = folder.join(program);
    if !path.exists() {
        eprintln!("installing {name} into {}", folder.display());
        make(&folder)?;
    }
    path.canonicalize().map_err(|e| format!("{}: {e}", path.display()))
}

/// azurite's program for node.
pub(super) fn azurite() -> Result<PathBuf, String> {
    npm(AZURITE, "node_modules/.bin/azurite-blob", &[AZURITE])
}

/// A file of npm's packages, which share a folder.
///
/// # Errors
///
/// npm is not there or fails.
pub(crate) fn npm(name: &str, file: &str, packages: &[&str]) -> Result<PathBuf, String> {
    once(name, file, |folder| {
        let mut npm = Command::new("npm");
        npm.args(["install", "--silent", "--no-audit", "--no-fund", "--prefix"]).arg(folder).args(packages);
        python::succeed(&mut npm)
    })
}

/// A server that is installed, or that of Debian's package, unpacked. Needs no root.
pub(super) fn debian(name: &str) -> Result<PathBuf, String> {
    let installed = Path::new("/usr/sbin").join(name);
    if installed.exists() {
        return Ok(installed);
    }
    once(name, &format!("usr/sbin/{name}"), |folder| {
        let apt = |arguments: &[&str]| {
            python::succeed(Command::new("apt-get").arg("--quiet").args(arguments).current_dir(folder))
        };
        // A new machine does not know the packages yet.
        apt(&["download", name]).or_else(|_| apt(&["update"]).and_then(|()| apt(&["download", name])))?;
        let packages = fs::read_dir(folder).map_err(|e| e.to_string())?.filter_map(Result::ok);
        for package in
            packages.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|it| it == "deb"))
        {
            python::succeed(Command::new("dpkg").arg("-x").arg(&package).arg(folder))?;
        }
        Ok(())
    })
}

/// s3s-fs, built from crates.io.
pub(super) fn s3s_fs() -> Result<PathBuf, String> {
    once("s3s-fs", "bin/s3s-fs", |folder| {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(["install", "--quiet", "--locked", "s3s-fs", "--version", S3S_FS]);
        python::succeed(cargo.args(["--features", "binary", "--root"]).arg(folder))
    })
}
