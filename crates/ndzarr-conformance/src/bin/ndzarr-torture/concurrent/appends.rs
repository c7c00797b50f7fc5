//! Processes that append to one array.

use std::path::Path;
use std::thread;

use ndzarr::ndarray::Array1;
use ndzarr::{Array, ConcurrentUpdate, MemoryStore, RunOptions, Storage};
use ndzarr_testkit::PlainStore;

use crate::common::layout::{Layout, open, read};
use crate::common::process::{Worker, answer_lines};
use crate::common::table::{Expect, Table};
use crate::common::torture::{Outcome, Torture, until_lost};
use crate::concurrent::one_unit::PROCESSES;

/// Elements of an append: they neither divide a unit nor are a multiple of one.
const LEN: usize = 3;
const UNIT: u64 = 16;

pub(crate) fn run(torture: &Torture, table: &mut Table) -> Outcome {
    let n = torture.times(50);
    for layout in Layout::ALL {
        let lost = processes(layout, &torture.quick_folder, n)?;
        let name = format!(
            "appends lost, {PROCESSES} processes, one array of {}s",
            layout.unit()
        );
        table.row(
            name,
            lost,
            format_args!("of {}", PROCESSES * n),
            Expect::None,
        )?;
    }
    let lost = threads(&MemoryStore::new().into(), n, ConcurrentUpdate::Merge)?;
    let name = format!("appends lost, {PROCESSES} threads, by conditional writes");
    table.row(
        name,
        lost,
        format_args!("of {}", PROCESSES * n),
        Expect::None,
    )?;
    let (lost, tries) = until_lost(|| {
        let storage = Storage::blocking(PlainStore::new(MemoryStore::new()));
        threads(&storage, n, ConcurrentUpdate::LastWriterWins)
    })?;
    let of = format!("of {}", tries * PROCESSES * n);
    table.row(
        "  without turns (LastWriterWins), the same",
        lost,
        of,
        Expect::Some,
    )
}

fn processes(layout: Layout, folder: &Path, n: usize) -> Outcome<u64> {
    let root = folder.join(format!("appends-{layout}"));
    layout
        .builder(&[0], &[UNIT])
        .create((root.as_path(), "a"))?;
    let path = root.to_string_lossy();
    let mut workers = Vec::new();
    for index in 0..PROCESSES {
        workers.push(Worker::start(&["append", &path, &index.to_string()])?);
    }
    for worker in &mut workers {
        worker.receive()?;
    }
    for worker in &mut workers {
        worker.send(&n.to_string())?;
    }
    for worker in &mut workers {
        worker.receive()?;
    }
    workers.into_iter().try_for_each(Worker::end)?;
    lost(&open(&root)?, n)
}

fn threads(storage: &Storage, n: usize, policy: ConcurrentUpdate) -> Outcome<u64> {
    Layout::V3.builder(&[0], &[UNIT]).create((storage, "a"))?;
    thread::scope(|scope| {
        let writers: Vec<_> = (0..PROCESSES)
            .map(|index| {
                scope.spawn(move || -> Outcome {
                    let options = RunOptions::default().concurrent_update(policy);
                    let mut array = Array::<u32>::open((storage, "a"))?.with_options(options);
                    (0..n).try_for_each(|i| append_once(&mut array, index, i))
                })
            })
            .collect();
        writers
            .into_iter()
            .try_for_each(|writer| writer.join().map_err(|_| "a thread panicked")?)
    })?;
    lost(&Array::open((storage, "a"))?, n)
}

pub(crate) fn append_once(array: &mut Array<u32>, index: usize, i: usize) -> Outcome {
    Ok(array.append(0, &Array1::from_elem(LEN, element(index, i)))?)
}

fn element(index: usize, i: usize) -> u32 {
    (index * 100_000 + i + 1) as u32
}

/// The number of appends that are missing or split, or have left something else.
pub(crate) fn lost(array: &Array<u32>, n: usize) -> Outcome<u64> {
    let all = read(array)?;
    let mut found: Vec<u32> = all
        .chunks(LEN)
        .filter(|part| part.len() == LEN && part.iter().all(|e| *e == part[0]))
        .map(|part| part[0])
        .collect();
    found.sort_unstable();
    found.dedup();
    let missing = (0..PROCESSES)
        .flat_map(|index| (0..n).map(move |i| element(index, i)))
        .filter(|element| found.binary_search(element).is_err())
        .count();
    let foreign = all.len().div_ceil(LEN).saturating_sub(PROCESSES * n);
    Ok((missing + foreign) as u64)
}

/// A worker that appends a given number of times.
pub(crate) fn append(root: &Path, index: usize) -> Outcome {
    let mut array = open(root)?;
    crate::common::process::send_line("ready")?;
    answer_lines(|line| {
        for i in 0..line.parse::<usize>()? {
            append_once(&mut array, index, i)?;
        }
        Ok("done".to_owned())
    })
}
