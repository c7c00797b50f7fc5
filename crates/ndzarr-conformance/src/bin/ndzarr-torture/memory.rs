//! Memory for arrays that are much larger.

use std::path::Path;

use ndzarr::ndarray::Array3;
use ndzarr::{Array, codec};
use ndzarr_testkit::Random;

use crate::layout::Layout;
use crate::process::Worker;
use crate::table::{Expect, Table};
use crate::{Outcome, Torture};

/// Four gibibytes.
const SHAPE: [u64; 3] = [1024, 1024, 1024];
/// Sixty-four mebibytes.
const UNIT: [u64; 3] = [16, 1024, 1024];
/// One mebibyte.
const INNER: [u64; 3] = [16, 128, 128];

/// What is promised, in MiB: for each thread a unit and what it is encoded to, the caller's own unit, and 64 for all else.
fn limit() -> u64 {
    let threads = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
    64 * (2 * threads + 1) + 64
}

pub(crate) fn run(torture: &Torture, table: &mut Table) -> Outcome {
    let all = [Layout::V3, Layout::V3Shards, Layout::V2, Layout::N5];
    for layout in all.into_iter().take(if torture.minute { 2 } else { 4 }) {
        let root = torture.folder.join(format!("memory-{layout}"));
        for (what, verb) in [
            ("fill", "written by one call"),
            ("write", "written unit by unit"),
            ("read", "read unit by unit"),
        ] {
            if torture.minute && what == "fill" {
                continue;
            }
            let mut worker = Worker::start(&["memory", what, layout.name(), &root.to_string_lossy()])?;
            let peak = worker.hear_number()?;
            worker.end()?;
            let name = format!("MiB of memory, {} of 64 MiB {verb}", layout.unit());
            table.row(name, peak, "for 4 GiB", Expect::AtMost(limit()))?;
        }
        std::fs::remove_dir_all(&root)?;
    }
    let root = torture.folder.join("memory-large-shard");
    let mut worker =
        Worker::start(&["memory", "large-shard", Layout::V3Shards.name(), &root.to_string_lossy()])?;
    let peak = worker.hear_number()?;
    worker.end()?;
    std::fs::remove_dir_all(&root)?;
    table.row(
        "MiB of memory, ShardWriter of one v3 shard",
        peak,
        "for 1 GiB, 512 MiB stored",
        Expect::AtMost(64),
    )
}

/// A shard of one gibibyte, of which half a gibibyte is stored.
const LARGE_SHARD: [u64; 3] = [256, 1024, 1024];

fn write_large_shard(layout: Layout, root: &Path) -> Outcome {
    let builder = layout.builder(&LARGE_SHARD, &LARGE_SHARD).chunks(INNER).codecs([codec::zstd(1)]);
    let array = builder.create(root, "a")?;
    let writer = array.shard_writer(&[0, 0, 0])?;
    let mut random = Random::seeded("large shard");
    let mut inner = Array3::zeros(INNER.map(|n| n as usize));
    for chunk in writer.inner_chunks() {
        inner.mapv_inplace(|_| (random.number() >> 48) as u32);
        inner[[0, 0, 0]] = chunk.index.iter().sum::<u64>() as u32;
        writer.write_inner(&chunk.index, &inner)?;
    }
    writer.finish()?;
    if array.read([255..256, 1023..1024, 1023..1024])?[[0, 0, 0]] != inner[[15, 127, 127]] {
        return Err("the shard is not what was written".into());
    }
    Ok(())
}

/// A worker that writes or reads 4 GiB, and says how many MiB of memory it had at most.
pub(crate) fn work(what: &str, layout: Layout, root: &Path) -> Outcome {
    if what == "large-shard" {
        write_large_shard(layout, root)?;
        return crate::process::say(&peak()?.to_string());
    }
    let array = match what {
        "read" => crate::layout::open(root)?,
        _ => {
            let builder = layout.builder(&SHAPE, &UNIT).overwrite().codecs([codec::zstd(1)]);
            let builder = if layout.has_shards() { builder.chunks(INNER) } else { builder };
            builder.create(root, "a")?
        }
    };
    if what == "fill" {
        array.fill(.., 7)?;
    } else {
        through(&array, what)?;
    }
    crate::process::say(&peak()?.to_string())
}

fn through(array: &Array<u32>, what: &str) -> Outcome {
    let mut unit = Array3::from_shape_fn(UNIT.map(|n| n as usize), |(z, y, x)| (z + y / 8 + x / 64) as u32);
    for i in 0..SHAPE[0] / UNIT[0] {
        let region = [i * UNIT[0]..(i + 1) * UNIT[0], 0..SHAPE[1], 0..SHAPE[2]];
        unit[[0, 0, 0]] = i as u32;
        if what == "write" {
            array.write(region, &unit)?;
        } else {
            unit[[0, 0, 0]] = u32::MAX;
            array.read_into(region, &mut unit)?;
            if unit[[0, 0, 0]] != i as u32 || unit[[5, 80, 640]] != 25 {
                return Err(format!("unit {i} is not what was written").into());
            }
        }
    }
    Ok(())
}

/// The most memory that this process has had, in MiB.
fn peak() -> Outcome<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("no VmHWM")?;
    let kib: u64 = line.trim().trim_end_matches("kB").trim().parse()?;
    Ok(kib.div_ceil(1024))
}
