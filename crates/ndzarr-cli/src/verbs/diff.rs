//! `ndzarr diff`: compares arrays, or all arrays of two groups.

mod blocks;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use clap::Args;
use ndzarr::{
    AnyArray, AnyNode, Child, Format, Group, MemberKind, Progress, Resolved, RunOptions, Selection,
};
use serde_json::{Map, Value, json};

use crate::arguments::Global;
use crate::arguments::selection::Selected;
use crate::arguments::sizes::plural;
use crate::checks::damage::is_valid_block;
use crate::elements::difference::{Equality, differing};
use crate::elements::sparse::Pass;
use crate::elements::text::for_each;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::output::Output;
use crate::output::describe;
use crate::output::describe::kind_name;
use crate::output::progress::Bar;
use crate::parallel::fold;
use crate::verbs::diff::blocks::{block, index_of, insert_least};

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Path or URL of an array or a group.
    a: PathBuf,
    /// What to compare it with.
    b: PathBuf,
    /// Compare attributes and dimension names as well.
    #[arg(long)]
    attributes: bool,
    /// How many elements that differ are printed for each array.
    #[arg(long, default_value_t = 10, value_name = "N")]
    show: usize,
    /// Numbers that differ by at most this are equal.
    #[arg(long, value_name = "NUMBER", conflicts_with = "bits")]
    tolerance: Option<f64>,
    /// Compare bits: 0.0 differs from -0.0, and a NaN from another NaN.
    #[arg(long)]
    bits: bool,
}

/// What counts as a difference, and how many differences are shown.
pub(crate) struct Comparison {
    /// The number of elements that are shown.
    show: usize,
    equality: Equality,
    attributes: bool,
    /// The part of the first array that is compared with all of the second.
    part: Option<Selected>,
}

impl Comparison {
    /// A comparison of elements only, which must be equal: those of a part of the first array, or
    /// of all of it.
    pub(crate) fn exact(part: Option<Selected>) -> Self {
        Self {
            show: 10,
            equality: Equality::Value,
            attributes: false,
            part,
        }
    }

    /// The part of the first array that is compared with a box of the second.
    fn of_first(&self, a: &AnyArray, ranges: &[Range<u64>]) -> Result<Resolved, Failure> {
        Ok(match &self.part {
            Some(part) => part.window(ranges).resolve(a.shape())?,
            None => ranges.resolve(a.shape())?,
        })
    }
}

pub(crate) fn run(
    arguments: &Arguments,
    global: &Global,
    output: &mut Output,
) -> Result<Outcome, Failure> {
    let equality = match arguments.tolerance {
        Some(most) if most.is_nan() || most < 0.0 => {
            return Err(Failure::usage(format_args!("{most} is not a tolerance")));
        }
        Some(most) => Equality::Within(most),
        None if arguments.bits => Equality::Bits,
        None => Equality::Value,
    };
    let comparison = Comparison {
        show: arguments.show,
        equality,
        attributes: arguments.attributes,
        part: None,
    };
    let places = [&*arguments.a, &*arguments.b];
    let options = global.document_options();
    let a = global.open_by(&options, &arguments.a)?;
    let b = global.open_by(&options, &arguments.b)?;
    match (a, b) {
        (AnyNode::Array(a), AnyNode::Array(b)) => {
            let [a, b] = [a, b].map(|array| array.with_options(global.run_options()));
            compare("", &a, &b, &places, &comparison, global, output)
        }
        (AnyNode::Group(a), AnyNode::Group(b)) => {
            groups(&a, &b, &places, &comparison, global, output)
        }
        (a, _) => {
            let kinds = if matches!(a, AnyNode::Array(_)) {
                ["array", "group"]
            } else {
                ["group", "array"]
            };
            let [first, second] = kinds.map(|kind| {
                if kind == "array" {
                    "an array"
                } else {
                    "a group"
                }
            });
            let text = format!("the first is {first}, the second {second}");
            print_difference("", "node", json!(kinds), text, output)?;
            Ok(Outcome::Found)
        }
    }
}

/// Prints a difference that is not one of elements.
fn print_difference(
    path: &str,
    what: &str,
    values: Value,
    text: String,
    output: &mut Output,
) -> Result<(), Failure> {
    if output.json() {
        return output.value(&json!({"path": path, "differs": what, "values": values}));
    }
    output.line(if path.is_empty() {
        text
    } else {
        format!("{path}: {text}")
    })
}

fn groups(
    a: &Group,
    b: &Group,
    places: &[&Path],
    comparison: &Comparison,
    global: &Global,
    output: &mut Output,
) -> Result<Outcome, Failure> {
    let nodes_below = |group: &Group| -> Result<BTreeMap<String, _>, Failure> {
        Ok(global
            .nodes_below(group)?
            .into_iter()
            .map(|child| (child.path(), child))
            .collect())
    };
    let a_nodes = nodes_below(a)?;
    let mut b_nodes = nodes_below(b)?;
    let mut outcome = Outcome::Good;
    let mut n_failed = 0;
    if comparison.attributes && a.attributes() != b.attributes() {
        attributes("", [json!(a.attributes()), json!(b.attributes())], output)?;
        outcome = Outcome::Found;
    }
    for (path, of_a) in a_nodes {
        let Some(of_b) = b_nodes.remove(&path) else {
            let kinds = json!([kind_name(of_a.kind()), null]);
            print_difference(&path, "node", kinds, "only in the first".to_owned(), output)?;
            outcome = Outcome::Found;
            continue;
        };
        if of_a.kind() != of_b.kind() {
            let kinds = [kind_name(of_a.kind()), kind_name(of_b.kind())];
            let [first, second] = kinds.map(|kind| kind.unwrap_or("unreadable"));
            let text = format!("{first} in the first, {second} in the second");
            print_difference(&path, "node", json!(kinds), text, output)?;
            outcome = Outcome::Found;
            continue;
        }
        if of_a.kind() == Some(MemberKind::Group) {
            let of_a = of_a.group()?;
            let of_b = of_b.group()?;
            if comparison.attributes && of_a.attributes() != of_b.attributes() {
                attributes(
                    &path,
                    [json!(of_a.attributes()), json!(of_b.attributes())],
                    output,
                )?;
                outcome = Outcome::Found;
            }
            continue;
        }
        let opened = |child: Child| {
            Ok(child
                .array::<ndzarr::Any>()?
                .with_options(global.run_options()))
        };
        let compared = match (opened(of_a), opened(of_b)) {
            (Ok(of_a), Ok(of_b)) => {
                compare(&path, &of_a, &of_b, places, comparison, global, output)
            }
            (Err(failure), _) | (_, Err(failure)) => Err(failure),
        };
        match compared {
            Ok(found) => outcome = outcome.and(found),
            Err(Failure::Closed) => return Err(Failure::Closed),
            Err(failure) => {
                n_failed += 1;
                let what = failure.message();
                if output.json() {
                    output.value(&json!({"path": path, "differs": Value::Null, "error": what}))?;
                } else {
                    output.line(format!("{path}: cannot be compared: {what}"))?;
                }
            }
        }
    }
    for (path, of_b) in b_nodes {
        let kinds = json!([null, kind_name(of_b.kind())]);
        print_difference(
            &path,
            "node",
            kinds,
            "only in the second".to_owned(),
            output,
        )?;
        outcome = Outcome::Found;
    }
    if n_failed > 0 {
        let arrays = plural(n_failed, "array", "arrays");
        return Err(Failure::new(format_args!("{arrays} could not be compared")));
    }
    Ok(outcome)
}

fn attributes(path: &str, values: [Value; 2], output: &mut Output) -> Result<(), Failure> {
    if output.json() {
        return print_difference(path, "attributes", json!(values), String::new(), output);
    }
    let empty = Map::new();
    let [a, b] = values
        .each_ref()
        .map(|value| value.as_object().unwrap_or(&empty));
    let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    for key in keys.into_iter().filter(|key| a.get(*key) != b.get(*key)) {
        let shown = |attributes: &Map<String, Value>| {
            attributes.get(key).map_or("-".to_owned(), Value::to_string)
        };
        let text = format!("attribute {key}: {} and {}", shown(a), shown(b));
        print_difference(path, "attributes", Value::Null, text, output)?;
    }
    Ok(())
}

/// Compares two arrays and prints the differences, with their path below two groups, which may be
/// empty.
pub(crate) fn compare(
    path: &str,
    a: &AnyArray,
    b: &AnyArray,
    places: &[&Path],
    comparison: &Comparison,
    global: &Global,
    output: &mut Output,
) -> Result<Outcome, Failure> {
    let shape = comparison
        .part
        .as_ref()
        .map_or_else(|| a.shape().to_vec(), Selected::shape);
    if shape != b.shape() {
        let text = format!(
            "shapes differ: {} and {}",
            describe::shape(&shape),
            describe::shape(b.shape())
        );
        print_difference(path, "shape", json!([shape, b.shape()]), text, output)?;
        return Ok(Outcome::Found);
    }
    if a.data_type() != b.data_type() {
        let types = [a, b].map(|array| array.data_type().to_string());
        let text = format!("data types differ: {} and {}", types[0], types[1]);
        print_difference(path, "data_type", json!(types), text, output)?;
        return Ok(Outcome::Found);
    }
    let mut outcome = Outcome::Good;
    if comparison.attributes {
        if a.attributes() != b.attributes() {
            attributes(path, [json!(a.attributes()), json!(b.attributes())], output)?;
            outcome = Outcome::Found;
        }
        if a.dimension_names() != b.dimension_names() {
            let names = json!([a.dimension_names(), b.dimension_names()]);
            let text = format!("dimension names: {names}");
            print_difference(path, "dimension_names", names, text, output)?;
            outcome = Outcome::Found;
        }
    }
    let Different { n, first } = match elements(a, b, places, comparison, global) {
        Err(_) if are_stored_alike(a, b, comparison)? => return Ok(outcome),
        found => found?,
    };
    if n == 0 {
        return Ok(outcome);
    }
    let mut shown: Vec<([Value; 2], [String; 2])> = Vec::with_capacity(first.len());
    for index in &first {
        let ranges: Vec<_> = index.iter().map(|&at| at..at + 1).collect();
        let (a_json, a_text) = element(a, comparison.of_first(a, &ranges)?)?;
        let (b_json, b_text) = element(b, ranges.resolve(b.shape())?)?;
        shown.push(([a_json, b_json], [a_text, b_text]));
    }
    if output.json() {
        let first: Vec<Value> = (first.iter().zip(&shown))
            .map(|(index, (values, _))| json!({"index": index, "values": values}))
            .collect();
        output.value(&json!({"path": path, "differs": "elements", "count": n, "first": first}))?;
        return Ok(Outcome::Found);
    }
    let head = if path.is_empty() {
        String::new()
    } else {
        format!("{path}: ")
    };
    for (index, (_, [a, b])) in first.iter().zip(&shown) {
        output.line(format!("{head}{index:?}: {a} and {b}"))?;
    }
    let verb = if n == 1 { "differs" } else { "differ" };
    output.line(format!("{head}{} {verb}", plural(n, "element", "elements")))?;
    Ok(Outcome::Found)
}

/// True if two arrays of N5 have the same stored bytes and codecs. Their blocks may be objects, or
/// have another number of elements than their shape.
fn are_stored_alike(a: &AnyArray, b: &AnyArray, comparison: &Comparison) -> Result<bool, Failure> {
    let is_n5 = |array: &AnyArray| array.format() == Format::N5;
    let same_chunks = a.chunk_shape() == b.chunk_shape() && a.spec().codecs == b.spec().codecs;
    if comparison.part.is_some() || !is_n5(a) || !is_n5(b) || !same_chunks {
        return Ok(false);
    }
    let of_a = a.units().stored()?;
    let of_b = b.units().stored()?;
    if of_a.len() != of_b.len() {
        return Ok(false);
    }
    for (x, y) in of_a.zip(of_b) {
        let bytes = |array: &AnyArray| array.units().encoded(&x.index);
        if x.index != y.index || bytes(a)? != bytes(b)? || !is_valid_block(a, &x)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// An element as JSON and as text.
fn element(array: &AnyArray, at: Resolved) -> Result<(Value, String), Failure> {
    let elements = array.read(at)?;
    let mut shown = None;
    for_each(&elements, |element| {
        shown = Some((
            element.json(array.data_type()),
            element.text(array.data_type()),
        ));
        Ok::<_, Failure>(())
    })?;
    Ok(shown.unwrap_or_default())
}

/// The elements that differ.
#[derive(Default)]
struct Different {
    n: u64,
    /// The indices of the first ones, in C order.
    first: Vec<Vec<u64>>,
}

/// The bytes of elements of both arrays that all threads together may have in memory.
const BYTES_IN_MEMORY: u64 = 256 << 20;

/// Blocks are at least this large, in bytes, so that tiny chunks are read together.
const MIN_BLOCK_BYTES: u64 = 1 << 20;

fn elements(
    a: &AnyArray,
    b: &AnyArray,
    places: &[&Path],
    comparison: &Comparison,
    global: &Global,
) -> Result<Different, Failure> {
    let shape = b.shape();
    let workers = global.workers(places);
    let size = a.data_type().elem_size().unwrap_or(64).max(1) as u64;
    let max_elements = (BYTES_IN_MEMORY / 2 / workers.get() as u64 / size).max(1);
    let block = block(shape, &a.chunk_shape(), &b.chunk_shape(), max_elements);
    let volume = block.iter().fold(1, |all: u64, &n| all.saturating_mul(n));
    let whole = Selected::whole(shape);
    let boxes = whole.boxes(&block, volume.max(MIN_BLOCK_BYTES / size).min(max_elements));
    let pass = Pass::new(
        boxes,
        &[(a, comparison.part.as_ref().unwrap_or(&whole)), (b, &whole)],
    );
    let n_unread = pass.n_unread();
    let bytes_to_read = describe::byte_len(b)
        .unwrap_or(0)
        .saturating_sub(n_unread.saturating_mul(size));
    let bar = Bar::new(global, bytes_to_read);
    let on_progress = bar.callback();
    let done = AtomicU64::new(0);
    let total = pass.n_boxes() + u64::from(n_unread > 0);
    let on_one_thread = RunOptions::default().threads(std::num::NonZeroUsize::MIN);
    let [a, b] = [a, b].map(|array| array.clone().with_options(on_one_thread.clone()));
    let each = |state: &mut (Different, [Vec<u8>; 2]), ranges: Vec<Range<u64>>| {
        let (different, buffers) = state;
        let boxes = [comparison.of_first(&a, &ranges)?, ranges.resolve(shape)?];
        let lengths: Vec<u64> = ranges.iter().map(|range| range.end - range.start).collect();
        let mut take = |n: u64| {
            different.n += 1;
            if comparison.show > 0 {
                let index = index_of(n, &lengths, &ranges);
                insert_least(&mut different.first, index, comparison.show);
            }
        };
        if a.data_type().elem_size().is_none() {
            let of_a = a.read_vlen(&boxes[0])?;
            let of_b = b.read_vlen(&boxes[1])?;
            for (n, (a, b)) in (0..).zip(of_a.iter().zip(&of_b)) {
                if a != b {
                    take(n);
                }
            }
        } else {
            let n = lengths.iter().fold(size, |all, &n| all.saturating_mul(n)) as usize;
            for ((array, buffer), part) in [&a, &b].into_iter().zip(buffers.iter_mut()).zip(&boxes)
            {
                if buffer.len() < n {
                    let out_of_memory = |_| {
                        Failure::new(format_args!("the elements {ranges:?} do not fit in memory"))
                    };
                    buffer
                        .try_reserve_exact(n - buffer.len())
                        .map_err(out_of_memory)?;
                    buffer.resize(n, 0);
                }
                array.read_bytes_into(part, &mut buffer[..n])?;
            }
            differing(
                &buffers[0][..n],
                &buffers[1][..n],
                a.data_type(),
                comparison.equality,
                &mut take,
            );
        }
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        on_progress(Progress::new(done, total));
        Ok(())
    };
    let states = fold(workers, pass.boxes(), Default::default, each)?;
    let mut all = Different::default();
    for (different, _) in states {
        all.n += different.n;
        for index in different.first {
            insert_least(&mut all.first, index, comparison.show);
        }
    }
    // Elements that are stored in neither array are all equal to the first of them.
    if let Some(index) = pass.first_unread(1).pop() {
        let mut state = Default::default();
        each(&mut state, index.iter().map(|&at| at..at + 1).collect())?;
        if state.0.n > 0 {
            all.n += n_unread;
            for index in pass.first_unread(comparison.show) {
                insert_least(&mut all.first, index, comparison.show);
            }
        }
    }
    Ok(all)
}
