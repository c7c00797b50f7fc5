//! Programs that people read arrays with: each reads what ndzarr wrote, element by element; those
//! that can write do so, and ndzarr reads. `docs/internals/support.md` shows the results.

mod programs;
mod written;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use programs::{Inside, OF_DEBIAN, SCRIPTS, debian, lines, npm};

use super::script::{report, script};
use crate::python;

/// The clients of PyPI, in the environment `clients`.
const OF_PYPI: [&str; 4] = ["xarray", "Dask", "rasterio", "netCDF4"];

const OF_NPM: [&str; 2] = ["zarrita.js", "ome-zarr.js"];

const NEUROGLANCER: &str = "neuroglancer";

/// The scripts, from the root of the repository.
const READS: &str = "xtask/python/conformance/client_reads.py";

/// Has ndzarr write, and all clients read; then those that can write, and ndzarr read.
///
/// # Errors
///
/// ndzarr cannot write; something was not run; a client or ndzarr read something else.
pub(super) fn run(program: &Path) -> Result<(), String> {
    let start = Instant::now();
    let data = python::target().join("clients");
    if data.exists() {
        fs::remove_dir_all(&data).map_err(|e| format!("{}: {e}", data.display()))?;
    }
    fs::create_dir_all(&data).map_err(|e| format!("{}: {e}", data.display()))?;
    python::succeed(
        script("clients", "client_arrays.py")?
            .arg(&data)
            .env("NDZARR_CONFORMANCE", program),
    )?;

    let mut outcomes = Outcomes::default();
    for client in OF_PYPI {
        let mut command = script("clients", "client_reads.py")?;
        outcomes.add(&[client], lines(command.arg(&data).arg(client)));
    }
    let debian = debian();
    for client in OF_DEBIAN {
        let inside = Inside::of(&debian);
        outcomes.add(
            &[client],
            inside.and_then(|it| it.run(&["python3", READS], &[&data], &[client])),
        );
    }
    let zarrita = format!("{SCRIPTS}/zarrita.mjs");
    let read =
        npm().and_then(|npm| Inside::of(&debian)?.run(&["node", &zarrita], &[&data, &npm], &[]));
    outcomes.add(&OF_NPM, read);
    let page = format!("{SCRIPTS}/neuroglancer.mjs");
    let read = neuroglancer().and_then(|(client, version)| {
        Inside::of(&debian)?.run(&["node", &page], &[&data, &client], &[&version])
    });
    outcomes.add(&[NEUROGLANCER], read);

    let written = written::run(program, &data, &debian)?;
    let kept = python::target().join("clients.jsonl");
    let kept_written = python::target().join("clients-written.jsonl");
    fs::write(&kept, &outcomes.0).map_err(|e| format!("{}: {e}", kept.display()))?;
    fs::write(&kept_written, &written).map_err(|e| format!("{}: {e}", kept_written.display()))?;
    let n_outcomes = outcomes.0.lines().count() + written.lines().count();
    eprintln!(
        "{n_outcomes} outcomes in {:.0} s",
        start.elapsed().as_secs_f64()
    );
    report("client_report.py", &[&kept, &kept_written], true)
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
            self.0
                .push_str(&format!("{}\n", serde_json::json!([client, why])));
        }
    }
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
    let printed = String::from_utf8_lossy(&output.stdout);
    let (version, client) = printed
        .trim()
        .split_once(' ')
        .ok_or("neuroglancer is not installed")?;
    Ok((PathBuf::from(client), version.to_owned()))
}
