//! `cargo xtask torture`: builds and runs the torture program with the pinned Python libraries, and
//! the Python package under Dask.

mod machine;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::{python, remote, tested, wheel};

/// Options of the task.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Do less, in about a minute.
    #[arg(long)]
    minute: bool,
    /// Run only the workloads whose name contains this. `machine` runs only if it is named, with
    /// its parts `machine-power` and `machine-network`: it starts a virtual machine, where power is
    /// cut and folders are mounted by NFS and SMB. It needs root, QEMU and, the first time,
    /// packages of Debian.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// Build it with the dev profile.
    #[arg(long)]
    dev: bool,
    /// Leave out what needs Python and, the first time, a network.
    #[arg(long)]
    no_peers: bool,
    /// Where the arrays are made, `/dev/shm` for instance. Default: the system's temporary folder.
    #[arg(long, value_name = "FOLDER")]
    folder: Option<String>,
    /// How many calls are dropped while they are pending, by the workload `cancel`. Default:
    /// 100,000, or in the short form as many as there is time for.
    #[arg(long, value_name = "CALLS")]
    drops: Option<u64>,
    /// For how many minutes random histories run, each time others. Default: the same ones each
    /// time.
    #[arg(long, value_name = "MINUTES")]
    histories_for: Option<u64>,
    /// For how many seconds writers and readers use a server with faults, after a fifth of that
    /// without any: 600 for a thorough run. Default: 60, or 6 in the short form.
    #[arg(long, value_name = "SECONDS")]
    soak_for: Option<u64>,
    /// Run only this history.
    #[arg(long, value_name = "SEED")]
    seed: Option<u64>,
    /// Steps of the history that are left out.
    #[arg(long, value_name = "STEPS", requires = "seed")]
    without: Option<String>,
}

const PROGRAM: &str = "ndzarr-torture";

/// The workload that is a script.
const DASK: &str = "dask-distributed";

/// Runs the task.
///
/// # Errors
///
/// The program cannot be built, or a figure is not what it must be.
pub(crate) fn run(args: &Args) -> Result<(), String> {
    let only = args.only.as_deref();
    if let Some(part) = only.and_then(|name| name.strip_prefix(machine::NAME)) {
        return machine::run(&built(args.dev)?, part.trim_start_matches('-'), args.minute);
    }
    let program = if only == Some(DASK) {
        Ok(())
    } else {
        program(args)
    };
    let wanted = only == Some(DASK)
        || only.is_none() && !args.minute && !args.no_peers && args.seed.is_none();
    let dask = if wanted {
        dask_distributed(args)
    } else {
        Ok(())
    };
    program.and(dask)
}

/// Builds the program.
fn built(dev: bool) -> Result<PathBuf, String> {
    if dev {
        return tested::program(PROGRAM);
    }
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(python::repository());
    cargo.args([
        "build",
        "--quiet",
        "--release",
        "--package",
        "ndzarr-conformance",
        "--bin",
        PROGRAM,
    ]);
    python::succeed(&mut cargo)?;
    Ok(python::target()
        .join("release")
        .join(format!("{PROGRAM}{}", std::env::consts::EXE_SUFFIX)))
}

fn program(args: &Args) -> Result<(), String> {
    let mut command = Command::new(built(args.dev)?);
    command.current_dir(python::repository());
    if args.minute {
        command.arg("--minute");
    }
    if let Some(only) = &args.only {
        command.args(["--only", only]);
    }
    if let Some(folder) = &args.folder {
        command.args(["--folder", folder]);
    }
    let numbers = [
        ("--drops", args.drops),
        ("--histories-for", args.histories_for),
        ("--soak-for", args.soak_for),
        ("--seed", args.seed),
    ];
    for (name, number) in numbers {
        command.args(number.map(|number| format!("{name}={number}")));
    }
    command.args(
        args.without
            .as_ref()
            .map(|without| format!("--without={without}")),
    );
    if !args.no_peers {
        command.arg("--python").arg(python::interpreter("zarr3")?);
        command
            .arg("--peer-script")
            .arg(python::scripts().join("torture/peer.py"));
    }
    python::succeed(&mut command)
}

/// Workers of Dask, which store to a folder, to two mounts of one and to moto.
fn dask_distributed(args: &Args) -> Result<(), String> {
    let python = wheel::installed("cluster", args.dev)?;
    let place = args
        .folder
        .as_ref()
        .map_or_else(std::env::temp_dir, PathBuf::from);
    let folder = place.join(format!("{DASK}-{}", std::process::id()));
    fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut script = Command::new(python);
    script
        .arg(
            python::scripts()
                .join("torture")
                .join("dask_distributed.py"),
        )
        .arg(&folder);
    script.env("PYTHONDONTWRITEBYTECODE", "1");
    let result = remote::moto().and_then(|server| python::succeed(server.configure(&mut script)));
    fs::remove_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    result
}
