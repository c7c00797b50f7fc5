use std::fs::{File, Metadata};
use std::sync::Arc;

/// What tells one state of a file from another: which file it is, and when it was last touched.
///
/// Values are replaced by renaming, so the inode alone does it for this store; size and times catch programs that write
/// in place (as far as the clock of the file system resolves it).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    file: FileId,
    size: u64,
    times: Times,
}

/// Which file it is, whatever its name.
pub(crate) type FileId = platform::FileId;
type Times = platform::Times;

/// A state of a value: its file, open, so that the system cannot give its number to another one.
#[derive(Debug)]
pub(crate) struct Pinned {
    pub(crate) file: Arc<File>,
    pub(crate) identity: Identity,
}

impl Identity {
    pub(crate) fn of(stat: &Metadata) -> Self {
        Self { file: file_id(stat), size: stat.len(), times: platform::times(stat) }
    }

    pub(crate) fn size(&self) -> u64 {
        self.size
    }
}

pub(crate) use platform::{file_id, has_other_names};

#[cfg(unix)]
mod platform {
    use std::fs::Metadata;
    use std::os::unix::fs::MetadataExt;

    pub(crate) type FileId = (u64, u64);
    pub(crate) type Times = [i64; 4];

    pub(crate) fn file_id(stat: &Metadata) -> FileId {
        (stat.dev(), stat.ino())
    }

    pub(crate) fn times(stat: &Metadata) -> Times {
        [stat.mtime(), stat.mtime_nsec(), stat.ctime(), stat.ctime_nsec()]
    }

    /// Whether the file has a second (hard) name.
    pub(crate) fn has_other_names(stat: &Metadata) -> bool {
        stat.nlink() > 1
    }
}

#[cfg(not(unix))]
mod platform {
    use std::fs::Metadata;
    use std::time::SystemTime;

    pub(crate) type FileId = Option<SystemTime>;
    pub(crate) type Times = Option<SystemTime>;

    pub(crate) fn file_id(stat: &Metadata) -> FileId {
        stat.created().ok()
    }

    pub(crate) fn times(stat: &Metadata) -> Times {
        stat.modified().ok()
    }

    pub(crate) fn has_other_names(_: &Metadata) -> bool {
        false
    }
}
