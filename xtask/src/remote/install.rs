//! Installs servers and packages below `target/`, from npm, Debian and crates.io. Those of PyPI
//! come with the environment of Python.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::python;

const AZURITE: &str = "azurite@3.37.0";
const S3S_FS: &str = "0.14.1";

fn folder(name: &str) -> Result<PathBuf, String> {
    let folder = python::target().join("xtask-servers").join(name);
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    Ok(folder)
}

/// Makes a program that does not exist; `make` is called with the folder.
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
    path.canonicalize()
        .map_err(|e| format!("{}: {e}", path.display()))
}

/// Runs a command that needs a registry, which may be out of reach for a while.
fn fetch(command: &mut Command) -> Result<(), String> {
    for pause in [5, 20, 60] {
        match python::succeed(command) {
            Ok(()) => return Ok(()),
            Err(error) => eprintln!("{error}; again in {pause} s"),
        }
        thread::sleep(Duration::from_secs(pause));
    }
    python::succeed(command)
}

/// azurite's program for node.
pub(super) fn azurite() -> Result<PathBuf, String> {
    npm(AZURITE, "node_modules/.bin/azurite-blob", &[AZURITE])
}

/// A file of npm's packages, which share a folder.
///
/// # Errors
///
/// npm does not exist or fails.
pub(crate) fn npm(name: &str, file: &str, packages: &[&str]) -> Result<PathBuf, String> {
    once(name, file, |folder| {
        let mut npm = Command::new("npm");
        // No package needs a script of its own.
        npm.args([
            "install",
            "--ignore-scripts",
            "--loglevel=error",
            "--no-audit",
            "--no-fund",
            "--prefix",
        ]);
        fetch(npm.arg(folder).args(packages))
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
            let mut apt = Command::new("apt-get");
            apt.arg("--quiet").args(arguments).current_dir(folder);
            apt
        };
        // A new machine does not know the packages yet.
        if python::succeed(&mut apt(&["download", name])).is_err() {
            fetch(&mut apt(&["update"]))?;
            fetch(&mut apt(&["download", name]))?;
        }
        let packages = fs::read_dir(folder)
            .map_err(|e| e.to_string())?
            .filter_map(Result::ok);
        for package in packages
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|it| it == "deb"))
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
        cargo.args([
            "install",
            "--quiet",
            "--locked",
            "s3s-fs",
            "--version",
            S3S_FS,
        ]);
        python::succeed(cargo.args(["--features", "binary", "--root"]).arg(folder))
    })
}
