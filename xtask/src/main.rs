//! The tasks of this workspace: `cargo xtask <task>`.

use std::process::ExitCode;

fn main() -> ExitCode {
    eprintln!("usage: cargo xtask <task>");
    ExitCode::from(2)
}
