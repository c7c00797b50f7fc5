//! `ndzarr cp`: copies arrays and groups, in other chunks, codecs, types and formats.

mod forecast;

use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::{Args, ValueEnum};
use ndzarr::codec::{CodecSpec, IndexLocation};
use ndzarr::store::Prefix;
use ndzarr::{
    AnyNode, Cast, CopyLevel, CopyOptions, DataType, ErrorKind, Existing, Format, FsStore,
    MemberKind, Storage, Store,
};
use serde_json::json;

use crate::arguments::selection::Selected;
use crate::arguments::sizes::{self, plural};
use crate::arguments::{Global, local_folder, parse_shape};
use crate::arguments::{codecs, formats};
use crate::failure::Failure;
use crate::files::memory;
use crate::files::space::{Change, Space};
use crate::outcome::Outcome;
use crate::output::Output;
use crate::output::copies::{Copies, compare_files, run_copy, storage};
use crate::output::describe;
use crate::output::progress::Bar;
use crate::places::shown;
use crate::verbs::cp::forecast::print_forecast;
use crate::verbs::{diff, verify};

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Path or URL of an array, or of a group, which is copied with everything below it.
    source: PathBuf,
    /// Where the copy will be: the path itself, not a folder to put it into. One that ends in .zip
    /// or .ozx is an archive.
    target: PathBuf,
    /// Format of the copy; that of the source by default.
    #[arg(long, value_parser = formats::written())]
    format: Option<Format>,
    /// Shape of a chunk, or of an inner chunk of a shard: 64,64,64.
    #[arg(long, value_parser = parse_shape, value_name = "SHAPE")]
    chunks: Option<::std::vec::Vec<u64>>,
    /// Shape of a shard, a multiple of the chunks.
    #[arg(long, value_parser = parse_shape, value_name = "SHAPE")]
    shards: Option<::std::vec::Vec<u64>>,
    /// No shards, whatever the source has.
    #[arg(long, conflicts_with = "shards")]
    no_shards: bool,
    /// Where the index of a shard is; where that of the source is by default.
    #[arg(long, value_enum, value_name = "PLACE")]
    index_location: Option<IndexPlace>,
    /// Compression: none, zstd:3, gzip:5, zlib:5, lz4, xz:6, pcodec:8, blosc:lz4:5:shuffle; several
    /// with commas, such as zstd,crc32c. That of the source by default.
    #[arg(long, value_parser = codecs::parse, value_name = "CODEC")]
    codec: Option<::std::vec::Vec<CodecSpec>>,
    /// Type of the elements, by its name in Zarr v3: float32, uint8.
    #[arg(long, value_parser = parse_type, value_name = "TYPE")]
    dtype: Option<DataType>,
    /// Copy this part of an array, as NumPy selects it: "0:100, :, ::2". A single index would drop
    /// an axis, and is an error.
    #[arg(long, allow_hyphen_values = true, value_name = "SELECTION")]
    select: Option<String>,
    /// Multiply each number by this one.
    #[arg(long, allow_negative_numbers = true, value_name = "FACTOR")]
    scale: Option<f64>,
    /// Add this to each number, after `--scale`.
    #[arg(long, allow_negative_numbers = true, value_name = "NUMBER")]
    offset: Option<f64>,
    /// Numbers out of the range of the new type become its least or greatest; otherwise they are an
    /// error.
    #[arg(long)]
    saturate: bool,
    /// Memory that the copy may take: 64MiB, 1GiB.
    #[arg(long, value_parser = sizes::parse, env = "NDZARR_MEMORY", default_value = "256MiB", value_name = "BYTES")]
    memory: u64,
    /// Folder or URL for a temporary array, where one is needed; by default beside the copy.
    #[arg(long, value_name = "PLACE")]
    temp: Option<PathBuf>,
    /// Replace an array or group at the target. A folder that holds anything else is never
    /// replaced.
    #[arg(long, conflicts_with = "resume")]
    overwrite: bool,
    /// Go on with the same copy, if it was interrupted.
    #[arg(long)]
    resume: bool,
    /// Copy even if the free space seems too small, or chunks need more than `--memory`: then they
    /// get it, one at a time.
    #[arg(long)]
    force: bool,
    /// Compare the elements of source and copy at the end, and other files, but not attributes.
    #[arg(long)]
    verify: bool,
    /// Say what would be done.
    #[arg(long)]
    dry_run: bool,
    /// Leave out files that belong to no array or group; otherwise they are copied byte for byte.
    #[arg(long)]
    no_other_files: bool,
    /// Leave out what the format cannot express (a fill value, names, attributes), and say so;
    /// otherwise it is an error.
    #[arg(long)]
    allow_loss: bool,
}

/// Where the index of a shard is.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum IndexPlace {
    /// Before the inner chunks.
    Start,
    /// After them.
    End,
}

fn parse_type(name: &str) -> Result<DataType, String> {
    DataType::from_name(name)
        .ok_or_else(|| format!("{name:?} is not a type; float32, int16 or uint8 are"))
}

pub(crate) fn run(
    arguments: &Arguments,
    global: &Global,
    output: &mut Output,
) -> Result<Outcome, Failure> {
    global.check_inside(Some(&arguments.source), &arguments.target)?;
    let replaces = arguments.overwrite && check_replaced(&arguments.target, global)?;
    let arrays = global.open_arrays(&arguments.source)?;
    let opened = || arrays.iter().filter_map(|found| found.array.as_ref().ok());
    let selected = selected(arguments, global)?;
    let part = selected.as_ref().map(Selected::shape);
    let change = Change {
        data_type: arguments.dtype.as_ref(),
        codecs: arguments.codec.as_deref(),
        part: part.as_deref(),
    };
    // The size of the source, as far as it is copied.
    let source_bytes = |array| {
        Some(
            Change {
                data_type: None,
                ..change
            }
            .resized(describe::byte_len(array)?, array),
        )
    };
    let bytes = opened()
        .filter_map(source_bytes)
        .fold(0, u64::saturating_add);
    let mut options = options(arguments, replaces, global);
    if let Some(selected) = &selected {
        options = options.select(selected.window(&[]));
    }
    let call = |options: &CopyOptions| {
        run_copy(&arguments.source, &arguments.target, options)
            .map_err(|error| with_advice(error, arguments, replaces, global))
    };
    let space = Space::of_disks(&arguments.target, arguments.temp.as_deref());
    // An interrupted copy has used a part of the space already.
    let is_checked = !arguments.force && !arguments.resume && {
        let size = |array| Some(change.resized(describe::byte_len(array)?, array));
        !opened()
            .map(size)
            .sum::<Option<u64>>()
            .is_some_and(|bytes| space.is_ample(bytes))
    };
    if arguments.dry_run || is_checked {
        let planned = call(&options.clone().dry_run())?;
        let copies = arrays.iter().filter_map(|found| {
            let node = planned
                .nodes
                .iter()
                .find(|node| node.source == found.path)?;
            let array = found
                .array
                .as_ref()
                .ok()
                .filter(|_| node.level != CopyLevel::Metadata)?;
            Some((array, node.temporary_bytes))
        });
        let mut space = space.with_copies(copies, change)?;
        if replaces {
            space = space.replacing(&global.open_arrays(&arguments.target)?)?;
        }
        if arguments.dry_run {
            planned.print("would copy", global, output)?;
            print_forecast(&space, global, &planned.nodes, bytes, output)?;
            return Ok(planned.outcome);
        }
        if let Some(what) = space.shortage() {
            let target = shown(&arguments.target);
            return Err(Failure::new(format_args!(
                "{target}: {what}; --force copies all the same"
            )));
        }
    }
    let bar = Bar::new(global, bytes);
    let start = Instant::now();
    let copied = call(&options.run(global.run_options().progress(bar.callback())));
    bar.finish();
    let copied = copied?;
    let seconds = start.elapsed().as_secs_f64();
    copied.print("copied", global, output)?;
    // The summary of the copy is the last line.
    let mut outcome = copied.outcome;
    if arguments.verify {
        outcome = outcome.and(compare(arguments, selected, global, &copied, output)?);
    }
    let nodes = copied.nodes;
    let n_arrays = nodes
        .iter()
        .filter(|node| node.kind == MemberKind::Array)
        .count();
    let n_chunks: u64 = nodes.iter().map(|node| node.n_chunks).sum();
    if output.json() {
        output.value(&json!({"done": {
            "arrays": n_arrays,
            "chunks": n_chunks,
            "byte_len": bytes,
            "seconds": seconds,
            "peak_resident": memory::peak_resident(),
        }}))?;
    } else if !global.quiet {
        let rate = sizes::shown((bytes as f64 / seconds.max(1e-9)) as u64);
        output.line(format!(
            "copied {}, {} in {}, in {seconds:.1} s ({rate}/s)",
            plural(n_arrays as u64, "array", "arrays"),
            sizes::shown(bytes),
            plural(n_chunks, "chunk", "chunks"),
        ))?;
        if let Some(peak) = memory::peak_resident().filter(|_| global.verbose) {
            output.line(format!("peak memory {}", sizes::shown(peak)))?;
        }
    }
    Ok(outcome)
}

/// The part of the source that `--select` takes. The source must be an array then.
fn selected(arguments: &Arguments, global: &Global) -> Result<Option<Selected>, Failure> {
    let Some(text) = &arguments.select else {
        return Ok(None);
    };
    match global.open(&arguments.source)? {
        AnyNode::Array(array) => Selected::parse(Some(text), array.shape()).map(Some),
        AnyNode::Group(_) => {
            let source = shown(&arguments.source);
            Err(Failure::usage(format_args!(
                "{source} is a group: --select takes a part of one array"
            )))
        }
    }
}

fn options(arguments: &Arguments, replaces: bool, global: &Global) -> CopyOptions {
    let mut options = CopyOptions::new()
        .open(global.open_options())
        .n5_axes(global.n5_axes())
        .memory(arguments.memory);
    if let Some(format) = arguments.format {
        options = options.format(format);
    }
    if let Some(chunks) = &arguments.chunks {
        options = options.chunks(chunks.clone());
    }
    if let Some(shards) = &arguments.shards {
        options = options.shards(shards.clone());
    }
    if arguments.no_shards {
        options = options.no_shards();
    }
    match arguments.index_location {
        Some(IndexPlace::Start) => options = options.index_location(IndexLocation::Start),
        Some(IndexPlace::End) => options = options.index_location(IndexLocation::End),
        None => {}
    }
    if let Some(codecs) = &arguments.codec {
        options = options.codecs(codecs.clone());
    }
    if let Some(data_type) = &arguments.dtype {
        options = options.data_type(data_type.clone());
    }
    if let Some(scale) = arguments.scale {
        options = options.scale(scale);
    }
    if let Some(offset) = arguments.offset {
        options = options.offset(offset);
    }
    if arguments.saturate {
        options = options.cast(Cast::Saturating);
    }
    if let Some(temp) = &arguments.temp {
        options = options.temporary(temp);
    }
    if replaces {
        options = options.existing(Existing::Replace);
    }
    if arguments.resume {
        options = options.resume();
    }
    if arguments.allow_loss {
        options = options.record_losses();
    }
    if arguments.no_other_files {
        options = options.no_other_files();
    }
    if arguments.force {
        options = options.more_memory();
    }
    options
}

/// Refuses to replace anything but an array or group without other files in it. Returns true if
/// there is something to replace; otherwise the writer itself refuses what is in its way.
pub(crate) fn check_replaced(target: &Path, global: &Global) -> Result<bool, Failure> {
    let refuse = |what: &str| {
        Failure::new(format_args!(
            "{}: {what}; remove it yourself if it is not needed",
            shown(target)
        ))
    };
    let node = match global.open_options().open_node(target) {
        Ok(node) => node,
        Err(error) if error.kind() == ErrorKind::NotFound => return check_folder(target, refuse),
        Err(error) => return Err(refuse(&format!("what is there cannot be opened: {error}"))),
    };
    let contents = node.contents()?;
    match contents.foreign.first() {
        None => Ok(true),
        Some(key) => Err(refuse(&format!(
            "it holds {} that do not belong to it, such as {key:?}",
            plural(contents.foreign.len() as u64, "file", "files")
        ))),
    }
}

/// The name of the note that a copy leaves until it has ended.
const NOTE: &str = ".ndzarr-copy";

/// Checks a folder without a node. Returns true if an interrupted copy has left files to replace. A
/// copy that was killed before it began leaves a lock at most, which the list leaves out.
fn check_folder(target: &Path, refuse: impl Fn(&str) -> Failure) -> Result<bool, Failure> {
    let Some(folder) = local_folder(target) else {
        return Ok(false);
    };
    if !folder.join(NOTE).is_file() {
        let found = FsStore::new(&folder).list_dir(&Prefix::root());
        let found = found.map_err(ndzarr::Error::from)?;
        return if found.keys.is_empty() && found.prefixes.is_empty() {
            Ok(false)
        } else {
            Err(refuse("the folder is not an array or a group"))
        };
    }
    match Storage::folder(&folder).contents("")?.foreign.first() {
        None => Ok(true),
        Some(name) => Err(refuse(&format!(
            "beside what an interrupted copy has left, it holds files that do not belong to it, such as {name:?}"
        ))),
    }
}

/// The failure of an error of the library, with the argument that helps.
fn with_advice(
    error: ndzarr::Error,
    arguments: &Arguments,
    replaces: bool,
    global: &Global,
) -> Failure {
    let hint = match error.kind() {
        ErrorKind::OutOfMemory => "give more with --memory or --force, or take smaller chunks",
        ErrorKind::AlreadyExists if !arguments.overwrite && !arguments.resume => {
            return match check_replaced(&arguments.target, global) {
                Ok(_) => Failure::from(error).with_hint(
                    "--resume goes on with the same copy if it was interrupted, --overwrite replaces what is there",
                ),
                // `--overwrite` would fail with this.
                Err(refusal) => refusal,
            };
        }
        ErrorKind::WrongType if arguments.dtype.is_some() && !arguments.saturate => {
            "--saturate takes the nearest number, and 0 for NaN"
        }
        ErrorKind::AlreadyExists if replaces => "`ndzarr rm` removes what is there",
        ErrorKind::AlreadyExists if arguments.overwrite => {
            "what is there is not an array or a group, so it is not replaced; remove it yourself if it is not needed"
        }
        ErrorKind::InvalidArgument if !arguments.allow_loss && is_optional(&error.to_string()) => {
            "--allow-loss leaves it out"
        }
        _ => return error.into(),
    };
    Failure::from(error).with_hint(hint)
}

/// True if an error is about something that may be left out.
fn is_optional(error: &str) -> bool {
    ["the fill value", "dimension names", "attribute"]
        .iter()
        .any(|what| error.contains(what))
}

/// Compares the copied nodes with their sources.
fn compare(
    arguments: &Arguments,
    part: Option<Selected>,
    global: &Global,
    copied: &Copies,
    output: &mut Output,
) -> Result<Outcome, Failure> {
    let is_whole = part.is_none();
    let comparison = diff::Comparison::exact(part);
    let converts =
        arguments.dtype.is_some() || arguments.scale.is_some() || arguments.offset.is_some();
    let source = global.open(&arguments.source)?;
    let target = global.open(&arguments.target)?;
    let mut outcome = Outcome::Good;
    for node in copied
        .nodes
        .iter()
        .filter(|node| node.kind == MemberKind::Array && node.as_files.is_none())
    {
        let open = |root: &AnyNode, path: &str| {
            let array = global
                .open_options()
                .open_array::<ndzarr::Any>((storage(root), path))?;
            Ok::<_, Failure>(array.with_options(global.run_options()))
        };
        let a = open(&source, &node.source)?;
        let places = [&*arguments.source, &*arguments.target];
        let b = open(&target, &node.target)?;
        let found = if converts {
            // The numbers differ, so that only their chunks are checked.
            verify::check(&b, &places, global, output)?
        } else {
            diff::compare("", &a, &b, &places, &comparison, global, output)?
        };
        outcome = outcome.and(found);
    }
    let has_files = is_whole
        && copied
            .account
            .as_ref()
            .is_some_and(|account| account.files.n > 0);
    if has_files {
        let copies_others = !arguments.no_other_files;
        outcome = outcome.and(compare_files(
            [&source, &target],
            copied,
            copies_others,
            output,
        )?);
    }
    if outcome == Outcome::Good && !output.json() && !global.quiet {
        let what = if has_files {
            "the elements and the other files"
        } else {
            "the elements"
        };
        output.line(match (converts, copied.outcome) {
            (true, _) => "every chunk of the copy can be read".to_owned(),
            (false, Outcome::Good) => format!("{what} of source and copy are equal"),
            (false, Outcome::Found) => format!("{what} that were copied are equal"),
        })?;
    }
    Ok(outcome)
}
