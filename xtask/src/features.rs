//! `cargo xtask features`: that the crates build without warnings under any set of features. `zfp`,
//! which needs more than cargo and a C compiler, has its own task.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::python;

/// The feature that needs cmake and libclang.
const NEEDS_MORE: &str = "zfp";

/// Runs the task.
///
/// # Errors
///
/// Why it could not run, or the first command that failed.
pub(crate) fn run() -> Result<(), String> {
    // Each codec alone, and none.
    lint("ndzarr-codec", "")?;
    for feature in of("ndzarr-codec")? {
        lint("ndzarr-codec", &feature)?;
    }
    // With all of its features it is linted as part of the workspace.
    lint("ndzarr", "")?;
    // Deflate by flate2 alone.
    let mut cargo = cargo(&["test", "--quiet", "--lib"], "ndzarr-codec", "deflate");
    python::succeed(&mut cargo)?;
    few()
}

/// The features that suffice for the arrays that most writers of Zarr v3 make.
const FEW: &str = "fs,zstd";

/// What zarr-python writes unless told otherwise, with shards, read by a program that has these features
/// alone, and a URL whose feature is off. It is a workspace of its own: in this one, other crates would
/// enable more of them.
fn few() -> Result<(), String> {
    const MAIN: &str = r#"
fn main() {
    let case = std::env::args().nth(1).expect("the folder of a case");
    let array = ndzarr::Array::<f64>::open(format!("{case}/store")).expect("it can be opened");
    let found = array.read(..).expect("it can be read");
    let found: Vec<u8> = found.iter().flat_map(|number| number.to_le_bytes()).collect();
    assert_eq!(found, std::fs::read(format!("{case}/expected.bin")).expect("it is there"));
    for (url, feature) in [("s3://a/b", "`s3`"), ("gs://a/b", "`gcs`"), ("az://a/b", "`azure`"), ("https://a/b", "`http`")] {
        let error = ndzarr::Array::<f64>::open(url).expect_err("its feature is off").to_string();
        assert!(error.contains(feature), "{error}");
    }
}
"#;
    eprintln!("a program with ndzarr's {FEW} alone");
    let (repository, folder) = (python::repository(), python::target().join("few-features"));
    let features: Vec<&str> = FEW.split(',').collect();
    let path = repository.join("crates/ndzarr");
    let manifest = format!(
        "[package]\nname = \"few\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n\
         ndzarr = {{ path = {path:?}, default-features = false, features = {features:?} }}\n\n\
         [profile.dev]\ndebug = false\n"
    );
    let written = fs::create_dir_all(folder.join("src"))
        .and_then(|()| fs::write(folder.join("src/main.rs"), MAIN))
        .and_then(|()| fs::write(folder.join("Cargo.toml"), manifest))
        .and_then(|()| fs::copy(repository.join("Cargo.lock"), folder.join("Cargo.lock")));
    written.map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(&folder).args(["run", "--quiet", "--offline", "--target-dir"]).arg(python::target());
    python::succeed(cargo.arg(repository.join("testdata/zarr3/zp3-default-pipeline-sharded")))
}

fn lint(package: &str, features: &str) -> Result<(), String> {
    eprintln!("{package}: {}", if features.is_empty() { "no features" } else { features });
    python::succeed(cargo(&["clippy", "--quiet"], package, features).args(["--", "-D", "warnings"]))
}

fn cargo(command: &[&str], package: &str, features: &str) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(python::repository()).args(command);
    cargo.args(["--package", package, "--no-default-features", "--features", features]);
    cargo
}

/// The features of a package that are to build here.
fn of(package: &str) -> Result<Vec<String>, String> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(python::repository()).args(["metadata", "--no-deps", "--format-version", "1"]);
    let output = cargo.output().map_err(|e| format!("{cargo:?}: {e}"))?;
    let metadata: Value = serde_json::from_slice(&output.stdout).map_err(|e| format!("{cargo:?}: {e}"))?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let features = packages
        .filter(|known| known["name"] == package)
        .filter_map(|known| known["features"].as_object())
        .flat_map(|features| features.keys().cloned())
        .filter(|feature| feature != "default" && feature != NEEDS_MORE);
    let features: Vec<String> = features.collect();
    if features.is_empty() { Err(format!("{package} has no features")) } else { Ok(features) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Crates that only stores of services bring: a runtime, and what speaks HTTP and TLS.
    const OF_SERVICES: [&str; 6] = ["tokio", "object_store", "reqwest", "hyper", "rustls", "ring"];

    fn crates_with(features: &str) -> Vec<String> {
        let mut cargo = cargo(&["tree", "--edges", "normal", "--prefix", "none"], "ndzarr", features);
        let output = cargo.args(["--offline", "--locked"]).output().expect("cargo starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let name = |line: &str| line.split(' ').next().unwrap_or_default().to_owned();
        String::from_utf8_lossy(&output.stdout).lines().map(name).collect()
    }

    /// `few` looks at the errors.
    #[test]
    fn rs_49_without_the_features_of_services_nothing_of_theirs_is_built() {
        let (usual, with_s3) = (crates_with("default"), crates_with("default,s3"));
        for name in OF_SERVICES {
            assert!(!usual.iter().any(|found| found == name), "{name}");
            assert!(with_s3.iter().any(|found| found == name), "{name}");
        }
    }
}
