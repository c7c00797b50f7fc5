use std::collections::BTreeMap;

use bytes::Bytes;

/// What has been read of a store so far: the facts from which every function of this crate concludes.
///
/// Nothing here does I/O. A function that lacks a fact answers [`Resolved::Need`]; the caller reads what is named,
/// adds it, and calls again. With every document at hand, one call is enough.
#[derive(Clone, Debug, Default)]
pub struct Known {
    documents: BTreeMap<String, Option<Bytes>>,
    listings: BTreeMap<String, Listing>,
}

/// What lies directly below a prefix.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// Names of the keys, without the prefix.
    pub keys: Vec<String>,
    /// Names of the prefixes (folders), without the prefix and without the closing `/`.
    pub prefixes: Vec<String>,
}

/// Facts that are missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Need {
    /// The values under these keys (or their absence).
    Documents(Vec<String>),
    /// What lies directly below these prefixes; each is empty or ends in `/`.
    Listings(Vec<String>),
}

/// A conclusion, or what it takes to come to it.
#[derive(Clone, Debug)]
pub enum Resolved<T> {
    /// The conclusion.
    Done(T),
    /// What must be read before it can be drawn.
    Need(Need),
}

impl Known {
    /// Nothing known yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the value under a key; `None`: there is definitely none.
    pub fn add_document(&mut self, key: impl Into<String>, value: Option<Bytes>) {
        self.documents.insert(key.into(), value);
    }

    /// Adds what lies directly below a prefix.
    pub fn add_listing(&mut self, prefix: impl Into<String>, listing: Listing) {
        self.listings.insert(prefix.into(), listing);
    }

    /// Drops what is known of a key, since it may have changed.
    pub fn forget(&mut self, key: &str) {
        self.documents.remove(key);
    }

    /// The values that are known, by key.
    pub(crate) fn values(&self) -> impl Iterator<Item = (&str, &Bytes)> {
        self.documents.iter().filter_map(|(key, value)| Some((key.as_str(), value.as_ref()?)))
    }

    /// The values under all of `keys`, in order, or the need of those that are not known yet.
    pub(crate) fn documents<const N: usize>(&self, keys: [&str; N]) -> Result<[Option<&Bytes>; N], Stop> {
        let missing: Vec<String> = keys
            .iter()
            .filter(|key| !self.documents.contains_key(**key))
            .map(|key| (*key).to_owned())
            .collect();
        if !missing.is_empty() {
            return Err(Stop::Need(Need::Documents(missing)));
        }
        Ok(keys.map(|key| self.documents.get(key).and_then(Option::as_ref)))
    }

    /// As [`Self::documents`], for any number of keys.
    pub(crate) fn many_documents(&self, keys: &[String]) -> Result<Vec<Option<&Bytes>>, Stop> {
        let missing: Vec<String> =
            keys.iter().filter(|key| !self.documents.contains_key(*key)).cloned().collect();
        if !missing.is_empty() {
            return Err(Stop::Need(Need::Documents(missing)));
        }
        Ok(keys.iter().map(|key| self.documents.get(key).and_then(Option::as_ref)).collect())
    }

    /// Whether a value is known to be under a key: for warnings, which are not worth a fetch.
    pub(crate) fn has(&self, key: &str) -> bool {
        matches!(self.documents.get(key), Some(Some(_)))
    }

    /// What lies directly below a prefix, or the need of it.
    pub(crate) fn listing(&self, prefix: &str) -> Result<&Listing, Stop> {
        self.listings.get(prefix).ok_or_else(|| Stop::Need(Need::Listings(vec![prefix.to_owned()])))
    }
}

/// Why a conclusion could not be drawn: the `?` of this crate.
#[derive(Debug)]
pub(crate) enum Stop {
    Need(Need),
    Error(crate::MetadataError),
}

impl From<crate::MetadataError> for Stop {
    fn from(error: crate::MetadataError) -> Self {
        Self::Error(error)
    }
}

/// Turns the inner form into the public one.
pub(crate) fn resolve<T>(result: Result<T, Stop>) -> Result<Resolved<T>, crate::MetadataError> {
    match result {
        Ok(value) => Ok(Resolved::Done(value)),
        Err(Stop::Need(need)) => Ok(Resolved::Need(need)),
        Err(Stop::Error(error)) => Err(error),
    }
}
