//! Blocks smaller than a shard, written by several workers in random order, as Dask does.

use std::path::Path;
use std::thread;

use ndzarr::ndarray::Array2;
use ndzarr::{Array, ConcurrentUpdate};
use ndzarr_testkit::Random;

use crate::common::layout::{Layout, open, open_with, policy_name};
use crate::common::process::Worker;
use crate::common::table::{Expect, Table};
use crate::common::torture::{Outcome, Torture};

const WORKERS: u64 = 4;
const SHAPE: [u64; 2] = [96, 80];
const UNIT: [u64; 2] = [32, 40];
/// It neither divides an inner chunk, which has 4 by 40 elements, nor is a multiple of one.
const BLOCK: [u64; 2] = [6, 7];

pub(crate) fn run(torture: &Torture, table: &mut Table) -> Outcome {
    let rounds = torture.times(20) as u64;
    let of = format!("of {}", rounds * SHAPE[0] * SHAPE[1]);
    for layout in [
        Layout::V2,
        Layout::V3Shards,
        Layout::DraftShards,
        Layout::N5,
    ] {
        let wrong = write_together(layout, &torture.folder, rounds, ConcurrentUpdate::Merge)?;
        let name = format!("wrong elements, blocks smaller than a {}", layout.unit());
        table.row(name, wrong, &of, Expect::None)?;
    }
    let wrong = write_together(
        Layout::V3Shards,
        &torture.folder,
        rounds,
        ConcurrentUpdate::LastWriterWins,
    )?;
    table.row(
        "  without turns (LastWriterWins), v3 shard",
        wrong,
        &of,
        Expect::Some,
    )
}

/// Writes arrays by threads and by processes in turn; returns how many elements are wrong.
fn write_together(
    layout: Layout,
    folder: &Path,
    rounds: u64,
    policy: ConcurrentUpdate,
) -> Outcome<u64> {
    let mut wrong = 0;
    for round in 0..rounds {
        let root = folder.join(format!("dask-{layout}-{}-{round}", policy_name(policy)));
        layout
            .compressed(layout.builder(&SHAPE, &UNIT))
            .create((root.as_path(), "a"))?;
        if round % 2 == 0 {
            thread::scope(|scope| {
                let workers: Vec<_> = (0..WORKERS)
                    .map(|i| (i, &root))
                    .map(|(i, root)| {
                        scope.spawn(move || write_blocks(&open_with(root, policy)?, round, i))
                    })
                    .collect();
                workers
                    .into_iter()
                    .try_for_each(|worker| worker.join().map_err(|_| "a thread panicked")?)
            })?;
        } else {
            let path = root.to_string_lossy();
            let mut workers = Vec::new();
            for i in 0..WORKERS {
                let seed = (round * WORKERS + i).to_string();
                workers.push(Worker::start(&[
                    "blocks",
                    &path,
                    policy_name(policy),
                    &seed,
                ])?);
            }
            workers.into_iter().try_for_each(Worker::end)?;
        }
        let found = open(&root)?.read([0..SHAPE[0], 0..SHAPE[1]])?;
        let is_wrong =
            |&((y, x), found): &((usize, usize), &u32)| *found != element(y as u64, x as u64);
        wrong += found.indexed_iter().filter(is_wrong).count() as u64;
    }
    Ok(wrong)
}

fn element(y: u64, x: u64) -> u32 {
    (y * SHAPE[1] + x + 1) as u32
}

/// A worker process; `seed` names the round and the worker.
pub(crate) fn work(root: &Path, policy: ConcurrentUpdate, seed: u64) -> Outcome {
    write_blocks(&open_with(root, policy)?, seed / WORKERS, seed % WORKERS)
}

/// Writes every fourth block of an order that all workers of a round agree on.
fn write_blocks(array: &Array<u32>, round: u64, worker: u64) -> Outcome {
    let counts = [SHAPE[0].div_ceil(BLOCK[0]), SHAPE[1].div_ceil(BLOCK[1])];
    let mut blocks: Vec<u64> = (0..counts[0] * counts[1]).collect();
    let mut random = Random::seeded(&format!("round {round}"));
    for i in (1..blocks.len()).rev() {
        blocks.swap(i, random.below(i as u64 + 1) as usize);
    }
    for block in blocks
        .into_iter()
        .skip(worker as usize)
        .step_by(WORKERS as usize)
    {
        let y = block / counts[1] * BLOCK[0];
        let x = block % counts[1] * BLOCK[1];
        let region = [
            y..(y + BLOCK[0]).min(SHAPE[0]),
            x..(x + BLOCK[1]).min(SHAPE[1]),
        ];
        let shape = [&region[0], &region[1]].map(|range| (range.end - range.start) as usize);
        let data = Array2::from_shape_fn(shape, |(dy, dx)| element(y + dy as u64, x + dx as u64));
        array.write(region, &data)?;
    }
    Ok(())
}
