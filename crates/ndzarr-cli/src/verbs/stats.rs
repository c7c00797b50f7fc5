//! `ndzarr stats`: prints statistics of the numbers of an array.

use std::num::NonZeroUsize;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use clap::Args;
use ndzarr::ndarray::ArrayViewMutD;
use ndzarr::{AnyArray, Array, DataType, Progress, RunOptions, for_each_type};
use serde_json::{Value, json};

use crate::arguments::selection::{AxisSelection, Selected};
use crate::arguments::sizes::plural;
use crate::arguments::{FoundArray, Global};
use crate::elements::ranks::{Ranked, Search, percentile_position};
use crate::elements::sparse::Pass;
use crate::elements::sums::Sums;
use crate::elements::text::{Shown, float};
use crate::failure::Failure;
use crate::output::Output;
use crate::output::progress::Bar;
use crate::parallel::in_order;

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Path or URL of an array, or of a group, whose arrays of numbers are taken one by one.
    path: PathBuf,
    /// The part to look at: "3, :, 10:200:2".
    #[arg(allow_hyphen_values = true)]
    selection: Option<String>,
    /// Percentiles, such as 1,50,99: exact, and between two elements as by NumPy. They take up to
    /// four more passes.
    #[arg(long, value_delimiter = ',', value_name = "PERCENT")]
    percentiles: Vec<f64>,
    /// Numbers in this many bins of equal width, from the least to the greatest; one more pass.
    #[arg(long, value_name = "BINS", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    histogram: Option<u32>,
    /// The same for the elements at each index along this axis of the array, counted from 0.
    #[arg(long, value_name = "AXIS")]
    per_axis: Option<usize>,
}

/// The most indices of `--per-axis`: each takes some tens of bytes on each thread.
const MAX_INDICES: u64 = 100_000;

/// The most percentiles: each takes up to a MiB on each thread.
const MAX_PERCENTILES: usize = 100;

pub(crate) fn run(
    arguments: &Arguments,
    global: &Global,
    output: &mut Output,
) -> Result<(), Failure> {
    if let Some(wrong) = arguments
        .percentiles
        .iter()
        .find(|percent| !(0.0..=100.0).contains(*percent))
    {
        return Err(Failure::usage(format_args!(
            "{wrong} is not between 0 and 100"
        )));
    }
    if arguments.percentiles.len() > MAX_PERCENTILES {
        return Err(Failure::usage(format_args!(
            "more than {MAX_PERCENTILES} percentiles"
        )));
    }
    let arrays = global.open_arrays(&arguments.path)?;
    let is_single = arrays.len() == 1;
    let mut n_failed = 0;
    for (number, FoundArray { path, array }) in arrays.into_iter().enumerate() {
        let found = array.map_err(Failure::from).and_then(|array| {
            let found = for_each_type!(array.data_type(), T: Number => {
                Some(statistics::<T>(&array, arguments, global)?)
            }, _ => None);
            Ok((array.data_type().clone(), found))
        });
        let found = match found {
            Ok((_, Some(found))) => found,
            Ok((data_type, None)) if is_single => {
                return Err(Failure::new(format_args!(
                    "the elements are {data_type}, not real numbers"
                )));
            }
            Ok((_, None)) => continue,
            // The other arrays are read all the same.
            Err(failure) if !is_single && matches!(failure, Failure::Failed(_)) => {
                n_failed += 1;
                if output.json() {
                    output.value(&json!({"path": path, "error": failure.message()}))?;
                } else {
                    output.line(format!("{path}: {}", failure.message()))?;
                }
                continue;
            }
            Err(failure) => return Err(failure),
        };
        if output.json() {
            let mut value = found;
            value["path"] = path.into();
            output.value(&value)?;
            continue;
        }
        if number > 0 {
            output.line("")?;
        }
        if !is_single {
            output.line(format!("{path}:"))?;
        }
        print(&found, output)?;
    }
    if n_failed > 0 {
        let arrays = plural(n_failed, "array", "arrays");
        return Err(Failure::new(format_args!("{arrays} could not be read")));
    }
    Ok(())
}

/// The pieces of an array, which each thread reads into memory of its own.
struct Pieces<'a, T: ndzarr::Element> {
    array: Array<T>,
    selected: &'a Selected,
    pass: Pass,
    /// The number of elements that are not read, since they have the fill value.
    n_fill: u64,
    workers: NonZeroUsize,
    global: &'a Global,
}

/// Pieces are at least this large, in bytes, so that tiny chunks are read together.
const MIN_PIECE_BYTES: u64 = 1 << 18;

/// Pieces are at most this large, in bytes.
const MAX_PIECE_BYTES: u64 = 32 << 20;

impl<T: Ranked> Pieces<'_, T> {
    /// Passes over the elements of all pieces. Each thread has a state of its own, made by
    /// `new_state`. Returns the states of all threads. `take` gets the results of `add` for each
    /// piece, always in the same order, on which sums of floats depend.
    fn pass<S: Send, R: Send>(
        &self,
        new_state: impl Fn() -> S + Sync,
        add: impl Fn(&mut S, &[T], &[Range<u64>]) -> R + Sync,
        take: impl FnMut(R) + Send,
    ) -> Result<Vec<S>, Failure> {
        let n_read = self.selected.n_elements().saturating_sub(self.n_fill);
        let bar = Bar::new(self.global, n_read.saturating_mul(size_of::<T>() as u64));
        let on_progress = bar.callback();
        let done = AtomicU64::new(0);
        let total = self.pass.n_boxes();
        let each = |(buffer, state): &mut (Vec<T>, S), ranges: Vec<Range<u64>>| {
            let shape: Vec<usize> = ranges
                .iter()
                .map(|range| (range.end - range.start) as usize)
                .collect();
            let n = shape.iter().product();
            if buffer.len() < n {
                let more = n - buffer.len();
                buffer
                    .try_reserve_exact(more)
                    .map_err(|_| Failure::new("there is no memory for a chunk"))?;
                buffer.resize(n, T::default());
            }
            let mut out =
                ArrayViewMutD::from_shape(shape, &mut buffer[..n]).map_err(Failure::new)?;
            self.array
                .read_into(&self.selected.window(&ranges)[..], &mut out)?;
            let result = add(state, &buffer[..n], &ranges);
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            on_progress(Progress::new(done, total));
            Ok(result)
        };
        let states = in_order(
            self.workers,
            self.pass.boxes(),
            || (Vec::new(), new_state()),
            each,
            take,
        )?;
        Ok(states.into_iter().map(|(_, state)| state).collect())
    }
}

/// The statistics of an array, in the form that the reference describes.
fn statistics<T: Ranked + Shown>(
    array: &AnyArray,
    arguments: &Arguments,
    global: &Global,
) -> Result<Value, Failure> {
    let data_type = array.data_type();
    let selected = Selected::parse(arguments.selection.as_deref(), array.shape())?;
    let chunks = array.chunk_shape();
    let size = size_of::<T>() as u64;
    let volume = chunks.iter().fold(1, |all: u64, &n| all.saturating_mul(n));
    let max_elements = volume
        .max(MIN_PIECE_BYTES / size)
        .min(MAX_PIECE_BYTES / size);
    let on_one_thread = RunOptions::default().threads(NonZeroUsize::MIN);
    let pass = Pass::new(selected.boxes(&chunks, max_elements), &[(array, &selected)]);
    let pieces = Pieces {
        array: array.clone().typed::<T>()?.with_options(on_one_thread),
        selected: &selected,
        n_fill: pass.n_unread(),
        pass,
        workers: global.workers(&[&arguments.path]),
        global,
    };
    let along = arguments
        .per_axis
        .map(|axis| position(axis, &selected))
        .transpose()?;
    let parts = sums(&pieces, along)?;
    let sums = parts.iter().fold(Sums::default(), |a: Sums<T>, b| a.and(b));
    let mut found = described(&sums, data_type);
    if let Some(AxisSelection::Range { first, step, .. }) =
        arguments.per_axis.map(|axis| selected.axes()[axis])
    {
        let rows = parts.iter().zip(0_i128..).map(|(part, i)| {
            let mut row = described(part, data_type);
            row["index"] = ((i128::from(first) + i128::from(step) * i) as u64).into();
            row
        });
        found["per_axis"] = rows.collect();
    }
    if !arguments.percentiles.is_empty() && sums.n > 0 {
        found["percentiles"] = percentiles(&pieces, &arguments.percentiles, sums.n, data_type)?;
    }
    if let (Some(bins), Some((low, high))) = (arguments.histogram, sums.range) {
        found["histogram"] = histogram(&pieces, bins as usize, (low, high))?;
    }
    Ok(found)
}

/// The axis of the result that is this axis of the array.
fn position(axis: usize, selected: &Selected) -> Result<usize, Failure> {
    let position = selected
        .remaining_axes()
        .iter()
        .position(|&kept| kept == axis)
        .ok_or_else(|| {
            Failure::usage(format_args!(
                "the selection has no axis {axis}, of {} axes",
                selected.axes().len()
            ))
        })?;
    match selected.shape()[position] {
        n if n > MAX_INDICES => Err(Failure::usage(format_args!(
            "axis {axis} has {n} indices, more than {MAX_INDICES}"
        ))),
        _ => Ok(position),
    }
}

/// The sums of all elements, or of those at each index along an axis of the result.
fn sums<T: Ranked>(pieces: &Pieces<'_, T>, axis: Option<usize>) -> Result<Vec<Sums<T>>, Failure> {
    let length = |range: &Range<u64>| (range.end - range.start) as usize;
    let sum_piece = |row: &mut Vec<T>, elements: &[T], ranges: &[Range<u64>]| {
        let sum = |elements: &[T]| {
            let mut sums = Sums::default();
            sums.add(elements);
            sums
        };
        let Some(axis) = axis else {
            return (0, vec![sum(elements)]);
        };
        let n = length(&ranges[axis]);
        let inner: usize = ranges[axis + 1..].iter().map(length).product();
        let rows = (0..n).map(|at| {
            row.clear();
            for all in elements.chunks(n * inner) {
                row.extend_from_slice(&all[at * inner..][..inner]);
            }
            sum(row)
        });
        (ranges[axis].start as usize, rows.collect())
    };
    let n = axis.map_or(1, |axis| pieces.selected.shape()[axis]);
    let mut all = vec![Sums::default(); n as usize];
    let take = |(start, rows): (usize, Vec<Sums<T>>)| {
        for (sums, more) in all[start..].iter_mut().zip(&rows) {
            *sums = sums.and(more);
        }
    };
    pieces.pass(Vec::new, sum_piece, take)?;
    if pieces.n_fill > 0 {
        let fill = pieces.array.fill_value();
        let n_per_index = pieces.selected.n_elements() / n;
        for sums in &mut all {
            *sums = sums.and(&Sums::of_same(fill, n_per_index - sums.n - sums.n_nan));
        }
    }
    Ok(all)
}

fn described<T: Ranked + Shown>(sums: &Sums<T>, data_type: &DataType) -> Value {
    let number = |value: Option<T>| value.map_or(Value::Null, |value| value.json(data_type));
    json!({
        "n": sums.n + sums.n_nan,
        "nan": sums.n_nan,
        "zero": sums.n_zero,
        "min": number(sums.range.map(|(low, _)| low)),
        "max": number(sums.range.map(|(_, high)| high)),
        "mean": if sums.n == 0 { Value::Null } else { sums.mean.json(data_type) },
        "std": if sums.n == 0 { Value::Null } else { sums.deviation().json(data_type) },
    })
}

fn percentiles<T: Ranked + Shown>(
    pieces: &Pieces<'_, T>,
    percents: &[f64],
    n: u64,
    data_type: &DataType,
) -> Result<Value, Failure> {
    let positions: Vec<(u64, u64, f64)> = percents
        .iter()
        .map(|&percent| percentile_position(percent, n))
        .collect();
    let ranks: Vec<u64> = positions
        .iter()
        .flat_map(|&(low, high, _)| [low, high])
        .collect();
    let mut search = Search::new::<T>(&ranks);
    while !search.is_done() {
        let add =
            |counts: &mut _, elements: &[T], _: &[Range<u64>]| search.count(elements, 1, counts);
        let parts = pieces.pass(|| search.counts(), add, drop)?;
        let mut counts = parts
            .iter()
            .fold(search.counts(), |all, part| all.and(part));
        search.count(&[pieces.array.fill_value()], pieces.n_fill, &mut counts);
        search.narrow(&counts);
    }
    let found = search.found::<T>();
    let mut values = Vec::with_capacity(percents.len());
    for ((percent, (.., part)), pair) in percents.iter().zip(&positions).zip(found.chunks(2)) {
        let [low, high] = [pair[0], pair[1]];
        let value = if low == high {
            // The element itself, since float64 does not have all integers.
            low.json(data_type)
        } else {
            float(low.to_f64() + high.distance(low) * part)
        };
        values.push(json!({"percent": percent, "value": value}));
    }
    Ok(values.into())
}

fn histogram<T: Ranked>(
    pieces: &Pieces<'_, T>,
    bins: usize,
    (low, high): (T, T),
) -> Result<Value, Failure> {
    let data_type = DataType::Float { bits: 64 };
    let least = low;
    let width = high.distance(least);
    if !width.is_finite() {
        return Err(Failure::new(
            "a histogram needs finite numbers; there are infinities",
        ));
    }
    // As in NumPy, a single number is in the middle of a range of 1.
    let (below, width) = if width == 0.0 {
        (0.5, 1.0)
    } else {
        (0.0, width)
    };
    let low = low.to_f64() - below;
    let high = high.to_f64() + below;
    let scale = bins as f64 / width;
    let add = |counts: &mut Vec<u64>, elements: &[T], times: u64| {
        for number in elements.iter().filter(|number| !number.is_not_a_number()) {
            let bin = ((number.distance(least) + below) * scale) as usize;
            counts[bin.min(bins - 1)] += times;
        }
    };
    let add_piece = |counts: &mut _, elements: &[T], _: &[Range<u64>]| add(counts, elements, 1);
    let parts = pieces.pass(|| vec![0; bins], add_piece, drop)?;
    let mut counts = vec![0; bins];
    for part in parts {
        for (all, n) in counts.iter_mut().zip(part) {
            *all += n;
        }
    }
    if pieces.n_fill > 0 {
        add(&mut counts, &[pieces.array.fill_value()], pieces.n_fill);
    }
    Ok(json!({"low": low.json(&data_type), "high": high.json(&data_type), "counts": counts}))
}

fn print(found: &Value, output: &mut Output) -> Result<(), Failure> {
    const NAMES: [&str; 7] = ["n", "nan", "zero", "min", "max", "mean", "std"];
    let shown = |value: &Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    for name in NAMES {
        output.line(format!("{name:>6}  {}", shown(&found[name])))?;
    }
    if let Some(rows) = found["per_axis"].as_array() {
        output.line(format!("index\t{}", NAMES.join("\t")))?;
        for row in rows {
            let cells: Vec<String> = NAMES.iter().map(|name| shown(&row[*name])).collect();
            output.line(format!("{}\t{}", row["index"], cells.join("\t")))?;
        }
    }
    for one in found["percentiles"].as_array().into_iter().flatten() {
        output.line(format!(
            "{:>6}  {}",
            format!("p{}", one["percent"]),
            shown(&one["value"])
        ))?;
    }
    let Some(counts) = found["histogram"]["counts"].as_array() else {
        return Ok(());
    };
    let [low, high] = ["low", "high"].map(|name| found["histogram"][name].as_f64().unwrap_or(0.0));
    let max_count = counts
        .iter()
        .filter_map(Value::as_u64)
        .max()
        .unwrap_or(0)
        .max(1);
    for (bin, count) in counts.iter().enumerate() {
        let from = low + (high - low) * bin as f64 / counts.len() as f64;
        let count = count.as_u64().unwrap_or(0);
        let bar = "█".repeat((count as f64 / max_count as f64 * 40.0).round() as usize);
        output.line(format!("{from:>12.6}  {count:>12}  {bar}"))?;
    }
    Ok(())
}
