//! `Known`: the facts read from a store so far, and how functions ask for more.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Bound;

use bytes::Bytes;

use crate::path::is_name;

/// Everything read from a store so far: the facts from which every function of this crate draws its
/// conclusions.
///
/// Nothing here does I/O. A function that lacks a fact returns [`Resolved::Need`]; the caller reads
/// what it names, adds it, and calls again. With every document at hand, one call is enough.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    documents: BTreeMap<String, Option<Bytes>>,
    present: BTreeMap<String, bool>,
    listings: BTreeMap<String, Listing>,
    /// Below this prefix, everything that exists is known.
    closed: Option<String>,
}

/// The direct children of a prefix.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// Names of the keys, without the prefix.
    pub keys: Vec<String>,
    /// Names of the prefixes (folders), without the prefix and without the closing `/`.
    pub prefixes: Vec<String>,
}

impl Listing {
    /// The names of the prefixes that can be part of a path, sorted; others belong to something
    /// else.
    pub(crate) fn child_names(&self) -> Vec<&String> {
        let mut names: Vec<&String> = self.prefixes.iter().filter(|name| is_name(name)).collect();
        names.sort();
        names.dedup();
        names
    }
}

/// Facts that are missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Need {
    /// The values under these keys, or their absence.
    Documents(Vec<String>),
    /// Which of these keys have a value; the values are not needed.
    Presence(Vec<String>),
    /// The direct children of these prefixes; each is empty or ends in `/`.
    Listings(Vec<String>),
}

/// A conclusion, or the facts that it still needs.
#[derive(Clone, Debug)]
pub enum Resolved<T> {
    /// The conclusion.
    Done(T),
    /// The facts that have to be read first.
    Need(Need),
}

impl Known {
    /// Nothing is known yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the value under a key; `None` means that there certainly is none.
    pub fn add_document(&mut self, key: impl Into<String>, value: Option<Bytes>) {
        self.documents.insert(key.into(), value);
    }

    /// Adds the fact that a key has a value, or that it has none.
    pub fn add_presence(&mut self, key: impl Into<String>, is_present: bool) {
        self.present.insert(key.into(), is_present);
    }

    /// Adds the direct children of a prefix. A key that appears in it, but was absent when it was
    /// looked at, has been written since: its absence is forgotten, so that it is read again.
    pub fn add_listing(&mut self, prefix: impl Into<String>, listing: Listing) {
        let prefix = prefix.into();
        let mut key = prefix.clone();
        for name in &listing.keys {
            key.truncate(prefix.len());
            key.push_str(name);
            if self.documents.get(&key) == Some(&None) {
                self.documents.remove(&key);
            }
            if self.present.get(&key) == Some(&false) {
                self.present.remove(&key);
            }
        }
        self.listings.insert(prefix, listing);
    }

    /// These documents are all that exists below the prefix.
    pub(crate) fn closed(prefix: String, documents: Vec<(String, Option<Bytes>)>) -> Self {
        Self {
            documents: documents.into_iter().collect(),
            closed: Some(prefix),
            ..Self::default()
        }
    }

    /// True if nothing can be added.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.is_some()
    }

    fn is_within(&self, key: &str) -> bool {
        self.closed
            .as_ref()
            .is_some_and(|prefix| key.starts_with(prefix))
    }

    /// The values that are known, by key.
    pub(crate) fn values(&self) -> impl Iterator<Item = (&str, &Bytes)> {
        self.documents
            .iter()
            .filter_map(|(key, value)| Some((key.as_str(), value.as_ref()?)))
    }

    /// The values under all of `keys`, in order, or the need for those that are not known yet.
    pub(crate) fn documents<const N: usize>(
        &self,
        keys: [&str; N],
    ) -> Result<[Option<&Bytes>; N], Stop> {
        self.check(keys.iter().copied())?;
        Ok(keys.map(|key| self.value(key)))
    }

    /// The values under any number of keys, in order, or the need for those that are not known yet.
    pub(crate) fn many_documents(&self, keys: &[String]) -> Result<Vec<Option<&Bytes>>, Stop> {
        self.check(keys.iter().map(String::as_str))?;
        Ok(keys.iter().map(|key| self.value(key)).collect())
    }

    fn check<'a>(&self, keys: impl Iterator<Item = &'a str>) -> Result<(), Stop> {
        // A key known to be absent needs no value.
        let is_known = |key: &str| {
            self.documents.contains_key(key)
                || self.is_within(key)
                || self.present.get(key) == Some(&false)
        };
        let missing: Vec<String> = keys
            .filter(|key| !is_known(key))
            .map(str::to_owned)
            .collect();
        if missing.is_empty() {
            Ok(())
        } else {
            Err(Stop::Need(Need::Documents(missing)))
        }
    }

    /// What was listed directly below a prefix.
    #[must_use]
    pub fn listed(&self, prefix: &str) -> Option<&Listing> {
        self.listings.get(prefix)
    }

    /// The value under a key, if it is known.
    #[must_use]
    pub fn value(&self, key: &str) -> Option<&Bytes> {
        self.documents.get(key).and_then(Option::as_ref)
    }

    /// True for each of `keys` that has a value, in order, or the need for those that are not known
    /// yet.
    pub(crate) fn presence(&self, keys: &[String]) -> Result<Vec<bool>, Stop> {
        let has_value = |key: &String| match self.documents.get(key) {
            Some(value) => Some(value.is_some()),
            None if self.is_within(key) => Some(false),
            None => self.present.get(key).copied(),
        };
        let mut presence = Vec::with_capacity(keys.len());
        let mut missing = Vec::new();
        for key in keys {
            match has_value(key) {
                Some(is_present) => presence.push(is_present),
                None => missing.push(key.clone()),
            }
        }
        if missing.is_empty() {
            Ok(presence)
        } else {
            Err(Stop::Need(Need::Presence(missing)))
        }
    }

    /// True if a key is known to have a value: for warnings, which are not worth a fetch.
    pub(crate) fn has(&self, key: &str) -> bool {
        matches!(self.documents.get(key), Some(Some(_))) || self.present.get(key) == Some(&true)
    }

    /// The direct children of a prefix, or the need for them.
    pub(crate) fn listing(&self, prefix: &str) -> Result<Cow<'_, Listing>, Stop> {
        if let Some(listing) = self.listings.get(prefix) {
            return Ok(Cow::Borrowed(listing));
        }
        if self.is_within(prefix) {
            return Ok(Cow::Owned(self.listing_of_documents(prefix)));
        }
        Err(Stop::Need(Need::Listings(vec![prefix.to_owned()])))
    }

    /// Jumps from child to child, regardless of how much lies below each.
    fn listing_of_documents(&self, prefix: &str) -> Listing {
        let mut listing = Listing::default();
        let mut from = Bound::Included(prefix.to_owned());
        loop {
            let next = self.documents.range((from, Bound::Unbounded)).next();
            let Some(rest) = next.and_then(|(key, _)| key.strip_prefix(prefix)) else {
                return listing;
            };
            from = match rest.split_once('/') {
                None => {
                    listing.keys.push(rest.to_owned());
                    Bound::Excluded(format!("{prefix}{rest}"))
                }
                Some((child, _)) => {
                    listing.prefixes.push(child.to_owned());
                    // '0' follows '/': this is the first key after all those below the child.
                    Bound::Included(format!("{prefix}{child}0"))
                }
            };
        }
    }
}

/// Why a conclusion could not be drawn: what `?` propagates in this crate.
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
