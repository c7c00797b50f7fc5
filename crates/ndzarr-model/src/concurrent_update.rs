//! Whether writers of one chunk are serialized.

/// What happens when others write the same chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConcurrentUpdate {
    /// Writes are serialized: no element is lost.
    #[default]
    Merge,
    /// A partial update may undo what others wrote since it read the chunk, and an append what others
    /// appended meanwhile. For callers who know that there are no other writers: what they append to a
    /// store without locks is there before the shape shows it.
    LastWriterWins,
}
