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
    /// Windows has `\` for `/`, and some programs begin each name with `./` or `/`.
    pub(crate) fn of(name: &'n [u8]) -> Self {
        let Ok(name) = std::str::from_utf8(name) else { return Self::Other };
        let mut key = match name.contains('\\') {
            true => Cow::Owned(name.replace('\\', "/")),
            false => Cow::Borrowed(name),
        };
        if key.ends_with('/') {
            return Self::Folder;
        }
        let n_before = key.len() - without_root(&key).len();
        if n_before > 0 {
            key = match key {
                Cow::Borrowed(name) => Cow::Borrowed(&name[n_before..]),
                Cow::Owned(mut name) => Cow::Owned(name.split_off(n_before)),
            };
        }
        if Key::check(&key).is_ok() { Self::Key(key) } else { Self::Other }
    }
}

fn without_root(mut name: &str) -> &str {
    while let Some(rest) = name.strip_prefix("./").or_else(|| name.strip_prefix('/')) {
        name = rest;
    }
    name
}
