//! A reader: no block is torn, and none becomes older.

use std::collections::BTreeMap;

use ndzarr::{Array, Storage};

use super::place::{BLOCK, BLOCKS, Place, ROW};
use super::tally::Report;
use crate::common::layout::read;
use crate::common::process::{answer_lines, send_line};
use crate::common::torture::Outcome;

pub(super) fn work(place: &Place) -> Outcome {
    let storage = place.storage()?;
    // The newest number of each block.
    let mut newest = BTreeMap::new();
    let mut turn = 0;
    send_line("ready")?;
    answer_lines(|line| {
        let mut report = Report::default();
        for _ in 0..line.parse::<usize>()? {
            turn += 1;
            let torn = match turn % 3 {
                2 => rows(&storage),
                which => blocks(&storage, which, &mut newest),
            };
            report.read(torn);
        }
        Ok(serde_json::to_string(&report)?)
    })
}

/// Blocks with several numbers, or with an older one than before.
fn blocks(
    storage: &Storage,
    which: usize,
    newest: &mut BTreeMap<(usize, usize), u32>,
) -> Outcome<u64> {
    let all = read(&Array::open((storage, BLOCKS[which].0))?)?;
    let mut wrong = 0;
    for (index, block) in all.chunks(BLOCK as usize).enumerate() {
        let newest = newest.entry((which, index)).or_default();
        let is_torn = block.iter().any(|number| *number != block[0]);
        wrong += u64::from(is_torn || block[0] < *newest);
        *newest = block[0];
    }
    Ok(wrong)
}

/// Rows of several numbers, among the newest ones.
fn rows(storage: &Storage) -> Outcome<u64> {
    let rows = Array::<u32>::open((storage, "rows"))?;
    let len = rows.shape()[0];
    let some = rows.read([len.saturating_sub(20 * ROW)..len])?.to_vec();
    Ok(some
        .chunks(ROW as usize)
        .filter(|row| row.iter().any(|element| *element != row[0]))
        .count() as u64)
}
