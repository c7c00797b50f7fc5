//! `cargo xtask bench`: measures ndzarr and its peers, row by row, turn by turn.
//!
//! A peer writes the data, each turn of an engine is a process, and the ratio of two turns of a
//! round counts.

mod args;
mod dataset;
mod definition;
mod present;
mod remote;
mod turn;
mod verdict;
mod volume;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use serde_json::json;

use crate::{python, wheel};
pub(crate) use args::Args;
use dataset::Data;
use definition::{Definition, Row};
use turn::Report;
use verdict::{AGAINST_COMMIT, ENOUGH, Job, Samples, Target, Verdict};

/// Runs the task.
///
/// # Errors
/// Something cannot be built or created, or an engine returns a wrong result. A missed target is
/// not an error.
pub(crate) fn run(args: &Args) -> Result<(), String> {
    if args.growth {
        build()?;
        let program = python::target().join("release").join("growth");
        return python::succeed(Command::new(program).arg(Data::new()?.scratch()));
    }
    if args.draw {
        return present::draw();
    }
    if args.remote {
        return remote::run(args);
    }
    let all = definition::load()?;
    let mut definitions: Vec<&Definition> = all.values().collect();
    definitions.sort_by_key(|definition| definition::order(&definition.name));
    let mut chosen: Vec<(&Definition, &Row)> = Vec::new();
    for definition in definitions {
        for row in &definition.rows {
            let title = row.title(definition);
            let wanted = args.only.is_empty()
                || args
                    .only
                    .iter()
                    .any(|only| *only == definition.name || *only == title.replace(',', ""));
            let left_out =
                args.quick && row.full_only || args.against.is_some() && definition.python;
            if wanted && !left_out {
                chosen.push((definition, row));
            }
        }
    }
    if chosen.is_empty() {
        return Err("no row has this name".to_owned());
    }
    build()?;
    turn::install(chosen.iter().flat_map(|(_, row)| peers(row, args)))?;
    let before = match &args.against {
        Some(commit) => {
            build_before(commit)?;
            Some(definition::titles(&turn::before())?)
        }
        None => None,
    };
    let pinned = python::interpreter("bench")?;
    let with_wheel = if chosen.iter().any(|(definition, _)| definition.python) {
        wheel::installed("bench", false)?
    } else {
        PathBuf::new()
    };
    let data = Data::new()?;
    for (definition, row) in &chosen {
        for definition in [
            Some(*definition),
            row.into_c.as_ref().map(|other| &all[other]),
        ]
        .iter()
        .flatten()
        {
            data.make(definition, &all, row)?;
        }
    }
    let rounds = if args.quick {
        args.rounds.min(ENOUGH)
    } else {
        args.rounds
    };
    let bar = ProgressBar::new(chosen.len() as u64);
    if let Ok(style) =
        ProgressStyle::with_template("{bar:30} {pos}/{len} rows, {elapsed} + {eta}: {msg}")
    {
        bar.set_style(style);
    }
    let mut done = Vec::new();
    for (definition, row) in chosen {
        let python = if definition.python {
            &with_wheel
        } else {
            &pinned
        };
        let bench = Bench {
            all: &all,
            data: &data,
            definition,
            row,
            python,
            args,
            rounds,
            before: before.as_ref(),
        };
        let finished = bench.run(&bar)?;
        bar.suspend(|| {
            eprintln!("{}", finished.line());
            for note in finished.failures.iter().chain(&finished.gives_up) {
                eprintln!("  {note}");
            }
        });
        bar.inc(1);
        done.push(finished);
    }
    bar.finish_and_clear();
    data.clear()?;
    present::show(&done, args, None)?;
    let wrong: Vec<&str> = done
        .iter()
        .flat_map(|row| &row.failures)
        .map(String::as_str)
        .collect();
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(wrong.join("\n"))
    }
}

/// The peers of a row that are asked for.
fn peers<'r>(row: &'r Row, args: &'r Args) -> impl Iterator<Item = &'r String> {
    let named = if args.quick { &row.quick } else { &row.peers };
    named
        .iter()
        .filter(|peer| args.vs.is_empty() || args.vs.contains(peer))
}

/// Builds the engines, each by itself: built together they would share the features of their
/// dependencies, and ndzarr would be measured with those of its peers.
fn build() -> Result<(), String> {
    ["engine-floor", "engine-ndzarr", "engine-zarrs"]
        .into_iter()
        .try_for_each(|engine| build_engine(engine, &python::repository(), &python::target()))
}

/// Builds an engine of the repository in this folder.
fn build_engine(engine: &str, repository: &Path, target: &Path) -> Result<(), String> {
    python::succeed(
        Command::new(env!("CARGO"))
            .args([
                "build",
                "--quiet",
                "--release",
                "--package",
                engine,
                "--manifest-path",
            ])
            .arg(repository.join("benchmarks").join("Cargo.toml"))
            .arg("--target-dir")
            .arg(target),
    )
}

/// Builds the engine of another commit, next to that of this one.
fn build_before(commit: &str) -> Result<(), String> {
    let folder = turn::before();
    let git = |arguments: &[&str]| {
        python::succeed(
            Command::new("git")
                .arg("-C")
                .arg(python::repository())
                .args(arguments),
        )
    };
    if !folder.exists() {
        git(&["worktree", "prune"])?;
        git(&[
            "worktree",
            "add",
            "--quiet",
            "--detach",
            &folder.to_string_lossy(),
            commit,
        ])?;
    }
    python::succeed(
        Command::new("git")
            .arg("-C")
            .arg(&folder)
            .args(["checkout", "--quiet", "--detach", commit]),
    )?;
    build_engine("engine-ndzarr", &folder, &folder.join("target"))
}

struct Bench<'b> {
    all: &'b BTreeMap<String, Definition>,
    data: &'b Data,
    definition: &'b Definition,
    row: &'b Row,
    /// The interpreter of the engines in Python.
    python: &'b Path,
    args: &'b Args,
    rounds: usize,
    /// The rows that the other commit has.
    before: Option<&'b BTreeSet<String>>,
}

impl Bench<'_> {
    fn run(&self, bar: &ProgressBar) -> Result<Done, String> {
        let Self {
            all,
            data,
            definition,
            row,
            ..
        } = *self;
        let title = row.title(definition);
        let base = definition.base(all);
        let dataset = data.path(base, row);
        let chunks = Data::chunks(definition, all, row);
        let mut expected = data.expected(definition, all, row, &chunks)?;
        let elements = data.new_elements(definition, all, row)?;
        let mut request = json!({
            "operation": row.operation,
            "path": dataset,
            "shape": base.shape,
            "region": definition.region(all),
            "chunks": chunks,
            "data": elements.map(|volume| volume.path).unwrap_or_default(),
            "durability": row.durability,
            "locking": row.locking,
            "threads": row.threads,
            "reversed_axes": row.reversed_axes,
            "layout": base.layout,
            "source": dataset,
            "to_chunks": row.to_chunks,
            "to_shards": row.to_shards,
            "memory": row.memory_bytes.unwrap_or_default(),
        });
        dataset::warm(&dataset);
        if let Some(other) = &row.into_c {
            dataset::warm(&data.path(&all[other], row));
        }

        let mut samples = Samples::new();
        let mut failures = Vec::new();
        let mut engines = self.engines();
        let most = if self.args.quick {
            self.rounds
        } else {
            3 * self.rounds
        };
        for round in 0..most {
            let wanted = if round < self.rounds {
                engines.clone()
            } else {
                self.still_wanted(&samples, &engines)
            };
            if wanted.is_empty() {
                break;
            }
            // The first engine may find memory and disk in another state, so the order rotates.
            let mut turns = engines.clone();
            if round % 2 == 1 {
                turns.reverse();
            }
            for engine in turns {
                if !wanted.contains(&engine) {
                    samples.entry(engine).or_default().push(None);
                    continue;
                }
                bar.set_message(format!("{title}, round {}, {engine}", round + 1));
                let sample = self.turn(&engine, &mut request, &dataset, round == 0, &mut expected);
                let sample = match sample {
                    Ok(report) => Some(report),
                    Err(error) => {
                        failures.push(format!("{title}, {engine}: {error}"));
                        // An engine that fails once does not run again.
                        engines.retain(|other| *other != engine);
                        None
                    }
                };
                samples.entry(engine).or_default().push(sample);
            }
        }
        let is_new = self.before.is_some_and(|rows| !rows.contains(&title))
            && !engines.contains(&turn::BEFORE.to_owned());
        if is_new {
            let by_old = format!("{title}, {}: ", turn::BEFORE);
            failures.retain(|failure| !failure.starts_with(&by_old));
        }
        let verdict = self.judge(&samples);
        Ok(Done {
            title,
            what: definition.what.clone(),
            target: self.target().ratio,
            memory_bytes: row.memory_bytes,
            writes: row.job() != Job::Reads,
            verdict,
            gives_up: row.gives_up.clone().filter(|_| self.before.is_some()),
            is_new,
            failures,
        })
    }

    fn engines(&self) -> Vec<String> {
        if self.args.against.is_some() {
            return vec!["ndzarr".to_owned(), turn::BEFORE.to_owned()];
        }
        let mut engines = vec!["ndzarr".to_owned()];
        engines.extend(peers(self.row, self.args).cloned());
        if self.row.floor {
            engines.push("floor".to_owned());
        }
        engines
    }

    fn target(&self) -> Target {
        match self.before {
            Some(_) => AGAINST_COMMIT,
            None => Target {
                ratio: self.row.target,
                time: self.row.time,
            },
        }
    }

    fn judge(&self, samples: &Samples) -> Verdict {
        verdict::judge(
            samples,
            self.target(),
            self.row.memory_bytes,
            self.row.job(),
        )
    }

    /// The engines that need more rounds than were asked for.
    fn still_wanted(&self, samples: &Samples, engines: &[String]) -> Vec<String> {
        let is_disturbed = |peer| {
            verdict::ratio(samples, peer, self.target().time)
                .is_some_and(|ratio| ratio.clean_rounds < ENOUGH)
        };
        if engines
            .iter()
            .any(|engine| engine != "ndzarr" && is_disturbed(engine))
        {
            return engines.to_vec();
        }
        match self.judge(samples).best_peer {
            Some(ratio) if !ratio.is_clear_of(self.target().ratio) => {
                vec!["ndzarr".to_owned(), ratio.to]
            }
            _ => Vec::new(),
        }
    }

    fn turn(
        &self,
        engine: &str,
        request: &mut serde_json::Value,
        dataset: &std::path::Path,
        first: bool,
        expected: &mut Option<u32>,
    ) -> Result<Report, String> {
        let row = self.row;
        let (operation, into_c) = match engine {
            "ndzarr-one-call" => ("read", None),
            "ndzarr-into-c" => (
                "read-into",
                row.into_c.as_ref().map(|other| &self.all[other]),
            ),
            _ => (&row.operation[..], None),
        };
        let dataset = &into_c.map_or_else(
            || dataset.to_owned(),
            |other| self.data.path(other.base(self.all), row),
        );
        request["operation"] = json!(operation);
        request["locking"] = json!(if engine == "ndzarr-file-locks" {
            "auto"
        } else {
            &row.locking
        });
        let target = if row.job() != Job::Reads {
            Some(self.data.target(dataset, row)?)
        } else {
            None
        };
        request["path"] = json!(target.as_deref().unwrap_or(dataset));
        let file = self.data.request_file();
        fs::write(&file, request.to_string()).map_err(|e| format!("{}: {e}", file.display()))?;
        let program = if engine == "ndzarr" {
            &self.row.by
        } else {
            engine
        };
        let mut report = turn::run(turn::command(program, self.python, &file)?)?;
        let Some(target) = target else {
            let found = report.checksum;
            // Without an independent value the engines have to agree.
            if expected.is_none() {
                *expected = found;
            }
            if found != *expected {
                return Err(format!("the checksum is {found:?}, not {expected:?}"));
            }
            return Ok(report);
        };
        report.stored_bytes = dataset::stored_bytes(&target);
        if first {
            let shape = &self.definition.base(self.all).shape;
            let mut check = request.clone();
            check["operation"] = json!("read");
            check["region"] = json!(shape.iter().map(|n| [0, *n]).collect::<Vec<_>>());
            fs::write(&file, check.to_string()).map_err(|e| format!("{}: {e}", file.display()))?;
            let read = turn::run(turn::command("tensorstore", self.python, &file)?)?;
            if read.checksum != *expected {
                return Err(format!(
                    "tensorstore reads {:?} from what it wrote, not {expected:?}",
                    read.checksum
                ));
            }
        }
        Ok(report)
    }
}

/// A row that was run.
#[derive(Clone, Debug, Serialize)]
struct Done {
    title: String,
    what: String,
    target: f64,
    memory_bytes: Option<u64>,
    writes: bool,
    verdict: Verdict,
    /// Compared with another commit: why it may be slower.
    gives_up: Option<String>,
    /// True if the other commit has no such row, and cannot run it.
    is_new: bool,
    failures: Vec<String>,
}

impl Done {
    fn line(&self) -> String {
        let best = self.verdict.best_peer.as_ref();
        let ratio = best.map_or("no peer".to_owned(), |best| {
            format!("{:.2} of {} (CPU {:.2})", best.median, best.to, best.cpu)
        });
        let floor = self.verdict.floor.as_ref().map_or(String::new(), |floor| {
            format!(", {:.2} of the floor", floor.median)
        });
        let ours = self
            .verdict
            .engines
            .get("ndzarr")
            .map_or(f64::NAN, |medians| medians.wall_ms);
        format!(
            "{:24} {ours:7.1} ms  {ratio}{floor} (target {:.2})",
            self.title, self.target
        )
    }
}
