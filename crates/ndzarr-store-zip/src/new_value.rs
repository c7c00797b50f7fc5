//! `NewValue`: a value that is written in parts before it is added to an archive.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use ndzarr_store::{Fetched, Key, KeyLock, Of, Pin, StoreError, Temporary, Want};

use crate::key_turn::Turn;
use crate::new_archive::NewArchive;

/// Larger values are written to a temporary of the store that is to have the archive, in bytes.
const SPILL_BYTES: usize = 16 << 20;

const ZEROS: &[u8] = &[0; 64 << 10];

/// A value in memory or in a temporary.
pub(crate) enum NewValue {
    Memory(Vec<u8>),
    Spilled {
        temporary: Box<dyn Temporary>,
        len: u64,
    },
}

impl NewValue {
    fn len(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::Spilled { len, .. } => *len,
        }
    }

    /// Writes at a position, which may be beyond the end.
    fn write_at(&mut self, archive: &NewArchive, at: u64, part: &[u8]) -> Result<(), StoreError> {
        let end = at.saturating_add(part.len() as u64);
        if let Self::Memory(bytes) = self
            && end > SPILL_BYTES as u64
            && let Some(temporary) = archive.base_temporary()?
        {
            temporary.append(bytes)?;
            let len = bytes.len() as u64;
            *self = Self::Spilled { temporary, len };
        }
        match self {
            Self::Memory(bytes) => {
                let too_large =
                    || StoreError::Unsupported("hold a value that is larger than memory");
                let end = usize::try_from(end).map_err(|_| too_large())?;
                bytes.resize(bytes.len().max(end), 0);
                bytes[end - part.len()..end].copy_from_slice(part);
            }
            Self::Spilled { temporary, len } => {
                while *len < at {
                    let n = (at - *len).min(ZEROS.len() as u64);
                    temporary.append(&ZEROS[..n as usize])?;
                    *len += n;
                }
                // A temporary does not take a part that begins before its end and ends after it.
                let n_over = usize::try_from(*len - at).map_or(part.len(), |n| n.min(part.len()));
                let (overwriting, appended) = part.split_at(n_over);
                if !overwriting.is_empty() {
                    temporary.write_at(at, overwriting)?;
                }
                if !appended.is_empty() {
                    temporary.append(appended)?;
                    *len += appended.len() as u64;
                }
            }
        }
        Ok(())
    }
}

/// The write lock of a key of an archive.
pub(crate) struct ZipLock {
    archive: Arc<NewArchive>,
    turn: Turn,
    key: Key,
    value: NewValue,
    /// A part could not be written.
    failed: bool,
}

impl ZipLock {
    pub(crate) fn new(archive: Arc<NewArchive>, key: Key, turn: Turn) -> Self {
        Self {
            archive,
            turn,
            key,
            value: NewValue::Memory(Vec::new()),
            failed: false,
        }
    }

    fn write(&mut self, at: u64, part: &[u8]) -> Result<(), StoreError> {
        let written = self.value.write_at(&self.archive, at, part);
        self.failed |= written.is_err();
        written
    }
}

impl KeyLock for ZipLock {
    fn fetch(&mut self, of: Of, want: Want) -> Result<Fetched, StoreError> {
        self.archive.read(&self.key, &of, &want)
    }

    fn append(&mut self, part: &[u8]) -> Result<u64, StoreError> {
        let at = self.value.len();
        self.write(at, part)?;
        Ok(at)
    }

    fn write_at(&mut self, at: u64, part: &[u8]) -> Result<(), StoreError> {
        self.write(at, part)
    }

    fn publish(self: Box<Self>) -> Result<Pin, StoreError> {
        // The turn ends after the value is added.
        let Self {
            archive,
            turn: _turn,
            key,
            value,
            failed,
        } = *self;
        if failed {
            let what = "a part of it could not be written before".to_owned();
            return Err(StoreError::Other {
                action: "publish",
                key: key.to_string(),
                what,
            });
        }
        match value {
            NewValue::Memory(bytes) => archive.add(&key, &[bytes.into()]),
            NewValue::Spilled { temporary, len } => archive.add_from(&key, &*temporary, len),
        }
    }

    fn erase(self: Box<Self>) -> Result<(), StoreError> {
        self.archive.remove(&self.key)
    }
}

/// A value for an archive in a temporary of the store that is to have the archive.
#[derive(Debug)]
pub(crate) struct ZipTemporary {
    archive: Arc<NewArchive>,
    key: Key,
    temporary: Box<dyn Temporary>,
    len: AtomicU64,
}

impl ZipTemporary {
    pub(crate) fn new(archive: Arc<NewArchive>, key: Key, temporary: Box<dyn Temporary>) -> Self {
        Self {
            archive,
            key,
            temporary,
            len: AtomicU64::new(0),
        }
    }
}

impl Temporary for ZipTemporary {
    fn append(&self, part: &[u8]) -> Result<u64, StoreError> {
        let at = self.temporary.append(part)?;
        self.len
            .fetch_max(at + part.len() as u64, Ordering::Relaxed);
        Ok(at)
    }

    fn write_at(&self, at: u64, part: &[u8]) -> Result<(), StoreError> {
        self.temporary.write_at(at, part)
    }

    fn read(&self, range: Range<u64>) -> Result<Bytes, StoreError> {
        self.temporary.read(range)
    }

    fn publish(self: Box<Self>, lock: Box<dyn KeyLock>) -> Result<Pin, StoreError> {
        let len = self.len.load(Ordering::Relaxed);
        // The lock is held until the end of this call.
        let pin = self.archive.add_from(&self.key, &*self.temporary, len);
        drop(lock);
        pin
    }
}
