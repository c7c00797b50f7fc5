//! Several writers create a node at one path.

use std::fs;
use std::path::Path;
use std::thread;

use ndzarr::{AnyNode, ErrorKind, Group};
use serde_json::{Value, json};

use crate::common::foreign_writer::patiently;
use crate::common::layout::Layout;
use crate::common::process::{Worker, answer_lines};
use crate::common::table::{Expect, Table};
use crate::common::torture::{Outcome, Torture, until_lost};

const WORKERS: usize = 3;
/// Of each worker.
const THREADS: usize = 2;

/// Processes and threads that create arrays and groups at the same paths: one succeeds, the others
/// get an error, and the node is that one's.
pub(crate) fn run(torture: &Torture, table: &mut Table) -> Outcome {
    let n = torture.times(500);
    for layout in Layout::FORMATS {
        let wrong = create_together(layout, &torture.quick_folder, "create", n)?;
        let name = format!(
            "nodes with not one creator, {} at once, {layout}",
            WORKERS * THREADS
        );
        table.row(name, wrong, format_args!("of {n}"), Expect::None)?;
    }
    let (wrong, tries) =
        until_lost(|| create_together(Layout::V3, &torture.quick_folder, "create-looking", n))?;
    table.row(
        "  by creators that look first, v3",
        wrong,
        format_args!("of {}", tries * n),
        Expect::Some,
    )
}

/// Lets workers create a number of nodes; returns how many do not have exactly one creator.
fn create_together(layout: Layout, folder: &Path, worker: &str, n: usize) -> Outcome<u64> {
    let root = folder.join(format!("{worker}-{layout}"));
    if root.exists() {
        fs::remove_dir_all(&root)?;
    }
    Group::create(root.as_path(), layout.format())?;
    let path = root.to_string_lossy();
    let mut workers = Vec::new();
    for index in 0..WORKERS {
        workers.push(Worker::start(&[
            worker,
            &path,
            layout.name(),
            &index.to_string(),
        ])?);
    }
    let mut wrong = 0;
    for round in 0..n {
        for worker in &mut workers {
            worker.send(&round.to_string())?;
        }
        let mut winners = Vec::new();
        for worker in &mut workers {
            winners.extend(worker.receive()?.split_whitespace().map(str::to_owned));
        }
        let node = AnyNode::open((root.as_path(), &format!("n{round}")));
        let is_whole = match node {
            Ok(AnyNode::Array(array)) => is_of(array.attributes(), &winners, Some(array.shape())),
            Ok(AnyNode::Group(group)) => is_of(group.attributes(), &winners, None),
            Err(_) => false,
        };
        wrong += u64::from(winners.len() != 1 || !is_whole);
    }
    workers.into_iter().try_for_each(Worker::end)?;
    fs::remove_dir_all(&root)?;
    Ok(wrong)
}

/// True if a node is that of its one creator.
fn is_of(
    attributes: &serde_json::Map<String, serde_json::Value>,
    winners: &[String],
    shape: Option<&[u64]>,
) -> bool {
    let who = attributes.get("who").and_then(Value::as_u64);
    let [winner] = winners else { return false };
    who.is_some_and(|who| winner.parse() == Ok(who) && shape.is_none_or(|shape| shape == [who + 1]))
}

/// A worker that creates a node in each round, by several threads, and answers which of them did.
/// Every other one makes groups in every other round.
pub(crate) fn create(root: &Path, layout: Layout, worker: usize) -> Outcome {
    answer_lines(|line| {
        let round: usize = line.parse()?;
        let one = |thread: usize| {
            let who = worker * THREADS + thread;
            made(create_one(root, layout, round, who), who)
        };
        let threads: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS)
                .map(|thread| scope.spawn(move || one(thread)))
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().map_err(|_| "a thread panicked"))
                .collect()
        });
        let mut winners = String::new();
        for winner in threads {
            winners += &winner??;
        }
        Ok(winners)
    })
}

fn create_one(root: &Path, layout: Layout, round: usize, who: usize) -> Result<(), ndzarr::Error> {
    let path = format!("n{round}");
    let attributes = json!({ "who": who });
    if round.is_multiple_of(2) || who.is_multiple_of(2) {
        let array = layout
            .builder(&[who as u64 + 1], &[4])
            .attributes(attributes);
        return array.create((root, &path)).map(drop);
    }
    let group = Group::builder()
        .format(layout.format())
        .attributes(json!({"who": who}));
    group.create((root, &path)).map(drop)
}

fn made(result: Result<(), ndzarr::Error>, who: usize) -> Outcome<String> {
    match result {
        Ok(()) => Ok(format!("{who} ")),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(String::new()),
        Err(error) => Err(error.into()),
    }
}

/// A worker that works like many programs: it checks for a document, and then writes one.
pub(crate) fn create_looking(root: &Path, worker: usize) -> Outcome {
    answer_lines(|line| {
        let document = root.join(format!("n{line}/zarr.json"));
        if document.exists() {
            return Ok(String::new());
        }
        fs::create_dir_all(document.parent().ok_or("it is in a folder")?)?;
        let group = json!({"zarr_format": 3, "node_type": "group", "attributes": {"who": worker}});
        let temporary = root.join(format!("{worker}.partial"));
        fs::write(&temporary, group.to_string())?;
        patiently(|| fs::rename(&temporary, &document))?;
        Ok(worker.to_string())
    })
}
