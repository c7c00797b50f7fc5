//! The neutral command-line tool that conformance tests drive: it opens, lists, reads, writes and
//! converts as its arguments say.
#![forbid(unsafe_code)]

mod arguments;
mod batch;
mod block;
mod copy;
mod dataset;
mod elements;
mod failure;
mod image;
mod info;
mod read;
mod run;
mod select;
mod spec;
mod write;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;

use crate::arguments::{Arguments, Command};

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let mut out = io::stdout().lock();
    let result = match arguments.command {
        Some(Command::Batch) => batch::run(io::stdin().lock(), &mut out),
        _ => run::run(&arguments, &mut out),
    };
    match result.and_then(|()| Ok(out.flush()?)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // If standard error is gone too, nothing can be done.
            let _ = writeln!(io::stderr(), "error: {failure}");
            ExitCode::from(1)
        }
    }
}
