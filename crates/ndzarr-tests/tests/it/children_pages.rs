//! Children that are listed on several pages.

use std::future::ready;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream};
use ndzarr::store::{DirListing, Prefix, StoreError};
use ndzarr::{AsyncStore, Format, Group, MemoryStore, Storage, Store};
use ndzarr_store::block_on;
use ndzarr_testkit::CountingStore;

use crate::children::{FORMATS, all, fill};

/// An asynchronous store that lists `page` names at once; the last one of a page is on the next
/// one, too.
#[derive(Debug)]
struct Paged {
    memory: CountingStore<MemoryStore>,
    page: usize,
    /// A page was requested before any node of the page before it was fetched.
    waited: AtomicBool,
}

impl AsyncStore for Paged {
    fn name(&self) -> String {
        "pages".to_owned()
    }

    ready!(memory);

    fn list_dir<'a>(&'a self, prefix: &'a Prefix) -> BoxFuture<'a, Result<DirListing, StoreError>> {
        Box::pin(ready(self.memory.list_dir(prefix)))
    }

    fn list_dir_pages<'a>(
        &'a self,
        prefix: &Prefix,
    ) -> BoxStream<'a, Result<DirListing, StoreError>> {
        let DirListing { keys, prefixes } = self.memory.list_dir(prefix).expect("memory lists");
        let mut names: Vec<(String, bool)> = keys.into_iter().map(|name| (name, true)).collect();
        names.extend(prefixes.into_iter().map(|name| (name, false)));
        // As a bucket has them: a prefix ends in a slash.
        names.sort_by_key(|(name, is_key)| {
            if *is_key {
                name.clone()
            } else {
                format!("{name}/")
            }
        });
        let page = move |begin: usize| {
            let end = names.len().min(begin + self.page + 1);
            let part = |keys: bool| {
                let named = names[begin..end]
                    .iter()
                    .filter(|(_, is_key)| *is_key == keys);
                named.map(|(name, _)| name.clone()).collect()
            };
            let listing = DirListing {
                keys: part(true),
                prefixes: part(false),
            };
            (listing, (end < names.len()).then_some(begin + self.page))
        };
        Box::pin(stream::unfold(Some(0), move |begin| {
            let answer = begin.map(&page);
            async move {
                let (listing, next) = answer?;
                let before = self.memory.counts().fetches;
                let mut yields = 0;
                while begin > Some(0) && self.memory.counts().fetches == before {
                    yields += 1;
                    if yields > 100 {
                        self.waited.store(true, Ordering::Relaxed);
                        break;
                    }
                    tokio::task::yield_now().await;
                }
                Some((Ok(listing), next))
            }
        }))
    }

    fn block_on(&self, future: Pin<&mut dyn Future<Output = ()>>) -> Result<(), StoreError> {
        block_on(future);
        Ok(())
    }
}

#[test]
fn children_on_several_pages_of_a_list_are_opened_while_it_goes_on() {
    for format in FORMATS {
        let memory = MemoryStore::new();
        fill(&Storage::from(memory.clone()), format);
        let group = Group::open((memory.clone(), "g")).expect("the group");
        let expected = (
            all(group.children().expect("a listing")),
            all(group.walk().expect("a listing")),
        );
        for page in [1, 2, 3, 11, 100] {
            let counting = CountingStore::new(memory.clone());
            let store = Arc::new(Paged {
                memory: counting,
                page,
                waited: AtomicBool::new(false),
            });
            let storage = Storage::asynchronous(Arc::clone(&store));
            let group = Group::open((storage, "g")).expect("the group");
            let found = group.children().expect("a listing");
            let is_draft = matches!(format, Format::DraftA | Format::DraftB);
            // A page of one name may hold none of a child.
            if page > 1 && !is_draft {
                assert!(
                    !store.waited.load(Ordering::Relaxed),
                    "{format}, pages of {page}"
                );
            }
            assert_eq!(
                (all(found), all(group.walk().expect("a listing"))),
                expected,
                "{format} {page}"
            );
        }
    }
}
