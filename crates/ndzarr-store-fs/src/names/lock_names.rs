//! The names of lock files and of temporaries, which no key has.

use std::collections::hash_map::RandomState;
use std::ffi::OsString;
use std::hash::BuildHasher;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// The suffix of lock files. tensorstore has the same, so each excludes the other.
pub(crate) const LOCK_SUFFIX: &str = ".__lock";

/// True if a name ends in the suffix of lock files for a file system that ignores case.
pub(crate) fn has_lock_suffix(name: &str) -> bool {
    let mut folded = name.chars().rev().flat_map(char::to_lowercase);
    LOCK_SUFFIX
        .chars()
        .rev()
        .all(|expected| folded.next() == Some(expected))
}

/// The lock file of a path.
pub(crate) fn lock_path(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(LOCK_SUFFIX);
    name.into()
}

/// The temporary of the owner with this mark. Listings leave it out, as they do lock files.
pub(crate) fn temporary_path(lock: &Path, mark: &str) -> PathBuf {
    let name = lock.file_name().unwrap_or_default().to_string_lossy();
    let name = name.strip_suffix(LOCK_SUFFIX).unwrap_or(&name);
    lock.with_file_name(format!("{name}.{mark}{LOCK_SUFFIX}"))
}

/// The name of the file that a temporary is for; `name` is that of the temporary, without the
/// suffix of lock files.
pub(crate) fn target_of_temporary(name: &str) -> Option<&str> {
    let without_mark = name
        .rsplit_once('.')
        .filter(|(_, mark)| is_mark(mark))
        .map(|(rest, _)| rest);
    let rest = without_mark.unwrap_or(name);
    let is_number = |n: &str| !n.is_empty() && n.bytes().all(|byte| byte.is_ascii_digit());
    let without_part = rest
        .rsplit_once(".part")
        .filter(|(_, n)| is_number(n))
        .map(|(rest, _)| rest);
    without_part
        .or(without_mark)
        .filter(|rest| !rest.is_empty())
}

const MARK_LEN: usize = 24;

const REMOVED: &str = ".removed-";

/// A new path for a file that is removed but may be open.
#[cfg(windows)]
pub(crate) fn removed_path(path: &Path) -> PathBuf {
    path.with_file_name(format!("{REMOVED}{}{LOCK_SUFFIX}", new_mark()))
}

/// True if a name without the suffix of lock files is that of such a file.
pub(crate) fn is_removed(name: &str) -> bool {
    name.strip_prefix(REMOVED).is_some_and(is_mark)
}

/// True if a path is that of such a file.
#[cfg(windows)]
pub(crate) fn is_removed_path(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.and_then(|name| name.strip_suffix(LOCK_SUFFIX))
        .is_some_and(is_removed)
}

/// True if it may be the mark of an owner.
pub(crate) fn is_mark(mark: &str) -> bool {
    mark.len() == MARK_LEN
        && mark
            .bytes()
            .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// A mark that no other lock has, on no host.
pub(crate) fn new_mark() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let nanos = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_nanos());
    let seed = (
        COUNT.fetch_add(1, Ordering::Relaxed),
        nanos,
        std::process::id(),
    );
    // The keys of a hasher are random. Those of a forked child are its parent's, hence the seed.
    let random = RandomState::new();
    let high = random.hash_one((seed, 0));
    let low = random.hash_one((seed, 1));
    format!("{high:016x}{low:016x}")[..MARK_LEN].to_owned()
}
