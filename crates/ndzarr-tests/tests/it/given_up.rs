//! Abandoned calls: they change nothing in the store after a later call has begun.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Waker};
use std::thread;

use ndarray::{Array1, arr1};
use ndzarr::codec::{BytesToBytes, CodecError, Dst, Workspace};
use ndzarr::{
    Array, Cancel, CodecRegistry, CopyOptions, ErrorKind, Format, FsStore, OpenOptions, RunOptions,
    Storage, asynchronous, codec,
};
use ndzarr_testkit::{block_on, forward};
use serde_json::json;
use tempfile::TempDir;

use crate::gate::Gate;

/// Stores bytes unchanged; waits at a gate for chunks that begin with 1, and fails for those that
/// begin with 200.
#[derive(Clone, Debug)]
pub(crate) struct GateCodec(Gate);

impl GateCodec {
    pub(crate) fn registry(gate: &Gate) -> CodecRegistry {
        let codec = Self(gate.clone());
        CodecRegistry::new().with("gate", move |_| Ok(Arc::new(codec.clone())))
    }
}

impl BytesToBytes for GateCodec {
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
        if src[0] == 1 {
            self.0.pass();
        } else {
            self.0.come();
        }
        if src[0] == 200 {
            return Err(CodecError::encode("gate", "as asked"));
        }
        dst.clear();
        dst.extend_from_slice(src);
        Ok(())
    }
}

/// An array in a folder, whose chunks are encoded at a gate.
struct GatedArrays {
    folder: TempDir,
    gate: Gate,
    /// The stores of the handles.
    stores: Mutex<Vec<Weak<FsStore>>>,
}

impl GatedArrays {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("it works");
        Self {
            folder,
            gate: Gate::default(),
            stores: Mutex::default(),
        }
    }

    fn store(&self) -> Storage {
        let store = Arc::new(FsStore::new(self.folder.path()));
        self.stores
            .lock()
            .expect("it works")
            .push(Arc::downgrade(&store));
        Storage::blocking(store)
    }

    fn create(&self, shape: u64) -> Array<u8> {
        Array::builder([shape])
            .chunks([4])
            .codecs([codec::named("gate", json!({}))])
            .registry(GateCodec::registry(&self.gate))
            .create((self.store(), "a"))
            .expect("it works")
    }

    fn reopen(&self) -> Array<u8> {
        OpenOptions::new()
            .codecs(GateCodec::registry(&self.gate))
            .open_array::<u8>((self.store(), "a"))
            .expect("it works")
    }

    fn elements(&self) -> Vec<u8> {
        vec(&self.reopen())
    }

    /// Opens the gate, and waits until no call works on an array any more. These are the last
    /// handles of the arrays.
    fn end(&self, handles: impl Sized) {
        self.gate.open();
        drop(handles);
        let stores = std::mem::take(&mut *self.stores.lock().expect("it works"));
        stores.iter().for_each(until_gone);
    }
}

/// Polls until one of its jobs encodes.
fn begin(gate: &Gate, mut future: Pin<&mut impl Future>) {
    let came = gate.came();
    while gate.came() == came {
        assert!(
            future
                .as_mut()
                .poll(&mut Context::from_waker(Waker::noop()))
                .is_pending()
        );
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
    let arrays = GatedArrays::new();
    let a = arrays.create(0);
    begin_and_drop(
        &arrays.gate,
        asynchronous::Array::from(a.clone()).append(0, &Array1::from_elem(4, 1)),
    );
    a.clone()
        .append(0, &Array1::from_elem(4, 2))
        .expect("it works");
    assert_eq!(arrays.elements(), [2; 4], "acknowledged");
    arrays.end(a);
    assert_eq!(arrays.elements(), [2; 4], "later");
}

#[test]
fn a_dropped_write_does_not_overwrite_a_later_one() {
    let arrays = GatedArrays::new();
    let a = arrays.create(4);
    begin_and_drop(
        &arrays.gate,
        asynchronous::Array::from(a.clone()).write([0..4], &Array1::from_elem(4, 1)),
    );
    a.write([0..4], &Array1::from_elem(4, 2)).expect("it works");
    arrays.end(a);
    assert_eq!(arrays.elements(), [2; 4]);
}

#[test]
fn a_write_that_failed_does_not_overwrite_a_later_one() {
    let arrays = GatedArrays::new();
    let a = arrays.create(8);
    block_on(
        asynchronous::Array::from(a.clone()).write([0..8], &arr1(&[1, 1, 1, 1, 200, 0, 0, 0])),
    )
    .expect_err("it fails");
    a.write([0..8], &Array1::from_elem(8, 2)).expect("it works");
    arrays.end(a);
    assert_eq!(arrays.elements(), [2; 8]);
}

#[test]
fn an_append_that_failed_does_not_overwrite_a_later_one() {
    let arrays = GatedArrays::new();
    let mut a = arrays.create(0);
    block_on(asynchronous::Array::from(a.clone()).append(0, &arr1(&[1, 1, 1, 1, 200, 0, 0, 0])))
        .expect_err("it fails");
    a.append(0, &Array1::from_elem(8, 2)).expect("it works");
    arrays.end(a);
    assert_eq!(arrays.elements(), [2; 8]);
}

/// As with a timeout of tokio, which once lost 101 of 110 appends.
#[test]
fn a_dropped_append_without_a_custom_codec_loses_nothing() {
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
            future
                .as_mut()
                .poll(&mut Context::from_waker(Waker::noop()))
                .is_ready()
        };
        if (0..polls).any(|_| is_ready()) {
            continue;
        }
        drop(future);
        a.clone()
            .append(0, &Array1::from_elem(50_000, 7))
            .expect("it works");
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
    let arrays = GatedArrays::new();
    let a = arrays.create(16);
    arrays.gate.open();
    a.fill([0..16], 1).expect("it works");
    arrays.gate.shut();
    begin_and_drop(
        &arrays.gate,
        asynchronous::Array::from(a.clone()).resize([2]),
    );
    let b = arrays.reopen();
    assert_eq!(b.shape(), [16], "it was not resized");
    b.write([4..16], &Array1::from_elem(12, 7))
        .expect("it works");
    arrays.end((a, b));
    assert_eq!(arrays.elements()[4..], [7; 12]);
}

#[test]
fn growing_shows_nothing_of_a_dropped_append() {
    let arrays = GatedArrays::new();
    let a = arrays.create(0);
    // The first chunk may be stored before the drop. The second one stays at the gate, so that the
    // append cannot end.
    begin_and_drop(
        &arrays.gate,
        asynchronous::Array::from(a.clone()).append(0, &arr1(&[5, 5, 5, 5, 1, 1, 1, 1])),
    );
    let mut b = arrays.reopen();
    assert_eq!(b.shape(), [0], "it was not appended");
    b.resize([8]).expect("it works");
    arrays.end((a, b));
    assert_eq!(arrays.elements(), [0; 8]);
}

#[test]
fn a_dropped_update_frees_the_lock_of_its_chunk() {
    let arrays = GatedArrays::new();
    let a = arrays.create(4);
    a.fill([0..4], 3).expect("it works");
    // A part of a chunk: it is merged and encoded under the lock of its key.
    begin_and_drop(
        &arrays.gate,
        asynchronous::Array::from(a.clone()).write([0..2], &Array1::from_elem(2, 1)),
    );
    a.fill([1..2], 5).expect("it works");
    arrays.end(a);
    assert_eq!(arrays.elements(), [3, 5, 3, 3]);
}

#[test]
fn a_cancelled_update_ends() {
    let arrays = GatedArrays::new();
    let a = arrays.create(4);
    a.fill([0..4], 3).expect("it works");
    let cancel = Cancel::new();
    let options = RunOptions::default().cancel(cancel.clone());
    let b = a.clone().with_options(options);
    let came = arrays.gate.came();
    let fill = thread::spawn(move || b.fill([0..2], 1));
    // A part of a chunk: it is merged and encoded under the lock of its key.
    arrays.gate.wait_for(came + 1);
    cancel.cancel();
    arrays.gate.open();
    let ended = fill.join().expect("no panic");
    assert_eq!(
        ended.expect_err("it was cancelled").kind(),
        ErrorKind::Cancelled
    );
    arrays.end(a);
    assert_eq!(arrays.elements(), [3; 4]);
}

#[test]
fn a_cancelled_update_frees_the_lock_of_its_chunk_unpolled() {
    let arrays = GatedArrays::new();
    let a = arrays.create(4);
    a.fill([0..4], 3).expect("it works");
    let cancel = Cancel::new();
    let options = RunOptions::default().cancel(cancel.clone());
    let b = asynchronous::Array::from(a.clone().with_options(options));
    let ones = Array1::from_elem(2, 1);
    let came = arrays.gate.came();
    let mut future = Box::pin(b.write([0..2], &ones));
    assert!(
        future
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
            .is_pending()
    );
    arrays.gate.wait_for(came + 1);
    cancel.cancel();
    a.fill([1..2], 5).expect("it works");
    arrays.gate.open();
    assert_eq!(
        block_on(future).expect_err("it was cancelled").kind(),
        ErrorKind::Cancelled
    );
    arrays.end((a, b));
    assert_eq!(arrays.elements(), [3, 5, 3, 3]);
}

/// A store whose chunks are read once the gate is open.
#[derive(Clone, Debug)]
struct SlowToRead {
    inner: ndzarr::MemoryStore,
    gate: Gate,
}

impl ndzarr::Store for SlowToRead {
    forward!(inner: name, put, erase, list_dir, list_prefix);

    fn fetch(
        &self,
        fetch: &ndzarr_store::Fetch,
    ) -> Result<ndzarr_store::Fetched, ndzarr_store::StoreError> {
        if fetch.key.as_str().starts_with("a/c/") {
            self.gate.pass();
        }
        self.inner.fetch(fetch)
    }
}

/// Each thread of a conversion stops, not only the first.
#[test]
fn a_dropped_conversion_copies_nothing_later() {
    let source = ndzarr::MemoryStore::new();
    let target = ndzarr::MemoryStore::new();
    let a = Array::<u8>::builder([16])
        .chunks([4])
        .create((&source, "a"))
        .expect("it works");
    a.fill([0..16], 7).expect("it works");
    let gate = Gate::default();
    let gone = gate.downgrade();
    let slow = Storage::blocking(SlowToRead {
        inner: source,
        gate: gate.clone(),
    });
    let run = RunOptions::default().threads(std::num::NonZeroUsize::new(2));
    let options = CopyOptions::new().format(Format::Zarr3).run(run);
    let mut future = Box::pin(asynchronous::copy((slow, "a"), (&target, "a"), &options));
    assert!(
        future
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
            .is_pending()
    );
    gate.wait_for(2);
    drop(future);
    gate.open();
    drop(gate);
    until_gone(&gone);
    let chunks = (0..4).filter(|i| target.get(&format!("a/c/{i}")).is_some());
    assert_eq!(chunks.count(), 0);
}
