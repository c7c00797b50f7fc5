//! Options of the store: durability and symbolic links.

/// What must have reached the disk when a write returns.
///
/// At every level other processes see either the old value or the new one, and a program that
/// crashes loses nothing. The levels differ in what a crash of the operating system or a power cut
/// may leave behind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Durability {
    /// Nothing is synced. After a power cut a recently written key may have its old value, its new
    /// one or, on some file systems, an empty or partial one. The default, as in zarr-python;
    /// tensorstore syncs unless told not to.
    #[default]
    None,
    /// The bytes of the value (`fdatasync`), before the key names them. After a power cut the key
    /// has its old or its new value.
    Data,
    /// The bytes, the file's own metadata (`fsync`) and the entry in its folder: when a write or an
    /// erasure returns, it stays. Folders made on the way are synced too.
    Full,
}

/// How symbolic links inside the store are treated. The root itself may always be reached through
/// one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Links {
    /// They are followed anywhere: git-annex and DataLad keep each chunk behind a link, and
    /// clusters link whole data sets. The default.
    #[default]
    Follow,
    /// A link that leads out of the store is an error, for folders and values. For untrusted
    /// stores.
    ///
    /// Every access resolves its path first, which costs a system call or more for each folder on
    /// it. It protects from links in the store, not from a process that swaps folders for links
    /// during a read.
    Confine,
}
