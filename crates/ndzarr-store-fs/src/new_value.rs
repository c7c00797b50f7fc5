//! Writes a value into a temporary file and syncs it.

use std::fs::File;
use std::io::{self, ErrorKind};

use crate::Durability;
use crate::syscalls::{Syscalls, again};

/// A value that is being written to a temporary file.
#[derive(Debug, Default)]
pub(crate) struct NewValue {
    end: u64,
    outcome: Outcome,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Outcome {
    #[default]
    Good,
    /// A part of the value could not be written as intended.
    Failed,
}

impl NewValue {
    /// Where the next part is appended.
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
        let end = at.checked_add(part.len() as u64).ok_or(ErrorKind::FileTooLarge)?;
        self.outcome = Outcome::Failed;
        let mut rest = part;
        while !rest.is_empty() {
            match again(|| sys.write_at(file, end - rest.len() as u64, rest))? {
                0 => return Err(ErrorKind::WriteZero.into()),
                n => rest = &rest[n..],
            }
        }
        self.outcome = Outcome::Good;
        self.end = self.end.max(end);
        Ok(())
    }

    /// Brings the bytes to disk. After this the file may be published.
    pub(crate) fn finish(&self, sys: &dyn Syscalls, file: &File, level: Durability) -> io::Result<()> {
        if self.outcome == Outcome::Failed {
            return Err(io::Error::other("a part of it could not be written before"));
        }
        again(|| sys.settle(file))?;
        if level == Durability::None { Ok(()) } else { again(|| sys.sync(file, level)) }
    }
}
