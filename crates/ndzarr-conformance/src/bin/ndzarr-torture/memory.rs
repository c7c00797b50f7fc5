//! Memory for arrays that are much larger.

use std::path::Path;

use ndzarr::ndarray::Array3;
use ndzarr::{Array, codec};
use ndzarr_testkit::Random;

use crate::common::layout::Layout;
use crate::common::process::{Worker, send_line};
use crate::common::table::{Expect, Table};
use crate::common::torture::{Outcome, Torture};

/// How large the arrays are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    /// 4 GiB in units of 64 MiB, and a shard of 1 GiB.
    Full,
    /// 512 MiB in units of 8 MiB, and a shard of 256 MiB: what a debug build does in seconds.
    Minute,
}

impl Scale {
    pub(crate) fn parse(name: &str) -> Self {
        if name == "full" {
            Self::Full
        } else {
            Self::Minute
        }
    }

    fn name(self) -> &'static str {
        if self == Self::Full { "full" } else { "minute" }
    }

    fn shape(self) -> [u64; 3] {
        if self == Self::Full {
            [1024, 1024, 1024]
        } else {
            [512, 512, 512]
        }
    }

    fn unit(self) -> [u64; 3] {
        if self == Self::Full {
            [16, 1024, 1024]
        } else {
            [8, 512, 512]
        }
    }

    /// A 64th of a unit.
    fn inner(self) -> [u64; 3] {
        if self == Self::Full {
            [16, 128, 128]
        } else {
            [8, 64, 64]
        }
    }

    fn large_shard(self) -> [u64; 3] {
        if self == Self::Full {
            [256, 1024, 1024]
        } else {
            [64, 1024, 1024]
        }
    }

    /// The guarantee, in MiB: for each thread a unit and its encoded form, the caller's own unit,
    /// and 64 for everything else.
    fn limit(self) -> u64 {
        let threads = std::thread::available_parallelism().map_or(1, |n| n.get() as u64);
        mib(self.unit()) * (2 * threads + 1) + 64
    }
}

fn mib(shape: [u64; 3]) -> u64 {
    (shape.iter().product::<u64>() * 4) >> 20
}

pub(crate) fn run(torture: &Torture, table: &mut Table) -> Outcome {
    if !cfg!(target_os = "linux") {
        return send_line("   did not run: only Linux tells the peak memory of a process");
    }
    let scale = if torture.minute {
        Scale::Minute
    } else {
        Scale::Full
    };
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
            let words = [
                "memory",
                what,
                layout.name(),
                &root.to_string_lossy(),
                scale.name(),
            ];
            let mut worker = Worker::start(&words)?;
            let peak = worker.receive_number()?;
            worker.end()?;
            let name = format!(
                "MiB of memory, {} of {} MiB {verb}",
                layout.unit(),
                mib(scale.unit())
            );
            let of = format!("for {} MiB", mib(scale.shape()));
            table.row(name, peak, of, Expect::AtMost(scale.limit()))?;
        }
        std::fs::remove_dir_all(&root)?;
    }
    let root = torture.folder.join("memory-large-shard");
    let words = [
        "memory",
        "large-shard",
        Layout::V3Shards.name(),
        &root.to_string_lossy(),
        scale.name(),
    ];
    let mut worker = Worker::start(&words)?;
    let peak = worker.receive_number()?;
    worker.end()?;
    std::fs::remove_dir_all(&root)?;
    table.row(
        "MiB of memory, ShardWriter of one v3 shard",
        peak,
        format!(
            "for {0} MiB, of which {1} stored",
            mib(scale.large_shard()),
            mib(scale.large_shard()) / 2
        ),
        Expect::AtMost(64),
    )
}

/// Writes a shard half of which is stored.
fn write_large_shard(layout: Layout, root: &Path, scale: Scale) -> Outcome {
    let shape = scale.large_shard();
    let inner = scale.inner();
    let builder = layout
        .builder(&shape, &shape)
        .chunks(inner)
        .codecs([codec::zstd(1)]);
    let array = builder.create((root, "a"))?;
    let writer = array.shard_writer(&[0, 0, 0])?;
    let mut random = Random::seeded("large shard");
    let mut inner = Array3::zeros(inner.map(|n| n as usize));
    for chunk in writer.chunks() {
        inner.mapv_inplace(|_| (random.number() >> 48) as u32);
        inner[[0, 0, 0]] = chunk.index.iter().sum::<u64>() as u32;
        writer.write_chunk(&chunk.index, &inner)?;
    }
    writer.finish()?;
    let last = array.read(shape.map(|n| n - 1..n))?[[0, 0, 0]];
    if Some(&last) != inner.iter().last() {
        return Err("the shard is not what was written".into());
    }
    Ok(())
}

/// A worker that writes or reads an array, and reports its peak memory in MiB.
pub(crate) fn work(what: &str, layout: Layout, root: &Path, scale: Scale) -> Outcome {
    if what == "large-shard" {
        write_large_shard(layout, root, scale)?;
        return send_line(&peak()?.to_string());
    }
    let array = match what {
        "read" => crate::common::layout::open(root)?,
        _ => {
            let builder = layout
                .builder(&scale.shape(), &scale.unit())
                .overwrite()
                .codecs([codec::zstd(1)]);
            let builder = if layout.has_shards() {
                builder.chunks(scale.inner())
            } else {
                builder
            };
            builder.create((root, "a"))?
        }
    };
    if what == "fill" {
        array.fill(.., 7)?;
    } else {
        through(&array, what, scale)?;
    }
    send_line(&peak()?.to_string())
}

fn through(array: &Array<u32>, what: &str, scale: Scale) -> Outcome {
    let shape = scale.shape();
    let extent = scale.unit();
    let mut unit = Array3::from_shape_fn(extent.map(|n| n as usize), |(z, y, x)| {
        (z + y / 8 + x / 64) as u32
    });
    for i in 0..shape[0] / extent[0] {
        let region = [i * extent[0]..(i + 1) * extent[0], 0..shape[1], 0..shape[2]];
        unit[[0, 0, 0]] = i as u32;
        if what == "write" {
            array.write(region, &unit)?;
        } else {
            unit[[0, 0, 0]] = u32::MAX;
            array.read_into(region, &mut unit)?;
            if unit[[0, 0, 0]] != i as u32 || unit[[5, 80, 320]] != 20 {
                return Err(format!("unit {i} is not what was written").into());
            }
        }
    }
    Ok(())
}

/// The peak memory of this process, in MiB.
fn peak() -> Outcome<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .ok_or("no VmHWM")?;
    let kib: u64 = line.trim().trim_end_matches("kB").trim().parse()?;
    Ok(kib.div_ceil(1024))
}
