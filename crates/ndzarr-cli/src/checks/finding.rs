//! Faults that checks find.

use serde_json::{Value, json};

/// A fault of a key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    pub(crate) key: String,
    pub(crate) kind: Kind,
    /// The index of the chunk, or shard, in the grid.
    pub(crate) chunk: Option<Vec<u64>>,
    /// The index of the inner chunk in the shard, for each level of nested shards.
    pub(crate) inner_chunk: Vec<Vec<u64>>,
    pub(crate) codec: Option<String>,
    pub(crate) what: String,
}

/// The kind of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// A chunk that cannot be decoded.
    Damaged,
    /// A chunk that ndzarr refuses and other programs may read.
    Odd,
    /// A value that the store does not return.
    Unreadable,
    /// A chunk that is not stored, where all were expected.
    Missing,
    /// A document that cannot be understood.
    Document,
    /// Consolidated metadata that do not agree with the documents.
    Stale,
    /// A key that belongs to no node.
    Orphan,
    /// Valid values that have no elements to decode, which does not count as damage.
    Undecoded,
    /// Chunks that no list contains, which does not count as damage.
    Unlisted,
    /// An oddity of a document that can be read, which does not count as damage.
    Warning,
}

impl Kind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Damaged => "damaged",
            Self::Odd => "odd",
            Self::Unreadable => "unreadable",
            Self::Missing => "missing",
            Self::Document => "document",
            Self::Stale => "stale",
            Self::Orphan => "orphan",
            Self::Undecoded => "undecoded",
            Self::Unlisted => "unlisted",
            Self::Warning => "warning",
        }
    }
}

impl Finding {
    pub(crate) fn new(key: impl Into<String>, kind: Kind, what: impl Into<String>) -> Self {
        Self {
            key: key.into(),
            kind,
            chunk: None,
            inner_chunk: Vec::new(),
            codec: None,
            what: what.into(),
        }
    }

    pub(crate) fn line(&self) -> String {
        let mut line = format!("{}: {}", self.key, self.kind.name());
        if let Some(chunk) = &self.chunk {
            line += &format!(": chunk {chunk:?}");
        }
        for inner in &self.inner_chunk {
            line += &format!(", inner chunk {inner:?}");
        }
        format!("{line}: {}", self.what)
    }

    pub(crate) fn json(&self) -> Value {
        json!({
            "key": self.key,
            "kind": self.kind.name(),
            "chunk": self.chunk,
            "inner_chunk": self.inner_chunk,
            "codec": self.codec,
            "what": self.what,
        })
    }
}
