//! Reads and writes selections of an array of int32.

use std::io::{self, Write};
use std::path::Path;

use ndzarr::ndarray::{Array1, ArrayD, IxDyn, Slice, SliceInfoElem};
use ndzarr::store::block_on;
use ndzarr::{Array, ErrorKind, Points, Result, Selection, asynchronous};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::arguments::place;
use crate::failure::Failure;

/// A selection to read, or to write.
#[derive(Deserialize)]
struct Request {
    #[serde(flatten)]
    selection: Selected,
    /// To be written there, in C order.
    values: Option<Vec<i32>>,
    /// To be written to all of its elements.
    fill: Option<i32>,
    /// True to use the calls of `asynchronous`.
    #[serde(default)]
    asynchronous: bool,
}

/// An array, and what to do with a selection of it.
struct Call {
    array: Array<i32>,
    async_array: asynchronous::Array<i32>,
    values: Option<Vec<i32>>,
    fill: Option<i32>,
    asynchronous: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Selected {
    /// A list of indices for each axis.
    Lists(Vec<Vec<i64>>),
    /// A mask of each axis.
    Masks(Vec<Vec<bool>>),
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
    Slice {
        start: isize,
        end: Option<isize>,
        step: isize,
    },
}

/// Answers each line of the input, a request, with a line: the shape and the elements in C order;
/// an empty line after a write; or the error about a selection that does not fit.
pub(crate) fn run(
    store: &Path,
    node: &str,
    out: &mut dyn Write,
) -> std::result::Result<(), Failure> {
    let array = Array::<i32>::open(place(store, node))?;
    let async_array = block_on(asynchronous::Array::<i32>::open(place(store, node)))?;
    let shape: Vec<usize> = array.shape().iter().map(|&n| n as usize).collect();
    for line in io::stdin().lines() {
        let Request {
            selection,
            values,
            fill,
            asynchronous,
        } = serde_json::from_str(&line?)?;
        let call = Call {
            array: array.clone(),
            async_array: async_array.clone(),
            values,
            fill,
            asynchronous,
        };
        let answer = match selection {
            Selected::Lists(lists) => call.run(lists),
            Selected::Masks(masks) => call.run(masks),
            Selected::Slices(slices) => {
                let slices = slices.into_iter().map(|along| match along {
                    SliceOrIndex::Index(at) => SliceInfoElem::Index(at),
                    SliceOrIndex::Slice(start, end, step) => Slice { start, end, step }.into(),
                });
                let slices: Vec<SliceInfoElem> = slices.collect();
                call.run(&slices[..])
            }
            Selected::Names(names) => {
                let by_name = names
                    .into_iter()
                    .fold(array.by_name(), |by_name, (name, along)| match along {
                        Along::Index(at) => by_name.axis(name, at),
                        Along::Mask(mask) => by_name.axis(name, mask),
                        Along::List(list) => by_name.axis(name, list),
                        Along::Slice { start, end, step } => {
                            by_name.axis(name, Slice { start, end, step })
                        }
                    });
                call.run(by_name)
            }
            Selected::Points(points) => call.run(Points::new(points)),
            Selected::Mask(mask) => call.run(ArrayD::from_shape_vec(IxDyn(&shape), mask)?),
            Selected::Blocks(blocks) => {
                let blocks: Vec<_> = blocks.into_iter().map(|(first, end)| first..end).collect();
                array.blocks(blocks).and_then(|region| call.run(region))
            }
        };
        match answer {
            Ok(Value::Null) => writeln!(out)?,
            Ok(found) => writeln!(out, "{found}")?,
            Err(error) if error.kind() == ErrorKind::WrongShape => {
                writeln!(out, "{}", json!({ "error": error.to_string() }))?;
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

impl Call {
    fn run<S: Selection>(self, selection: S) -> Result<Value> {
        let Self {
            array,
            async_array,
            values,
            fill,
            asynchronous,
        } = self;
        if let Some(value) = fill {
            if asynchronous {
                block_on(async_array.fill(selection, value))?;
            } else {
                array.fill(selection, value)?;
            }
            return Ok(Value::Null);
        }
        if let Some(values) = values {
            // Those that do not fit are refused when they are written.
            let shape = selection
                .resolve(array.shape())
                .map_or_else(|_| vec![values.len()], |of| of.shape());
            let values = Array1::from(values).into_dyn();
            let values = values
                .to_shape(IxDyn(&shape))
                .unwrap_or_else(|_| values.view().into());
            if asynchronous {
                block_on(async_array.write(selection, &values))?;
            } else {
                array.write(selection, &values)?;
            }
            return Ok(Value::Null);
        }
        let found = if asynchronous {
            block_on(async_array.read(selection))?.into_dyn()
        } else {
            array.read(selection)?.into_dyn()
        };
        Ok(json!({ "shape": found.shape(), "values": found.iter().collect::<Vec<_>>() }))
    }
}
