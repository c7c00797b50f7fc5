//! Options of the store: durability and symbolic links.

use ndzarr_store::{Key, is_numbered};

/// What must have reached the disk when a write returns.
///
/// At every level other processes see either the old value or the new one, and a program that
/// crashes loses nothing. The levels differ in what a crash of the operating system or a power cut
/// may leave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Durability {
    /// Nothing is synced. After a power cut a recently written key may have its old value, its new
    /// one or, on some file systems, an empty or partial one: an array whose document is empty
    /// cannot be opened. As in zarr-python; tensorstore syncs by default.
    None,
    /// Every key whose last part is [not a number](ndzarr_store::is_numbered), like `zarr.json`, is
    /// synced as by [`Data`](Self::Data), so that a power cut leaves no array or group that cannot
    /// be opened. Chunks are not synced, not even those of an append whose new shape is. The
    /// default.
    #[default]
    Documents,
    /// The bytes of the value (`fdatasync`), before the key names them. After a power cut the key
    /// has its old or its new value.
    Data,
    /// The bytes, the file's own metadata (`fsync`) and the entry in its folder: when a write or an
    /// erasure returns, it stays. Folders that are created for it are synced too.
    Full,
}

impl Durability {
    /// The level of this name: `none`, `documents`, `data` or `full`.
    ///
    /// ```
    /// use ndzarr::store::Durability;
    ///
    /// assert_eq!(Durability::from_name("full"), Some(Durability::Full));
    /// assert_eq!(Durability::from_name("Full"), None);
    /// ```
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "none" => Some(Self::None),
            "documents" => Some(Self::Documents),
            "data" => Some(Self::Data),
            "full" => Some(Self::Full),
            _ => None,
        }
    }

    /// The level for the value of a key.
    pub(crate) fn of(self, key: &Key) -> Self {
        let name = key.as_str().rsplit('/').next().unwrap_or_default();
        match self {
            Self::Documents if is_numbered(name) => Self::None,
            Self::Documents => Self::Data,
            other => other,
        }
    }
}

/// How symbolic links inside the store are treated. The root itself may always be reached through
/// one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Links {
    /// They are followed anywhere: git-annex and DataLad make each chunk a link, and
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
