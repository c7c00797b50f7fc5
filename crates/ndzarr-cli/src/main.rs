//! The command line of ndzarr: looks into, checks, compares, copies and converts arrays.
#![forbid(unsafe_code)]

mod arguments;
mod checks;
mod command;
mod elements;
mod failure;
mod files;
mod outcome;
mod output;
mod parallel;
mod places;
mod usage;
mod verbs;

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use clap::Parser;

use crate::command::Cli;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::output::{Output, harmless, wants_color};
use crate::places::without_secrets_of;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) if error.use_stderr() && wants_json() => {
            return fail(Failure::usage(usage::line(&error)), true, false);
        }
        Err(error) if error.use_stderr() => {
            // The stream may be closed.
            let _ = write!(io::stderr(), "{}", harmless_text(usage::text(&error)));
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
        // Help, or the version.
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let mut output = Output::new(&cli.global);
    let outcome = command::run(&cli.command, &cli.global, &mut output);
    match outcome.and_then(|outcome| output.flush().map(|()| outcome)) {
        Ok(Outcome::Good) => ExitCode::SUCCESS,
        Ok(Outcome::Found) => ExitCode::from(1),
        Err(failure) => {
            // Results from before the error come first.
            let _ = output.flush();
            let color = wants_color(cli.global.color, io::stderr().is_terminal());
            fail(failure, cli.global.json, color)
        }
    }
}

/// True if the arguments, which cannot be parsed, ask for JSON.
fn wants_json() -> bool {
    let is_option = |argument: &OsString| argument != "--";
    std::env::args_os()
        .skip(1)
        .take_while(is_option)
        .any(|argument| argument == "--json")
}

/// The text of an error without the secrets of URLs among the arguments.
fn harmless_text(text: String) -> String {
    let arguments: Vec<String> = std::env::args_os()
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect();
    without_secrets_of(arguments.iter().map(String::as_str), text)
}

fn fail(failure: Failure, json: bool, color: bool) -> ExitCode {
    let failure = failure.map_message(harmless_text);
    // If standard error is closed too, nothing can be printed.
    let mut err = io::stderr().lock();
    let _ = match &failure {
        Failure::Closed => Ok(()),
        failure if json => writeln!(err, "{}", failure.json()),
        failure => {
            let name = if color {
                "\x1b[31mndzarr:\x1b[0m"
            } else {
                "ndzarr:"
            };
            writeln!(err, "{name} {}", harmless(failure.message()))
        }
    };
    ExitCode::from(failure.status())
}
