//! The neutral command-line tool that conformance tests drive: it opens, lists, reads, writes and converts what it is told.
#![forbid(unsafe_code)]

mod arguments;
mod batch;
mod convert;
mod elements;
mod failure;
mod info;
mod read;
mod spec;
mod write;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;
use ndzarr::{Group, Storage};

use crate::arguments::{Arguments, Command};
use crate::failure::Failure;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let mut out = io::stdout().lock();
    let result = match arguments.command {
        Some(Command::Batch) => batch::run(io::stdin().lock(), &mut out),
        _ => run(&arguments, &mut out),
    };
    match result.and_then(|()| Ok(out.flush()?)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // Nothing is left to do when standard error is gone as well.
            let _ = writeln!(io::stderr(), "error: {failure}");
            ExitCode::from(1)
        }
    }
}

/// Runs one command and prints what it has to say to `out`.
fn run(arguments: &Arguments, out: &mut dyn Write) -> Result<(), Failure> {
    if let Some(path) = &arguments.array_path {
        return elements::print(path, out);
    }
    match &arguments.command {
        Some(Command::Info { node }) => info::print(node, out),
        Some(Command::List { store, format, consolidated }) => {
            info::list(store, format.map(Into::into), (*consolidated).into(), out)
        }
        Some(Command::Read(read)) => read::run(read, out),
        Some(Command::Write(write)) => write::run(write),
        Some(Command::Convert(arguments)) => convert::run(arguments, out),
        Some(Command::Consolidate { store, node }) => {
            Ok(Group::open_in(Storage::folder(store), node)?.consolidate()?)
        }
        Some(Command::Batch) => Err(Failure::new("a batch cannot run a batch")),
        // Clap asks for one of the two.
        None => Err(Failure::new("nothing to do")),
    }
}
