//! How a conversion is made, and what it reports.

use ndzarr_engine::{CancelOnDrop, RunOptions};
use ndzarr_metadata::{CreateOptions, Existing, Format, Limits, MemberKind, N5Axes, N5GroupDocuments};

use crate::mode::Blocking;
use crate::open_options::OpenOptions;

/// How [`convert`](crate::convert()) converts.
#[derive(Clone, Debug)]
pub struct ConvertOptions {
    pub(super) create: CreateOptions,
    pub(super) open: OpenOptions<Blocking>,
    pub(super) at_most: ConvertLevel,
    pub(super) loss: Loss,
    pub(super) run: RunOptions,
}

impl ConvertOptions {
    /// The defaults for a target format: any level, nothing may be lost.
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

    /// The same, for a call that is stopped when a value is dropped.
    pub(crate) fn stoppable(&self) -> (CancelOnDrop, Self) {
        let (stop, run) = self.run.part();
        (stop, Self { run, ..self.clone() })
    }

    /// How the source is opened; its codecs are known for the target, too.
    #[must_use]
    pub fn open(mut self, options: OpenOptions<Blocking>) -> Self {
        self.open = options;
        self
    }

    /// The costliest way that may be taken.
    #[must_use]
    pub fn at_most(mut self, level: ConvertLevel) -> Self {
        self.at_most = level;
        self
    }

    /// What happens with what the format cannot express.
    #[must_use]
    pub fn loss(mut self, loss: Loss) -> Self {
        self.loss = loss;
        self
    }

    /// Threads, cancelling, the mode of updates, and progress: it counts the chunks of one array
    /// after the other.
    #[must_use]
    pub fn run(mut self, run: RunOptions) -> Self {
        self.run = run;
        self
    }

    /// How the axes of a new N5 array are meant.
    #[must_use]
    pub fn n5_axes(mut self, axes: N5Axes) -> Self {
        self.create.n5_axes = axes;
        self
    }

    /// N5: which of the groups that are created get a document. Default: the root.
    #[must_use]
    pub fn n5_group_documents(mut self, documents: N5GroupDocuments) -> Self {
        self.create.n5_group_documents = documents;
        self
    }

    /// What is done with nodes at the target. Default: an error.
    #[must_use]
    pub fn existing(mut self, existing: Existing) -> Self {
        self.create.existing = existing;
        self
    }

    /// What new documents may ask for.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.create.limits = limits;
        self
    }
}

/// How much of an array had to be made anew; the cheaper comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConvertLevel {
    /// Documents alone: the chunks stay where they are, and both formats read them.
    Metadata,
    /// The encoded chunks were copied, byte for byte, under other keys or into another store.
    Rekeyed,
    /// The elements were read and written again.
    Reencoded,
}

/// What happens with what the target format cannot express.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Loss {
    /// It is an error that says what it is, before anything is written for the node.
    #[default]
    Refuse,
    /// It is left out, and the report says so.
    Record,
}

/// What became of each node, parents before children.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ConvertReport {
    /// The nodes.
    pub nodes: Vec<ConvertedNode>,
}

/// What became of a node.
#[derive(Clone, Debug, PartialEq)]
pub struct ConvertedNode {
    /// Its path in the source.
    pub source: String,
    /// Its path in the target.
    pub target: String,
    /// What it is.
    pub kind: MemberKind,
    /// How it was converted; a group is documents alone.
    pub level: ConvertLevel,
    /// How many chunks were copied or written.
    pub n_chunks: u64,
    /// What was left out, and why.
    pub losses: Vec<String>,
    /// What is spelled otherwise and loses nothing.
    pub notes: Vec<String>,
}
