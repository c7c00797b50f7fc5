//! Stores whose calls fail: every error is reported and says where, and what was there stays.

use ndzarr::ndarray::Array1;
use ndzarr::ndzarr_store::StoreError;
use ndzarr::{Array, Error, FsStore, Group, MemoryStore, Storage, Store};
use ndzarr_testkit::{Call, FaultStore};
use serde_json::json;

use crate::layout::{Layout, read, write};
use crate::table::{Expect, Table};
use crate::{Outcome, Torture};

const ELEMENTS: u64 = 40;
const UNIT: u64 = 16;

/// What is tried on an array whose elements are 1, 2, 3, ….
const TRIALS: [&str; 7] = ["read", "overwrite", "update", "fill", "attributes", "create", "delete"];

#[derive(Default)]
struct Counts {
    faults: u64,
    unreported: u64,
    without_key: u64,
    damaged: u64,
    left: u64,
}

pub(crate) fn run(torture: &Torture, table: &mut Table) -> Outcome {
    for on_disk in [false, true] {
        let mut counts = Counts::default();
        for layout in Layout::ALL {
            for trial in TRIALS {
                for call in
                    [Call::Fetch, Call::Put, Call::Erase, Call::Lock, Call::Write, Call::Publish, Call::List]
                {
                    // One call later each time, until the trial makes no more of this kind.
                    for nth in 0.. {
                        let folder = tempfile::tempdir_in(&torture.folder)?;
                        let fired = if on_disk {
                            let store = FsStore::new(folder.path());
                            fail_once(layout, trial, call, nth, store, &mut counts)?
                        } else {
                            fail_once(layout, trial, call, nth, MemoryStore::new(), &mut counts)?
                        };
                        counts.left += crate::layout::leftovers(folder.path())?.len() as u64;
                        if !fired {
                            break;
                        }
                    }
                }
            }
        }
        let store = if on_disk { "file system" } else { "memory" };
        let of = format!("of {} faults", counts.faults);
        table.row(format!("store faults not reported, {store}"), counts.unreported, &of, Expect::None)?;
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
        table.row(format!("temporaries left after a fault, {store}"), counts.left, &of, Expect::None)?;
    }
    Ok(())
}

/// Tries with one fault; returns whether there was a call to fail.
fn fail_once(
    layout: Layout,
    trial: &str,
    call: Call,
    nth: u64,
    inner: impl Store + Clone + 'static,
    counts: &mut Counts,
) -> Outcome<bool> {
    let (good, faulty) = (Storage::blocking(inner.clone()), FaultStore::new(inner));
    layout.root_group(&good)?;
    let old: Vec<u32> = (1..=ELEMENTS as u32).collect();
    let array = layout.builder(&[ELEMENTS], &[UNIT]).attributes(json!({"old": 1})).create(&good, "a")?;
    write(&array, 0, old.clone())?;

    let storage = Storage::blocking(faulty.clone());
    let failing = Array::<u32>::open_in(&storage, "a")?;
    let what = "it is broken".to_owned();
    faulty.fail_nth(call, nth, StoreError::Other { action: "reach", key: "the disk".to_owned(), what });
    let result = attempt(layout, trial, &storage, failing);
    let fired = faulty.heal_unused() == 0;
    if !fired {
        result?;
        return Ok(false);
    }
    counts.faults += 1;
    match result {
        Ok(()) => {
            eprintln!("{layout}, {trial}: fault {nth} at {call:?} was not reported");
            counts.unreported += 1;
        }
        Err(error) => {
            let named = names_its_place(trial, &array, &error);
            if !named {
                eprintln!("{layout}, {trial}: fault {nth} at {call:?} names no chunk: {error:?}");
            }
            counts.without_key += u64::from(!named);
        }
    }
    if !is_intact(trial, &good, &old) {
        eprintln!("{layout}, {trial}: damaged by fault {nth} at {call:?}");
        counts.damaged += 1;
    }
    Ok(true)
}

fn attempt(layout: Layout, trial: &str, storage: &Storage, mut array: Array<u32>) -> Result<(), Error> {
    let new = || Array1::from_iter(101..101 + ELEMENTS as u32);
    match trial {
        "read" => array.read(..).map(drop),
        "overwrite" => array.write([0..ELEMENTS], &new()),
        "update" => array.write([3..ELEMENTS - 3], &Array1::from_iter(104..98 + ELEMENTS as u32)),
        "fill" => array.fill([0..UNIT], 0),
        "attributes" => array.merge_attributes(json!({"new": 2})),
        "create" => layout.builder(&[ELEMENTS], &[UNIT]).create(storage, "b/c").map(drop),
        _ => Group::open_in(storage, "")?.erase("a"),
    }
}

/// Whether an error says which store and, where elements are read or written, which chunk by index and key. The key of a
/// document is what the store says, and so not for a store that is made to fail.
fn names_its_place(trial: &str, array: &Array<u32>, error: &Error) -> bool {
    let is_about_elements = ["read", "overwrite", "update", "fill"].contains(&trial);
    let chunk = error.chunk().map(|chunk| array.chunk_key(chunk));
    error.store().is_some() && (!is_about_elements || (chunk.is_some() && chunk.as_deref() == error.key()))
}

/// Whether each element is the old or the new one, and the rest is there, wholly or not at all.
fn is_intact(trial: &str, good: &Storage, old: &[u32]) -> bool {
    let Ok(array) = Array::<u32>::open_in(good, "a") else {
        return trial == "delete" && Group::open_in(good, "").is_ok();
    };
    let Ok(elements) = read(&array) else { return false };
    let kept = elements.iter().zip(old).all(|(&found, &old)| {
        let new = match trial {
            "overwrite" | "update" => found == old + 100,
            "fill" => found == 0,
            _ => false,
        };
        found == old || new
    });
    let attributes = array.attributes();
    let new_attribute = attributes.get("new").is_none_or(|new| trial == "attributes" && *new == 2);
    // Whoever finds the new array finds all of it.
    let created = match Array::<u32>::open_in(good, "b/c") {
        Ok(created) => {
            trial == "create" && read(&created).is_ok_and(|elements| elements.iter().all(|n| *n == 0))
        }
        Err(error) => error.kind() == ndzarr::ErrorKind::NotFound,
    };
    kept && new_attribute && attributes.get("old") == Some(&json!(1)) && created
}
