//! Appends by several writers at once, and through stale handles.

use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::thread;

use futures_util::future::{BoxFuture, ready};
use ndarray::{Array1, ArrayD, IxDyn, array};
use ndzarr::store::{Can, DirListing, Prefix, StoreError};
use ndzarr::{
    AnyArray, Array, ArrayBuilder, AsyncStore, ConcurrentUpdate, ErrorKind, Format, FsStore,
    MemoryStore, RunOptions, Storage, Store, asynchronous, codec,
};
use ndzarr_testkit::{AsyncMemoryStore, Call, FaultStore, Latency, PlainStore, block_on};
use serde_json::json;

type Outcome<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

/// Arrays whose chunks, shards or blocks end in the middle of the appended elements.
fn layouts() -> Vec<(&'static str, ArrayBuilder<u16>)> {
    let plain = |format| Array::<u16>::builder([0]).chunks([7]).format(format);
    let sharded = |format| {
        Array::<u16>::builder([0])
            .chunks([2])
            .shards([8])
            .format(format)
    };
    vec![
        ("v2", plain(Format::Zarr2).codecs([codec::gzip(1)])),
        ("v3", plain(Format::Zarr3)),
        ("v3 shards", sharded(Format::Zarr3)),
        ("draft", plain(Format::DraftA)),
        ("draft shards", sharded(Format::DraftB)),
        ("n5", plain(Format::N5)),
    ]
}

/// Lets threads append three equal elements at a time, and checks that all are stored, each three
/// next to each other.
fn append_together(name: &str, storage: &Storage, builder: ArrayBuilder<u16>) -> Outcome {
    const THREADS: u16 = 4;
    const TIMES: u16 = 12;
    let a = builder.create((storage, "a"))?;
    thread::scope(|scope| {
        let writers: Vec<_> = (0..THREADS)
            .map(|writer| {
                let mut a = a.clone();
                scope.spawn(move || -> Outcome {
                    for i in 1..=TIMES {
                        let element = writer * 100 + i;
                        // One appends by futures.
                        if writer == 0 {
                            block_on(
                                asynchronous::Array::from(a.clone())
                                    .append(0, &array![element, element, element]),
                            )?;
                        } else {
                            a.append(0, &array![element, element, element])?;
                        }
                        if i % 4 == 0 {
                            a.merge_attributes(json!({ format!("{writer} {i}"): i }))?;
                        }
                    }
                    Ok(())
                })
            })
            .collect();
        writers
            .into_iter()
            .try_for_each(|writer| writer.join().expect("no writer panics"))
    })?;
    let a = Array::<u16>::open((storage, "a"))?;
    assert_eq!(
        a.attributes().len(),
        usize::from(THREADS * TIMES / 4),
        "{name}"
    );
    let mut all = a.read([0..a.shape()[0]])?.to_vec();
    assert!(
        all.chunks(3)
            .all(|three| three[0] == three[1] && three[1] == three[2]),
        "{name}: {all:?}"
    );
    all.sort_unstable();
    let expected: Vec<u16> = (0..THREADS)
        .flat_map(|w| (1..=TIMES).flat_map(move |i| [w * 100 + i; 3]))
        .collect();
    assert_eq!(all, expected, "{name}");
    Ok(())
}

#[test]
fn each_append_has_a_place_of_its_own_under_locks() -> Outcome {
    for (name, builder) in layouts() {
        let folder = tempfile::tempdir()?;
        append_together(name, &Storage::folder(folder.path()), builder)?;
    }
    Ok(())
}

#[test]
fn each_append_has_a_place_of_its_own_by_conditional_writes() -> Outcome {
    for (name, builder) in layouts() {
        append_together(name, &MemoryStore::new().into(), builder.clone())?;
        let store = AsyncMemoryStore::new(Latency::default()).with_polls(2);
        append_together(name, &Storage::asynchronous(store), builder)?;
    }
    Ok(())
}

#[test]
fn an_append_without_locks_writes_nothing_unless_the_last_writer_may_win() -> Outcome {
    for (name, builder) in layouts() {
        let memory = MemoryStore::new();
        let storage = Storage::blocking(PlainStore::new(memory.clone()));
        let mut a = builder.create((&storage, "a"))?;
        let keys = memory.keys();
        let error = a
            .append(0, &array![1, 2, 3])
            .expect_err("the store has no locks");
        assert_eq!(error.kind(), ErrorKind::NoLocking, "{name}");
        assert!(
            error.to_string().contains("the last writer"),
            "{name}: {error}"
        );
        assert_eq!((memory.keys(), a.shape()), (keys, &[0][..]), "{name}");

        let concurrent_update = ConcurrentUpdate::LastWriterWins;
        let mut a = a.with_options(RunOptions::default().concurrent_update(concurrent_update));
        a.append(0, &array![1, 2, 3])?;
        a.append(0, &array![4, 5, 6, 7, 8, 9])?;
        a.resize([8])?;
        assert_eq!(
            Array::<u16>::open((&storage, "a"))?.read(..)?,
            Array1::from_iter(1..9).into_dyn(),
            "{name}"
        );
    }
    Ok(())
}

/// Other writers have enlarged the array since it was opened: their elements in the chunk at its
/// end stay.
#[test]
fn a_write_through_a_stale_handle_keeps_what_others_appended() -> Outcome {
    for (name, builder) in layouts() {
        let storage = Storage::from(MemoryStore::new());
        let mut a = builder.create((&storage, "a"))?;
        a.append(0, &array![1, 2, 3])?;
        let stale = a.clone();
        a.append(0, &array![4, 5, 6])?;
        stale.write([1..2], &array![20])?;
        block_on(asynchronous::Array::from(stale.clone()).write([2..3], &array![30]))?;
        assert_eq!(a.read(..)?, array![1, 20, 30, 4, 5, 6].into_dyn(), "{name}");
    }
    // In two dimensions, where a block is larger along one axis and equal along the other.
    for format in [Format::N5, Format::Zarr3] {
        let storage = Storage::from(MemoryStore::new());
        let mut a = Array::<u16>::builder([3, 2])
            .chunks([4, 4])
            .format(format)
            .create((&storage, "a"))?;
        a.fill([0..3, 0..2], 1)?;
        let stale = a.clone();
        a.append(1, &ArrayD::from_elem(IxDyn(&[3, 1]), 2))?;
        stale.fill([0..1, 0..1], 7)?;
        assert_eq!(
            a.read(..)?,
            array![[7, 1, 2], [1, 1, 2], [1, 1, 2]].into_dyn(),
            "{format}"
        );
    }
    Ok(())
}

#[test]
fn a_shard_writer_keeps_what_others_append_meanwhile() -> Outcome {
    let folder = tempfile::tempdir()?;
    for storage in [
        Storage::from(MemoryStore::new()),
        Storage::folder(folder.path()),
    ] {
        let mut a = Array::<u16>::builder([3])
            .chunks([2])
            .shards([8])
            .create((&storage, "a"))?;
        a.fill([0..3], 1)?;
        let writer = a.shard_writer(&[0])?;
        a.append(0, &array![2, 3, 4])?;
        writer.write_chunk(&[0], &array![8, 9])?;
        writer.finish()?;
        assert_eq!(a.read(..)?, array![8, 9, 1, 2, 3, 4].into_dyn());
    }
    Ok(())
}

/// A store without locks whose futures are ready at once.
#[derive(Debug)]
struct Ready {
    inner: FaultStore<Arc<dyn Store>>,
    lists: bool,
}

impl AsyncStore for Ready {
    fn name(&self) -> String {
        Store::name(&self.inner)
    }

    ready!(inner);

    fn list_dir<'a>(&'a self, prefix: &'a Prefix) -> BoxFuture<'a, Result<DirListing, StoreError>> {
        let listing = if self.lists {
            self.inner.list_dir(prefix)
        } else {
            Err(StoreError::Unsupported("list"))
        };
        Box::pin(ready(listing))
    }

    fn can(&self) -> Can {
        Can {
            lock: false,
            list: self.lists,
            ..self.inner.can()
        }
    }

    fn block_on(&self, future: Pin<&mut dyn Future<Output = ()>>) -> Result<(), StoreError> {
        block_on(future);
        Ok(())
    }
}

/// Under locks, and where no one else writes, the elements come before the document: whatever
/// fails, the shape is the old one.
#[test]
fn a_failed_append_leaves_nothing_outside() -> Outcome {
    let calls = [
        Call::Lock,
        Call::Fetch,
        Call::Write,
        Call::Publish,
        Call::Put,
    ];
    for (name, builder) in layouts() {
        let kinds = ["locks", "memory", "asynchronous", "without lists"];
        for (call, kind) in calls
            .into_iter()
            .flat_map(|call| kinds.map(|kind| (call, kind)))
        {
            for nth in 0..6 {
                let folder = tempfile::tempdir()?;
                let (inner, policy): (Arc<dyn Store>, _) = match kind {
                    "locks" => (
                        Arc::new(FsStore::new(folder.path())),
                        ConcurrentUpdate::Merge,
                    ),
                    _ => (
                        Arc::new(MemoryStore::new()),
                        ConcurrentUpdate::LastWriterWins,
                    ),
                };
                let store = FaultStore::new(inner);
                let storage = match kind {
                    "asynchronous" => Storage::asynchronous(Ready {
                        inner: store.clone(),
                        lists: true,
                    }),
                    "without lists" => Storage::asynchronous(Ready {
                        inner: store.clone(),
                        lists: false,
                    }),
                    _ => Storage::blocking(store.clone()),
                };
                // Creating an array of the draft takes a list.
                builder
                    .clone()
                    .create((&Storage::blocking(store.clone()), "a"))?;
                let a = Array::<u16>::open((&storage, "a"))?;
                let mut a = a.with_options(RunOptions::default().concurrent_update(policy));
                a.append(0, &Array1::from_elem(5, 1))?;
                store.fail_nth(call, nth, StoreError::Unsupported("do this"));
                let appended = a.append(0, &Array1::from_elem(30, 2));
                if store.heal_unused() > 0 {
                    appended?;
                    break;
                }
                let error = appended.expect_err("a call of it failed");
                let mut a = Array::<u16>::open((&storage, "a"))?;
                // The append is complete if only copies of the document could not be updated; the
                // error says so.
                let is_done = error.to_string().contains("the change is stored");
                assert_eq!(
                    a.shape(),
                    [if is_done { 35 } else { 5 }],
                    "{name}, {kind}: {error}"
                );
                a.resize([40])?;
                let sum: u32 = a.read(..)?.iter().map(|&n| u32::from(n)).sum();
                assert_eq!(
                    sum,
                    if is_done { 65 } else { 5 },
                    "{name}, {kind}: {call:?} {nth}"
                );
            }
        }
    }
    Ok(())
}

#[test]
fn bytes_are_appended_as_elements_are() -> Outcome {
    let store = MemoryStore::new();
    Array::<u16>::builder([1, 2])
        .chunks([2, 2])
        .create((&store, "a"))?;
    let mut a = AnyArray::open((&store, "a"))?;
    let bytes: Vec<u8> = [1u16, 2, 3, 4]
        .iter()
        .flat_map(|n| n.to_ne_bytes())
        .collect();
    a.append_bytes(0, &bytes)?;
    let mut other = asynchronous::AnyArray::from(a);
    block_on(other.append_bytes(1, &bytes[..6]))?;
    let mut a = AnyArray::from(other);
    assert_eq!(
        a.clone().typed::<u16>()?.read(..)?,
        array![[0, 0, 1], [1, 2, 2], [3, 4, 3]].into_dyn()
    );
    a.append_bytes(0, &[])?;
    assert_eq!(a.shape(), [3, 3]);
    for (axis, n) in [(0, 5), (2, 6), (0, 7)] {
        let error = a
            .append_bytes(axis, &vec![0; n])
            .expect_err("it does not fit");
        assert_eq!(error.kind(), ErrorKind::WrongShape);
    }
    // Also of types without a Rust type.
    let raw = r#"{"zarr_format":3,"node_type":"array","shape":[1],"data_type":"r24","chunk_grid":{"name":"regular",
        "configuration":{"chunk_shape":[2]}},"chunk_key_encoding":{"name":"default"},"fill_value":[1,2,3],
        "codecs":[{"name":"bytes"}]}"#;
    store.set("r/zarr.json", raw)?;
    let mut r = AnyArray::open((&store, "r"))?;
    r.append_bytes(0, &[4, 5, 6, 7, 8, 9])?;
    assert_eq!(r.read_bytes(&[0..3])?, [1, 2, 3, 4, 5, 6, 7, 8, 9]);
    Ok(())
}
