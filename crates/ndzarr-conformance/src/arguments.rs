//! The arguments of the command line.

use std::ops::Range;
use std::path::{Path, PathBuf};

use clap::{Args, Parser, Subcommand, ValueEnum};
use ndzarr::{AnyNode, ConsolidatedUse, Format, N5Axes, OpenOptions, Place, Storage};

use crate::failure::Failure;

/// Opens, lists, reads, writes and converts arrays of Zarr v2, Zarr v3, the 2022 draft of v3 and
/// N5.
///
/// The exit status is 0; 1 for bad data, with one line `error: …` on standard error; 2 for bad
/// usage.
#[derive(Debug, Parser)]
#[command(
    name = "ndzarr-conformance",
    version,
    arg_required_else_help = true,
    args_conflicts_with_subcommands = true
)]
pub(crate) struct Arguments {
    /// Print the elements of the array in this directory in C order, one a line, as fill values of
    /// Zarr v3.
    #[arg(long = "array_path", value_name = "DIR")]
    pub(crate) array_path: Option<PathBuf>,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Print one line of JSON that describes a node.
    ///
    /// Of arrays: format, node, shape, chunk_shape (of the innermost chunks, where there are
    /// shards), shard_shape, data_type, fill_value and codecs as Zarr v3 writes them,
    /// dimension_names, attributes. Of groups: format, node, attributes, members. NaN and
    /// infinities in attributes are shown as strings.
    Info {
        #[command(flatten)]
        node: NodeArguments,
    },
    /// Print one line of JSON for each node, the root included: path and node.
    ///
    /// The path of the root is "", those of the others are like "a/b", without a leading slash.
    List {
        /// Directory of the store.
        store: PathBuf,
        /// Look only for this format.
        #[arg(long, value_enum)]
        format: Option<FormatArgument>,
        /// How consolidated metadata are used.
        #[arg(long, value_enum, default_value_t)]
        consolidated: Consolidated,
    },
    /// Write elements to a file and print the line of `info`.
    ///
    /// The elements are little endian, packed, in C order over the shape (of the region).
    Read(ReadArguments),
    /// Create an array, and the groups above it that its format requires, and write its elements
    /// from a file.
    ///
    /// The elements are little endian, packed, in C order over the shape.
    Write(WriteArguments),
    /// Convert an array, or a group with all below it, into another format, at the same path.
    ///
    /// Prints one line of JSON for each node: path, level (metadata, rekeyed, reencoded), chunks,
    /// losses, notes.
    Convert(ConvertArguments),
    /// Give a group consolidated metadata of all nodes below it.
    Consolidate {
        /// Directory of the store.
        store: PathBuf,
        /// Path of the group from the root of the store; the root, if not given.
        #[arg(default_value = "")]
        node: String,
    },
    /// Read and write selections of an array of int32, which come as lines of JSON from standard
    /// input.
    #[command(hide = true)]
    Select {
        /// Directory of the store.
        store: PathBuf,
        /// Path of the array from the root of the store.
        node: String,
    },
    /// Read variables of a dataset of xarray, or create one; requests and new variables come as
    /// lines of JSON from standard input.
    #[command(hide = true)]
    Dataset {
        /// Directory of the dataset.
        store: PathBuf,
        /// Create it in this format.
        #[arg(long, value_enum)]
        create: Option<FormatArgument>,
    },
    /// Describe the multiscale images of a group, with their elements, or make one, which a line of
    /// standard input describes.
    #[command(hide = true)]
    Image {
        /// Directory of the image; with `--validate`, documents and directories.
        #[arg(required = true)]
        paths: Vec<PathBuf>,
        /// Create it in this format.
        #[arg(long, value_enum)]
        create: Option<FormatArgument>,
        /// Print a line for each path: if it opens, what it must and should have.
        #[arg(long, conflicts_with = "create")]
        validate: bool,
    },
    /// Create an N5 dataset of one block of 5 by 2 elements, which may have fewer or more of them,
    /// or print those of such a block.
    #[command(hide = true)]
    Block(BlockArguments),
    /// Run commands from standard input, each line the JSON list of a command's arguments; each
    /// answer is a line of JSON with status, stdout and stderr.
    #[command(hide = true)]
    Batch,
}

/// A node of a store.
#[derive(Debug, Args)]
pub(crate) struct NodeArguments {
    /// Directory of the store, a ZIP archive, or a URL.
    pub(crate) store: PathBuf,
    /// Path of the node from the root of the store; the root, if not given.
    #[arg(default_value = "")]
    pub(crate) node: String,
    /// How the axes of N5 arrays are shown.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) n5_axes: Axes,
    /// Look only for this format. An N5 container without a version, for instance, is found only
    /// this way.
    #[arg(long, value_enum)]
    pub(crate) format: Option<FormatArgument>,
    /// How consolidated metadata are used.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) consolidated: Consolidated,
}

/// How consolidated metadata are used.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum Consolidated {
    /// If a group has any.
    #[default]
    Use,
    /// If a group has any; otherwise it is an error.
    Require,
    /// Never.
    Ignore,
}

impl From<Consolidated> for ConsolidatedUse {
    fn from(argument: Consolidated) -> Self {
        match argument {
            Consolidated::Use => Self::Use,
            Consolidated::Require => Self::Require,
            Consolidated::Ignore => Self::Ignore,
        }
    }
}

impl NodeArguments {
    pub(crate) fn open(&self) -> Result<AnyNode, Failure> {
        Ok(self.options().open_node(self.place())?)
    }

    pub(crate) fn place(&self) -> Place {
        place(&self.store, &self.node)
    }

    pub(crate) fn options(&self) -> OpenOptions {
        OpenOptions::new()
            .format(self.format.map(Into::into))
            .n5_axes(self.n5_axes.into())
            .consolidated(self.consolidated.into())
    }
}

/// The place of a node in a folder, in an archive, or at a URL.
pub(crate) fn place(store: &Path, node: &str) -> Place {
    match store.to_str() {
        Some(url) if url.contains("://") => Place::from(format!("{url}/{node}")),
        _ if store.is_file() => Place::from(format!("{}|zip:{node}", store.display())),
        _ => Place::from((Storage::folder(store), node)),
    }
}

#[derive(Debug, Args)]
pub(crate) struct ReadArguments {
    #[command(flatten)]
    pub(crate) node: NodeArguments,
    /// File for the elements.
    #[arg(long)]
    pub(crate) out: PathBuf,
    /// A range for each axis, as in 0:4,2:8.
    #[arg(long, value_parser = region)]
    pub(crate) region: Option<Region>,
}

#[derive(Debug, Args)]
pub(crate) struct WriteArguments {
    /// Directory of the store, which need not exist, or a URL.
    pub(crate) store: PathBuf,
    /// Path of the new array from the root of the store; the root, if not given.
    #[arg(default_value = "")]
    pub(crate) node: String,
    /// File of JSON that says what to create.
    ///
    /// Members: format (zarr2, zarr3, zarr3-draft-a, zarr3-draft-b, n5), shape, data_type as Zarr
    /// v3 has it; optionally chunk_shape (else one chunk), shard_shape, chunk_edges (as
    /// chunk_shapes of a rectilinear grid), endian, order (C, F), fill_value as Zarr v3 has it
    /// (null: none; absent: zero), codecs (v3 and draft A: a list, of the inner chunks where there
    /// are shards; v2 and draft B: {"compressor", "filters"}; N5: the compression object),
    /// chunk_key_encoding, dimension_separator, dimension_names, attributes, n5_axes (native,
    /// reversed), edge_blocks (truncated, padded), n5_group_documents (root, all), existing
    /// (refuse, replace).
    #[arg(long)]
    pub(crate) spec: PathBuf,
    /// File of the elements.
    #[arg(long = "in", value_name = "FILE")]
    pub(crate) input: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct BlockArguments {
    /// Directory of the store.
    pub(crate) store: PathBuf,
    /// Path of the dataset from the root of the store.
    pub(crate) node: String,
    /// Create it with this data type: uint8, int32, object.
    #[arg(long, value_name = "TYPE")]
    pub(crate) create: Option<String>,
    /// The elements, or the bytes of the object.
    #[arg(
        long,
        value_delimiter = ',',
        allow_hyphen_values = true,
        requires = "create"
    )]
    pub(crate) elements: Vec<i64>,
}

#[derive(Debug, Args)]
pub(crate) struct ConvertArguments {
    #[command(flatten)]
    pub(crate) node: NodeArguments,
    /// Directory of the store to convert into; the store itself keeps its chunks and gets further
    /// documents. A name that ends in .zip or .ozx is that of a new archive.
    #[arg(long)]
    pub(crate) into: PathBuf,
    /// The format to convert to.
    #[arg(long, value_enum)]
    pub(crate) to: FormatArgument,
    /// How properties that the format cannot express are treated.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) loss: LossArgument,
}

/// How properties that a format cannot express are treated.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum LossArgument {
    /// It is an error.
    #[default]
    Refuse,
    /// It is left out and reported.
    Record,
}

/// How the axes of N5 arrays are shown.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum Axes {
    /// Axis 0 is dimension 0, which varies fastest.
    #[default]
    Native,
    /// Axis 0 is the last dimension.
    Reversed,
}

impl From<Axes> for N5Axes {
    fn from(axes: Axes) -> Self {
        match axes {
            Axes::Native => Self::Native,
            Axes::Reversed => Self::Reversed,
        }
    }
}

/// A format to look for.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum FormatArgument {
    Zarr2,
    Zarr3,
    #[value(name = "zarr3-draft-a")]
    DraftA,
    #[value(name = "zarr3-draft-b")]
    DraftB,
    N5,
}

impl From<FormatArgument> for Format {
    fn from(format: FormatArgument) -> Self {
        match format {
            FormatArgument::Zarr2 => Self::Zarr2,
            FormatArgument::Zarr3 => Self::Zarr3,
            FormatArgument::DraftA => Self::DraftA,
            FormatArgument::DraftB => Self::DraftB,
            FormatArgument::N5 => Self::N5,
        }
    }
}

/// A range for each axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Region(pub(crate) Vec<Range<u64>>);

fn region(text: &str) -> Result<Region, String> {
    if text.is_empty() {
        return Ok(Region(Vec::new()));
    }
    let range = |part: &str| {
        let (start, stop) = part.split_once(':')?;
        Some(start.trim().parse().ok()?..stop.trim().parse().ok()?)
    };
    text.split(',')
        .map(|part| range(part).ok_or_else(|| format!("{part:?} is not a range START:STOP")))
        .collect::<Result<_, _>>()
        .map(Region)
}
