//! Copies as futures, over asynchronous stores: the task that polls the future makes the requests.

use std::collections::HashSet;
use std::future::pending;
use std::num::NonZeroUsize;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};
use std::thread::{self, ThreadId};

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream};
use ndzarr::{Array, CopyOptions, FsStore, Group, MemoryStore, RunOptions, Storage, asynchronous};
use ndzarr_store::bytes::Bytes;
use ndzarr_store::{
    AsyncStore, DirListing, Fetch, Fetched, Key, Listed, Locked, Precondition, Prefix, Put, Store,
    StoreError, Wait, Want,
};
use ndzarr_testkit::{AsyncMemoryStore, block_on};
use serde_json::json;

use crate::given_up::until_gone;

/// What a store does with some of its requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Odd {
    Nothing,
    /// It never answers one for a chunk.
    SilentChunks,
    /// It panics at one for a chunk.
    PanicsAtChunks,
    /// Lists never come to their end.
    EndlessLists,
    /// It never answers one for a part that does not begin at 0.
    SilentParts,
}

/// A store that notes which threads make its requests.
#[derive(Clone, Debug)]
struct Watched {
    inner: AsyncMemoryStore,
    odd: Odd,
    threads: Arc<Mutex<HashSet<ThreadId>>>,
    /// It got a request that it never answers.
    is_waiting: Arc<AtomicBool>,
}

impl Watched {
    fn new(memory: &MemoryStore, odd: Odd) -> Self {
        let inner = AsyncMemoryStore::over(memory.clone(), ndzarr_testkit::Latency::default());
        Self {
            inner,
            odd,
            threads: Arc::default(),
            is_waiting: Arc::default(),
        }
    }

    /// Called by each request when it is polled.
    fn note(&self) {
        self.threads
            .lock()
            .expect("it works")
            .insert(thread::current().id());
    }

    async fn noted<T>(&self, request: impl Future<Output = T>) -> T {
        self.note();
        let answer = request.await;
        self.note();
        answer
    }

    async fn never(&self) {
        self.is_waiting.store(true, Ordering::SeqCst);
        pending().await
    }
}

impl AsyncStore for Watched {
    fn name(&self) -> String {
        AsyncStore::name(&self.inner)
    }

    fn fetch<'a>(&'a self, fetch: &'a Fetch) -> BoxFuture<'a, Result<Fetched, StoreError>> {
        Box::pin(self.noted(async move {
            let is_chunk = fetch.key.as_str().contains("/c/");
            let is_later = matches!(&fetch.want, Want::Ranges(ranges) if ranges[0].start > 0);
            match self.odd {
                Odd::SilentChunks if is_chunk => self.never().await,
                Odd::PanicsAtChunks if is_chunk => panic!("the store is out of order"),
                Odd::SilentParts if is_later => self.never().await,
                _ => {}
            }
            self.inner.fetch(fetch).await
        }))
    }

    fn put<'a>(
        &'a self,
        key: &'a Key,
        parts: &'a [Bytes],
        only_if: Precondition,
    ) -> BoxFuture<'a, Result<Put, StoreError>> {
        Box::pin(self.noted(self.inner.put(key, parts, only_if)))
    }

    fn erase<'a>(
        &'a self,
        key: &'a Key,
        only_if: Precondition,
    ) -> BoxFuture<'a, Result<Put, StoreError>> {
        Box::pin(self.noted(self.inner.erase(key, only_if)))
    }

    fn list_dir<'a>(&'a self, prefix: &'a Prefix) -> BoxFuture<'a, Result<DirListing, StoreError>> {
        Box::pin(self.noted(self.inner.list_dir(prefix)))
    }

    fn list_pages<'a>(&'a self, prefix: &'a Prefix) -> BoxStream<'a, Result<Vec<Key>, StoreError>> {
        let pages = self.inner.list_pages(prefix);
        match self.odd {
            Odd::EndlessLists => {
                let rest = stream::once(async {
                    self.never().await;
                    Ok(Vec::new())
                });
                pages.chain(rest).boxed()
            }
            _ => pages.inspect(|_| self.note()).boxed(),
        }
    }

    fn list_lengths<'a>(
        &'a self,
        prefix: &'a Prefix,
    ) -> BoxStream<'a, Result<Vec<(Key, Listed)>, StoreError>> {
        self.inner
            .list_lengths(prefix)
            .inspect(|_| self.note())
            .boxed()
    }
}

/// A group with an array of 8 chunks, of which all are stored, and a file of another program.
fn source() -> MemoryStore {
    let memory = MemoryStore::new();
    let group = Group::create((&memory, "g"), ndzarr::Format::Zarr3).expect("it works");
    let a = group
        .create_array("a", Array::<u16>::builder([32]).chunks([4]))
        .expect("it works");
    a.write(.., &ndarray::Array1::from_iter(1..=32))
        .expect("it works");
    memory
        .set("g/notes.txt", "by another program")
        .expect("it works");
    memory
}

fn poll<T>(future: &mut Pin<Box<impl Future<Output = T>>>) -> bool {
    future
        .as_mut()
        .poll(&mut Context::from_waker(Waker::noop()))
        .is_ready()
}

/// The sum of the elements of a copy.
fn sum(to: &MemoryStore, path: &str) -> u64 {
    let a = Array::<u16>::open((to, format!("{path}/a"))).expect("the copy");
    a.read(..)
        .expect("elements")
        .iter()
        .map(|&n| u64::from(n))
        .sum()
}

/// 1 + 2 + … + 32.
const SUM: u64 = 528;

#[test]
fn the_polling_task_makes_all_requests() {
    let from = Watched::new(&source(), Odd::Nothing);
    let to = Watched::new(&MemoryStore::new(), Odd::Nothing);
    let between = Watched::new(&MemoryStore::new(), Odd::Nothing);
    let [source, target, temporary] =
        [&from, &to, &between].map(|store| Storage::asynchronous(store.clone()));
    let planes = Array::<u16>::builder([64, 64, 64]).chunks([1, 64, 64]);
    planes
        .create((from.inner.memory(), "planes"))
        .expect("it works")
        .fill(.., 3)
        .expect("it works");
    // Byte for byte, and in other chunks.
    for (i, options) in [CopyOptions::new(), CopyOptions::new().chunks([5])]
        .iter()
        .enumerate()
    {
        let path = format!("h{i}");
        let copied = block_on(asynchronous::copy(
            (&source, "g"),
            (&target, &path),
            options,
        ));
        let report = copied.expect("a copy");
        assert_eq!(report.account.expect("it lists").files.n, 1, "{i}");
        assert_eq!(sum(to.inner.memory(), &path), SUM, "{i}");
    }
    // In two passes, by a temporary array: planes become columns in less than a sixth of the
    // memory.
    let run = RunOptions::default().threads(NonZeroUsize::new(1));
    let columns = CopyOptions::new()
        .chunks([64, 4, 4])
        .run(run)
        .memory((2 << 20) + (200 << 10));
    let columns = columns.temporary((&temporary, ""));
    let report = block_on(asynchronous::copy(
        (&source, "planes"),
        (&target, "columns"),
        &columns,
    ));
    assert_eq!(
        report.expect("a copy").nodes[0].temporary_bytes,
        64 * 64 * 64 * 2
    );
    let columns = Array::<u16>::open((to.inner.memory(), "columns")).expect("the copy");
    assert!(columns.read(..).expect("elements").iter().all(|&n| n == 3));
    for store in [&from, &to, &between] {
        let threads = store.threads.lock().expect("it works");
        assert_eq!(*threads, HashSet::from([thread::current().id()]));
    }
}

/// The thread that copies does not wait for answers to requests that are not made any more.
#[test]
fn a_dropped_copy_ends() {
    for odd in [Odd::SilentChunks, Odd::EndlessLists] {
        let from = Watched::new(&source(), odd);
        let to = MemoryStore::new();
        let target: Arc<dyn Store> = Arc::new(to.clone());
        let weak = Arc::downgrade(&target);
        let options = CopyOptions::new();
        let places = (
            (Storage::asynchronous(from.clone()), "g"),
            (Storage::from(target), "h"),
        );
        let mut future = Box::pin(asynchronous::copy(places.0, places.1, &options));
        while !from.is_waiting.load(Ordering::SeqCst) {
            assert!(!poll(&mut future), "{odd:?}");
            thread::yield_now();
        }
        drop(future);
        until_gone(&weak);
        // A list that was cut must not pass for a whole one.
        Group::open((&to, "h")).expect_err("it is not whole");
        assert_eq!(to.get("h/zarr.json"), None, "{odd:?}");
    }
}

#[test]
fn a_panic_of_a_store_is_passed_on() {
    let from = Storage::asynchronous(Watched::new(&source(), Odd::PanicsAtChunks));
    let to = MemoryStore::new();
    let copied = catch_unwind(AssertUnwindSafe(|| {
        block_on(asynchronous::copy(
            (&from, "g"),
            (&to, "h"),
            &CopyOptions::new(),
        ))
    }));
    let panic = copied.expect_err("it panics");
    assert_eq!(
        panic.downcast_ref::<&str>(),
        Some(&"the store is out of order")
    );
    assert_eq!(to.get("h/zarr.json"), None);
}

/// The task may poll again in an hour.
#[test]
fn no_lock_is_held_while_the_source_is_read() {
    let folder = tempfile::tempdir().expect("it works");
    let memory = source();
    // Larger than the memory for files, so that it comes in pieces of 8 MiB.
    let large = vec![7; 20 << 20];
    memory.set("g/large.bin", large.clone()).expect("it works");
    let from = Watched::new(&memory, Odd::SilentParts);
    let options = CopyOptions::new().memory(4 << 20);
    let target = (folder.path(), "h");
    let mut future = Box::pin(asynchronous::copy(
        (Storage::asynchronous(from.clone()), "g"),
        target,
        &options,
    ));
    while !from.is_waiting.load(Ordering::SeqCst) {
        assert!(!poll(&mut future));
        thread::yield_now();
    }
    let store = FsStore::new(folder.path());
    let key = Key::new("h/large.bin").expect("it works");
    let locked = store.lock(&key, Wait::Try).expect("it works");
    assert!(matches!(locked, Locked::Held(_)), "{locked:?}");
    drop((locked, future));

    let from = Storage::asynchronous(Watched::new(&memory, Odd::Nothing));
    block_on(asynchronous::copy(
        (from, "g"),
        target,
        &options.clone().resume(),
    ))
    .expect("a copy");
    assert!(std::fs::read(folder.path().join("h/large.bin")).expect("the file") == large);
}

/// A thread for changes polls this copy, and has to make its requests while it works.
#[test]
fn a_copy_within_a_change_makes_its_requests() {
    let from = Storage::asynchronous(Watched::new(&source(), Odd::Nothing));
    let to = MemoryStore::new();
    let changed = MemoryStore::new();
    let made = asynchronous::Array::<u8>::builder([1]).create((&changed, "b"));
    let mut array = block_on(made).expect("it works");
    let copy = {
        let to = to.clone();
        move |_: Option<serde_json::Value>| {
            let options = CopyOptions::new();
            let copied = asynchronous::copy((&from, "g"), (&to, "h"), &options);
            json!(block_on(copied).expect("a copy").nodes.len())
        }
    };
    block_on(array.update_attribute("copied", copy)).expect("it works");
    assert_eq!(array.attributes()["copied"], 2);
    assert_eq!(sum(&to, "h"), SUM);
}
