//! Finds out which file system a store is on and how it serializes writers.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use crate::identity::Device;
use crate::syscalls::{Syscalls, again};

/// How writers of one key are serialized.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Locking {
    /// [`Local`](Self::Local) on file systems that are known to belong to this machine alone,
    /// [`Portable`](Self::Portable) on all others. The default.
    #[default]
    Auto,
    /// By file locks: quick, and safe as long as every writer's locks are seen by all others. For
    /// file systems that [`Auto`](Self::Auto) does not know, when all writers are on this machine
    /// or the locks are known to reach all hosts.
    Local,
    /// By lock files that are created, renewed and, when their owner has not renewed them for the
    /// [lease](crate::FsStoreBuilder::lease), taken over. It does not rely on file locks to keep
    /// hosts apart.
    Portable,
}

/// The file system that a store is on, see [`FsStore::file_system`](crate::FsStore::file_system).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSystem {
    name: Cow<'static, str>,
    locking: Locking,
}

impl FileSystem {
    /// The system's name for it: `ext4`, `nfs`. On Linux an unknown one is `unknown (0x…)`, with
    /// the number that `statfs` gives.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How writers of the store are serialized there; never [`Locking::Auto`].
    #[must_use]
    pub fn locking(&self) -> Locking {
        self.locking
    }

    pub(crate) fn forced(self, locking: Locking) -> Self {
        if locking == Locking::Auto { self } else { Self { locking, ..self } }
    }

    fn new(name: impl Into<Cow<'static, str>>, is_local: IsLocal) -> Self {
        let locking = if is_local == IsLocal::Yes { Locking::Local } else { Locking::Portable };
        Self { name: name.into(), locking }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum IsLocal {
    Yes,
    No,
}

/// The locking of devices that were asked for it.
#[derive(Debug, Default)]
pub(crate) struct Devices(Mutex<Vec<Known>>);

#[derive(Debug)]
struct Known {
    device: Device,
    locking: Locking,
    /// When the system was asked, by the store's clock.
    asked: Duration,
}

/// The system reuses the number of an unmounted device.
const ASK_AGAIN: Duration = Duration::from_secs(1);

impl Devices {
    /// The locking for a file on this device.
    pub(crate) fn locking(&self, sys: &dyn Syscalls, device: Device, file: &File) -> io::Result<Locking> {
        let now = sys.now();
        let mut devices = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = devices.iter_mut().find(|known| known.device == device);
        if let Some(known) = &known
            && now.saturating_sub(known.asked) < ASK_AGAIN
        {
            return Ok(known.locking);
        }
        let locking = again(|| sys.file_system(file))?.locking;
        match known {
            Some(known) => (known.locking, known.asked) = (locking, now),
            None => devices.push(Known { device, locking, asked: now }),
        }
        Ok(locking)
    }

    /// Whether a file on this device was found to need the portable protocol.
    pub(crate) fn is_portable(&self, device: Device) -> bool {
        let devices = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        devices.iter().any(|known| known.device == device && known.locking == Locking::Portable)
    }

    /// Whether there is a device, and all of them are local.
    pub(crate) fn are_local(&self) -> bool {
        let devices = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        !devices.is_empty() && devices.iter().all(|known| known.locking == Locking::Local)
    }
}

/// The file system of an open file or folder.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn of_file(file: &File) -> io::Result<FileSystem> {
    Ok(of_number(rustix::fs::fstatfs(file)?.f_type as u32))
}

/// By the number that `statfs` gives (`linux/magic.h`, and the sources of those that are not in the
/// kernel).
#[cfg(any(target_os = "linux", target_os = "android"))]
fn of_number(number: u32) -> FileSystem {
    const LOCAL: [(u32, &str); 21] = [
        (0xef53, "ext2/ext3/ext4"),
        (0x5846_5342, "xfs"),
        (0x9123_683e, "btrfs"),
        (0x0102_1994, "tmpfs"),
        (0x8584_58f6, "ramfs"),
        (0x794c_7630, "overlay"),
        (0x2fc1_2fc1, "zfs"),
        (0xf2f5_2010, "f2fs"),
        (0xca45_1a4e, "bcachefs"),
        (0x3153_464a, "jfs"),
        (0x5265_4973, "reiserfs"),
        (0x3434, "nilfs2"),
        (0x4d44, "vfat"),
        (0x2011_bab0, "exfat"),
        (0x5346_544e, "ntfs"),
        (0x7366_746e, "ntfs3"),
        (0x4244, "hfs"),
        (0x482b, "hfsplus"),
        (0x1501_3346, "udf"),
        (0x0001_1954, "ufs"),
        (0x1954_0119, "ufs2"),
    ];
    const OTHERS: [(u32, &str); 18] = [
        (0x6969, "nfs"),
        (0x517b, "smb"),
        (0xff53_4d42, "cifs"),
        (0xfe53_4d42, "smb2"),
        (0x0bd0_0bd0, "lustre"),
        (0x1983_0326, "beegfs"),
        (0x4750_4653, "gpfs"),
        (0x00c3_6400, "ceph"),
        (0x6573_5546, "fuse"),
        (0x5346_414f, "afs"),
        (0x6b41_4653, "afs"),
        (0x7375_7245, "coda"),
        (0x0102_1997, "9p"),
        (0xaad7_aaea, "panfs"),
        (0x2003_0528, "orangefs"),
        (0x0116_1970, "gfs2"),
        (0x7461_636f, "ocfs2"),
        (0x786f_4256, "vboxsf"),
    ];
    let find =
        |table: &[(u32, &'static str)]| table.iter().find(|(n, _)| *n == number).map(|(_, name)| *name);
    match (find(&LOCAL), find(&OTHERS)) {
        (Some(name), _) => FileSystem::new(name, IsLocal::Yes),
        (None, Some(name)) => FileSystem::new(name, IsLocal::No),
        (None, None) => FileSystem::new(format!("unknown ({number:#x})"), IsLocal::No),
    }
}

/// The file system of an open file or folder.
#[cfg(any(target_vendor = "apple", target_os = "freebsd", target_os = "dragonfly"))]
pub(crate) fn of_file(file: &File) -> io::Result<FileSystem> {
    const LOCAL: [&str; 9] = ["apfs", "hfs", "ufs", "zfs", "tmpfs", "msdos", "msdosfs", "exfat", "hammer2"];
    let statfs = rustix::fs::fstatfs(file)?;
    let name = statfs.f_fstypename.iter().map(|byte| *byte as u8).take_while(|byte| *byte != 0);
    let name = String::from_utf8_lossy(&name.collect::<Vec<u8>>()).into_owned();
    let is_local = if LOCAL.contains(&name.as_str()) { IsLocal::Yes } else { IsLocal::No };
    Ok(FileSystem::new(name, is_local))
}

/// Elsewhere only the path distinguishes a network drive.
#[cfg(not(any(
    target_os = "linux",
    target_os = "android",
    target_vendor = "apple",
    target_os = "freebsd",
    target_os = "dragonfly"
)))]
pub(crate) fn of_file(_: &File) -> io::Result<FileSystem> {
    Ok(if cfg!(windows) {
        FileSystem::new("a Windows file system", IsLocal::Yes)
    } else {
        FileSystem::new("unknown", IsLocal::No)
    })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    /// The numbers are those of `stat -f -c %t`, as `man 2 statfs` has them.
    #[test]
    fn what_is_not_known_to_be_local_is_portable() {
        for (number, name, locking) in [
            (0xef53, "ext2/ext3/ext4", Locking::Local),
            (0x0102_1994, "tmpfs", Locking::Local),
            (0x6969, "nfs", Locking::Portable),
            (0x6573_5546, "fuse", Locking::Portable),
            (0x1234_5678, "unknown (0x12345678)", Locking::Portable),
        ] {
            let file_system = of_number(number);
            assert_eq!((file_system.name(), file_system.locking()), (name, locking));
        }
    }
}
