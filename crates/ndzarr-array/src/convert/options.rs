//! Options of a conversion, and its report.

use ndzarr_engine::{CancelOnDrop, RunOptions};
use ndzarr_metadata::{CreateOptions, Existing, Format, Limits, MemberKind, N5Axes, N5GroupDocuments};

use crate::mode::Blocking;
use crate::open_options::OpenOptions;

/// Options of [`convert`](crate::convert()).
#[derive(Clone, Debug)]
pub struct ConvertOptions {
    pub(super) create: CreateOptions,
    pub(super) open: OpenOptions<Blocking>,
    pub(super) at_most: ConvertLevel,
    pub(super) loss: Loss,
    pub(super) run: RunOptions,
}

impl ConvertOptions {
    /// The defaults for a target format: any level, and no loss.
    #[must_use]
    pub fn new(format: Format) -> Self {
        Self {
            create: CreateOptions::new(format),
            open: OpenOptions::new(),
            at_most: ConvertLevel::Reencoded,
            loss: Loss::Refuse,
            run: RunOptions::default(),
        }
    }

    /// The same options, for a call that stops when the first value is dropped.
    pub(crate) fn stoppable(&self) -> (CancelOnDrop, Self) {
        let (stop, run) = self.run.part();
        (stop, Self { run, ..self.clone() })
    }

    /// How the source is opened. Its codecs are also available for the target.
    #[must_use]
    pub fn open(mut self, options: OpenOptions<Blocking>) -> Self {
        self.open = options;
        self
    }

    /// The costliest level allowed.
    #[must_use]
    pub fn at_most(mut self, level: ConvertLevel) -> Self {
        self.at_most = level;
        self
    }

    /// What to do about anything that the format cannot express.
    #[must_use]
    pub fn loss(mut self, loss: Loss) -> Self {
        self.loss = loss;
        self
    }

    /// Threads, cancellation, update policy and progress, which counts the chunks of one array
    /// after the other.
    #[must_use]
    pub fn run(mut self, run: RunOptions) -> Self {
        self.run = run;
        self
    }

    /// How the axes of a new N5 array are interpreted.
    #[must_use]
    pub fn n5_axes(mut self, axes: N5Axes) -> Self {
        self.create.n5_axes = axes;
        self
    }

    /// N5: which of the created groups get a document. Default: the root.
    #[must_use]
    pub fn n5_group_documents(mut self, documents: N5GroupDocuments) -> Self {
        self.create.n5_group_documents = documents;
        self
    }

    /// What to do about existing nodes at the target. Default: an error.
    #[must_use]
    pub fn existing(mut self, existing: Existing) -> Self {
        self.create.existing = existing;
        self
    }

    /// Limits for new documents.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.create.limits = limits;
        self
    }
}

/// How much of an array had to be rewritten, cheapest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ConvertLevel {
    /// Only documents: the chunks stay in place, and both formats read them.
    Metadata,
    /// The encoded chunks were copied, byte for byte, under other keys or into another store.
    Rekeyed,
    /// The elements were read and written again.
    Reencoded,
}

/// What to do about anything that the target format cannot express.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Loss {
    /// Fails, and names it, before anything is written for the node.
    #[default]
    Refuse,
    /// Leaves it out and records it in the report.
    Record,
}

/// The result for each node, parents before children.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ConvertReport {
    /// The nodes.
    pub nodes: Vec<ConvertedNode>,
}

/// The result for one node.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ConvertedNode {
    /// Its path in the source.
    pub source: String,
    /// Its path in the target.
    pub target: String,
    /// Its kind.
    pub kind: MemberKind,
    /// How it was converted; groups have only documents.
    pub level: ConvertLevel,
    /// Number of chunks copied or written.
    pub n_chunks: u64,
    /// Anything left out, and why.
    pub losses: Vec<String>,
    /// Anything spelled differently without loss.
    pub notes: Vec<String>,
}
