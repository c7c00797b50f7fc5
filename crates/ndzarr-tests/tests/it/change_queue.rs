//! Asynchronous changes of blocking stores: they queue for a few threads, and none waits for the
//! task that polls another.

use std::sync::{Arc, Mutex, mpsc};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use futures_util::future::join;
use ndarray::Array1;
use ndzarr::codec::{BytesToBytes, CodecError, Dst, Workspace};
use ndzarr::store::{Key, Locked, Wait, ZipWriter};
use ndzarr::{
    Array, Cancel, CodecRegistry, Error, ErrorKind, FsStore, RunOptions, Storage, Store,
    asynchronous, codec,
};
use ndzarr_testkit::{block_on, forward};

use crate::gate::Gate;
use crate::reports_waits::ReportsWaits;

/// Runs work on another thread, and fails if it hangs.
fn ends<R: Send + 'static>(what: &str, work: impl FnOnce() -> R + Send + 'static) -> R {
    ends_within(60, what, work)
}

/// Runs work on another thread, and fails if it takes longer than some seconds.
pub(crate) fn ends_within<R: Send + 'static>(
    seconds: u64,
    what: &str,
    work: impl FnOnce() -> R + Send + 'static,
) -> R {
    let (send, receive) = mpsc::channel();
    thread::spawn(move || drop(send.send(work())));
    receive
        .recv_timeout(Duration::from_secs(seconds))
        .unwrap_or_else(|_| panic!("{what} hangs"))
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
    let registry =
        CodecRegistry::new().with("example.gate", move |_| Ok(Arc::new(AtGate(gate.clone()))));
    let codecs = [codec::named("example.gate", serde_json::json!({}))];
    let array = Array::<u8>::builder([0])
        .chunks([64])
        .codecs(codecs)
        .registry(registry);
    array.create((storage, "a")).expect("a new array")
}

/// Makes a change that must fail while the append of a future holds the document.
fn during_an_append(
    store: FsStore,
    change: impl FnOnce(Array<u8>, Cancel, mpsc::Receiver<()>) -> Result<(), Error>,
) -> ErrorKind {
    let gate = Gate::default();
    let (store, waits) = ReportsWaits::new(store);
    let a = gated(&Storage::blocking(store), &gate);
    let mut appended = asynchronous::Array::from(a.clone());
    thread::scope(|scope| {
        let append = scope.spawn(move || block_on(appended.append(0, &Array1::from_elem(8, 1))));
        gate.wait_for(1);
        let cancel = Cancel::new();
        waits.try_iter().for_each(drop);
        let changed = change(
            a.with_options(RunOptions::default().cancel(cancel.clone())),
            cancel,
            waits,
        );
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
        during_an_append(FsStore::new(folder.path()), |mut a, cancel, waits| {
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
        during_an_append(store, |mut a, _, _| a.set_attribute("k", &1))
    });
    assert_eq!(kind, ErrorKind::Conflict);
}

/// An append to one store whose progress is logged in an array of another one.
fn appends_with_a_log(first: &Storage, second: &Storage) -> Result<(), Error> {
    let log = Array::<u64>::builder([0])
        .chunks([16])
        .create((second, "a"))?;
    let log = Mutex::new(log);
    let write = move |progress: ndzarr::Progress| {
        log.lock()
            .expect("no panic")
            .append(0, &[progress.done])
            .expect("an append");
    };
    let a = Array::<u8>::builder([0]).chunks([4]).create((first, "a"))?;
    let mut a = asynchronous::Array::from(a.with_options(RunOptions::default().progress(write)));
    block_on(a.append(0, &Array1::from_elem(16, 1)))
}

#[test]
fn two_archives_of_one_name_are_not_one() {
    ends("an append", || {
        let folder = tempfile::tempdir().expect("a folder");
        let archive = || {
            Storage::from(ZipWriter::create_file(folder.path().join("a.zip")).expect("an archive"))
        };
        appends_with_a_log(&archive(), &archive()).expect("an append");
    });
}

#[test]
#[cfg(target_os = "linux")]
fn two_folders_of_one_name_are_not_one() {
    use std::os::unix::ffi::OsStrExt;

    ends("an append", || {
        let folder = tempfile::tempdir().expect("a folder");
        let of =
            |name: &[u8]| Storage::folder(folder.path().join(std::ffi::OsStr::from_bytes(name)));
        let first = of(b"M\xfcller");
        let second = of(b"M\xf6ller");
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
fn a_blocking_call_ends_while_a_future_holds_its_document_under_another_name() {
    ends("the change", || {
        let folder = tempfile::tempdir().expect("a folder");
        let a = Array::<u8>::builder([0])
            .chunks([4])
            .create((folder.path(), "a"))
            .expect("a new array");
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
        block_on(async {
            asynchronous::Array::from(a)
                .append(0, &Array1::from_elem(8, 1))
                .await
        })
    }),
    ("resize", |mut a| a.resize([4])),
    ("resize, a future", |a| {
        block_on(async { asynchronous::Array::from(a).resize([4]).await })
    }),
];

/// The codec is not waited for, neither by a future nor by a blocking call.
#[test]
fn a_cancelled_change_frees_its_document_at_once() {
    for (what, change) in CHANGES {
        ends(what, move || {
            let folder = tempfile::tempdir().expect("a folder");
            let gate = Gate::default();
            let mut a = gated(&Storage::folder(folder.path()), &gate);
            gate.open();
            // Whole chunks, so that the codec is not needed to undo an append.
            a.append(0, &[7; 64]).expect("an append");
            gate.shut();
            let cancel = Cancel::new();
            let first = a
                .clone()
                .with_options(RunOptions::default().cancel(cancel.clone()));
            let call = thread::spawn(move || change(first));
            gate.wait_for(2);
            cancel.cancel();
            a.set_attribute("k", &1)
                .expect("the document is free, and the gate is shut");
            gate.open();
            let error = call
                .join()
                .expect("no panic")
                .expect_err("it was cancelled");
            assert_eq!(error.kind(), ErrorKind::Cancelled, "{what}");
            assert!(a.read(..).expect("elements").iter().eq(&[7; 64]), "{what}");
        });
    }
}
