//! Asks the system about memory and free space.

use std::path::Path;

/// The peak memory of the process in bytes; `None` if the system does not report it.
pub(crate) fn peak_resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib << 10)
}

/// A file system: which one it is, and its free bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Disk {
    pub(crate) id: u64,
    pub(crate) free: u64,
}

/// The file system that a folder is on, or will be on.
#[cfg(unix)]
pub(crate) fn disk(folder: &Path) -> Option<Disk> {
    use std::os::unix::fs::MetadataExt;

    let absolute = std::path::absolute(folder).ok()?;
    let (existing, metadata) = absolute
        .ancestors()
        .find_map(|folder| Some((folder, folder.metadata().ok()?)))?;
    let space = rustix::fs::statvfs(existing).ok()?;
    Some(Disk {
        id: metadata.dev(),
        free: space.f_bavail.checked_mul(space.f_frsize)?,
    })
}

/// The file system that a folder is on, or will be on.
#[cfg(not(unix))]
pub(crate) fn disk(_: &Path) -> Option<Disk> {
    None
}
