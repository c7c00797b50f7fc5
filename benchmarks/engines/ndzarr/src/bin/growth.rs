//! Cost as work grows: time and memory of one operation at several sizes, as rows of Markdown. The
//! command line names the folder for the arrays.

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Instant;

use bench_protocol::Measure;
use ndzarr::ndarray::{ArrayD, IxDyn};
use ndzarr::{Array, ArrayBuilder, RunOptions, codec};

type Failure = Box<dyn std::error::Error>;

/// Waves and a little noise, in this shape.
fn image(shape: &[u64]) -> ArrayD<u16> {
    let extent: Vec<usize> = shape.iter().map(|&n| n as usize).collect();
    let mut noise = 1u32;
    let mut at = 0u32;
    ArrayD::from_shape_simple_fn(IxDyn(&extent), || {
        noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        at = at.wrapping_add(1);
        (2000.0 + 600.0 * (at as f32 / 911.0).sin()) as u16 + (noise >> 27) as u16
    })
}

/// Runs it three times; the row has the shortest time and the highest memory.
fn row<R>(
    what: &str,
    size: &str,
    mut run: impl FnMut() -> Result<R, Failure>,
) -> Result<(), Failure> {
    let mut best = u64::MAX;
    let mut peak = 0;
    for _ in 0..3 {
        let measure = Measure::start();
        let result = run()?;
        let report = measure.stop();
        drop(result);
        best = best.min(report.wall_ns);
        peak = peak.max(report.peak_bytes);
    }
    println!(
        "| {what} | {size} | {:.2} | {:.0} |",
        best as f64 / 1e6,
        peak as f64 / f64::from(1 << 20)
    );
    Ok(())
}

fn made(path: &Path, builder: ArrayBuilder<u16>) -> Result<Array<u16>, Failure> {
    let _ = fs::remove_dir_all(path);
    Ok(builder.create(path)?)
}

fn main() -> Result<(), Failure> {
    let folder = PathBuf::from(std::env::args_os().nth(1).ok_or("usage: growth FOLDER")?);
    let path = folder.join("a");
    println!("| what | size | ms | peak MiB |\n|---|---|---|---|");
    for (shape, name) in [
        ([512, 512, 128], "64 MiB"),
        ([512, 512, 512], "256 MiB"),
        ([1024, 1024, 512], "1 GiB"),
    ] {
        let data = image(&shape);
        let array = made(
            &path,
            Array::builder(shape)
                .chunks([128; 3])
                .codecs([codec::zstd(1)]),
        )?;
        row("write all, zstd, chunks of 128^3", name, || {
            Ok(array.write(.., &data)?)
        })?;
        drop(data);
        row("read all of it", name, || Ok(array.read(..)?))?;
        row("open it and read one chunk", name, || {
            Ok(Array::<u16>::open(&path)?.read_chunk(&[0, 0, 0])?)
        })?;
    }
    let shape = [256u64; 3];
    let data = image(&shape);
    for side in [16u64, 32, 64, 128, 256] {
        let array = made(
            &path,
            Array::builder(shape)
                .chunks([side; 3])
                .codecs([codec::zstd(1)]),
        )?;
        let name = format!("{side}^3");
        row("write 32 MiB in chunks of", &name, || {
            Ok(array.write(.., &data)?)
        })?;
        row("read 32 MiB from chunks of", &name, || Ok(array.read(..)?))?;
    }
    for threads in [1, 2] {
        let array = Array::<u16>::open(&path)?;
        let array = array.with_options(RunOptions::default().threads(NonZeroUsize::new(threads)));
        row(
            "read 32 MiB from one chunk, threads",
            &threads.to_string(),
            || Ok(array.read(..)?),
        )?;
        let array = made(
            &path,
            Array::builder(shape)
                .chunks([64; 3])
                .codecs([codec::zstd(1)]),
        )?;
        let array = array.with_options(RunOptions::default().threads(NonZeroUsize::new(threads)));
        array.write(.., &data)?;
        row(
            "read 32 MiB from chunks of 64^3, threads",
            &threads.to_string(),
            || Ok(array.read(..)?),
        )?;
        made(
            &path,
            Array::builder(shape)
                .chunks([256; 3])
                .codecs([codec::zstd(1)]),
        )?
        .write(.., &data)?;
    }
    for inner in [256u64, 64, 32, 16, 8] {
        let n = (256 / inner).pow(3);
        let array = made(
            &path,
            Array::builder(shape)
                .chunks([inner; 3])
                .shards([256; 3])
                .codecs([codec::zstd(1)]),
        )?;
        let name = n.to_string();
        row("write a shard of 32 MiB, inner chunks", &name, || {
            Ok(array.write(.., &data)?)
        })?;
        row(
            "read it",
            &name,
            || Ok(Array::<u16>::open(&path)?.read(..)?),
        )?;
        row("open it and read one inner chunk", &name, || {
            Ok(Array::<u16>::open(&path)?.read_chunk(&[0, 0, 0])?)
        })?;
    }
    for n in [1_000u64, 10_000, 100_000] {
        let array = made(&path, Array::builder([n]).chunks([1]))?;
        let start = Instant::now();
        array.write([0..n], &ArrayD::from_elem(IxDyn(&[n as usize]), 1u16))?;
        let each = start.elapsed().as_micros() as f64 / n as f64;
        let name = format!("{n} (written in {each:.0} us each)");
        row(
            "open an array with this many stored chunks and read one",
            &name,
            || Ok(Array::<u16>::open(&path)?.read_chunk(&[n / 2])?),
        )?;
        let start = Instant::now();
        let mut array = Array::<u16>::open(&path)?;
        array.resize([n / 2])?;
        println!(
            "| halve it by resize, which lists them | {n} | {:.2} | – |",
            start.elapsed().as_secs_f64() * 1e3
        );
    }
    for n in [1_000u64, 1_000_000, 1_000_000_000] {
        let array = made(&path, Array::builder([n]).chunks([1]))?;
        for chunk in 0..10 {
            array.write([chunk..chunk + 1], &ndarray_one())?;
        }
        let name = n.to_string();
        row("open, with 10 chunks stored in a grid of", &name, || {
            Ok(Array::<u16>::open(&path)?)
        })?;
        row("read one chunk, in a grid of", &name, || {
            Ok(array.read_chunk(&[n / 2])?)
        })?;
        row("grow by resize, in a grid of", &name, || {
            Ok(Array::<u16>::open(&path)?.resize([n + 1])?)
        })?;
        row("shrink by resize, in a grid of", &name, || {
            Ok(Array::<u16>::open(&path)?.resize([n - 1])?)
        })?;
    }
    fs::remove_dir_all(&path)?;
    Ok(())
}

fn ndarray_one() -> ndzarr::ndarray::Array1<u16> {
    ndzarr::ndarray::arr1(&[1])
}
