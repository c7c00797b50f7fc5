//! Spells chunk indices as the keys of a store.

use std::fmt::Write as _;

/// The keys under which the chunks of an array are stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkKeys {
    /// The prefix of every chunk key, from the root of the store: empty, or ending in `/`.
    pub prefix: String,
    /// How a chunk index becomes the rest of the key.
    pub encoding: KeyEncoding,
}

impl ChunkKeys {
    /// The key of the chunk with this index, from the root of the store.
    #[must_use]
    pub fn key(&self, chunk: &[u64]) -> String {
        let mut key = self.prefix.clone();
        self.encoding.encode_into(chunk, &mut key);
        key
    }

    /// The key to read if the first is absent. See [`KeyEncoding::fallback`].
    #[must_use]
    pub fn fallback_key(&self, chunk: &[u64]) -> Option<String> {
        self.encoding
            .fallback(chunk)
            .map(|rest| format!("{}{rest}", self.prefix))
    }
}

/// How a chunk index is spelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyEncoding {
    /// `c/1/23`, `c.1.23`; 0-d `c` (Zarr v3).
    Default {
        /// `/` or `.`
        separator: char,
    },
    /// `1.23`, `1/23`; 0-d `0` (Zarr v2).
    V2 {
        /// `/` or `.`
        separator: char,
    },
    /// `c1/23`, `c1.23`; 0-d `c`, or `c0` with `c` as the fallback for reading (the 2022 draft of
    /// v3).
    Draft {
        /// `/` or `.`
        separator: char,
        /// True if a 0-d array's chunk is written as `c0` (dialect B).
        scalar_index: bool,
    },
    /// `1/23`; 0-d `0` (N5).
    N5 {
        /// True if array axes are reversed against the dimensions of the document, so that the last
        /// index comes first.
        reversed: bool,
    },
}

impl KeyEncoding {
    /// The part of the key below the array's prefix.
    #[must_use]
    pub fn encode(&self, chunk: &[u64]) -> String {
        let mut key = String::new();
        self.encode_into(chunk, &mut key);
        key
    }

    /// Appends the part of the key below the array's prefix.
    pub fn encode_into(&self, chunk: &[u64], key: &mut String) {
        match *self {
            Self::Default { separator } => {
                key.push('c');
                for index in chunk {
                    push_index(key, separator, *index);
                }
            }
            Self::V2 { separator } => join(key, separator, chunk.iter(), "0"),
            Self::Draft {
                separator,
                scalar_index,
            } => {
                key.push('c');
                join(
                    key,
                    separator,
                    chunk.iter(),
                    if scalar_index { "0" } else { "" },
                );
            }
            Self::N5 { reversed: false } => join(key, '/', chunk.iter(), "0"),
            Self::N5 { reversed: true } => join(key, '/', chunk.iter().rev(), "0"),
        }
    }

    /// The index of the chunk with this key, below the array's prefix; `None` if it is not the key
    /// of a chunk of an array of `ndim` dimensions: indices have no sign and no leading zeros. Both
    /// spellings of a 0-d chunk are accepted, see [`fallback`](Self::fallback).
    ///
    /// ```
    /// use ndzarr::metadata::KeyEncoding;
    ///
    /// let encoding = KeyEncoding::Default { separator: '/' };
    /// assert_eq!(encoding.decode("c/1/23", 2), Some(vec![1, 23]));
    /// assert_eq!(encoding.decode("c/1", 2), None);
    /// assert_eq!(encoding.decode("zarr.json", 2), None);
    /// ```
    #[must_use]
    pub fn decode(&self, key: &str, ndim: usize) -> Option<Vec<u64>> {
        match *self {
            Self::Default { separator } => match (key.strip_prefix('c')?, ndim) {
                (rest, 0) => rest.is_empty().then(Vec::new),
                (rest, _) => split(rest.strip_prefix(separator)?, separator, ndim),
            },
            Self::V2 { separator } if ndim > 0 => split(key, separator, ndim),
            Self::Draft { separator, .. } if ndim > 0 => {
                split(key.strip_prefix('c')?, separator, ndim)
            }
            Self::Draft { scalar_index, .. } => {
                (key == "c" || scalar_index && key == "c0").then(Vec::new)
            }
            Self::N5 { reversed } if ndim > 0 => {
                let mut chunk = split(key, '/', ndim)?;
                if reversed {
                    chunk.reverse();
                }
                Some(chunk)
            }
            Self::V2 { .. } | Self::N5 { .. } => (key == "0").then(Vec::new),
        }
    }

    /// True if a folder with this name, at any depth, may hold chunks of an array, with either
    /// separator.
    ///
    /// ```
    /// use ndzarr::metadata::KeyEncoding;
    ///
    /// assert!(["c", "c0", "17"].into_iter().all(KeyEncoding::may_be_folder));
    /// assert!(!KeyEncoding::may_be_folder("raw"));
    /// ```
    #[must_use]
    pub fn may_be_folder(name: &str) -> bool {
        name.strip_prefix('c')
            .unwrap_or(name)
            .bytes()
            .all(|byte| byte.is_ascii_digit())
    }

    /// This encoding with another separator, `/` or `.`; `None` for N5, which has only `/`.
    ///
    /// ```
    /// use ndzarr::metadata::KeyEncoding;
    ///
    /// let encoding = KeyEncoding::V2 { separator: '.' };
    /// assert_eq!(encoding.with_separator('/').map(|other| other.encode(&[1, 23])), Some("1/23".into()));
    /// ```
    #[must_use]
    pub fn with_separator(self, separator: char) -> Option<Self> {
        match self {
            Self::Default { .. } => Some(Self::Default { separator }),
            Self::V2 { .. } => Some(Self::V2 { separator }),
            Self::Draft { scalar_index, .. } => Some(Self::Draft {
                separator,
                scalar_index,
            }),
            Self::N5 { .. } => (separator == '/').then_some(self),
        }
    }

    /// This encoding with the other separator, which the chunks of `ndim` dimensions have if the
    /// document states the wrong one; `None` if both spell the same keys.
    ///
    /// ```
    /// use ndzarr::metadata::KeyEncoding;
    ///
    /// // 0.0 and 0/0, but 0 and 0.
    /// let dots = KeyEncoding::V2 { separator: '.' };
    /// assert_eq!(dots.mistaken(2), Some(KeyEncoding::V2 { separator: '/' }));
    /// assert_eq!(dots.mistaken(1), None);
    /// // c/0 and c.0, but c and c.
    /// let slashes = KeyEncoding::Default { separator: '/' };
    /// assert_eq!(slashes.mistaken(1), Some(KeyEncoding::Default { separator: '.' }));
    /// assert_eq!(slashes.mistaken(0), None);
    /// ```
    #[must_use]
    pub fn mistaken(self, ndim: usize) -> Option<Self> {
        // The fewest dimensions with a separator in the key.
        let (separator, separated_from) = match self {
            Self::Default { separator } => (separator, 1),
            Self::V2 { separator } | Self::Draft { separator, .. } => (separator, 2),
            Self::N5 { .. } => return None,
        };
        let other = if separator == '/' { '.' } else { '/' };
        self.with_separator(other)
            .filter(|_| ndim >= separated_from)
    }

    /// The spelling of some writers, which is read if the usual key is absent, and never written.
    #[must_use]
    pub fn fallback(&self, chunk: &[u64]) -> Option<String> {
        match *self {
            Self::Draft {
                scalar_index: true, ..
            } if chunk.is_empty() => Some("c".to_owned()),
            _ => None,
        }
    }
}

fn push_index(key: &mut String, separator: char, index: u64) {
    let _ = write!(key, "{separator}{index}");
}

fn join<'a>(
    key: &mut String,
    separator: char,
    indices: impl Iterator<Item = &'a u64>,
    scalar: &str,
) {
    let mut is_empty = true;
    for index in indices {
        if !is_empty {
            key.push(separator);
        }
        let _ = write!(key, "{index}");
        is_empty = false;
    }
    if is_empty {
        key.push_str(scalar);
    }
}

/// The `ndim` indices of a text that [`join`] writes; `None` for any other text.
fn split(text: &str, separator: char, ndim: usize) -> Option<Vec<u64>> {
    // `parse` also accepts a sign and leading zeros, which are never written.
    let is_canonical = |text: &str| {
        text.bytes().all(|byte| byte.is_ascii_digit()) && (text == "0" || !text.starts_with('0'))
    };
    let index = |text: &str| {
        if is_canonical(text) {
            text.parse().ok()
        } else {
            None
        }
    };
    let chunk: Vec<u64> = text.split(separator).map(index).collect::<Option<_>>()?;
    (chunk.len() == ndim).then_some(chunk)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spec_examples() {
        let index = [1, 23, 45];
        for (encoding, expected, scalar) in [
            (KeyEncoding::Default { separator: '/' }, "c/1/23/45", "c"),
            (KeyEncoding::Default { separator: '.' }, "c.1.23.45", "c"),
            (KeyEncoding::V2 { separator: '.' }, "1.23.45", "0"),
            (KeyEncoding::V2 { separator: '/' }, "1/23/45", "0"),
            (
                KeyEncoding::Draft {
                    separator: '/',
                    scalar_index: false,
                },
                "c1/23/45",
                "c",
            ),
            (
                KeyEncoding::Draft {
                    separator: '.',
                    scalar_index: true,
                },
                "c1.23.45",
                "c0",
            ),
            (KeyEncoding::N5 { reversed: false }, "1/23/45", "0"),
            (KeyEncoding::N5 { reversed: true }, "45/23/1", "0"),
        ] {
            assert_eq!(encoding.encode(&index), expected);
            assert_eq!(encoding.encode(&[]), scalar);
        }
    }

    fn encodings() -> Vec<KeyEncoding> {
        let both = ['/', '.'].into_iter();
        let draft = |separator| {
            [true, false].map(|scalar_index| KeyEncoding::Draft {
                separator,
                scalar_index,
            })
        };
        both.clone()
            .map(|separator| KeyEncoding::Default { separator })
            .chain(both.clone().map(|separator| KeyEncoding::V2 { separator }))
            .chain(both.flat_map(draft))
            .chain([false, true].map(|reversed| KeyEncoding::N5 { reversed }))
            .collect()
    }

    #[test]
    fn what_is_encoded_is_decoded() {
        let indices: [&[u64]; 6] = [&[], &[0], &[7], &[1, 23, 45], &[0, 0], &[u64::MAX, 0, 10]];
        for encoding in encodings() {
            for index in indices {
                let key = encoding.encode(index);
                assert_eq!(
                    encoding.decode(&key, index.len()).as_deref(),
                    Some(index),
                    "{encoding:?} {key}"
                );
                if let Some(key) = encoding.fallback(index) {
                    assert_eq!(
                        encoding.decode(&key, index.len()).as_deref(),
                        Some(index),
                        "{encoding:?} {key}"
                    );
                }
                // A key of one rank is not a key of another.
                for ndim in (0..5).filter(|&ndim| ndim != index.len()) {
                    let decoded = encoding.decode(&key, ndim);
                    // `0` is both the scalar and the first chunk of a line, in some encodings.
                    assert!(
                        decoded.is_none() || index.len() + ndim == 1,
                        "{encoding:?} {key} {ndim}"
                    );
                }
            }
        }
    }

    #[test]
    fn what_is_no_key_is_not_decoded() {
        for encoding in encodings() {
            let separator = match encoding {
                KeyEncoding::Default { separator }
                | KeyEncoding::V2 { separator }
                | KeyEncoding::Draft { separator, .. } => separator,
                KeyEncoding::N5 { .. } => '/',
            };
            let other = if separator == '/' { '.' } else { '/' };
            let good = encoding.encode(&[1, 23]);
            assert!(encoding.decode(&good, 2).is_some());
            let mut bad: Vec<String> = [
                "01",
                "+1",
                "-1",
                "",
                " 1",
                "1 ",
                "1e0",
                "x",
                "18446744073709551616",
                "\u{661}",
            ]
            .iter()
            .map(|wrong| good.replace("23", wrong))
            .collect();
            bad.push(good.replace(separator, &other.to_string()));
            bad.push(format!("{good}{separator}"));
            bad.push(format!("{separator}{good}"));
            bad.push(format!("{good}.partial"));
            for key in [
                ".zarray",
                ".zattrs",
                "zarr.json",
                "attributes.json",
                "c",
                "c0",
                "0",
                "",
                "C/1/23",
                "cc1/23",
            ] {
                bad.push(key.to_owned());
            }
            for key in bad {
                assert_eq!(encoding.decode(&key, 2), None, "{encoding:?} {key:?}");
            }
        }
    }
}
