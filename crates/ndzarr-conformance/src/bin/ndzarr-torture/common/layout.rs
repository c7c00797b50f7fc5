//! The kinds of stored units that are written.

use std::fmt;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use ndzarr::ndarray::Array1;
use ndzarr::{Array, ArrayBuilder, ConcurrentUpdate, Format, Group, RunOptions, Storage, codec};

use crate::common::torture::Outcome;

/// A format, with or without shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    V2,
    V3,
    V3Shards,
    Draft,
    DraftShards,
    N5,
}

/// The elements that each writer of a unit has in it. It writes only the first of them.
pub(crate) const SPREAD: u64 = 1024;

/// Inner chunks in a shard.
const INNER: u64 = 8;

impl Layout {
    pub(crate) const ALL: [Self; 6] = [
        Self::V2,
        Self::V3,
        Self::V3Shards,
        Self::Draft,
        Self::DraftShards,
        Self::N5,
    ];
    /// One for each format.
    pub(crate) const FORMATS: [Self; 4] = [Self::V2, Self::V3, Self::Draft, Self::N5];

    pub(crate) fn parse(name: &str) -> Outcome<Self> {
        let found = Self::ALL.into_iter().find(|layout| layout.name() == name);
        found.ok_or_else(|| format!("no layout {name}").into())
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::V2 => "v2",
            Self::V3 => "v3",
            Self::V3Shards => "v3-shards",
            Self::Draft => "draft",
            Self::DraftShards => "draft-shards",
            Self::N5 => "n5",
        }
    }

    /// The name of the unit stored under one key.
    pub(crate) fn unit(self) -> &'static str {
        match self {
            Self::V2 => "v2 chunk",
            Self::V3 => "v3 chunk",
            Self::V3Shards => "v3 shard",
            Self::Draft => "draft chunk",
            Self::DraftShards => "draft shard",
            Self::N5 => "N5 block",
        }
    }

    pub(crate) fn has_shards(self) -> bool {
        matches!(self, Self::V3Shards | Self::DraftShards)
    }

    pub(crate) fn format(self) -> Format {
        match self {
            Self::V2 => Format::Zarr2,
            Self::V3 | Self::V3Shards => Format::Zarr3,
            Self::Draft | Self::DraftShards => Format::DraftA,
            Self::N5 => Format::N5,
        }
    }

    /// The builder of an array of this shape, in units of the shape `unit`.
    pub(crate) fn builder(self, shape: &[u64], unit: &[u64]) -> ArrayBuilder<u32> {
        let builder = Array::<u32>::builder(shape).format(self.format());
        if self.has_shards() {
            let mut inner = unit.to_vec();
            inner[0] = (inner[0] / INNER).max(1);
            builder.chunks(inner).shards(unit)
        } else {
            builder.chunks(unit)
        }
    }

    /// The codec that all formats have.
    pub(crate) fn compressed(self, builder: ArrayBuilder<u32>) -> ArrayBuilder<u32> {
        builder.codecs([codec::gzip(1)])
    }

    /// Makes the array `a` of one unit for `n` writers in a new folder. It is compressed and has
    /// [`SPREAD`] elements for each, so that an update takes a while and writers overlap.
    pub(crate) fn one_unit(self, folder: &Path, n: u64) -> Outcome<(PathBuf, Array<u32>)> {
        let n = n * SPREAD;
        let root = folder.join(format!("{}-{n}", self.name()));
        if root.exists() {
            std::fs::remove_dir_all(&root)?;
        }
        let array = self
            .compressed(self.builder(&[n], &[n]))
            .create((root.as_path(), "a"))?;
        Ok((root, array))
    }

    /// Makes the hierarchy's root group, which creating an array does only in some formats.
    pub(crate) fn root_group(self, storage: impl Into<Storage>) -> Outcome {
        Group::create(storage.into(), self.format())?;
        Ok(())
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The options of a call that uses only its own thread.
pub(crate) fn on_own_thread() -> RunOptions {
    RunOptions::default().threads(NonZeroUsize::new(1))
}

/// Opens the array `a` of a folder, to be written by a policy.
pub(crate) fn open_with(root: &Path, policy: ConcurrentUpdate) -> Outcome<Array<u32>> {
    Ok(open(root)?.with_options(RunOptions::default().concurrent_update(policy)))
}

/// The name of a policy in the arguments of a worker.
pub(crate) fn policy_name(policy: ConcurrentUpdate) -> &'static str {
    if policy == ConcurrentUpdate::Merge {
        "merge"
    } else {
        "last-writer-wins"
    }
}

/// The policy of a name.
pub(crate) fn policy(name: &str) -> ConcurrentUpdate {
    if name == "merge" {
        ConcurrentUpdate::Merge
    } else {
        ConcurrentUpdate::LastWriterWins
    }
}

/// Opens the array `a` of a folder.
pub(crate) fn open(root: &Path) -> Outcome<Array<u32>> {
    Ok(Array::open((root, "a"))?)
}

/// Reads all of an array of one dimension.
pub(crate) fn read(array: &Array<u32>) -> Outcome<Vec<u32>> {
    Ok(array.read([0..array.shape()[0]])?.to_vec())
}

/// Writes elements of an array of one dimension from `at` on.
pub(crate) fn write(array: &Array<u32>, at: u64, elements: Vec<u32>) -> Outcome {
    let n = elements.len() as u64;
    let elements = Array1::from_vec(elements);
    loop {
        match array.write([at..at + n], &elements) {
            // Readers of Windows may keep the old value open for too long. Nothing has changed.
            Err(error) if cfg!(windows) && is_open_elsewhere(&error) => {}
            other => return Ok(other?),
        }
    }
}

fn is_open_elsewhere(error: &ndzarr::Error) -> bool {
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        if error.to_string().starts_with("it is open elsewhere") {
            return true;
        }
        cause = error.source();
    }
    false
}

/// Lock files and other temporaries below a folder.
pub(crate) fn leftovers(folder: &Path) -> Outcome<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut pending = vec![folder.to_owned()];
    while let Some(folder) = pending.pop() {
        for path in entries(&folder)? {
            if path.is_dir() {
                pending.push(path);
            } else if path.to_string_lossy().ends_with(".__lock") {
                found.push(path);
            }
        }
    }
    Ok(found)
}

/// The entries of a folder; none if it is gone. An abandoned call that is still being undone
/// removes folders.
pub(crate) fn entries(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    match std::fs::read_dir(folder) {
        Ok(entries) => entries.map(|entry| Ok(entry?.path())).collect(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}
