//! One turn: one process of one engine.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};

use crate::python;

/// The answer of an engine.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(super) struct Report {
    pub(super) wall_ns: u64,
    pub(super) cpu_ns: u64,
    pub(super) peak_bytes: u64,
    pub(super) page_faults: u64,
    pub(super) other_cpu_ns: u64,
    pub(super) waited_ns: u64,
    pub(super) checksum: Option<u32>,
    /// The bytes written, counted by the harness.
    #[serde(default)]
    pub(super) stored_bytes: u64,
    /// Of an append, frame by frame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) frames: Option<Frames>,
}

/// How long a frame took, and how many bytes were written for it.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(super) struct Frames {
    pub(super) p50_ns: u64,
    pub(super) p99_ns: u64,
    pub(super) worst_ns: u64,
    pub(super) written_bytes: u64,
}

/// Ticks of the clock by which the kernel counts.
const TICK_NS: u64 = 10_000_000;

impl Report {
    /// The time that counts: that of the call, or of nearly every frame.
    pub(super) fn time_ns(&self) -> u64 {
        self.frames.map_or(self.wall_ns, |frames| frames.p99_ns)
    }

    /// True if other programs disturbed it: they took processor time while it waited for a
    /// processor. Waiting by itself proves nothing: an engine with more threads than processors
    /// waits for itself.
    pub(super) fn is_disturbed(&self) -> bool {
        let others = self.other_cpu_ns > self.wall_ns / 10 + 2 * TICK_NS;
        let waited = self.waited_ns > self.wall_ns / 20;
        others && waited
    }
}

/// The engine of another commit.
pub(super) const BEFORE: &str = "ndzarr-before";

/// Where that commit is checked out and built.
pub(super) fn before() -> PathBuf {
    python::target().join("bench-before")
}

/// The command of an engine; those in Python run with this interpreter.
pub(super) fn command(engine: &str, python: &Path, request: &Path) -> Result<Command, String> {
    let script = match engine {
        "ndzarr" | "ndzarr-file-locks" | "ndzarr-into-c" | "ndzarr-one-call" => {
            return Ok(program("engine-ndzarr", request));
        }
        BEFORE => {
            let mut command = Command::new(before().join("target/release/engine-ndzarr"));
            command.arg(request);
            return Ok(command);
        }
        "zarrs" | "floor" => return Ok(program(&format!("engine-{engine}"), request)),
        "tensorstore" | "tensorstore-less-memory" => "tensorstore_engine.py",
        "ndzarr-python" => "ndzarr_engine.py",
        "zarr-python" | "zarr-python-fused" | "zarr-python-ndzarr" | "zarr-python-zarrs" => {
            "zarr_python.py"
        }
        "zarrista" => "zarrista_engine.py",
        "z5py" => "z5py_engine.py",
        "acquire-zarr" => "acquire_engine.py",
        "rechunker" => "rechunker_engine.py",
        "zarrs_reencode" => "reencode_engine.py",
        _ => return Err(format!("there is no engine {engine}")),
    };
    let mut command = match engine {
        "rechunker" => Command::new(python::interpreter("rechunker")?),
        _ => Command::new(python),
    };
    // NumPy's threads for matrices, which no row has, are busy for a tenth of a second after they
    // start.
    command
        .env("OPENBLAS_NUM_THREADS", "1")
        .arg(python::engines().join(script));
    if engine == "zarrs_reencode" {
        command.arg(tools().join("bin").join(engine));
    }
    if let Some(pipeline) = engine.strip_prefix("zarr-python-") {
        command.arg(format!("--{pipeline}"));
    } else if engine == "tensorstore-less-memory" {
        command.arg("--less-memory");
    }
    command.arg(request);
    Ok(command)
}

/// Where programs of peers are installed.
fn tools() -> PathBuf {
    python::target().join("bench-tools")
}

/// Installs the programs and packages that only these engines need.
///
/// # Errors
/// They cannot be downloaded or built.
pub(super) fn install<'e>(engines: impl Iterator<Item = &'e String>) -> Result<(), String> {
    for engine in engines {
        if engine == "rechunker" {
            python::interpreter(engine)?;
        }
        if engine == "zarrs_reencode" {
            let mut command = Command::new(env!("CARGO"));
            command.args([
                "install",
                "--quiet",
                "--locked",
                "zarrs_tools",
                "--version",
                "0.8.1",
                "--bin",
                engine,
            ]);
            python::succeed(
                command
                    .arg("--root")
                    .arg(tools())
                    .arg("--target-dir")
                    .arg(tools().join("build")),
            )?;
        }
    }
    Ok(())
}

fn program(name: &str, request: &Path) -> Command {
    let mut command = Command::new(python::target().join("release").join(name));
    command.arg(request);
    command
}

/// Runs a turn to its end.
///
/// # Errors
/// The engine fails or gives no report.
pub(super) fn run(mut command: Command) -> Result<Report, String> {
    let output = command
        .output()
        .map_err(|e| format!("{}: {e}", command.get_program().display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let report = text
        .lines()
        .rev()
        .find_map(|line| serde_json::from_str(line).ok());
    match report {
        Some(report) if output.status.success() => Ok(report),
        _ => {
            let error = String::from_utf8_lossy(&output.stderr);
            let last = error
                .lines()
                .rev()
                .find(|line| !line.trim().is_empty())
                .unwrap_or("no report");
            Err(format!("{}: {last}", output.status))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_that_had_to_wait_for_others_is_disturbed() {
        let quiet = Report {
            wall_ns: 200_000_000,
            cpu_ns: 350_000_000,
            peak_bytes: 0,
            page_faults: 0,
            other_cpu_ns: 10_000_000,
            waited_ns: 1_000_000,
            checksum: None,
            stored_bytes: 0,
            frames: None,
        };
        assert!(!quiet.is_disturbed());
        // It waits for its own threads if they outnumber the processors; no other process disturbed
        // it.
        assert!(
            !Report {
                waited_ns: 100_000_000,
                ..quiet
            }
            .is_disturbed()
        );
        // Others used a processor that it did not need.
        assert!(
            !Report {
                other_cpu_ns: 100_000_000,
                ..quiet
            }
            .is_disturbed()
        );
        assert!(
            Report {
                other_cpu_ns: 100_000_000,
                waited_ns: 20_000_000,
                ..quiet
            }
            .is_disturbed()
        );
    }
}
