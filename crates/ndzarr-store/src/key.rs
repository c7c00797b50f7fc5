//! `Key` and `Prefix`: the checked names of values.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use crate::StoreError;

/// The name of a value: segments joined by `/`, none of them empty, `.` or `..`; no NUL, no
/// backslash.
///
/// No key can lead out of a store's root, however the store maps it. Case matters. Keys are ordered
/// by their bytes.
///
/// ```
/// use ndzarr::store::Key;
///
/// # fn main() -> Result<(), ndzarr::store::StoreError> {
/// let key = Key::new("volume/c/0/0")?;
/// assert_eq!((key.as_str(), key.name()), ("volume/c/0/0", "0"));
/// assert!(Key::new("volume/../secret").is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(Arc<str>);

/// A prefix of keys: empty (of all keys), or segments as in a [`Key`], each followed by `/`.
///
/// So `a/` is a prefix of `a/b`, but of neither `a` nor `ab`.
///
/// ```
/// use ndzarr::store::Prefix;
///
/// # fn main() -> Result<(), ndzarr::store::StoreError> {
/// let prefix = Prefix::new("volume/")?;
/// assert_eq!(prefix.key("zarr.json")?.as_str(), "volume/zarr.json");
/// assert_eq!(Prefix::root().key("zarr.json")?.as_str(), "zarr.json");
/// assert!(Prefix::new("volume").is_err());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Prefix(Arc<str>);

impl Key {
    /// Makes a key of a text, which it checks.
    ///
    /// # Errors
    /// [`StoreError::InvalidKey`] if it is not a valid key.
    pub fn new(key: impl AsRef<str>) -> Result<Self, StoreError> {
        let key = key.as_ref();
        Self::check(key)?;
        Ok(Self(key.into()))
    }

    /// Checks a key without making one.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn check(key: &str) -> Result<(), StoreError> {
        check_segments(key, key)
    }

    /// The whole key.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The last segment.
    #[must_use]
    pub fn name(&self) -> &str {
        self.0.rsplit('/').next().unwrap_or(&self.0)
    }
}

impl Prefix {
    /// The prefix of every key.
    #[must_use]
    pub fn root() -> Self {
        Self("".into())
    }

    /// Makes a prefix of a text, which it checks.
    ///
    /// # Errors
    /// [`StoreError::InvalidKey`] if it is neither empty nor ends in `/`, or has an invalid
    /// segment.
    pub fn new(prefix: impl AsRef<str>) -> Result<Self, StoreError> {
        let prefix = prefix.as_ref();
        if !prefix.is_empty() {
            let segments = prefix
                .strip_suffix('/')
                .ok_or_else(|| StoreError::InvalidKey {
                    key: prefix.to_owned(),
                    what: "a prefix ends in \"/\"",
                })?;
            check_segments(prefix, segments)?;
        }
        Ok(Self(prefix.into()))
    }

    /// The whole prefix, empty or ending in `/`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The key of this name directly below the prefix.
    ///
    /// # Errors
    /// As for [`Key::new`].
    pub fn key(&self, name: &str) -> Result<Key, StoreError> {
        Key::new(format!("{}{name}", self.0))
    }
}

/// Keys are ordered and hashed like their text, so that maps of keys can be searched by prefix.
impl Borrow<str> for Key {
    fn borrow(&self) -> &str {
        &self.0
    }
}

fn check_segments(whole: &str, segments: &str) -> Result<(), StoreError> {
    let refuse = |what| {
        Err(StoreError::InvalidKey {
            key: whole.to_owned(),
            what,
        })
    };
    if segments.contains(['\0', '\\']) {
        return refuse("has a NUL or a backslash");
    }
    for segment in segments.split('/') {
        match segment {
            "" => return refuse("has an empty segment"),
            "." | ".." => return refuse("has a segment \".\" or \"..\""),
            _ => {}
        }
    }
    Ok(())
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}

/// Returns `true` if the last segment of a key looks like the name of a chunk: one or more numbers,
/// with or without a leading `c`.
///
/// ```
/// use ndzarr_store::is_numbered;
///
/// assert!(["0", "1.23", "c", "c0", "c.0.1"].iter().all(|name| is_numbered(name)));
/// assert!(["zarr.json", ".zarray", "attributes.json", "cat"].iter().all(|name| !is_numbered(name)));
/// ```
#[must_use]
pub fn is_numbered(name: &str) -> bool {
    name.strip_prefix('c')
        .unwrap_or(name)
        .bytes()
        .all(|byte| byte == b'.' || byte.is_ascii_digit())
}
