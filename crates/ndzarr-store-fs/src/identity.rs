//! Tells whether a file is still the one that was read before.

use std::fs::{File, Metadata};
use std::sync::Arc;

/// Distinguishes states of a file: which file it is, and when it was last touched.
///
/// Values are replaced by renaming, so the inode is enough for this store; size and times detect
/// programs that write in place (as far as the clock of the file system resolves it).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    file: FileId,
    size: u64,
    times: Times,
}

/// Which file it is, independent of its name.
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

    /// The device that the file is on.
    pub(crate) fn device(&self) -> Device {
        platform::device(self.file)
    }

    /// Whether its times distinguish two states of it less than a second apart. sshfs and others
    /// count seconds, and give a file the number that the one before it under its name had.
    pub(crate) fn is_precise(&self) -> bool {
        platform::is_precise(&self.times)
    }
}

pub(crate) use platform::{Device, device_of, file_id, has_other_names};

#[cfg(unix)]
mod platform {
    use std::fs::Metadata;
    use std::os::unix::fs::MetadataExt;

    pub(crate) type FileId = (u64, u64);
    pub(crate) type Times = [i64; 4];
    pub(crate) type Device = u64;

    pub(crate) fn file_id(stat: &Metadata) -> FileId {
        (stat.dev(), stat.ino())
    }

    pub(crate) fn times(stat: &Metadata) -> Times {
        [stat.mtime(), stat.mtime_nsec(), stat.ctime(), stat.ctime_nsec()]
    }

    pub(crate) fn device(file: FileId) -> Device {
        file.0
    }

    pub(crate) fn device_of(stat: &Metadata) -> Device {
        stat.dev()
    }

    pub(crate) fn is_precise(times: &Times) -> bool {
        times[1] != 0 || times[3] != 0
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
    pub(crate) type Device = ();

    pub(crate) fn file_id(stat: &Metadata) -> FileId {
        stat.created().ok()
    }

    pub(crate) fn times(stat: &Metadata) -> Times {
        stat.modified().ok()
    }

    pub(crate) fn device(_: FileId) -> Device {}

    pub(crate) fn device_of(_: &Metadata) -> Device {}

    pub(crate) fn is_precise(_: &Times) -> bool {
        true
    }

    pub(crate) fn has_other_names(_: &Metadata) -> bool {
        false
    }
}
