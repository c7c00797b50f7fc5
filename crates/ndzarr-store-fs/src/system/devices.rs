//! Remembers the file system of each device of a store.

use std::fs::File;
use std::io;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use ndzarr_store::PerProcess;

use crate::system::file_system::{FileSystem, Locking};
use crate::system::stat::Device;
use crate::system::syscalls::{Syscalls, again};

/// The file systems of devices, each asked of the system once in a while.
#[derive(Debug)]
pub(crate) struct Devices {
    /// How writers are serialized, unless it is [`Locking::Auto`].
    forced: Locking,
    known: PerProcess<Mutex<Vec<Known>>>,
}

#[derive(Debug)]
struct Known {
    device: Device,
    file_system: FileSystem,
    /// When the system was asked, by the store's clock.
    asked: Duration,
}

/// The system reuses the number of an unmounted device.
const ASK_AGAIN: Duration = Duration::from_secs(1);

impl Devices {
    pub(crate) fn new(forced: Locking) -> Self {
        Self {
            forced,
            known: PerProcess::new(),
        }
    }

    fn known(&self) -> MutexGuard<'_, Vec<Known>> {
        self.known.lock_inherited()
    }

    /// The file system of a file on this device.
    pub(crate) fn of(
        &self,
        sys: &dyn Syscalls,
        device: Device,
        file: &File,
    ) -> io::Result<FileSystem> {
        let now = sys.now();
        let is_it = |known: &&mut Known| known.device == device;
        if let Some(known) = self.known().iter_mut().find(is_it)
            && now.saturating_sub(known.asked) < ASK_AGAIN
        {
            return Ok(known.file_system.clone());
        }
        // Not under the lock: a device that does not answer would hold up the others.
        let file_system = self.unknown(sys, file)?;
        let mut devices = self.known();
        match devices.iter_mut().find(is_it) {
            Some(known) => (known.file_system, known.asked) = (file_system.clone(), now),
            None => devices.push(Known {
                device,
                file_system: file_system.clone(),
                asked: now,
            }),
        }
        Ok(file_system)
    }

    /// The file system of a file on any device; the system is asked.
    pub(crate) fn unknown(&self, sys: &dyn Syscalls, file: &File) -> io::Result<FileSystem> {
        Ok(again(|| sys.file_system(file))?.forced(self.forced))
    }

    /// True if a file on this device needs the portable protocol, as far as is known.
    pub(crate) fn is_portable(&self, device: Device) -> bool {
        let devices = self.known();
        let known = devices.iter().find(|known| known.device == device);
        known.is_none_or(|known| known.file_system.locking() == Locking::Portable)
    }

    /// True if a file on a device was found to stay as long as it is open.
    pub(crate) fn any_keeps_open_files(&self) -> bool {
        let devices = self.known();
        devices
            .iter()
            .any(|known| !known.file_system.replaces_open())
    }

    /// True if devices are known, and all of them are local.
    pub(crate) fn are_local(&self) -> bool {
        let devices = self.known();
        !devices.is_empty()
            && devices
                .iter()
                .all(|known| known.file_system.locking() == Locking::Local)
    }
}
