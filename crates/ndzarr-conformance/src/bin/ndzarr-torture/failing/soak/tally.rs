//! The writes that were acknowledged, and their comparison with what is stored.

use std::collections::BTreeMap;
use std::error::Error;

use ndzarr::Array;
use serde::{Deserialize, Serialize};

use super::place::{BLOCK, BLOCKS, Place, ROW, Role, attribute, element};
use crate::common::layout::read;
use crate::common::torture::Outcome;

/// Where a writer writes a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) enum Write {
    /// To an array of [`BLOCKS`].
    Block(usize),
    Append,
    Attribute,
}

impl Write {
    pub(super) const ALL: [Self; 4] = [
        Self::Block(0),
        Self::Append,
        Self::Block(1),
        Self::Attribute,
    ];
}

/// The calls of a worker since its last report.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Report {
    /// Each with its number, and true if it was acknowledged.
    pub(super) writes: Vec<(Write, u32, bool)>,
    pub(super) reads: u64,
    pub(super) failed_reads: u64,
    pub(super) torn: u64,
}

impl Report {
    pub(super) fn wrote(&mut self, write: Write, number: u32, outcome: Outcome) {
        self.writes.push((write, number, outcome.is_ok()));
        complain(&format!("{write:?}"), outcome.err());
    }

    /// Counts a read that found this number of torn values.
    pub(super) fn read(&mut self, outcome: Outcome<u64>) {
        self.reads += 1;
        self.torn += outcome.as_ref().unwrap_or(&0);
        self.failed_reads += u64::from(outcome.is_err());
        complain("read", outcome.err());
    }
}

/// Prints why a call failed, if `NDZARR_SOAK_ERRORS` is set: this workload makes calls fail.
fn complain(what: &str, error: Option<Box<dyn Error + Send + Sync>>) {
    if let Some(error) = error
        && std::env::var_os("NDZARR_SOAK_ERRORS").is_some()
    {
        eprintln!("{what}: {error}");
    }
}

/// The reports of all workers, and what is wrong with the stored values.
pub(super) struct Tally {
    /// The numbers of each writer and kind, with true for those that were acknowledged.
    writes: Vec<BTreeMap<Write, Vec<(u32, bool)>>>,
    pub(super) reads: u64,
    pub(super) failed: u64,
    pub(super) torn: u64,
    pub(super) lost: u64,
    pub(super) foreign: u64,
}

impl Tally {
    pub(super) fn new(writers: usize) -> Self {
        Self {
            writes: vec![BTreeMap::new(); writers],
            reads: 0,
            failed: 0,
            torn: 0,
            lost: 0,
            foreign: 0,
        }
    }

    pub(super) fn add(&mut self, role: Role, report: &Report) {
        if let Role::Writer(index) = role {
            for (write, number, is_done) in &report.writes {
                self.writes[index]
                    .entry(*write)
                    .or_default()
                    .push((*number, *is_done));
                self.failed += u64::from(!is_done);
            }
        }
        self.reads += report.reads;
        self.failed += report.failed_reads;
        self.torn += report.torn;
    }

    fn all(&self) -> impl Iterator<Item = &(u32, bool)> {
        self.writes.iter().flat_map(BTreeMap::values).flatten()
    }

    pub(super) fn calls(&self) -> u64 {
        self.reads + self.all().count() as u64
    }

    pub(super) fn acknowledged(&self) -> u64 {
        self.all().filter(|(_, is_done)| *is_done).count() as u64
    }

    /// The last number that a worker has tried.
    pub(super) fn tried(&self, role: Role) -> u32 {
        let Role::Writer(index) = role else { return 0 };
        self.writes[index]
            .values()
            .flatten()
            .map(|(number, _)| *number)
            .max()
            .unwrap_or_default()
    }

    /// Compares the reports with what is stored.
    pub(super) fn compare(&mut self, place: &Place) -> Outcome {
        let storage = place.storage()?;
        let rows = Array::<u32>::open((&storage, "rows"))?;
        for (index, writes) in self.writes.iter().enumerate() {
            let of = |write: Write| writes.get(&write).map_or(&[][..], Vec::as_slice);
            for (which, (name, _)) in BLOCKS.iter().enumerate() {
                let start = index as u64 * BLOCK;
                let block = Array::<u32>::open((&storage, *name))?
                    .read([start..start + BLOCK])?
                    .to_vec();
                self.torn += u64::from(block.iter().any(|number| *number != block[0]));
                let (lost, foreign) = lost_and_foreign(of(Write::Block(which)), block[0]);
                self.lost += lost;
                self.foreign += foreign;
            }
            let found = rows
                .attributes()
                .get(&attribute(index))
                .and_then(serde_json::Value::as_u64);
            let found = found.map_or(Ok(0), u32::try_from)?;
            let (lost, foreign) = lost_and_foreign(of(Write::Attribute), found);
            self.lost += lost;
            self.foreign += foreign;
        }
        let mut found: BTreeMap<u32, u32> = BTreeMap::new();
        for row in read(&rows)?.chunks(ROW as usize) {
            let is_torn = row.len() as u64 != ROW || row.iter().any(|element| *element != row[0]);
            self.torn += u64::from(is_torn);
            *found.entry(row[0]).or_default() += 1;
        }
        // Rows of appends that failed between making room and filling it.
        let empty = found.remove(&0).unwrap_or_default();
        let mut failed = 0;
        let mut expected = 0;
        for (index, writes) in self.writes.iter().enumerate() {
            for (number, is_done) in writes.get(&Write::Append).into_iter().flatten() {
                let times = found.remove(&element(index, *number)).unwrap_or_default();
                self.lost += u64::from(*is_done && times == 0);
                self.foreign += u64::from(times > 1);
                failed += u32::from(!is_done);
                expected += 1;
            }
        }
        self.foreign += found.len() as u64 + u64::from(empty.saturating_sub(failed));
        if expected == 0 {
            Err("nobody appended".into())
        } else {
            Ok(())
        }
    }
}

/// Counts the stored number `found` as lost if it is older than the last acknowledged one, and as
/// foreign if it was never written. A write that failed may have taken effect.
fn lost_and_foreign(writes: &[(u32, bool)], found: u32) -> (u64, u64) {
    let acknowledged = writes.iter().rposition(|(_, is_done)| *is_done);
    let allowed = &writes[acknowledged.unwrap_or_default()..];
    let is_first = found == 0 && acknowledged.is_none();
    if is_first || allowed.iter().any(|(number, _)| *number == found) {
        return (0, 0);
    }
    let is_older = found == 0 || writes.iter().any(|(number, _)| *number == found);
    if is_older { (1, 0) } else { (0, 1) }
}
