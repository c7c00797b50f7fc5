//! `cargo xtask conformance`: ndzarr against other implementations, in both directions.
//!
//! The cells are in `xtask/python/conformance/cells.py`; scripts run them against the peers of each
//! environment and give one outcome a line. `report.py` judges them by the known limits of the
//! peers.

mod clients;
mod java;
mod script;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::Instant;

use crate::python;
use script::{report, script};

/// Environments, and into how many processes the cells of each are dealt.
const ENVIRONMENTS: &[(&str, usize)] = &[("zarr3", 4), ("zarr2", 2)];

/// Options of the task.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Run one cell for each type, codec and layout instead of all their combinations.
    #[arg(long)]
    quick: bool,
    /// Run only the cells whose name (`format/type/codec/layout`) fits this pattern with `*` and
    /// `?`.
    #[arg(long, value_name = "FILTER")]
    only: Option<String>,
    /// Compare nothing: rewrite the page from the outcomes of the last full run, after a limit was
    /// reworded.
    #[arg(long, conflicts_with_all = ["quick", "only"])]
    recorded: bool,
    /// Compare only ZIP archives, in both directions.
    #[arg(long, conflicts_with_all = ["quick", "only", "recorded"])]
    archives: bool,
    /// Compare only random selections, read and written.
    #[arg(long, conflicts_with_all = ["quick", "only", "recorded", "archives"])]
    selections: bool,
    /// Compare only datasets with xarray, in both directions.
    #[arg(long, conflicts_with_all = ["quick", "only", "recorded", "archives", "selections"])]
    cf: bool,
    /// Compare only multiscale images with other programs, in both directions, and with the
    /// documents of ngff-spec.
    #[arg(long, conflicts_with_all = ["quick", "only", "recorded", "archives", "selections", "cf"])]
    ome: bool,
    /// Have the programs that people use read what ndzarr wrote, and ndzarr what they write, on
    /// request only: from PyPI, npm, and Debian in the folder of `cargo xtask machines`. Writes
    /// their section of the page.
    #[arg(long, conflicts_with_all = ["quick", "only", "recorded", "archives", "selections", "cf", "ome"])]
    clients: bool,
    /// Compare only with Java N5 and n5-zarr, on request only: `--java 'jars/*'`. Writes their
    /// section of the page.
    ///
    /// javac compiles a program of ours against this class path: n5 4 or newer, and as much of
    /// n5-blosc, n5-zstandard and n5-zarr as there is. What is missing is named as not run. Maven
    /// gets all of them from SciJava's public repository,
    /// `https://maven.scijava.org/content/groups/public`, for a project that depends on
    /// org.janelia.saalfeldlab:n5:4.0.2 and org.janelia.saalfeldlab:n5-zarr:2.0.1, by `mvn
    /// dependency:copy-dependencies -DoutputDirectory=jars`. CONTRIBUTING.md has its pom.xml. Blosc
    /// itself (libblosc.so) comes from the system.
    #[arg(
        long, value_name = "CLASSPATH",
        conflicts_with_all = ["quick", "recorded", "archives", "selections", "cf", "ome", "clients"]
    )]
    java: Option<String>,
    /// A folder with a checkout of github.com/ome/ngff-spec; unless given, git clones it. Without a
    /// network, its documents are not compared.
    #[arg(long, value_name = "DIR")]
    ngff_spec: Option<PathBuf>,
}

impl Args {
    fn is_full(&self) -> bool {
        !self.quick && self.only.is_none()
    }
}

/// The file of the outcomes of the last full run.
fn record() -> PathBuf {
    python::target().join("conformance-outcomes.jsonl")
}

/// Runs the task.
///
/// # Errors
///
/// The number of disagreements, or why the task could not run.
pub(crate) fn run(args: &Args) -> Result<(), String> {
    let start = Instant::now();
    if args.archives {
        return archives(&build()?);
    }
    if args.selections {
        return selections(&build()?);
    }
    if args.cf {
        return datasets(&build()?);
    }
    if args.ome {
        return images(&build()?, args.ngff_spec.as_deref());
    }
    if args.clients {
        return clients::run(&build()?);
    }
    if let Some(class_path) = &args.java {
        return java::run(class_path, args.only.as_deref());
    }
    let programs = if args.recorded {
        None
    } else {
        Some(Programs::build()?)
    };
    let lines = match &programs {
        Some(programs) => all_outcomes(args, programs)?,
        None => fs::read_to_string(record()).map_err(|e| format!("{}: {e}", record().display()))?,
    };
    let outcomes = if args.is_full() {
        record()
    } else {
        python::target().join("conformance-some.jsonl")
    };
    fs::write(&outcomes, &lines).map_err(|e| format!("{}: {e}", outcomes.display()))?;
    eprintln!(
        "{} outcomes in {:.0} s",
        lines.lines().count(),
        start.elapsed().as_secs_f64()
    );
    // Disagreements are shown first, and end the task last.
    let judged = report("report.py", &[&outcomes], args.is_full());
    if let Some(programs) = programs.filter(|_| args.only.is_none()) {
        conversions(&programs.ndzarr)?;
        archives(&programs.ndzarr)?;
        selections(&programs.ndzarr)?;
        datasets(&programs.ndzarr)?;
        images(&programs.ndzarr, args.ngff_spec.as_deref())?;
    }
    judged
}

/// The programs that the scripts drive.
#[derive(Debug)]
struct Programs {
    ndzarr: PathBuf,
    /// The crate zarrs, which has no Python package that reads and writes by itself.
    zarrs: PathBuf,
}

impl Programs {
    /// Builds them, and makes the environments that the scripts run in.
    fn build() -> Result<Self, String> {
        let programs = Self {
            ndzarr: build()?,
            zarrs: build_zarrs()?,
        };
        for (environment, _) in ENVIRONMENTS {
            python::interpreter(environment)?;
        }
        Ok(programs)
    }
}

/// Builds the program of the crate zarrs and returns where it is.
fn build_zarrs() -> Result<PathBuf, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let folder = python::repository()
        .join("xtask")
        .join("peers")
        .join("zarrs");
    let target = python::target().join("xtask-peers");
    let mut command = Command::new(cargo);
    command.current_dir(&folder).args([
        "build",
        "--release",
        "--quiet",
        "--locked",
        "--target-dir",
    ]);
    python::succeed(command.arg(&target))?;
    Ok(target
        .join("release")
        .join(format!("zarrs-peer{}", std::env::consts::EXE_SUFFIX)))
}

/// Builds the binary and returns where it is.
fn build() -> Result<PathBuf, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(python::repository());
    command.args([
        "build",
        "--release",
        "--quiet",
        "--package",
        "ndzarr-conformance",
        "--bin",
        "ndzarr-conformance",
    ]);
    python::succeed(&mut command)?;
    let name = format!("ndzarr-conformance{}", std::env::consts::EXE_SUFFIX);
    Ok(python::target().join("release").join(name))
}

/// Runs the scripts, as many at a time as there are processors, and returns their lines.
fn all_outcomes(args: &Args, programs: &Programs) -> Result<String, String> {
    let mut jobs: Vec<(&str, usize, usize)> = ENVIRONMENTS
        .iter()
        .flat_map(|&(environment, n)| (0..n).map(move |i| (environment, i, n)))
        .rev()
        .collect();
    if args.quick {
        jobs = ENVIRONMENTS
            .iter()
            .map(|&(environment, _)| (environment, 0, 1))
            .collect();
    }
    let n_workers = std::thread::available_parallelism()
        .map_or(1, usize::from)
        .min(jobs.len());
    let jobs = Mutex::new(jobs);
    let results = Mutex::new(Ok(String::new()));
    std::thread::scope(|scope| {
        for _ in 0..n_workers {
            scope.spawn(|| {
                loop {
                    let job = jobs.lock().ok().and_then(|mut jobs| jobs.pop());
                    let Some((environment, shard, n_shards)) = job else {
                        break;
                    };
                    let found =
                        run_script(args, programs, environment, &format!("{shard}/{n_shards}"));
                    let Ok(mut results) = results.lock() else {
                        break;
                    };
                    match (&mut *results, found) {
                        (Ok(all), Ok(found)) => all.push_str(&found),
                        (results, Err(error)) => *results = Err(error),
                        (Err(_), Ok(_)) => {}
                    }
                }
            });
        }
    });
    results.into_inner().map_err(|e| e.to_string())?
}

/// Has zarr-python 3 read what ndzarr made of arrays of Zarr v2.
fn conversions(program: &Path) -> Result<(), String> {
    let mut command = script("zarr3", "convert.py")?;
    command.env("NDZARR_CONFORMANCE", program);
    python::succeed(&mut command)
}

/// Has others read archives of ndzarr, and ndzarr those of others.
fn archives(program: &Path) -> Result<(), String> {
    let mut command = script("zarr3", "archives.py")?;
    command.env("NDZARR_CONFORMANCE", program);
    python::succeed(&mut command)
}

/// Has zarr-python, tensorstore and ndzarr read and write the same random selections.
fn selections(program: &Path) -> Result<(), String> {
    let mut command = script("zarr3", "selections.py")?;
    command.env("NDZARR_CONFORMANCE", program);
    python::succeed(&mut command)
}

/// Has xarray read datasets of ndzarr, and ndzarr those of xarray.
fn datasets(program: &Path) -> Result<(), String> {
    let mut command = script("cf", "cf.py")?;
    command.env("NDZARR_CONFORMANCE", program);
    python::succeed(&mut command)
}

/// The commit of ngff-spec whose documents are compared: 0.6rc0.
const NGFF_SPEC: &str = "277f209d805803bb153da5868985b07602d9108b";

/// Has others read and validate images of ndzarr, ndzarr those of others, and validates the
/// documents of the specification of OME-Zarr, if it can be had.
fn images(program: &Path, ngff_spec: Option<&Path>) -> Result<(), String> {
    let mut command = script("ome", "ome.py")?;
    match ngff_spec.map_or_else(clone_of_ngff_spec, |folder| Ok(folder.to_path_buf())) {
        Ok(spec) => {
            command.arg(spec);
        }
        Err(why) => eprintln!(
            "the specification of OME-Zarr could not be had, and its documents are not compared \
             (--ngff-spec takes a folder that has it): {why}"
        ),
    }
    python::succeed(command.env("NDZARR_CONFORMANCE", program))
}

/// Clones the specification of OME-Zarr below `target`, once.
///
/// # Errors
///
/// There is no network.
fn clone_of_ngff_spec() -> Result<PathBuf, String> {
    let folder = python::target().join("ngff-spec");
    if !folder.join("tests").exists() {
        // A connection that brings nothing for half a minute is given up.
        let patience = ["-c", "http.lowSpeedLimit=1", "-c", "http.lowSpeedTime=30"];
        let clone = ["clone", "--quiet", "https://github.com/ome/ngff-spec"];
        let mut git = Command::new("git");
        python::succeed(
            git.env("GIT_TERMINAL_PROMPT", "0")
                .args(patience)
                .args(clone)
                .arg(&folder),
        )?;
    }
    python::succeed(
        Command::new("git")
            .current_dir(&folder)
            .args(["checkout", "--quiet", NGFF_SPEC]),
    )?;
    Ok(folder)
}

/// Runs one share of the cells of one environment.
fn run_script(
    args: &Args,
    programs: &Programs,
    environment: &str,
    shard: &str,
) -> Result<String, String> {
    let output = script(environment, "compare.py")?
        .arg(if args.quick { "quick" } else { "full" })
        .args([shard, args.only.as_deref().unwrap_or("*")])
        .env("NDZARR_CONFORMANCE", &programs.ndzarr)
        .env("NDZARR_ZARRS_PEER", &programs.zarrs)
        .env("PYTHONHASHSEED", "0")
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| format!("compare.py: {e}"))?;
    if !output.status.success() {
        return Err(format!(
            "compare.py {shard} in {environment}: {}",
            output.status
        ));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
