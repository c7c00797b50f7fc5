//! Stores around others, and the defaults of the store traits.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use ndzarr::store::{
    Fetch, Fetched, Key, Locked, Precondition, Prefix, Put, StoreError, Wait, bytes::Bytes,
};
use ndzarr::{Array, AsyncStore, FsStore, Storage, Store};
use ndzarr_testkit::{AsyncMemoryStore, Latency};

use crate::everyday::Tested;

/// Counts its calls; has only the methods that every store must have.
#[derive(Debug)]
struct Counted {
    inner: FsStore,
    fetches: AtomicUsize,
}

impl Store for Counted {
    fn inner(&self) -> Option<&dyn Store> {
        Some(&self.inner)
    }

    fn name(&self) -> String {
        self.inner.name()
    }

    fn fetch(&self, fetch: &Fetch) -> Result<Fetched, StoreError> {
        self.fetches.fetch_add(1, Ordering::Relaxed);
        self.inner.fetch(fetch)
    }

    fn put(&self, key: &Key, parts: &[Bytes], only_if: Precondition) -> Result<Put, StoreError> {
        self.inner.put(key, parts, only_if)
    }

    fn erase(&self, key: &Key, only_if: Precondition) -> Result<Put, StoreError> {
        self.inner.erase(key, only_if)
    }
}

#[test]
fn a_store_around_another_has_all_that_it_has() -> Tested {
    let folder = tempfile::tempdir()?;
    let inner = FsStore::new(folder.path());
    let store = Counted {
        inner: inner.clone(),
        fetches: AtomicUsize::new(0),
    };
    let key = Key::new("a/b")?;
    let Locked::Held(mut lock) = store.lock(&key, Wait::Try)? else {
        panic!("files have locks")
    };
    assert!(matches!(inner.lock(&key, Wait::Try)?, Locked::Busy));
    lock.append(b"value")?;
    lock.publish()?;
    let temporary = store.temporary(&key)?.expect("files have temporaries");
    temporary.append(b"12")?;
    drop(temporary);
    assert!(store.has(&key)?);
    assert_eq!(
        (store.can(), store.writes_wait()),
        (inner.can(), inner.writes_wait())
    );
    assert_eq!(store.range_merging(), inner.range_merging());
    let mut sizes = Vec::new();
    store.list_lengths(&Prefix::root(), &mut |key, listed| {
        sizes.push((key.to_string(), listed.byte_len()))
    })?;
    assert_eq!(sizes, [("a/b".to_owned(), Some(5))]);
    assert_eq!(
        store.fetches.load(Ordering::Relaxed),
        0,
        "the inner store looked itself"
    );
    store.erase_prefix(&Prefix::new("a/")?, Wait::Block)?;
    assert!(inner.list_prefix(&Prefix::root())?.is_empty());

    let storage = Storage::blocking(store);
    let a = Array::<u16>::builder([16, 16])
        .chunks([2, 2])
        .shards([8, 8])
        .create((&storage, "a"))?;
    a.shard_writer(&[0, 0])?.finish()?;
    a.write((3..5, ..), &ndarray::Array2::ones((2, 16)))?;
    assert_eq!(a.read(..)?.sum(), 32);
    Ok(())
}

/// A method with a default that is not forwarded would be slower or wrong in every wrapper.
#[test]
fn every_default_of_the_store_traits_asks_the_store_inside() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../ndzarr-store/src");
    let mut seen = 0;
    for (file, of_trait) in [
        ("store.rs", "pub trait Store:"),
        ("async_store.rs", "pub trait AsyncStore:"),
    ] {
        let text = std::fs::read_to_string(sources.join(file)).expect("the source");
        let body = text.split_once(of_trait).expect("the trait").1;
        let body = &body[..body.find("\n}\n").expect("its end")];
        let methods = body.split("\n    fn ").skip(1);
        for method in methods.filter(|method| method.contains("\n    }")) {
            let name = &method[..method.find(['(', '<']).expect("its name")];
            // `list_sizes` asks `list_lengths`.
            if name != "inner" && name != "list_sizes" {
                assert!(
                    method.contains(&format!("return inner.{name}(")),
                    "{of_trait} {name}"
                );
                seen += 1;
            }
        }
    }
    assert_eq!(seen, 28);
    let _: Option<&dyn AsyncStore> = AsyncMemoryStore::new(Latency::default()).inner();
}
