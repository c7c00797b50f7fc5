//! Pins of values: what they keep open, and whether a key still has a pinned value.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;

use ndzarr_store::{Key, Of, Pin, StoreError};

use crate::system::file_system::FileSystem;
use crate::system::identity::{Identity, Pinned};
use crate::system::stat::Stat;
use crate::system::syscalls::again;
use crate::{FsStore, Locking};

impl FsStore {
    /// The file of a pin, if it still exists; for [`Of::IfCurrent`] under its key.
    pub(crate) fn pinned(
        &self,
        key: &Key,
        pin: &Pin,
        of: &Of,
    ) -> Result<Option<Value>, StoreError> {
        // A pin of another store is unknown here.
        let Some(Pinned {
            file,
            identity,
            is_settled,
        }) = pin.get::<Pinned>()
        else {
            return Ok(None);
        };
        let Some(file) = file else {
            return Ok(unless_folder(self.open(key))?.filter(|value| value.identity == *identity));
        };
        if matches!(of, Of::IfCurrent(_)) {
            match self.path_to_read(key)? {
                Some(path) if self.is_current(key, &path, pin)? => {}
                _ => return Ok(None),
            }
        }
        Ok(Some(Value {
            file: file.clone(),
            identity: identity.clone(),
            keeping: Keeping::Open,
            is_settled: *is_settled,
        }))
    }

    /// The pin of a value that was just published: of nothing, if its file cannot be looked at any
    /// more, on a network file system where another host has replaced it. It was published all the
    /// same.
    pub(crate) fn pin(&self, file: Arc<File>) -> Pin {
        let looked = || -> io::Result<Value> {
            let stat = again(|| self.sys.file_stat(&file))?;
            let file_system = self.devices.of(&*self.sys, stat.device(), &file)?;
            Ok(Value::new(Arc::clone(&file), &stat, &file_system))
        };
        let Ok(mut value) = looked() else {
            return Pin::new(());
        };
        // It was opened to write, which on Windows keeps out programs that want exclusive access.
        if cfg!(windows) && value.identity.is_precise() {
            value.keeping = Keeping::Closed;
        }
        value.pin()
    }

    /// True if the key still has the pinned value. If the pin keeps the file open, its number
    /// cannot be that of another file by now.
    pub(crate) fn is_current(&self, key: &Key, path: &Path, pin: &Pin) -> Result<bool, StoreError> {
        let Some(pinned) = pin.get::<Pinned>() else {
            return Ok(false);
        };
        if self.devices.is_portable(pinned.identity.device()) {
            // Metadata of a file that is not open may be outdated there.
            let is_it = |now: Value| now.identity == pinned.identity;
            return Ok(
                pinned.identity.is_precise() && unless_folder(self.open(key))?.is_some_and(is_it)
            );
        }
        let now = unless_folder(self.current(key, path))?;
        Ok(now.is_some_and(|stat| Identity::of(&stat) == pinned.identity))
    }
}

/// A value, open.
#[derive(Debug)]
pub(crate) struct Value {
    pub(crate) file: Arc<File>,
    identity: Identity,
    keeping: Keeping,
    /// As in [`Pinned`].
    is_settled: bool,
}

/// The treatment of the file of a value by a pin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Keeping {
    /// The pin keeps it open.
    Open,
    /// The pin has only its identity.
    Closed,
}

impl Value {
    /// A value of an open file. Where an open file cannot be replaced, pins do not keep it open:
    /// its identity distinguishes it from the values after it, see [`FsStore::time_of_next`].
    pub(crate) fn new(file: Arc<File>, stat: &Stat, file_system: &FileSystem) -> Self {
        let identity = Identity::of(stat);
        let keeping = if file_system.replaces_open() {
            Keeping::Open
        } else {
            Keeping::Closed
        };
        // Clocks of other hosts and of this one cannot be compared, and the number of a file of FAT
        // is its place in the folder.
        let is_settled = file_system.locking() == Locking::Local
            && file_system.replaces_open()
            && identity.is_settled();
        Self {
            file,
            identity,
            keeping,
            is_settled,
        }
    }

    /// In bytes.
    pub(crate) fn size(&self) -> u64 {
        self.identity.size()
    }

    pub(crate) fn pin(&self) -> Pin {
        let file = (self.keeping == Keeping::Open).then(|| self.file.clone());
        let pinned = Pinned {
            file,
            identity: self.identity.clone(),
            is_settled: self.is_settled,
        };
        Pin::holding(pinned, Pinned::light)
    }
}

/// The value of a key, for a pin: an empty folder in its place is no error but another value.
fn unless_folder<T>(found: Result<Option<T>, StoreError>) -> Result<Option<T>, StoreError> {
    match found {
        Err(StoreError::Io { source, .. }) if source.kind() == ErrorKind::IsADirectory => Ok(None),
        found => found,
    }
}
