//! What is known about file systems, and how writers are serialized on each.

use std::borrow::Cow;

/// How writers of one key are serialized.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Locking {
    /// [`Local`](Self::Local) on file systems that are known to belong only to this machine,
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
    replaces_open: bool,
    reports_late: bool,
}

impl FileSystem {
    /// The system's name for it: `ext4`, `nfs`. On Linux an unknown one is `unknown (0x…)`, with
    /// the number that `statfs` gives.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How writers of the store are serialized on it; never [`Locking::Auto`].
    #[must_use]
    pub fn locking(&self) -> Locking {
        self.locking
    }

    /// True if an open file can be replaced and removed in one step. A client of NFS first renames
    /// it away, and one of SMB removes it, so that a process that is killed in between leaves no
    /// value.
    pub(crate) fn replaces_open(&self) -> bool {
        self.replaces_open
    }

    /// True if it reports some failed writes only when a file is flushed or closed, as network file
    /// systems do.
    pub(crate) fn reports_late(&self) -> bool {
        self.reports_late
    }

    pub(crate) fn forced(self, locking: Locking) -> Self {
        if locking == Locking::Auto {
            self
        } else {
            Self { locking, ..self }
        }
    }

    /// Of Linux, by the number that `statfs` gives (`linux/magic.h`, and the sources of those that
    /// are not in the kernel).
    #[cfg(any(test, target_os = "linux", target_os = "android"))]
    pub(crate) fn of_number(number: u32) -> Self {
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
        const IN_TWO_STEPS: [&str; 4] = ["nfs", "smb", "cifs", "smb2"];
        let find = |table: &[(u32, &'static str)]| {
            table
                .iter()
                .find(|(n, _)| *n == number)
                .map(|(_, name)| *name)
        };
        match (find(&LOCAL), find(&OTHERS)) {
            (Some(name), _) => Self::new(name, Locking::Local),
            (None, Some(name)) => {
                let replaces_open = !IN_TWO_STEPS.contains(&name);
                Self {
                    replaces_open,
                    ..Self::new(name, Locking::Portable)
                }
            }
            (None, None) => Self::new(format!("unknown ({number:#x})"), Locking::Portable),
        }
    }

    /// Of macOS and the BSDs, by the name that `statfs` gives.
    #[cfg(any(test, not(any(target_os = "linux", target_os = "android", windows))))]
    pub(crate) fn of_name(name: &str) -> Self {
        const LOCAL: [&str; 9] = [
            "apfs", "hfs", "ufs", "zfs", "tmpfs", "msdos", "msdosfs", "exfat", "hammer2",
        ];
        let locking = if LOCAL.contains(&name) {
            Locking::Local
        } else {
            Locking::Portable
        };
        Self {
            replaces_open: !["nfs", "smbfs"].contains(&name),
            ..Self::new(name.to_owned(), locking)
        }
    }

    /// Of Windows, by the name and the flags that `GetVolumeInformationByHandleW` returns.
    #[cfg(any(test, windows))]
    pub(crate) fn of_volume(name: &str, flags: u32, place: Place) -> Self {
        const LOCAL: [&str; 6] = ["NTFS", "ReFS", "exFAT", "FAT32", "FAT", "UDF"];
        const SUPPORTS_POSIX_UNLINK_RENAME: u32 = 0x400;
        let known = LOCAL.into_iter().find(|known| *known == name);
        let (name, locking) = match (place, known) {
            (Place::Drive, Some(name)) => (name.into(), Locking::Local),
            (Place::Drive, None) => (name.to_owned().into(), Locking::Portable),
            (Place::Share, _) => (format!("{name} on a share").into(), Locking::Portable),
        };
        // The flags of a share are those of the server's volume, but its clients do not pass POSIX
        // semantics on.
        let replaces_open = place == Place::Drive && flags & SUPPORTS_POSIX_UNLINK_RENAME != 0;
        Self {
            name,
            locking,
            replaces_open,
            reports_late: locking == Locking::Portable,
        }
    }

    #[cfg(any(test, not(windows)))]
    fn new(name: impl Into<Cow<'static, str>>, locking: Locking) -> Self {
        let reports_late = locking == Locking::Portable;
        Self {
            name: name.into(),
            locking,
            replaces_open: true,
            reports_late,
        }
    }
}

/// The place of a volume of Windows.
#[cfg(any(test, windows))]
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Drive,
    Share,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers are those of `stat -f -c %t`, as `man 2 statfs` has them.
    #[test]
    fn what_is_not_known_to_be_local_is_portable() {
        for (name, locking) in [("apfs", Locking::Local), ("smbfs", Locking::Portable)] {
            assert_eq!(FileSystem::of_name(name).locking(), locking);
        }
        for (number, name, locking) in [
            (0xef53, "ext2/ext3/ext4", Locking::Local),
            (0x0102_1994, "tmpfs", Locking::Local),
            (0x6969, "nfs", Locking::Portable),
            (0x6573_5546, "fuse", Locking::Portable),
            (0x1234_5678, "unknown (0x12345678)", Locking::Portable),
        ] {
            let file_system = FileSystem::of_number(number);
            assert_eq!((file_system.name(), file_system.locking()), (name, locking));
        }
    }
    #[test]
    fn nfs_and_smb_replace_no_open_file_in_one_step() {
        for number in [0x6969, 0x517b, 0xff53_4d42, 0xfe53_4d42] {
            assert!(!FileSystem::of_number(number).replaces_open());
        }
        for name in ["nfs", "smbfs"] {
            assert!(!FileSystem::of_name(name).replaces_open());
        }
        assert!(
            FileSystem::of_number(0xef53).replaces_open()
                && FileSystem::of_name("apfs").replaces_open()
        );
    }

    /// The names are those that `fsutil fsinfo volumeinfo` shows.
    #[test]
    fn shares_of_windows_are_portable_and_replace_no_open_file() {
        const POSIX: u32 = 0x400;
        for (name, flags, place, shown, locking, replaces_open) in [
            ("NTFS", POSIX, Place::Drive, "NTFS", Locking::Local, true),
            ("NTFS", 0, Place::Drive, "NTFS", Locking::Local, false),
            ("exFAT", 0, Place::Drive, "exFAT", Locking::Local, false),
            (
                "FUSE-sshfs",
                0,
                Place::Drive,
                "FUSE-sshfs",
                Locking::Portable,
                false,
            ),
            (
                "NTFS",
                POSIX,
                Place::Share,
                "NTFS on a share",
                Locking::Portable,
                false,
            ),
        ] {
            let found = FileSystem::of_volume(name, flags, place);
            assert_eq!(
                (found.name(), found.locking(), found.replaces_open()),
                (shown, locking, replaces_open)
            );
        }
    }
}
