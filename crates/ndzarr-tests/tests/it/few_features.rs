//! A program with few of ndzarr's features. It is a project of its own: in the workspace, other
//! crates enable more of them. `.ci/run all` lints each feature by itself.

use std::path::{Path, PathBuf};
use std::process::Command;

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What zarr-python writes unless told otherwise, with shards, is read with these two features; a
/// URL whose feature is off names it.
#[ignore = "compiles for a minute"]
#[test]
fn folders_and_zstd_are_enough_for_common_arrays() {
    const MAIN: &str = r#"
fn main() {
    let case = std::env::args().nth(1).expect("the folder of a case");
    let array = ndzarr::Array::<f64>::open(format!("{case}/store")).expect("it can be opened");
    let found = array.read(..).expect("it can be read");
    let found: Vec<u8> = found.iter().flat_map(|number| number.to_le_bytes()).collect();
    assert_eq!(found, std::fs::read(format!("{case}/expected.bin")).expect("it exists"));
    for (url, feature) in [("s3://a/b", "`s3`"), ("gs://a/b", "`gcs`"), ("az://a/b", "`azure`"), ("https://a/b", "`http`")] {
        let error = ndzarr::Array::<f64>::open(url).expect_err("its feature is off").to_string();
        assert!(error.contains(feature), "{error}");
    }
}
"#;
    let repository = repository().canonicalize().expect("the repository");
    let folder = tempfile::tempdir().expect("a folder");
    let facade = repository.join("crates/ndzarr");
    let manifest = format!(
        "[package]\nname = \"few\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n\
         ndzarr = {{ path = {facade:?}, default-features = false, features = [\"fs\", \"zstd\"] }}\n\n\
         [profile.dev]\ndebug = false\n"
    );
    std::fs::create_dir(folder.path().join("src")).expect("a folder");
    std::fs::write(folder.path().join("src/main.rs"), MAIN).expect("a file");
    std::fs::write(folder.path().join("Cargo.toml"), manifest).expect("a file");
    std::fs::copy(
        repository.join("Cargo.lock"),
        folder.path().join("Cargo.lock"),
    )
    .expect("the lock");
    let mut cargo = Command::new(env!("CARGO"));
    cargo
        .current_dir(folder.path())
        .args(["run", "--quiet", "--offline", "--target-dir"]);
    cargo.arg(repository.join("target/few-features"));
    cargo.arg(repository.join("testdata/zarr3/zp3-default-pipeline-sharded"));
    let ran = cargo.output().expect("cargo starts");
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
}

/// Crates that only stores of services bring: a runtime, and what speaks HTTP and TLS.
const OF_SERVICES: [&str; 6] = [
    "tokio",
    "object_store",
    "reqwest",
    "hyper",
    "rustls",
    "ring",
];

fn crates_with(features: &str) -> Vec<String> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(repository()).args([
        "tree",
        "--edges",
        "normal",
        "--prefix",
        "none",
        "--package",
        "ndzarr",
    ]);
    cargo.args([
        "--no-default-features",
        "--features",
        features,
        "--offline",
        "--locked",
    ]);
    let output = cargo.output().expect("cargo starts");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let name = |line: &str| line.split(' ').next().unwrap_or_default().to_owned();
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(name)
        .collect()
}

#[ignore = "it asks cargo, which other machines than the one that compiled may not have: long"]
#[test]
fn rs_49_without_the_features_of_services_nothing_of_theirs_is_built() {
    let usual = crates_with("default");
    let with_s3 = crates_with("default,s3");
    for name in OF_SERVICES {
        assert!(!usual.iter().any(|found| found == name), "{name}");
        assert!(with_s3.iter().any(|found| found == name), "{name}");
    }
}
