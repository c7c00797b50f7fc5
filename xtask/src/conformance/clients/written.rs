//! Has those clients write that can, and ndzarr read.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::programs::{Inside, OF_DEBIAN, SCRIPTS, lines, npm};
use crate::conformance::script::script;
use crate::machines::folder::Folder;
use crate::python;

/// The clients of PyPI that write. xarray and Dask write by zarr-python, which other parts compare.
const OF_PYPI: [&str; 2] = ["rasterio", "netCDF4"];

const ZARRITA: &str = "zarrita.js";

/// The script, from the root of the repository.
const WRITES: &str = "xtask/python/conformance/client_writes.py";

/// Lines of `client_written.py`; `data` is the folder of client_arrays.py.
///
/// # Errors
///
/// ndzarr cannot be run.
pub(super) fn run(
    program: &Path,
    data: &Path,
    debian: &Result<Folder, String>,
) -> Result<String, String> {
    let mut written = Vec::new();
    for client in OF_PYPI {
        let stores = data.join(format!("by-{client}"));
        let mut command = script("clients", "client_writes.py")?;
        let printed = lines(command.arg(data).arg(client).arg(&stores));
        written.push(line(
            client,
            printed.map(|printed| json!([client, stores, printed])),
        ));
    }
    for client in OF_DEBIAN {
        let run = |inside: &Inside<'_>, stores: &str| {
            inside.run(&["python3", WRITES], &[data], &[client, stores])
        };
        written.push(line(client, in_debian(debian, client, run)));
    }
    let run = |inside: &Inside<'_>, stores: &str| {
        let script = format!("{SCRIPTS}/zarrita_writes.mjs");
        inside.run(&["node", &script], &[data, &npm()?], &[stores])
    };
    written.push(line(ZARRITA, in_debian(debian, ZARRITA, run)));

    let list = python::target().join("clients-wrote.jsonl");
    fs::write(&list, written.concat()).map_err(|e| format!("{}: {e}", list.display()))?;
    lines(
        script("clients", "client_written.py")?
            .arg(data)
            .arg(&list)
            .env("NDZARR_CONFORMANCE", program),
    )
}

/// What a client printed, and where its stores are; or why it was not run.
fn line(client: &str, written: Result<Value, String>) -> String {
    let written = written.unwrap_or_else(|why| json!([client, why]));
    format!("{written}\n")
}

/// Runs a client in Debian's folder, where it cannot change the working copy and writes to other
/// folders.
fn in_debian(
    debian: &Result<Folder, String>,
    client: &str,
    run: impl FnOnce(&Inside<'_>, &str) -> Result<String, String>,
) -> Result<Value, String> {
    let inside = Inside::of(debian)?;
    let name = format!("tmp/by-{}", client.replace(' ', "-"));
    let stores = inside.0.root().join(&name);
    if stores.exists() {
        fs::remove_dir_all(&stores).map_err(|e| format!("{}: {e}", stores.display()))?;
    }
    let printed = run(&inside, &format!("/{name}"))?;
    Ok(json!([client, stores, printed]))
}
