//! Writers of different elements of one unit, and of different attributes of one node.

use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use ndzarr::{AnyNode, Array, ConcurrentUpdate, Group, OpenOptions, RunOptions};
use serde_json::json;

use crate::layout::{Layout, open, read, write};
use crate::process::{Worker, serve};
use crate::table::{Expect, Table};
use crate::{Outcome, Torture};

const THREADS: usize = 16;
pub(crate) const PROCESSES: usize = 8;
/// Increments of its element by each process in a round.
pub(crate) const INCREMENTS: usize = 10;

pub(crate) fn run(torture: &Torture, table: &mut Table) -> Outcome {
    for layout in Layout::ALL {
        let rounds = 20;
        let lost = threads(layout, &torture.quick_folder, rounds, ConcurrentUpdate::Merge)?;
        let name = format!("elements lost, {THREADS} threads, one {}", layout.unit());
        table.row(name, lost, format_args!("of {}", THREADS * rounds), Expect::None)?;
    }
    // What would be counted if writers did not take turns.
    let lost = threads(Layout::V3, &torture.quick_folder, 20, ConcurrentUpdate::LastWriterWins)?;
    let name = "  the same by ConcurrentUpdate::LastWriterWins, one v3 chunk";
    table.row(name, lost, format_args!("of {}", THREADS * 20), Expect::Anything)?;
    for layout in Layout::ALL {
        let rounds = torture.times(10);
        let (root, array) = layout.one_unit(&torture.folder, PROCESSES as u64)?;
        let path = root.to_string_lossy();
        let mut workers = Vec::new();
        for index in 0..PROCESSES {
            workers.push(Worker::start(&["count", &path, &index.to_string()])?);
        }
        let lost = count_together(&mut workers, &array, rounds)?;
        workers.into_iter().try_for_each(Worker::end)?;
        let name = format!("elements lost, {PROCESSES} processes, one {}", layout.unit());
        table.row(name, lost, format_args!("of {}", PROCESSES * rounds * INCREMENTS), Expect::None)?;
    }
    for layout in Layout::ALL {
        let n = torture.times(500);
        let (overwrites, updates) = overwrites_beside_updates(layout, &torture.quick_folder, n)?;
        let name = format!("overwrites lost beside updates, one {}", layout.unit());
        table.row(name, overwrites, format_args!("of {n}"), Expect::None)?;
        let name = format!("updates lost beside overwrites, one {}", layout.unit());
        table.row(name, updates, "", Expect::None)?;
    }
    Ok(())
}

/// Each thread writes its element of each round's unit; returns how many are not there then.
fn threads(layout: Layout, folder: &Path, rounds: usize, policy: ConcurrentUpdate) -> Outcome<u64> {
    let (root, array) = layout.one_unit(folder, THREADS as u64)?;
    let mut lost = 0;
    for round in 0..rounds {
        let barrier = Barrier::new(THREADS);
        let value = |i: usize| (round * THREADS + i + 1) as u32;
        thread::scope(|scope| {
            let writers: Vec<_> = (0..THREADS)
                .map(|i| {
                    let (array, root, barrier) = (array.clone(), &root, &barrier);
                    let options = RunOptions { concurrent_update: policy, ..RunOptions::default() };
                    scope.spawn(move || -> Outcome {
                        // Some share what was opened, some open it themselves.
                        let array = if i % 2 == 0 { Ok(array) } else { open(root) };
                        let array = array.map(|array| array.with_options(options));
                        barrier.wait();
                        write(&array?, i as u64, vec![value(i)])
                    })
                })
                .collect();
            writers.into_iter().try_for_each(|writer| writer.join().map_err(|_| "a thread panicked")?)
        })?;
        lost += read(&array)?.iter().enumerate().filter(|&(i, &found)| found != value(i)).count();
    }
    Ok(lost as u64)
}

/// Lets workers count at the same time, each its element; returns how many of their increments are lost.
pub(crate) fn count_together(workers: &mut [Worker], array: &Array<u32>, rounds: usize) -> Outcome<u64> {
    for worker in &mut *workers {
        // It has opened the array.
        worker.hear()?;
    }
    let mut lost = 0;
    for _ in 0..rounds {
        for worker in &mut *workers {
            worker.tell(&INCREMENTS.to_string())?;
        }
        for worker in &mut *workers {
            lost += worker.hear_number()?;
        }
    }
    let expected = (rounds * INCREMENTS) as u64;
    lost += read(array)?.iter().map(|&n| expected - u64::from(n).min(expected)).sum::<u64>();
    Ok(lost)
}

/// A worker that increments its element as often as it is told, and says how often it found it changed.
pub(crate) fn count(root: &Path, index: u64) -> Outcome {
    let array = open(root)?;
    let mut value = 0;
    crate::process::say("ready")?;
    serve(|line| {
        let mut lost = 0;
        for _ in 0..line.parse::<usize>()? {
            let found = array.read([index..index + 1])?[0];
            lost += value - found.min(value);
            value = found + 1;
            write(&array, index, vec![value])?;
        }
        Ok(lost.to_string())
    })
}

/// Overwrites a unit while two threads and two processes update elements of it. Returns how many overwrites and how
/// many updates are lost.
fn overwrites_beside_updates(layout: Layout, folder: &Path, n: usize) -> Outcome<(u64, u64)> {
    const ELEMENTS: u64 = 64;
    let (root, array) = layout.one_unit(folder, ELEMENTS)?;
    let path = root.to_string_lossy();
    let mut workers = Vec::new();
    for index in 0..2u64 {
        workers.push(Worker::start(&["update", &path, &index.to_string()])?);
    }
    let done = AtomicBool::new(false);
    let (mut lost, mut updates_lost) = (0, 0);
    thread::scope(|scope| -> Outcome {
        let updaters: Vec<_> = (2..4u64)
            .map(|index| {
                let (root, done) = (&root, &done);
                scope.spawn(move || {
                    let (array, mut updater, mut lost) = (open(root)?, Updater::default(), 0);
                    while !done.load(Ordering::Relaxed) {
                        lost += updater.once(&array, index)?;
                    }
                    Ok::<_, Box<dyn std::error::Error + Send + Sync>>(lost)
                })
            })
            .collect();
        let mut overwrite = || -> Outcome {
            for worker in &mut workers {
                worker.hear()?;
            }
            for generation in 1..=n as u32 {
                write(&array, 0, vec![generation; ELEMENTS as usize])?;
                // The elements from 4 on are nobody else's.
                let guarded = array.read([4..ELEMENTS])?;
                lost += u64::from(guarded.iter().any(|&found| found != generation));
            }
            for mut worker in std::mem::take(&mut workers) {
                worker.tell("stop")?;
                updates_lost += worker.hear_number()?;
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
    /// Whether no overwrite was seen since the last update.
    mine_is_last: bool,
}

impl Updater {
    /// Sets the element; returns how often it was found to have an older value than its last update or overwrite.
    fn once(&mut self, array: &Array<u32>, index: u64) -> Outcome<u64> {
        let mut lost = u64::from(!self.expects(array.read([index..index + 1])?[0]));
        self.updates += 1;
        write(array, index, vec![MARK | self.updates])?;
        self.mine_is_last = true;
        lost += u64::from(!self.expects(array.read([index..index + 1])?[0]));
        Ok(lost)
    }

    fn expects(&mut self, found: u32) -> bool {
        let mine = MARK | self.updates;
        let expected = if found & MARK != 0 {
            found == mine && self.mine_is_last
        } else {
            // An overwrite is newer than those seen before, or still the last thing that happened.
            found > self.generation || (found == self.generation && !self.mine_is_last)
        };
        if found & MARK == 0 {
            self.generation = self.generation.max(found);
            self.mine_is_last = false;
        }
        expected
    }
}

/// A worker that updates an element until it is told to stop, and then says how many updates were lost.
pub(crate) fn update(root: &Path, index: u64) -> Outcome {
    let array = open(root)?;
    let stop = AtomicBool::new(false);
    crate::process::say("ready")?;
    let lost = thread::scope(|scope| {
        let updater = scope.spawn(|| {
            let (mut updater, mut lost) = (Updater::default(), 0);
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
    crate::process::say(&lost.to_string())
}

/// Processes that set different attributes of one array and of one group.
pub(crate) fn attributes(torture: &Torture, table: &mut Table) -> Outcome {
    const WRITERS: usize = 4;
    let n = torture.times(50);
    for layout in Layout::FORMATS {
        let root = torture.folder.join(format!("attributes-{layout}"));
        layout.builder(&[4], &[4]).attributes(json!({"kept": true})).create(root.as_path(), "a")?;
        Group::create(root.as_path(), "g", layout.format())?;
        let path = root.to_string_lossy();
        let mut workers = Vec::new();
        for index in 0..WRITERS {
            workers.push(Worker::start(&["set-attributes", &path, &index.to_string()])?);
        }
        for worker in &mut workers {
            worker.hear()?;
        }
        for worker in &mut workers {
            worker.tell(&n.to_string())?;
        }
        for worker in &mut workers {
            worker.hear()?;
        }
        workers.into_iter().try_for_each(Worker::end)?;
        let mut lost = 0;
        let array = open(&root)?;
        let group = Group::open_in(root.as_path(), "g")?;
        for writer in 0..WRITERS {
            for i in 0..n {
                let name = format!("{writer}-{i}");
                lost += u64::from(array.attributes().get(&name) != Some(&json!(i)));
                lost += u64::from(group.attributes().get(&name) != Some(&json!(i)));
            }
        }
        lost += u64::from(array.attributes().get("kept") != Some(&json!(true)));
        let name = format!("attributes lost, {WRITERS} processes, {layout}");
        table.row(name, lost, format_args!("of {}", 2 * WRITERS * n + 1), Expect::None)?;
    }
    Ok(())
}

/// A worker that sets so many attributes of its own.
pub(crate) fn set_attributes(root: &Path, writer: usize) -> Outcome {
    let mut array = open(root)?;
    let AnyNode::Group(mut group) = AnyNode::open_in(root, "g", &OpenOptions::default())? else {
        return Err("the group is no group".into());
    };
    crate::process::say("ready")?;
    serve(|line| {
        for i in 0..line.parse::<usize>()? {
            let name = format!("{writer}-{i}");
            array.merge_attributes(json!({ &name: i }))?;
            group.merge_attributes(json!({ &name: i }))?;
        }
        Ok("done".to_owned())
    })
}
