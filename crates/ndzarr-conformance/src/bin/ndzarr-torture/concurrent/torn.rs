//! Readers while a writer replaces values: they never see parts of two values.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ndzarr::Array;

use crate::common::foreign_writer::write_in_place;
use crate::common::layout::{Layout, on_own_thread, open, write};
use crate::common::process::Worker;
use crate::common::table::{Expect, Table};
use crate::common::torture::{Outcome, Torture, until_lost};

const ELEMENTS: u64 = 512;
const READERS: u64 = 2;

/// How the readers open their array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Opened {
    /// Once: indexes of shards stay in memory.
    Once,
    /// For every read.
    Anew,
}

/// The layout, its codec (values in gzip differ in size), how it is opened, and its share of all
/// reads in percent.
const CASES: [(Layout, &str, Opened, u64); 9] = [
    (Layout::V2, "gzip", Opened::Once, 10),
    (Layout::V3, "raw", Opened::Once, 15),
    (Layout::V3Shards, "gzip", Opened::Once, 25),
    (Layout::V3Shards, "raw", Opened::Once, 10),
    (Layout::V3Shards, "gzip", Opened::Anew, 10),
    (Layout::Draft, "gzip", Opened::Once, 5),
    (Layout::DraftShards, "gzip", Opened::Once, 10),
    (Layout::DraftShards, "gzip", Opened::Anew, 5),
    (Layout::N5, "gzip", Opened::Once, 10),
];

/// The longest that a case may take in the short form: under an emulator, fewer reads must do.
const CASE: Duration = Duration::from_secs(10);

pub(crate) fn run(torture: &Torture, table: &mut Table) -> Outcome {
    let reads = torture.times(1_000_000) as u64;
    let mut all = 0;
    let mut all_torn = 0;
    for (i, (layout, coding, opened, percent)) in CASES.into_iter().enumerate() {
        let n = reads * percent / 100;
        let root = torture.quick_folder.join(format!("torn-{i}"));
        let builder = layout.builder(&[ELEMENTS], &[ELEMENTS]);
        let builder = if coding == "raw" {
            builder
        } else {
            layout.compressed(builder)
        };
        builder.create((root.as_path(), "a"))?;
        let mut writer =
            Worker::start(&["replace", &root.to_string_lossy(), Replace::Whole.name()])?;
        writer.receive()?;
        let until = torture.minute.then(|| Instant::now() + CASE);
        let Seen { n, torn, changes } = read_while_written(&root, n, until, opened)?;
        writer.send("stop")?;
        let written = writer.receive_number()?;
        writer.end()?;
        let warm = match (layout.has_shards(), opened) {
            (true, Opened::Once) => ", warm index",
            (true, Opened::Anew) => ", cold index",
            (false, _) => "",
        };
        let name = format!("torn values, {} ({coding}{warm})", layout.unit());
        let of = format!("of {n} reads, {written} writes");
        table.row(name, torn, of, Expect::None)?;
        if changes < 2 {
            return Err(
                "the readers saw no change, so they did not read while the writer wrote".into(),
            );
        }
        all += n;
        all_torn += torn;
    }
    table.row(
        "torn values, together",
        all_torn,
        format_args!("of {all} reads"),
        Expect::None,
    )?;
    let (torn, tries) = until_lost(|| read_while_written_in_place(torture))?;
    let of = format!("of {} reads", tries as u64 * CONTROL_READS);
    table.row(
        "  by a writer of another make, in place, v3 chunk (raw)",
        torn,
        of,
        Expect::Some,
    )
}

/// Enough to see a torn value.
const CONTROL_READS: u64 = 2_000;

/// Counts the values that are torn when another program writes into the file of the chunk.
fn read_while_written_in_place(torture: &Torture) -> Outcome<u64> {
    let root = torture.quick_folder.join("torn-in-place");
    Layout::V3
        .builder(&[ELEMENTS], &[ELEMENTS])
        .overwrite()
        .create((root.as_path(), "a"))?;
    write(
        &open(&root)?,
        0,
        (0..ELEMENTS).map(|at| element(1, at)).collect(),
    )?;
    let mut writer = Worker::start(&["replace", &root.to_string_lossy(), Replace::InPlace.name()])?;
    writer.receive()?;
    let Seen { torn, .. } = read_while_written(&root, CONTROL_READS, None, Opened::Once)?;
    writer.send("stop")?;
    writer.receive()?;
    writer.end()?;
    Ok(torn)
}

/// How a worker replaces a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Replace {
    /// As ndzarr does.
    Whole,
    /// Part by part, in the file of the chunk.
    InPlace,
}

impl Replace {
    pub(crate) fn parse(name: &str) -> Self {
        if name == "whole" {
            Self::Whole
        } else {
            Self::InPlace
        }
    }

    fn name(self) -> &'static str {
        if self == Self::Whole {
            "whole"
        } else {
            "in-place"
        }
    }
}

/// What readers have seen while a writer was at work.
struct Seen {
    /// Reads.
    n: u64,
    /// Values that were torn.
    torn: u64,
    changes: u64,
}

/// Reads this many times, by several threads, or until some time.
fn read_while_written(
    root: &Path,
    most: u64,
    until: Option<Instant>,
    opened: Opened,
) -> Outcome<Seen> {
    let n = AtomicU64::new(0);
    let torn = AtomicU64::new(0);
    let changes = AtomicU64::new(0);
    let shared = open(root)?.with_options(on_own_thread());
    thread::scope(|scope| {
        let readers: Vec<_> = (0..READERS)
            .map(|_| {
                let array = shared.clone();
                let n = &n;
                let torn = &torn;
                let changes = &changes;
                scope.spawn(move || -> Outcome {
                    let mut array = array;
                    let mut last = 0;
                    for i in 0..most.div_ceil(READERS) {
                        if until.is_some_and(|until| Instant::now() >= until) {
                            break;
                        }
                        if opened == Opened::Anew {
                            array = open(root)?.with_options(on_own_thread());
                        }
                        let (is_torn, number) = read_once(&array, i)?;
                        n.fetch_add(1, Ordering::Relaxed);
                        torn.fetch_add(u64::from(is_torn), Ordering::Relaxed);
                        changes.fetch_add(u64::from(number != last), Ordering::Relaxed);
                        last = number;
                    }
                    Ok(())
                })
            })
            .collect();
        readers
            .into_iter()
            .try_for_each(|reader| reader.join().map_err(|_| "a thread panicked")?)
    })?;
    Ok(Seen {
        n: n.into_inner(),
        torn: torn.into_inner(),
        changes: changes.into_inner(),
    })
}

/// Reads a part, sometimes all. Returns true if it mixes several values, and the number of one of
/// them.
fn read_once(array: &Array<u32>, i: u64) -> Outcome<(bool, u32)> {
    // Across the border of two inner chunks, wherever those are.
    let start = i * 37 % (ELEMENTS / 2);
    let range = if i.is_multiple_of(4) {
        0..ELEMENTS
    } else {
        start..start + ELEMENTS / 8 + 1
    };
    let found = match array.read([range.clone()]) {
        Ok(found) => found,
        Err(error) => {
            eprintln!("{error:?}");
            return Ok((true, 0));
        }
    };
    let number = found[0] >> 8;
    let whole = (range.start..)
        .zip(&found)
        .all(|(at, &found)| found == element(number, at));
    Ok((!whole, number))
}

/// Elements of a value. Their compressed length varies from value to value.
fn element(number: u32, at: u64) -> u32 {
    if number == 0 {
        0
    } else {
        (number << 8) | ((at as u32).wrapping_mul(number | 1) % (1 + number % 251))
    }
}

/// A worker that replaces all elements, and sometimes erases them, until it is stopped.
pub(crate) fn replace(root: &Path, how: Replace) -> Outcome {
    let array = open(root)?.with_options(on_own_thread());
    let stop = AtomicBool::new(false);
    let written = thread::scope(|scope| {
        let writer = scope.spawn(|| -> Outcome<u32> {
            let mut written = 0;
            while !stop.load(Ordering::Relaxed) {
                written += 1;
                // All fill, and so not stored, at every sixteenth.
                let number = if written % 16 == 0 {
                    0
                } else {
                    written % (1 << 20)
                };
                let elements: Vec<u32> = (0..ELEMENTS).map(|at| element(number, at)).collect();
                match how {
                    Replace::Whole => write(&array, 0, elements)?,
                    Replace::InPlace => write_in_place(&root.join("a/c/0"), &elements)?,
                }
                if written == 1 {
                    crate::common::process::send_line("ready")?;
                }
            }
            Ok(written)
        });
        let read = std::io::stdin().read_line(&mut String::new());
        stop.store(true, Ordering::Relaxed);
        let written = writer.join().map_err(|_| "a thread panicked")?;
        read?;
        written
    })?;
    crate::common::process::send_line(&written.to_string())
}
