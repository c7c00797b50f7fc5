//! Lists keys, a page at a time.

use std::borrow::Cow;
use std::mem;

use ndzarr_store::{DirListing, Fetch, Fetched, Key, Listed, Of, Prefix, StoreError, Want};
use object_store::list::PaginatedListOptions;

use crate::answers::call::Purpose;
use crate::answers::page::Page;
use crate::store::{Inner, MAX_NAME_BYTES, Service};
use crate::unlisted::LeftOut;

/// The most pages without a name in a row. Services send some, for instance where much was erased.
const MAX_EMPTY_PAGES: u32 = 1000;
/// The most bytes of the names of one list.
const MAX_LIST_BYTES: u64 = 4 << 30;

/// The pages of a list of the names below a prefix. A list whose pages do not end is an error.
#[derive(Debug)]
pub(crate) struct Pages {
    prefix: Prefix,
    /// With a delimiter, only names and folders directly below the prefix.
    delimiter: Option<&'static str>,
    /// Only names after this one.
    after: Option<String>,
    next: Option<String>,
    is_done: bool,
    n_pages: u64,
    n_empty: u32,
    /// The token of the page after the last one whose number is a power of two. Pages in a circle
    /// lead to this token again.
    earlier: Option<String>,
    left_out: LeftOut,
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
            left_out: LeftOut::default(),
        }
    }

    /// The pages of all names after this one, which all services but Azure support.
    pub(crate) fn starting_after(
        prefix: &Prefix,
        delimiter: Option<&'static str>,
        after: Option<&str>,
    ) -> Self {
        Self {
            after: after.map(str::to_owned),
            ..Self::new(prefix, delimiter)
        }
    }

    /// Returns `true` after the last page.
    pub(crate) fn is_done(&self) -> bool {
        self.is_done
    }

    /// Requests the next page; `None` after the last one.
    pub(crate) async fn next_page(&mut self, inner: &Inner) -> Result<Option<Page>, StoreError> {
        if self.is_done {
            // A list of one folder does not tell what is below the others.
            if self.delimiter.is_none() {
                inner
                    .unlisted
                    .replace(&self.prefix, mem::take(&mut self.left_out));
            }
            return Ok(None);
        }
        let page = inner.page(self).await?;
        self.follow(&page)?;
        Ok(Some(page))
    }

    /// The keys of a page. Names that are not valid keys, and markers of folders, are left out.
    pub(crate) fn keys(&mut self, inner: &Inner, page: &Page) -> Vec<Key> {
        page.keys
            .iter()
            .filter_map(|name| inner.key(&self.prefix, name, &mut self.left_out))
            .collect()
    }

    /// The keys of a page and the lengths of their values. A length that is not in the page is
    /// requested.
    pub(crate) async fn sizes(
        &mut self,
        inner: &Inner,
        page: &Page,
    ) -> Result<Vec<(Key, Listed)>, StoreError> {
        let mut sizes = Vec::with_capacity(page.keys.len());
        for (name, size) in page.keys.iter().zip(&page.sizes) {
            let Some(key) = inner.key(&self.prefix, name, &mut self.left_out) else {
                continue;
            };
            if let Some(size) = size {
                sizes.push((key, Listed::Value(*size)));
                continue;
            }
            let fetch = Fetch {
                key,
                of: Of::Any,
                want: Want::Size,
            };
            if let Fetched::Parts { size, .. } = inner.fetch(&fetch).await? {
                sizes.push((fetch.key, Listed::Value(size)));
            }
        }
        Ok(sizes)
    }

    /// The names that no key can have, of the pages so far.
    pub(crate) fn into_left_out(self) -> LeftOut {
        self.left_out
    }

    fn follow(&mut self, page: &Page) -> Result<(), StoreError> {
        self.n_pages += 1;
        let is_empty = page.keys.is_empty() && page.prefixes.is_empty();
        self.n_empty = if is_empty { self.n_empty + 1 } else { 0 };
        self.is_done = page.next.is_none();
        self.next.clone_from(&page.next);
        if !self.is_done && (self.next == self.earlier || self.n_empty == MAX_EMPTY_PAGES) {
            return Err(failed(&self.prefix, "the pages of the list do not end"));
        }
        if self.n_pages.is_power_of_two() {
            self.earlier = page.next.clone();
        }
        Ok(())
    }
}

fn failed(prefix: &Prefix, what: &str) -> StoreError {
    StoreError::Other {
        action: "list",
        key: prefix.to_string(),
        what: what.to_owned(),
    }
}

/// The number of bytes that the names of a list may still take.
pub(crate) struct NameBudget(u64);

impl NameBudget {
    pub(crate) fn new() -> Self {
        Self(MAX_LIST_BYTES)
    }

    pub(crate) fn take(&mut self, prefix: &Prefix, page: &Page) -> Result<(), StoreError> {
        let byte_len: usize = page
            .keys
            .iter()
            .chain(&page.prefixes)
            .map(String::len)
            .sum();
        self.0 = self
            .0
            .checked_sub(byte_len as u64)
            .ok_or_else(|| failed(prefix, "too many names"))?;
        Ok(())
    }
}

impl Inner {
    pub(crate) fn listings(prefix: &Prefix) -> Listings {
        Listings {
            prefix: prefix.clone(),
            pages: Pages::new(prefix, Some("/")),
            budget: NameBudget::new(),
        }
    }

    /// The pages of all names below a prefix.
    pub(crate) fn pages(prefix: &Prefix) -> Pages {
        Pages::new(prefix, None)
    }

    async fn page(&self, pages: &Pages) -> Result<Page, StoreError> {
        let Pages {
            prefix,
            delimiter,
            after,
            next,
            ..
        } = pages;
        let Some(lists) = self.backend.lists() else {
            return Err(StoreError::Unsupported("list"));
        };
        let full_prefix = format!("{}{prefix}", self.prefix);
        let mut texts = [Some(&full_prefix), after.as_ref(), next.as_ref()]
            .into_iter()
            .flatten();
        if texts.any(|text| text.len() > MAX_NAME_BYTES) {
            let what =
                format!("a name or the mark of the next page has more than {MAX_NAME_BYTES} bytes");
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
                // The token contains the offset, too.
                offset: after.clone().filter(|_| next.is_none()),
                ..PaginatedListOptions::default()
            };
            lists.list_paginated((!full_prefix.is_empty()).then_some(&full_prefix), options)
        };
        let listed = self.read(Purpose::Page(instead), request).await;
        let (_, answer) = listed.map_err(|failure| self.error("list", prefix, &failure))?;
        Ok(answer.page.unwrap_or_default())
    }

    /// The key of a name in a page. `left_out` gets a name that no key can have, unless it is the
    /// marker of a folder.
    fn key(&self, prefix: &Prefix, name: &str, left_out: &mut LeftOut) -> Option<Key> {
        let below = name
            .strip_prefix(&self.prefix)
            .filter(|below| below.starts_with(prefix.as_str()))?;
        let key = Key::new(below).ok().filter(|key| self.path(key).is_ok());
        if key.is_none() && !name.ends_with('/') {
            left_out.add(below);
        }
        key
    }

    /// Lists keys one page after the other.
    pub(crate) async fn list_in_order(&self, prefix: &Prefix) -> Result<Vec<Key>, StoreError> {
        let mut keys = Vec::new();
        let mut pages = Pages::new(prefix, None);
        let mut budget = NameBudget::new();
        while let Some(page) = pages.next_page(self).await? {
            budget.take(prefix, &page)?;
            keys.extend(pages.keys(self, &page));
        }
        Ok(keys)
    }
}

/// The names directly below a prefix, page by page.
pub(crate) struct Listings {
    prefix: Prefix,
    pages: Pages,
    budget: NameBudget,
}

impl Listings {
    pub(crate) async fn next_page(
        &mut self,
        inner: &Inner,
    ) -> Result<Option<DirListing>, StoreError> {
        let Some(page) = self.pages.next_page(inner).await? else {
            return Ok(None);
        };
        self.budget.take(&self.prefix, &page)?;
        let keys = self
            .pages
            .keys(inner, &page)
            .iter()
            .map(|key| key.name().to_owned())
            .collect();
        let full_prefix = format!("{}{}", inner.prefix, self.prefix);
        let names = page
            .prefixes
            .iter()
            .filter_map(|name| name.strip_prefix(&full_prefix)?.strip_suffix('/'));
        let is_name = |name: &&str| Key::new(name).is_ok_and(|key| inner.path(&key).is_ok());
        let prefixes = names.filter(is_name).map(str::to_owned).collect();
        Ok(Some(DirListing { keys, prefixes }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Follows this many pages, each with the token of its successor and this number of names.
    fn follow(n_pages: u32, next: impl Fn(u32) -> String, n_names: usize) -> Result<(), u32> {
        let mut pages = Pages::new(&Prefix::root(), None);
        for number in 0..n_pages {
            let keys = vec!["a".to_owned(); n_names];
            let page = Page {
                keys,
                next: Some(next(number)),
                ..Page::default()
            };
            pages.follow(&page).map_err(|_| number)?;
        }
        Ok(())
    }

    #[test]
    fn lists_that_do_not_end_are_noticed() {
        assert_eq!(follow(100_000, |number| number.to_string(), 1), Ok(()));
        for circle in [1, 2, 3, 7, 100] {
            let noticed = follow(100_000, |number| (number % circle).to_string(), 1)
                .expect_err("it is a circle");
            assert!(noticed < 4 * circle, "{circle}: {noticed}");
        }
        // Always a new token, and no names: the thousandth page is the last.
        assert_eq!(follow(100_000, |number| number.to_string(), 0), Err(999));
    }

    #[test]
    fn the_bytes_of_names_are_limited() {
        let page = Page {
            keys: vec!["abc".into()],
            prefixes: vec!["de/".into()],
            ..Page::default()
        };
        let mut budget = NameBudget(11);
        assert!(budget.take(&Prefix::root(), &page).is_ok());
        assert!(budget.take(&Prefix::root(), &page).is_err());
    }
}
