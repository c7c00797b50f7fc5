//! Queues of many changes: few threads, changes that leave, and changes within changes.

use std::future::Future;
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use futures_util::future::join_all;
use ndarray::Array1;
use ndzarr::codec::{BytesToBytes, CodecError, Dst, Workspace};
use ndzarr::store::{Key, Locked, StoreError, Wait};
use ndzarr::{
    Array, Cancel, CodecRegistry, ErrorKind, FsStore, RunOptions, Storage, Store, asynchronous,
    codec,
};
use ndzarr_testkit::{block_on, forward, in_own_process};

use crate::change_queue::ends_within;
use crate::gate::Gate;

/// Files in which locking the document of "a" waits at a gate.
#[derive(Debug)]
struct Hung {
    inner: FsStore,
    gate: Gate,
}

impl Store for Hung {
    forward!(inner: name, fetch, put, erase, list_dir);

    fn lock(&self, key: &Key, wait: Wait<'_>) -> Result<Locked, StoreError> {
        if key.as_str() == "a/zarr.json" {
            self.gate.pass();
        }
        self.inner.lock(key, wait)
    }
}

/// Most have not begun. Those that have wait for a store that hangs.
#[test]
fn changes_that_queue_leave_at_once_with_what_they_hold() {
    in_own_process!();
    let folder = tempfile::tempdir().expect("a folder");
    let gate = Gate::default();
    Array::<u8>::builder([4])
        .create((folder.path(), "a"))
        .expect("a new array");
    let store = Arc::new(Hung {
        inner: FsStore::new(folder.path()),
        gate: gate.clone(),
    });
    let held = Arc::downgrade(&store);
    let cancel = Cancel::new();
    let a = Array::<u8>::open((Storage::blocking(store), "a")).expect("the array");
    let a = asynchronous::Array::from(a.with_options(RunOptions::default().cancel(cancel.clone())));
    let mut context = Context::from_waker(Waker::noop());
    let mut handles = vec![a; 1000];
    let mut changes: Vec<_> = handles
        .iter_mut()
        .map(|a| Box::pin(a.set_attribute("k", &1)))
        .collect();
    for change in &mut changes {
        assert!(change.as_mut().poll(&mut context).is_pending());
    }
    gate.wait_for(16);
    cancel.cancel();
    let mut ended = 0;
    for change in &mut changes {
        if let Poll::Ready(result) = change.as_mut().poll(&mut context) {
            assert_eq!(
                result.expect_err("it was cancelled").kind(),
                ErrorKind::Cancelled
            );
            ended += 1;
        }
    }
    assert!(ended > 500, "{ended} of 1000");
    drop(changes);
    drop(handles);
    assert!(held.strong_count() < 500, "{}", held.strong_count());
    gate.open();
}

/// A codec whose encoder changes another array of the store.
#[derive(Debug)]
struct Logs(Mutex<asynchronous::Array<u8>>);

impl BytesToBytes for Logs {
    fn name(&self) -> &'static str {
        "example.logs"
    }

    fn decode(&self, _: &[u8], _: Dst<'_>, _: &mut Workspace) -> Result<usize, CodecError> {
        unreachable!("nothing is read")
    }

    fn encode(&self, src: &[u8], dst: &mut Vec<u8>, _: &mut Workspace) -> Result<(), CodecError> {
        let mut log = self.0.lock().expect("no panic").clone();
        block_on(log.append(0, &Array1::from_elem(1, src[0]))).expect("an append to the log");
        dst.clear();
        dst.extend_from_slice(src);
        Ok(())
    }
}

/// All threads wait for a document whose holder waits for a change, which must not queue after
/// them: each of these would wait 640 ms for another thread.
#[test]
fn a_change_within_one_that_others_wait_for_ends() {
    ends_within(20, "the appends", || {
        let folder = tempfile::tempdir().expect("a folder");
        let storage = Storage::folder(folder.path());
        let log = Array::<u8>::builder([0])
            .chunks([64])
            .create((&storage, "log"))
            .expect("a new array");
        let log = asynchronous::Array::from(log);
        let registry = CodecRegistry::new().with("example.logs", move |_| {
            Ok(Arc::new(Logs(Mutex::new(log.clone()))))
        });
        let codecs = [codec::named("example.logs", serde_json::json!({}))];
        let a = Array::<u8>::builder([0])
            .chunks([4])
            .codecs(codecs)
            .registry(registry);
        let a = asynchronous::Array::from(a.create((&storage, "a")).expect("a new array"));
        let append = |n: u8| {
            let mut a = a.clone();
            async move { a.append(0, &Array1::from_elem(4, n + 1)).await }
        };
        for appended in block_on(join_all((0..40).map(append))) {
            appended.expect("an append");
        }
        let log = Array::<u8>::open((&storage, "log")).expect("the log");
        let mut all: Vec<u8> = log.read(..).expect("elements").into_iter().collect();
        all.sort_unstable();
        assert_eq!(all, (1..=40).collect::<Vec<u8>>());
    });
}

#[cfg(target_os = "linux")]
mod counted {
    use std::collections::HashMap;
    use std::fs;
    use std::time::Instant;

    use super::*;

    /// How many threads of the library this process has, outside its pool and in it.
    fn threads() -> [usize; 2] {
        let mut counts = HashMap::new();
        for task in fs::read_dir("/proc/self/task")
            .expect("a folder of threads")
            .flatten()
        {
            let Ok(name) = fs::read_to_string(task.path().join("comm")) else {
                continue;
            };
            let Some(name) = name.trim().strip_prefix("ndzarr-") else {
                continue;
            };
            let of_pool = name == "extra" || name.bytes().all(|byte| byte.is_ascii_digit());
            *counts.entry(of_pool).or_default() += 1;
        }
        [false, true].map(|of_pool| counts.get(&of_pool).copied().unwrap_or(0))
    }

    /// Runs work, which must not have too many threads outside the pool at any time.
    #[allow(clippy::print_stdout, reason = "the figures of decision 28")]
    fn has_few(what: &str, work: impl FnOnce()) {
        let (end, ended) = mpsc::channel();
        let start = Instant::now();
        let most = thread::scope(|scope| {
            let count = scope.spawn(move || {
                let mut most = [0; 2];
                while ended.recv_timeout(Duration::from_millis(1)).is_err() {
                    let now = threads();
                    most = [most[0].max(now[0]), most[1].max(now[1])];
                }
                most
            });
            work();
            end.send(()).expect("it counts");
            count.join().expect("no panic")
        });
        let elapsed = start.elapsed();
        println!(
            "{what}: {elapsed:?}, {} threads, and {} of the pool",
            most[0], most[1]
        );
        assert!(
            most[0] <= most_allowed(elapsed),
            "{} threads in {elapsed:?}",
            most[0]
        );
    }

    /// 16 threads, one that looks after the changes that wait, and those that replaced others where
    /// the machine was busy: six after 10 to 320 ms without a change that began, each further one
    /// after 640.
    fn most_allowed(elapsed: Duration) -> usize {
        16 + 1 + 6 + (elapsed.as_millis() / 640) as usize
    }

    #[test]
    fn a_thousand_appends_have_few_threads() {
        in_own_process!();
        let folder = tempfile::tempdir().expect("a folder");
        let a = Array::<u32>::builder([0])
            .chunks([16])
            .create((folder.path(), "a"))
            .expect("a new array");
        let a = asynchronous::Array::from(a);
        let append = |n| {
            let mut a = a.clone();
            async move {
                a.append(0, &Array1::from_elem(16, n))
                    .await
                    .expect("an append")
            }
        };
        has_few("1,000 appends", || {
            drop(block_on(join_all((0..1000).map(append))))
        });
        let a = Array::<u32>::open((folder.path(), "a")).expect("the array");
        let all: Vec<u32> = a.read(..).expect("elements").into_iter().collect();
        let mut firsts: Vec<u32> = all.chunks(16).map(|chunk| chunk[0]).collect();
        assert!(
            all.chunks(16)
                .all(|chunk| chunk.iter().all(|n| *n == chunk[0]))
        );
        firsts.sort_unstable();
        assert_eq!(firsts, (0..1000).collect::<Vec<u32>>());
    }

    #[test]
    fn writes_to_one_chunk_have_few_threads() {
        in_own_process!();
        let folder = tempfile::tempdir().expect("a folder");
        let a = Array::<u16>::builder([600])
            .create((folder.path(), "a"))
            .expect("a new array");
        let a = asynchronous::Array::from(a);
        let write = |n: u16| {
            let a = a.clone();
            let at = u64::from(n);
            async move {
                a.write([at..at + 1], &Array1::from_elem(1, n))
                    .await
                    .expect("a write")
            }
        };
        has_few("600 writes", || {
            drop(block_on(join_all((0..600).map(write))))
        });
        let a = Array::<u16>::open((folder.path(), "a")).expect("the array");
        let all: Vec<u16> = a.read(..).expect("elements").into_iter().collect();
        assert_eq!(all, (0..600).collect::<Vec<u16>>());
    }
}
