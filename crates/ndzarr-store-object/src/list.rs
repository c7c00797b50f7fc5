//! Lists keys, a page at a time.

use std::borrow::Cow;

use ndzarr_store::{DirListing, Key, Prefix, StoreError};
use object_store::list::PaginatedListOptions;

use crate::page::Page;
use crate::store::{Inner, Service};

impl Inner {
    /// A page of the keys below a prefix, or with a delimiter directly below it.
    pub(crate) async fn page(
        &self,
        prefix: &Prefix,
        delimiter: Option<&'static str>,
        next: Option<String>,
    ) -> Result<Page, StoreError> {
        let Some(lists) = &self.lists else { return Err(StoreError::Unsupported("list")) };
        let below = format!("{}{prefix}", self.prefix);
        let instead = match self.service {
            Service::Azure => "<EnumerationResults><Blobs></Blobs></EnumerationResults>",
            _ => "<ListBucketResult></ListBucketResult>",
        };
        let request = || {
            let options = PaginatedListOptions {
                delimiter: delimiter.map(Cow::Borrowed),
                page_token: next.clone(),
                ..PaginatedListOptions::default()
            };
            lists.list_paginated((!below.is_empty()).then_some(&below), options)
        };
        let listed = self.repeat(Some(instead), request).await;
        let (_, answer) = listed.map_err(|failure| self.error("list", prefix, &failure))?;
        let page = answer.page.unwrap_or_default();
        if page.next.is_some() && page.next == next {
            let what = "the list never ends: two pages in a row have the same successor".to_owned();
            return Err(StoreError::Other { action: "list", key: prefix.to_string(), what });
        }
        Ok(page)
    }

    /// Names that no key of ours can have, and markers of folders, are left out.
    pub(crate) fn keys(&self, prefix: &Prefix, page: &Page) -> Vec<Key> {
        let names = page.keys.iter().filter_map(|name| name.strip_prefix(&self.prefix));
        names
            .filter(|name| name.starts_with(prefix.as_str()))
            .filter_map(|name| Key::new(name).ok())
            .collect()
    }

    pub(crate) async fn list_dir(&self, prefix: &Prefix) -> Result<DirListing, StoreError> {
        let (mut listing, mut next) = (DirListing::default(), None);
        loop {
            let page = self.page(prefix, Some("/"), next.take()).await?;
            let keys = self.keys(prefix, &page);
            listing.keys.extend(keys.iter().map(|key| key.name().to_owned()));
            let below = format!("{}{prefix}", self.prefix);
            let names = page.prefixes.iter().filter_map(|name| name.strip_prefix(&below)?.strip_suffix('/'));
            listing.prefixes.extend(names.filter(|name| Key::new(name).is_ok()).map(str::to_owned));
            next = page.next;
            if next.is_none() {
                return Ok(listing);
            }
        }
    }
}
