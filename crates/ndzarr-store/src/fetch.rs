//! Requests for a value or parts of it, and the answers.

use std::any::Any;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use crate::{Key, StoreError};

/// A request for a value or parts of it.
///
/// ```
/// use ndzarr::store::{Fetch, Fetched, Key, Of, Want};
/// use ndzarr::{MemoryStore, Store};
///
/// # fn main() -> Result<(), ndzarr::store::StoreError> {
/// let store = MemoryStore::new();
/// store.set("shard", "first second index")?;
/// let key = Key::new("shard")?;
///
/// // The end first, then other parts of the same value, even if the key has another value by then.
/// let tail = Fetch { key: key.clone(), of: Of::Any, want: Want::Tail(5) };
/// let Fetched::Parts { pin, size, parts } = store.fetch(&tail)? else { panic!("it was set") };
/// assert_eq!((size, &parts[0][..]), (18, &b"index"[..]));
/// store.set("shard", "other")?;
/// let want = Want::Ranges(vec![6..12, 0..5]);
/// match store.fetch(&Fetch { key, of: Of::Snapshot(pin), want })? {
///     Fetched::Parts { parts, .. } => assert_eq!(parts, ["second", "first"]),
///     // As other stores may answer: begin again.
///     Fetched::Changed | Fetched::Missing => {}
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Fetch {
    /// Which value to read.
    pub key: Key,
    /// Which state of the value to read from.
    pub of: Of,
    /// Which part of the value to read.
    pub want: Want,
}

/// Which part of a value is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Want {
    /// All of it; [`StoreError::TooLarge`](crate::StoreError::TooLarge) if it is larger than the
    /// limit.
    Whole {
        /// The most that the caller takes, in bytes.
        limit: u64,
    },
    /// This many bytes at the end. A shorter value is returned whole.
    Tail(u64),
    /// These ranges of bytes, answered in this order; they may overlap and repeat. A range that
    /// extends beyond the end is an error
    /// ([`StoreError::OutOfRange`](crate::StoreError::OutOfRange)), as is one that ends before it
    /// starts; an empty range up to the end is not.
    Ranges(Vec<Range<u64>>),
    /// Only its size.
    Size,
}

impl Want {
    /// The size of a value and the wanted parts of it: for stores that have whole values in memory.
    ///
    /// ```
    /// use bytes::Bytes;
    /// use ndzarr::store::{Key, Want};
    ///
    /// # fn main() -> Result<(), ndzarr::store::StoreError> {
    /// let key = Key::new("a")?;
    /// let value = Bytes::from("value");
    /// assert_eq!(Want::Tail(2).cut(&key, &value)?, (5, vec!["ue".into()]));
    /// assert!(Want::Ranges(vec![0..1, 4..6]).cut(&key, &value).is_err());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`StoreError::TooLarge`] and [`StoreError::OutOfRange`], which name the key.
    pub fn cut(&self, key: &Key, value: &Bytes) -> Result<(u64, Vec<Bytes>), StoreError> {
        let size = value.len() as u64;
        let parts = match self {
            Self::Whole { limit } if size > *limit => {
                return Err(StoreError::TooLarge {
                    key: key.clone(),
                    size,
                    limit: *limit,
                });
            }
            Self::Whole { .. } => vec![value.clone()],
            Self::Tail(n) => {
                let n = usize::try_from(*n).unwrap_or(usize::MAX);
                vec![value.slice(value.len().saturating_sub(n)..)]
            }
            Self::Ranges(ranges) => {
                let mut parts = Vec::with_capacity(ranges.len());
                for &Range { start, end } in ranges {
                    if start > end || end > size {
                        return Err(StoreError::OutOfRange {
                            key: key.clone(),
                            start,
                            end,
                            size,
                        });
                    }
                    // Both fit in usize, since they are at most the length of a slice.
                    parts.push(value.slice(start as usize..end as usize));
                }
                parts
            }
            Self::Size => Vec::new(),
        };
        Ok((size, parts))
    }
}

/// Which state of a value is asked for.
#[derive(Clone, Debug, Default)]
pub enum Of {
    /// The current one.
    #[default]
    Any,
    /// The one that an earlier answer of the same read came from. A store that still has it (an
    /// open file) answers from it even if the key has a newer value or none; otherwise it answers
    /// [`Fetched::Changed`], as for a pin that it did not make.
    Snapshot(Pin),
    /// The current one, if it is still the pinned one; otherwise [`Fetched::Changed`], also if
    /// there is none.
    IfCurrent(Pin),
}

/// The answer to a [`Fetch`].
#[derive(Clone, Debug)]
pub enum Fetched {
    /// There is definitely no value under the key.
    Missing,
    /// The pinned value is gone, or not the current one.
    Changed,
    /// The requested parts.
    Parts {
        /// Names the value that the parts came from.
        pin: Pin,
        /// Size of the whole value in bytes.
        size: u64,
        /// One part for `Whole` and `Tail`, one for each range, none for `Size`.
        parts: Vec<Bytes>,
    },
}

impl StoreError {
    /// [`Fetched::Missing`] for a denial that the user has said means a missing chunk.
    ///
    /// # Errors
    /// Every other error, unchanged.
    pub fn or_missing(self) -> Result<Fetched, Self> {
        match self {
            Self::Denied {
                or_missing: true, ..
            } => Ok(Fetched::Missing),
            error => Err(error),
        }
    }
}

/// The answer to [`Store::fetch_pieces`](crate::Store::fetch_pieces).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FetchedPieces {
    /// All pieces were passed on.
    All,
    /// There is definitely no value under the key; nothing was read into the piece.
    Missing,
    /// The value has this other size, in bytes.
    OtherSize(u64),
    /// The store does not support this.
    Unsupported,
}

/// A name for one state of a value, made and understood by one store: an open file, an ETag, a
/// generation.
///
/// A pin may keep memory or a file descriptor alive. Clones share it. It is only passed back for
/// the key that it came from.
///
/// ```
/// use ndzarr::store::Pin;
///
/// struct Generation(u64);
/// let pin = Pin::new(Generation(7));
/// assert_eq!(pin.get::<Generation>().map(|generation| generation.0), Some(7));
/// assert!(pin.get::<String>().is_none(), "a pin of another store");
/// ```
///
/// A pin that keeps much alive can name the same state without it, for a cache that holds pins for
/// long:
///
/// ```
/// use ndzarr::store::Pin;
///
/// struct Value { bytes: Vec<u8>, generation: u64 }
/// let pin = Pin::holding(Value { bytes: vec![0; 1000], generation: 7 }, |value| {
///     Some(Pin::new(value.generation))
/// });
/// assert_eq!(pin.light().and_then(|light| light.get::<u64>().copied()), Some(7));
/// assert!(!pin.is_light());
/// ```
#[derive(Clone)]
pub struct Pin(Arc<dyn State>);

impl Pin {
    /// Wraps the store's own identifier of a state.
    pub fn new<T: Any + Send + Sync>(state: T) -> Self {
        Self(Arc::new(Plain(state)))
    }

    /// Wraps an identifier that holds an open file or much memory. `light` makes the
    /// [light](Self::light) pin.
    pub fn holding<T: Any + Send + Sync>(state: T, light: fn(&T) -> Option<Self>) -> Self {
        Self(Arc::new(Holding { state, light }))
    }

    /// The wrapped identifier, if it is of this type.
    #[must_use]
    pub fn get<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.0.identifier().downcast_ref()
    }

    /// A pin of the same state that holds neither an open file nor much memory, to be kept for
    /// long. The store accepts it in [`Of`] like this one, but need not have the state any more.
    /// `None` if it could be mistaken for a pin of a later state.
    #[must_use]
    pub fn light(&self) -> Option<Self> {
        if self.is_light() {
            Some(self.clone())
        } else {
            self.0.light()
        }
    }

    /// Returns `true` if the pin is its own light pin.
    #[must_use]
    pub fn is_light(&self) -> bool {
        self.0.is_light()
    }
}

trait State: Send + Sync {
    fn identifier(&self) -> &(dyn Any + Send + Sync);

    fn is_light(&self) -> bool;

    fn light(&self) -> Option<Pin>;
}

struct Plain<T>(T);

impl<T: Any + Send + Sync> State for Plain<T> {
    fn identifier(&self) -> &(dyn Any + Send + Sync) {
        &self.0
    }

    fn is_light(&self) -> bool {
        true
    }

    fn light(&self) -> Option<Pin> {
        None
    }
}

struct Holding<T> {
    state: T,
    light: fn(&T) -> Option<Pin>,
}

impl<T: Any + Send + Sync> State for Holding<T> {
    fn identifier(&self) -> &(dyn Any + Send + Sync) {
        &self.state
    }

    fn is_light(&self) -> bool {
        false
    }

    fn light(&self) -> Option<Pin> {
        (self.light)(&self.state)
    }
}

impl fmt::Debug for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pin")
    }
}
