//! The error of this crate, with its kind, key, chunk, codec and store.

use std::error::Error as StdError;
use std::fmt;

use ndzarr_codec::CodecError;
use ndzarr_engine::{EngineCause, EngineError};
use ndzarr_metadata::MetadataError;
use ndzarr_model::DataType;
use ndzarr_store::StoreError;

/// Why a call failed. What a caller can act on is its [`kind`](Self::kind); the rest tells where
/// and why.
///
/// The message names the chunk, the key and the store as far as the failure concerns one. `source`
/// is the cause below it, where there is one.
///
/// ```
/// use ndzarr_array::{Array, ErrorKind};
/// use ndzarr_store::MemoryStore;
///
/// let store = MemoryStore::new();
/// let a = Array::<u16>::builder([4]).chunks([2]).create((&store, "a"))?;
/// a.fill([0..4], 1)?;
/// store.set("a/c/1", "odd")?;
///
/// let error = a.read(..).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Corrupt);
/// assert_eq!((error.key(), error.chunk()), (Some("a/c/1"), Some(&[1][..])));
/// # Ok::<(), ndzarr_array::Error>(())
/// ```
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    what: String,
    store: Option<String>,
    key: Option<String>,
    chunk: Option<Vec<u64>>,
    codec: Option<String>,
    source: Option<Box<dyn StdError + Send + Sync>>,
}

/// What sort of failure it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Nothing is there.
    NotFound,
    /// A group is where an array was asked for, or the other way round.
    WrongNodeKind,
    /// Something is there already.
    AlreadyExists,
    /// A document is not what its format asks for.
    InvalidMetadata,
    /// A data type, codec or extension that is not supported here, or a call that the store cannot
    /// serve; the message names it.
    Unsupported,
    /// A stored chunk is broken.
    Corrupt,
    /// The element type of the call is not that of the array.
    WrongType,
    /// A selection or shape does not fit the array.
    WrongShape,
    /// An argument that makes no sense, or that the format cannot express.
    InvalidArgument,
    /// The store failed: permission, network, disk.
    Store,
    /// Writers cannot take turns in this store.
    CannotMerge,
    /// Another writer came in between, or had a lock for longer than the store waits. The same call
    /// can succeed later.
    Conflict,
    /// The caller gave up.
    Cancelled,
    /// There is not enough memory for the result.
    OutOfMemory,
}

/// What the calls of this crate give.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub(crate) fn new(kind: ErrorKind, what: impl fmt::Display) -> Self {
        let what = what.to_string();
        Self(Box::new(Inner { kind, what, store: None, key: None, chunk: None, codec: None, source: None }))
    }

    pub(crate) fn in_store(mut self, store: impl FnOnce() -> String) -> Self {
        self.0.store.get_or_insert_with(store);
        self
    }

    /// With the document that it is about, where nothing else is.
    pub(crate) fn in_document(mut self, key: Option<&str>) -> Self {
        self.0.key = self.0.key.or_else(|| key.map(str::to_owned));
        self
    }

    /// With the chunk that it is about.
    pub(crate) fn at_chunk(mut self, key: String, chunk: &[u64]) -> Self {
        self.0.key = Some(key);
        self.0.chunk = Some(chunk.to_vec());
        self
    }

    /// The same of a node that is not there yet: it is the request that makes no sense, and no
    /// document has a key.
    pub(crate) fn of_request(mut self) -> Self {
        if self.0.kind == ErrorKind::InvalidMetadata {
            self.0.kind = ErrorKind::InvalidArgument;
        }
        self.0.key = None;
        self
    }

    /// The same of a shape that is asked for: it is what does not fit.
    pub(crate) fn of_shape(mut self) -> Self {
        self.0.kind = ErrorKind::WrongShape;
        self
    }

    /// With what was done before it came to this.
    pub(crate) fn after(mut self, what: &str) -> Self {
        self.0.what = format!("{what}: {}", self.0.what);
        self
    }

    /// The same when the call has done what it was for: to make it again would do that twice.
    pub(crate) fn once_done(mut self) -> Self {
        if self.0.kind == ErrorKind::Conflict {
            self.0.kind = ErrorKind::Store;
        }
        self
    }

    fn because(mut self, source: impl StdError + Send + Sync + 'static) -> Self {
        self.0.source = Some(Box::new(source));
        self
    }

    /// What sort of failure it is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The key of the value or document that it concerns.
    #[must_use]
    pub fn key(&self) -> Option<&str> {
        self.0.key.as_deref()
    }

    /// The index of the chunk that it concerns, in the grid of chunks (of shards, for a sharded
    /// array).
    #[must_use]
    pub fn chunk(&self) -> Option<&[u64]> {
        self.0.chunk.as_deref()
    }

    /// The name of the codec that did not take the chunk, or that the chain of codecs cannot have.
    #[must_use]
    pub fn codec(&self) -> Option<&str> {
        self.0.codec.as_deref()
    }

    /// The name of the store that it concerns: a path or URL.
    #[must_use]
    pub fn store(&self) -> Option<&str> {
        self.0.store.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { what, store, key, chunk, .. } = &*self.0;
        f.write_str(what)?;
        let mut separator = " (";
        if let Some(chunk) = chunk {
            write!(f, "{separator}chunk {chunk:?}")?;
            separator = ", ";
        }
        if let Some(key) = key {
            write!(f, "{separator}key {key:?}")?;
            separator = ", ";
        }
        if let Some(store) = store {
            write!(f, "{separator}store {store:?}")?;
            separator = ", ";
        }
        if separator == ", " {
            f.write_str(")")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.0.kind)?;
        let mut source = self.source();
        while let Some(error) = source {
            write!(f, ": {error}")?;
            source = error.source();
        }
        Ok(())
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        let (kind, what, key) = match &error {
            StoreError::InvalidKey { key, .. } => {
                (ErrorKind::InvalidArgument, "no such key is possible", Some(key.clone()))
            }
            StoreError::Io { key, .. } | StoreError::Other { key, .. } => {
                (ErrorKind::Store, "the store failed", Some(key.clone()))
            }
            StoreError::OutOfRange { key, .. } | StoreError::TooLarge { key, .. } => {
                (ErrorKind::Corrupt, "the stored value has the wrong size", Some(key.to_string()))
            }
            StoreError::Busy { key, .. } => (ErrorKind::Conflict, "the lock was not free", Some(key.clone())),
            StoreError::LockLost { key, .. } => (ErrorKind::Conflict, "the lock was lost", Some(key.clone())),
            StoreError::Unsupported(_) => (ErrorKind::Unsupported, "the store cannot do this", None),
            _ => (ErrorKind::Store, "the store failed", None),
        };
        let mut new = Self::new(kind, format!("{what}: {error}"));
        new.0.key = key.filter(|key| !key.is_empty());
        match error {
            StoreError::Io { source, .. } => new.because(source),
            _ => new,
        }
    }
}

impl From<MetadataError> for Error {
    fn from(error: MetadataError) -> Self {
        let kind = match &error {
            MetadataError::NotFound { .. } | MetadataError::Gone { .. } => ErrorKind::NotFound,
            MetadataError::Unsupported { .. } => ErrorKind::Unsupported,
            MetadataError::Path { .. } | MetadataError::Inexpressible { .. } => ErrorKind::InvalidArgument,
            MetadataError::Occupied { .. } => ErrorKind::AlreadyExists,
            _ => ErrorKind::InvalidMetadata,
        };
        let mut new = Self::new(kind, &error);
        if let MetadataError::Invalid { key, .. }
        | MetadataError::Unsupported { key, .. }
        | MetadataError::Gone { key, .. } = &error
        {
            new.0.key = Some(key.clone());
        }
        new
    }
}

impl From<CodecError> for Error {
    fn from(error: CodecError) -> Self {
        let kind = match &error {
            CodecError::Unknown { .. } | CodecError::Disabled { .. } => ErrorKind::Unsupported,
            CodecError::Corrupt { .. } => ErrorKind::Corrupt,
            CodecError::Encode { .. } => ErrorKind::InvalidArgument,
            CodecError::OutOfMemory { .. } => ErrorKind::OutOfMemory,
            _ => ErrorKind::InvalidMetadata,
        };
        let mut new = Self::new(kind, &error);
        new.0.codec = error.codec().map(str::to_owned);
        new
    }
}

impl From<EngineError> for Error {
    fn from(error: EngineError) -> Self {
        let (cause, place) = error.into_parts();
        let mut new = match cause {
            EngineCause::Store(error) => Self::from(error),
            EngineCause::Codec(error) => Self::from(error),
            EngineCause::Element(what) => Self::new(ErrorKind::Corrupt, what),
            EngineCause::Tile(error) => match error.downcast::<Self>() {
                Ok(error) => *error,
                Err(error) => Self::new(ErrorKind::OutOfMemory, error),
            },
            EngineCause::Cancelled => Self::new(ErrorKind::Cancelled, EngineCause::Cancelled),
            EngineCause::CannotMerge => Self::new(ErrorKind::CannotMerge, EngineCause::CannotMerge),
            cause @ EngineCause::Grid(_) => Self::new(ErrorKind::InvalidMetadata, cause),
            cause @ EngineCause::CannotList { .. } => Self::new(ErrorKind::Unsupported, cause),
            other => Self::new(ErrorKind::Store, other),
        };
        if let Some(place) = place {
            new.0.key = Some(place.key);
            new.0.chunk = Some(place.chunk);
            new.0.store = Some(place.store);
        }
        new
    }
}

/// What is wrong with an element, which may be long.
pub(crate) fn not_an_element(element: &[u8], data_type: &DataType) -> String {
    let dots = if element.len() > 16 { " …" } else { "" };
    format!("the bytes {:?}{dots} are no {data_type}", &element[..element.len().min(16)])
}
