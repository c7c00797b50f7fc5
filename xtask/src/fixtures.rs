//! `cargo xtask fixtures`: regenerates `testdata/` by running the pinned foreign writers.

mod check;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::python;

/// The families whose folders belong to this task; `testdata/` may hold others.
const FAMILIES: [&str; 6] = ["zarr2", "zarr3", "draft", "n5", "bad", "cf"];

/// The environment and the script of every writer, in the order in which they run.
const WRITERS: &[(&str, &str)] = &[
    ("zarr2", "zarr_python_2.py"),
    ("zarr3", "zarr_python_3.py"),
    ("zarr3", "tensorstore_writer.py"),
    ("zarr3", "z5_writer.py"),
    ("zarr2", "zarr_python_2_draft.py"),
    ("zarr3", "n5_vectors.py"),
    ("zarr2", "by_hand_v2.py"),
    ("zarr3", "by_hand_v3.py"),
    ("zarr3", "by_hand_draft.py"),
    ("zarr3", "by_hand_n5.py"),
    ("cf", "xarray_writer.py"),
];

/// The readers that compare every case with its expected values after the writers have run.
const READERS: &[(&str, &str)] = &[("zarr3", "crosscheck.py"), ("zarr2", "crosscheck.py")];

/// Options of the task.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Make only the cases whose name (`family/case`) fits this pattern with `*` and `?`.
    #[arg(long, value_name = "GLOB")]
    only: Option<String>,
    /// Only check that the committed cases are complete; run nothing.
    #[arg(long, conflicts_with = "only")]
    check: bool,
}

/// Runs the task.
///
/// # Errors
///
/// A message naming the script that failed, or the first malformed case.
pub(crate) fn run(args: &Args) -> Result<(), String> {
    let testdata = python::repository().join("testdata");
    if !args.check {
        generate(args.only.as_deref(), &testdata)?;
    }
    let n_cases = check::all(&testdata, &FAMILIES)?;
    eprintln!("{n_cases} cases are complete");
    Ok(())
}

/// Runs all writers, then removes the cases that none of them makes any more.
fn generate(only: Option<&str>, testdata: &Path) -> Result<(), String> {
    let mut made = BTreeSet::new();
    for (venv, script) in WRITERS.iter().copied() {
        eprintln!("{script}");
        made.extend(run_script(venv, script, only, testdata)?);
    }
    if only.is_none() {
        for case in check::cases(testdata, &FAMILIES)? {
            if !made.contains(&case) {
                eprintln!("removing {case}");
                let path = testdata.join(&case);
                fs::remove_dir_all(&path).map_err(|e| format!("{}: {e}", path.display()))?;
            }
        }
    }
    for (venv, script) in READERS.iter().copied() {
        eprintln!("{script} in {venv}");
        run_script(venv, script, only, testdata)?;
    }
    Ok(())
}

/// Runs one script and returns the names of the cases that it is responsible for, made or left out.
fn run_script(
    venv: &str,
    script: &str,
    only: Option<&str>,
    testdata: &Path,
) -> Result<Vec<String>, String> {
    let output = Command::new(python::interpreter(venv)?)
        .arg(python::scripts().join("fixtures").join(script))
        .env("NDZARR_TESTDATA", testdata)
        .env("NDZARR_FIXTURES_ONLY", only.unwrap_or("*"))
        // Some writers iterate over sets of strings; the seed makes their order the same in every
        // run.
        .env("PYTHONHASHSEED", "0")
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| format!("{script}: {e}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut cases = Vec::new();
    for line in text.lines() {
        match line.strip_prefix("case ") {
            Some(case) => cases.push(case.to_owned()),
            None => eprintln!("{line}"),
        }
    }
    if output.status.success() {
        Ok(cases)
    } else {
        Err(format!("{script} failed: {}", output.status))
    }
}
