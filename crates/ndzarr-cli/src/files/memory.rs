//! What the system says about memory and space.

use std::path::Path;

/// The most memory that the process had at a time, in bytes, as far as the system says it.
pub(crate) fn peak_resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
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
    let (there, found) = absolute.ancestors().find_map(|folder| Some((folder, folder.metadata().ok()?)))?;
    let space = rustix::fs::statvfs(there).ok()?;
    Some(Disk { id: found.dev(), free: space.f_bavail.checked_mul(space.f_frsize)? })
}

/// The file system that a folder is on, or will be on.
#[cfg(not(unix))]
pub(crate) fn disk(_: &Path) -> Option<Disk> {
    None
}
