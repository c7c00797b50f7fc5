//! Options of the store: durability and symbolic links.

/// What must have reached the disk when a write returns.
///
/// Whatever the level, other processes see either the old value or the new one. The levels differ
/// in what an operating system that crashes, or a machine that loses power, may leave behind; a
/// program that crashes loses nothing at any level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// Nothing: the system writes back when it likes. After a power cut a key written shortly
    /// before may have its old value, its new one or, on some file systems, an empty or partial
    /// one. The default, as in zarr-python; tensorstore syncs unless told not to.
    #[default]
    None,
    /// The bytes of the value (`fdatasync`), before the key names them. After a power cut the key
    /// has its old or its new value.
    Data,
    /// The bytes, the file's own metadata (`fsync`) and the entry in its folder: when a write or an
    /// erasure returns, it stays. Folders made on the way are synced too.
    Full,
}

/// What becomes of symbolic links inside the store. The root itself may always be reached through
/// one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Links {
    /// They are followed, wherever they lead: git-annex and DataLad keep each chunk behind a link,
    /// and clusters link whole data sets. The default.
    #[default]
    Follow,
    /// A link that leads out of the store is an error, on folders and on values. For stores that
    /// others have made.
    ///
    /// Every access resolves its path first, which costs a system call or more for each folder on
    /// it. It protects from links in the store, not from a process that swaps folders for links
    /// during a read.
    Confine,
}
