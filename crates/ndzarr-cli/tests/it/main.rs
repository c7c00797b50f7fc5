//! Runs the program and looks at what it prints, writes and answers. Traps of the command line are
//! named by their numbers.

mod accounts;
mod cat_and_import;
mod copies;
mod copies_into_folders;
mod copies_planned;
mod damage;
mod differences;
mod foreign_layouts;
mod help;
mod looking;
mod pictures;
mod pyramids;
mod quarantines;
mod reference;
mod remote;
mod repairs;
mod secrets;
mod shell;
mod space;
mod statistics;
mod times;
#[cfg(unix)]
mod unreadable;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use ndzarr::ndarray::ArrayD;
use ndzarr::{Array, ArrayBuilder, Element};
use serde_json::Value;
use tempfile::TempDir;

/// A folder for a test, and the program running in it.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The program with these arguments, without colours and variables of the caller.
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ndzarr"));
        command
            .args(arguments)
            .current_dir(self.0.path())
            .stdin(Stdio::null());
        for variable in [
            "NDZARR_THREADS",
            "NDZARR_MEMORY",
            "NDZARR_DURABILITY",
            "NO_COLOR",
        ] {
            command.env_remove(variable);
        }
        command
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        Ran::of(&self.command(arguments).output().expect("it runs"))
    }

    /// Runs it with `--json` and gives the lines.
    fn json(&self, arguments: &[&str]) -> Vec<Value> {
        let ran = self.run(&[arguments, &["--json"]].concat());
        ran.out
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON on each line"))
            .collect()
    }

    /// What is printed with status 0.
    fn good(&self, arguments: &[&str]) -> String {
        let ran = self.run(arguments);
        assert_eq!(
            (ran.status, &ran.err[..]),
            (0, ""),
            "{arguments:?}: {}",
            ran.out
        );
        ran.out
    }

    /// What is on standard error with this status.
    fn bad(&self, status: i32, arguments: &[&str]) -> String {
        let ran = self.run(arguments);
        assert_eq!(ran.status, status, "{arguments:?}: {} {}", ran.out, ran.err);
        ran.err
    }

    /// An array of which each element is a function of its index.
    fn array<T: Element>(
        &self,
        name: &str,
        builder: ArrayBuilder<T>,
        of: impl Fn(&[usize]) -> T,
    ) -> Array<T> {
        let array = builder.create(self.path(name)).expect("it is new");
        let shape: Vec<usize> = array.shape().iter().map(|&n| n as usize).collect();
        let elements =
            ArrayD::from_shape_fn(shape, |index| of(ndzarr::ndarray::Dimension::slice(&index)));
        array.write(.., &elements).expect("it is written");
        array
    }
}

/// What the program did.
#[derive(Debug)]
struct Ran {
    status: i32,
    out: String,
    err: String,
}

impl Ran {
    fn of(output: &Output) -> Self {
        Self {
            status: output.status.code().unwrap_or(-1),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// A case of the repository's test data.
fn testdata(case: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../testdata")
        .join(case)
        .display()
        .to_string()
}

/// All files below a folder, by their paths from there.
fn files(folder: &Path) -> Vec<String> {
    let (mut found, mut pending) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(at) = pending.pop() {
        for entry in std::fs::read_dir(&at).into_iter().flatten().flatten() {
            let path = entry.path();
            match path.is_dir() {
                true => pending.push(path),
                false => found.push(
                    path.strip_prefix(folder)
                        .expect("below")
                        .display()
                        .to_string(),
                ),
            }
        }
    }
    found.sort();
    found
}
