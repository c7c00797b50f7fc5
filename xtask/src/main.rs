//! The tasks of this workspace: `cargo xtask <task>`.

mod fixtures;
mod python;

use std::process::ExitCode;

use clap::Parser;

/// The tasks of this workspace.
#[derive(Parser)]
#[command(name = "cargo xtask")]
enum Task {
    /// Regenerate testdata/ by running the pinned foreign writers.
    Fixtures(fixtures::Args),
}

fn main() -> ExitCode {
    let result = match Task::parse() {
        Task::Fixtures(args) => fixtures::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}
