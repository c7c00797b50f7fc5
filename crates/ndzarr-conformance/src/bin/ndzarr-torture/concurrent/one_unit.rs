//! Writers of different elements of one unit.

use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use ndzarr::{Array, ConcurrentUpdate, RunOptions};

use crate::common::layout::{Layout, SPREAD, open, open_with, policy_name, read, write};
use crate::common::process::{Worker, answer_lines};
use crate::common::table::{Expect, Table};
use crate::common::torture::{Outcome, Torture, until_lost};

const THREADS: usize = 16;
pub(crate) const PROCESSES: usize = 8;
/// How often each process increments its element in a round.
pub(crate) const INCREMENTS: usize = 10;

pub(crate) fn run(torture: &Torture, table: &mut Table) -> Outcome {
    use ConcurrentUpdate::{LastWriterWins, Merge};
    let quick = &torture.quick_folder;
    let disk = &torture.folder;
    let rounds = torture.times(10);
    let n = torture.times(500);
    for layout in Layout::ALL {
        let lost = threads(layout, quick, 20, Merge)?;
        let name = format!("elements lost, {THREADS} threads, one {}", layout.unit());
        table.row(
            name,
            lost,
            format_args!("of {}", THREADS * 20),
            Expect::None,
        )?;
    }
    let (lost, tries) = until_lost(|| threads(Layout::V3, quick, 20, LastWriterWins))?;
    let name = "  without turns (LastWriterWins), the same";
    table.row(
        name,
        lost,
        format_args!("of {}", tries * THREADS * 20),
        Expect::Some,
    )?;
    for layout in Layout::ALL {
        let lost = processes(layout, disk, rounds, Merge)?;
        let name = format!(
            "elements lost, {PROCESSES} processes, one {}",
            layout.unit()
        );
        table.row(
            name,
            lost,
            format_args!("of {}", PROCESSES * rounds * INCREMENTS),
            Expect::None,
        )?;
    }
    let (lost, tries) = until_lost(|| processes(Layout::V3, disk, rounds, LastWriterWins))?;
    let of = format!("of {}", tries * PROCESSES * rounds * INCREMENTS);
    table.row(
        "  without turns (LastWriterWins), the same",
        lost,
        of,
        Expect::Some,
    )?;
    for layout in Layout::ALL {
        let (overwrites, updates) = overwrites_during_updates(layout, quick, n, Merge)?;
        let name = format!("overwrites lost during updates, one {}", layout.unit());
        table.row(name, overwrites, format_args!("of {n}"), Expect::None)?;
        let name = format!("updates lost during overwrites, one {}", layout.unit());
        table.row(name, updates, "", Expect::None)?;
    }
    let (lost, tries) =
        until_lost(|| Ok(overwrites_during_updates(Layout::V3, quick, n, LastWriterWins)?.0))?;
    let name = "  overwrites lost without turns (LastWriterWins), v3 chunk";
    table.row(name, lost, format_args!("of {}", tries * n), Expect::Some)
}

/// Lets processes count in one unit; returns how many of their increments are lost.
fn processes(
    layout: Layout,
    folder: &Path,
    rounds: usize,
    policy: ConcurrentUpdate,
) -> Outcome<u64> {
    let (root, array) = layout.one_unit(folder, PROCESSES as u64)?;
    let mut workers = (0..PROCESSES)
        .map(|i| counter(&root, i, policy))
        .collect::<Outcome<Vec<_>>>()?;
    let lost = count_together(&mut workers, &array, rounds)?;
    workers.into_iter().try_for_each(Worker::end)?;
    Ok(lost)
}

/// Starts a process that counts in its element.
pub(crate) fn counter(root: &Path, index: usize, policy: ConcurrentUpdate) -> Outcome<Worker> {
    Worker::start(&[
        "count",
        &root.to_string_lossy(),
        &index.to_string(),
        policy_name(policy),
    ])
}

/// Each thread writes its element of each round's unit; returns how many are missing.
fn threads(layout: Layout, folder: &Path, rounds: usize, policy: ConcurrentUpdate) -> Outcome<u64> {
    let (root, array) = layout.one_unit(folder, THREADS as u64)?;
    let mut lost = 0;
    for round in 0..rounds {
        let barrier = Barrier::new(THREADS);
        let value = |i: usize| (round * THREADS + i + 1) as u32;
        thread::scope(|scope| {
            let writers: Vec<_> = (0..THREADS)
                .map(|i| {
                    let array = array.clone();
                    let root = &root;
                    let barrier = &barrier;
                    let options = RunOptions::default().concurrent_update(policy);
                    scope.spawn(move || -> Outcome {
                        // Some share what was opened, some open it themselves.
                        let array = if i % 2 == 0 { Ok(array) } else { open(root) };
                        let array = array.map(|array| array.with_options(options));
                        barrier.wait();
                        write(&array?, i as u64 * SPREAD, vec![value(i)])
                    })
                })
                .collect();
            writers
                .into_iter()
                .try_for_each(|writer| writer.join().map_err(|_| "a thread panicked")?)
        })?;
        lost += firsts(&array)?
            .into_iter()
            .enumerate()
            .filter(|&(i, found)| found != value(i))
            .count();
    }
    Ok(lost as u64)
}

/// Lets workers count at the same time, each its element; returns how many of their increments are
/// lost.
pub(crate) fn count_together(
    workers: &mut [Worker],
    array: &Array<u32>,
    rounds: usize,
) -> Outcome<u64> {
    for worker in &mut *workers {
        // It has opened the array.
        worker.receive()?;
    }
    let mut noticed = 0;
    for _ in 0..rounds {
        for worker in &mut *workers {
            worker.send(&INCREMENTS.to_string())?;
        }
        for worker in &mut *workers {
            noticed += worker.receive_number()?;
        }
    }
    let expected = (rounds * INCREMENTS) as u64;
    let missing = firsts(array)?
        .into_iter()
        .map(|n| expected - u64::from(n).min(expected))
        .sum::<u64>();
    // A worker that notices a loss continues from the value it finds, so the loss also shows at the
    // end. It is counted once.
    Ok(missing.max(noticed))
}

/// The elements that the writers of a unit have.
fn firsts(array: &Array<u32>) -> Outcome<Vec<u32>> {
    Ok(read(array)?.into_iter().step_by(SPREAD as usize).collect())
}

/// A worker that increments its element a given number of times, and reports how often others
/// changed it.
pub(crate) fn count(root: &Path, index: u64, policy: ConcurrentUpdate) -> Outcome {
    let array = open_with(root, policy)?;
    let index = index * SPREAD;
    let mut value = 0;
    crate::common::process::send_line("ready")?;
    answer_lines(|line| {
        let mut lost = 0;
        for _ in 0..line.parse::<usize>()? {
            let found = array.read([index..index + 1])?[0];
            lost += if found > value { 1 } else { value - found };
            value = found + 1;
            write(&array, index, vec![value])?;
        }
        Ok(lost.to_string())
    })
}

/// Overwrites a unit while two threads and two processes update elements of it. Returns how many
/// overwrites and how many updates are lost.
fn overwrites_during_updates(
    layout: Layout,
    folder: &Path,
    n: usize,
    policy: ConcurrentUpdate,
) -> Outcome<(u64, u64)> {
    const ELEMENTS: u64 = 4 * SPREAD;
    let (root, array) = layout.one_unit(folder, 4)?;
    let path = root.to_string_lossy();
    let mut workers = Vec::new();
    for index in 0..2u64 {
        workers.push(Worker::start(&[
            "update",
            &path,
            &index.to_string(),
            policy_name(policy),
        ])?);
    }
    let done = AtomicBool::new(false);
    let mut lost = 0;
    let mut updates_lost = 0;
    thread::scope(|scope| -> Outcome {
        let updaters: Vec<_> = (2..4u64)
            .map(|index| {
                let root = &root;
                let done = &done;
                scope.spawn(move || {
                    let array = open_with(root, policy)?;
                    let mut updater = Updater::default();
                    let mut lost = 0;
                    while !done.load(Ordering::Relaxed) {
                        lost += updater.once(&array, index)?;
                    }
                    Ok::<_, Box<dyn std::error::Error + Send + Sync>>(lost)
                })
            })
            .collect();
        let mut overwrite = || -> Outcome {
            for worker in &mut workers {
                worker.receive()?;
            }
            for generation in 1..=n as u32 {
                write(&array, 0, vec![generation; ELEMENTS as usize])?;
                // The elements from 4 on have no other writer.
                let guarded = array.read([4..ELEMENTS])?;
                lost += u64::from(guarded.iter().any(|&found| found != generation));
            }
            for mut worker in std::mem::take(&mut workers) {
                worker.send("stop")?;
                updates_lost += worker.receive_number()?;
                worker.end()?;
            }
            Ok(())
        };
        let result = overwrite();
        done.store(true, Ordering::Relaxed);
        for updater in updaters {
            updates_lost += updater.join().map_err(|_| "a thread panicked")??;
        }
        result
    })?;
    Ok((lost, updates_lost))
}

/// Marks updates, to tell them from overwrites.
const MARK: u32 = 1 << 31;

/// The only one who updates an element.
#[derive(Default)]
struct Updater {
    /// The last overwrite that was seen.
    generation: u32,
    updates: u32,
    /// True if no overwrite was seen since the last update.
    update_is_last: bool,
}

impl Updater {
    /// Sets the element; returns how often it was found to have an older value than its last update
    /// or overwrite.
    fn once(&mut self, array: &Array<u32>, index: u64) -> Outcome<u64> {
        let mut lost = u64::from(!self.expects(array.read([index..index + 1])?[0]));
        self.updates += 1;
        write(array, index, vec![MARK | self.updates])?;
        self.update_is_last = true;
        lost += u64::from(!self.expects(array.read([index..index + 1])?[0]));
        Ok(lost)
    }

    fn expects(&mut self, found: u32) -> bool {
        let mine = MARK | self.updates;
        let expected = if found & MARK != 0 {
            found == mine && self.update_is_last
        } else {
            // An overwrite is newer than those seen before, or still the last thing that happened.
            found > self.generation || (found == self.generation && !self.update_is_last)
        };
        if found & MARK == 0 {
            self.generation = self.generation.max(found);
            self.update_is_last = false;
        }
        expected
    }
}

/// A worker that updates an element until it is stopped, then reports how many updates were lost.
pub(crate) fn update(root: &Path, index: u64, policy: ConcurrentUpdate) -> Outcome {
    let array = open_with(root, policy)?;
    let stop = AtomicBool::new(false);
    crate::common::process::send_line("ready")?;
    let lost = thread::scope(|scope| {
        let updater = scope.spawn(|| {
            let mut updater = Updater::default();
            let mut lost = 0;
            while !stop.load(Ordering::Relaxed) {
                lost += updater.once(&array, index)?;
            }
            Ok::<_, Box<dyn std::error::Error + Send + Sync>>(lost)
        });
        let mut line = String::new();
        let read = std::io::stdin().read_line(&mut line);
        stop.store(true, Ordering::Relaxed);
        let lost = updater.join().map_err(|_| "a thread panicked")??;
        read?;
        Ok::<_, Box<dyn std::error::Error + Send + Sync>>(lost)
    })?;
    crate::common::process::send_line(&lost.to_string())
}
