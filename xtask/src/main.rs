//! The tasks of this workspace: `cargo xtask <task>`.
#![forbid(unsafe_code)]

mod fixtures;
mod python;
mod tidy;

use std::process::ExitCode;

use clap::Parser;

/// The tasks of this workspace.
#[derive(Parser)]
#[command(name = "cargo xtask")]
enum Task {
    /// Regenerate testdata/ by running the pinned foreign writers.
    Fixtures(fixtures::Args),
    /// Prove the rules of the house: layers, unsafe code, sources, testdata/, links.
    Tidy,
}

fn main() -> ExitCode {
    let result = match Task::parse() {
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
