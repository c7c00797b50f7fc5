//! A forked child: it has handles and their memory, but not the threads of its parent, and a lock
//! that one of them held stays locked.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use fork::Fork;
use ndarray::Array1;
use ndzarr::{Array, Cache, Cancel, MemoryStore, RunOptions, Storage, asynchronous, codec};
use ndzarr_store::PerProcess;
use ndzarr_testkit::{AsyncMemoryStore, Latency, block_on};

/// True if a child does this within some seconds.
fn child_does(work: impl FnOnce() -> bool + Send + 'static) -> bool {
    child_does_while(work, || ())
}

/// True if a child does this within some seconds. The parent calls `forked` once the child exists.
fn child_does_while(work: impl FnOnce() -> bool + Send + 'static, forked: impl FnOnce()) -> bool {
    let child = match fork::fork().expect("the system has one more process") {
        Fork::Child => {
            let (send, receive) = mpsc::channel();
            thread::spawn(move || send.send(work()));
            let done = receive.recv_timeout(Duration::from_secs(20));
            std::process::exit(i32::from(!done.unwrap_or_default()));
        }
        Fork::Parent(child) => child,
    };
    forked();
    fork::waitpid(child).expect("it is a child") == 0
}

#[test]
fn memory_of_earlier_calls_is_left_if_a_thread_of_the_parent_holds_its_lock() {
    ndzarr_testkit::in_own_process!();
    static MEMORY: PerProcess<Mutex<Vec<u8>>> = PerProcess::new();
    MEMORY.lock_inherited().push(1);
    assert!(
        child_does(|| *MEMORY.lock_inherited() == [1]),
        "its lock is free"
    );
    let held = Barrier::new(2);
    let let_go = Barrier::new(2);
    thread::scope(|scope| {
        scope.spawn(|| {
            let _guard = MEMORY.lock_inherited();
            held.wait();
            let_go.wait();
        });
        held.wait();
        let child_began_again = child_does(|| {
            let was_empty = MEMORY.lock_inherited().is_empty();
            MEMORY.lock_inherited().push(2);
            was_empty && *MEMORY.lock_inherited() == [2]
        });
        let_go.wait();
        assert!(child_began_again);
    });
    assert_eq!(*MEMORY.lock_inherited(), [1]);
}

#[test]
fn each_process_has_its_own_value() {
    ndzarr_testkit::in_own_process!();
    static OWN: PerProcess<u32> = PerProcess::new();
    let here = *OWN.get(|id| id);
    assert_eq!(here, std::process::id());
    let below = move || *OWN.get(|id| id) == std::process::id() && *OWN.get(|_| 0) != here;
    assert!(child_does(move || below() && child_does(below)));
    assert_eq!(*OWN.get(|_| 0), here);
}

/// Of all requests in flight together, a future of the parent has the only one.
#[test]
fn a_child_shares_no_limit_with_its_parent() {
    use std::num::NonZeroUsize;
    use std::task::{Context, Waker};

    ndzarr_testkit::in_own_process!();
    let options = RunOptions::default()
        .requests_in_flight(NonZeroUsize::MIN)
        .shared();
    let store = AsyncMemoryStore::new(Latency::default()).with_polls(3);
    let array = Array::<u8>::builder([4])
        .chunks([4])
        .create((Storage::asynchronous(store), "a"));
    let array = asynchronous::Array::from(array.expect("it works").with_options(options));
    block_on(array.fill(.., 1)).expect("it works");
    let mut pending = Box::pin(array.read(..));
    assert!(
        pending
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
            .is_pending()
    );
    let inherited = array.clone();
    assert!(child_does(
        move || block_on(inherited.read(..)).is_ok_and(|read| read.sum() == 4)
    ));
    drop(pending);
    assert_eq!(block_on(array.read(..)).expect("it works").sum(), 4);
}

/// Calls in all layers: a child is forked at any moment of theirs.
#[test]
fn children_that_are_forked_during_calls_read_and_write() {
    ndzarr_testkit::in_own_process!();
    let folder = tempfile::tempdir().expect("it works");
    let storage = Storage::folder(folder.path());
    let cache = Cache::new(1 << 14);
    let shards = Array::<u32>::builder([4096])
        .chunks([64])
        .shards([1024])
        .create((&storage, "shards"));
    let shards = shards.expect("it works");
    shards.fill(.., 1).expect("it works");
    let noise = Array1::from_iter((0..1 << 16).map(|i: u32| i.wrapping_mul(2_654_435_761)));
    let chunks = Array::<u32>::builder([1 << 16])
        .chunks([1 << 14])
        .codecs([codec::zstd(1)]);
    let chunks = chunks
        .create((&storage.clone().cached(&cache), "chunks"))
        .expect("it works");
    chunks
        .write(.., &noise.clone().into_dyn())
        .expect("it works");
    let cached = Array::<u32>::open((&storage.cached(&cache), "shards")).expect("it works");
    let cancel = Cancel::new();
    let written = shards
        .clone()
        .with_options(RunOptions::default().cancel(cancel));
    let future = asynchronous::Array::from(shards.clone());
    let works = move || {
        let read = shards
            .read(..)
            .is_ok_and(|read| read.iter().all(|&element| element == 1));
        let cached = cached.read([0..64]).is_ok_and(|read| read.sum() == 64);
        let chunks = chunks
            .read(..)
            .is_ok_and(|read| read == noise.clone().into_dyn());
        let written = written.fill([0..64], 1).is_ok();
        let future = block_on(future.read([64..128])).is_ok_and(|read| read.sum() == 64);
        read && cached && chunks && written && future
    };
    let stop = AtomicBool::new(false);
    let failed = thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !stop.load(Ordering::SeqCst) {
                    assert!(works());
                }
            });
        }
        let failed = (0..150).filter(|_| !child_does(works.clone())).count();
        stop.store(true, Ordering::SeqCst);
        failed
    });
    assert_eq!(failed, 0, "of 150 children");
}

/// Its lock is nearly always held by a thread of the parent, which lists many keys.
#[test]
fn a_child_does_not_wait_for_ever_for_the_lock_of_a_store_in_memory() {
    ndzarr_testkit::in_own_process!();
    let store = MemoryStore::new();
    for number in 0..50_000 {
        store
            .set(&format!("many/{number}"), "value")
            .expect("a key");
    }
    let array = Array::<u8>::builder([4])
        .create((&store, "a"))
        .expect("it works");
    array.fill(.., 1).expect("it works");
    let all_ended = thread::scope(|scope| {
        let store = &store;
        let read = move || match array.read(..) {
            Ok(read) => read.sum() == 4,
            Err(error) => error.to_string().contains("when this process was forked"),
        };
        // While the process is forked, a thread holds the lock for most of the time.
        (0..3).all(|_| {
            let begun = Arc::new(Barrier::new(2));
            let has_begun = Arc::clone(&begun);
            let stop = Arc::new(AtomicBool::new(false));
            let stopped = Arc::clone(&stop);
            let lister = scope.spawn(move || {
                has_begun.wait();
                while !stopped.load(Ordering::SeqCst) {
                    assert!(store.keys().len() > 50_000);
                }
            });
            begun.wait();
            let ended = child_does_while(read.clone(), || stop.store(true, Ordering::SeqCst));
            lister.join().expect("it lists");
            ended
        })
    });
    assert!(all_ended);
}

#[test]
fn a_child_has_a_copy_of_a_store_in_memory() {
    ndzarr_testkit::in_own_process!();
    let array = Array::<u8>::builder([64])
        .chunks([4])
        .create("memory://forked/a")
        .expect("it works");
    array.fill(.., 1).expect("it works");
    assert!(child_does(move || {
        let same = Array::<u8>::open("memory://forked/a").and_then(|array| array.read(..));
        let other = Array::<u8>::open("memory://other/a");
        array.read(..).is_ok_and(|read| read.sum() == 64) && same.is_ok() && other.is_err()
    }));
}
