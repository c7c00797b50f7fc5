//! Tortures ndzarr: writers side by side, killed writers, failing stores, little memory. Prints a table of figures and
//! fails if one of them is not what [the guarantees](../../../../../docs/guarantees.md) promise.
#![forbid(unsafe_code)]

mod dask;
mod faults;
mod kills;
mod layout;
mod memory;
mod peers;
mod process;
mod shared;
mod table;
mod torn;
mod write_log;

use std::error::Error;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;

use crate::peers::Peers;
use crate::table::Table;

/// What the workloads give.
type Outcome<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

/// Tortures ndzarr and prints a table of figures.
#[derive(Parser)]
#[command(name = "ndzarr-torture")]
struct Arguments {
    /// Do less, in about a minute.
    #[arg(long)]
    minute: bool,
    /// Run just the workloads whose name contains this.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Where the arrays are made; a temporary folder in it is removed at the end. Default: the system's.
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// A Python with tensorstore and zarr-python, to write beside ndzarr.
    #[arg(long, value_name = "FILE", requires = "peer_script")]
    python: Option<PathBuf>,
    /// The script that drives them.
    #[arg(long, value_name = "FILE")]
    peer_script: Option<PathBuf>,
    /// What a process that this program starts has to do.
    #[arg(long, hide = true, num_args = 1.., allow_hyphen_values = true)]
    worker: Vec<String>,
}

/// Where and how much.
struct Torture {
    folder: PathBuf,
    minute: bool,
    peers: Option<Peers>,
}

impl Torture {
    /// A number of repetitions, a tenth of it in the short form.
    fn times(&self, full: usize) -> usize {
        if self.minute { full.div_ceil(10) } else { full }
    }
}

type Workload = fn(&Torture, &mut Table) -> Outcome;

const WORKLOADS: [(&str, Workload); 9] = [
    ("shared", shared::run),
    ("attributes", shared::attributes),
    ("dask", dask::run),
    ("peers", peers::run),
    ("kills", kills::run),
    ("torn", torn::run),
    ("write-log", write_log::run),
    ("faults", faults::run),
    ("memory", memory::run),
];

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result =
        if arguments.worker.is_empty() { torture(arguments) } else { process::work(&arguments.worker) };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nothing is left to do when standard error is gone as well.
            let _ = writeln!(std::io::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn torture(arguments: Arguments) -> Outcome {
    let folder = match &arguments.folder {
        Some(folder) => tempfile::Builder::new().prefix("ndzarr-torture-").tempdir_in(folder)?,
        None => tempfile::Builder::new().prefix("ndzarr-torture-").tempdir()?,
    };
    let peers = match (arguments.python, arguments.peer_script) {
        (Some(python), Some(script)) => Some(Peers { python, script }),
        _ => None,
    };
    let torture = Torture { folder: folder.path().to_owned(), minute: arguments.minute, peers };
    let mut table = Table::new();
    for (name, workload) in WORKLOADS {
        if arguments.only.as_ref().is_some_and(|only| !name.contains(only)) {
            continue;
        }
        let start = Instant::now();
        if let Err(error) = workload(&torture, &mut table) {
            table.failed(name, &*error)?;
        }
        table.took(name, start.elapsed())?;
    }
    folder.close()?;
    table.close()
}
