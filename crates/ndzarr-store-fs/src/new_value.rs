//! Writes a value into a temporary file and syncs it.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::time::SystemTime;

use crate::Durability;
use crate::system::syscalls::{Syscalls, again};

/// The blocks of file systems that let files share them.
const BLOCK: u64 = 4096;

/// A multiple of it: the most bytes of one call.
const MOST_AT_ONCE: u64 = 1 << 30;

/// A value that is being written to a temporary file.
#[derive(Debug, Default)]
pub(crate) struct NewValue {
    end: u64,
    /// True if a part of the value could not be written as intended.
    has_failed: bool,
}

impl NewValue {
    /// The position at which the next part is appended.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    pub(crate) fn write_at(
        &mut self,
        sys: &dyn Syscalls,
        file: &File,
        at: u64,
        part: &[u8],
    ) -> io::Result<()> {
        let write = || {
            let end = at
                .checked_add(part.len() as u64)
                .ok_or(ErrorKind::FileTooLarge)?;
            let mut rest = part;
            while !rest.is_empty() {
                match again(|| sys.write_at(file, end - rest.len() as u64, rest))? {
                    0 => return Err(ErrorKind::WriteZero.into()),
                    n => rest = &rest[n..],
                }
            }
            Ok(end)
        };
        let written: io::Result<u64> = write();
        self.has_failed |= written.is_err();
        self.end = self.end.max(written?);
        Ok(())
    }

    /// Copies bytes of another file without passing them through this process. Returns `false` if
    /// the system cannot do that; then nothing counts as written.
    pub(crate) fn copy_at(
        &mut self,
        sys: &dyn Syscalls,
        file: &File,
        at: u64,
        old: &File,
        range: Range<u64>,
    ) -> io::Result<bool> {
        let copy = || {
            let end = at
                .checked_add(range.end - range.start)
                .ok_or(ErrorKind::FileTooLarge)?;
            let mut from = range.start;
            while from < range.end {
                let to = end - (range.end - from);
                // Whole blocks can be shared, at the same offset from a block in both files.
                let in_block = from % BLOCK;
                let is_alike = in_block > 0 && in_block == to % BLOCK;
                let len = (range.end - from).min(if is_alike {
                    BLOCK - in_block
                } else {
                    MOST_AT_ONCE
                });
                match again(|| sys.copy(old, from, file, to, len)) {
                    // The file ends too early: reading reports the cause.
                    Ok(0) => return Ok(None),
                    Ok(n) => from += n as u64,
                    Err(e) if e.kind() == ErrorKind::Unsupported => return Ok(None),
                    Err(e) => return Err(e),
                }
            }
            Ok(Some(end))
        };
        let copied: io::Result<Option<u64>> = copy();
        self.has_failed |= copied.is_err();
        let end = copied?;
        self.end = self.end.max(end.unwrap_or(0));
        Ok(end.is_some())
    }

    /// Brings the bytes to disk, and sets the time of the file if one is given. Then the file may
    /// be published.
    pub(crate) fn finish(
        &self,
        sys: &dyn Syscalls,
        file: &File,
        level: Durability,
        time: Option<SystemTime>,
    ) -> io::Result<()> {
        if self.has_failed {
            return Err(io::Error::other("a part of it could not be written before"));
        }
        again(|| sys.settle(file))?;
        time.map_or(Ok(()), |time| again(|| sys.touch(file, time)))?;
        if level == Durability::None {
            Ok(())
        } else {
            again(|| sys.sync(file, level))
        }
    }
}
