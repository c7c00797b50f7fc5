//! ndzarr together with Java N5, which locks the file of a value itself, cuts it, and writes it in
//! place. A worker stands in for Java, with its locks.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ndzarr::{Array, MemoryStore};
use rustix::fs::{FlockOperation, fcntl_lock};
use serde_json::Value;

use crate::common::layout::{Layout, on_own_thread, open, write};
use crate::common::process::{Worker, answer_lines, send_line};
use crate::common::table::{Expect, Table};
use crate::common::torture::{Outcome, Torture};

/// Enough that Java writes a block in several parts.
const ELEMENTS: u64 = 16 * 1024;

/// How many bytes `java.nio.channels.Channels` writes at once.
const AT_ONCE: usize = 8192;

/// One process of Java, two of ndzarr that write, and one that reads.
const ROLES: [&str; 4] = ["java", "1", "2", "reader"];

/// Documents, or blocks, that both change.
const WHAT: [&str; 2] = ["attributes", "blocks"];

pub(crate) fn run(torture: &Torture, table: &mut Table) -> Outcome {
    let time = Duration::from_secs(if torture.minute { 2 } else { 30 });
    for what in WHAT {
        let [java, one, two, reader] = together(&torture.quick_folder, what, time)?;
        let updates = one.done + two.done;
        let of = format!("of {}, with {updates} of ndzarr", java.done);
        table.row(format!("{what}: Java's lost"), java.lost, of, Expect::None)?;
        let of = format!("of {updates}, with {} of Java", java.done);
        table.row(
            format!("{what}: ndzarr's failed"),
            one.failed + two.failed,
            &of,
            Expect::None,
        )?;
        let name = format!("  {what}: ndzarr's undone by Java, which reads before it locks");
        table.row(name, one.lost + two.lost, of, Expect::Anything)?;
        let of = format!("of {} reads", reader.done);
        table.row(
            format!("{what}: reads failed"),
            reader.failed,
            &of,
            Expect::None,
        )?;
        let torn = [&java, &one, &two, &reader]
            .iter()
            .map(|tally| tally.torn)
            .sum();
        table.row(format!("{what}: torn values"), torn, of, Expect::None)?;
        if java.done == 0 || updates == 0 || reader.done == 0 {
            return Err("some of them did nothing, so they did not run at the same time".into());
        }
    }
    Ok(())
}

/// The counts of a worker.
#[derive(Debug, Default)]
struct Tally {
    done: u64,
    /// Its own updates that others have undone.
    lost: u64,
    failed: u64,
    torn: u64,
}

/// Lets all workers work on one array for some time.
fn together(folder: &Path, what: &str, time: Duration) -> Outcome<[Tally; 4]> {
    let root = folder.join(format!("java-{what}"));
    let array = Layout::N5.compressed(Layout::N5.builder(&[ELEMENTS], &[ELEMENTS]));
    let mut block = vec![0; ELEMENTS as usize];
    // An element of no writer: a block that has only the fill value is not stored.
    block[ROLES.len()] = 1;
    write(&array.create((root.as_path(), "a"))?, 0, block)?;
    let path = root.to_string_lossy();
    let mut workers = Vec::new();
    for role in ROLES {
        workers.push(Worker::start(&["beside-java", what, role, &path])?);
    }
    for worker in &mut workers {
        worker.receive()?;
    }
    for worker in &mut workers {
        worker.send(&time.as_millis().to_string())?;
    }
    let mut tallies = Vec::new();
    for worker in &mut workers {
        let line = worker.receive()?;
        let numbers = line
            .split(' ')
            .map(str::parse)
            .collect::<Result<Vec<u64>, _>>();
        let [done, lost, failed, torn] =
            numbers.map_err(|_| format!("a worker said {line:?}"))?[..]
        else {
            return Err(format!("a worker said {line:?}").into());
        };
        tallies.push(Tally {
            done,
            lost,
            failed,
            torn,
        });
    }
    workers.into_iter().try_for_each(Worker::end)?;
    tallies
        .try_into()
        .map_err(|_| "as many as there are roles".into())
}

/// A worker.
pub(crate) fn work(what: &str, role: &str, root: &Path) -> Outcome {
    let mut dataset = Dataset::new(root)?;
    send_line("ready")?;
    answer_lines(|line| {
        let until = Instant::now() + Duration::from_millis(line.parse()?);
        let mut tally = Tally::default();
        while Instant::now() < until {
            match (what, role) {
                ("attributes", "java") => dataset.change_attributes_in_place(&mut tally)?,
                ("blocks", "java") => dataset.change_block_in_place(&mut tally)?,
                (_, "reader") => dataset.read(what, &mut tally),
                ("attributes", name) => dataset.change_attributes(name, &mut tally),
                (_, name) => dataset.change_block(name.parse()?, &mut tally),
            }
        }
        let Tally {
            done,
            lost,
            failed,
            torn,
        } = tally;
        Ok(format!("{done} {lost} {failed} {torn}"))
    })
}

/// The dataset as a worker sees it.
struct Dataset {
    root: PathBuf,
    array: Array<u32>,
    /// The same dataset in memory, where Java's blocks are encoded and decoded.
    copy: Array<u32>,
}

impl Dataset {
    fn new(root: &Path) -> Outcome<Self> {
        let array = open(root)?.with_options(on_own_thread());
        let copy = Layout::N5.compressed(Layout::N5.builder(&[ELEMENTS], &[ELEMENTS]));
        let copy = copy.create((&MemoryStore::new(), "a"))?;
        Ok(Self {
            root: root.to_owned(),
            array,
            copy,
        })
    }

    /// As `setAttribute` of Java: reads under one lock, writes under another.
    fn change_attributes_in_place(&self, tally: &mut Tally) -> Outcome {
        let path = self.root.join("a/attributes.json");
        let mut document: Value = serde_json::from_slice(&read_locked(&path)?)?;
        tally.torn += u64::from(document.get("dimensions").is_none());
        tally.lost += u64::from(tally.done > 0 && document["java"] != tally.done);
        tally.done += 1;
        document["java"] = tally.done.into();
        write_in_place(&path, &serde_json::to_vec(&document)?)
    }

    /// The first element is Java's, and the second half of the block.
    fn change_block_in_place(&self, tally: &mut Tally) -> Outcome {
        let path = self.root.join("a/0");
        self.copy.units().write_encoded(&[0], read_locked(&path)?)?;
        let mut block = self.copy.read(..)?.into_raw_vec_and_offset().0;
        tally.torn += u64::from(is_torn(&block));
        tally.lost += u64::from(u64::from(block[0]) != tally.done);
        tally.done += 1;
        block[0] = tally.done as u32;
        block[ELEMENTS as usize / 2..].fill(tally.done as u32);
        write(&self.copy, 0, block)?;
        let encoded = self.copy.units().encoded(&[0])?.ok_or("it was written")?;
        write_in_place(&path, &encoded)
    }

    fn change_attributes(&mut self, name: &str, tally: &mut Tally) {
        let done = tally.done;
        let mut lost = false;
        let update = |old: Option<u64>| {
            lost = done > 0 && old != Some(done);
            done + 1
        };
        match self.array.update_attribute(name, update) {
            Ok(()) => tally.done += 1,
            Err(error) => tally.fail(&error),
        }
        tally.lost += u64::from(lost);
        tally.torn += u64::from(self.array.shape() != [ELEMENTS]);
    }

    fn change_block(&self, at: u64, tally: &mut Tally) {
        let number = tally.done as u32 + 1;
        let written = write(&self.array, at, vec![number]);
        match written.and_then(|()| Ok(self.array.read([at..at + 1])?[0])) {
            Ok(read) => {
                tally.done += 1;
                tally.lost += u64::from(read != number);
            }
            Err(error) => tally.fail(&error),
        }
    }

    fn read(&self, what: &str, tally: &mut Tally) {
        tally.done += 1;
        let read = || -> Outcome<bool> {
            if what == "attributes" {
                return Ok(open(&self.root)?.shape() != [ELEMENTS]);
            }
            Ok(is_torn(&self.array.read(..)?.into_raw_vec_and_offset().0))
        };
        match read() {
            Ok(torn) => tally.torn += u64::from(torn),
            Err(error) => tally.fail(&error),
        }
    }
}

/// Only Java writes the second half, together with the first element.
fn is_torn(block: &[u32]) -> bool {
    let half = &block[ELEMENTS as usize / 2..];
    half.iter().any(|&number| number != block[0])
}

impl Tally {
    fn fail(&mut self, error: &dyn std::fmt::Display) {
        if self.failed == 0 {
            let _ = writeln!(std::io::stderr(), "   the first that failed: {error}");
        }
        self.failed += 1;
    }
}

/// As Java N5 4: a lock of the file, which is opened once more to be read.
fn read_locked(path: &Path) -> Outcome<Vec<u8>> {
    let locked = File::open(path)?;
    fcntl_lock(&locked, FlockOperation::LockShared)?;
    Ok(fs::read(path)?)
}

/// As Java N5 4: a lock of the file, which is opened once more, cut and written part by part.
fn write_in_place(path: &Path, value: &[u8]) -> Outcome {
    let mut how = OpenOptions::new();
    how.read(true).write(true).create(true).truncate(false);
    let locked = how.open(path)?;
    fcntl_lock(&locked, FlockOperation::LockExclusive)?;
    let mut file = how.open(path)?;
    file.set_len(0)?;
    Ok(value
        .chunks(AT_ONCE)
        .try_for_each(|part| file.write_all(part))?)
}
