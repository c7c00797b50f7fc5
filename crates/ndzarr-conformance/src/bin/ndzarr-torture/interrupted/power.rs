//! A writer whose machine loses its power, and the check of what is stored afterwards. `cargo xtask
//! torture --only machine` starts both in a virtual machine.

use std::fmt::Write as _;
use std::ops::Range;
use std::path::Path;
use std::process::Command;

use ndzarr::ndarray::Array1;
use ndzarr::store::Durability;
use ndzarr::{Array, ErrorKind, FsStore};
use serde_json::{Value, json};

use crate::common::layout::{Layout, write};
use crate::common::process::send_line;
use crate::common::torture::Outcome;

/// Every write of a run has a number. Array by array these writes are made, in this order.
const WRITES: [Change; 10] = [
    Change::Create,
    Change::Chunk,
    Change::Append,
    Change::Attributes,
    Change::Append,
    Change::Chunk,
    Change::Append,
    Change::Attributes,
    Change::Append,
    Change::Chunk,
];

/// Arrays are made in these layouts, one after the other.
const LAYOUTS: [Layout; 4] = [Layout::V3, Layout::V3Shards, Layout::N5, Layout::V2];

/// Elements of a unit. The first unit of an array is overwritten, the others are appended in
/// halves.
const UNIT: u64 = 4096;
const HALF: u64 = UNIT / 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Create,
    /// The whole first unit.
    Chunk,
    /// Half a unit.
    Append,
    /// Two attributes, which are always equal.
    Attributes,
}

/// Parses the name of a level.
pub(crate) fn level(name: &str) -> Outcome<Durability> {
    Durability::from_name(name).ok_or_else(|| format!("no level {name}").into())
}

fn layout(array: usize) -> Layout {
    LAYOUTS[array % LAYOUTS.len()]
}

/// Below the root of its layout.
fn path(array: usize) -> String {
    format!("group/{array}")
}

/// The value of missing elements. In N5 that is always 0.
fn missing(layout: Layout) -> u32 {
    if layout == Layout::N5 { 0 } else { u32::MAX }
}

/// Makes this many writes. Each that has returned is marked in the log of the device below.
pub(crate) fn write_all(root: &Path, level: Durability, n_writes: usize, device: &str) -> Outcome {
    for number in 0..n_writes {
        let array = number / WRITES.len();
        let change = WRITES[number % WRITES.len()];
        let path = path(array);
        let layout = layout(array);
        let store = FsStore::builder(root.join(layout.name()))
            .durability(level)
            .build();
        let element = number as u32;
        let open = || Array::<u32>::open((&store, path.as_str()));
        match change {
            Change::Create => {
                let builder = layout.compressed(layout.builder(&[UNIT], &[UNIT]));
                let builder = builder
                    .fill_value(missing(layout))
                    .attributes(attributes(number));
                builder.create((&store, path.as_str()))?;
            }
            Change::Chunk => write(&open()?, 0, vec![element; UNIT as usize])?,
            Change::Append => open()?.append(0, &Array1::from_elem(HALF as usize, element))?,
            Change::Attributes => open()?.merge_attributes(attributes(number))?,
        }
        mark(device, number)?;
    }
    send_line("done")
}

fn attributes(number: usize) -> Value {
    json!({"number": number, "again": number})
}

/// Writes the number into the log of the device (dm-log-writes of the kernel).
fn mark(device: &str, number: usize) -> Outcome {
    let status = Command::new("dmsetup")
        .args(["message", device, "0", "mark", &number.to_string()])
        .status()?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("dmsetup failed: {status}").into())
    }
}

/// Everything that is wrong after a cut.
#[derive(Default)]
struct Found {
    /// Arrays with a document that cannot be read.
    unopened: usize,
    /// Arrays that were acknowledged as created, without a document.
    absent: usize,
    /// Values that are neither old nor new.
    torn: usize,
    /// Acknowledged writes to the arrays that open, which are missing.
    lost: usize,
    /// The first of each kind.
    examples: String,
}

impl Found {
    fn note(&mut self, what: impl std::fmt::Display) {
        if self.examples.len() < 600 {
            // Writing to a text does not fail.
            let _ = write!(self.examples, "; {what}");
        }
    }
}

/// Checks what is stored after a cut, when the first `acknowledged` writes were acknowledged.
/// Prints four numbers, and examples of what is wrong.
pub(crate) fn check(root: &Path, acknowledged: usize) -> Outcome {
    let mut found = Found::default();
    // One more may be stored, which was not acknowledged yet.
    for array in 0..(acknowledged + 1).div_ceil(WRITES.len()) {
        let first = array * WRITES.len();
        let acknowledged = acknowledged.saturating_sub(first).min(WRITES.len());
        let begun = (acknowledged + 1).min(WRITES.len());
        check_array(root, array, acknowledged, begun, &mut found);
    }
    let Found {
        unopened,
        absent,
        torn,
        lost,
        examples,
    } = found;
    send_line(&format!("{unopened} {absent} {torn} {lost} {examples}"))
}

/// Checks an array of which the first `acknowledged` writes were acknowledged, and `begun` begun.
fn check_array(root: &Path, array: usize, acknowledged: usize, begun: usize, found: &mut Found) {
    let path = path(array);
    let layout = layout(array);
    let first = array * WRITES.len();
    let root = root.join(layout.name());
    let opened = match Array::<u32>::open((root.as_path(), path.as_str())) {
        Ok(opened) => opened,
        // In N5 a folder is a group if it has no document.
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::WrongNodeKind) => {
            found.absent += usize::from(acknowledged > 0);
            return;
        }
        Err(error) => {
            found.unopened += 1;
            return found.note(format_args!("{layout} {path}: {}", with_causes(&error)));
        }
    };
    let numbers = |change: Change, writes: usize| -> Vec<usize> {
        (0..writes)
            .filter(|write| WRITES[*write] == change)
            .map(|write| first + write)
            .collect()
    };

    // Attributes, and the shape that appends have left.
    let number = opened
        .attributes()
        .get("number")
        .and_then(Value::as_u64)
        .unwrap_or(u64::MAX) as usize;
    let mut known = numbers(Change::Attributes, begun);
    known.push(first);
    if opened.attributes().get("again") != Some(&json!(number)) || !known.contains(&number) {
        found.torn += 1;
        found.note(format_args!(
            "{layout} {path}: attributes {:?}",
            opened.attributes()
        ));
    }
    found.lost += numbers(Change::Attributes, acknowledged)
        .iter()
        .filter(|it| **it > number)
        .count();
    let appended = numbers(Change::Append, begun);
    let n_halves = ((opened.shape()[0] - UNIT) / HALF) as usize;
    if n_halves > appended.len() {
        found.torn += 1;
        found.note(format_args!("{layout} {path}: shape {:?}", opened.shape()));
    }
    let n_appended = numbers(Change::Append, acknowledged).len();
    found.lost += n_appended.saturating_sub(n_halves);

    // The unit that was overwritten.
    let missing = missing(layout);
    match constant(&opened, 0..UNIT) {
        Ok(element) => {
            let is_known =
                numbers(Change::Chunk, begun).contains(&(element as usize)) || element == missing;
            found.torn += usize::from(!is_known);
            let is_newer = |it: &&usize| element == missing || **it > element as usize;
            found.lost += numbers(Change::Chunk, acknowledged)
                .iter()
                .filter(is_newer)
                .count();
        }
        Err(why) => {
            found.torn += 1;
            found.note(format_args!("{layout} {path}: first unit: {why}"));
        }
    }

    // Those that were appended: nothing, the first half, or both.
    for unit in 0..n_halves.div_ceil(2) {
        let halves = 2 * unit..(2 * unit + 2).min(n_halves);
        let at = |half: usize| UNIT + half as u64 * HALF..UNIT + (half as u64 + 1) * HALF;
        let elements: Result<Vec<u32>, String> = halves
            .clone()
            .map(|half| constant(&opened, at(half)))
            .collect();
        match elements {
            Ok(elements) => {
                let is_stored = |half: usize| elements[half - 2 * unit] != missing;
                let is_known =
                    |half: usize| appended.get(half) == Some(&(elements[half - 2 * unit] as usize));
                let is_whole = halves
                    .clone()
                    .all(|half| !is_stored(half) || is_known(half))
                    && (elements.len() < 2 || is_stored(2 * unit) || !is_stored(2 * unit + 1));
                if !is_whole {
                    found.torn += 1;
                    found.note(format_args!(
                        "{layout} {path}: appended unit {unit}: {elements:?}"
                    ));
                }
                found.lost += halves
                    .filter(|half| *half < n_appended && !is_stored(*half))
                    .count();
            }
            Err(why) => {
                found.torn += 1;
                found.note(format_args!("{layout} {path}: appended unit {unit}: {why}"));
            }
        }
    }
}

/// The one value of all these elements.
fn constant(array: &Array<u32>, elements: Range<u64>) -> Result<u32, String> {
    let read = array
        .read([elements])
        .map_err(|error| with_causes(&error))?;
    if read.iter().all(|element| *element == read[0]) {
        Ok(read[0])
    } else {
        Err("mixed".to_owned())
    }
}

fn with_causes(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |error| error.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}
