//! `cargo xtask python`: builds the Python wheel and tests it in fresh virtual environments.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::python;

/// Options of the task.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only these interpreters, `3.11`, which have to be at hand; default: each from 3.11 on that
    /// is.
    #[arg(long, value_name = "VERSION")]
    only: Vec<String>,
    /// Only the newest interpreter at hand, with all packages.
    #[arg(long)]
    quick: bool,
    /// Pack what `cargo test --workspace` compiles, not optimised, which takes a minute.
    #[arg(long)]
    dev: bool,
    /// Only build the wheel.
    #[arg(long)]
    build: bool,
    /// Also run zarr-python's own tests: those of indices against our array, those of codecs and
    /// arrays under the pipeline. `FOLDER` is a checkout of zarr-python of the version that is
    /// installed.
    #[arg(long, value_name = "FOLDER")]
    zarr_tests: Option<PathBuf>,
    /// Arguments of pytest: `-- -k fork`.
    #[arg(last = true)]
    pytest: Vec<OsString>,
}

/// The wheel is no larger, with remote stores.
const LARGEST: u64 = 9 << 20;

/// The oldest interpreter, and those that may be at hand.
const VERSIONS: [&str; 5] = ["3.11", "3.12", "3.13", "3.14", "3.15"];

/// Runs the task.
///
/// # Errors
///
/// The wheel cannot be built, is too large, or a test of it failed.
pub(crate) fn run(args: &Args) -> Result<(), String> {
    if args.build {
        return build(args.dev).map(drop);
    }
    let found: Vec<(&str, PathBuf)> = VERSIONS
        .into_iter()
        .filter(|version| args.only.is_empty() || args.only.iter().any(|only| only == version))
        .filter_map(|version| Some((version, interpreter(version)?)))
        .collect();
    if let Some(missing) = args
        .only
        .iter()
        .find(|only| found.iter().all(|(version, _)| only != version))
    {
        return Err(format!(
            "Python {missing} is not at hand, or not one of {VERSIONS:?}"
        ));
    }
    if found.is_empty() {
        return Err(format!("no interpreter of Python {VERSIONS:?} is at hand"));
    }
    let wheel = build(args.dev)?;
    let versions: Vec<&str> = found.iter().map(|(version, _)| *version).collect();
    for (at, sets) in plan(&versions, args.quick) {
        let (version, interpreter) = &found[at];
        for set in sets {
            eprintln!("\n==> Python {version}, {set}");
            let venv = environment(version, interpreter, set, &wheel)?;
            test(&venv, set, &args.pytest)?;
            if let Some(folder) = args
                .zarr_tests
                .as_ref()
                .filter(|_| at + 1 == found.len() && *set == "full")
            {
                zarr_tests(&venv, folder)?;
            }
        }
    }
    Ok(())
}

/// The interpreters that are used, by their index in the list, with their sets of packages.
fn plan(versions: &[&str], quick: bool) -> Vec<(usize, &'static [&'static str])> {
    let used = versions
        .iter()
        .enumerate()
        .filter(|(at, _)| !quick || at + 1 == versions.len());
    used.map(|(at, version)| {
        // NumPy 1.26, the oldest that the wheel takes, has wheels only for these.
        let has_oldest = matches!(*version, "3.11" | "3.12");
        let sets: &[&str] = if has_oldest && !quick {
            &["numpy1", "full"]
        } else {
            &["full"]
        };
        (at, sets)
    })
    .collect()
}

/// An environment with the wheel and what `requirements/wheel-<set>.txt` says, for the newest
/// interpreter.
///
/// # Errors
///
/// No interpreter is at hand, or the wheel cannot be built or installed.
pub(crate) fn installed(set: &str, dev: bool) -> Result<PathBuf, String> {
    let found = VERSIONS
        .into_iter()
        .rev()
        .find_map(|version| Some((version, interpreter(version)?)));
    let (version, interpreter) =
        found.ok_or_else(|| format!("no interpreter of Python {VERSIONS:?} is at hand"))?;
    environment(version, &interpreter, set, &build(dev)?)
}

fn package() -> PathBuf {
    python::repository().join("crates").join("ndzarr-python")
}

/// Builds the wheel, as small as it can be unless it is for tests, and checks its size.
fn build(dev: bool) -> Result<PathBuf, String> {
    let maturin = python::interpreter("wheel")?;
    let out = python::target().join("wheels");
    if out.exists() {
        fs::remove_dir_all(&out).map_err(|e| format!("{}: {e}", out.display()))?;
    }
    if dev {
        pack(&maturin, &out)?;
    } else {
        release(&maturin, &out)?;
    }
    let mut wheels = fs::read_dir(&out).map_err(|e| format!("{}: {e}", out.display()))?;
    let wheel = wheels.find_map(|file| {
        let path = file.ok()?.path();
        path.extension()
            .is_some_and(|extension| extension == "whl")
            .then_some(path)
    });
    let wheel = wheel.ok_or("no wheel was made")?;
    if !dev {
        let script = python::scripts().join("wheel").join("compress.py");
        python::succeed(Command::new(&maturin).arg(script).arg(&wheel))?;
    }
    let size = fs::metadata(&wheel)
        .map_err(|e| format!("{}: {e}", wheel.display()))?
        .len();
    eprintln!(
        "{}: {:.2} MiB",
        wheel.display(),
        size as f64 / f64::from(1 << 20)
    );
    if !dev && size > LARGEST {
        return Err(format!("the wheel is larger than {LARGEST} bytes"));
    }
    Ok(wheel)
}

/// The wheel that users get.
fn release(maturin: &Path, out: &Path) -> Result<(), String> {
    let mut command = Command::new(maturin);
    command.args([
        "-m",
        "maturin",
        "build",
        "--locked",
        "--quiet",
        "--profile",
        "wheel",
        "--interpreter",
    ]);
    command
        .arg(maturin)
        .arg("--out")
        .arg(out)
        .arg("--target-dir")
        .arg(python::target());
    // The system's linker and compiler are enough; what the workspace sets for its own tests is not
    // for the wheel.
    command
        .current_dir(package())
        .env_remove("CXX")
        .env_remove("RUSTFLAGS");
    // Rust's own linker there: one copy of functions with the same code.
    if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        command.env("RUSTFLAGS", "-Clink-arg=-Wl,--icf=all");
    }
    python::succeed(&mut command)
}

/// A wheel of what `cargo test --workspace` compiles: maturin builds one package, whose
/// dependencies have other features.
fn pack(maturin: &Path, out: &Path) -> Result<(), String> {
    let repository = python::repository();
    let build = ["build", "--quiet", "--locked", "--workspace", "--lib"];
    python::succeed(Command::new("cargo").args(build).current_dir(&repository))?;
    let library = format!("{DLL_PREFIX}_ndzarr{DLL_SUFFIX}");
    let script = python::scripts().join("wheel").join("pack.py");
    let mut command = Command::new(maturin);
    command
        .arg(script)
        .arg(package())
        .arg(python::target().join("debug").join(library))
        .arg(out);
    python::succeed(&mut command)
}

/// The program of a version of Python, if it runs.
fn interpreter(version: &str) -> Option<PathBuf> {
    let runs = |program: &Path| {
        let mut command = Command::new(program);
        command.args([
            "-c",
            "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])",
        ]);
        let output = command
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output()
            .ok()?;
        (output.status.success() && String::from_utf8_lossy(&output.stdout).trim() == version)
            .then_some(())
    };
    let name = format!("python{version}");
    let mut candidates = vec![PathBuf::from(&name)];
    // Those of pyenv that its settings have not chosen.
    if let Some(home) = std::env::var_os("HOME") {
        let versions = PathBuf::from(home).join(".pyenv").join("versions");
        let folders = fs::read_dir(versions).into_iter().flatten().flatten();
        candidates.extend(folders.map(|folder| folder.path().join("bin").join(&name)));
    }
    candidates
        .into_iter()
        .find(|program| runs(program).is_some())
}

/// A new environment with the wheel and what `requirements/wheel-<set>.txt` says.
fn environment(
    version: &str,
    interpreter: &Path,
    set: &str,
    wheel: &Path,
) -> Result<PathBuf, String> {
    let venv = python::target()
        .join("xtask-venvs")
        .join(format!("wheel-{version}-{set}"));
    if venv.exists() {
        fs::remove_dir_all(&venv).map_err(|e| format!("{}: {e}", venv.display()))?;
    }
    python::succeed(Command::new(interpreter).args(["-m", "venv"]).arg(&venv))?;
    let python = venv.join("bin").join("python");
    let pins = python::scripts()
        .join("requirements")
        .join(format!("wheel-{set}.txt"));
    let mut install = Command::new(&python);
    install
        .args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "-r",
        ])
        .arg(pins)
        .arg(wheel);
    python::succeed(&mut install)?;
    Ok(python)
}

/// Runs the tests; those of a package that the environment lacks are skipped, unless it has `full`
/// packages.
fn test(python: &Path, set: &str, more: &[OsString]) -> Result<(), String> {
    let mut pytest = Command::new(python);
    if set == "full" {
        pytest.env("NDZARR_ALL_PACKAGES", "1");
    }
    pytest
        .args([
            "-m",
            "pytest",
            "-q",
            "--no-header",
            "-p",
            "no:cacheprovider",
            "tests",
        ])
        .args(more);
    python::succeed(
        pytest
            .current_dir(package())
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdin(Stdio::null()),
    )
}

/// zarr-python's own tests, from an unchanged checkout, with the packages that they need as well as
/// pytest.
fn zarr_tests(python: &Path, folder: &Path) -> Result<(), String> {
    let needed = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "hypothesis",
        "pytest-asyncio",
    ];
    python::succeed(Command::new(python).args(needed))?;
    let script = python::scripts().join("wheel").join("zarr_tests.py");
    python::succeed(
        Command::new(python)
            .arg(script)
            .arg(folder)
            .env("PYTHONDONTWRITEBYTECODE", "1"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quick_form_takes_the_newest_interpreter() {
        let planned = |versions: &[&str], quick| {
            let sets = plan(versions, quick).into_iter();
            sets.map(|(at, sets)| format!("{} {}", versions[at], sets.join(" ")))
                .collect::<Vec<_>>()
        };
        let all = ["3.11", "3.12", "3.13"];
        assert_eq!(planned(&all, true), ["3.13 full"]);
        assert_eq!(
            planned(&all, false),
            ["3.11 numpy1 full", "3.12 numpy1 full", "3.13 full"]
        );
        assert_eq!(planned(&["3.12"], true), ["3.12 full"]);
    }
}
