//! Tortures ndzarr: concurrent writers, killed writers, failing stores, little memory. Prints a
//! table of figures and fails if one of them breaks [the
//! guarantees](../../../../../docs/guarantees.md).
#![forbid(unsafe_code)]
#![allow(clippy::print_stderr, reason = "it says what goes wrong")]

mod common;
mod concurrent;
mod failing;
mod histories;
mod interrupted;
mod memory;
mod worker;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use clap::Parser;

use crate::common::table::Table;
use crate::common::torture::{Outcome, Peers, Torture};
#[cfg(target_os = "linux")]
use crate::concurrent::java;
use crate::concurrent::{appends, attributes, create, dask, hosts, one_unit, peers, torn};
use crate::failing::{faults, soak};
use crate::interrupted::{cancel, kills, write_log};

/// Tortures ndzarr and prints a table of figures.
#[derive(Parser)]
#[command(name = "ndzarr-torture")]
struct Arguments {
    /// Do less, in about a minute.
    #[arg(long)]
    minute: bool,
    /// Run only the workloads whose name contains this.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Where the arrays are made, in a temporary folder that is removed at the end. Default: the
    /// system's temporary folder, or `/dev/shm` where writers should overlap often.
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// How many calls are dropped while they are pending, by the workload `cancel`. Default:
    /// 100,000, or in the short form as many as there is time for.
    #[arg(long, value_name = "CALLS")]
    drops: Option<u64>,
    /// For how many minutes random histories run, each time others. Default: the same ones each
    /// time.
    #[arg(long, value_name = "MINUTES")]
    histories_for: Option<u64>,
    /// For how many seconds writers and readers use a server with faults, after a fifth of that
    /// without any. Default: 60, or 6 in the short form.
    #[arg(long, value_name = "SECONDS")]
    soak_for: Option<u64>,
    /// Run only this history.
    #[arg(long, value_name = "SEED")]
    seed: Option<u64>,
    /// Steps of the history that are left out.
    #[arg(long, value_name = "STEPS", value_delimiter = ',', requires = "seed")]
    without: Vec<usize>,
    /// After how many seconds without a step a history hangs.
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    patience: u64,
    /// A Python with tensorstore and zarr-python, to write together with ndzarr.
    #[arg(long, value_name = "FILE", requires = "peer_script")]
    python: Option<PathBuf>,
    /// The script that drives them.
    #[arg(long, value_name = "FILE")]
    peer_script: Option<PathBuf>,
    /// A folder, and two folders where it is mounted, each by a host of its own: for the workload
    /// `hosts`, instead of sshfs.
    #[arg(long, value_name = "FOLDER", num_args = 3)]
    mounted: Vec<PathBuf>,
    /// The task of a process started by this program.
    #[arg(long, hide = true, num_args = 1.., allow_hyphen_values = true)]
    worker: Vec<String>,
}

type Workload = fn(&Torture, &mut Table) -> Outcome;

const WORKLOADS: &[(&str, Workload)] = &[
    ("shared", one_unit::run),
    ("appends", appends::run),
    ("attributes", attributes::run),
    ("create", create::run),
    ("dask", dask::run),
    ("peers", peers::run),
    #[cfg(target_os = "linux")]
    ("java", java::run),
    ("kills", kills::run),
    ("torn", torn::run),
    ("write-log", write_log::run),
    ("faults", faults::run),
    ("soak", soak::run),
    ("cancel", cancel::run),
    ("histories", histories::run),
    ("memory", memory::run),
    ("hosts", hosts::run),
];

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = if arguments.worker.is_empty() {
        run(arguments)
    } else {
        worker::work(&arguments.worker)
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // If standard error is gone too, nothing can be done.
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Arguments) -> Outcome {
    let shared_memory = Path::new("/dev/shm");
    let given = arguments.folder.clone();
    let folder = temporary(&given.clone().unwrap_or_else(std::env::temp_dir))?;
    let quick = given.unwrap_or_else(|| {
        if shared_memory.is_dir() {
            shared_memory.to_owned()
        } else {
            std::env::temp_dir()
        }
    });
    let quick_folder = temporary(&quick)?;
    let duration = arguments
        .histories_for
        .map(|minutes| Duration::from_secs(60 * minutes));
    // In a virtual machine a minute is longer.
    let is_short = arguments.minute && arguments.mounted.is_empty();
    let usual = Duration::from_secs(if is_short { 10 * 60 } else { 30 * 60 });
    let soak =
        Duration::from_secs(
            arguments
                .soak_for
                .unwrap_or(if arguments.minute { 6 } else { 60 }),
        );
    watch(
        usual + duration.unwrap_or_default() + 2 * soak,
        [folder.path().to_owned(), quick_folder.path().to_owned()],
    );
    let peers = match (arguments.python, arguments.peer_script) {
        (Some(python), Some(script)) => Some(Peers { python, script }),
        _ => None,
    };
    let torture = Torture {
        folder: folder.path().to_owned(),
        quick_folder: quick_folder.path().to_owned(),
        minute: arguments.minute,
        peers,
        drops: arguments.drops,
        duration,
        soak,
        seed: arguments.seed,
        patience: Duration::from_secs(arguments.patience),
        mounted: arguments.mounted,
        without: arguments.without.into_iter().collect(),
    };
    let mut table = Table::new();
    for &(name, workload) in WORKLOADS {
        if arguments
            .only
            .as_ref()
            .is_some_and(|only| !name.contains(only))
        {
            continue;
        }
        let start = Instant::now();
        if let Err(error) = workload(&torture, &mut table) {
            table.failed(name, &*error)?;
        }
        table.took(name, start.elapsed())?;
    }
    folder.close()?;
    quick_folder.close()?;
    table.close()
}

fn temporary(folder: &Path) -> io::Result<tempfile::TempDir> {
    tempfile::Builder::new()
        .prefix("ndzarr-torture-")
        .tempdir_in(folder)
}

/// Ends this process, and with it the workers, when it hangs: writers that wait for each other are
/// a failure like others.
fn watch(limit: Duration, folders: [PathBuf; 2]) {
    thread::spawn(move || {
        thread::sleep(limit);
        let _ = writeln!(io::stderr(), "error: not done after {} s", limit.as_secs());
        for folder in folders {
            let _ = std::fs::remove_dir_all(folder);
        }
        std::process::exit(1);
    });
}
