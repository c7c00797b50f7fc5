//! A store fails at each request of a copy in turn, or from it on, on either side: what looks like a copy is whole, the
//! source stays, and a resumed copy is the one that would have been made, with nothing besides.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use ndzarr::store::bytes::Bytes;
use ndzarr::{
    Array, CopyOptions, ErrorKind, Existing, Format, Group, MemoryStore, RunOptions, Storage, asynchronous,
    copy,
};
use ndzarr_store::StoreError;
use ndzarr_testkit::{AsyncMemoryStore, Call, FaultStore, Latency, block_on};

type Keys = BTreeMap<String, Bytes>;

/// A group with consolidated metadata, two arrays, one of them in a group of its own, and a file of others.
fn source() -> MemoryStore {
    let memory = MemoryStore::new();
    let mut group = Group::create((&memory, "from"), Format::Zarr2).expect("a group");
    let inner = group.create_group("inner").expect("a group");
    for (group, name) in [(&group, "a"), (&inner, "b")] {
        let array = Array::<u16>::builder([10]).chunks([4]).fill_value(9);
        let array = group.create_array(name, array).expect("an array");
        array.fill([0..7], 3).expect("elements");
    }
    group.consolidate().expect("consolidated metadata");
    memory.set("from/inner/notes.txt", "by others").expect("a key");
    memory
}

fn keys(memory: &MemoryStore) -> Keys {
    memory.keys().into_iter().map(|key| (key.to_string(), memory.get(&key).expect("a value"))).collect()
}

/// What fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fails {
    One,
    /// As if the process were killed.
    AllFromIt,
}

/// The store of a side.
struct Side {
    memory: MemoryStore,
    storage: Storage,
    /// Fails at request `n`.
    fail: Box<dyn Fn(Fails, u64)>,
    heal: Box<dyn Fn()>,
}

fn fault() -> StoreError {
    StoreError::io("reach", "the store", std::io::Error::other("as asked"))
}

impl Side {
    fn new(memory: MemoryStore, is_async: bool) -> Self {
        match is_async {
            true => {
                let store = FaultStore::new(AsyncMemoryStore::over(memory.clone(), Latency::default()));
                Self::of(memory, Storage::asynchronous(store.clone()), store)
            }
            false => {
                let store = FaultStore::new(memory.clone());
                Self::of(memory, Storage::blocking(store.clone()), store)
            }
        }
    }

    fn of<S: Clone + 'static>(memory: MemoryStore, storage: Storage, store: FaultStore<S>) -> Self {
        let failing = store.clone();
        let fail = move |fails, n| match fails {
            Fails::One => failing.fail_nth(Call::Any, n, fault()),
            Fails::AllFromIt => failing.fail_from(Call::Any, n, fault()),
        };
        Self { memory, storage, fail: Box::new(fail), heal: Box::new(move || store.heal()) }
    }
}

/// Copies, as a future or not.
fn copied(from: &Side, to: &Side, options: &CopyOptions, as_future: bool) -> Result<(), ndzarr::Error> {
    let (from, to) = ((&from.storage, "from"), (&to.storage, "to"));
    match as_future {
        true => block_on(asynchronous::copy(from, to, options)).map(drop),
        false => copy(from, to, options).map(drop),
    }
}

fn at_each_request(options: &CopyOptions, [is_async_from, is_async_to]: [bool; 2], as_future: bool) {
    let run = RunOptions::default().threads(NonZeroUsize::new(1));
    let options = options.clone().run(run);
    let whole = MemoryStore::new();
    let from = Side::new(source(), is_async_from);
    copied(&from, &Side::new(whole.clone(), is_async_to), &options, as_future).expect("a copy");
    let (whole, before) = (keys(&whole), keys(&from.memory));
    let mut failed = 0;
    for (fails_at_target, fails) in
        [(false, Fails::One), (false, Fails::AllFromIt), (true, Fails::One), (true, Fails::AllFromIt)]
    {
        // That many requests in a row did not matter: the copy has ended before them.
        let mut idle = 0;
        for n in 0.. {
            let to = Side::new(MemoryStore::new(), is_async_to);
            let side = if fails_at_target { &to } else { &from };
            (side.fail)(fails, n);
            let done = copied(&from, &to, &options, as_future);
            (side.heal)();
            let what = format!(
                "{fails:?} from request {n} of the {} on, asynchronous {is_async_from} {is_async_to}, {done:?}",
                if fails_at_target { "target" } else { "source" }
            );
            assert!(keys(&from.memory) == before, "{what}: the source");
            let is_open = Group::open((&to.memory, "to")).is_ok();
            match &done {
                // What failed was not needed.
                Ok(()) => {
                    assert!(keys(&to.memory) == whole, "{what}: {:?}", to.memory.keys());
                    idle += 1;
                    if idle > 3 {
                        break;
                    }
                    continue;
                }
                // All but the note's removal was done; or consolidated metadata are there, which show a group by
                // themselves, and its own document is not.
                Err(_) if is_open => {
                    let mut made = keys(&to.memory);
                    made.retain(|key, _| !key.ends_with(".ndzarr-copy"));
                    let mut without_document = whole.clone();
                    if made.contains_key("to/.zmetadata") {
                        without_document.remove("to/.zgroup");
                    }
                    assert!(made == whole || made == without_document, "{what}: it opens: {:?}", made.keys());
                }
                Err(error) => {
                    failed += 1;
                    assert_ne!(error.kind(), ErrorKind::AlreadyExists, "{what}");
                }
            }
            idle = 0;
            match copied(&from, &to, &options.clone().resume(), as_future) {
                Ok(()) => assert!(keys(&to.memory) == whole, "{what}: {:?}", to.memory.keys()),
                Err(error) => assert!(is_open && error.kind() == ErrorKind::AlreadyExists, "{what}: {error}"),
            }
        }
    }
    assert!(failed > 50, "{failed} requests failed");
}

fn ways() -> [CopyOptions; 4] {
    [
        CopyOptions::new(),
        CopyOptions::new().format(Format::Zarr3),
        CopyOptions::new().format(Format::Zarr3).chunks([5]).shards([10]),
        CopyOptions::new().format(Format::N5).existing(Existing::Replace).record_losses(),
    ]
}

#[test]
fn blocking_stores() {
    at_each_request(&CopyOptions::new(), [false, false], false);
    at_each_request(&CopyOptions::new().format(Format::Zarr3), [false, false], false);
}

#[test]
fn asynchronous_stores() {
    at_each_request(&CopyOptions::new(), [true, true], false);
    at_each_request(&CopyOptions::new(), [true, true], true);
}

mod long {
    use super::*;

    const SIDES: [[bool; 2]; 4] = [[false, false], [true, false], [false, true], [true, true]];

    #[test]
    #[ignore = "long; `.ci/run all` runs it"]
    fn stores_of_each_kind() {
        for sides in SIDES {
            ways().iter().for_each(|options| at_each_request(options, sides, false));
        }
    }

    #[test]
    #[ignore = "long; `.ci/run all` runs it"]
    fn as_futures() {
        for sides in SIDES {
            ways().iter().for_each(|options| at_each_request(options, sides, true));
        }
    }
}
