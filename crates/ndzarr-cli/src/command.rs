//! The grammar of the command line: the verbs, and the functions that run them.

use clap::{Parser, Subcommand};

use crate::arguments::Global;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::output::Output;
use crate::verbs::{
    attrs, cat, completions, consolidate, convert, cp, diff, import, info, ls, man, pyramid,
    repair, rm, stats, verify, view,
};

/// Look into, check, compare, copy and convert arrays of Zarr v2, Zarr v3 and N5.
///
/// A place is a path (volume.n5/s0), a URL (s3://bucket/a.zarr, https://host/a.zarr), or an archive
/// (a.zip|zip:group/array). A selection is written as in NumPy, with or without brackets, and
/// quoted: "3, :, 10:200:2".
#[derive(Debug, Parser)]
#[command(
    name = "ndzarr",
    version,
    override_help = include_str!("help.txt"),
    disable_help_flag = true,
    arg_required_else_help = true,
    max_term_width = 100,
    after_long_help = "Exit status: 0 done, and nothing found; 1 differences (diff) or damage (verify, repair) \
                       were found; 2 bad usage; 3 it could not be done; 130 interrupted; 141 the reader of \
                       standard output went away."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Say what an array or group is: shape, type, chunks, codecs, what is stored, levels of
    /// images.
    ///
    /// The axes are those that every other verb takes and shows, and N5's own order unless
    /// `--n5-axes reversed` is given.
    #[command(after_help = "Example: ndzarr info volume.n5/s0")]
    Info(info::Arguments),
    /// List the arrays and groups in a group.
    #[command(after_help = "Example: ndzarr ls -rl volume.n5")]
    Ls(ls::Arguments),
    /// Copy an array, or a group with everything below it: to another place, format, chunking,
    /// compression or type.
    ///
    /// What the arguments do not say stays as in the source. Chunks are copied as they are where
    /// that is possible. The copy can be opened when it is complete, not before.
    ///
    /// Files of other programs are copied as well, and so are arrays that cannot be decoded here,
    /// where the format stays. What is left out is printed, and the exit status is 1 if an array
    /// could not be copied.
    #[command(
        after_help = "Example: ndzarr cp volume.n5/s0 volume.zarr --format zarr3 --chunks 32,32,32 --codec zstd:3"
    )]
    Cp(cp::Arguments),
    /// Give an array or group the documents of another format, in place; no chunk is written.
    #[command(after_help = "Example: ndzarr convert old.zarr --to zarr3")]
    Convert(convert::Arguments),
    /// Compare two arrays, or all arrays of two groups. The exit status is 1 if they differ. Chunks
    /// that neither array stores are not read, if their stores can list.
    #[command(after_help = "Example: ndzarr diff volume.n5/s0 volume.zarr")]
    Diff(diff::Arguments),
    /// Name each broken key, and what is wrong with it. The exit status is 1 if there is one.
    ///
    /// Documents, every stored chunk and consolidated metadata are checked, and what cannot be read
    /// hides nothing else. A chunk that is not stored does not count as damage.
    #[command(after_help = "Example: ndzarr verify volume.n5")]
    Verify(verify::Arguments),
    /// Remove what killed writers have left, put damaged chunks aside, renew consolidated metadata.
    ///
    /// Without `--yes` it only says what it would do, and the exit status is 1 if that is anything.
    /// Nothing else may write meanwhile. What other programs may read stays, and so does what can
    /// be decoded of a damaged shard.
    #[command(after_help = "Example: ndzarr repair --yes volume.n5")]
    Repair(repair::Arguments),
    /// Least, greatest and mean numbers, deviation, percentiles, a histogram. Chunks that are not
    /// stored are counted and not read, if the store can list.
    #[command(after_help = "Example: ndzarr stats volume.zarr --percentiles 1,50,99")]
    Stats(stats::Arguments),
    /// Show a plane as a picture: in the terminal, or as a PNG file.
    #[command(after_help = "Example: ndzarr view volume.zarr \"30, :, :\" -o plane.png")]
    View(view::Arguments),
    /// Print elements.
    #[command(after_help = "Example: ndzarr cat volume.zarr \"0, :4, :4\"")]
    Cat(cat::Arguments),
    /// Make an array of the elements of a .npy file, or of bytes.
    #[command(after_help = "Example: ndzarr import plane.npy plane.zarr --codec zstd:3")]
    Import(import::Arguments),
    /// Make the levels of a multiscale image: an OME-Zarr of an array, or the coarser levels of an
    /// image in place.
    ///
    /// An image of an array can be opened when all its levels are made, not before.
    #[command(after_help = "Example: ndzarr pyramid volume.zarr image.zarr --levels 3")]
    Pyramid(pyramid::Arguments),
    /// Print and change attributes.
    #[command(after_help = "Example: ndzarr attrs volume.zarr set 'units=\"K\"'")]
    Attrs(attrs::Arguments),
    /// Remove an array, or a group with everything below it.
    #[command(after_help = "Example: ndzarr rm --yes image.zarr")]
    Rm(rm::Arguments),
    /// Collect the metadata of all nodes below a group in one document.
    #[command(after_help = "Example: ndzarr consolidate run.zarr")]
    Consolidate(consolidate::Arguments),
    /// Print completions for a shell.
    #[command(after_help = "Example: ndzarr completions bash > ndzarr.bash")]
    Completions(completions::Arguments),
    /// Print the manual page.
    #[command(after_help = "Example: ndzarr man --dir pages")]
    Man(man::Arguments),
}

/// Runs a verb.
pub(crate) fn run(
    command: &Command,
    global: &Global,
    output: &mut Output,
) -> Result<Outcome, Failure> {
    let done = |result: Result<(), Failure>| result.map(|()| Outcome::Good);
    // For these, `--format` is the format of the result, not of the source.
    let creates = matches!(
        command,
        Command::Cp(_) | Command::Import(_) | Command::Pyramid(_)
    );
    let global = &Global {
        format: global.format.filter(|_| !creates),
        ..global.clone()
    };
    match command {
        Command::Info(arguments) => done(info::run(arguments, global, output)),
        Command::Ls(arguments) => done(ls::run(arguments, global, output)),
        Command::Cp(arguments) => cp::run(arguments, global, output),
        Command::Convert(arguments) => convert::run(arguments, global, output),
        Command::Diff(arguments) => diff::run(arguments, global, output),
        Command::Verify(arguments) => verify::run(arguments, global, output),
        Command::Repair(arguments) => repair::run(arguments, global, output),
        Command::Stats(arguments) => done(stats::run(arguments, global, output)),
        Command::View(arguments) => done(view::run(arguments, global, output)),
        Command::Cat(arguments) => done(cat::run(arguments, global, output)),
        Command::Import(arguments) => done(import::run(arguments, global, output)),
        Command::Pyramid(arguments) => done(pyramid::run(arguments, global, output)),
        Command::Attrs(arguments) => done(attrs::run(arguments, global, output)),
        Command::Rm(arguments) => done(rm::run(arguments, global, output)),
        Command::Consolidate(arguments) => done(consolidate::run(arguments, global, output)),
        Command::Completions(arguments) => done(completions::run::<Cli>(arguments, output)),
        Command::Man(arguments) => done(man::run::<Cli>(arguments, output)),
    }
}
