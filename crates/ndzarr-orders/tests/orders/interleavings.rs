//! Readers and writers of one array in many orders: `shuttle` decides which thread continues at
//! every call of the store.
//!
//! The library itself runs, with its cache of shard indexes, over a store in memory with locks or
//! with conditional writes. A thread that would wait for ever is reported as a deadlock.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;

use bytes::Bytes;
use ndarray::{Array1, array};
use ndzarr::store::{
    DirListing, Fetch, Fetched, Key, KeyLock, Locked, Of, Pin, Precondition, Prefix, Put,
    StoreError, Wait, Want,
};
use ndzarr::{Array, MemoryStore, RunOptions, Storage, Store};
use serde_json::json;
use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::sync::{Arc, Condvar, Mutex};
use shuttle::{Config, Runner, thread};

/// How writers are serialized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turns {
    Locks,
    Conditions,
}

/// A store in memory in which other threads may continue at every call.
#[derive(Clone, Debug)]
struct Moments {
    inner: MemoryStore,
    turns: Turns,
    locked: Arc<(Mutex<BTreeSet<Key>>, Condvar)>,
}

impl Moments {
    fn storage(turns: Turns) -> Storage {
        let locked = Arc::new((Mutex::new(BTreeSet::new()), Condvar::new()));
        Storage::blocking(Self {
            inner: MemoryStore::new(),
            turns,
            locked,
        })
    }

    /// Runs a write under the lock, if there are locks.
    fn in_turn<T>(&self, key: &Key, write: impl FnOnce() -> T) -> T {
        thread::yield_now();
        if self.turns == Turns::Conditions {
            return write();
        }
        let _held = self.take(key, Wait::Block);
        write()
    }

    fn take(&self, key: &Key, wait: Wait<'_>) -> Option<Held> {
        let (locked, unlocked) = &*self.locked;
        let mut locked = locked.lock().expect("no thread panics");
        while !locked.insert(key.clone()) {
            if matches!(wait, Wait::Try) {
                return None;
            }
            locked = unlocked.wait(locked).expect("no thread panics");
        }
        Some(Held {
            store: self.clone(),
            key: key.clone(),
            value: Vec::new(),
        })
    }
}

impl Store for Moments {
    fn name(&self) -> String {
        "moments".to_owned()
    }

    fn fetch(&self, fetch: &Fetch) -> Result<Fetched, StoreError> {
        thread::yield_now();
        self.inner.fetch(fetch)
    }

    fn put(&self, key: &Key, parts: &[Bytes], only_if: Precondition) -> Result<Put, StoreError> {
        self.in_turn(key, || self.inner.put(key, parts, only_if))
    }

    fn erase(&self, key: &Key, only_if: Precondition) -> Result<Put, StoreError> {
        self.in_turn(key, || self.inner.erase(key, only_if))
    }

    fn lock(&self, key: &Key, wait: Wait<'_>) -> Result<Locked, StoreError> {
        if self.turns == Turns::Conditions {
            return Ok(Locked::Unsupported);
        }
        Ok(self
            .take(key, wait)
            .map_or(Locked::Busy, |held| Locked::Held(Box::new(held))))
    }

    fn list_dir(&self, prefix: &Prefix) -> Result<DirListing, StoreError> {
        thread::yield_now();
        self.inner.list_dir(prefix)
    }
}

struct Held {
    store: Moments,
    key: Key,
    value: Vec<u8>,
}

impl KeyLock for Held {
    fn fetch(&mut self, of: Of, want: Want) -> Result<Fetched, StoreError> {
        self.store.fetch(&Fetch {
            key: self.key.clone(),
            of,
            want,
        })
    }

    fn append(&mut self, part: &[u8]) -> Result<u64, StoreError> {
        let at = self.value.len() as u64;
        self.value.extend_from_slice(part);
        Ok(at)
    }

    fn write_at(&mut self, at: u64, part: &[u8]) -> Result<(), StoreError> {
        let start = at as usize;
        let end = start + part.len();
        self.value.resize(self.value.len().max(end), 0);
        self.value[start..end].copy_from_slice(part);
        Ok(())
    }

    fn publish(mut self: Box<Self>) -> Result<Pin, StoreError> {
        thread::yield_now();
        let value = Bytes::from(std::mem::take(&mut self.value));
        match self
            .store
            .inner
            .put(&self.key, &[value], Precondition::None)?
        {
            Put::Done(Some(pin)) => Ok(pin),
            other => panic!("the store in memory writes: {other:?}"),
        }
    }

    fn erase(self: Box<Self>) -> Result<(), StoreError> {
        thread::yield_now();
        self.store
            .inner
            .erase(&self.key, Precondition::None)
            .map(drop)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let (locked, unlocked) = &*self.store.locked;
        locked.lock().expect("no thread panics").remove(&self.key);
        unlocked.notify_all();
    }
}

/// Tries an execution in random orders, and in orders with few switches.
fn in_many_orders(run: impl Fn() + Send + Sync + Copy + 'static) {
    const ORDERS: usize = 150;
    let config = || {
        let mut config = Config::new();
        config.stack_size = 1 << 20;
        config
    };
    Runner::new(RandomScheduler::new(ORDERS), config()).run(run);
    Runner::new(PctScheduler::new(3, ORDERS), config()).run(run);
}

fn on_own_thread<T>(array: Array<T>) -> Array<T>
where
    T: ndzarr::Element,
{
    array.with_options(RunOptions::default().threads(NonZeroUsize::new(1)))
}

/// One shard of four inner chunks.
fn one_shard(turns: Turns) -> Array<u16> {
    let builder = Array::<u16>::builder([8]).chunks([2]).shards([8]);
    on_own_thread(
        builder
            .create((Moments::storage(turns), "a"))
            .expect("a new array"),
    )
}

fn join(threads: Vec<thread::JoinHandle<()>>) {
    for thread in threads {
        thread.join().expect("no thread panics");
    }
}

/// The number and positions of its inner chunks differ from value to value.
const VALUES: [[u16; 8]; 4] = [
    [0; 8],
    [11, 12, 13, 14, 15, 16, 17, 18],
    [0, 0, 0, 0, 25, 26, 0, 0],
    [31, 32, 0, 0, 35, 36, 37, 38],
];

fn readers_during_writes(turns: Turns) {
    let a = one_shard(turns);
    let mut threads = Vec::new();
    let writer = a.clone();
    threads.push(thread::spawn(move || {
        for value in &VALUES[1..] {
            writer
                .write([0..8], &Array1::from_iter(*value))
                .expect("a write");
        }
    }));
    for start in [0, 3] {
        // They share the cache of shard indexes.
        let reader = a.clone();
        threads.push(thread::spawn(move || {
            let mut newest = 0;
            for range in [0..8, start..start + 3, start..start + 5] {
                let found = reader.read([range.clone()]).expect("a read").to_vec();
                let range = range.start as usize..range.end as usize;
                // The last of the values that have this part.
                let value = (newest..VALUES.len())
                    .rev()
                    .find(|&i| VALUES[i][range.clone()] == found);
                assert!(
                    value.is_some(),
                    "{found:?} at {range:?} is of no value from {newest} on"
                );
                newest = newest.max(
                    (newest..VALUES.len())
                        .find(|&i| VALUES[i][range.clone()] == found)
                        .unwrap_or(0),
                );
            }
        }));
    }
    join(threads);
    assert_eq!(a.read([0..8]).expect("a read").to_vec(), VALUES[3]);
}

#[test]
fn readers_with_a_warm_index_see_one_value_and_never_an_older_one() {
    in_many_orders(|| readers_during_writes(Turns::Conditions));
    in_many_orders(|| readers_during_writes(Turns::Locks));
}

fn writers_of_one_shard(turns: Turns) {
    let a = one_shard(turns);
    a.fill([0..8], 1).expect("a write");
    let mut threads = Vec::new();
    // Two in one inner chunk, one in the next one, and one that sets its element to the fill value.
    for (at, value) in [(0, 10), (1, 20), (2, 30), (5, 0)] {
        let writer = a.clone();
        threads.push(thread::spawn(move || {
            writer.fill([at..at + 1], value).expect("a write")
        }));
    }
    let writer = a.shard_writer(&[0]).expect("a shard");
    threads.push(thread::spawn(move || {
        writer
            .write_chunk(&[3], &array![70, 80])
            .expect("an inner chunk");
        writer.finish().expect("a shard");
    }));
    join(threads);
    assert_eq!(
        a.read([0..8]).expect("a read"),
        array![10, 20, 30, 1, 1, 0, 70, 80]
    );
}

#[test]
fn writers_of_one_shard_lose_nothing() {
    in_many_orders(|| writers_of_one_shard(Turns::Conditions));
    in_many_orders(|| writers_of_one_shard(Turns::Locks));
}

fn growing_and_shrinking(turns: Turns) {
    let storage = Moments::storage(turns);
    let a = on_own_thread(
        Array::<u16>::builder([2])
            .chunks([4])
            .create((&storage, "a"))
            .expect("a new array"),
    );
    a.fill([0..2], 9).expect("a write");
    let mut threads = Vec::new();
    for writer in 1..=2u16 {
        let mut a = a.clone();
        threads.push(thread::spawn(move || {
            a.append(0, &array![writer, writer, writer])
                .expect("an append");
            a.merge_attributes(json!({ format!("{writer}"): 1 }))
                .expect("attributes");
        }));
    }
    join(threads);
    let mut a = on_own_thread(Array::<u16>::open((&storage, "a")).expect("it exists"));
    let all = a.read([0..8]).expect("a read").to_vec();
    assert!(
        all == [9, 9, 1, 1, 1, 2, 2, 2] || all == [9, 9, 2, 2, 2, 1, 1, 1],
        "{all:?}"
    );
    assert_eq!(a.attributes().len(), 2);

    // Shrinking during an append: one after the other, and elements that were cut off are gone.
    let mut shrinking = a.clone();
    let mut appending = a.clone();
    let threads = vec![
        thread::spawn(move || shrinking.resize([1]).expect("a resize")),
        thread::spawn(move || appending.append(0, &array![5, 6]).expect("an append")),
    ];
    join(threads);
    a.resize([12]).expect("a resize");
    let found = a.read([0..12]).expect("a read").to_vec();
    match turns {
        Turns::Locks => {
            let one = [9, 5, 6, 0, 0, 0, 0, 0];
            let other = [9, 0, 0, 0, 0, 0, 0, 0];
            assert!(found[..8] == one || found[..8] == other, "{found:?}");
        }
        // The append does not wait: it may write its elements after their place was cut off.
        Turns::Conditions => assert!(found[3..8].iter().all(|&element| element == 0), "{found:?}"),
    }
}

#[test]
fn appends_and_attributes_and_shapes_take_turns() {
    in_many_orders(|| growing_and_shrinking(Turns::Conditions));
    in_many_orders(|| growing_and_shrinking(Turns::Locks));
}

/// Writers that are not serialized, to show that these orders reveal lost writes.
#[test]
#[should_panic(expected = "assertion `left == right` failed")]
fn what_is_lost_without_turns_is_found() {
    in_many_orders(|| {
        let a = one_shard(Turns::Conditions);
        let options = RunOptions::default()
            .concurrent_update(ndzarr::ConcurrentUpdate::LastWriterWins)
            .threads(NonZeroUsize::new(1));
        let a = Arc::new(a.with_options(options));
        let writers = [0, 1].map(|at| {
            let a = Arc::clone(&a);
            thread::spawn(move || a.fill([at..at + 1], 7).expect("a write"))
        });
        join(writers.into());
        assert_eq!(a.read([0..2]).expect("a read"), array![7, 7]);
    });
}
