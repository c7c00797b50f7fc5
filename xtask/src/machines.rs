//! `cargo xtask machines`: builds and tests for systems that this machine is not, in a folder with
//! Debian's compilers, and prints what passed.

pub(crate) mod folder;
mod outcome;
mod system;

use std::path::PathBuf;
use std::time::Instant;

use folder::{COMPILERS, Folder};
use system::{Extent, System};

/// Options of the task.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The systems. Default: all of them, one after the other.
    systems: Vec<System>,
    /// The folder, of up to 8 GB. What it lacks is installed, which takes up to 5 minutes, a
    /// network and root. Default: `target/machines`.
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,
    /// Of i686 only the packages below those of arrays, of wasm only the cases of testdata in Node:
    /// a few minutes, for `.ci/run all`.
    #[arg(long)]
    quick: bool,
    /// How many jobs cargo runs at once. Default: one for each processor.
    #[arg(long, short, value_name = "JOBS")]
    jobs: Option<usize>,
}

/// Runs the task.
///
/// # Errors
///
/// The folder cannot be made; something does not build; a test failed.
#[allow(clippy::print_stdout)]
pub(crate) fn run(args: &Args) -> Result<(), String> {
    let folder = Folder::at(
        &args.folder.clone().unwrap_or_else(folder::usual),
        &COMPILERS,
    )?;
    let systems = if args.systems.is_empty() {
        System::ALL.to_vec()
    } else {
        args.systems.clone()
    };
    let extent = if args.quick {
        Extent::Quick
    } else {
        Extent::Whole
    };
    let mut rows = Vec::new();
    for system in systems {
        eprintln!("\n==> {}", system.describe());
        let start = Instant::now();
        let outcome = system.run(&folder, extent, args.jobs)?;
        rows.push((system, outcome, start.elapsed().as_secs()));
    }
    println!("| system | builds | passed | failed | time |\n|---|---|---|---|---|");
    for (system, outcome, time) in &rows {
        println!(
            "| {} | {outcome} | {} min {:02} s |",
            system.describe(),
            time / 60,
            time % 60
        );
    }
    for (system, outcome, _) in &rows {
        for failure in &outcome.failures {
            println!("{}: {failure}", system.describe());
        }
    }
    match rows
        .iter()
        .filter(|(_, outcome, _)| !outcome.is_good())
        .count()
    {
        0 => Ok(()),
        n => Err(format!("{n} systems have failures")),
    }
}
