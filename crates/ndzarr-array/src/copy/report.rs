//! The report of a copy: what was copied, and what was not.

use std::fmt;

use ndzarr_metadata::{MemberKind, NodePath};

use crate::error::Error;

/// How much of an array had to be rewritten, cheapest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum CopyLevel {
    /// Only documents: the chunks stay in place, and both formats read them.
    Metadata,
    /// The encoded chunks were copied, byte for byte, under other keys or into another store.
    Rekeyed,
    /// The elements were read and written again.
    Reencoded,
}

/// What was copied, and what was not.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct CopyReport {
    /// The nodes of the target, parents before children.
    pub nodes: Vec<CopiedNode>,
    /// Nodes that are not in the target: they can be neither understood here nor copied as they
    /// are.
    pub not_copied: Vec<NotCopied>,
    /// What became of each key of the source. `None` where the source cannot list its keys, so that
    /// files of others were not looked for; where a part of an array is copied; and where the
    /// chunks stay in place, as everything else then does.
    pub account: Option<CopyAccount>,
}

/// A node that was not copied.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct NotCopied {
    /// Its path in the source.
    pub source: String,
    /// Why not.
    pub why: String,
}

/// What became of the keys below a source: each of them is counted once.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct CopyAccount {
    /// Documents of the nodes, which the target has in its own format.
    pub n_documents: u64,
    /// Chunks, or shards, of the arrays.
    pub n_chunks: u64,
    /// Documents with consolidated metadata, which the target has of its own nodes.
    pub n_remade: u64,
    /// Files that were copied byte for byte: those that belong to no array or group, and those of
    /// nodes that are copied as they are.
    pub files: KeyList,
    /// Keys that the target does not have, by the reason.
    pub left_out: Vec<LeftOut>,
}

/// How many keys there are, and the first of them.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct KeyList {
    /// How many there are.
    pub n: u64,
    /// The first that were found, up to 100.
    pub first: Vec<String>,
}

/// Keys that were left out.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LeftOut {
    /// Why they were.
    pub reason: LeftOutReason,
    /// The keys.
    pub keys: KeyList,
}

/// Why a key is not in the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum LeftOutReason {
    /// It belongs to no array or group, and such files
    /// [were to stay](crate::CopyOptions::no_other_files).
    OtherFile,
    /// It describes a node that is copied, in another format than the one that it is copied from.
    OtherFormat,
    /// It is, by its name, a chunk outside of the array.
    OutsideShape,
    /// A copy that has not ended has left it.
    Unfinished,
    /// Consolidated metadata, which are not written in the format of the target.
    Consolidated,
    /// It belongs to a node that [was not copied](CopyReport::not_copied).
    NotCopied,
    /// It cannot be read: a link that leads nowhere, a device, a folder that cannot be listed, a
    /// name that no key can have.
    Unreadable,
}

impl fmt::Display for LeftOutReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::OtherFile => "of no array or group",
            Self::OtherFormat => "metadata in another format",
            Self::OutsideShape => "outside of the array",
            Self::Unfinished => "of a copy that has not ended",
            Self::Consolidated => "consolidated metadata, which the format does not have",
            Self::NotCopied => "of nodes that are not copied",
            Self::Unreadable => "cannot be read",
        })
    }
}

impl NotCopied {
    pub(crate) fn of(path: &NodePath, why: &Error) -> Self {
        Self {
            source: path.as_str().to_owned(),
            why: why.to_string(),
        }
    }
}

impl CopyAccount {
    /// How many keys the source has.
    #[must_use]
    pub fn n_keys(&self) -> u64 {
        let left_out: u64 = self.left_out.iter().map(|left_out| left_out.keys.n).sum();
        self.n_documents + self.n_chunks + self.n_remade + self.files.n + left_out
    }

    pub(crate) fn leave_out(&mut self, reason: LeftOutReason, key: &str) {
        let at = self
            .left_out
            .iter()
            .position(|left_out| left_out.reason == reason);
        let at = at.unwrap_or_else(|| {
            self.left_out.push(LeftOut {
                reason,
                keys: KeyList::default(),
            });
            self.left_out.len() - 1
        });
        self.left_out[at].keys.add(key);
    }
}

impl KeyList {
    pub(crate) fn add(&mut self, key: &str) {
        self.n += 1;
        if self.first.len() < 100 {
            self.first.push(key.to_owned());
        }
    }
}

impl CopyReport {
    /// Returns `true` if the target has all of the source: every node, and every file but those
    /// that were to stay.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        let reasons = self
            .account
            .iter()
            .flat_map(|account| &account.left_out)
            .map(|left_out| left_out.reason);
        self.not_copied.is_empty()
            && reasons
                .into_iter()
                .all(|reason| reason != LeftOutReason::Unreadable)
    }
}

/// The result for one node.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CopiedNode {
    /// Its path in the source.
    pub source: String,
    /// Its path in the target.
    pub target: String,
    /// Its kind.
    pub kind: MemberKind,
    /// How it was copied; groups have only documents.
    pub level: CopyLevel,
    /// Number of chunks, or shards, copied or written.
    pub n_chunks: u64,
    /// Size of the temporary array that it goes through, in bytes, if all chunks are stored; 0
    /// without one.
    pub temporary_bytes: u64,
    /// Why it could not be understood here, if so: then its documents and chunks were copied as
    /// they are, byte for byte.
    pub as_files: Option<String>,
    /// Anything left out, and why.
    pub losses: Vec<String>,
    /// Anything spelled differently without loss, and remarks on how it was copied.
    pub notes: Vec<String>,
}
