use std::any::Any;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use crate::Key;

/// A request for a value or parts of it.
#[derive(Clone, Debug)]
pub struct Fetch {
    /// Which value.
    pub key: Key,
    /// Of which state of it.
    pub of: Of,
    /// Which part of it.
    pub want: Want,
}

/// Which part of a value is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Want {
    /// All of it, but not more than this many bytes ([`StoreError::TooLarge`](crate::StoreError::TooLarge)).
    Whole {
        /// The most that the caller takes, in bytes.
        limit: u64,
    },
    /// The last so many bytes. A shorter value is given whole.
    Tail(u64),
    /// These ranges of bytes, answered in this order. One that reaches over the end is an error, an empty one is not.
    Ranges(Vec<Range<u64>>),
    /// Its size alone.
    Size,
}

/// Which state of a value is asked for.
#[derive(Clone, Debug, Default)]
pub enum Of {
    /// The one of this moment.
    #[default]
    Any,
    /// The very one that an earlier answer within the same read came from. Where the store still has it (an open file),
    /// it answers from it even when the key has a newer value by now; else it answers [`Fetched::Changed`].
    Snapshot(Pin),
    /// The one of this moment, provided that it still is the pinned one; else [`Fetched::Changed`].
    IfCurrent(Pin),
}

/// The answer to a [`Fetch`].
#[derive(Clone, Debug)]
pub enum Fetched {
    /// There is definitely no value under the key.
    Missing,
    /// The pinned value is not there any more, or not the current one.
    Changed,
    /// What was asked for.
    Parts {
        /// Names the value that the parts came from.
        pin: Pin,
        /// Size of the whole value in bytes.
        size: u64,
        /// One part for `Whole` and `Tail`, one for each range, none for `Size`.
        parts: Vec<Bytes>,
    },
}

/// A name for one state of a value, made and understood by one store: an open file, an ETag, a generation.
#[derive(Clone)]
pub struct Pin(Arc<dyn Any + Send + Sync>);

impl Pin {
    /// Wraps what the store knows a state by.
    pub fn new<T: Any + Send + Sync>(state: T) -> Self {
        Self(Arc::new(state))
    }

    /// What the store wrapped, if it is of this type.
    #[must_use]
    pub fn get<T: Any + Send + Sync>(&self) -> Option<&T> {
        self.0.downcast_ref()
    }
}

impl fmt::Debug for Pin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pin")
    }
}
