//! Blocking calls on asynchronous stores: the store determines how a thread may wait, and no call
//! waits for what its own thread would have to do.

use std::future::ready;
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::ThreadId;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use ndarray::{Array1, array};
use ndzarr::store::{DirListing, Fetch, Fetched, Key, Precondition, Prefix, Put, StoreError};
use ndzarr::{
    AnyArray, AnyNode, Array, ArrayRequest, CopyOptions, Error, ErrorKind, Existing, Format, Group,
    Result, RunOptions, Storage, asynchronous, copy, s,
};
use ndzarr::{AsyncStore, MemoryStore, Store};
use ndzarr_store::block_on;
use serde_json::json;
use tokio::runtime::{Builder, Handle, Runtime, RuntimeFlavor};

use crate::named_thread::ends;

/// Every request is a task of the thread's current runtime. Without one it panics, as reqwest does.
#[derive(Clone, Debug)]
struct OnTokio {
    memory: MemoryStore,
    runtime: Handle,
}

impl OnTokio {
    async fn request<T>(&self, answer: impl FnOnce(&MemoryStore) -> T) -> T {
        tokio::spawn(ready(())).await.expect("no panic");
        answer(&self.memory)
    }
}

impl AsyncStore for OnTokio {
    fn name(&self) -> String {
        "on tokio".to_owned()
    }

    fn fetch<'a>(&'a self, fetch: &'a Fetch) -> BoxFuture<'a, Result<Fetched, StoreError>> {
        Box::pin(self.request(|memory| memory.fetch(fetch)))
    }

    fn put<'a>(
        &'a self,
        key: &'a Key,
        parts: &'a [Bytes],
        only_if: Precondition,
    ) -> BoxFuture<'a, Result<Put, StoreError>> {
        Box::pin(self.request(|memory| memory.put(key, parts, only_if)))
    }

    fn erase<'a>(
        &'a self,
        key: &'a Key,
        only_if: Precondition,
    ) -> BoxFuture<'a, Result<Put, StoreError>> {
        Box::pin(self.request(|memory| memory.erase(key, only_if)))
    }

    fn list_dir<'a>(&'a self, prefix: &'a Prefix) -> BoxFuture<'a, Result<DirListing, StoreError>> {
        Box::pin(self.request(|memory| memory.list_dir(prefix)))
    }

    fn block_on(&self, future: Pin<&mut dyn Future<Output = ()>>) -> Result<(), StoreError> {
        if Handle::try_current()
            .is_ok_and(|here| here.runtime_flavor() == RuntimeFlavor::CurrentThread)
        {
            return Err(StoreError::Unsupported("block a runtime of one thread"));
        }
        tokio::task::block_in_place(|| self.runtime.block_on(future));
        Ok(())
    }
}

/// A store that does not determine how a thread may wait for it.
#[derive(Debug)]
struct Silent(MemoryStore);

impl AsyncStore for Silent {
    fn name(&self) -> String {
        "not on tokio".to_owned()
    }

    ready!(0);

    fn list_dir<'a>(&'a self, prefix: &'a Prefix) -> BoxFuture<'a, Result<DirListing, StoreError>> {
        Box::pin(ready(self.0.list_dir(prefix)))
    }
}

/// The nodes for the calls.
struct Made {
    storage: Storage,
    array: Array<u16>,
    sharded: Array<u16>,
    root: Group,
}

async fn made(storage: Storage) -> Result<Made> {
    let asynchronous::AnyNode::Array(array) = ({
        asynchronous::Array::<u16>::builder([8])
            .chunks([4])
            .create((&storage, "made/a"))
            .await?;
        asynchronous::AnyNode::open((&storage, "made/a")).await?
    }) else {
        panic!("an array was made");
    };
    let array: asynchronous::Array<u16> = array.typed()?;
    array.write([0..8], &Array1::from_iter(0..8)).await?;
    let sharded = asynchronous::Array::<u16>::builder([8])
        .chunks([2])
        .shards([4]);
    let sharded = sharded.create((&storage, "made/s")).await?;
    let asynchronous::AnyNode::Group(root) =
        asynchronous::AnyNode::open((&storage, "made")).await?
    else {
        panic!("a group is above the array");
    };
    Ok(Made {
        storage,
        array: array.into(),
        sharded: sharded.into(),
        root: root.into(),
    })
}

/// One blocking call of each sort.
fn blocking_calls(made: Made) -> Vec<(&'static str, Option<Error>)> {
    let Made {
        storage,
        array,
        sharded,
        root,
    } = made;
    let mut outcomes = Vec::new();
    let mut call = |name: &'static str, call: &mut dyn FnMut() -> Result<()>| {
        outcomes.push((name, call().err()));
    };
    let u8s = || Array::<u8>::builder([3]);
    let request = ArrayRequest::new(vec![1], vec![1], array.data_type().clone());

    call("Group::open_in", &mut || {
        Group::open((&storage, "made")).map(drop)
    });
    call("Group::create", &mut || {
        Group::create((&storage, "new"), Format::Zarr3).map(drop)
    });
    call("AnyNode::open_in", &mut || {
        AnyNode::open(&storage).map(drop)
    });
    call("members", &mut || root.children().map(drop));
    call("walk", &mut || root.walk().map(drop));
    call("children", &mut || root.children().map(drop));
    call("descendants", &mut || root.walk().map(drop));
    call("Group::array", &mut || root.array::<u16>("a").map(drop));
    call("create_group", &mut || root.create_group("g").map(drop));
    call("Group::group", &mut || root.group("g").map(drop));
    call("create_array", &mut || {
        root.create_array("b", u8s()).map(drop)
    });
    call("Group::merge_attributes", &mut || {
        root.clone().merge_attributes(json!({"a": 1}))
    });
    call("consolidate", &mut || root.clone().consolidate());
    call("erase", &mut || root.erase("b"));

    call("Array::open_in", &mut || {
        Array::<u16>::open((&storage, "made/a")).map(drop)
    });
    call("Array::create", &mut || {
        u8s().create((&storage, "c")).map(drop)
    });
    call("AnyArray::open_in", &mut || {
        AnyArray::open((&storage, "made/a")).map(drop)
    });
    call("AnyArray::create", &mut || {
        AnyArray::builder(&request.shape)
            .request(request.clone())
            .format(Format::Zarr2)
            .create((&storage, "d"))
            .map(drop)
    });
    call("Array::merge_attributes", &mut || {
        array.clone().merge_attributes(json!({"a": 1}))
    });
    call("read", &mut || array.read(s![1..3]).map(drop));
    call("read_many", &mut || {
        array.read_many([[1..3], [5..6]]).map(drop)
    });
    call("write", &mut || array.write(s![1..3], &array![7, 8]));
    call("fill", &mut || array.fill([2..4], 1));
    call("read_chunk", &mut || array.read_chunk(&[1]).map(drop));
    call("write_chunk", &mut || {
        array.write_chunk(&[1], &array![1, 2, 3, 4].into_dyn())
    });
    call("units().encoded", &mut || {
        array.units().encoded(&[1]).map(drop)
    });
    call("units().stored", &mut || array.units().stored().map(drop));
    call("resize", &mut || array.clone().resize([7]));
    call("append", &mut || {
        Array::<u16>::open((&storage, "made/a"))?.append(0, &array![9u16])
    });
    call("append_bytes", &mut || {
        AnyArray::open((&storage, "made/a"))?.append_bytes(0, &[0, 0])
    });
    call("ShardWriter::finish", &mut || {
        let writer = sharded.shard_writer(&[0])?;
        writer.write_chunk(&[0], &array![1, 2])?;
        writer.finish()
    });

    let memory = Storage::from(MemoryStore::new());
    u8s()
        .create((&memory, "c"))
        .expect("a store in memory blocks");
    let v2 = CopyOptions::new().format(Format::Zarr2);
    let n5 = CopyOptions::new().format(Format::N5);
    call("convert from", &mut || {
        copy((&storage, "made"), (&memory, "made"), &v2).map(drop)
    });
    call("convert to", &mut || {
        copy((&memory, "c"), (&storage, "f"), &n5).map(drop)
    });
    call("convert within", &mut || {
        copy((&storage, "made/a"), (&storage, "e"), &n5).map(drop)
    });
    call("erase_self", &mut || {
        Group::open((&storage, "made"))?.erase_self()
    });
    outcomes
}

fn all_work(outcomes: Vec<(&'static str, Option<Error>)>) {
    for (call, error) in outcomes {
        assert!(error.is_none(), "{call}: {error:?}");
    }
}

fn all_refuse(outcomes: Vec<(&'static str, Option<Error>)>, because: &str) {
    for (call, error) in outcomes {
        let error = error.unwrap_or_else(|| panic!("{call} works"));
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{call}: {error:?}");
        assert!(error.to_string().contains(because), "{call}: {error}");
        assert!(error.to_string().contains("on tokio"), "{call}: {error}");
    }
}

fn two_threads() -> Runtime {
    Builder::new_multi_thread()
        .worker_threads(2)
        .build()
        .expect("a runtime")
}

fn on_tokio(runtime: &Handle) -> OnTokio {
    OnTokio {
        memory: MemoryStore::new(),
        runtime: runtime.clone(),
    }
}

#[test]
fn blocking_calls_inside_a_runtime_of_one_thread_are_errors() {
    ends("a blocking call", || {
        let runtime = Builder::new_current_thread().build().expect("a runtime");
        runtime.block_on(async {
            let made = made(Storage::asynchronous(on_tokio(&Handle::current())))
                .await
                .expect("asynchronous calls work");
            all_refuse(blocking_calls(made), "cannot block a runtime of one thread");
        });
    });
}

#[test]
fn blocking_calls_work_on_a_thread_without_a_runtime() {
    ends("a blocking call", || {
        let runtime = two_threads();
        let store = on_tokio(runtime.handle());
        let made = runtime.block_on(made(Storage::asynchronous(store.clone())));
        all_work(blocking_calls(made.expect("it works")));
        // A pointer to a store waits as the store does.
        let shared: Arc<dyn AsyncStore> = Arc::new(store);
        let storage = Storage::asynchronous(Box::new(shared));
        Array::<u8>::builder([3])
            .create((&storage, "a"))
            .expect("it works")
            .fill(.., 1)
            .expect("it works");
    });
}

#[test]
fn blocking_calls_work_inside_a_runtime_of_several_threads() {
    ends("a blocking call", || {
        let runtime = two_threads();
        runtime.block_on(async {
            for precaution in ["block_in_place", "spawn_blocking", "no precaution"] {
                let made = made(Storage::asynchronous(on_tokio(&Handle::current())))
                    .await
                    .expect("it works");
                let calls = match precaution {
                    "block_in_place" => {
                        tokio::spawn(async { tokio::task::block_in_place(|| blocking_calls(made)) })
                            .await
                    }
                    "spawn_blocking" => tokio::task::spawn_blocking(|| blocking_calls(made)).await,
                    _ => tokio::spawn(async { blocking_calls(made) }).await,
                };
                all_work(calls.expect("no panic"));
            }
        });
    });
}

#[test]
fn a_store_that_does_not_say_how_to_wait_refuses_blocking_calls() {
    let storage = Storage::asynchronous(Silent(MemoryStore::new()));
    let made = block_on(made(storage)).expect("asynchronous calls work");
    all_refuse(
        blocking_calls(made),
        "cannot be waited for by a blocking call: use the asynchronous call",
    );
}

/// A call over two stores waits for each as that store determines.
#[test]
fn copies_between_stores_of_two_runtimes_work() {
    ends("a conversion", || {
        let (first, second) = (two_threads(), two_threads());
        let [from, to] =
            [&first, &second].map(|runtime| Storage::asynchronous(on_tokio(runtime.handle())));
        let made = first.block_on(made(from.clone())).expect("it works");
        for existing in [Existing::Refuse, Existing::Replace] {
            let options = CopyOptions::new().format(Format::Zarr3).existing(existing);
            copy((&from, "made"), (&to, "made"), &options).expect("it works");
            let silent = Storage::asynchronous(Silent(MemoryStore::new()));
            let error =
                copy((&from, "made"), (&silent, "made"), &options).expect_err("it cannot wait");
            assert_eq!(error.kind(), ErrorKind::Unsupported);
        }
        drop(made);
    });
}

/// Chunks are fetched while the thread of the call waits as the store determines: a runtime with
/// only this thread continues.
#[derive(Debug)]
struct Watched {
    memory: MemoryStore,
    caller: ThreadId,
    waits: AtomicBool,
    fetched_elsewhere: AtomicBool,
}

impl AsyncStore for Watched {
    fn name(&self) -> String {
        "watched".to_owned()
    }

    fn fetch<'a>(&'a self, fetch: &'a Fetch) -> BoxFuture<'a, Result<Fetched, StoreError>> {
        if std::thread::current().id() != self.caller {
            self.fetched_elsewhere.store(true, Ordering::SeqCst);
            assert!(
                self.waits.load(Ordering::SeqCst),
                "the caller does something else"
            );
        } else if fetch.key.as_str().contains("/c/") {
            // However fast it is, it leaves a chunk to others.
            while !self.fetched_elsewhere.load(Ordering::SeqCst) {
                std::thread::yield_now();
            }
        }
        Box::pin(ready(self.memory.fetch(fetch)))
    }

    fn put<'a>(
        &'a self,
        _: &'a Key,
        _: &'a [Bytes],
        _: Precondition,
    ) -> BoxFuture<'a, Result<Put, StoreError>> {
        Box::pin(ready(Err(StoreError::Unsupported("write"))))
    }

    fn erase<'a>(&'a self, _: &'a Key, _: Precondition) -> BoxFuture<'a, Result<Put, StoreError>> {
        Box::pin(ready(Err(StoreError::Unsupported("erase"))))
    }

    fn block_on(&self, future: Pin<&mut dyn Future<Output = ()>>) -> Result<(), StoreError> {
        if std::thread::current().id() == self.caller {
            let outer = self.waits.swap(true, Ordering::SeqCst);
            block_on(future);
            self.waits.store(outer, Ordering::SeqCst);
        } else {
            block_on(future);
        }
        Ok(())
    }
}

#[test]
fn threads_of_a_copy_fetch_while_its_caller_waits() {
    let memory = MemoryStore::new();
    let a = Array::<u16>::builder([2000])
        .chunks([1])
        .create((&memory, "a"))
        .expect("an array");
    a.fill(.., 1).expect("elements");
    // Encoded chunks are copied by threads. Blocks of elements are awaited by the caller, all at
    // once.
    for (format, by_threads) in [(Format::Zarr2, true), (Format::N5, false)] {
        let store = Watched {
            memory: memory.clone(),
            caller: std::thread::current().id(),
            waits: AtomicBool::new(false),
            fetched_elsewhere: AtomicBool::new(!by_threads),
        };
        let run = RunOptions::default().threads(NonZeroUsize::new(4));
        let options = CopyOptions::new().format(format).run(run);
        let source = Storage::asynchronous(store);
        copy((&source, "a"), (MemoryStore::new(), "a"), &options).expect("it works");
    }
}
