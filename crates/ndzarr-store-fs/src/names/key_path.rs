//! Maps keys and prefixes to paths, and refuses names that a platform cannot hold.

use std::path::{Path, PathBuf};

use ndzarr_store::{Key, Prefix, StoreError};

use crate::names::lock_names::has_lock_suffix;

/// The path of the file of a key.
pub(crate) fn of_key(root: &Path, key: &Key) -> Result<PathBuf, StoreError> {
    below(root, key.as_str(), key.as_str())
}

/// The path of the folder of a prefix.
pub(crate) fn of_prefix(root: &Path, prefix: &Prefix) -> Result<PathBuf, StoreError> {
    let whole = prefix.as_str();
    match whole.strip_suffix('/') {
        Some(segments) => below(root, whole, segments),
        None => Ok(root.to_owned()),
    }
}

/// True if a name of a file or folder can be a segment of one of this store's keys.
pub(crate) fn is_segment(name: &str) -> bool {
    Key::check(name).is_ok() && refusal(name).is_none()
}

fn below(root: &Path, whole: &str, segments: &str) -> Result<PathBuf, StoreError> {
    let mut path = PathBuf::with_capacity(root.as_os_str().len() + 1 + segments.len());
    path.push(root);
    if cfg!(not(windows)) && !segments.contains("__") {
        // No segment is one of a lock file. Most keys are such, and this is done for each request.
        path.push(segments);
        return Ok(path);
    }
    for segment in segments.split('/') {
        if let Some(what) = refusal(segment) {
            return Err(StoreError::InvalidKey {
                key: whole.to_owned(),
                what,
            });
        }
        path.push(segment);
    }
    Ok(path)
}

/// Why a segment that is valid in a key is not valid in a file name.
fn refusal(segment: &str) -> Option<&'static str> {
    // In any case, on every system: to many file systems it is the lock file of another key.
    if has_lock_suffix(segment) {
        return Some("has a segment that ends in \".__lock\", as this store's lock files do");
    }
    if cfg!(windows) {
        refusal_on_windows(segment)
    } else {
        None
    }
}

/// Drive letters, streams, devices, and names that Windows silently changes.
fn refusal_on_windows(segment: &str) -> Option<&'static str> {
    const DEVICES: [&str; 6] = ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"];
    const PORTS: [&str; 12] = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "¹", "²", "³"];
    if segment.contains([':', '<', '>', '"', '|', '?', '*']) || segment.contains(|c: char| c < ' ')
    {
        return Some("has a character that Windows keeps for itself");
    }
    if segment.ends_with(['.', ' ']) {
        return Some("has a segment that ends in a dot or a space, which Windows drops");
    }
    let stem = segment
        .split('.')
        .next()
        .unwrap_or(segment)
        .trim_end_matches(' ')
        .to_ascii_uppercase();
    let is_port = |name: &str| stem.strip_prefix(name).is_some_and(|n| PORTS.contains(&n));
    if DEVICES.contains(&stem.as_str()) || is_port("COM") || is_port("LPT") {
        return Some("has a segment that names a device of Windows");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_lie_below_the_root() -> Result<(), StoreError> {
        let root = Path::new("/data");
        assert_eq!(of_key(root, &Key::new("a/c/0")?)?, Path::new("/data/a/c/0"));
        assert_eq!(
            of_prefix(root, &Prefix::new("a/c/")?)?,
            Path::new("/data/a/c")
        );
        assert_eq!(of_prefix(root, &Prefix::root())?, root);
        Ok(())
    }

    #[test]
    fn lock_files_are_no_values() -> Result<(), StoreError> {
        // The last one ends in the Kelvin sign, whose lower case is an ordinary "k".
        for key in [
            "c0.__lock",
            "a.__lock/b",
            ".__lock",
            "c0.__LOCK",
            "a.__Lock/b",
            "c0.__loc\u{212a}",
        ] {
            assert!(
                of_key(Path::new("/data"), &Key::new(key)?).is_err(),
                "{key}"
            );
            assert!(!is_segment(key.split('/').next().unwrap_or(key)), "{key}");
        }
        assert!(is_segment("c0__lock") && is_segment("c0.__locks") && is_segment("lock"));
        Ok(())
    }

    #[test]
    fn windows_has_more_names_that_are_none() {
        for segment in [
            "C:",
            "a:b",
            "NUL",
            "nul.json",
            "COM1",
            "lpt9.x",
            "com².zarr",
            "nul .x",
            "conin$",
            "a.",
            "a ",
            "what?",
            "\u{1}",
        ] {
            assert!(refusal_on_windows(segment).is_some(), "{segment:?}");
        }
        for segment in ["c", ".zarray", "0.0", "COM0", "COM", "COM10", "nulls", "é"] {
            assert!(refusal_on_windows(segment).is_none(), "{segment:?}");
        }
    }
}
