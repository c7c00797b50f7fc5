//! Calls in tasks that are dropped at random moments, on every kind of executor, while others
//! write: what was acknowledged stays, and an abandoned call does nothing later.

mod call;
mod count;
mod executor;
mod spawner;
mod writers;

use std::io::Write;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::FutureExt;
use ndzarr::{MemoryStore, Storage};
use ndzarr_testkit::{AsyncMemoryStore, Latency};

use crate::common::table::{Expect, Table};
use crate::common::torture::{Outcome, Torture};

use count::{Count, KINDS};
use executor::Executor;
use writers::{Round, WRITERS, Writer};

/// The number of calls that are dropped while pending, on all executors together.
const DROPS: u64 = 100_000;
/// How long each executor is used in the short form.
const SHARE: Duration = Duration::from_secs(4);
/// How many losses are printed.
const SHOWN: usize = 5;

pub(crate) fn run(torture: &Torture, table: &mut Table) -> Outcome {
    let drops = torture.drops.or((!torture.minute).then_some(DROPS));
    let mut by_kind = [0; KINDS.len()];
    for executor in Executor::ALL {
        let count = Arc::new(Count::default());
        let begin = Instant::now();
        for number in 0.. {
            let is_enough = match drops {
                Some(drops) => count.all_dropped() >= drops.div_ceil(Executor::ALL.len() as u64),
                None => begin.elapsed() >= SHARE,
            };
            if is_enough {
                break;
            }
            round(torture, executor, number, &count)?;
        }
        for (sum, dropped) in by_kind.iter_mut().zip(&count.dropped) {
            *sum += dropped.load(Relaxed);
        }
        let lost = count.lost.lock().unwrap_or_else(PoisonError::into_inner);
        for lost in lost.iter().take(SHOWN) {
            writeln!(std::io::stderr(), "{lost}")?;
        }
        table.row(
            format!("acknowledged calls lost, {}", executor.name()),
            lost.len() as u64,
            format!(
                "of {}, {} dropped",
                count.acknowledged.load(Relaxed),
                count.all_dropped()
            ),
            Expect::None,
        )?;
    }
    for ((_, name), dropped) in KINDS.iter().zip(by_kind) {
        table.row(
            format!("  dropped while pending, {name}"),
            dropped,
            "",
            Expect::Anything,
        )?;
    }
    let sum = by_kind.iter().sum();
    table.row("  dropped while pending, all", sum, "", Expect::Seen)
}

/// Random calls of several writers in a new store.
fn round(torture: &Torture, executor: Executor, number: u64, count: &Arc<Count>) -> Outcome {
    let kinds = ["quick files", "memory", "futures", "files"];
    let kind = kinds[number as usize % kinds.len()];
    let folder = if kind == "files" {
        &torture.folder
    } else {
        &torture.quick_folder
    };
    let folder = tempfile::tempdir_in(folder)?;
    // Some encode for a while, so that they are dropped in the middle of it.
    let is_slow = number / kinds.len() as u64 % 2 == 1;
    let seed = format!("{}, round {number}, {kind}", executor.name());
    let round = Round::begin(
        storage(kind, folder.path()),
        Arc::clone(count),
        seed,
        is_slow,
    )?;
    let round = Arc::new(round);
    executor.run(WRITERS, |index, spawner| {
        Writer::new(Arc::clone(&round), index, spawner)
            .run()
            .boxed()
    })?;
    round.check()
}

fn storage(kind: &str, folder: &Path) -> Storage {
    match kind {
        "memory" => MemoryStore::new().into(),
        "futures" => Storage::asynchronous(AsyncMemoryStore::new(Latency::default()).with_polls(2)),
        _ => Storage::from(folder),
    }
}
