//! The abilities of a store, and the costs of ranges.

/// The abilities of a store beyond reading.
///
/// `false` means that it never can. `true` does not promise it for each key, which may still get
/// the answer `Unsupported`: one of the file systems below a folder may have no locks.
///
/// ```
/// use ndzarr::store::Can;
/// use ndzarr::{MemoryStore, Store};
///
/// assert_eq!(MemoryStore::new().can(), Can::default());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Can {
    /// Write and erase.
    pub write: bool,
    /// Check the precondition of a put.
    pub put_if: bool,
    /// Check the precondition of an erasure.
    pub erase_if: bool,
    /// Lock.
    pub lock: bool,
    /// List.
    pub list: bool,
}

impl Default for Can {
    /// Everything but locks.
    fn default() -> Self {
        Self {
            write: true,
            put_if: true,
            erase_if: true,
            lock: false,
            list: true,
        }
    }
}

/// When two ranges of one value are better read as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RangeMerging {
    /// The most bytes between two ranges that may be read unnecessarily.
    pub gap: u64,
    /// The most bytes that a merged range may have.
    pub max: u64,
    /// About how many bytes of a large value are best read at once, so that they are still in the
    /// cache of a core when they are decoded; `None` for everything at once. Only for stores that
    /// can read a pinned value even after the key has changed.
    pub piece: Option<u64>,
}

impl Default for RangeMerging {
    /// For stores on this machine.
    fn default() -> Self {
        Self {
            gap: 4096,
            max: 16 << 20,
            piece: None,
        }
    }
}
