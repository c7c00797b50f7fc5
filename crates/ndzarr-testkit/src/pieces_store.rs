//! A store that asks to be read in small pieces.

use ndzarr_store::{RangeMerging, Store};

use crate::forward;

/// A store whose values are to be read in small pieces, like large files. The pins of the wrapped
/// store must last.
///
/// ```
/// use ndzarr_store::{MemoryStore, Store};
/// use ndzarr_testkit::PiecesStore;
///
/// assert_eq!(PiecesStore::new(MemoryStore::new(), 100).range_merging().piece, Some(100));
/// ```
#[derive(Clone, Debug)]
pub struct PiecesStore<S> {
    inner: S,
    piece: u64,
}

impl<S> PiecesStore<S> {
    /// A store that wants its values read in pieces of about this many bytes.
    pub fn new(inner: S, piece: u64) -> Self {
        Self { inner, piece }
    }
}

impl<S: Store> Store for PiecesStore<S> {
    forward!(inner: name, fetch, put, erase, lock, list_dir, can);

    fn range_merging(&self) -> RangeMerging {
        RangeMerging {
            gap: 0,
            piece: Some(self.piece),
            ..self.inner.range_merging()
        }
    }
}
