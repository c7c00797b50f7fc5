//! How reads treat damaged chunks, and the list of those they met.

use std::sync::{Arc, Mutex, PoisonError};

use ndzarr_store::StoreError;

use crate::{ChunkPlace, EngineCause};

/// What a read does about stored chunks that are broken.
///
/// Broken is a value that its codecs do not take, whose size is wrong, or that holds elements that their type does not
/// allow. A store that fails (permission, disk, network) is an error always, and so is a broken chunk that a partial
/// write has to be merged with.
#[derive(Clone, Debug, Default)]
pub enum Damaged {
    /// The read fails with the first.
    #[default]
    Fail,
    /// Their elements are the fill value, and the report lists them. Where the index of a shard is sound, what is broken
    /// in it costs no more than the inner chunks concerned.
    FillAndReport(DamageReport),
}

/// The broken chunks that reads met; clones share the list. A chunk is listed once for each call that met it.
#[derive(Clone, Debug, Default)]
pub struct DamageReport(Arc<Mutex<Vec<DamagedChunk>>>);

/// A chunk, or an inner chunk of a shard, that is broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DamagedChunk {
    /// The chunk as it is stored (the shard, where there are such).
    pub place: ChunkPlace,
    /// Which inner chunk of the shard it is, counted from the shard's first, by the axes of the array; with nested
    /// shards one index for each level. Empty: all of the value.
    pub inner_chunk: Vec<Vec<u64>>,
    /// The codec that did not take it.
    pub codec: Option<String>,
    /// What is wrong with it.
    pub what: String,
}

/// What is broken within one stored value.
#[derive(Debug)]
pub struct Broken {
    /// As in [`DamagedChunk`].
    pub inner_chunk: Vec<Vec<u64>>,
    /// What is wrong.
    pub cause: EngineCause,
}

impl DamageReport {
    /// An empty one.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What was found since the last call, in no particular order.
    #[must_use]
    pub fn take(&self) -> Vec<DamagedChunk> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn add(&self, place: &ChunkPlace, broken: Broken) {
        let Broken { inner_chunk, cause } = broken;
        let codec = cause.codec().map(str::to_owned);
        let what = match &cause {
            EngineCause::Codec(error) => error.to_string(),
            EngineCause::Store(error) => error.to_string(),
            other => other.to_string(),
        };
        let found = DamagedChunk { place: place.clone(), inner_chunk, codec, what };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(found);
    }
}

impl Damaged {
    pub(crate) fn report(&self) -> Option<&DamageReport> {
        match self {
            Self::Fail => None,
            Self::FillAndReport(report) => Some(report),
        }
    }
}

impl EngineCause {
    /// Whether the stored value is at fault, rather than the store, the configuration or the caller.
    #[must_use]
    pub fn is_corrupt(&self) -> bool {
        match self {
            Self::Codec(error) => error.is_corrupt(),
            Self::Element(_) => true,
            Self::Store(error) => {
                matches!(error, StoreError::OutOfRange { .. } | StoreError::TooLarge { .. })
            }
            Self::KeepsChanging
            | Self::CannotMerge
            | Self::CannotList { .. }
            | Self::Grid(_)
            | Self::Tile(_)
            | Self::Cancelled => false,
        }
    }

    /// The codec that failed.
    #[must_use]
    pub fn codec(&self) -> Option<&str> {
        match self {
            Self::Codec(error) => error.codec(),
            _ => None,
        }
    }
}
