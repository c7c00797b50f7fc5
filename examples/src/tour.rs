//! A tour on real input: reads arrays that other implementations wrote, then writes one in each
//! format and shows the result.
//!
//! ```sh
//! cargo run --profile tour -p examples tour
//! ```
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::fmt::Display;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Instant;

use ndarray::{Array2, s};
use ndzarr::{Any, AnyArray, Array, ArrayBuilder, DataType, Element, Format, Group, codec};
use ndzarr_metadata::codecs_json;
use serde_json::{Value, json};

type Result<T = (), E = Box<dyn Error>> = std::result::Result<T, E>;

/// Folders below `testdata/`, the writer of the array there, and a region of it to show.
const FOREIGN: [(&str, &str, &[Range<u64>]); 10] = [
    (
        "zarr2/zp2-edges-2d/store",
        "zarr-python 2.18",
        &[0..5, 0..7],
    ),
    (
        "zarr2/zp2-large-blosc-lz4/store",
        "zarr-python 2.18",
        &[17_490..17_500],
    ),
    ("zarr2/z5-compressor-gzip/store/a", "z5", &[0..2, 0..4]),
    (
        "zarr3/zp3-default-pipeline-sharded/store",
        "zarr-python 3.1",
        &[3..5, 0..6],
    ),
    (
        "zarr3/zp3-shard-inner-zstd/store",
        "zarr-python 3.1",
        &[3..5, 0..6],
    ),
    (
        "zarr3/ts-shard-nested-three/store",
        "tensorstore",
        &[6..8, 0..8],
    ),
    (
        "draft/zp2-shard-gzip/store/a",
        "zarr-python 2.18",
        &[3..5, 0..6],
    ),
    (
        "draft/hand-a-order-f/store/a",
        "hand, from the draft's text",
        &[0..2, 0..2],
    ),
    ("n5/java-lz4/store/lz4", "Java N5", &[0..5, 2..4]),
    ("n5/z5-3d/store/a", "z5", &[0..1, 0..4, 0..5]),
];

/// Runs the tour.
///
/// # Errors
/// An array reads differently from what was written.
pub fn main() -> Result {
    let started = Instant::now();
    let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata");

    println!("Arrays that other implementations wrote");
    for (path, writer, region) in FOREIGN {
        // The format is detected.
        let array = AnyArray::open(testdata.join(path))?;
        println!("\n{path}, by {writer}");
        describe(&array);
        compare(&array, &testdata.join(path))?;
        show(array, region)?;
    }

    println!("\n\nA dataset of xarray, listed");
    let dataset = Group::open(testdata.join("cf/xarray-packed-v3/store"))?;
    for child in dataset.walk()? {
        let path = child.path();
        let array = child.array::<Any>()?;
        println!(
            "  {path:<8} {} {:?}, {}",
            array.data_type(),
            array.shape(),
            codecs(&array)
        );
    }

    println!("\n\nThe same array written in each format");
    let folder = tempfile::tempdir()?;
    let original = Array2::from_shape_fn((50, 60), |(y, x)| y as f32 + x as f32 / 100.0);
    for format in [
        Format::Zarr2,
        Format::Zarr3,
        Format::DraftA,
        Format::DraftB,
        Format::N5,
    ] {
        let root = folder.path().join(format.to_string());
        println!("\n{format}");
        write(&root, request(format), &original)?;
    }

    println!("\n{:.0} ms in all.", started.elapsed().as_secs_f64() * 1e3);
    Ok(())
}

/// A new array of 50 x 60 elements in 2 x 3 chunks, or in 2 x 2 shards if the format has them.
fn request(format: Format) -> ArrayBuilder<f32> {
    let array = Array::<f32>::builder([50, 60])
        .format(format)
        .attributes(json!({"units": "K"}));
    match format {
        Format::Zarr2 => array
            .chunks([25, 20])
            .codecs([codec::zlib(6)])
            .fill_value(-1.0),
        Format::Zarr3 => array
            .chunks([10, 10])
            .shards([30, 40])
            .codecs([codec::zstd(3), codec::crc32c()])
            .fill_value(f32::NAN)
            .dimension_names(["y", "x"]),
        Format::DraftA | Format::DraftB => array
            .chunks([10, 10])
            .shards([30, 40])
            .codecs([codec::gzip(6)]),
        Format::N5 => array.chunks([25, 20]).codecs([codec::lz4()]),
        _ => array,
    }
}

fn write(root: &Path, request: ArrayBuilder<f32>, original: &Array2<f32>) -> Result {
    let array = request.create((root, "run/temperature"))?;
    array.write(s![.., ..], original)?;
    // A part of one chunk: it is read, merged and written back atomically.
    array.write(s![3..5, 2..4], &Array2::from_elem((2, 2), 100.0))?;

    let array = Array::<f32>::open((root, "run/temperature"))?;
    describe(&AnyArray::from(array.clone()));
    let mut expected = original.clone();
    expected.slice_mut(s![3..5, 2..4]).fill(100.0);
    let same = array.read(s![.., ..])? == expected;
    println!(
        "  read back: {}",
        if same {
            "the same elements"
        } else {
            "OTHER elements"
        }
    );
    if !same {
        return Err("an array was not read back as it was written".into());
    }
    for (file, byte_len) in files(root)? {
        println!("  {byte_len:>6} bytes  {}", file.display());
    }
    Ok(())
}

fn describe(array: &AnyArray) {
    let shards = array
        .shard_shape()
        .map(|shape| format!(", shards {shape:?}"))
        .unwrap_or_default();
    println!(
        "  {} {} {:?}, chunks {:?}{shards}; {}",
        array.format(),
        array.data_type(),
        array.shape(),
        array.chunk_shape(),
        codecs(array)
    );
    for warning in array.warnings() {
        println!("  warning: {warning}");
    }
}

/// The names of the codecs that the elements go through, with those inside another codec in
/// brackets.
fn codecs(array: &AnyArray) -> String {
    names(&codecs_json(&array.spec().codecs, array.data_type()))
}

fn names(codecs: &Value) -> String {
    let name = |codec: &Value| {
        let name = codec["name"].as_str().unwrap_or("?").to_owned();
        match &codec["configuration"]["codecs"] {
            Value::Array(inner) if inner.is_empty() => name,
            Value::Null => name,
            inner => format!("{name} [{}]", names(inner)),
        }
    };
    codecs
        .as_array()
        .into_iter()
        .flatten()
        .map(name)
        .collect::<Vec<_>>()
        .join(", ")
}

/// Reads all of an array and compares it with the original elements.
fn compare(array: &AnyArray, path: &Path) -> Result {
    let case = path
        .ancestors()
        .find(|folder| folder.join("expected.bin").is_file())
        .ok_or("no expected.bin")?;
    let expected = fs::read(case.join("expected.bin"))?;
    let everything: Vec<Range<u64>> = array.shape().iter().map(|&n| 0..n).collect();
    // They are stored in little endian; `read_bytes` returns native byte order.
    if cfg!(target_endian = "little") && array.read_bytes(&everything)? != expected {
        return Err("an array was not read as it was written".into());
    }
    println!("  all elements are those that were written");
    Ok(())
}

/// Prints a region of an array whose element type is only known at run time.
fn show(array: AnyArray, region: &[Range<u64>]) -> Result {
    match array.data_type() {
        DataType::UInt { bits: 8 } => print::<u8>(array, region),
        DataType::UInt { bits: 16 } => print::<u16>(array, region),
        DataType::UInt { bits: 32 } => print::<u32>(array, region),
        DataType::Int { bits: 16 } => print::<i16>(array, region),
        DataType::Int { bits: 32 } => print::<i32>(array, region),
        DataType::Float { bits: 64 } => print::<f64>(array, region),
        other => {
            println!(
                "  {region:?} has elements of type {other}, {} bytes",
                array.read_bytes(region)?.len()
            );
            Ok(())
        }
    }
}

fn print<T: Element + Display>(array: AnyArray, region: &[Range<u64>]) -> Result {
    let elements = array.typed::<T>()?.read(region)?;
    let text = format!("{elements}");
    println!("  {region:?} =");
    text.lines().for_each(|line| println!("    {line}"));
    Ok(())
}

/// The files below a folder by name, with their sizes.
fn files(root: &Path) -> Result<Vec<(PathBuf, u64)>> {
    let mut found = Vec::new();
    let mut pending = vec![root.to_owned()];
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                pending.push(entry.path());
            } else {
                found.push((
                    entry.path().strip_prefix(root)?.to_owned(),
                    entry.metadata()?.len(),
                ));
            }
        }
    }
    found.sort();
    Ok(found)
}
