//! Abandoned calls: they change nothing in the store after a later call has begun.

use std::future::Future;
use std::path::Path;
use std::pin::{Pin, pin};
use std::sync::{Arc, Condvar, Mutex, Weak};
use std::task::{Context, Waker};
use std::thread;
use std::time::{Duration, Instant};

use ndarray::{Array1, arr1};
use ndzarr::codec::{BytesToBytes, CodecError, Dst, Workspace};
use ndzarr::{
    Array, Cancel, CodecRegistry, CopyOptions, ErrorKind, Format, FsStore, OpenOptions, RunOptions, Storage,
    asynchronous, codec,
};
use ndzarr_testkit::{block_on, forward};
use serde_json::json;

/// Stores bytes unchanged; waits at a gate for chunks that begin with 1, and fails for those that
/// begin with 200.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gate(Arc<(Mutex<State>, Condvar)>);

#[derive(Debug, Default)]
struct State {
    open: bool,
    /// The number of chunks that have arrived.
    came: usize,
    /// The stores of the arrays.
    stores: Vec<Weak<FsStore>>,
}

impl Gate {
    pub(crate) fn open(&self) {
        self.0.0.lock().expect("it works").open = true;
        self.0.1.notify_all();
    }

    /// Opens the gate, and waits until no call works on an array any more. These are the last
    /// handles of the arrays.
    fn end(&self, handles: impl Sized) {
        self.open();
        drop(handles);
        let stores = std::mem::take(&mut self.0.0.lock().expect("it works").stores);
        stores.iter().for_each(until_gone);
    }

    fn store(&self, folder: &Path) -> Storage {
        let store = Arc::new(FsStore::new(folder));
        self.0.0.lock().expect("it works").stores.push(Arc::downgrade(&store));
        Storage::blocking(store)
    }

    /// Waits until the gate is open.
    pub(crate) fn pass(&self) {
        let mut state = self.0.0.lock().expect("it works");
        state.came += 1;
        self.0.1.notify_all();
        while !state.open {
            state = self.0.1.wait(state).expect("it works");
        }
    }

    pub(crate) fn shut(&self) {
        self.0.0.lock().expect("it works").open = false;
    }

    pub(crate) fn wait_for(&self, chunks: usize) {
        let mut state = self.0.0.lock().expect("it works");
        while state.came < chunks {
            state = self.0.1.wait(state).expect("it works");
        }
    }

    fn came(&self) -> usize {
        self.0.0.lock().expect("it works").came
    }

    pub(crate) fn registry(&self) -> CodecRegistry {
        let gate = self.clone();
        CodecRegistry::new().with("gate", move |_| Ok(Arc::new(gate.clone())))
    }

    fn array(&self, folder: &Path, shape: u64) -> Array<u8> {
        let codecs = [codec::named("gate", json!({}))];
        Array::builder([shape])
            .chunks([4])
            .codecs(codecs)
            .registry(self.registry())
            .create((self.store(folder), "a"))
            .expect("it works")
    }

    fn again(&self, folder: &Path) -> Array<u8> {
        OpenOptions::new()
            .codecs(self.registry().clone())
            .open_array::<u8>((self.store(folder), "a"))
            .expect("it works")
    }
}

impl BytesToBytes for Gate {
    fn name(&self) -> &'static str {
        "gate"
    }

    fn decode(&self, src: &[u8], dst: Dst<'_>, _: &mut Workspace) -> Result<usize, CodecError> {
        match dst {
            Dst::Exact(out) if out.len() == src.len() => out.copy_from_slice(src),
            Dst::Grow { buf, .. } => {
                buf.clear();
                buf.extend_from_slice(src);
            }
            Dst::Exact(_) => return Err(CodecError::corrupt("gate", "another length")),
        }
        Ok(src.len())
    }

    fn encode(&self, src: &[u8], dst: &mut Vec<u8>, _: &mut Workspace) -> Result<(), CodecError> {
        let mut state = self.0.0.lock().expect("it works");
        state.came += 1;
        self.0.1.notify_all();
        while src[0] == 1 && !state.open {
            state = self.0.1.wait(state).expect("it works");
        }
        drop(state);
        if src[0] == 200 {
            return Err(CodecError::encode("gate", "as asked"));
        }
        dst.clear();
        dst.extend_from_slice(src);
        Ok(())
    }
}

/// Polls until one of its jobs encodes.
fn begin(gate: &Gate, mut future: Pin<&mut impl Future>) {
    let came = gate.came();
    while gate.came() == came {
        assert!(future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        thread::yield_now();
    }
}

/// Begins, and is dropped: what a timeout or a `select!` does.
pub(crate) fn begin_and_drop(gate: &Gate, future: impl Future) {
    begin(gate, pin!(future));
}

/// Waits until nothing holds the store, so that nothing can work on it.
pub(crate) fn until_gone<T: ?Sized>(store: &Weak<T>) {
    while store.strong_count() > 0 {
        thread::yield_now();
    }
}

pub(crate) fn vec(array: &Array<u8>) -> Vec<u8> {
    array.read(..).expect("it works").into_iter().collect()
}

#[test]
fn a_dropped_append_does_not_overwrite_a_later_one() {
    let (folder, gate) = (tempfile::tempdir().expect("it works"), Gate::default());
    let a = gate.array(folder.path(), 0);
    begin_and_drop(&gate, asynchronous::Array::from(a.clone()).append(0, &Array1::from_elem(4, 1)));
    a.clone().append(0, &Array1::from_elem(4, 2)).expect("it works");
    assert_eq!(vec(&gate.again(folder.path())), [2; 4], "acknowledged");
    gate.end(a);
    assert_eq!(vec(&gate.again(folder.path())), [2; 4], "later");
}

#[test]
fn a_dropped_write_does_not_overwrite_a_later_one() {
    let (folder, gate) = (tempfile::tempdir().expect("it works"), Gate::default());
    let a = gate.array(folder.path(), 4);
    begin_and_drop(&gate, asynchronous::Array::from(a.clone()).write([0..4], &Array1::from_elem(4, 1)));
    a.write([0..4], &Array1::from_elem(4, 2)).expect("it works");
    gate.end(a);
    assert_eq!(vec(&gate.again(folder.path())), [2; 4]);
}

#[test]
fn a_write_that_failed_does_not_overwrite_a_later_one() {
    let (folder, gate) = (tempfile::tempdir().expect("it works"), Gate::default());
    let a = gate.array(folder.path(), 8);
    block_on(asynchronous::Array::from(a.clone()).write([0..8], &arr1(&[1, 1, 1, 1, 200, 0, 0, 0])))
        .expect_err("it fails");
    a.write([0..8], &Array1::from_elem(8, 2)).expect("it works");
    gate.end(a);
    assert_eq!(vec(&gate.again(folder.path())), [2; 8]);
}

#[test]
fn an_append_that_failed_does_not_overwrite_a_later_one() {
    let (folder, gate) = (tempfile::tempdir().expect("it works"), Gate::default());
    let mut a = gate.array(folder.path(), 0);
    block_on(asynchronous::Array::from(a.clone()).append(0, &arr1(&[1, 1, 1, 1, 200, 0, 0, 0])))
        .expect_err("it fails");
    a.append(0, &Array1::from_elem(8, 2)).expect("it works");
    gate.end(a);
    assert_eq!(vec(&gate.again(folder.path())), [2; 8]);
}

/// No custom codec, only a timeout: with tokio it lost 101 of 110 (asyncs2.rs).
#[test]
fn without_any_codec_of_ones_own() {
    let noise = Array1::from_iter((0..50_000u32).map(|i| i.wrapping_mul(2_654_435_761) >> 20));
    let mut lost = 0;
    for polls in (0..20).map(|n| 1 << n) {
        let folder = tempfile::tempdir().expect("it works");
        let store = Arc::new(FsStore::new(folder.path()));
        let weak = Arc::downgrade(&store);
        let a = Array::<u32>::builder([0])
            .chunks([50_000])
            .codecs([codec::zstd(9)])
            .create((Storage::blocking(store), "a"))
            .expect("it works");
        let mut first = asynchronous::Array::from(a.clone());
        let mut future = Box::pin(first.append(0, &noise));
        let mut is_ready = || {
            thread::yield_now();
            future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready()
        };
        if (0..polls).any(|_| is_ready()) {
            continue;
        }
        drop(future);
        a.clone().append(0, &Array1::from_elem(50_000, 7)).expect("it works");
        drop((a, first));
        until_gone(&weak);
        let a = Array::<u32>::open((folder.path(), "a")).expect("it works");
        let all = a.read(..).expect("it works");
        let all = all.as_slice().expect("one axis");
        let (before, later) = all.split_at(all.len() - 50_000);
        // The dropped one may have been published just before the drop.
        let is_whole = before.is_empty() || before == noise.as_slice().expect("one axis");
        lost += u32::from(!is_whole || later.iter().any(|&n| n != 7));
    }
    assert_eq!(lost, 0);
}

#[test]
fn a_dropped_resize_removes_nothing_that_was_written_since() {
    let (folder, gate) = (tempfile::tempdir().expect("it works"), Gate::default());
    let a = gate.array(folder.path(), 16);
    gate.open();
    a.fill([0..16], 1).expect("it works");
    gate.shut();
    begin_and_drop(&gate, asynchronous::Array::from(a.clone()).resize([2]));
    let b = gate.again(folder.path());
    assert_eq!(b.shape(), [16], "it was not resized");
    b.write([4..16], &Array1::from_elem(12, 7)).expect("it works");
    gate.end((a, b));
    assert_eq!(vec(&gate.again(folder.path()))[4..], [7; 12]);
}

#[test]
fn growing_shows_nothing_of_a_dropped_append() {
    let (folder, gate) = (tempfile::tempdir().expect("it works"), Gate::default());
    let a = gate.array(folder.path(), 0);
    // The first chunk may be stored before the drop. The second one stays at the gate, so that the
    // append cannot end.
    begin_and_drop(&gate, asynchronous::Array::from(a.clone()).append(0, &arr1(&[5, 5, 5, 5, 1, 1, 1, 1])));
    let mut b = gate.again(folder.path());
    assert_eq!(b.shape(), [0], "it was not appended");
    b.resize([8]).expect("it works");
    gate.end((a, b));
    assert_eq!(vec(&gate.again(folder.path())), [0; 8]);
}

#[test]
fn a_dropped_finish_of_a_shard_publishes_nothing_later() {
    use ndzarr_store::{Key, Locked, Store, Wait};
    let folder = tempfile::tempdir().expect("it works");
    let store = Arc::new(FsStore::new(folder.path()));
    let weak = Arc::downgrade(&store);
    let a = Array::<u8>::builder([16]).chunks([4]).shards([16]);
    let a = a.create((Storage::blocking(store), "a")).expect("it works");
    // Another process holds the shard's lock, so that the finish waits.
    let store = FsStore::new(folder.path());
    let Locked::Held(lock) = store.lock(&Key::new("a/c/0").expect("it works"), Wait::Try).expect("it works")
    else {
        panic!()
    };
    let writer = a.shard_writer(&[0]).expect("it works");
    writer.write_chunk(&[0], &Array1::from_elem(4, 1)).expect("it works");
    let mut future = Box::pin(asynchronous::ShardWriter::from(writer).finish());
    assert!(future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    drop(future);
    drop(lock);
    a.fill([0..16], 2).expect("it works");
    drop(a);
    until_gone(&weak);
    assert_eq!(vec(&Array::open((folder.path(), "a")).expect("it works")), [2; 16]);
}

#[test]
fn a_dropped_update_frees_the_lock_of_its_chunk() {
    let (folder, gate) = (tempfile::tempdir().expect("it works"), Gate::default());
    let a = gate.array(folder.path(), 4);
    a.fill([0..4], 3).expect("it works");
    // A part of a chunk: it is merged and encoded under the lock of its key.
    begin_and_drop(&gate, asynchronous::Array::from(a.clone()).write([0..2], &Array1::from_elem(2, 1)));
    a.fill([1..2], 5).expect("it works");
    gate.end(a);
    assert_eq!(vec(&gate.again(folder.path())), [3, 5, 3, 3]);
}

#[test]
fn a_cancelled_update_ends() {
    let (folder, gate) = (tempfile::tempdir().expect("it works"), Gate::default());
    let a = gate.array(folder.path(), 4);
    a.fill([0..4], 3).expect("it works");
    let cancel = Cancel::new();
    let options = RunOptions::default().cancel(cancel.clone());
    let (b, came) = (a.clone().with_options(options), gate.came());
    let fill = thread::spawn(move || b.fill([0..2], 1));
    // A part of a chunk: it is merged and encoded under the lock of its key.
    gate.wait_for(came + 1);
    cancel.cancel();
    gate.open();
    let ended = fill.join().expect("no panic");
    assert_eq!(ended.expect_err("it was cancelled").kind(), ErrorKind::Cancelled);
    gate.end(a);
    assert_eq!(vec(&gate.again(folder.path())), [3; 4]);
}

#[test]
fn a_cancelled_update_frees_the_lock_of_its_chunk_unpolled() {
    let (folder, gate) = (tempfile::tempdir().expect("it works"), Gate::default());
    let a = gate.array(folder.path(), 4);
    a.fill([0..4], 3).expect("it works");
    let cancel = Cancel::new();
    let options = RunOptions::default().cancel(cancel.clone());
    let (b, ones, came) =
        (asynchronous::Array::from(a.clone().with_options(options)), Array1::from_elem(2, 1), gate.came());
    let mut future = Box::pin(b.write([0..2], &ones));
    assert!(future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    gate.wait_for(came + 1);
    cancel.cancel();
    a.fill([1..2], 5).expect("it works");
    gate.open();
    assert_eq!(block_on(future).expect_err("it was cancelled").kind(), ErrorKind::Cancelled);
    gate.end((a, b));
    assert_eq!(vec(&gate.again(folder.path())), [3, 5, 3, 3]);
}

/// A store without locks, which stores the first value together with the second, or after a while
/// without one.
#[derive(Clone, Debug, Default)]
struct FirstIsSlow {
    inner: ndzarr::MemoryStore,
    /// The number of shards to store so far.
    came: Arc<(Mutex<usize>, Condvar)>,
}

impl ndzarr::Store for FirstIsSlow {
    forward!(inner: name, fetch, erase);

    fn put(
        &self,
        key: &ndzarr_store::Key,
        parts: &[bytes::Bytes],
        only_if: ndzarr_store::Precondition,
    ) -> Result<ndzarr_store::Put, ndzarr_store::StoreError> {
        if key.as_str() != "a/c/0" {
            return self.inner.put(key, parts, only_if);
        }
        let mut came = self.came.0.lock().expect("no panic");
        *came += 1;
        self.came.1.notify_all();
        if *came > 1 {
            return self.inner.put(key, parts, only_if);
        }
        drop(came);
        // Nothing announces that there is no second one: then the first has to finish, long before
        // the 10 s that a dropped future waits for it.
        let (has_second, start) = (|| *self.came.0.lock().expect("no panic") > 1, Instant::now());
        let waits = |_: &usize| !has_second() && start.elapsed() < Duration::from_secs(1);
        (0..10_000).take_while(waits).for_each(|_| thread::yield_now());
        self.inner.put(key, parts, only_if)
    }
}

#[test]
fn a_dropped_finish_without_locks_publishes_nothing_later() {
    let store = FirstIsSlow::default();
    let a =
        Array::<u8>::builder([16]).chunks([4]).shards([16]).create((Storage::blocking(store.clone()), "a"));
    let a = a.expect("it works");
    let writer = a.shard_writer(&[0]).expect("it works");
    for inner in 0..4 {
        writer.write_chunk(&[inner], &Array1::from_elem(4, 1)).expect("it works");
    }
    let mut future = Box::pin(asynchronous::ShardWriter::from(writer).finish());
    assert!(future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    let came = store.came.0.lock().expect("no panic");
    drop(store.came.1.wait_while(came, |came| *came < 1).expect("no panic"));
    drop(future);
    a.fill([0..16], 2).expect("it works");
    let (memory, came) = (store.inner.clone(), Arc::downgrade(&store.came));
    drop((a, store));
    until_gone(&came);
    assert_eq!(vec(&Array::open((&memory, "a")).expect("it works")), [2; 16]);
}

/// A store whose chunks are read once the gate is open.
#[derive(Clone, Debug)]
struct SlowToRead {
    inner: ndzarr::MemoryStore,
    gate: Gate,
}

impl ndzarr::Store for SlowToRead {
    forward!(inner: name, put, erase, list_dir, list_prefix);

    fn fetch(&self, fetch: &ndzarr_store::Fetch) -> Result<ndzarr_store::Fetched, ndzarr_store::StoreError> {
        if fetch.key.as_str().starts_with("a/c/") {
            self.gate.pass();
        }
        self.inner.fetch(fetch)
    }
}

/// Each thread of a conversion stops, not only the first.
#[test]
fn a_dropped_conversion_copies_nothing_later() {
    let (source, target) = (ndzarr::MemoryStore::new(), ndzarr::MemoryStore::new());
    let a = Array::<u8>::builder([16]).chunks([4]).create((&source, "a")).expect("it works");
    a.fill([0..16], 7).expect("it works");
    let gate = Gate::default();
    let gone = Arc::downgrade(&gate.0);
    let slow = Storage::blocking(SlowToRead { inner: source, gate: gate.clone() });
    let run = RunOptions::default().threads(std::num::NonZeroUsize::new(2));
    let options = CopyOptions::new().format(Format::Zarr3).run(run);
    let mut future = Box::pin(asynchronous::copy((slow, "a"), (&target, "a"), &options));
    assert!(future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    gate.wait_for(2);
    drop(future);
    gate.open();
    drop(gate);
    until_gone(&gone);
    let chunks = (0..4).filter(|i| target.get(&format!("a/c/{i}")).is_some());
    assert_eq!(chunks.count(), 0);
}
