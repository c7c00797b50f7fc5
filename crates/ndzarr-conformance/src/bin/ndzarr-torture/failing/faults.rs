//! Stores whose calls fail: every error is reported with its place, and old values stay.

use bytes::Bytes;
use ndzarr::ndarray::Array1;
use ndzarr::store::{Key, Precondition, Put, StoreError};
use ndzarr::{Array, Error, FsStore, Group, MemoryStore, Storage, Store};
use ndzarr_testkit::{Call, FaultStore, forward};
use serde_json::json;

use crate::common::layout::{Layout, read, write};
use crate::common::table::{Expect, Table};
use crate::common::torture::{Outcome, Torture};

const ELEMENTS: u64 = 40;
const UNIT: u64 = 16;

/// Calls on an array whose elements are 1, 2, 3, ….
const TRIALS: [&str; 10] = [
    "read",
    "overwrite",
    "update",
    "fill",
    "shard writer",
    "shrink",
    "append",
    "attributes",
    "create",
    "delete",
];

/// Kinds of calls that are made to fail.
const CALLS: [Call; 8] = [
    Call::Fetch,
    Call::Put,
    Call::Erase,
    Call::Lock,
    Call::Temporary,
    Call::Write,
    Call::Publish,
    Call::List,
];

#[derive(Default)]
struct Counts {
    faults: u64,
    unreported: u64,
    without_key: u64,
    damaged: u64,
    left: u64,
    what: Vec<String>,
}

pub(crate) fn run(torture: &Torture, table: &mut Table) -> Outcome {
    for on_disk in [false, true] {
        let mut counts = Counts::default();
        for layout in Layout::ALL {
            for trial in TRIALS {
                if trial == "shard writer" && !layout.has_shards() {
                    continue;
                }
                for call in CALLS {
                    // A later call each time, until the trial makes no further call of this kind.
                    for nth in 0.. {
                        let folder = tempfile::tempdir_in(&torture.folder)?;
                        let fired = if on_disk {
                            let store = FsStore::new(folder.path());
                            fail_once(
                                layout,
                                trial,
                                (call, nth),
                                store,
                                Storage::blocking,
                                &mut counts,
                            )?
                        } else {
                            let store = MemoryStore::new();
                            fail_once(
                                layout,
                                trial,
                                (call, nth),
                                store,
                                Storage::blocking,
                                &mut counts,
                            )?
                        };
                        counts.left +=
                            crate::common::layout::leftovers(folder.path())?.len() as u64;
                        if !fired {
                            break;
                        }
                    }
                }
            }
        }
        for what in &counts.what {
            eprintln!("{what}");
        }
        let store = if on_disk { "file system" } else { "memory" };
        let of = format!("of {} faults", counts.faults);
        table.row(
            format!("store faults not reported, {store}"),
            counts.unreported,
            &of,
            Expect::None,
        )?;
        table.row(
            format!("store faults that name no store or chunk, {store}"),
            counts.without_key,
            &of,
            Expect::None,
        )?;
        table.row(
            format!("values neither old nor new after a fault, {store}"),
            counts.damaged,
            &of,
            Expect::None,
        )?;
        table.row(
            format!("temporaries left after a fault, {store}"),
            counts.left,
            &of,
            Expect::None,
        )?;
    }
    let mut counts = Counts::default();
    for trial in TRIALS {
        let silent = |store| Storage::blocking(Silent(store));
        fail_once(
            Layout::V3Shards,
            trial,
            (Call::Put, 0),
            MemoryStore::new(),
            silent,
            &mut counts,
        )?;
    }
    let of = format!("of {} faults", counts.faults);
    table.row(
        "  not reported, of a store that keeps failed puts to itself",
        counts.unreported,
        of,
        Expect::Seen,
    )
}

/// A store that claims to have written when it has not.
#[derive(Debug)]
struct Silent(FaultStore<MemoryStore>);

impl Store for Silent {
    forward!(0: name, fetch, erase, list_dir);

    fn put(&self, key: &Key, parts: &[Bytes], only_if: Precondition) -> Result<Put, StoreError> {
        Ok(self.0.put(key, parts, only_if).unwrap_or(Put::Done(None)))
    }
}

/// Runs a trial with one fault. Returns `false` if the trial did not reach the call that was to
/// fail.
fn fail_once<S: Store + Clone + 'static>(
    layout: Layout,
    trial: &str,
    (call, nth): (Call, u64),
    inner: S,
    storage: impl Fn(FaultStore<S>) -> Storage,
    counts: &mut Counts,
) -> Outcome<bool> {
    let good = Storage::blocking(inner.clone());
    let faulty = FaultStore::new(inner);
    layout.root_group(&good)?;
    let old: Vec<u32> = (1..=ELEMENTS as u32).collect();
    let array = layout
        .builder(&[ELEMENTS], &[UNIT])
        .attributes(json!({"old": 1}))
        .create((&good, "a"))?;
    write(&array, 0, old.clone())?;

    let storage = storage(faulty.clone());
    let failing = Array::<u32>::open((&storage, "a"))?;
    let what = "it is broken".to_owned();
    faulty.fail_nth(
        call,
        nth,
        StoreError::Other {
            action: "reach",
            key: "the disk".to_owned(),
            what,
        },
    );
    let result = attempt(layout, trial, &storage, failing);
    let fired = faulty.heal_unused() == 0;
    if !fired {
        result?;
        return Ok(false);
    }
    counts.faults += 1;
    match result {
        Ok(()) => {
            counts.what.push(format!(
                "{layout}, {trial}: fault {nth} at {call:?} was not reported"
            ));
            counts.unreported += 1;
        }
        Err(error) => {
            let named = names_its_place(trial, &array, &error);
            if !named {
                let what =
                    format!("{layout}, {trial}: fault {nth} at {call:?} names no chunk: {error:?}");
                counts.what.push(what);
            }
            counts.without_key += u64::from(!named);
        }
    }
    if !is_intact(trial, &good, &old) {
        counts.what.push(format!(
            "{layout}, {trial}: damaged by fault {nth} at {call:?}"
        ));
        counts.damaged += 1;
    }
    Ok(true)
}

fn attempt(
    layout: Layout,
    trial: &str,
    storage: &Storage,
    mut array: Array<u32>,
) -> Result<(), Error> {
    let new = || Array1::from_iter(101..101 + ELEMENTS as u32);
    match trial {
        "read" => array.read(..).map(drop),
        "overwrite" => array.write([0..ELEMENTS], &new()),
        "update" => array.write(
            [3..ELEMENTS - 3],
            &Array1::from_iter(104..98 + ELEMENTS as u32),
        ),
        "fill" => array.fill([0..UNIT], 0),
        "shard writer" => {
            // All but the first inner chunk of the second shard, one of them twice.
            let writer = array.shard_writer(&[1])?;
            let chunks: Vec<_> = writer.chunks().skip(1).collect();
            for chunk in chunks.iter().chain(chunks.first()) {
                let range = &chunk.ranges[0];
                let elements = (range.start..range.end).map(|at| at as u32 + 101);
                writer.write_chunk(&chunk.index, &Array1::from_iter(elements))?;
            }
            writer.finish()
        }
        "shrink" => array.resize([ELEMENTS / 2]),
        "append" => array.append(0, &Array1::from_elem(30, 7)),
        "attributes" => array.merge_attributes(json!({"new": 2})),
        "create" => layout
            .builder(&[ELEMENTS], &[UNIT])
            .create((storage, "b/c"))
            .map(drop),
        _ => Group::open(storage)?.erase("a"),
    }
}

/// True if an error names the store and, where elements are read or written, the chunk by index and
/// key. It is the store that names the key of a document, which one that is made to fail does not.
fn names_its_place(trial: &str, array: &Array<u32>, error: &Error) -> bool {
    let is_about_elements =
        ["read", "overwrite", "update", "fill", "shard writer"].contains(&trial);
    let chunk = error.chunk().map(|chunk| array.units().key(chunk));
    error.store().is_some()
        && (!is_about_elements || (chunk.is_some() && chunk.as_deref() == error.key()))
}

/// True if each element is old or new, and everything else exists wholly or not at all.
fn is_intact(trial: &str, good: &Storage, old: &[u32]) -> bool {
    let Ok(array) = Array::<u32>::open((good, "a")) else {
        return trial == "delete" && Group::open(good).is_ok();
    };
    let Ok(elements) = read(&array) else {
        return false;
    };
    let kept = elements.iter().zip(old).all(|(&found, &old)| {
        let new = match trial {
            "overwrite" | "update" | "shard writer" => found == old + 100,
            "fill" => found == 0,
            "shrink" => found == 0 && u64::from(old) > ELEMENTS / 2,
            _ => false,
        };
        found == old || new
    });
    // Beyond the old end, only appended elements show.
    let mut larger = array.clone();
    let kept = kept
        && larger.resize([ELEMENTS + 64]).is_ok()
        && read(&larger).is_ok_and(|all| {
            let (_, new) = all.split_at(elements.len());
            new.iter().all(|&element| element == 0)
        });
    let attributes = array.attributes();
    let new_attribute = attributes
        .get("new")
        .is_none_or(|new| trial == "attributes" && *new == 2);
    // A reader that finds the new array finds all of it.
    let created = match Array::<u32>::open((good, "b/c")) {
        Ok(created) => {
            trial == "create"
                && read(&created).is_ok_and(|elements| elements.iter().all(|n| *n == 0))
        }
        Err(error) => matches!(
            error.kind(),
            ndzarr::ErrorKind::NotFound | ndzarr::ErrorKind::WrongNodeKind
        ),
    };
    kept && new_attribute && attributes.get("old") == Some(&json!(1)) && created
}
