//! The tasks of this workspace: `cargo xtask <task>`.
#![forbid(unsafe_code)]

mod conformance;
mod fixtures;
mod python;
mod tidy;

use std::process::ExitCode;

use clap::Parser;

/// The tasks of this workspace.
#[derive(Parser)]
#[command(name = "cargo xtask")]
enum Task {
    /// Compare ndzarr with other implementations in both directions and write docs/support.md.
    Conformance(conformance::Args),
    /// Regenerate testdata/ by running the pinned foreign writers.
    Fixtures(fixtures::Args),
    /// Prove the rules of the house: layers, unsafe code, sources, testdata/, links.
    Tidy,
}

fn main() -> ExitCode {
    let result = match Task::parse() {
        Task::Conformance(args) => conformance::run(&args),
        Task::Fixtures(args) => fixtures::run(&args),
        Task::Tidy => tidy::run(&python::repository()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}
