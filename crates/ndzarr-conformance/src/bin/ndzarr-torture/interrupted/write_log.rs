//! Checks each state that a crash in the middle of a call's changes could leave.

use ndzarr::ndarray::Array1;
use ndzarr::{Array, ErrorKind, Group, MemoryStore, Storage};
use ndzarr_testkit::{Change, RecordingStore};
use serde_json::{Value, json};

use crate::common::layout::{Layout, read, write};
use crate::common::table::{Expect, Table};
use crate::common::torture::{Outcome, Torture};

/// The visible state of the array.
#[derive(Clone, Debug, PartialEq)]
struct Seen {
    attributes: Value,
    elements: Vec<u32>,
}

/// The call that a moment lies in.
struct Step {
    what: &'static str,
    /// Changes that were made when it ended.
    end: usize,
    /// The state then; `None` for no array.
    seen: Option<Seen>,
}

const FILL: u32 = 0;

pub(crate) fn run(_: &Torture, table: &mut Table) -> Outcome {
    for layout in Layout::ALL {
        let (log, steps) = record(layout)?;
        let of = format!("of {} prefixes of the log", log.len());
        let found = replay(layout, &log, &steps)?;
        for what in &found.what {
            eprintln!("{what}");
        }
        let name = format!("broken moments of create, write, resize, delete, {layout}");
        table.row(name, found.broken, &of, Expect::None)?;
        let name = format!("moments after which growing or creating shows old elements, {layout}");
        table.row(name, found.come_back, &of, Expect::None)?;
    }
    // The changes of each call, last ones first.
    let (mut log, steps) = record(Layout::V3)?;
    let mut start = 0;
    for step in &steps {
        log[start..step.end].reverse();
        start = step.end;
    }
    let found = replay(Layout::V3, &log, &steps)?;
    let of = format!("of {} prefixes of the log", log.len());
    table.row(
        "  broken moments, each call in the wrong order, v3",
        found.broken,
        &of,
        Expect::Seen,
    )?;
    table.row(
        "  moments after which old elements show, the same",
        found.come_back,
        &of,
        Expect::Seen,
    )
}

/// The findings in the prefixes of a log.
#[derive(Default)]
struct Found {
    /// Prefixes that leave a state that must never be visible.
    broken: u64,
    /// Prefixes after which a call brings back elements that are gone, or do not exist yet.
    come_back: u64,
    what: Vec<String>,
}

/// Replays each prefix of the log.
fn replay(layout: Layout, log: &[Change], steps: &[Step]) -> Outcome<Found> {
    let store = MemoryStore::new();
    let mut found = Found::default();
    let mut step = 0;
    // The root group exists from the first step on.
    for (n, change) in log.iter().enumerate() {
        change.replay_into(&store)?;
        let n = n + 1;
        while steps[step].end < n {
            step += 1;
        }
        if step == 0 {
            continue;
        }
        let current = Group::open(&store)
            .map_err(Into::into)
            .and_then(|_| visible_state(&store));
        let verdict = match current {
            Err(error) => Err(format!("{error}")),
            Ok(seen) => allowed(seen.as_ref(), &steps[step - 1], &steps[step], n),
        };
        if let Err(what) = verdict {
            found.what.push(format!(
                "{layout}, {} after {}: {what}",
                steps[step].what, change.key
            ));
            found.broken += 1;
        }
        if let Err(what) = enlarge_or_create(layout, &copy(&store)?) {
            found.what.push(format!(
                "{layout}, {} after {}: {what}",
                steps[step].what, change.key
            ));
            found.come_back += 1;
        }
    }
    Ok(found)
}

fn copy(store: &MemoryStore) -> Outcome<MemoryStore> {
    let copy = MemoryStore::new();
    for key in store.keys() {
        if let Some(value) = store.get(&key) {
            copy.set(&key, value)?;
        }
    }
    Ok(copy)
}

/// Does what a user may do next: enlarges the array, or creates one if none exists. New elements
/// must be the fill value.
fn enlarge_or_create(layout: Layout, store: &MemoryStore) -> Outcome {
    let (array, from) = match Array::<u32>::open((store, "g/a")) {
        Ok(mut array) => {
            let was = array.shape()[0];
            array.resize([was + 64])?;
            (array, was)
        }
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::WrongNodeKind) => {
            match layout.builder(&[64], &[8]).create((store, "g/a")) {
                Ok(array) => (array, 0),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
        Err(error) => return Err(error.into()),
    };
    let found = array.read([from..array.shape()[0]])?;
    match found.iter().position(|element| *element != FILL) {
        None => Ok(()),
        Some(at) => Err(format!(
            "element {} is {}, and should be new",
            from + at as u64,
            found[at]
        )
        .into()),
    }
}

fn record(layout: Layout) -> Outcome<(Vec<Change>, Vec<Step>)> {
    let recording = RecordingStore::new(MemoryStore::new());
    let storage = Storage::blocking(recording.clone());
    let mut steps = Vec::new();
    let step = |what, steps: &mut Vec<Step>| -> Outcome {
        steps.push(Step {
            what,
            end: recording.log().len(),
            seen: visible_state(&storage)?,
        });
        Ok(())
    };
    let create = |shape: u64, unit: u64, attributes: Value, replace: bool| -> Outcome<Array<u32>> {
        let builder = layout.builder(&[shape], &[unit]).attributes(attributes);
        let builder = if replace {
            builder.overwrite()
        } else {
            builder
        };
        Ok(builder.create((&storage, "g/a"))?)
    };

    layout.root_group(&storage)?;
    step("create the root", &mut steps)?;
    let mut array = create(40, 16, json!({"first": true}), false)?;
    step("create", &mut steps)?;
    array.write(.., &Array1::from_iter(1..41).into_dyn())?;
    step("write all", &mut steps)?;
    write(&array, 5, (100..130).collect())?;
    step("write a part", &mut steps)?;
    write(&array, 16, vec![FILL; 16])?;
    step("write fill", &mut steps)?;
    array.merge_attributes(json!({"second": [1, 2]}))?;
    step("set attributes", &mut steps)?;
    array.resize([27])?;
    step("shrink", &mut steps)?;
    array.resize([50])?;
    step("grow", &mut steps)?;
    array.write([27..50], &Array1::from_iter(600..623))?;
    step("write what is new", &mut steps)?;
    array.resize([9])?;
    step("shrink to a part of a unit", &mut steps)?;
    array.resize([50])?;
    step("grow again", &mut steps)?;
    array.append(0, &Array1::from_iter(300..320))?;
    step("append", &mut steps)?;
    array = create(24, 8, json!({"again": true}), true)?;
    step("replace", &mut steps)?;
    write(&array, 2, (200..220).collect())?;
    step("write a part again", &mut steps)?;
    Group::open((&storage, "g"))?.erase("a")?;
    step("delete", &mut steps)?;
    array = create(24, 8, json!({"third": true}), false)?;
    step("create again", &mut steps)?;
    write(&array, 0, (400..424).collect())?;
    step("write all again", &mut steps)?;
    Group::open(&storage)?.erase("g")?;
    step("delete the group", &mut steps)?;
    array = create(24, 8, json!({"fourth": true}), false)?;
    step("create once more", &mut steps)?;
    write(&array, 0, (500..524).collect())?;
    step("write all once more", &mut steps)?;
    Group::builder()
        .format(layout.format())
        .overwrite()
        .create((&storage, "g"))?;
    step("replace the group", &mut steps)?;
    Ok((recording.log(), steps))
}

fn visible_state(storage: impl Into<Storage>) -> Outcome<Option<Seen>> {
    let array = match Array::<u32>::open((storage, "g/a")) {
        Ok(array) => array,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::WrongNodeKind) => {
            return Ok(None);
        }
        Err(error) => return Err(error.into()),
    };
    Ok(Some(Seen {
        attributes: Value::Object(array.attributes().clone()),
        elements: read(&array)?,
    }))
}

/// Checks that this may be visible while `step` is under way.
fn allowed(seen: Option<&Seen>, before: &Step, step: &Step, n: usize) -> Result<(), String> {
    if n == step.end {
        return if seen == step.seen.as_ref() {
            Ok(())
        } else {
            Err("not what was there".to_owned())
        };
    }
    let old = before.seen.as_ref();
    let new = step.seen.as_ref();
    let Some(seen) = seen else {
        // An array that is replaced is gone for a while; one that is written is not.
        let may_be_gone = old.is_none() || new.is_none() || step.what.starts_with("replace");
        return if may_be_gone {
            Ok(())
        } else {
            Err("the array is gone".to_owned())
        };
    };
    let known = [old, new].into_iter().flatten().any(|known| {
        known.attributes == seen.attributes && known.elements.len() == seen.elements.len()
    });
    let long = [old, new]
        .into_iter()
        .flatten()
        .any(|known| known.elements.len() == seen.elements.len());
    if !known || !long {
        return Err(format!(
            "a document that no call wrote: {}",
            seen.attributes
        ));
    }
    if old.is_none() || step.what.starts_with("replace") || step.what.starts_with("delete") {
        // The document shows the array, so it is all old or all new.
        let whole = [old, new].into_iter().flatten().any(|known| known == seen);
        return if whole {
            Ok(())
        } else {
            Err("a document points to what is not there".to_owned())
        };
    }
    for (at, element) in seen.elements.iter().enumerate() {
        let was = [old, new].into_iter().flatten().any(|known| {
            // Elements outside the smaller array may be gone already, or not exist yet.
            known.elements.get(at).unwrap_or(&FILL) == element
        });
        if !was {
            return Err(format!("element {at} is {element}"));
        }
    }
    Ok(())
}
