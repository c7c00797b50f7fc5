//! The error of this crate, with its kind, key, chunk, codec and store.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::sync::Arc;

use ndzarr_codec::CodecError;
use ndzarr_engine::{EngineCause, EngineError};
use ndzarr_metadata::MetadataError;
use ndzarr_model::DataType;
use ndzarr_store::StoreError;

/// Why a call failed. Callers can act on its [`kind`](Self::kind); the rest tells where and why.
///
/// Where applicable, the message names the chunk, the key and the store, and it includes the
/// messages of all causes. `source` is for programs: that of an error of a store is the
/// [`StoreError`], whose source is the [`std::io::Error`] of the system.
///
/// ```
/// use ndzarr::{Array, ErrorKind, MemoryStore};
///
/// let store = MemoryStore::new();
/// let a = Array::<u16>::builder([4]).chunks([2]).create((&store, "a"))?;
/// a.fill([0..4], 1)?;
/// store.set("a/c/1", "odd")?;
///
/// let error = a.read(..).unwrap_err();
/// assert_eq!(error.kind(), ErrorKind::Corrupt);
/// assert_eq!((error.key(), error.chunk()), (Some("a/c/1"), Some(&[1][..])));
/// # Ok::<(), ndzarr::Error>(())
/// ```
#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    what: String,
    store: Option<String>,
    key: Option<String>,
    chunk: Option<Vec<u64>>,
    inner_chunk: Vec<Vec<u64>>,
    codec: Option<String>,
    source: Option<Arc<dyn StdError + Send + Sync>>,
}

/// The kind of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Nothing exists there.
    NotFound,
    /// There is a group where an array was expected, or the reverse.
    WrongNodeKind,
    /// There is something already: `overwrite()` of a builder replaces a node, `Group::erase`
    /// removes one, and `CopyOptions::resume` goes on with a copy. Or files that do not belong to a
    /// node lie below one that is to be removed or replaced: `RunOptions::force` and `force()` of a
    /// builder remove them.
    AlreadyExists,
    /// Metadata does not comply with its format.
    InvalidMetadata,
    /// A data type, codec or extension is not supported here, or the store cannot serve the call;
    /// the message names it.
    Unsupported,
    /// A stored chunk is corrupt.
    Corrupt,
    /// The element type of the call differs from the array's.
    WrongType,
    /// A selection or shape does not fit the array.
    WrongShape,
    /// An argument is invalid, or the format cannot express it.
    InvalidArgument,
    /// The store failed in another way than the following four.
    Store,
    /// The store refuses access: permissions of files, a read-only file system, missing or wrong
    /// credentials of a service.
    Denied,
    /// The store was not reached, did not answer in time, or asked to slow down, or the process has
    /// too many open files. The same call can succeed later.
    Unavailable,
    /// There is no space left, or a quota is used up. The old value stays.
    StorageFull,
    /// The answer to a write was lost: the value may be the old or the new one.
    UnknownOutcome,
    /// The store cannot serialize writers: whole chunks can be overwritten all the same, and
    /// [`ConcurrentUpdate::LastWriterWins`](ndzarr_model::ConcurrentUpdate::LastWriterWins) changes
    /// the rest as well.
    NoLocking,
    /// Another writer intervened, or held a lock for longer than the store waits. Repeating the
    /// call can succeed.
    Conflict,
    /// Cancelled by the caller.
    Cancelled,
    /// There is not enough memory for the result.
    OutOfMemory,
}

/// The result of the calls of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub(crate) fn new(kind: ErrorKind, what: impl fmt::Display) -> Self {
        let what = what.to_string();
        Self(Box::new(Inner {
            kind,
            what,
            store: None,
            key: None,
            chunk: None,
            inner_chunk: Vec::new(),
            codec: None,
            source: None,
        }))
    }

    pub(crate) fn in_store(mut self, store: impl FnOnce() -> String) -> Self {
        self.0.store.get_or_insert_with(store);
        self
    }

    /// Adds the document that it concerns, unless there is one already.
    pub(crate) fn in_document(mut self, key: Option<&str>) -> Self {
        self.0.key = self.0.key.or_else(|| key.map(str::to_owned));
        self
    }

    /// Adds the chunk that it concerns.
    pub(crate) fn at_chunk(mut self, key: String, chunk: &[u64]) -> Self {
        self.0.key = Some(key);
        self.0.chunk = Some(chunk.to_vec());
        self
    }

    /// Reports it as a fault of the request: the node does not exist yet, so no document has a key.
    pub(crate) fn of_request(mut self) -> Self {
        if self.0.kind == ErrorKind::InvalidMetadata {
            self.0.kind = ErrorKind::InvalidArgument;
        }
        self.0.key = None;
        self
    }

    /// Reports it as a fault of the requested shape.
    pub(crate) fn of_shape(mut self) -> Self {
        self.0.kind = ErrorKind::WrongShape;
        self
    }

    /// Adds what was done before it occurred.
    pub(crate) fn after(mut self, what: &str) -> Self {
        self.0.what = format!("{what}: {}", self.0.what);
        self
    }

    /// Adjusts the kind after the call has done its work: repeating it would do the work twice.
    pub(crate) fn once_done(mut self) -> Self {
        if matches!(self.0.kind, ErrorKind::Conflict | ErrorKind::Unavailable) {
            self.0.kind = ErrorKind::Store;
        }
        self
    }

    fn because(mut self, source: impl StdError + Send + Sync + 'static) -> Self {
        self.0.source = Some(Arc::new(source));
        self
    }

    /// The kind of failure.
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

    /// Which inner chunk of the shard it concerns, relative to the shard's first, by the axes of
    /// the array; one index per level of nested shards. Empty: the whole chunk or shard.
    ///
    /// ```
    /// use ndzarr::{Array, MemoryStore, codec};
    ///
    /// let store = MemoryStore::new();
    /// let builder = Array::<u16>::builder([8]).chunks([2]).shards([8]).codecs([codec::crc32c()]);
    /// let a = builder.create((&store, "a"))?;
    /// a.fill(.., 1)?;
    /// let mut shard = store.get("a/c/0").expect("one shard").to_vec();
    /// // The second inner chunk: two elements and a checksum take 8 bytes.
    /// shard[8] ^= 1;
    /// store.set("a/c/0", shard)?;
    ///
    /// let error = a.read(..).unwrap_err();
    /// assert_eq!((error.chunk(), error.inner_chunk()), (Some(&[0][..]), &[vec![1]][..]));
    /// # Ok::<(), ndzarr::Error>(())
    /// ```
    #[must_use]
    pub fn inner_chunk(&self) -> &[Vec<u64>] {
        &self.0.inner_chunk
    }

    /// The name of the codec that rejected the chunk, or that the codec chain cannot have.
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
        let Inner {
            what,
            store,
            key,
            chunk,
            inner_chunk,
            ..
        } = &*self.0;
        f.write_str(what)?;
        let mut separator = " (";
        if let Some(chunk) = chunk {
            write!(f, "{separator}chunk {chunk:?}")?;
            separator = ", ";
        }
        for inner_chunk in inner_chunk {
            write!(f, "{separator}inner chunk {inner_chunk:?}")?;
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
        write!(f, "{:?}: {self}", self.0.kind)
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        const FAILED: &str = "the store failed";
        let (kind, what) = match &error {
            StoreError::InvalidKey { .. } => (ErrorKind::InvalidArgument, "not a valid key"),
            StoreError::Io { .. } if error.is_out_of_files() => (ErrorKind::Unavailable, FAILED),
            StoreError::Io { source, .. } => (kind_of(source), FAILED),
            StoreError::NoBucket { .. } => (ErrorKind::NotFound, FAILED),
            StoreError::Denied { .. } => (ErrorKind::Denied, FAILED),
            StoreError::Unavailable { .. } => (ErrorKind::Unavailable, FAILED),
            StoreError::Unknown { .. } => (ErrorKind::UnknownOutcome, FAILED),
            StoreError::OutOfRange { .. } | StoreError::TooLarge { .. } => {
                (ErrorKind::Corrupt, "the stored value has the wrong size")
            }
            StoreError::Busy { .. } => (ErrorKind::Conflict, "the lock was not free"),
            StoreError::LockLost { .. } => (ErrorKind::Conflict, "the lock was lost"),
            StoreError::Unsupported(_) => (ErrorKind::Unsupported, ""),
            _ => (ErrorKind::Store, FAILED),
        };
        // A store that cannot do something says all of it.
        let mut what = if what.is_empty() {
            error.to_string()
        } else {
            format!("{what}: {error}")
        };
        let mut cause = error.source();
        while let Some(source) = cause {
            what = format!("{what}: {source}");
            cause = source.source();
        }
        let mut new = Self::new(kind, what);
        new.0.key = error.key().filter(|key| !key.is_empty()).map(str::to_owned);
        new.because(error)
    }
}

/// The kind of an error of the system.
///
/// `EIO` and `EFBIG` stay [`Store`](ErrorKind::Store): neither waiting nor free space helps. So
/// does `ENOENT`: a file that should exist does not, which is not the absence of a node.
fn kind_of(error: &io::Error) -> ErrorKind {
    use io::ErrorKind as Io;
    match error.kind() {
        Io::PermissionDenied | Io::ReadOnlyFilesystem => ErrorKind::Denied,
        Io::StorageFull | Io::QuotaExceeded => ErrorKind::StorageFull,
        Io::OutOfMemory => ErrorKind::OutOfMemory,
        // Of an archive, whose values have checksums.
        Io::InvalidData => ErrorKind::Corrupt,
        Io::TimedOut
        | Io::ConnectionRefused
        | Io::ConnectionReset
        | Io::ConnectionAborted
        | Io::NotConnected
        | Io::HostUnreachable
        | Io::NetworkUnreachable
        | Io::NetworkDown
        | Io::StaleNetworkFileHandle
        | Io::ResourceBusy
        | Io::WouldBlock
        | Io::Interrupted => ErrorKind::Unavailable,
        _ => ErrorKind::Store,
    }
}

impl From<MetadataError> for Error {
    fn from(error: MetadataError) -> Self {
        let kind = match &error {
            MetadataError::NotFound { .. } | MetadataError::Gone { .. } => ErrorKind::NotFound,
            MetadataError::Unsupported { .. } => ErrorKind::Unsupported,
            MetadataError::Path { .. } | MetadataError::Inexpressible { .. } => {
                ErrorKind::InvalidArgument
            }
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
            CodecError::Unknown { .. }
            | CodecError::Disabled { .. }
            | CodecError::OtherCount { .. } => ErrorKind::Unsupported,
            CodecError::Corrupt { .. } | CodecError::Excess { .. } => ErrorKind::Corrupt,
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
        let inner_chunk = error.inner_chunk().to_vec();
        let (cause, place) = error.into_parts();
        let mut new = match cause {
            EngineCause::Store(error) => Self::from(error),
            EngineCause::Codec(error) => Self::from(error),
            EngineCause::Element(what) => Self::new(ErrorKind::Corrupt, what),
            EngineCause::Tile(error) => match error.downcast::<Self>() {
                Ok(error) => *error,
                Err(error) => Self::new(ErrorKind::OutOfMemory, error),
            },
            cause @ EngineCause::KeepsChanging => Self::new(ErrorKind::Conflict, cause),
            EngineCause::Cancelled => Self::new(ErrorKind::Cancelled, EngineCause::Cancelled),
            EngineCause::NoLocking => Self::new(ErrorKind::NoLocking, EngineCause::NoLocking),
            cause @ EngineCause::CannotList { .. } => Self::new(ErrorKind::Unsupported, cause),
            other => Self::new(ErrorKind::Store, other),
        };
        if let Some(place) = place {
            new.0.key = Some(place.key);
            new.0.chunk = Some(place.unit);
            new.0.inner_chunk = inner_chunk;
            new.0.store = Some(place.store);
        }
        new
    }
}

/// Describes an invalid element, shortened if it is long.
pub(crate) fn not_an_element(element: &[u8], data_type: &DataType) -> String {
    let dots = if element.len() > 16 { " …" } else { "" };
    format!(
        "the bytes {:?}{dots} are not a valid {data_type}",
        &element[..element.len().min(16)]
    )
}
