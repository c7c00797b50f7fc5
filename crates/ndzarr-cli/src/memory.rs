//! What the system says about memory and space.

use std::path::Path;

/// The most memory that the process had at a time, in bytes, as far as the system says it.
pub(crate) fn peak_resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib << 10)
}

/// The free bytes of the file system that a folder is on, or will be on.
#[cfg(unix)]
pub(crate) fn free_space(folder: &Path) -> Option<u64> {
    let absolute = std::path::absolute(folder).ok()?;
    let there = absolute.ancestors().find(|folder| folder.exists())?;
    let found = rustix::fs::statvfs(there).ok()?;
    found.f_bavail.checked_mul(found.f_frsize)
}

/// The free bytes of the file system that a folder is on, or will be on.
#[cfg(not(unix))]
pub(crate) fn free_space(_: &Path) -> Option<u64> {
    None
}
