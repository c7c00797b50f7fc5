//! The metadata of a file that the system reports.

/// Which file it is, and in which state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) kind: Kind,
    pub(crate) file: FileId,
    /// In bytes.
    pub(crate) size: u64,
    /// When its content was last changed, in nanoseconds since 1970.
    pub(crate) modified: i128,
    /// When anything about it was last changed, in the same way.
    pub(crate) changed: i128,
    /// The number of its (hard) names.
    pub(crate) names: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Folder,
    /// A symbolic link, or a junction of Windows.
    Link,
    /// A pipe, a device …
    Other,
}

/// Which file it is, independent of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FileId {
    pub(crate) device: Device,
    pub(crate) number: u128,
}

/// The number of a mounted file system.
pub(crate) type Device = u64;

impl Stat {
    pub(crate) fn is_file(&self) -> bool {
        self.kind == Kind::File
    }

    pub(crate) fn is_dir(&self) -> bool {
        self.kind == Kind::Folder
    }

    pub(crate) fn is_symlink(&self) -> bool {
        self.kind == Kind::Link
    }

    /// The device that the file is on.
    pub(crate) fn device(&self) -> Device {
        self.file.device
    }
}

impl From<std::fs::FileType> for Kind {
    fn from(kind: std::fs::FileType) -> Self {
        if kind.is_file() {
            Self::File
        } else if kind.is_dir() {
            Self::Folder
        } else if kind.is_symlink() {
            Self::Link
        } else {
            Self::Other
        }
    }
}
