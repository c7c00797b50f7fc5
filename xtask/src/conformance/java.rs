//! Java N5 and n5-zarr, from the class path that the user gives: each side reads what the other
//! wrote, both write one dataset at once, and `docs/internals/support.md` shows the results.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::Value;

use super::script::{report, script};
use crate::{python, tested};

/// The program's sources, which need nothing but N5.
const SOURCES: [&str; 3] = ["Peer.java", "Elements.java", "Beside.java"];

/// Those that need another library, by its name in the answer to `libraries`.
const MORE_SOURCES: [(&str, &str); 2] = [("n5-zarr", "Zarr2.java"), ("n5-zarr v3", "Zarr3.java")];

/// For how long both write one dataset.
const SECONDS: &str = "30";

/// Compiles the program, and compares.
///
/// # Errors
///
/// The program cannot be compiled; something was not run; an outcome is wrong.
pub(super) fn run(class_path: &str, only: Option<&str>) -> Result<(), String> {
    let start = Instant::now();
    let java = Java::compile(class_path)?;
    let output = script("zarr2", "java.py")?
        .args([SECONDS, only.unwrap_or("*")])
        .env("NDZARR_CONFORMANCE", tested::program("ndzarr-conformance")?)
        .env("NDZARR_TORTURE", tested::program("ndzarr-torture")?)
        .env("NDZARR_JAVA_CLASS_PATH", &java.class_path)
        .env("PYTHONHASHSEED", "0")
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| format!("java.py: {e}"))?;
    if !output.status.success() {
        return Err(format!("java.py: {}", output.status));
    }
    let outcomes = python::target().join("java.jsonl");
    fs::write(&outcomes, &output.stdout).map_err(|e| format!("{}: {e}", outcomes.display()))?;
    eprintln!("done in {:.0} s", start.elapsed().as_secs_f64());
    report("java_report.py", &[&outcomes], only.is_none())
}

/// The compiled program.
struct Java {
    /// The program, and the class path of the user.
    class_path: String,
    folder: PathBuf,
}

impl Java {
    fn compile(class_path: &str) -> Result<Self, String> {
        let folder = python::target().join("java-peer");
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        }
        let separator = if cfg!(windows) { ';' } else { ':' };
        let class_path = format!("{}{separator}{class_path}", folder.display());
        let java = Self { class_path, folder };
        SOURCES.iter().try_for_each(|source| java.javac(source))?;
        let found = java.libraries()?;
        // What is missing is named by the program, and again by the report.
        for (library, source) in MORE_SOURCES {
            if found.get(library).is_some() {
                java.javac(source)?;
            }
        }
        Ok(java)
    }

    fn javac(&self, source: &str) -> Result<(), String> {
        let sources = python::repository().join("xtask/src/conformance/java");
        let mut javac = Command::new("javac");
        // Libraries bring processors of annotations, which have nothing to do here.
        javac
            .args(["-proc:none", "-nowarn", "-d"])
            .arg(&self.folder)
            .args(["-cp", &self.class_path]);
        python::succeed(
            javac
                .arg("-sourcepath")
                .arg(&sources)
                .arg(sources.join(source)),
        )
        .map_err(|e| format!("{e}: is n5 4 or newer on the class path?"))
    }

    /// The libraries that the program finds on the class path.
    fn libraries(&self) -> Result<Value, String> {
        let mut java = Command::new("java");
        java.args(["-cp", &self.class_path, "Peer"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = java.spawn().map_err(|e| format!("java: {e}"))?;
        let to = child.stdin.take();
        to.ok_or("its input is piped")?
            .write_all(b"{\"do\": \"libraries\"}\n")
            .map_err(|e| e.to_string())?;
        let output = child.wait_with_output().map_err(|e| format!("java: {e}"))?;
        let answer: Value =
            serde_json::from_slice(&output.stdout).map_err(|e| format!("java: {e}"))?;
        Ok(answer["says"].clone())
    }
}
