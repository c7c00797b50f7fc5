use std::fmt::Write as _;

/// Where the chunks of an array are stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkKeys {
    /// What every chunk key starts with, from the root of the store: empty, or ending in `/`.
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

    /// A second key to look under when the first is absent. See [`KeyEncoding::fallback`].
    #[must_use]
    pub fn fallback_key(&self, chunk: &[u64]) -> Option<String> {
        self.encoding.fallback(chunk).map(|rest| format!("{}{rest}", self.prefix))
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
    /// `c1/23`, `c1.23`; 0-d `c`, or `c0` with `c` as the fallback for reading (the 2022 draft of v3).
    Draft {
        /// `/` or `.`
        separator: char,
        /// Whether a 0-d array's chunk is written as `c0` (dialect B).
        scalar_index: bool,
    },
    /// `1/23`; 0-d `0` (N5).
    N5 {
        /// Whether array axes run against the dimensions of the document, so that indices are spelled last first.
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
            Self::Draft { separator, scalar_index } => {
                key.push('c');
                join(key, separator, chunk.iter(), if scalar_index { "0" } else { "" });
            }
            Self::N5 { reversed: false } => join(key, '/', chunk.iter(), "0"),
            Self::N5 { reversed: true } => join(key, '/', chunk.iter().rev(), "0"),
        }
    }

    /// What some writers spelled differently: read when the usual key is absent, never written.
    #[must_use]
    pub fn fallback(&self, chunk: &[u64]) -> Option<String> {
        match *self {
            Self::Draft { scalar_index: true, .. } if chunk.is_empty() => Some("c".to_owned()),
            _ => None,
        }
    }
}

fn push_index(key: &mut String, separator: char, index: u64) {
    let _ = write!(key, "{separator}{index}");
}

fn join<'a>(key: &mut String, separator: char, indices: impl Iterator<Item = &'a u64>, scalar: &str) {
    let mut any = false;
    for index in indices {
        if any {
            key.push(separator);
        }
        let _ = write!(key, "{index}");
        any = true;
    }
    if !any {
        key.push_str(scalar);
    }
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
            (KeyEncoding::Draft { separator: '/', scalar_index: false }, "c1/23/45", "c"),
            (KeyEncoding::Draft { separator: '.', scalar_index: true }, "c1.23.45", "c0"),
            (KeyEncoding::N5 { reversed: false }, "1/23/45", "0"),
            (KeyEncoding::N5 { reversed: true }, "45/23/1", "0"),
        ] {
            assert_eq!(encoding.encode(&index), expected);
            assert_eq!(encoding.encode(&[]), scalar);
        }
    }
}
