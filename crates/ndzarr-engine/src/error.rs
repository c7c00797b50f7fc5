//! The error of this crate, with the chunk where it happened.

use std::fmt;

use ndzarr_codec::CodecError;
use ndzarr_store::{Key, StoreError};

/// Why a region could not be read or written, and where.
#[derive(Debug)]
pub struct EngineError {
    cause: EngineCause,
    place: Option<Box<UnitPlace>>,
    inner_chunk: Vec<Vec<u64>>,
}

/// The shard or, without shards, the chunk that an error is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitPlace {
    /// Name of the store.
    pub store: String,
    /// Its key.
    pub key: String,
    /// Its index in the grid.
    pub unit: Vec<u64>,
}

/// Why a read or write failed, without the place.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EngineCause {
    /// The store.
    #[error("the store failed")]
    Store(#[from] StoreError),
    /// A codec: the stored value is broken, or the chain does not support the operation.
    #[error("a codec failed")]
    Codec(#[from] CodecError),
    /// An element that its type does not allow.
    #[error("{0}")]
    Element(String),
    /// A tile could not be made, for lack of memory, for example.
    #[error("there is nothing to read into")]
    Tile(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// Other writers kept replacing the value while it was read.
    #[error("the value kept changing while it was read")]
    KeepsChanging,
    /// This store cannot serialize two writers.
    #[error(
        "this store has neither locks nor conditional writes, so a partial update could lose what others write: \
         overwrite whole chunks, or let the last writer win"
    )]
    NoLocking,
    /// This store cannot make an array smaller.
    #[error(
        "this store cannot list its keys, and {n_chunks} chunks are too many to try one by one"
    )]
    CannotList {
        /// The number of chunks outside the new shape, or that may have to be trimmed.
        n_chunks: u64,
    },
    /// The caller cancelled the call.
    #[error("cancelled")]
    Cancelled,
    /// One of these, in an inner chunk of a shard.
    #[error(transparent)]
    Inner(Box<Broken>),
}

impl EngineError {
    pub(crate) fn at(cause: impl Into<EngineCause>, place: UnitPlace) -> Self {
        Self {
            place: Some(Box::new(place)),
            ..Self::from(cause)
        }
    }

    /// The cause.
    #[must_use]
    pub fn cause(&self) -> &EngineCause {
        &self.cause
    }

    /// The chunk that it is about, if known.
    #[must_use]
    pub fn place(&self) -> Option<&UnitPlace> {
        self.place.as_deref()
    }

    /// Which inner chunk of the shard it is about, as in
    /// [`DamagedChunk`](crate::DamagedChunk::inner_chunk); empty if it is about the whole value.
    #[must_use]
    pub fn inner_chunk(&self) -> &[Vec<u64>] {
        &self.inner_chunk
    }

    /// Cause and chunk.
    #[must_use]
    pub fn into_parts(self) -> (EngineCause, Option<UnitPlace>) {
        (self.cause, self.place.map(|place| *place))
    }
}

impl<C: Into<EngineCause>> From<C> for EngineError {
    fn from(cause: C) -> Self {
        let Broken { inner_chunk, cause } = Broken::new(&[], cause.into());
        Self {
            cause,
            place: None,
            inner_chunk,
        }
    }
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Some(place) => write!(
                f,
                "chunk {:?} ({} in {})",
                place.unit, place.key, place.store
            ),
            None => fmt::Display::fmt(&self.cause, f),
        }
    }
}

impl std::error::Error for EngineError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self.place {
            Some(_) => Some(&self.cause),
            None => std::error::Error::source(&self.cause),
        }
    }
}

impl EngineCause {
    /// Adds the inner chunk of a shard that it is in, unless it already names one.
    pub(crate) fn within(self, inner_chunk: &[Vec<u64>]) -> Self {
        if inner_chunk.is_empty() {
            return self;
        }
        Self::Inner(Box::new(Broken::new(inner_chunk, self)))
    }

    /// The error of the store, if that is the cause.
    pub(crate) fn of_store(&self) -> Option<&StoreError> {
        match self {
            Self::Store(error) => Some(error),
            Self::Inner(broken) => broken.cause.of_store(),
            _ => None,
        }
    }

    /// True if the stored value is at fault, not the store, the configuration or the caller.
    #[must_use]
    pub fn is_corrupt(&self) -> bool {
        match self {
            Self::Codec(error) => error.is_corrupt(),
            Self::Element(_) => true,
            Self::Store(error) => {
                matches!(
                    error,
                    StoreError::OutOfRange { .. } | StoreError::TooLarge { .. }
                )
            }
            Self::Inner(broken) => broken.cause.is_corrupt(),
            Self::KeepsChanging
            | Self::NoLocking
            | Self::CannotList { .. }
            | Self::Tile(_)
            | Self::Cancelled => false,
        }
    }

    /// True if other programs may read a broken value all the same: its codecs give all elements,
    /// of which some are not valid in their type, or it goes on after its end.
    pub(crate) fn may_be_read(&self) -> bool {
        match self {
            Self::Element(_) | Self::Codec(CodecError::Excess { .. }) => true,
            Self::Inner(broken) => broken.cause.may_be_read(),
            _ => false,
        }
    }

    /// The codec that failed.
    #[must_use]
    pub fn codec(&self) -> Option<&str> {
        match self {
            Self::Codec(error) => error.codec(),
            Self::Inner(broken) => broken.cause.codec(),
            _ => None,
        }
    }
}

/// A part of one stored value that cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{cause}")]
pub struct Broken {
    /// As in [`DamagedChunk`](crate::DamagedChunk).
    pub inner_chunk: Vec<Vec<u64>>,
    /// The cause.
    #[source]
    pub cause: EngineCause,
}

impl Broken {
    /// A cause in the inner chunk that it names, or else in this one.
    pub(crate) fn new(inner_chunk: &[Vec<u64>], cause: EngineCause) -> Self {
        match cause {
            EngineCause::Inner(broken) => *broken,
            cause => Self {
                inner_chunk: inner_chunk.to_vec(),
                cause,
            },
        }
    }
}

/// The store did not return what was requested.
pub(crate) fn bad_answer() -> EngineCause {
    let what = "the store returned other parts than requested".to_owned();
    StoreError::Other {
        action: "read",
        key: String::new(),
        what,
    }
    .into()
}

/// The store returns no parts of this key's value.
pub(crate) fn no_part(key: &Key) -> EngineCause {
    StoreError::Other {
        action: "read",
        key: key.to_string(),
        what: "the store returned no part".to_owned(),
    }
    .into()
}
