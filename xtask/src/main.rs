//! The tasks of this workspace: `cargo xtask <task>`.
#![forbid(unsafe_code)]
#![allow(clippy::print_stderr, reason = "tasks say what they do")]

mod api;
mod bench;
mod conformance;
mod fixtures;
mod machines;
mod python;
mod remote;
mod tested;
mod tidy;
mod torture;
mod wheel;
mod zfp;

use std::process::ExitCode;

use clap::Parser;

/// The tasks of this workspace.
#[derive(Parser)]
#[command(name = "cargo xtask")]
enum Task {
    /// Compare the public API with its list, crates/ndzarr/public-api.txt.
    Api(api::Args),
    /// Measure ndzarr, its peers and a floor, on the workloads of benchmarks/definitions.
    Bench(bench::Args),
    /// Compare ndzarr with other implementations in both directions and write
    /// docs/internals/support.md.
    Conformance(conformance::Args),
    /// Regenerate testdata/ by running the pinned foreign writers.
    Fixtures(fixtures::Args),
    /// Build and test for other systems in a folder with Debian's compilers, and print a table.
    Machines(machines::Args),
    /// Build the Python wheel and test it on each interpreter at hand, with the oldest and the
    /// newest NumPy.
    Python(wheel::Args),
    /// Test buckets and web servers with servers that others made, and with other programs.
    Remote(remote::Args),
    /// Prove the rules of the house: layers, unsafe code, sources, testdata/, links.
    Tidy,
    /// Torture the library with concurrent writers, killed writers and failing stores; print a
    /// table of figures.
    Torture(torture::Args),
    /// Build and test with the feature `zfp`, with cmake and libclang from PyPI.
    Zfp(zfp::Args),
}

fn main() -> ExitCode {
    let result = match Task::parse() {
        Task::Api(args) => api::run(&args),
        Task::Bench(args) => bench::run(&args),
        Task::Conformance(args) => conformance::run(&args),
        Task::Fixtures(args) => fixtures::run(&args),
        Task::Machines(args) => machines::run(&args),
        Task::Python(args) => wheel::run(&args),
        Task::Remote(args) => remote::run(&args),
        Task::Tidy => tidy::run(&python::repository()),
        Task::Torture(args) => torture::run(&args),
        Task::Zfp(args) => zfp::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}
