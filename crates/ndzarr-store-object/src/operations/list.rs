//! Lists keys, a page at a time.

use std::borrow::Cow;

use ndzarr_store::{DirListing, Fetch, Fetched, Key, Listed, Of, Prefix, StoreError, Want};
use object_store::list::PaginatedListOptions;

use crate::answers::call::Purpose;
use crate::answers::page::Page;
use crate::store::{Inner, LONGEST, Service};

/// The most pages without a name in a row. Services send some, for instance where much was erased.
const EMPTY_PAGES: u32 = 1000;
/// The most bytes of names that are listed at once.
const NAME_BYTES: u64 = 4 << 30;

/// A list of what is below a prefix. It notices when the pages do not end.
#[derive(Debug)]
pub(crate) struct Pages {
    prefix: Prefix,
    /// With one, only what is directly below the prefix.
    delimiter: Option<&'static str>,
    /// Only names behind this one.
    after: Option<String>,
    next: Option<String>,
    is_done: bool,
    n_pages: u64,
    n_empty: u32,
    /// The successor of an earlier page, always of a number that is a power of two: a circle meets it.
    earlier: Option<String>,
}

impl Pages {
    pub(crate) fn new(prefix: &Prefix, delimiter: Option<&'static str>) -> Self {
        Self {
            prefix: prefix.clone(),
            delimiter,
            after: None,
            next: None,
            is_done: false,
            n_pages: 0,
            n_empty: 0,
            earlier: None,
        }
    }

    /// All names behind this one, which services other than Azure can find.
    pub(crate) fn behind(prefix: &Prefix, delimiter: Option<&'static str>, after: Option<&str>) -> Self {
        Self { after: after.map(str::to_owned), ..Self::new(prefix, delimiter) }
    }

    /// Whether the last page was turned.
    pub(crate) fn is_done(&self) -> bool {
        self.is_done
    }

    /// The next page.
    pub(crate) async fn turn(&mut self, inner: &Inner) -> Result<Option<Page>, StoreError> {
        if self.is_done {
            return Ok(None);
        }
        let page = inner.page(self).await?;
        self.follow(&page)?;
        Ok(Some(page))
    }

    fn follow(&mut self, page: &Page) -> Result<(), StoreError> {
        self.n_pages += 1;
        self.n_empty = match page.keys.is_empty() && page.prefixes.is_empty() {
            true => self.n_empty + 1,
            false => 0,
        };
        self.is_done = page.next.is_none();
        self.next.clone_from(&page.next);
        if !self.is_done && (self.next == self.earlier || self.n_empty == EMPTY_PAGES) {
            return Err(failed(&self.prefix, "the pages of the list do not end"));
        }
        if self.n_pages.is_power_of_two() {
            self.earlier = page.next.clone();
        }
        Ok(())
    }
}

fn failed(prefix: &Prefix, what: &str) -> StoreError {
    StoreError::Other { action: "list", key: prefix.to_string(), what: what.to_owned() }
}

/// Counts the bytes of names that are kept.
pub(crate) struct Room(u64);

impl Room {
    pub(crate) fn new() -> Self {
        Self(NAME_BYTES)
    }

    pub(crate) fn take(&mut self, prefix: &Prefix, page: &Page) -> Result<(), StoreError> {
        let byte_len: usize = page.keys.iter().chain(&page.prefixes).map(String::len).sum();
        self.0 = self.0.checked_sub(byte_len as u64).ok_or_else(|| failed(prefix, "too many names"))?;
        Ok(())
    }
}

impl Inner {
    pub(crate) fn listings(prefix: &Prefix) -> Listings {
        Listings { prefix: prefix.clone(), pages: Pages::new(prefix, Some("/")), room: Room::new() }
    }

    /// The pages of all that is below a prefix.
    pub(crate) fn pages(prefix: &Prefix) -> Pages {
        Pages::new(prefix, None)
    }

    async fn page(&self, pages: &Pages) -> Result<Page, StoreError> {
        let Pages { prefix, delimiter, after, next, .. } = pages;
        let Some(lists) = self.backend.lists() else { return Err(StoreError::Unsupported("list")) };
        let below = format!("{}{prefix}", self.prefix);
        if [Some(&below), after.as_ref(), next.as_ref()]
            .into_iter()
            .flatten()
            .any(|text| text.len() > LONGEST)
        {
            let what = format!("a name or the mark of the next page has more than {LONGEST} bytes");
            return Err(failed(prefix, &what));
        }
        let instead = match self.service {
            Service::Azure => "<EnumerationResults><Blobs></Blobs></EnumerationResults>",
            _ => "<ListBucketResult></ListBucketResult>",
        };
        let request = || {
            let options = PaginatedListOptions {
                delimiter: delimiter.map(Cow::Borrowed),
                page_token: next.clone(),
                // The token has it, too.
                offset: after.clone().filter(|_| next.is_none()),
                ..PaginatedListOptions::default()
            };
            lists.list_paginated((!below.is_empty()).then_some(&below), options)
        };
        let listed = self.read(Purpose::Page(instead), request).await;
        let (_, answer) = listed.map_err(|failure| self.error("list", prefix, &failure))?;
        Ok(answer.page.unwrap_or_default())
    }

    /// Names that no key of ours can have, and markers of folders, are left out.
    pub(crate) fn keys(&self, prefix: &Prefix, page: &Page) -> Vec<Key> {
        page.keys.iter().filter_map(|name| self.key(prefix, name)).collect()
    }

    fn key(&self, prefix: &Prefix, name: &str) -> Option<Key> {
        let name = name.strip_prefix(&self.prefix).filter(|name| name.starts_with(prefix.as_str()))?;
        Key::new(name).ok().filter(|key| self.path(key).is_ok())
    }

    /// The keys of a page and the lengths of their values. Where the page has none, each is asked for.
    pub(crate) async fn sizes(&self, prefix: &Prefix, page: &Page) -> Result<Vec<(Key, Listed)>, StoreError> {
        let mut sizes = Vec::with_capacity(page.keys.len());
        for (name, size) in page.keys.iter().zip(&page.sizes) {
            let Some(key) = self.key(prefix, name) else { continue };
            if let Some(size) = size {
                sizes.push((key, Listed::Value(*size)));
                continue;
            }
            let fetch = Fetch { key, of: Of::Any, want: Want::Size };
            if let Fetched::Parts { size, .. } = self.fetch(&fetch).await? {
                sizes.push((fetch.key, Listed::Value(size)));
            }
        }
        Ok(sizes)
    }

    /// Page by page.
    pub(crate) async fn list_in_order(&self, prefix: &Prefix) -> Result<Vec<Key>, StoreError> {
        let (mut keys, mut pages, mut room) = (Vec::new(), Pages::new(prefix, None), Room::new());
        while let Some(page) = pages.turn(self).await? {
            room.take(prefix, &page)?;
            keys.extend(self.keys(prefix, &page));
        }
        Ok(keys)
    }
}

/// What is directly below a prefix, page by page.
pub(crate) struct Listings {
    prefix: Prefix,
    pages: Pages,
    room: Room,
}

impl Listings {
    pub(crate) async fn turn(&mut self, inner: &Inner) -> Result<Option<DirListing>, StoreError> {
        let Some(page) = self.pages.turn(inner).await? else { return Ok(None) };
        self.room.take(&self.prefix, &page)?;
        let keys = inner.keys(&self.prefix, &page).iter().map(|key| key.name().to_owned()).collect();
        let below = format!("{}{}", inner.prefix, self.prefix);
        let names = page.prefixes.iter().filter_map(|name| name.strip_prefix(&below)?.strip_suffix('/'));
        let is_name = |name: &&str| Key::new(name).is_ok_and(|key| inner.path(&key).is_ok());
        let prefixes = names.filter(is_name).map(str::to_owned).collect();
        Ok(Some(DirListing { keys, prefixes }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Follows this many pages, each with the successor and the names that it is given.
    fn follow(n_pages: u32, next: impl Fn(u32) -> String, n_names: usize) -> Result<(), u32> {
        let mut pages = Pages::new(&Prefix::root(), None);
        for number in 0..n_pages {
            let keys = vec!["a".to_owned(); n_names];
            let page = Page { keys, next: Some(next(number)), ..Page::default() };
            pages.follow(&page).map_err(|_| number)?;
        }
        Ok(())
    }

    #[test]
    fn lists_that_do_not_end_are_noticed() {
        assert_eq!(follow(100_000, |number| number.to_string(), 1), Ok(()));
        for circle in [1, 2, 3, 7, 100] {
            let met = follow(100_000, |number| (number % circle).to_string(), 1).expect_err("it is a circle");
            assert!(met < 4 * circle, "{circle}: {met}");
        }
        // Forever new, and empty: the thousandth page is the last.
        assert_eq!(follow(100_000, |number| number.to_string(), 0), Err(999));
    }

    #[test]
    fn the_bytes_of_names_are_limited() {
        let page = Page { keys: vec!["abc".into()], prefixes: vec!["de/".into()], ..Page::default() };
        let mut room = Room(11);
        assert!(room.take(&Prefix::root(), &page).is_ok() && room.take(&Prefix::root(), &page).is_err());
    }
}
