//! Finds out if a file is still the one that was read before.

use std::fs::File;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ndzarr_store::Pin;

use crate::system::stat::{Device, FileId, Stat};

/// Distinguishes states of a file: which file it is, and when it was last touched.
///
/// Values are replaced by renaming, so the inode is enough for this store; size and times detect
/// programs that write in place (as far as the clock of the file system resolves it).
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    file: FileId,
    size: u64,
    times: [i128; 2],
}

/// Two files of one number, size and time on two devices are copies. Wine does not know the device
/// of a file that was renamed while it was open.
impl PartialEq for Identity {
    fn eq(&self, other: &Self) -> bool {
        (self.file.number, self.size, self.times) == (other.file.number, other.size, other.times)
    }
}

/// A state of a value.
#[derive(Debug)]
pub(crate) struct Pinned {
    /// Its file, open, so that the system cannot give its number to another one. `None` where an
    /// open file could not be replaced; then the identity distinguishes the states.
    pub(crate) file: Option<Arc<File>>,
    pub(crate) identity: Identity,
    /// True if no later state can have this identity, even if the file is closed and the system
    /// gives its number to another one.
    pub(crate) is_settled: bool,
}

impl Pinned {
    /// A pin of the same state that does not keep the file open.
    pub(crate) fn light(&self) -> Option<Pin> {
        let Self {
            identity,
            is_settled,
            ..
        } = self;
        let light = || {
            Pin::new(Self {
                file: None,
                identity: identity.clone(),
                is_settled: true,
            })
        };
        is_settled.then(light)
    }
}

/// Files that were touched this recently may be touched again without a visible change of their
/// times, which advance in steps of up to 16 ms.
const RECENT: i128 = 100_000_000;

/// Clocks of file systems count in nanoseconds, in steps of 100, or in steps of 10 ms and more.
const COARSE: i128 = 10_000_000;

/// FAT counts in steps of two seconds, sshfs in steps of one.
const SECOND: i128 = 1_000_000_000;
const COARSEST: i128 = 2 * SECOND;

/// By the clock of this host, in nanoseconds since 1970.
fn now() -> i128 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos().cast_signed())
}

impl Identity {
    pub(crate) fn of(stat: &Stat) -> Self {
        Self {
            file: stat.file,
            size: stat.size,
            times: [stat.modified, stat.changed],
        }
    }

    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// The device that the file is on.
    pub(crate) fn device(&self) -> Device {
        self.file.device
    }

    /// True if the next change of the file gives it other times than these.
    pub(crate) fn is_settled(&self) -> bool {
        let now = now();
        self.is_precise() && self.times.iter().all(|time| time + RECENT < now)
    }

    /// True if the file was touched a moment ago.
    pub(crate) fn is_recent(&self) -> bool {
        let now = now();
        self.times
            .iter()
            .any(|time| (now - RECENT..=now + RECENT).contains(time))
    }

    /// True if its times distinguish two states of it that follow each other soon. sshfs and others
    /// count seconds, and give a file the number that the one before it under its name had.
    pub(crate) fn is_precise(&self) -> bool {
        self.times.iter().any(|time| time % COARSE != 0)
    }

    /// The time to give to the value that replaces this one now, if the clock of the file system is
    /// too coarse to tell them apart.
    pub(crate) fn next_time(&self) -> Option<SystemTime> {
        let [modified, _] = self.times;
        let step = if modified % SECOND == 0 {
            COARSEST
        } else {
            COARSE
        };
        let next = u64::try_from(now().max(modified + step)).ok()?;
        (!self.is_precise()).then(|| UNIX_EPOCH + Duration::from_nanos(next))
    }
}
