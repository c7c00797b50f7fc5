//! Asynchronous changes of blocking stores: they queue for a few threads, and none waits for the task
//! that polls another.

use std::future::Future;
use std::sync::{Arc, Condvar, Mutex, mpsc};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

use futures_util::future::{join, join_all};
use ndarray::Array1;
use ndzarr::codec::{BytesToBytes, CodecError, Dst, Workspace};
use ndzarr::store::{Key, Locked, StoreError, Wait, ZipWriter};
use ndzarr::{
    Array, Cancel, CodecRegistry, Error, ErrorKind, FsStore, RunOptions, Storage, Store, asynchronous, codec,
};
use ndzarr_testkit::{block_on, forward, in_own_process};

/// Fails, and leaves the thread behind, where work hangs.
fn ends<R: Send + 'static>(what: &str, work: impl FnOnce() -> R + Send + 'static) -> R {
    ends_within(60, what, work)
}

/// The same, within some seconds.
fn ends_within<R: Send + 'static>(seconds: u64, what: &str, work: impl FnOnce() -> R + Send + 'static) -> R {
    let (send, receive) = mpsc::channel();
    thread::spawn(move || drop(send.send(work())));
    receive.recv_timeout(Duration::from_secs(seconds)).unwrap_or_else(|_| panic!("{what} hangs"))
}

/// Opens once, for all who wait.
#[derive(Clone, Debug, Default)]
struct Gate(Arc<(Mutex<State>, Condvar)>);

#[derive(Debug, Default)]
struct State {
    is_open: bool,
    came: usize,
}

impl Gate {
    fn open(&self) {
        self.0.0.lock().expect("no panic").is_open = true;
        self.0.1.notify_all();
    }

    fn shut(&self) {
        self.0.0.lock().expect("no panic").is_open = false;
    }

    fn pass(&self) {
        let mut state = self.0.0.lock().expect("no panic");
        state.came += 1;
        self.0.1.notify_all();
        drop(self.0.1.wait_while(state, |state| !state.is_open).expect("no panic"));
    }

    fn wait_for(&self, n: usize) {
        let state = self.0.0.lock().expect("no panic");
        drop(self.0.1.wait_while(state, |state| state.came < n).expect("no panic"));
    }
}

/// A codec that waits at a gate to encode.
#[derive(Debug)]
struct AtGate(Gate);

impl BytesToBytes for AtGate {
    fn name(&self) -> &'static str {
        "example.gate"
    }

    fn decode(&self, src: &[u8], dst: Dst<'_>, _: &mut Workspace) -> Result<usize, CodecError> {
        match dst {
            Dst::Exact(out) => out.copy_from_slice(src),
            Dst::Grow { buf, .. } => {
                buf.clear();
                buf.extend_from_slice(src);
            }
        }
        Ok(src.len())
    }

    fn encode(&self, src: &[u8], dst: &mut Vec<u8>, _: &mut Workspace) -> Result<(), CodecError> {
        self.0.pass();
        dst.clear();
        dst.extend_from_slice(src);
        Ok(())
    }
}

/// An array whose chunks are encoded once the gate is open.
fn gated(storage: &Storage, gate: &Gate) -> Array<u8> {
    let gate = gate.clone();
    let registry = CodecRegistry::new().with("example.gate", move |_| Ok(Arc::new(AtGate(gate.clone()))));
    let codecs = [codec::named("example.gate", serde_json::json!({}))];
    let array = Array::<u8>::builder([0]).chunks([64]).codecs(codecs).registry(registry);
    array.create((storage, "a")).expect("a new array")
}

/// Files that say when a call waits for a lock.
#[derive(Debug)]
struct Waits {
    inner: FsStore,
    says: mpsc::Sender<()>,
}

impl Store for Waits {
    forward!(inner: name, fetch, put, erase, list_dir);

    fn lock(&self, key: &Key, wait: Wait<'_>) -> Result<Locked, StoreError> {
        let Wait::While(goes_on) = wait else { return self.inner.lock(key, wait) };
        // The receiver may be gone.
        let say = || self.says.send(()).is_ok();
        self.inner.lock(key, Wait::While(&|| goes_on() && (say() || goes_on())))
    }
}

/// A change that must not wait for the append of a future, which holds the document.
fn beside_an_append(
    store: FsStore,
    change: impl FnOnce(Array<u8>, Cancel, mpsc::Receiver<()>) -> Result<(), Error>,
) -> ErrorKind {
    let gate = Gate::default();
    let (says, waits) = mpsc::channel();
    let a = gated(&Storage::blocking(Waits { inner: store, says }), &gate);
    let mut appended = asynchronous::Array::from(a.clone());
    thread::scope(|scope| {
        let append = scope.spawn(move || block_on(appended.append(0, &Array1::from_elem(8, 1))));
        gate.wait_for(1);
        let cancel = Cancel::new();
        waits.try_iter().for_each(drop);
        let changed = change(a.with_options(RunOptions::default().cancel(cancel.clone())), cancel, waits);
        // Only now may the append go on.
        gate.open();
        append.join().expect("no panic").expect("an append");
        changed.expect_err("the document is held").kind()
    })
}

#[test]
fn a_wait_for_the_document_of_a_future_ends_when_it_is_cancelled() {
    let kind = ends("the change", || {
        let folder = tempfile::tempdir().expect("a folder");
        beside_an_append(FsStore::new(folder.path()), |mut a, cancel, waits| {
            thread::scope(|scope| {
                let change = scope.spawn(move || a.set_attribute("k", &1));
                waits.recv().expect("the change waits for the lock");
                cancel.cancel();
                change.join().expect("no panic")
            })
        })
    });
    assert_eq!(kind, ErrorKind::Cancelled);
}

#[test]
fn a_wait_for_the_document_of_a_future_ends_at_its_limit() {
    let kind = ends("the change", || {
        let folder = tempfile::tempdir().expect("a folder");
        let limit = Duration::from_millis(20);
        let store = FsStore::builder(folder.path()).lock_timeout(limit).build();
        beside_an_append(store, |mut a, _, _| a.set_attribute("k", &1))
    });
    assert_eq!(kind, ErrorKind::Conflict);
}

/// An append to one store whose progress is logged in an array of another one.
fn appends_with_a_log(first: &Storage, second: &Storage) -> Result<(), Error> {
    let log = Array::<u64>::builder([0]).chunks([16]).create((second, "a"))?;
    let log = Mutex::new(log);
    let write = move |progress: ndzarr::Progress| {
        log.lock().expect("no panic").append(0, &[progress.done]).expect("an append");
    };
    let a = Array::<u8>::builder([0]).chunks([4]).create((first, "a"))?;
    let mut a = asynchronous::Array::from(a.with_options(RunOptions::default().progress(write)));
    block_on(a.append(0, &Array1::from_elem(16, 1)))
}

#[test]
fn two_archives_of_one_name_are_not_one() {
    ends("an append", || {
        let folder = tempfile::tempdir().expect("a folder");
        let archive =
            || Storage::from(ZipWriter::create_file(folder.path().join("a.zip")).expect("an archive"));
        appends_with_a_log(&archive(), &archive()).expect("an append");
    });
}

#[test]
#[cfg(target_os = "linux")]
fn two_folders_of_one_name_are_not_one() {
    use std::os::unix::ffi::OsStrExt;

    ends("an append", || {
        let folder = tempfile::tempdir().expect("a folder");
        let of = |name: &[u8]| Storage::folder(folder.path().join(std::ffi::OsStr::from_bytes(name)));
        let (first, second) = (of(b"M\xfcller"), of(b"M\xf6ller"));
        assert_eq!(first.name(), second.name());
        appends_with_a_log(&first, &second).expect("an append");
    });
}

/// A folder under another name.
#[derive(Debug)]
struct Renamed(FsStore);

impl Store for Renamed {
    forward!(0: fetch, put, erase, list_dir, lock);

    fn name(&self) -> String {
        format!("renamed {}", self.0.name())
    }
}

#[test]
fn a_blocking_call_ends_beside_a_future_that_holds_its_document_under_another_name() {
    ends("the change", || {
        let folder = tempfile::tempdir().expect("a folder");
        let a = Array::<u8>::builder([0]).chunks([4]).create((folder.path(), "a")).expect("a new array");
        let mut a = asynchronous::Array::from(a);
        let other = Storage::blocking(Renamed(FsStore::new(folder.path())));
        let mut b = Array::<u8>::open((other, "a")).expect("the array");
        let store = FsStore::new(folder.path());
        let key = Key::new("a/zarr.json").expect("a key");
        let elements = Array1::from_elem(1 << 12, 1);
        let blocking = async {
            // The document is held. What holds it is not polled from here on.
            while matches!(store.lock(&key, Wait::Try).expect("a try"), Locked::Held(_)) {
                yield_now().await;
            }
            b.set_attribute("k", &1)
        };
        let (appended, changed) = block_on(join(a.append(0, &elements), blocking));
        appended.and(changed).expect("both");
    });
}

async fn yield_now() {
    let mut has_yielded = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut has_yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

type Change = fn(Array<u8>) -> Result<(), Error>;

const CHANGES: [(&str, Change); 4] = [
    ("append", |mut a| a.append(0, &[1; 8])),
    ("append, a future", |a| {
        block_on(async { asynchronous::Array::from(a).append(0, &Array1::from_elem(8, 1)).await })
    }),
    ("resize", |mut a| a.resize([4])),
    ("resize, a future", |a| block_on(async { asynchronous::Array::from(a).resize([4]).await })),
];

/// The codec is not waited for, neither by a future nor by a blocking call.
#[test]
fn a_cancelled_change_frees_its_document_at_once() {
    for (what, change) in CHANGES {
        ends(what, move || {
            let (folder, gate) = (tempfile::tempdir().expect("a folder"), Gate::default());
            let mut a = gated(&Storage::folder(folder.path()), &gate);
            gate.open();
            // Whole chunks, so that the codec is not needed to undo an append.
            a.append(0, &[7; 64]).expect("an append");
            gate.shut();
            let cancel = Cancel::new();
            let first = a.clone().with_options(RunOptions::default().cancel(cancel.clone()));
            let call = thread::spawn(move || change(first));
            gate.wait_for(2);
            cancel.cancel();
            a.set_attribute("k", &1).expect("the document is free, and the gate is shut");
            gate.open();
            let error = call.join().expect("no panic").expect_err("it was cancelled");
            assert_eq!(error.kind(), ErrorKind::Cancelled, "{what}");
            assert!(a.read(..).expect("elements").iter().eq(&[7; 64]), "{what}");
        });
    }
}

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
    let (folder, gate) = (tempfile::tempdir().expect("a folder"), Gate::default());
    Array::<u8>::builder([4]).create((folder.path(), "a")).expect("a new array");
    let store = Arc::new(Hung { inner: FsStore::new(folder.path()), gate: gate.clone() });
    let held = Arc::downgrade(&store);
    let cancel = Cancel::new();
    let a = Array::<u8>::open((Storage::blocking(store), "a")).expect("the array");
    let a = asynchronous::Array::from(a.with_options(RunOptions::default().cancel(cancel.clone())));
    let mut context = Context::from_waker(Waker::noop());
    let mut handles = vec![a; 1000];
    let mut changes: Vec<_> = handles.iter_mut().map(|a| Box::pin(a.set_attribute("k", &1))).collect();
    for change in &mut changes {
        assert!(change.as_mut().poll(&mut context).is_pending());
    }
    gate.wait_for(16);
    cancel.cancel();
    let mut ended = 0;
    for change in &mut changes {
        if let Poll::Ready(result) = change.as_mut().poll(&mut context) {
            assert_eq!(result.expect_err("it was cancelled").kind(), ErrorKind::Cancelled);
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

/// All threads wait for a document whose holder waits for a change, which must not queue after them: each
/// of these would wait 640 ms for another thread.
#[test]
fn a_change_within_one_that_others_wait_for_ends() {
    ends_within(20, "the appends", || {
        let folder = tempfile::tempdir().expect("a folder");
        let storage = Storage::folder(folder.path());
        let log = Array::<u8>::builder([0]).chunks([64]).create((&storage, "log")).expect("a new array");
        let log = asynchronous::Array::from(log);
        let registry =
            CodecRegistry::new().with("example.logs", move |_| Ok(Arc::new(Logs(Mutex::new(log.clone())))));
        let codecs = [codec::named("example.logs", serde_json::json!({}))];
        let a = Array::<u8>::builder([0]).chunks([4]).codecs(codecs).registry(registry);
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

    /// The library's threads in this process, those of its pool apart.
    fn threads() -> [usize; 2] {
        let mut counts = HashMap::new();
        for task in fs::read_dir("/proc/self/task").expect("a folder of threads").flatten() {
            let Ok(name) = fs::read_to_string(task.path().join("comm")) else { continue };
            let Some(name) = name.trim().strip_prefix("ndzarr-") else { continue };
            let of_pool = name == "extra" || name.bytes().all(|byte| byte.is_ascii_digit());
            *counts.entry(of_pool).or_default() += 1;
        }
        [false, true].map(|of_pool| counts.get(&of_pool).copied().unwrap_or(0))
    }

    /// Runs work, which must not have too many threads beside the pool at any time.
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
        println!("{what}: {elapsed:?}, {} threads, and {} of the pool", most[0], most[1]);
        assert!(most[0] <= most_allowed(elapsed), "{} threads in {elapsed:?}", most[0]);
    }

    /// 16 threads, one that looks after the changes that wait, and those that replaced others where the
    /// machine was busy: six after 10 to 320 ms without a change that began, each further one after 640.
    fn most_allowed(elapsed: Duration) -> usize {
        16 + 1 + 6 + (elapsed.as_millis() / 640) as usize
    }

    #[test]
    fn a_thousand_appends_have_few_threads() {
        in_own_process!();
        let folder = tempfile::tempdir().expect("a folder");
        let a = Array::<u32>::builder([0]).chunks([16]).create((folder.path(), "a")).expect("a new array");
        let a = asynchronous::Array::from(a);
        let append = |n| {
            let mut a = a.clone();
            async move { a.append(0, &Array1::from_elem(16, n)).await.expect("an append") }
        };
        has_few("1,000 appends", || drop(block_on(join_all((0..1000).map(append)))));
        let a = Array::<u32>::open((folder.path(), "a")).expect("the array");
        let all: Vec<u32> = a.read(..).expect("elements").into_iter().collect();
        let mut firsts: Vec<u32> = all.chunks(16).map(|chunk| chunk[0]).collect();
        assert!(all.chunks(16).all(|chunk| chunk.iter().all(|n| *n == chunk[0])));
        firsts.sort_unstable();
        assert_eq!(firsts, (0..1000).collect::<Vec<u32>>());
    }

    #[test]
    fn writes_to_one_chunk_have_few_threads() {
        in_own_process!();
        let folder = tempfile::tempdir().expect("a folder");
        let a = Array::<u16>::builder([600]).create((folder.path(), "a")).expect("a new array");
        let a = asynchronous::Array::from(a);
        let write = |n: u16| {
            let a = a.clone();
            let at = u64::from(n);
            async move { a.write([at..at + 1], &Array1::from_elem(1, n)).await.expect("a write") }
        };
        has_few("600 writes", || drop(block_on(join_all((0..600).map(write)))));
        let a = Array::<u16>::open((folder.path(), "a")).expect("the array");
        let all: Vec<u16> = a.read(..).expect("elements").into_iter().collect();
        assert_eq!(all, (0..600).collect::<Vec<u16>>());
    }
}
