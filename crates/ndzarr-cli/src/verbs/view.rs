//! `ndzarr view`: shows a plane as a picture.

mod parse;

use std::io::{IsTerminal, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use ndzarr::ndarray::{ArrayD, IxDyn};
use ndzarr::{
    AnyArray, AnyNode, Cache, Cast, DataType, Format, Group, N5Axes, OpenOptions, Progress,
};
use ndzarr_ome::Multiscale;
use serde_json::{Value, json};

use crate::arguments::Global;
use crate::arguments::boxes::Boxes;
use crate::arguments::selection::{AxisSelection, Selected};
use crate::elements::text::float;
use crate::failure::Failure;
use crate::output::Output;
use crate::output::describe;
use crate::output::image::{self, Effort};
use crate::output::picture::{Canvas, Pixels, lines, png};
use crate::output::progress::Bar;
use crate::places::shown;
use crate::verbs::view::parse::{Size, parse_pair, parse_percentiles, parse_size};

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Path or URL of an array of numbers, or of a multiscale image.
    path: PathBuf,
    /// The plane: "3, :, 10:200". Two axes remain, down and to the right; of N5 arrays in their own
    /// order, to the right and down. By default it is the middle one across the axes that vary
    /// slowest. A step of -1 turns the picture over: "0, ::-1, :".
    #[arg(allow_hyphen_values = true)]
    selection: Option<String>,
    /// Level of the image, the finest is 0. By default it is the coarsest one that fills the
    /// picture, and with a selection the finest.
    #[arg(long, value_name = "N")]
    level: Option<usize>,
    /// The coarsest level whose elements are no larger than this: "1um", or "1" in the unit of the
    /// axes.
    #[arg(long, value_parser = parse_size, conflicts_with = "level", value_name = "SIZE")]
    size: Option<Size>,
    /// Write a PNG file; `-` is standard output. Pixels without a number are blue.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print half blocks in colours, even if standard output is not a terminal.
    #[arg(long, conflicts_with = "output")]
    blocks: bool,
    /// Percentiles of the pixels that become black and white.
    #[arg(long, value_parser = parse_percentiles, default_value = "1,99", value_name = "LOW,HIGH")]
    percentiles: [f64; 2],
    /// Numbers that become black and white.
    #[arg(long, value_parser = parse_pair, conflicts_with = "percentiles", allow_hyphen_values = true)]
    #[arg(value_name = "LOW,HIGH")]
    range: Option<[f64; 2]>,
    /// Show this of the elements along further axes.
    #[arg(long, value_enum)]
    project: Option<Projection>,
    /// Width of the picture in pixels, at most that of the plane: the mean of several elements is a
    /// pixel. By default 1024, and in a terminal its width.
    #[arg(long, value_name = "PIXELS", value_parser = clap::value_parser!(u32).range(1..=4096))]
    width: Option<u32>,
}

/// What is shown of several elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Projection {
    /// The greatest.
    Max,
    /// The least.
    Min,
    /// Their mean.
    Mean,
}

/// The number of elements that are read at a time.
const ELEMENTS_PER_READ: u64 = 4 << 20;

/// The bytes of decoded chunks that are cached.
const CACHE_BYTES: u64 = 128 << 20;

const PNG_WIDTH: usize = 1024;
const TEXT_WIDTH: usize = 80;

pub(crate) fn run(
    arguments: &Arguments,
    global: &Global,
    output: &mut Output,
) -> Result<(), Failure> {
    let options = global.open_options().cache(&Cache::new(CACHE_BYTES));
    let to_stdout = arguments
        .output
        .as_deref()
        .is_some_and(|path| path == Path::new("-"));
    if to_stdout && std::io::stdout().is_terminal() {
        return Err(Failure::usage(
            "a PNG file is not for a terminal: redirect standard output",
        ));
    }
    let max_width = match (arguments.width, &arguments.output) {
        (Some(width), _) => width as usize,
        (None, Some(_)) => PNG_WIDTH,
        (None, None) => terminal_width(),
    };
    let (array, plane) = Plane::open(arguments, max_width, &options, global)?;
    check_type(array.data_type())?;
    let pixels = plane.read(&array, max_width, arguments.project, global)?;
    let is_bool = matches!(array.data_type(), DataType::Bool);
    let range = match arguments.range {
        Some(range) => Some(range),
        None if is_bool => Some([0.0, 1.0]),
        None => pixels.percentiles(arguments.percentiles),
    };
    let shades = pixels.shades(range.unwrap_or([0.0, 0.0]));
    let size = [pixels.height, pixels.width];
    if let Some(path) = arguments.output.as_ref().filter(|_| !to_stdout) {
        std::fs::write(path, png(size, &shades)?)
            .map_err(|error| Failure::of_file(path, &error))?;
    } else if to_stdout {
        return Ok(output.raw().write_all(&png(size, &shades)?)?);
    }
    if output.json() {
        let range = range.map_or(Value::Null, |range| json!(range.map(float)));
        return output.value(&json!({
            "path": array.path(),
            "file": arguments.output.as_ref().map(|path| shown(path)),
            "height": size[0],
            "width": size[1],
            "black_and_white": range,
            "selection": plane.text,
        }));
    }
    if arguments.output.is_none() {
        let color = arguments.blocks || output.color();
        for line in lines(size, &shades, color) {
            writeln!(output.raw(), "{line}")?;
        }
    }
    if global.quiet {
        return Ok(());
    }
    let range = match range {
        Some([low, high]) => format!("black {}, white {}", shortest(low), shortest(high)),
        None => "no finite numbers".to_owned(),
    };
    output.line(format!(
        "{} of {}: {range}",
        plane.text,
        describe::shape(array.shape())
    ))
}

/// A number with the fewest digits: those of float32 if it is one.
fn shortest(number: f64) -> String {
    let short = number as f32;
    if f64::from(short) == number {
        format!("{short:?}")
    } else {
        format!("{number:?}")
    }
}

fn check_type(data_type: &DataType) -> Result<(), Failure> {
    match data_type {
        DataType::Bool
        | DataType::Int { .. }
        | DataType::UInt { .. }
        | DataType::Float { .. }
        | DataType::BFloat16
        | DataType::SmallFloat(_) => Ok(()),
        other => Err(Failure::new(format_args!(
            "the elements are {other}, not real numbers"
        ))),
    }
}

fn terminal_width() -> usize {
    let width = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    width.filter(|&width| width > 0).unwrap_or(TEXT_WIDTH)
}

/// The plane that is shown.
struct Plane {
    selected: Selected,
    /// The axes of the result of the selection that go down and to the right. A line has only the
    /// last.
    down: Option<usize>,
    right: usize,
    /// The selection in words.
    text: String,
}

impl Plane {
    /// The plane of an array, or of a level of an image, for a picture of at most this width.
    fn open(
        arguments: &Arguments,
        max_width: usize,
        options: &OpenOptions,
        global: &Global,
    ) -> Result<(AnyArray, Self), Failure> {
        let plane_of = |array: AnyArray| {
            // Axis 0 goes to the right if it varies fastest.
            let is_reversed = array.format() == Format::N5 && global.n5_axes() == N5Axes::Native;
            let plane = Self::of(&array, arguments, is_reversed)?;
            Ok((array.with_options(global.run_options()), plane))
        };
        let is_of_image = arguments.level.is_some() || arguments.size.is_some();
        let group = match options.open_node(&arguments.path)? {
            AnyNode::Array(_) if is_of_image => {
                return Err(Failure::usage(
                    "an array has no levels; name the group of the image",
                ));
            }
            AnyNode::Array(array) => return plane_of(array),
            AnyNode::Group(group) => group,
        };
        let image = Self::image(&group, arguments)?;
        let level = match (arguments.level, &arguments.size, &arguments.selection) {
            (Some(level), ..) => level,
            (None, Some((size, unit)), _) => image.level_for(*size, unit.as_deref())?,
            (None, None, Some(_)) => 0,
            (None, None, None) => {
                for level in (1..image.levels.len()).rev() {
                    let (array, plane) = plane_of(image.array(level)?)?;
                    if plane.selected.shape()[plane.right] >= max_width as u64 {
                        return Ok((array, plane));
                    }
                }
                0
            }
        };
        plane_of(image.array(level)?)
    }

    fn image(group: &Group, arguments: &Arguments) -> Result<Multiscale, Failure> {
        image::find(group, Effort::Full)?.into_iter().next().ok_or_else(|| {
            Failure::usage(format_args!(
                "{} is a group without an image; name one of its arrays, which `ndzarr ls -r` lists",
                shown(&arguments.path)
            ))
        })
    }

    fn of(array: &AnyArray, arguments: &Arguments, is_reversed: bool) -> Result<Self, Failure> {
        let shape = array.shape();
        let ndim = shape.len();
        let selected = match &arguments.selection {
            Some(text) => Selected::parse(Some(text), shape)?,
            None => {
                let is_shown = |axis: usize| {
                    if is_reversed {
                        axis < 2
                    } else {
                        axis + 2 >= ndim
                    }
                };
                let along = |(axis, &n): (usize, &u64)| match n {
                    n if is_shown(axis) || arguments.project.is_some() || n == 0 => {
                        AxisSelection::whole(n)
                    }
                    n => AxisSelection::Index(n / 2),
                };
                Selected::new(shape.iter().enumerate().map(along).collect())
            }
        };
        let remaining = selected.shape();
        let n = remaining.len();
        let (down, right) = match (n, is_reversed) {
            (0, _) => {
                return Err(Failure::usage(
                    "a single element is not a picture; `ndzarr cat` prints it",
                ));
            }
            (1, _) => (None, 0),
            (_, true) => (Some(1), 0),
            (n, false) => (Some(n - 2), n - 1),
        };
        if n > 2 && arguments.project.is_none() {
            return Err(Failure::usage(format_args!(
                "{n} axes are left, of {}; select an index of all but two, or say how to --project",
                describe::shape(&remaining)
            )));
        }
        if remaining.contains(&0) {
            return Err(Failure::usage("the selection is empty"));
        }
        let text = words(&selected, shape);
        Ok(Self {
            selected,
            down,
            right,
            text,
        })
    }

    /// Reads the plane tile by tile.
    fn read(
        &self,
        array: &AnyArray,
        max_width: usize,
        project: Option<Projection>,
        global: &Global,
    ) -> Result<Pixels, Failure> {
        let shape = self.selected.shape();
        let rows = self.down.map_or(1, |down| shape[down]);
        let columns = shape[self.right];
        let mut canvas = Canvas::new(rows, columns, max_width);
        let axes = self.selected.remaining_axes();
        let chunks = array.chunk_shape();
        let chunk = |axis: usize| chunks[axes[axis]].max(1);
        // Tiles contain whole chunks, if these are small enough.
        let whole = |n: u64, chunk: u64| if n > chunk { n / chunk * chunk } else { n };
        let across = whole(columns.min(ELEMENTS_PER_READ), chunk(self.right));
        let down = (ELEMENTS_PER_READ / across).max(1).min(rows);
        let down = self.down.map_or(1, |axis| whole(down, chunk(axis)));
        let others: Vec<usize> = (0..shape.len())
            .filter(|&axis| axis != self.right && Some(axis) != self.down)
            .collect();
        let tiles = rows.div_ceil(down).saturating_mul(columns.div_ceil(across));
        let bar = Bar::new(global, self.selected.n_elements());
        let on_progress = bar.callback();
        let mut done = 0;
        for y in (0..rows).step_by(down as usize) {
            for x in (0..columns).step_by(across as usize) {
                let ys = y..(y + down).min(rows);
                let xs = x..(x + across).min(columns);
                let tile = self.tile(array, &others, [ys.clone(), xs.clone()], project)?;
                let width = (xs.end - xs.start) as usize;
                for (row, numbers) in ys.zip(tile.chunks(width)) {
                    canvas.add(row, xs.start, numbers.iter().copied());
                }
                done += 1;
                on_progress(Progress::new(done, tiles));
            }
        }
        bar.finish();
        Ok(canvas.pixels())
    }

    /// The numbers of a tile by rows, projected along the other axes.
    fn tile(
        &self,
        array: &AnyArray,
        others: &[usize],
        [ys, xs]: [Range<u64>; 2],
        project: Option<Projection>,
    ) -> Result<Vec<f64>, Failure> {
        let shape = self.selected.shape();
        let n = (ys.end - ys.start) * (xs.end - xs.start);
        let mut folded: Vec<f64> = vec![f64::NAN; n as usize];
        let mut counts = vec![
            0_u32;
            if project == Some(Projection::Mean) {
                n as usize
            } else {
                0
            }
        ];
        // Several planes are read together, if they are small.
        let depths: Vec<u64> = others.iter().map(|&axis| shape[axis]).collect();
        let planes_per_read = (ELEMENTS_PER_READ / n.max(1)).max(1);
        let mut sizes = vec![1; depths.len()];
        let mut volume = 1;
        for (size, &n) in sizes.iter_mut().zip(&depths).rev() {
            *size = (planes_per_read / volume).clamp(1, n);
            volume *= *size;
        }
        for part in Boxes::new(depths, sizes) {
            let mut ranges: Vec<Range<u64>> = shape.iter().map(|&n| 0..n).collect();
            for (&axis, range) in others.iter().zip(part) {
                ranges[axis] = range;
            }
            if let Some(down) = self.down {
                ranges[down] = ys.clone();
            }
            ranges[self.right] = xs.clone();
            let numbers: ArrayD<f64> =
                array.read_as(&self.selected.window(&ranges)[..], Cast::Saturating)?;
            let order: Vec<usize> = others
                .iter()
                .copied()
                .chain(self.down)
                .chain([self.right])
                .collect();
            let planes = numbers.permuted_axes(IxDyn(&order));
            let planes = planes.as_standard_layout();
            let flat = planes
                .as_slice()
                .ok_or_else(|| Failure::new("a plane is not in memory as a whole"))?;
            for plane in flat.chunks(n as usize) {
                match project {
                    Some(Projection::Mean) => {
                        for ((sum, count), &number) in folded.iter_mut().zip(&mut counts).zip(plane)
                        {
                            if !number.is_nan() {
                                *sum = if *count == 0 { number } else { *sum + number };
                                *count += 1;
                            }
                        }
                    }
                    // `min` and `max` of a NaN and a number are the number.
                    Some(Projection::Min) => {
                        for (least, &number) in folded.iter_mut().zip(plane) {
                            *least = least.min(number);
                        }
                    }
                    Some(Projection::Max) | None => {
                        for (greatest, &number) in folded.iter_mut().zip(plane) {
                            *greatest = greatest.max(number);
                        }
                    }
                }
            }
        }
        for (sum, &count) in folded.iter_mut().zip(&counts) {
            *sum /= f64::from(count.max(1));
        }
        Ok(folded)
    }
}

/// The text of a selection of an array of this shape.
fn words(selected: &Selected, shape: &[u64]) -> String {
    let along = |(along, &len): (&AxisSelection, &u64)| match *along {
        AxisSelection::Index(at) => at.to_string(),
        AxisSelection::Range {
            first: 0,
            step: 1,
            n,
        } if n == len => ":".to_owned(),
        AxisSelection::Range { first, step: 1, n } => format!("{first}:{}", first + n),
        AxisSelection::Range { first, step, n } => {
            let end = i128::from(first) + i128::from(step) * i128::from(n);
            let end = if end < 0 {
                String::new()
            } else {
                end.to_string()
            };
            format!("{first}:{end}:{step}")
        }
    };
    format!(
        "[{}]",
        selected
            .axes()
            .iter()
            .zip(shape)
            .map(along)
            .collect::<Vec<_>>()
            .join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_exact() {
        assert_eq!(shortest(f64::from(0.1_f32)), "0.1");
        assert_eq!(shortest(16_777_217.0), "16777217.0");
        assert_eq!(shortest(f64::MAX), "1.7976931348623157e308");
    }

    #[test]
    fn selections_are_shown_as_they_are_written() {
        let shape = [10, 10, 10];
        for text in [
            "[3, :, 2:5]",
            "[0:9, 0:10, :1]",
            "[::-1, 0, 8:0:-2]",
            "[0:9:2, 1, :]",
        ] {
            let selected = Selected::parse(Some(text), &shape).expect("it is valid");
            let again =
                Selected::parse(Some(&words(&selected, &shape)), &shape).expect("it is valid");
            assert_eq!(again, selected, "{text}");
        }
    }
}
