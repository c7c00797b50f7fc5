//! Every asynchronous call, on blocking stores, which must not block the polling task, and on an
//! asynchronous one; calls whose futures are dropped.

use std::future::Future;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::thread::{self, ThreadId};

use bytes::Bytes;
use ndarray::{Array2, array};
use ndzarr::asynchronous::{AnyArray, AnyNode, Array, Child, Group, OpenOptions, copy};
use ndzarr::store::{
    DirListing, Fetch, Fetched, Key, KeyLock, Locked, Of, Pin, Precondition, Prefix, Put,
    StoreError, Wait, Want,
};
use ndzarr::{
    AttributeChange, CopyOptions, ErrorKind, Format, FsStore, MemoryStore, N5Block, Result,
    Storage, Store,
};
use ndzarr_testkit::{AsyncMemoryStore, Latency, block_on, forward};
use serde_json::json;

/// A store, or a lock of it, that must not be called by the thread that polls the futures.
#[derive(Debug)]
struct OffThread<S> {
    inner: S,
    polling: ThreadId,
}

impl<S> OffThread<S> {
    fn new(store: S) -> Self {
        Self {
            inner: store,
            polling: thread::current().id(),
        }
    }

    fn get(&self) -> &S {
        assert_ne!(
            thread::current().id(),
            self.polling,
            "a request blocks the polling task"
        );
        &self.inner
    }

    fn get_mut(&mut self) -> &mut S {
        assert_ne!(
            thread::current().id(),
            self.polling,
            "a lock blocks the polling task"
        );
        &mut self.inner
    }
}

impl Store for OffThread<FsStore> {
    forward!(inner: name, range_merging, writes_wait);

    fn fetch(&self, fetch: &Fetch) -> Result<Fetched, StoreError> {
        self.get().fetch(fetch)
    }

    fn put(&self, key: &Key, parts: &[Bytes], only_if: Precondition) -> Result<Put, StoreError> {
        self.get().put(key, parts, only_if)
    }

    fn erase(&self, key: &Key, only_if: Precondition) -> Result<Put, StoreError> {
        self.get().erase(key, only_if)
    }

    fn lock(&self, key: &Key, wait: Wait<'_>) -> Result<Locked, StoreError> {
        Ok(match self.get().lock(key, wait)? {
            Locked::Held(inner) => Locked::Held(Box::new(OffThread {
                inner,
                polling: self.polling,
            })),
            other => other,
        })
    }

    fn list_dir(&self, prefix: &Prefix) -> Result<DirListing, StoreError> {
        self.get().list_dir(prefix)
    }
}

impl KeyLock for OffThread<Box<dyn KeyLock>> {
    fn fetch(&mut self, of: Of, want: Want) -> Result<Fetched, StoreError> {
        self.get_mut().fetch(of, want)
    }

    fn append(&mut self, part: &[u8]) -> Result<u64, StoreError> {
        self.get_mut().append(part)
    }

    fn write_at(&mut self, at: u64, part: &[u8]) -> Result<(), StoreError> {
        self.get_mut().write_at(at, part)
    }

    fn publish(mut self: Box<Self>) -> Result<Pin, StoreError> {
        self.get_mut();
        self.inner.publish()
    }

    fn erase(mut self: Box<Self>) -> Result<(), StoreError> {
        self.get_mut();
        self.inner.erase()
    }
}

/// Runs calls on stores of each kind.
fn on_each(run: impl AsyncFn(&Storage) -> Result<()>) {
    let folder = tempfile::tempdir().expect("a folder");
    let off_thread = tempfile::tempdir().expect("a folder");
    let storages = [
        Storage::from(MemoryStore::new()),
        Storage::folder(folder.path()),
        Storage::blocking(OffThread::new(FsStore::new(off_thread.path()))),
        Storage::asynchronous(AsyncMemoryStore::new(Latency::default())),
    ];
    for storage in &storages {
        block_on(run(storage)).unwrap_or_else(|error| panic!("{}: {error}", storage.name()));
    }
}

fn paths(nodes: &[Child]) -> Vec<String> {
    nodes.iter().map(|node| node.path()).collect()
}

#[test]
fn arrays_work_without_blocking_the_polling_task() {
    on_each(async |storage| {
        let mut a = Array::<u16>::builder([4, 6])
            .chunks([2, 3])
            .fill_value(7)
            .create((storage, "a"))
            .await?;
        a.write([0..2, 0..2], &array![[1, 2], [3, 4]]).await?;
        a.fill([3..4, 0..6], 9).await?;
        assert_eq!(a.read([0..2, 1..3]).await?, array![[2, 7], [4, 7]]);
        assert_eq!(
            a.read_many([[0..1, 0..1], [3..4, 5..6]]).await?,
            [array![[1]], array![[9]]]
        );
        let mut out = Array2::zeros((1, 2));
        a.read_into([1..2, 0..2], &mut out).await?;
        assert_eq!(out, array![[3, 4]]);
        a.write_chunk(&[1, 1], &Array2::from_elem((2, 3), 5).into_dyn())
            .await?;
        assert_eq!(a.read_chunk(&[1, 1]).await?.sum(), 30);
        assert_eq!(a.read_chunk(&[0, 0]).await?.shape(), [2, 3]);
        assert!(a.units().encoded(&[0, 0]).await?.is_some());
        assert!(a.units().encoded(&[0, 1]).await?.is_none());

        a.merge_attributes(json!({"x": 1})).await?;
        let y = serde_json::Map::from_iter([("y".to_owned(), json!(2))]);
        a.change_attributes(&AttributeChange::Merge(y)).await?;
        assert_eq!(
            (&a.attributes()["x"], &a.attributes()["y"]),
            (&json!(1), &json!(2))
        );
        a.append(0, &Array2::from_elem((1, 6), 8)).await?;
        a.resize([5, 5]).await?;
        assert_eq!(Array::<u16>::open((storage, "a")).await?.shape(), [5, 5]);

        let mut any = AnyArray::open((storage, "a")).await?;
        any.write_bytes(&[0..1, 0..1], &6u16.to_ne_bytes()).await?;
        assert_eq!(any.read_bytes(&[0..1, 0..1]).await?, 6u16.to_ne_bytes());
        any.append_bytes(0, &[0; 10]).await?;
        assert_eq!(
            any.typed::<u16>()?.read([4..6, 0..1]).await?,
            array![[8], [0]]
        );
        Ok(())
    });
}

#[test]
fn shards_texts_and_blocks_work_without_blocking_the_polling_task() {
    on_each(async |storage| {
        let s = Array::<u8>::builder([8])
            .chunks([2])
            .shards([4])
            .create((storage, "s"))
            .await?;
        let writer = s.shard_writer(&[1]).await?;
        writer.write_chunk(&[2], &array![1, 2]).await?;
        writer.finish().await?;
        assert_eq!(s.read([4..8]).await?, array![1, 2, 0, 0]);
        let texts = Array::<String>::builder([2]).create((storage, "t")).await?;
        let texts = AnyArray::from(texts);
        texts.write_vlen(&[0..1], &[b"a".to_vec()]).await?;
        assert_eq!(texts.read_vlen(&[0..2]).await?, [&b"a"[..], b""]);
        Ok(())
    });
    on_each(async |storage| {
        let n = Array::<u8>::builder([4])
            .chunks([2])
            .format(Format::N5)
            .create((storage, "n"))
            .await?;
        let block = N5Block {
            size: vec![2],
            elements: vec![1, 2, 3],
        };
        n.n5_blocks().write(&[1], &block).await?;
        assert_eq!(n.n5_blocks().read(&[1]).await?, Some(block));
        Ok(())
    });
}

#[test]
fn groups_and_copies_work_without_blocking_the_polling_task() {
    on_each(async |storage| {
        let mut g = Group::create((storage, "g"), Format::Zarr3).await?;
        g.create_array("a", Array::<u8>::builder([3]))
            .await?
            .fill(.., 1)
            .await?;
        g.create_group("h")
            .await?
            .create_array("b", Array::<u8>::builder([2]))
            .await?;
        g.merge_attributes(json!({"t": 1})).await?;
        assert_eq!(paths(&g.children().await?), ["a", "h"]);
        g.consolidate().await?;
        let g = OpenOptions::new().open_group((storage, "g")).await?;
        assert_eq!(paths(&g.walk().await?), ["a", "h", "h/b"]);
        assert_eq!(g.array::<u8>("h/b").await?.shape(), [2]);
        assert_eq!(g.group("h").await?.path(), "g/h");
        assert!(matches!(
            AnyNode::open((storage, "g/a")).await?,
            AnyNode::Array(_)
        ));
        g.erase("h").await?;
        assert_eq!(paths(&g.children().await?), ["a"]);

        let targets = [
            Storage::from(MemoryStore::new()),
            Storage::asynchronous(AsyncMemoryStore::new(Latency::default())),
        ];
        for target in &targets {
            for format in [Format::Zarr2, Format::N5] {
                let name = format.to_string();
                let options = CopyOptions::new().format(format);
                let report = copy((storage, "g"), (target, &name), &options).await?;
                assert_eq!(report.nodes.len(), 2);
                let copy = Array::<u8>::open((target, format!("{name}/a"))).await?;
                assert_eq!(copy.read(..).await?.sum(), 3, "{name}");
            }
        }
        g.erase_self().await?;
        let gone = Group::open((storage, "g")).await.map(drop);
        assert_eq!(gone.map_err(|error| error.kind()), Err(ErrorKind::NotFound));
        Ok(())
    });
}

#[test]
fn a_dropped_change_publishes_nothing_later() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Arc::new(FsStore::new(folder.path()));
    let weak = Arc::downgrade(&store);
    let a = ndzarr::Array::<u8>::builder([4])
        .create((Storage::blocking(store), "a"))
        .expect("an array");
    // Another process holds the lock of the document, so that the change waits.
    let others = FsStore::new(folder.path());
    let key = Key::new("a/zarr.json").expect("a key");
    let Locked::Held(lock) = others.lock(&key, Wait::Try).expect("a lock") else {
        panic!("it is free")
    };
    let mut a = Array::from(a);
    let mut change = Box::pin(a.merge_attributes(json!({"x": 1})));
    assert!(
        change
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
            .is_pending()
    );
    drop(change);
    drop((a, lock));
    while weak.strong_count() > 0 {
        std::thread::yield_now();
    }
    let a = ndzarr::Array::<u8>::open((folder.path(), "a")).expect("the array");
    assert!(a.attributes().is_empty(), "{:?}", a.attributes());
}
