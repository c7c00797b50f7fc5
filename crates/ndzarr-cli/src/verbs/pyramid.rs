//! `ndzarr pyramid`: makes the levels of multiscale images.

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use ndzarr::codec::{self, CodecSpec};
use ndzarr::{
    AnyArray, AnyNode, ArrayBuilder, ErrorKind, Existing, Format, Group, N5Axes, RunOptions,
};
use ndzarr_ome::{Axis, AxisKind, Downsample, Metadata, Multiscale, NewMultiscale};

use crate::arguments::sizes::{self, plural};
use crate::arguments::{Global, parse_shape};
use crate::arguments::{codecs, formats};
use crate::failure::Failure;
use crate::output::Output;
use crate::output::describe;
use crate::output::image::{self, Effort};
use crate::output::progress::Bar;
use crate::places::shown;
use crate::verbs::cp::check_replaced;

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// An array; or the group of an image of OME-Zarr 0.4 or 0.5 with one level, which gets the
    /// others.
    source: PathBuf,
    /// Where the image of an array will be. Its finest level is a copy of the array.
    target: Option<PathBuf>,
    /// Number of levels, including the finest. By default they end when no axis of space that they
    /// shorten is longer than 256.
    #[arg(long, value_name = "N")]
    levels: Option<usize>,
    /// How many elements of a level make one of the next along each axis: 1,2,2. By default 2 along
    /// axes of space.
    #[arg(long, value_parser = parse_shape, value_name = "FACTORS")]
    factors: Option<::std::vec::Vec<u64>>,
    /// How elements become one. By default as the image says; if it does not, `mode` for labels,
    /// else `mean`. Needed for an image that says anything else, and for labels that say `mean`.
    #[arg(long, value_enum)]
    method: Option<Method>,
    /// Names of the axes: z,y,x. By default the dimension names of the array, else the last of
    /// t,c,z,y,x. Names of space are x, y and z, of time t, of channels c.
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    axes: Vec<String>,
    /// Size of an element along each axis, in the unit of the axis; 1 by default.
    #[arg(long, value_delimiter = ',', value_name = "NUMBERS")]
    scale: Vec<f64>,
    /// Coordinates of the centre of the first element; 0 by default.
    #[arg(
        long,
        value_delimiter = ',',
        allow_hyphen_values = true,
        value_name = "NUMBERS"
    )]
    translation: Vec<f64>,
    /// Unit of the axes of space, such as micrometer; or a unit for each axis, with nothing between
    /// the commas for none: second,,micrometer,micrometer.
    #[arg(long, value_delimiter = ',', value_name = "UNIT")]
    unit: Vec<String>,
    /// Name of the image.
    #[arg(long)]
    name: Option<String>,
    /// Format of the image; that of the array by default, or zarr3.
    #[arg(long, value_parser = formats::of_images())]
    format: Option<Format>,
    /// Shape of a chunk, or of an inner chunk of a shard; that of the array by default.
    #[arg(long, value_parser = parse_shape, value_name = "SHAPE")]
    chunks: Option<::std::vec::Vec<u64>>,
    /// Shape of a shard, a multiple of the chunks; that of the array by default.
    #[arg(long, value_parser = parse_shape, value_name = "SHAPE")]
    shards: Option<::std::vec::Vec<u64>>,
    /// Compression, as of `ndzarr cp`; that of the array by default, or zstd:3 in another format.
    #[arg(long, value_parser = codecs::parse, value_name = "CODEC")]
    codec: Option<::std::vec::Vec<CodecSpec>>,
    /// Memory that it may take: 64MiB, 1GiB. One chunk of a level, or one shard, is taken in any
    /// case.
    #[arg(long, value_parser = sizes::parse, env = "NDZARR_MEMORY", default_value = "256MiB", value_name = "BYTES")]
    memory: u64,
    /// Replace an array or group at the target, or the coarser levels of the image. A folder that
    /// holds anything else is never replaced.
    #[arg(long)]
    overwrite: bool,
}

/// How elements become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Method {
    /// The mean; of integers it is rounded to the nearest, ties to even.
    Mean,
    /// The most frequent value, of several the least.
    Mode,
    /// The first one.
    Stride,
}

impl From<Method> for Downsample {
    fn from(method: Method) -> Self {
        match method {
            Method::Mean => Self::Mean,
            Method::Mode => Self::Mode,
            Method::Stride => Self::Stride,
        }
    }
}

pub(crate) fn run(
    arguments: &Arguments,
    global: &Global,
    output: &mut Output,
) -> Result<(), Failure> {
    let name = shown(&arguments.source);
    let image = match (global.open(&arguments.source)?, &arguments.target) {
        (AnyNode::Array(array), Some(target)) => of_array(&array, target, arguments, global)?,
        (AnyNode::Group(group), None) => in_place(&group, arguments, global)?,
        (AnyNode::Array(_), None) => {
            return Err(Failure::usage(format_args!(
                "{name} is an array: name a target for its image"
            )));
        }
        (AnyNode::Group(_), Some(_)) => {
            let what = "is a group: its image gets levels in place, without a target";
            return Err(Failure::usage(format_args!("{name} {what}")));
        }
    };
    if output.json() {
        return output.value(&image::value(&image, Effort::Full));
    }
    if global.quiet {
        return Ok(());
    }
    let n_levels = plural(image.levels.len() as u64, "level", "levels");
    let finest = describe::shape(image.array(0)?.shape());
    let coarsest = describe::shape(image.array(image.levels.len() - 1)?.shape());
    let place = shown(arguments.target.as_ref().unwrap_or(&arguments.source));
    output.line(format!("{place}: {n_levels}, from {finest} to {coarsest}"))
}

/// Makes an image of an array.
fn of_array(
    array: &AnyArray,
    target: &Path,
    arguments: &Arguments,
    global: &Global,
) -> Result<Multiscale, Failure> {
    global.check_inside(Some(&arguments.source), target)?;
    let format = match (arguments.format, array.format()) {
        (Some(format), _) => format,
        (None, Format::Zarr2) => Format::Zarr2,
        (None, _) => Format::Zarr3,
    };
    let axes = axes(array, arguments, global)?;
    let method = arguments.method.map_or(Downsample::Mean, Downsample::from);
    let mut new = NewMultiscale::new(
        array.data_type().clone(),
        axes.into_iter().zip(array.shape().to_vec()),
    );
    if !arguments.scale.is_empty() {
        new = new.scale(arguments.scale.clone());
    }
    if !arguments.translation.is_empty() {
        new = new.translation(arguments.translation.clone());
    }
    if let Some(name) = &arguments.name {
        new = new.name(name);
    }
    let mut new = levels(new, arguments).method(method);
    let layout = |builder: ArrayBuilder| match &arguments.codec {
        None if array.format() != format => layout(builder, arguments).codecs([codec::zstd(3)]),
        _ => layout(builder, arguments),
    };
    if arguments.overwrite && check_replaced(target, global)? {
        new = new.existing(Existing::Replace);
    }
    let (bar, options) = options(array, arguments, global);
    let made = Multiscale::create_from(array, target, format, &new, layout, &options);
    bar.finish();
    made.map_err(
        |error| match (error.kind(), check_replaced(target, global)) {
            (Some(ErrorKind::AlreadyExists), Ok(_)) => {
                Failure::from(error).with_hint("--overwrite replaces what is there")
            }
            // `--overwrite` would fail with this.
            (Some(ErrorKind::AlreadyExists), Err(refusal)) => refusal,
            _ => error.into(),
        },
    )
}

/// Makes the coarser levels of an existing image.
fn in_place(group: &Group, arguments: &Arguments, global: &Global) -> Result<Multiscale, Failure> {
    let of_new = [
        ("--axes", !arguments.axes.is_empty()),
        ("--scale", !arguments.scale.is_empty()),
        ("--translation", !arguments.translation.is_empty()),
        ("--unit", !arguments.unit.is_empty()),
        ("--name", arguments.name.is_some()),
        ("--format", arguments.format.is_some()),
    ];
    if let Some((argument, _)) = of_new.iter().find(|(_, is_given)| *is_given) {
        return Err(Failure::usage(format_args!(
            "{argument} is for the image of an array"
        )));
    }
    let place = shown(&arguments.source);
    let found = Multiscale::find(group)?;
    let [image] = &found[..] else {
        let what = match found.len() {
            0 => "is not a multiscale image; name an array and a target to make one".to_owned(),
            n => format!("has {n} images; name the group of one"),
        };
        return Err(Failure::new(format_args!("{place} {what}")));
    };
    let (bar, options) = options(&image.array(0)?, arguments, global);
    let method = || match arguments.method {
        Some(method) => Ok(method.into()),
        None => method_of(image),
    };
    if let [_] = image.levels[..] {
        let new = levels(image.to_new()?, arguments).method(method()?);
        let layout = |builder: ArrayBuilder| {
            let builder = layout(builder, arguments);
            if arguments.overwrite {
                builder.overwrite()
            } else {
                builder
            }
        };
        let made = image.add_levels(&new, layout, &options);
        bar.finish();
        return Ok(made?);
    }
    if !arguments.overwrite {
        let n_levels = image.levels.len();
        let what = Failure::new(format_args!("the image has {n_levels} levels already"));
        return Err(what.with_hint("--overwrite makes the coarser ones again"));
    }
    let of_levels = [
        ("--levels", arguments.levels.is_some()),
        ("--factors", arguments.factors.is_some()),
        ("--chunks", arguments.chunks.is_some()),
        ("--shards", arguments.shards.is_some()),
        ("--codec", arguments.codec.is_some()),
    ];
    if let Some((argument, _)) = of_levels.iter().find(|(_, is_given)| *is_given) {
        return Err(Failure::usage(format_args!(
            "{argument} does not change levels that are there"
        )));
    }
    let made = image.make_levels(method()?, &options);
    bar.finish();
    Ok(made?)
}

/// The method for the levels of an image, unless an argument states it. Metadata of one level do
/// not count, since no other level was made by them.
fn method_of(image: &Multiscale) -> Result<Downsample, Failure> {
    let metadata = Metadata::of(image.group().attributes());
    let is_of_labels = metadata.image_label.is_some();
    match image.method.as_deref().filter(|_| image.levels.len() > 1) {
        Some("mode") => Ok(Downsample::Mode),
        Some("stride") => Ok(Downsample::Stride),
        Some("mean") if !is_of_labels => Ok(Downsample::Mean),
        None if is_of_labels => Ok(Downsample::Mode),
        None => Ok(Downsample::Mean),
        Some(stated) => {
            let whose = if is_of_labels { "labels" } else { "image" };
            let what = format!("the levels of the {whose} were made by {stated:?}");
            Err(Failure::new(what).with_hint("--method says how to make them again"))
        }
    }
}

fn levels(new: NewMultiscale, arguments: &Arguments) -> NewMultiscale {
    let new = match &arguments.factors {
        Some(factors) => new.factors(factors.clone()),
        None => new,
    };
    match arguments.levels {
        Some(n_levels) => new.levels(n_levels),
        None => new,
    }
}

fn layout(mut builder: ArrayBuilder, arguments: &Arguments) -> ArrayBuilder {
    if let Some(chunks) = &arguments.chunks {
        builder = builder.chunks(chunks.clone());
    }
    if let Some(shards) = &arguments.shards {
        builder = builder.shards(shards.clone());
    }
    match &arguments.codec {
        Some(codecs) => builder.codecs(codecs.iter().cloned()),
        None => builder,
    }
}

fn options(finest: &AnyArray, arguments: &Arguments, global: &Global) -> (Bar, RunOptions) {
    let bar = Bar::new(global, describe::byte_len(finest).unwrap_or(0));
    let options = global
        .run_options()
        .bytes_in_flight(arguments.memory)
        .progress(bar.callback());
    (bar, options)
}

/// The axes for the image of an array.
fn axes(array: &AnyArray, arguments: &Arguments, global: &Global) -> Result<Vec<Axis>, Failure> {
    let n_axes = array.shape().len();
    let names: Vec<String> = if arguments.axes.is_empty() {
        let stated = array
            .dimension_names()
            .map(<[_]>::to_vec)
            .unwrap_or_default();
        let stated: Option<Vec<String>> = stated.into_iter().collect();
        let usual = ["t", "c", "z", "y", "x"];
        let usual = || {
            let mut names: Vec<String> = usual[usual.len().saturating_sub(n_axes)..]
                .iter()
                .map(|name| (*name).to_owned())
                .collect();
            if array.format() == Format::N5 && global.n5_axes() == N5Axes::Native {
                names.reverse();
            }
            names
        };
        stated
            .filter(|names| names.len() == n_axes && n_axes > 0)
            .unwrap_or_else(usual)
    } else {
        arguments.axes.clone()
    };
    if names.len() != n_axes {
        return Err(Failure::usage(format_args!(
            "{} names for {n_axes} axes",
            names.len()
        )));
    }
    let axes = names.into_iter().map(Axis::new);
    match &arguments.unit[..] {
        [] => Ok(axes.collect()),
        [unit] => {
            let of_space = |axis: Axis| {
                if axis.kind == AxisKind::Space {
                    axis.with_unit(unit)
                } else {
                    axis
                }
            };
            Ok(axes.map(of_space).collect())
        }
        units if units.len() == n_axes => {
            let with = |(axis, unit): (Axis, &String)| {
                if unit.is_empty() {
                    axis
                } else {
                    axis.with_unit(unit)
                }
            };
            Ok(axes.zip(units).map(with).collect())
        }
        units => Err(Failure::usage(format_args!(
            "{} units for {n_axes} axes",
            units.len()
        ))),
    }
}
