//! Long lists, several parts at once. A page names the next one, so the pages of one part follow each
//! other; folders behind a page are where further parts can begin.

use std::sync::{Mutex, PoisonError};

use futures_util::future::BoxFuture;
use futures_util::{StreamExt, TryStreamExt, stream};
use ndzarr_store::{Key, Prefix, StoreError};

use crate::answers::page::Page;
use crate::operations::list::{Pages, Room};
use crate::store::{Inner, Service};

/// After this many pages the rest of a list is cut: then a request or two for the cuts matter little.
const FEW: u32 = 4;
/// The most parts of one cut.
const PARTS: usize = 16;
/// The most folders in each other, of which each is alone, where a cut is looked for.
const DEEP: u32 = 8;

/// The names behind one, and before another one.
#[derive(Clone, Debug, Default)]
struct Part {
    after: Option<String>,
    before: Option<String>,
}

enum Stop {
    /// The service does not list names in their order, or begins elsewhere than it was asked to.
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
        // Old versions of Azure cannot begin behind a name.
        if matches!(self.service, Service::Azure | Service::Http) {
            return self.list_in_order(prefix).await;
        }
        match self.list_part(prefix, Part::default(), &Mutex::new(Room::new())).await {
            Ok(keys) => Ok(keys),
            Err(Stop::NoOrder) => self.list_in_order(prefix).await,
            Err(Stop::Error(error)) => Err(error),
        }
    }

    /// The keys of a part.
    fn list_part<'a>(
        &'a self,
        prefix: &'a Prefix,
        Part { after, before }: Part,
        room: &'a Mutex<Room>,
    ) -> BoxFuture<'a, Result<Vec<Key>, Stop>> {
        Box::pin(async move {
            let mut pages = Pages::behind(prefix, None, after.as_deref());
            let (mut keys, mut last) = (Vec::new(), after.unwrap_or_default());
            for n_pages in 1.. {
                let Some(mut page) = pages.turn(self).await? else { break };
                check_order(&page, &mut last)?;
                if let Some(before) = &before {
                    page.keys.truncate(page.keys.partition_point(|name| name < before));
                }
                room.lock().unwrap_or_else(PoisonError::into_inner).take(prefix, &page)?;
                keys.extend(self.keys(prefix, &page));
                if pages.is_done() || before.as_ref().is_some_and(|before| last >= *before) {
                    break;
                }
                if n_pages == FEW && !page.keys.is_empty() {
                    let parts = self.parts(prefix, &last, before.as_deref()).await?;
                    if parts.len() > 1 {
                        let parts = stream::iter(parts).map(|part| self.list_part(prefix, part, room));
                        let found: Vec<Vec<Key>> = parts.buffer_unordered(PARTS).try_collect().await?;
                        keys.extend(found.into_iter().flatten());
                        break;
                    }
                }
            }
            Ok(keys)
        })
    }

    /// Cuts what is behind a name, and before another one, at folders.
    async fn parts(
        &self,
        prefix: &Prefix,
        after: &str,
        before: Option<&str>,
    ) -> Result<Vec<Part>, StoreError> {
        let (mut below, mut cuts) = (prefix.clone(), Vec::new());
        for _ in 0..DEEP {
            let page = Pages::behind(&below, Some("/"), Some(after)).turn(self).await?.unwrap_or_default();
            let is_inside =
                |name: &&String| ***name > *after && before.is_none_or(|before| ***name < *before);
            cuts = page.prefixes.iter().filter(is_inside).cloned().collect();
            // The folder that the name is in has the next ones, too.
            let around = page.prefixes.iter().find(|name| after.starts_with(&***name));
            let around = around.and_then(|name| Prefix::new(name.strip_prefix(&self.prefix)?).ok());
            match around {
                Some(around) if cuts.is_empty() && around != below => below = around,
                _ => break,
            }
        }
        cuts.sort_unstable();
        let step = cuts.len().div_ceil(PARTS - 1).max(1);
        let cuts = cuts.into_iter().step_by(step);
        let mut parts = vec![Part { after: Some(after.to_owned()), before: None }];
        for cut in cuts {
            if let Some(part) = parts.last_mut() {
                part.before = Some(cut.clone());
            }
            parts.push(Part { after: Some(cut), before: None });
        }
        if let Some(part) = parts.last_mut() {
            part.before = before.map(str::to_owned);
        }
        Ok(parts)
    }
}

/// Checks that the names of a page follow each other and the last one before, which is then the last of
/// the page.
fn check_order(page: &Page, last: &mut String) -> Result<(), Stop> {
    for name in &page.keys {
        if !last.is_empty() && name <= last {
            return Err(Stop::NoOrder);
        }
        last.clone_from(name);
    }
    Ok(())
}
