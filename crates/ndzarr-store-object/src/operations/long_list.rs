//! Long lists, of which several parts are listed at once. The pages of a part must be requested one
//! after the other, since each names the next one. Other parts begin at folders after them.

use std::sync::{Mutex, PoisonError};

use futures_util::future::BoxFuture;
use futures_util::{StreamExt, TryStreamExt, stream};
use ndzarr_store::{Key, Prefix, StoreError};

use crate::answers::page::Page;
use crate::operations::list::{NameBudget, Pages};
use crate::store::{Inner, Service};
use crate::unlisted::LeftOut;

/// The number of pages after which the rest of a list is split: a request or two for the split
/// matter little then.
const PAGES_BEFORE_SPLIT: u32 = 4;
/// The most parts of one split.
const MAX_PARTS: usize = 16;
/// The most levels of folders that are searched for places to split a list.
const MAX_LEVELS: u32 = 8;

/// The names after one name, and before another one.
#[derive(Clone, Debug, Default)]
struct NameRange {
    after: Option<String>,
    before: Option<String>,
}

enum Stop {
    /// The service does not list names in their order, or does not begin after the requested name.
    NoOrder,
    Error(StoreError),
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        Self::Error(error)
    }
}

impl Inner {
    pub(crate) async fn list_prefix(&self, prefix: &Prefix) -> Result<Vec<Key>, StoreError> {
        // Old versions of Azure cannot begin after a name.
        if matches!(self.service, Service::Azure | Service::Http) {
            return self.list_in_order(prefix).await;
        }
        match self
            .list_range(prefix, NameRange::default(), &Mutex::new(NameBudget::new()))
            .await
        {
            Ok((keys, left_out)) => {
                self.unlisted.replace(prefix, left_out);
                Ok(keys)
            }
            Err(Stop::NoOrder) => self.list_in_order(prefix).await,
            Err(Stop::Error(error)) => Err(error),
        }
    }

    /// The keys of a range, and the names in it that no key can have.
    fn list_range<'a>(
        &'a self,
        prefix: &'a Prefix,
        NameRange { after, before }: NameRange,
        budget: &'a Mutex<NameBudget>,
    ) -> BoxFuture<'a, Result<(Vec<Key>, LeftOut), Stop>> {
        Box::pin(async move {
            let mut pages = Pages::starting_after(prefix, None, after.as_deref());
            let mut keys = Vec::new();
            let mut of_ranges = LeftOut::default();
            let mut last = after.unwrap_or_default();
            for n_pages in 1.. {
                let Some(mut page) = pages.next_page(self).await? else {
                    break;
                };
                check_order(&page, &mut last)?;
                if let Some(before) = &before {
                    page.keys
                        .truncate(page.keys.partition_point(|name| name < before));
                }
                budget
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .take(prefix, &page)?;
                keys.extend(pages.keys(self, &page));
                if pages.is_done() || before.as_ref().is_some_and(|before| last >= *before) {
                    break;
                }
                if n_pages == PAGES_BEFORE_SPLIT && !page.keys.is_empty() {
                    let ranges = self.split(prefix, &last, before.as_deref()).await?;
                    if ranges.len() > 1 {
                        let lists = stream::iter(ranges)
                            .map(|range| self.list_range(prefix, range, budget));
                        let found: Vec<(Vec<Key>, LeftOut)> =
                            lists.buffer_unordered(MAX_PARTS).try_collect().await?;
                        for (keys_of_range, left_out) in found {
                            keys.extend(keys_of_range);
                            of_ranges.join(left_out);
                        }
                        break;
                    }
                }
            }
            let mut left_out = pages.into_left_out();
            left_out.join(of_ranges);
            Ok((keys, left_out))
        })
    }

    /// Splits the names after one name, and before another one, at folders.
    async fn split(
        &self,
        prefix: &Prefix,
        after: &str,
        before: Option<&str>,
    ) -> Result<Vec<NameRange>, StoreError> {
        let mut searched = prefix.clone();
        let mut folders = Vec::new();
        for _ in 0..MAX_LEVELS {
            let mut pages = Pages::starting_after(&searched, Some("/"), Some(after));
            let page = pages.next_page(self).await?.unwrap_or_default();
            let is_inside =
                |name: &&String| ***name > *after && before.is_none_or(|before| ***name < *before);
            folders = page.prefixes.iter().filter(is_inside).cloned().collect();
            // Without any, the next names are in the same folder as the last one.
            let of_last = page
                .prefixes
                .iter()
                .find(|name| after.starts_with(&***name));
            let of_last =
                of_last.and_then(|name| Prefix::new(name.strip_prefix(&self.prefix)?).ok());
            match of_last {
                Some(folder) if folders.is_empty() && folder != searched => searched = folder,
                _ => break,
            }
        }
        folders.sort_unstable();
        let step = folders.len().div_ceil(MAX_PARTS - 1).max(1);
        let mut ranges = Vec::new();
        let mut start = after.to_owned();
        for folder in folders.into_iter().step_by(step) {
            ranges.push(NameRange {
                after: Some(start),
                before: Some(folder.clone()),
            });
            start = folder;
        }
        ranges.push(NameRange {
            after: Some(start),
            before: before.map(str::to_owned),
        });
        Ok(ranges)
    }
}

/// Checks that the names of a page are in order, and all after `last`, which becomes the last of
/// them.
fn check_order(page: &Page, last: &mut String) -> Result<(), Stop> {
    for name in &page.keys {
        if !last.is_empty() && name <= last {
            return Err(Stop::NoOrder);
        }
        last.clone_from(name);
    }
    Ok(())
}
