//! `cargo xtask remote`: the store suite, arrays, concurrent writers, and reads by other programs
//! on servers of S3, Azure and HTTP that others made.

pub(crate) mod install;
mod server;

use std::process::Command;

use crate::{python, tested};
use server::{Kind, Server};

/// Options of the task.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Run the tests in a bucket of your own instead, below this prefix, which has to be empty:
    /// `s3://bucket/prefix`, `gs://…` or `az://…`. Credentials come from the environment variables
    /// of the service. What the tests leave is below the prefix, to be removed.
    #[arg(long, value_name = "URL", conflicts_with = "only")]
    url: Option<String>,
    /// Start only these servers. Default: all but s3s-fs, which takes minutes to build.
    #[arg(long, value_name = "NAME")]
    only: Vec<Kind>,
}

/// Runs the task.
///
/// # Errors
///
/// A server cannot be installed or started; a test failed, or did not fail where it must.
pub(crate) fn run(args: &Args) -> Result<(), String> {
    if let Some(url) = &args.url {
        return pass(tests(BUCKET_TESTS).env("NDZARR_REMOTE", url));
    }
    let kinds = if args.only.is_empty() {
        Kind::USUAL.to_vec()
    } else {
        args.only.clone()
    };
    for kind in kinds {
        eprintln!("\n==> {}", kind.name());
        test_on(kind).map_err(|error| format!("{}: {error}", kind.name()))?;
    }
    Ok(())
}

const BUCKET_TESTS: &str = "real_servers::real_bucket";
const WEB_TESTS: &str = "real_servers::real_web";
/// The most requests of writers of one chunk; without waits between their attempts they make twice
/// as many.
const MOST_REQUESTS: usize = 600;
const LOSERS: &str = "real_servers::real_bucket_of_concurrent_writers";

/// A server of S3.
///
/// # Errors
///
/// It cannot be installed or started.
pub(crate) fn moto() -> Result<Server, String> {
    start(Kind::Moto)
}

fn start(kind: Kind) -> Result<Server, String> {
    let folder = python::target().join("remote").join(kind.name());
    // An earlier run may have left values.
    if folder.exists() {
        std::fs::remove_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    }
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    Server::start(kind, &folder)
}

fn test_on(kind: Kind) -> Result<(), String> {
    let server = start(kind)?;
    match kind {
        Kind::Nginx | Kind::Lighttpd | Kind::Python => {
            pass(
                server
                    .configure(&mut tests(WEB_TESTS))
                    .env("NDZARR_REMOTE_FOLDER", server.served()),
            )?;
        }
        Kind::S3sFs => return loses(server.configure(&mut tests(LOSERS))),
        Kind::Azurite => pass(server.configure(&mut tests(BUCKET_TESTS)))?,
        Kind::Moto => {
            pass(server.configure(&mut tests(BUCKET_TESTS)))?;
            let n = server.n_requests("/tests/writers/chunk/")?;
            eprintln!("{n} requests for 120 updates of one chunk by 8 writers");
            if !(240..MOST_REQUESTS).contains(&n) {
                return Err(format!(
                    "RS-41: they are not between 240 and {MOST_REQUESTS}"
                ));
            }
        }
    }
    let mut cross = Command::new(python::interpreter("remote")?);
    cross
        .arg(python::scripts().join("remote").join("cross.py"))
        .arg(kind.name())
        .arg(server.served());
    cross
        .env("NDZARR_CONFORMANCE", tested::program("ndzarr-conformance")?)
        .env("PYTHONDONTWRITEBYTECODE", "1");
    python::succeed(server.configure(&mut cross))
}

/// Runs a test that must fail: s3s-fs checks conditions too late, so concurrent writers lose
/// values.
fn loses(test: &mut Command) -> Result<(), String> {
    let output = test
        .output()
        .map_err(|e| format!("{}: {e}", test.get_program().display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    match text.lines().find(|line| line.contains("updates are lost")) {
        Some(line) if !output.status.success() => {
            eprintln!("as expected: {line}");
            Ok(())
        }
        _ => Err(format!(
            "the test for writers that meet does not fail as it must:\n{text}"
        )),
    }
}

/// The tests with these names, which are ignored unless a server is named.
fn tests(names: &str) -> Command {
    let mut cargo = tested::cargo_test(&["--lib", "--test", "it"]);
    cargo.args(["--", "--ignored", names]);
    cargo
}

/// Runs tests of which ndzarr-store-object and ndzarr-tests must have one, so that no name is
/// misspelt.
fn pass(tests: &mut Command) -> Result<(), String> {
    let output = tests
        .output()
        .map_err(|e| format!("{}: {e}", tests.get_program().display()))?;
    let text = String::from_utf8_lossy(&output.stdout);
    eprint!("{text}{}", String::from_utf8_lossy(&output.stderr));
    let has_some = |line: &&str| line.starts_with("test result:") && !line.contains(" 0 passed");
    if output.status.success() && text.lines().filter(has_some).count() == 2 {
        return Ok(());
    }
    Err("tests failed, or there are none of this name".to_owned())
}
