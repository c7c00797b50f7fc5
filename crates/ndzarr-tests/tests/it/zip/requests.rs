//! How many requests it takes to open an archive and to read from it.

use ndzarr_store::{Fetch, Key, MemoryStore, Of, Store, Want};
use ndzarr_store_zip::ZipStore;
use ndzarr_testkit::{AsyncMemoryStore, CountingStore, Latency, Random, block_on};

use crate::zip::by_hand::{Archive, Entry, assert_value, fetch, key, memory};

fn counted(
    archive: Vec<u8>,
) -> (
    CountingStore<MemoryStore>,
    ZipStore<CountingStore<MemoryStore>>,
) {
    let counting = CountingStore::new(memory(archive));
    let store = ZipStore::open(counting.clone(), key("a.zip")).expect("it opens");
    (counting, store)
}

fn many() -> Archive {
    let mut archive = Archive::default();
    for i in 0..100_000 {
        archive.add(&Entry::stored(
            format!("c/{}/{}", i / 1000, i % 1000),
            "0123456789",
        ));
    }
    archive
}

#[test]
fn rs_44_a_large_directory_takes_two_requests_and_a_small_one_takes_one() {
    let archive = many();
    let (counting, store) = counted(archive.zip64_bytes());
    let counts = counting.counts();
    assert_eq!(
        (counts.fetches, counts.looks, store.n_values()),
        (2, 0, 100_000)
    );
    // Nothing is read twice.
    let directory = archive.directory.len() as u64;
    let end = 22 + 20 + 56;
    assert_eq!(counts.bytes_read, directory + end);
    assert_value(&store, "c/99/999", "0123456789");
    let (counting, store) = counted(Archive::of(&[Entry::stored("a", "b")]).bytes());
    assert_eq!((counting.counts().fetches, store.n_values()), (1, 1));
}

#[test]
fn a_stored_value_takes_one_request() {
    let extra = vec![0x99; 28];
    let value = vec![5; 1 << 20];
    let large = Entry {
        local_extra: extra,
        ..Entry::stored("a", &value)
    };
    let (counting, store) = counted(Archive::of(&[large, Entry::deflated("b", &value)]).bytes());
    for name in ["a", "b"] {
        counting.reset();
        fetch(&store, name, Want::Whole { limit: 1 << 20 }).expect("it reads");
        assert_eq!(
            (counting.counts().fetches, counting.counts().ranges),
            (1, 1),
            "{name}"
        );
    }
    // Where it begins is known by now.
    counting.reset();
    fetch(&store, "a", Want::Ranges(vec![7..8, 1000..1010])).expect("it reads");
    assert_eq!(
        (counting.counts().fetches, counting.counts().bytes_read),
        (1, 11)
    );
}

/// Compressed, it is read in pieces of 16 MiB, so that no more than one is in memory (C13 of the
/// design).
#[test]
fn c13_a_large_compressed_value_is_read_in_pieces() {
    // Bytes that do not compress: more than one piece.
    let mut random = Random::seeded("a large value");
    let value: Vec<u8> = (0..17 << 20).map(|_| random.below(256) as u8).collect();
    let entry = Entry::deflated("a", &value);
    assert!(entry.stored.len() > 16 << 20, "{}", entry.stored.len());
    let stored_len = entry.stored.len() as u64;
    let (counting, store) = counted(Archive::of(&[entry]).bytes());
    counting.reset();
    let read = fetch(&store, "a", Want::Whole { limit: 1 << 30 }).expect("it reads");
    let counts = counting.counts();
    assert!(read.expect("it exists") == [&value]);
    assert_eq!((counts.fetches, counts.ranges), (2, 2));
    // Nothing is read twice; the local header comes with the first piece.
    assert!(counts.bytes_read < stored_len + 300, "{counts:?}");
}

#[test]
fn parts_of_a_value_take_one_request_too() {
    let value = vec![5; 1 << 20];
    let (counting, store) = counted(Archive::of(&[Entry::stored("a", &value)]).bytes());
    counting.reset();
    fetch(&store, "a", Want::Tail(16)).expect("it reads");
    assert_eq!(
        (counting.counts().fetches, counting.counts().ranges),
        (1, 2)
    );
    assert!(counting.counts().bytes_read < 300);
}

/// The same implementation, over a store whose calls are futures.
#[test]
fn an_asynchronous_store_takes_as_many() {
    let archive = many().bytes();
    let slow = AsyncMemoryStore::over(memory(archive), Latency::default()).with_polls(2);
    let store = block_on(ZipStore::open_async(slow.clone(), key("a.zip"))).expect("it opens");
    assert_eq!(slow.reset().fetches, 2);
    let wanted = |i: u32| Fetch {
        key: Key::new(format!("c/0/{i}")).expect("a key"),
        of: Of::Any,
        want: Want::Whole { limit: 10 },
    };
    let store = &store;
    let all =
        (0..8).map(|i| async move { ndzarr_store::AsyncStore::fetch(store, &wanted(i)).await });
    assert!(
        block_on(futures_util::future::join_all(all))
            .iter()
            .all(Result::is_ok)
    );
    assert_eq!((slow.counts().fetches, slow.counts().max_in_flight), (8, 8));
}

#[test]
fn what_is_known_from_the_directory_takes_no_request() {
    let (counting, store) = counted(many().bytes());
    counting.reset();
    assert!(store.has(&key("c/0/0")).expect("it knows"));
    assert!(!store.has(&key("c/0")).expect("it knows"));
    fetch(&store, "c/0/0", Want::Size).expect("it knows");
    fetch(&store, "c/0/0", Want::Ranges(vec![])).expect("it knows");
    let listed = store
        .list_dir(&ndzarr_store::Prefix::new("c/").expect("a prefix"))
        .expect("it lists");
    assert_eq!((listed.keys.len(), listed.prefixes.len()), (0, 100));
    assert_eq!(counting.counts(), Default::default());
}
