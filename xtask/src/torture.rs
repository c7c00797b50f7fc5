//! `cargo xtask torture`: builds and runs the torture program beside the pinned Python libraries.

use std::process::Command;

use crate::python;

/// Options of the task.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Do less, in about a minute.
    #[arg(long)]
    minute: bool,
    /// Run only the workloads whose name contains this.
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
    /// For how many seconds writers and readers meet a server with faults, after a fifth of that without
    /// any: 600 for a thorough run. Default: 60, or 6 in the short form.
    #[arg(long, value_name = "SECONDS")]
    soak_for: Option<u64>,
    /// Run only this history.
    #[arg(long, value_name = "SEED")]
    seed: Option<u64>,
    /// Steps of the history that are left out.
    #[arg(long, value_name = "STEPS", requires = "seed")]
    without: Option<String>,
}

/// Runs the task.
///
/// # Errors
///
/// The program cannot be built, or a figure is not what it must be.
pub(crate) fn run(args: &Args) -> Result<(), String> {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(python::repository());
    command.args(["run", "--quiet", "--package", "ndzarr-conformance", "--bin", "ndzarr-torture"]);
    if !args.dev {
        command.arg("--release");
    }
    command.arg("--");
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
    command.args(args.without.as_ref().map(|without| format!("--without={without}")));
    if !args.no_peers {
        command.arg("--python").arg(python::interpreter("zarr3")?);
        command.arg("--peer-script").arg(python::scripts().join("torture/peer.py"));
    }
    python::succeed(&mut command)
}
