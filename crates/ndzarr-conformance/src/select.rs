//! Reads and writes selections of an array of int32.

use std::io::{self, Write};
use std::path::Path;

use ndzarr::ndarray::{Array1, ArrayD, IxDyn, Slice, SliceInfoElem};
use ndzarr::{Array, Points};
use serde::Deserialize;
use serde_json::json;

use crate::arguments::place;
use crate::failure::Failure;

/// A selection, and the values to write there in C order, unless it is read.
#[derive(Deserialize)]
struct Request {
    #[serde(flatten)]
    selection: Selected,
    values: Option<Vec<i32>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Selected {
    /// A list of indices for each axis.
    Lists(Vec<Vec<i64>>),
    /// Start, end and step for each axis, or an index.
    Slices(Vec<SliceOrIndex>),
    /// Along dimensions by their names.
    Names(Vec<(String, Along)>),
    Points(Vec<Vec<i64>>),
    /// One for each element in C order.
    Mask(Vec<bool>),
    /// First and last chunk along each axis, the last one not included.
    Blocks(Vec<(u64, u64)>),
}

#[derive(Clone, Copy, Deserialize)]
#[serde(untagged)]
enum SliceOrIndex {
    Index(isize),
    Slice(isize, Option<isize>, isize),
}

#[derive(Clone, Deserialize)]
#[serde(untagged)]
enum Along {
    Index(i64),
    /// Before masks: an empty one is a list.
    List(Vec<i64>),
    Mask(Vec<bool>),
}

/// Answers each line of the input, a request, by a line: the shape and the elements in C order; or
/// nothing but a line after a write.
pub(crate) fn run(store: &Path, node: &str, out: &mut dyn Write) -> Result<(), Failure> {
    let array = Array::<i32>::open(place(store, node))?;
    let shape: Vec<usize> = array.shape().iter().map(|&n| n as usize).collect();
    for line in io::stdin().lines() {
        let Request { selection, values } = serde_json::from_str(&line?)?;
        match selection {
            Selected::Lists(lists) => answer(&array, lists, values, out),
            Selected::Slices(slices) => {
                let slices = slices.into_iter().map(|along| match along {
                    SliceOrIndex::Index(at) => SliceInfoElem::Index(at),
                    SliceOrIndex::Slice(start, end, step) => Slice { start, end, step }.into(),
                });
                let slices: Vec<SliceInfoElem> = slices.collect();
                answer(&array, &slices[..], values, out)
            }
            Selected::Names(names) => {
                let by_name = names.into_iter().fold(array.by_name(), |by_name, (name, along)| match along {
                    Along::Index(at) => by_name.axis(name, at),
                    Along::Mask(mask) => by_name.axis(name, mask),
                    Along::List(list) => by_name.axis(name, list),
                });
                answer(&array, by_name, values, out)
            }
            Selected::Points(points) => answer(&array, Points::new(points), values, out),
            Selected::Mask(mask) => answer(&array, ArrayD::from_shape_vec(IxDyn(&shape), mask)?, values, out),
            Selected::Blocks(blocks) => {
                let blocks: Vec<_> = blocks.into_iter().map(|(first, end)| first..end).collect();
                answer(&array, array.blocks(blocks)?, values, out)
            }
        }?;
    }
    Ok(())
}

fn answer<S: ndzarr::Selection>(
    array: &Array<i32>,
    selection: S,
    values: Option<Vec<i32>>,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let Some(values) = values else {
        let found = array.read(selection)?;
        let values: Vec<i32> = found.iter().copied().collect();
        return Ok(writeln!(out, "{}", json!({ "shape": found.shape(), "values": values }))?);
    };
    let shape = selection.resolve(array.shape())?.shape();
    let values = Array1::from(values).into_shape_with_order(IxDyn(&shape))?;
    array.write(selection, &values)?;
    Ok(writeln!(out)?)
}
