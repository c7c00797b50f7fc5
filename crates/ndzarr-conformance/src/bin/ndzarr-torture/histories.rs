//! Random histories of calls, each step of which is compared with arrays in plain memory: all
//! formats and kinds of stores, calls that are joined, abandoned and failing, several handles, the
//! caller's own threads, links, copies of documents, locks that others hold, stores that read other
//! arrays, and calls that must be refused.

mod caller_threads;
mod growth;
mod machine;
mod model;
mod setting;
mod together;
mod unchanged;
mod whole_array;
mod writes;

use std::collections::BTreeSet;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use ndzarr_testkit::Random;

use crate::common::table::{Expect, Table};
use crate::common::torture::{Outcome, Torture};

use machine::{Machine, Tally};
use model::Checked;

/// Histories in the full form.
const HISTORIES: usize = 1000;
const STEPS: usize = 40;
/// How many failures are examined.
const SHOWN: u64 = 5;

pub(crate) fn run(torture: &Torture, table: &mut Table) -> Outcome {
    let log = Arc::new(Mutex::new(Log::default()));
    watch(&log, torture);
    let mut tally = Tally::default();
    let mut n = 0;
    let mut failed = 0;
    let begin = Instant::now();
    for seed in seeds(torture) {
        if torture
            .duration
            .is_some_and(|duration| begin.elapsed() >= duration)
            || failed == SHOWN
        {
            break;
        }
        n += 1;
        let Err(why) = history(torture, seed, &torture.without, &log, &mut tally) else {
            continue;
        };
        failed += 1;
        report(torture, seed, &why, &log)?;
    }
    log.lock().unwrap_or_else(PoisonError::into_inner).since = None;
    table.row(
        "histories that end with other elements",
        failed,
        format!("of {n} histories"),
        Expect::None,
    )?;
    table.row("  their calls", tally.calls, "", Expect::Anything)?;
    table.row("  calls given up", tally.dropped, "", Expect::Anything)?;
    table.row(
        "  calls that failed, as they should",
        tally.refused,
        "",
        Expect::Anything,
    )
}

/// The seed that was asked for; or as many as there is time for, others in each run; or the same
/// ones in every run.
fn seeds(torture: &Torture) -> Box<dyn Iterator<Item = u64>> {
    match (torture.seed, torture.duration) {
        (Some(seed), _) => Box::new(std::iter::once(seed)),
        (None, Some(_)) => {
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            Box::new(now.map_or(0, |now| now.as_secs()) * 1_000_000..)
        }
        (None, None) => Box::new(0..torture.times(HISTORIES) as u64),
    }
}

/// The state that the watchdog prints.
#[derive(Default)]
struct Log {
    seed: u64,
    lines: Vec<String>,
    /// When the step that is under way began.
    since: Option<Instant>,
}

impl Log {
    fn text(&self) -> String {
        self.lines
            .iter()
            .map(|line| format!("    {line}\n"))
            .collect()
    }
}

/// Runs a history without some of its steps.
fn history(
    torture: &Torture,
    seed: u64,
    without: &BTreeSet<usize>,
    log: &Arc<Mutex<Log>>,
    tally: &mut Tally,
) -> Checked {
    let folder = tempfile::tempdir_in(&torture.quick_folder).map_err(|error| error.to_string())?;
    *log.lock().unwrap_or_else(PoisonError::into_inner) = Log {
        seed,
        ..Log::default()
    };
    let result = catch_unwind(AssertUnwindSafe(|| {
        steps(folder.path(), seed, without, log, tally)
    }));
    result.unwrap_or_else(|_| Err("it panics".to_owned()))
}

fn steps(
    folder: &Path,
    seed: u64,
    without: &BTreeSet<usize>,
    log: &Arc<Mutex<Log>>,
    tally: &mut Tally,
) -> Checked {
    let add_line = |line: String| {
        let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
        log.lines.push(line);
        log.since = Some(Instant::now());
    };
    let mut machine = Machine::begin(&mut Random::seeded(&format!("{seed}")), folder)?;
    add_line(machine.describe());
    let n_steps = Random::seeded(&format!("{seed} steps")).below(STEPS as u64) as usize + 1;
    for step in (0..n_steps).filter(|step| !without.contains(step)) {
        // Each step has its own random numbers, so that leaving one out changes no other.
        machine.random = Random::seeded(&format!("{seed} {step}"));
        add_line(format!("{step}:"));
        let outcome = machine.step(&mut |line| add_line(format!("{step}: {line}")));
        outcome.map_err(|why| format!("step {step}: {why}"))?;
    }
    // Anything still pending would be visible now.
    if machine.tally.dropped > 0 {
        thread::sleep(Duration::from_millis(2));
        machine
            .check()
            .map_err(|why| format!("at the end: {why}"))?;
    }
    tally.add(&machine.tally);
    Ok(())
}

/// Prints a failure with the fewest steps that show it, and how to repeat it.
fn report(torture: &Torture, seed: u64, why: &str, log: &Arc<Mutex<Log>>) -> Outcome {
    let mut why = why.to_owned();
    let mut without = torture.without.clone();
    let mut shown = log.lock().unwrap_or_else(PoisonError::into_inner).text();
    for step in (0..STEPS).rev() {
        let mut fewer = without.clone();
        // The order of threads differs each time.
        let again = fewer.insert(step)
            && (0..3).any(
                |_| match history(torture, seed, &fewer, log, &mut Tally::default()) {
                    Ok(()) => false,
                    Err(other) => {
                        why = other;
                        true
                    }
                },
            );
        if again {
            without = fewer;
            shown = log.lock().unwrap_or_else(PoisonError::into_inner).text();
        }
    }
    let mut err = std::io::stderr().lock();
    writeln!(
        err,
        "history {seed}: {why}\n{shown}    again: {}",
        again(seed, &without)
    )?;
    Ok(())
}

fn again(seed: u64, without: &BTreeSet<usize>) -> String {
    let left_out: Vec<String> = without.iter().map(usize::to_string).collect();
    let left_out = if left_out.is_empty() {
        String::new()
    } else {
        format!(" --without {}", left_out.join(","))
    };
    format!("cargo xtask torture --only histories --seed {seed}{left_out}")
}

/// Ends this process when a step does not end, and prints the history.
fn watch(log: &Arc<Mutex<Log>>, torture: &Torture) {
    let patience = torture.patience;
    let folders = [torture.folder.clone(), torture.quick_folder.clone()];
    let log = Arc::clone(log);
    thread::spawn(move || {
        loop {
            thread::sleep(Duration::from_millis(500));
            let log = log.lock().unwrap_or_else(PoisonError::into_inner);
            if log.since.is_none_or(|since| since.elapsed() < patience) {
                continue;
            }
            let text = log.text();
            let seed = log.seed;
            let again = again(seed, &BTreeSet::new());
            let _ = writeln!(
                std::io::stderr(),
                "history {seed} does not end\n{text}    again: {again}"
            );
            for folder in folders {
                let _ = std::fs::remove_dir_all(folder);
            }
            std::process::exit(1);
        }
    });
}
