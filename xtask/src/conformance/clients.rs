//! Programs that people read arrays with: each reads what ndzarr wrote, element by element, and
//! `docs/internals/support.md` says what came of it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use super::script::{report, script};
use crate::machines::folder::{self, COMPILERS, Folder};
use crate::{python, remote::install};

/// Those of the environment `clients`.
const OF_PYPI: [&str; 4] = ["xarray", "Dask", "rasterio", "netCDF4"];

/// Those of Debian's Python.
const OF_DEBIAN: [&str; 2] = ["GDAL", "netCDF4 of Debian"];

const OF_NPM: [&str; 2] = ["zarrita.js", "ome-zarr.js"];
const NPM_PACKAGES: [&str; 2] = ["zarrita@0.7.5", "ome-zarr.js@0.0.19"];

const NEUROGLANCER: &str = "neuroglancer";

/// Debian's packages, in steps.
const PACKAGES: [&[&str]; 2] = [&["nodejs", "chromium"], &["python3-gdal", "python3-netcdf4"]];

/// The scripts, from the root of the repository.
const READS: &str = "xtask/python/conformance/client_reads.py";
const SCRIPTS: &str = "xtask/src/conformance/clients";

/// What `client_reads.py` exits with if its program is not there.
const NOT_THERE: i32 = 3;

/// Has ndzarr write, and all clients read.
///
/// # Errors
///
/// ndzarr cannot write; something was not run; a client read something else.
pub(super) fn run(program: &Path) -> Result<(), String> {
    let start = Instant::now();
    let data = python::target().join("clients");
    if data.exists() {
        fs::remove_dir_all(&data).map_err(|e| format!("{}: {e}", data.display()))?;
    }
    fs::create_dir_all(&data).map_err(|e| format!("{}: {e}", data.display()))?;
    python::succeed(script("clients", "client_arrays.py")?.arg(&data).env("NDZARR_CONFORMANCE", program))?;

    let mut outcomes = Outcomes::default();
    for client in OF_PYPI {
        let mut command = script("clients", "client_reads.py")?;
        outcomes.add(&[client], lines(command.arg(&data).arg(client)));
    }
    let debian = debian();
    for client in OF_DEBIAN {
        let inside = Inside::of(&debian);
        outcomes.add(&[client], inside.and_then(|it| it.run(&["python3", READS], &[&data], &[client])));
    }
    let zarrita = format!("{SCRIPTS}/zarrita.mjs");
    let read = npm().and_then(|npm| Inside::of(&debian)?.run(&["node", &zarrita], &[&data, &npm], &[]));
    outcomes.add(&OF_NPM, read);
    let page = format!("{SCRIPTS}/neuroglancer.mjs");
    let read = neuroglancer().and_then(|(client, version)| {
        Inside::of(&debian)?.run(&["node", &page], &[&data, &client], &[&version])
    });
    outcomes.add(&[NEUROGLANCER], read);

    let kept = python::target().join("clients.jsonl");
    fs::write(&kept, &outcomes.0).map_err(|e| format!("{}: {e}", kept.display()))?;
    eprintln!("{} outcomes in {:.0} s", outcomes.0.lines().count(), start.elapsed().as_secs_f64());
    report("client_report.py", &kept, true)
}

/// Lines for `client_report.py`.
#[derive(Default)]
struct Outcomes(String);

impl Outcomes {
    /// Adds what these clients read, or why they were not run.
    fn add(&mut self, clients: &[&str], read: Result<String, String>) {
        let why = match read {
            Ok(lines) => {
                self.0.push_str(&lines);
                "it read no array".to_owned()
            }
            Err(why) => why,
        };
        for client in clients {
            self.0.push_str(&format!("{}\n", serde_json::json!([client, why])));
        }
    }
}

/// What a command prints: lines, each an outcome.
fn lines(command: &mut Command) -> Result<String, String> {
    let output = command.stderr(Stdio::piped()).output().map_err(|e| format!("{command:?}: {e}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let why = if output.status.code() == Some(NOT_THERE) { "not installed" } else { "failed" };
        return Err(format!("{why}: {}", said.trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Debian, with the packages of the clients.
fn debian() -> Result<Folder, String> {
    let folder = Folder::at(&folder::usual(), &COMPILERS)?;
    folder.add("clients", &PACKAGES)?;
    Ok(folder)
}

/// The folder of npm's packages.
fn npm() -> Result<PathBuf, String> {
    let file = install::npm("clients", "node_modules/zarrita/package.json", &NPM_PACKAGES)?;
    file.ancestors().nth(3).map(Path::to_path_buf).ok_or_else(|| "no folder of npm".to_owned())
}

/// The page of neuroglancer's Python package, and its version.
fn neuroglancer() -> Result<(PathBuf, String), String> {
    let mut command = Command::new(python::interpreter("clients")?);
    command.args([
        "-c",
        "import importlib.metadata as m; d = m.distribution('neuroglancer'); \
         print(d.version, d.locate_file('neuroglancer/static/client'))",
    ]);
    let output = command.output().map_err(|e| format!("{command:?}: {e}"))?;
    let said = String::from_utf8_lossy(&output.stdout);
    let (version, client) = said.trim().split_once(' ').ok_or("neuroglancer is not installed")?;
    Ok((PathBuf::from(client), version.to_owned()))
}

/// Debian, which sees the working copy and the build folder in it.
struct Inside<'f>(&'f Folder);

impl<'f> Inside<'f> {
    fn of(debian: &'f Result<Folder, String>) -> Result<Self, String> {
        debian.as_ref().map(Self).map_err(Clone::clone)
    }

    /// Runs a script with paths and other arguments.
    fn run(&self, script: &[&str], paths: &[&Path], rest: &[&str]) -> Result<String, String> {
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
