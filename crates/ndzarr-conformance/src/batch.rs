//! Many commands in one process: the start of a process costs more than most commands.

use std::io::{BufRead, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

use clap::Parser;
use serde_json::json;

use crate::arguments::Arguments;
use crate::failure::Failure;

/// Runs the command in each line of `input`, a JSON list of arguments, and answers each with a line
/// of JSON: `status`, `stdout`, `stderr`.
pub(crate) fn run(input: impl BufRead, out: &mut dyn Write) -> Result<(), Failure> {
    for line in input.lines() {
        let (status, stdout, stderr) = answer(&line?);
        let stdout = String::from_utf8_lossy(&stdout);
        writeln!(
            out,
            "{}",
            json!({"status": status, "stdout": stdout, "stderr": stderr})
        )?;
        out.flush()?;
    }
    Ok(())
}

fn answer(line: &str) -> (u8, Vec<u8>, String) {
    let words: Vec<String> = match serde_json::from_str(line) {
        Ok(words) => words,
        Err(error) => return (2, Vec::new(), format!("error: {error}")),
    };
    let name = std::iter::once("ndzarr-conformance".to_owned());
    let arguments = match Arguments::try_parse_from(name.chain(words)) {
        Ok(arguments) => arguments,
        Err(error) => return (2, Vec::new(), error.to_string()),
    };
    let mut stdout = Vec::new();
    // A panic concerns one command and must not lose the others.
    match catch_unwind(AssertUnwindSafe(|| {
        crate::run::run(&arguments, &mut stdout)
    })) {
        Ok(Ok(())) => (0, stdout, String::new()),
        Ok(Err(failure)) => (1, stdout, format!("error: {failure}")),
        Err(_) => (101, stdout, "error: panicked".to_owned()),
    }
}
