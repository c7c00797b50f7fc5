//! The treatment of concurrent writers of one chunk.

/// The treatment of other writers of the same chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConcurrentUpdate {
    /// Writes are serialized: no element is lost.
    #[default]
    Merge,
    /// A partial update may undo what others wrote since it read the chunk, and an append what
    /// others appended meanwhile. For callers who know that they are the only writer: what they
    /// append to a store without locks is stored before the shape shows it.
    LastWriterWins,
}
