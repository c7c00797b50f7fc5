//! `ndzarr completions`: completions for a shell.

use clap::{Args, CommandFactory};
use clap_complete::{Shell, generate};
use std::io::Write;

use crate::failure::Failure;
use crate::output::Output;

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

pub(crate) fn run<C: CommandFactory>(
    arguments: &Arguments,
    output: &mut Output,
) -> Result<(), Failure> {
    // `generate` panics if its writer fails.
    let mut text = Vec::new();
    generate(arguments.shell, &mut C::command(), "ndzarr", &mut text);
    Ok(output.raw().write_all(&text)?)
}
