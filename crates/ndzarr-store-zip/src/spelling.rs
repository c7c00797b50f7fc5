//! How archives of several systems spell the names of their entries.

use std::borrow::Cow;

use ndzarr_store::Key;

/// What the name of an entry means.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Meaning<'n> {
    /// A value under this key.
    Key(Cow<'n, str>),
    Folder,
    /// It cannot be a key.
    Other,
}

impl<'n> Meaning<'n> {
    /// Windows writes `\` for `/`, and some programs begin each name with `./` or `/`.
    pub(crate) fn of(name: &'n [u8]) -> Self {
        let Ok(name) = std::str::from_utf8(name) else {
            return Self::Other;
        };
        let mut key = Cow::Borrowed(name);
        if name.contains('\\') {
            key = Cow::Owned(name.replace('\\', "/"));
        }
        if key.ends_with('/') {
            return Self::Folder;
        }
        let root_len = key.len() - without_root(&key).len();
        if root_len > 0 {
            key = match key {
                Cow::Borrowed(name) => Cow::Borrowed(&name[root_len..]),
                Cow::Owned(mut name) => Cow::Owned(name.split_off(root_len)),
            };
        }
        if Key::check(&key).is_ok() {
            Self::Key(key)
        } else {
            Self::Other
        }
    }
}

fn without_root(mut name: &str) -> &str {
    while let Some(rest) = name.strip_prefix("./").or_else(|| name.strip_prefix('/')) {
        name = rest;
    }
    name
}
