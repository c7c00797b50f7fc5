//! Calls that wait: for others on their thread, for their own threads, for a slow store.

use std::future::Future;
use std::ops::Range;

use ndarray::Array1;
use ndzarr::{Array, FsStore, MemoryStore, Storage, asynchronous, codec};
use ndzarr_testkit::{AsyncMemoryStore, Latency, block_on, forward};
use serde_json::json;

use crate::gate::Gate;
use crate::reports_waits::ReportsWaits;

/// True if work on another thread ends without a panic. If it never ends, the test hangs.
fn ends(work: impl FnOnce() + Send + 'static) -> bool {
    std::thread::spawn(work).join().is_ok()
}

/// Large enough that its jobs are unfinished at the first poll.
fn joined(what: &'static str) -> bool {
    let path = tempfile::tempdir().expect("it works").keep();
    ends(move || {
        let noise =
            Array1::from_iter((0..1 << 20).map(|i: u32| i.wrapping_mul(2_654_435_761) >> 12));
        let a = Array::<u32>::builder([1 << 20])
            .chunks([1 << 19])
            .codecs([codec::zstd(3)]);
        let a = a.create((path.as_path(), "a")).expect("it works");
        a.write(.., &noise.clone().into_dyn()).expect("it works");
        let mut b = asynchronous::Array::from(a.clone());
        let mut a = asynchronous::Array::from(a);
        block_on(async {
            match what {
                "append" => {
                    drop(futures_util::future::join(a.append(0, &noise), b.append(0, &noise)).await)
                }
                "resize" => drop(futures_util::future::join(a.resize([3]), b.resize([2])).await),
                #[cfg(unix)]
                "link" => {
                    let link = path.join("link");
                    std::os::unix::fs::symlink(path.join("a"), &link).expect("it works");
                    let mut b =
                        asynchronous::Array::from(Array::<u32>::open(&link).expect("it works"));
                    drop(
                        futures_util::future::join(a.append(0, &noise), b.append(0, &noise)).await,
                    );
                }
                _ => {
                    let attributes = b.merge_attributes(json!({"x": 1}));
                    drop(futures_util::future::join(a.append(0, &noise), attributes).await);
                }
            }
        });
    })
}

#[test]
fn an_append_and_a_change_of_attributes_on_one_thread_end() {
    assert!(joined("attributes"));
}

#[test]
fn two_appends_on_one_thread_end() {
    assert!(joined("append"));
}

#[test]
#[cfg(unix)]
fn two_appends_by_two_paths_on_one_thread_end() {
    assert!(joined("link"));
}

#[test]
fn two_resizes_on_one_thread_end() {
    assert!(joined("resize"));
}

/// The append got the lock while it was not polled: it must not need that to release it.
#[test]
fn a_call_that_blocks_ends_while_an_append_just_got_the_document() {
    use std::task::{Context, Waker};

    use ndzarr::Store;
    use ndzarr::store::{Key, Locked, Wait};
    let path = tempfile::tempdir().expect("it works").keep();
    assert!(ends(move || {
        let (storage, waits) = ReportsWaits::new(FsStore::new(&path));
        let storage = Storage::blocking(storage);
        let a = Array::<u8>::builder([4])
            .chunks([4])
            .create((storage, "a"))
            .expect("it works");
        let store = FsStore::new(&path);
        let key = Key::new("a/zarr.json").expect("it works");
        let mut b = a.clone();
        let elements = Array1::from_elem(4, 1);
        let held = store.lock(&key, Wait::Block).expect("it works");
        let mut a = asynchronous::Array::from(a);
        let mut append = Box::pin(a.append(0, &elements));
        while waits.try_recv().is_err() {
            assert!(
                append
                    .as_mut()
                    .poll(&mut Context::from_waker(Waker::noop()))
                    .is_pending()
            );
            std::thread::yield_now();
        }
        drop(held);
        // Until the append has it, or has released it already.
        let is_over = || {
            Array::<u8>::open((path.as_path(), "a"))
                .expect("it works")
                .shape()
                == [8]
        };
        while let Locked::Held(lock) = store.lock(&key, Wait::Try).expect("it works") {
            drop(lock);
            if is_over() {
                break;
            }
            std::thread::yield_now();
        }
        b.merge_attributes(json!({"x": 1})).expect("it works");
        block_on(append).expect("it works");
    }));
}

mod stores {
    use bytes::Bytes;
    use ndzarr::Store;
    use ndzarr::store::{Fetch, Fetched, Key, Pin, Precondition, Put, StoreError};

    use super::*;

    /// Chunks wait until the gate is open.
    #[derive(Debug)]
    pub(super) struct Slow {
        pub(super) inner: MemoryStore,
        pub(super) gate: Gate,
    }

    impl Store for Slow {
        forward!(inner: put, erase);

        fn name(&self) -> String {
            "slow".to_owned()
        }

        fn fetch(&self, fetch: &Fetch) -> Result<Fetched, StoreError> {
            if fetch.key.as_str().contains("/c/") {
                self.gate.pass();
            }
            self.inner.fetch(fetch)
        }
    }

    /// Its chunks are read from another array, as in a virtual array.
    #[derive(Debug)]
    pub(super) struct Virtual {
        pub(super) documents: MemoryStore,
        pub(super) below: Array<u8>,
        pub(super) blocks_on_a_future: bool,
    }

    impl Store for Virtual {
        fn name(&self) -> String {
            "virtual".to_owned()
        }

        fn fetch(&self, fetch: &Fetch) -> Result<Fetched, StoreError> {
            let Some(chunk) = fetch.key.as_str().strip_prefix("a/c/") else {
                return self.documents.fetch(fetch);
            };
            let first = chunk.parse::<u64>().expect("it works") * 64;
            let region: [Range<u64>; 1] = [first..first + 64];
            let part = if self.blocks_on_a_future {
                block_on(asynchronous::Array::from(self.below.clone()).read(region))
            } else {
                self.below.read(region)
            };
            let bytes: Bytes = part
                .expect("it works")
                .into_iter()
                .collect::<Vec<u8>>()
                .into();
            let (size, parts) = fetch.want.cut(&fetch.key, &bytes)?;
            Ok(Fetched::Parts {
                pin: Pin::new(()),
                size,
                parts,
            })
        }

        fn put(&self, _: &Key, _: &[Bytes], _: Precondition) -> Result<Put, StoreError> {
            Err(StoreError::Unsupported("write"))
        }

        fn erase(&self, _: &Key, _: Precondition) -> Result<Put, StoreError> {
            Err(StoreError::Unsupported("erase"))
        }
    }
}

fn virtual_array(below: impl Into<Storage> + Send + 'static, blocks_on_a_future: bool) -> bool {
    ends(move || {
        let below = Array::<u8>::builder([4096])
            .chunks([16])
            .codecs([codec::zstd(1)])
            .create((below, "i"))
            .expect("it works");
        below.fill(.., 3).expect("it works");
        let documents = MemoryStore::new();
        Array::<u8>::builder([4096])
            .chunks([64])
            .create((&documents, "a"))
            .expect("it works");
        let storage = Storage::blocking(stores::Virtual {
            documents,
            below,
            blocks_on_a_future,
        });
        let a = Array::<u8>::open((&storage, "a")).expect("it works");
        for _ in 0..5 {
            a.read(..).expect("it works");
            block_on(asynchronous::Array::from(a.clone()).read(..)).expect("it works");
        }
    })
}

#[test]
fn a_store_that_reads_an_array_of_an_asynchronous_store_ends() {
    let below = AsyncMemoryStore::new(Latency::default()).with_polls(3);
    let below = Storage::asynchronous(below);
    assert!(virtual_array(below, false));
}

#[test]
fn a_store_that_waits_for_a_future_of_the_library_ends() {
    assert!(virtual_array(MemoryStore::new(), true));
}

/// All threads of the pool wait for a slow store. A reader from memory does not.
#[test]
fn a_slow_store_does_not_keep_up_reads_from_memory() {
    let gate = Gate::default();
    let slow = Storage::blocking(stores::Slow {
        inner: MemoryStore::new(),
        gate: gate.clone(),
    });
    let far = Array::<u8>::builder([64])
        .chunks([1])
        .create((&slow, "a"))
        .expect("it works");
    let near = Array::<u8>::builder([64])
        .chunks([16])
        .create((MemoryStore::new(), "a"))
        .expect("it works");
    near.fill(.., 1).expect("it works");
    let n = std::thread::available_parallelism()
        .expect("it works")
        .get();
    let readers: Vec<_> = (0..n + 2)
        .map(|_| {
            let far = far.clone();
            std::thread::spawn(move || drop(far.read([0..12]).expect("it works")))
        })
        .collect();
    // Every reader, and every thread of the pool. With one processor the readers work by
    // themselves.
    let helpers = if n > 1 { n } else { 0 };
    gate.wait_for(n + 2 + helpers);
    let read = {
        let near = near.clone();
        move || {
            near.read(..).expect("it works");
            block_on(asynchronous::Array::from(near.clone()).read(..)).expect("it works");
            block_on(
                asynchronous::Array::from(near.clone()).write([0..64], &Array1::from_elem(64, 2)),
            )
            .expect("it works");
        }
    };
    let ended = ends(read);
    gate.open();
    readers
        .into_iter()
        .for_each(|reader| reader.join().expect("it works"));
    assert!(ended);
}

/// More calls wait for a store that hangs than there will ever be threads for.
#[test]
fn a_store_that_hangs_does_not_keep_up_futures_of_others() {
    use std::task::{Context, Waker};

    ndzarr_testkit::in_own_process!();
    let gate = Gate::default();
    let slow = Storage::blocking(stores::Slow {
        inner: MemoryStore::new(),
        gate: gate.clone(),
    });
    let far = Array::<u8>::builder([600])
        .chunks([1])
        .create((&slow, "a"))
        .expect("it works");
    let far = asynchronous::Array::from(far);
    let near = Array::<u8>::builder([64])
        .chunks([16])
        .create((MemoryStore::new(), "a"))
        .expect("it works");
    near.fill(.., 1).expect("it works");
    let near = asynchronous::Array::from(near);
    let mut hung: Vec<_> = (0..600).map(|i| Box::pin(far.read([i..i + 1]))).collect();
    for future in &mut hung {
        assert!(
            future
                .as_mut()
                .poll(&mut Context::from_waker(Waker::noop()))
                .is_pending()
        );
    }
    for _ in 0..10 {
        assert_eq!(block_on(near.read(..)).expect("it works").sum(), 64);
    }
    block_on(near.write([0..64], &Array1::from_elem(64, 2))).expect("it works");
    gate.open();
    for future in hung {
        block_on(future).expect("it works");
    }
}
