//! A writer: sets its elements, appends, and sets its attribute, each time to the next number.

use ndzarr::ndarray::Array1;
use ndzarr::{Array, Storage};
use serde_json::json;

use super::place::{BLOCK, BLOCKS, Place, ROW, attribute, element};
use super::tally::{Report, Write};
use crate::common::layout::write;
use crate::common::process::{answer_lines, send_line};
use crate::common::torture::Outcome;

pub(super) fn work(place: &Place, index: usize, first: u32) -> Outcome {
    let storage = place.storage()?;
    let mut number = first;
    send_line("ready")?;
    answer_lines(|line| {
        let mut report = Report::default();
        for _ in 0..line.parse::<usize>()? {
            let write = Write::ALL[number as usize % Write::ALL.len()];
            report.wrote(write, number, once(&storage, write, index, number));
            number += 1;
        }
        Ok(serde_json::to_string(&report)?)
    })
}

fn once(storage: &Storage, how: Write, index: usize, number: u32) -> Outcome {
    match how {
        Write::Block(which) => {
            let array = Array::<u32>::open((storage, BLOCKS[which].0))?;
            write(&array, index as u64 * BLOCK, vec![number; BLOCK as usize])
        }
        Write::Append => {
            let mut rows = Array::<u32>::open((storage, "rows"))?;
            rows.append(0, &Array1::from_elem(ROW as usize, element(index, number)))?;
            Ok(())
        }
        Write::Attribute => {
            let mut rows = Array::<u32>::open((storage, "rows"))?;
            Ok(rows.merge_attributes(json!({ attribute(index): number }))?)
        }
    }
}
