//! The wrappers count and fail as documented.

use std::pin::Pin;
use std::task::{Context, Waker};
use std::time::Duration;

use futures_util::future::join_all;
use ndzarr_store::{
    AsyncStore, Fetch, Fetched, Key, Locked, MemoryStore, Of, Precondition, Prefix, Store,
    StoreError, Wait, Want,
};
use ndzarr_store_fs::FsStore;
use ndzarr_testkit::{
    AsyncMemoryStore, Call, CountingStore, Counts, FaultStore, Latency, block_on,
};

type Outcome = Result<(), Box<dyn std::error::Error>>;

fn fetch(key: &str, want: Want) -> Result<Fetch, StoreError> {
    Ok(Fetch {
        key: Key::new(key)?,
        of: Of::Any,
        want,
    })
}

#[test]
fn counting_store_counts_each_kind() -> Outcome {
    let folder = tempfile::tempdir()?;
    let store = CountingStore::new(FsStore::new(folder.path()));
    let key = Key::new("a")?;
    store.put(&key, &["0123".into(), "456789".into()], Precondition::None)?;
    store.fetch(&fetch("a", Want::Ranges(vec![0..3, 5..9]))?)?;
    store.fetch(&fetch("a", Want::Tail(2))?)?;
    store.fetch(&fetch("a", Want::Size)?)?;
    store.fetch(&fetch("absent", Want::Tail(2))?)?;
    assert!(store.fetch(&fetch("a", Want::Whole { limit: 1 })?).is_err());
    store.list_dir(&Prefix::root())?;
    store.list_prefix(&Prefix::root())?;
    let Locked::Held(mut lock) = store.lock(&key, Wait::Try)? else {
        panic!("it is free")
    };
    lock.fetch(Of::Any, Want::Whole { limit: 10 })?;
    lock.append(b"01")?;
    lock.write_at(5, b"5")?;
    lock.publish()?;
    assert!(store.has(&key)?);
    store.erase(&key, Precondition::None)?;
    store.erase_prefix(&Prefix::root(), Wait::Block)?;
    let counts = Counts {
        fetches: 6,
        looks: 1,
        ranges: 4,
        bytes_read: 3 + 4 + 2 + 10,
        puts: 2,
        bytes_written: 10 + 3,
        erases: 1,
        lists: 3,
        locks: 1,
        max_in_flight: 1,
    };
    assert_eq!(store.clone().counts(), counts);
    assert_eq!(store.reset(), counts);
    assert_eq!(store.counts(), Counts::default());
    Ok(())
}

#[test]
fn fault_store_fails_on_request() -> Outcome {
    let folder = tempfile::tempdir()?;
    let store = FaultStore::new(FsStore::new(folder.path()));
    let a = Key::new("a")?;
    let b = Key::new("b")?;
    let refusal = || StoreError::io("test", "a", std::io::ErrorKind::PermissionDenied.into());
    let put = |key| store.put(key, &["value".into()], Precondition::None);

    store.fail_key(Call::Put, "a", refusal());
    assert!(put(&a).is_err() && put(&a).is_err() && put(&b).is_ok());
    store.heal();
    assert!(put(&a).is_ok());

    store.fail_nth(Call::Any, 2, refusal());
    assert!(put(&a).is_ok());
    assert!(matches!(
        store.fetch(&fetch("a", Want::Size)?)?,
        Fetched::Parts { .. }
    ));
    assert!(store.list_dir(&Prefix::root()).is_err());
    assert!(store.list_dir(&Prefix::root()).is_ok());

    for call in [Call::Write, Call::Publish] {
        store.fail_nth(call, 0, refusal());
        let Locked::Held(mut lock) = store.lock(&a, Wait::Try)? else {
            panic!("it is free")
        };
        let written = lock.append(b"new");
        assert_eq!(written.is_err(), call == Call::Write);
        if call == Call::Publish {
            assert!(lock.publish().is_err());
        }
    }
    let Fetched::Parts { parts, .. } = store.fetch(&fetch("a", Want::Whole { limit: 9 })?)? else {
        panic!("it exists")
    };
    assert_eq!(parts, ["value"]);
    Ok(())
}

#[test]
fn slow_memory_overlaps_requests() -> Outcome {
    let memory = MemoryStore::new();
    memory.set("a", vec![7; 1 << 20])?;
    let request = Duration::from_millis(20);
    let mebibyte = Duration::from_millis(10);
    let store = AsyncMemoryStore::over(memory, Latency { request, mebibyte });
    let whole = fetch("a", Want::Whole { limit: 1 << 20 })?;

    // None is ready at once. The duration depends on the machine; that the requests overlap is
    // counted.
    let mut requests = join_all((0..50).map(|_| AsyncStore::fetch(&store, &whole)));
    assert!(
        Pin::new(&mut requests)
            .poll(&mut Context::from_waker(Waker::noop()))
            .is_pending()
    );
    for fetched in block_on(requests) {
        assert!(matches!(fetched?, Fetched::Parts { .. }));
    }
    let counts = store.reset();
    assert_eq!(
        (counts.fetches, counts.max_in_flight, counts.bytes_read),
        (50, 50, 50 << 20)
    );

    // A request dropped halfway is no longer in progress.
    drop(block_on(async {
        futures_util::future::select(store.fetch(&whole), std::future::ready(())).await
    }));
    block_on(store.fetch(&whole))?;
    assert_eq!(store.counts().max_in_flight, 1);
    Ok(())
}
