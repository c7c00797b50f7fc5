//! `cargo xtask steady`: runs the tests many times on one core, alone and beside busy loops, and
//! counts failures.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::python;

/// Options of the task.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// How often each test program runs in each of the three conditions.
    #[arg(long, default_value_t = 10)]
    times: usize,
    /// Loops that keep the processors busy in the third condition.
    #[arg(long, default_value_t = 8)]
    busy: usize,
    /// Run just in these conditions. Default: all three.
    #[arg(long = "in", value_name = "CONDITION", value_delimiter = ',')]
    conditions: Vec<Condition>,
    /// Run only the test programs whose name contains this.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
}

#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Condition {
    OneCore,
    Alone,
    Busy,
}

impl Condition {
    const ALL: [Self; 3] = [Self::OneCore, Self::Alone, Self::Busy];

    fn name(self) -> &'static str {
        match self {
            Self::OneCore => "one core",
            Self::Alone => "alone",
            Self::Busy => "busy",
        }
    }
}

/// A test program, and the folder that it runs in.
struct Program {
    name: String,
    file: PathBuf,
    folder: PathBuf,
}

/// A test program that takes longer hangs, however busy the machine.
const PATIENCE: Duration = Duration::from_secs(60 * 60);

/// Runs the task.
///
/// # Errors
///
/// The tests cannot be built, or one of them failed.
pub(crate) fn run(args: &Args) -> Result<(), String> {
    let mut programs = build()?;
    programs.retain(|program| args.only.as_ref().is_none_or(|only| program.name.contains(only)));
    let output = python::target().join("steady.txt");
    let mut failures: BTreeMap<String, [usize; 3]> = BTreeMap::new();
    for (at, condition) in Condition::ALL.into_iter().enumerate() {
        if !(args.conditions.is_empty() || args.conditions.contains(&condition)) {
            continue;
        }
        for time in 0..args.times {
            let start = Instant::now();
            for program in &programs {
                for test in failed(program, condition, args.busy, &output)? {
                    eprintln!("{}, {test}: failed", condition.name());
                    failures.entry(test).or_default()[at] += 1;
                }
            }
            let (name, took) = (condition.name(), start.elapsed().as_secs());
            eprintln!("{name}: {} of {}, {} programs in {took} s", time + 1, args.times, programs.len());
        }
    }
    if failures.is_empty() {
        return Ok(());
    }
    eprintln!("{:<80} {:>8} {:>8} {:>8}", "failures", "one core", "alone", "busy");
    for (test, [one_core, alone, busy]) in &failures {
        eprintln!("{test:<80} {one_core:>8} {alone:>8} {busy:>8}");
    }
    Err(format!("{} tests failed", failures.len()))
}

/// Builds the test programs. Documentation examples are not included.
fn build() -> Result<Vec<Program>, String> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(python::repository());
    cargo
        .args(["test", "--workspace", "--no-run", "--message-format", "json"])
        .stderr(std::process::Stdio::inherit());
    let output = cargo.output().map_err(|error| format!("{cargo:?}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{cargo:?}: {}", output.status));
    }
    let messages = String::from_utf8_lossy(&output.stdout).into_owned();
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let program = |message: Value| {
        // A program that is not a test has an executable as well.
        message["profile"]["test"].as_bool()?.then_some(())?;
        let folder = Path::new(message["manifest_path"].as_str()?).parent()?;
        let target = message["target"]["name"].as_str()?;
        Some(Program {
            name: format!("{}/{target}", folder.file_name()?.display()),
            file: message["executable"].as_str()?.into(),
            folder: folder.to_owned(),
        })
    };
    Ok(messages.filter_map(program).collect())
}

/// Runs a program once. Returns the tests that failed, or the program's name where it does not say
/// which.
fn failed(
    program: &Program,
    condition: Condition,
    busy: usize,
    output: &Path,
) -> Result<Vec<String>, String> {
    let say = |error: std::io::Error| format!("{}: {error}", program.file.display());
    let file = File::create(output).map_err(say)?;
    let mut command = if condition == Condition::OneCore {
        let mut command = Command::new("taskset");
        command.args(["-c", "0"]).arg(&program.file);
        command
    } else {
        Command::new(&program.file)
    };
    command.current_dir(&program.folder);
    command.stdout(file.try_clone().map_err(say)?).stderr(file);
    let ended = AtomicBool::new(false);
    let n_busy = if condition == Condition::Busy { busy } else { 0 };
    let status = thread::scope(|scope| {
        for _ in 0..n_busy {
            scope.spawn(|| {
                while !ended.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let status = wait(&mut command);
        ended.store(true, Ordering::Relaxed);
        status
    });
    if status.map_err(say)? {
        return Ok(Vec::new());
    }
    let text = std::fs::read(output).map_err(say)?;
    let text = String::from_utf8_lossy(&text).into_owned();
    let of_line = |line: &str| {
        let test = line.strip_prefix("test ")?.strip_suffix("FAILED")?.trim_end().strip_suffix("...")?;
        Some(format!("{}: {}", program.name, test.trim_end()))
    };
    let tests: Vec<String> = text.lines().filter_map(of_line).collect();
    Ok(if tests.is_empty() { vec![format!("{} as a whole", program.name)] } else { tests })
}

/// Whether the program succeeds. A program that hangs is killed.
fn wait(command: &mut Command) -> std::io::Result<bool> {
    let (mut child, start) = (command.spawn()?, Instant::now());
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status.success());
        }
        if start.elapsed() > PATIENCE {
            child.kill()?;
            child.wait()?;
            return Ok(false);
        }
        thread::sleep(Duration::from_millis(20));
    }
}
