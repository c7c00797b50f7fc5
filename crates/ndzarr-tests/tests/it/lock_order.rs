//! The order in which calls take locks.

use std::path::Path;
use std::sync::Barrier;

use ndarray::{Array1, Array2, ArrayD};
use ndzarr::{
    Array, ArrayBuilder, CopyOptions, ErrorKind, Format, FsStore, Group, Result, Storage,
    asynchronous, copy,
};
use ndzarr_testkit::{LockOrder, block_on};
use serde_json::json;

const FORMATS: [Format; 5] = [
    Format::Zarr2,
    Format::Zarr3,
    Format::DraftA,
    Format::DraftB,
    Format::N5,
];

fn builder(format: Format) -> ArrayBuilder<u16> {
    Array::<u16>::builder([8, 12]).chunks([4, 4]).format(format)
}

/// Other calls at the same nodes at the same time can make it impossible.
fn allowed(result: Result<()>) {
    if let Err(error) = result {
        let raced = [
            ErrorKind::AlreadyExists,
            ErrorKind::NotFound,
            ErrorKind::WrongShape,
            ErrorKind::InvalidArgument,
            ErrorKind::Conflict,
        ];
        assert!(raced.contains(&error.kind()), "{error}");
    }
}

fn elements(shape: [usize; 2]) -> Array2<u16> {
    Array2::from_elem(shape, 7)
}

/// Writes whole chunks, and parts of chunks.
fn writes(storage: &Storage, _: Format) -> Result<()> {
    let a = Array::<u16>::open((storage, "a"))?;
    a.write([0..8, 0..8], &elements([8, 8]))?;
    a.write([1..6, 2..7], &elements([5, 5]))?;
    a.fill([0..4, 3..9], 3)?;
    block_on(asynchronous::Array::from(a.clone()).write([0..8, 0..8], &elements([8, 8])))?;
    block_on(asynchronous::Array::from(a.clone()).write([1..6, 2..7], &elements([5, 5])))
}

fn appends(storage: &Storage, _: Format) -> Result<()> {
    let mut a = Array::<u16>::open((storage, "a"))?;
    // Other resizes come in between.
    let columns = |a: &Array<u16>| elements([3, a.shape()[1] as usize]);
    a.append(0, &columns(&a))?;
    let elements = columns(&a);
    block_on(asynchronous::Array::from(a).append(0, &elements))
}

fn resizes(storage: &Storage, _: Format) -> Result<()> {
    let mut a = Array::<u16>::open((storage, "a"))?;
    a.resize([9, 12])?;
    a.resize([5, 12])?;
    let mut a = asynchronous::Array::from(a);
    block_on(a.resize([13, 12]))?;
    block_on(a.resize([7, 12]))
}

fn attributes(storage: &Storage, _: Format) -> Result<()> {
    Array::<u16>::open((storage, "a"))?.merge_attributes(json!({"x": 1}))?;
    Group::open(storage)?.merge_attributes(json!({"y": 2}))
}

fn creates(storage: &Storage, format: Format) -> Result<()> {
    builder(format).create((storage, "b"))?;
    let again = asynchronous::Array::<u16>::builder([8, 8]).format(format);
    allowed(block_on(again.create((storage, "b"))).map(drop));
    builder(format)
        .overwrite()
        .create((storage, "b"))?
        .fill(.., 1)?;
    Group::create((storage, "g"), format).map(drop)
}

fn erases(storage: &Storage, _: Format) -> Result<()> {
    let root = Group::open(storage)?;
    root.erase("b")?;
    root.erase("g")
}

fn converts(storage: &Storage, format: Format) -> Result<()> {
    let to = if format == Format::Zarr3 {
        Format::Zarr2
    } else {
        Format::Zarr3
    };
    allowed(
        copy(
            (storage, "a"),
            (storage, "a"),
            &CopyOptions::new().format(to),
        )
        .map(drop),
    );
    copy(
        (storage, "a"),
        (storage, "converted"),
        &CopyOptions::new().format(format),
    )
    .map(drop)
}

fn shards(storage: &Storage, _: Format) -> Result<()> {
    let s = match Array::<u16>::open((storage, "s")) {
        Ok(s) => s,
        // A format without shards.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let writer = s.shard_writer(&[0])?;
    writer.write_chunk(&[1], &Array1::from_elem(2, 5))?;
    writer.finish()?;
    let writer = s.shard_writer(&[1])?;
    writer.write_chunk(&[3], &Array1::from_elem(2, 6))?;
    block_on(asynchronous::ShardWriter::from(writer).finish())?;
    s.fill([3..11], 4)
}

fn appenders(storage: &Storage, _: Format) -> Result<()> {
    for path in ["a", "s"] {
        let array = match Array::<u16>::open((storage, path)) {
            Ok(array) => array,
            // A format without shards.
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        let mut appender = array.appender(0)?;
        let mut shape: Vec<usize> = array.shape().iter().map(|&n| n as usize).collect();
        shape[0] = 9;
        appender.push(&ArrayD::from_elem(shape, 7))?;
        appender.finish()?;
    }
    Ok(())
}

fn consolidates(storage: &Storage, format: Format) -> Result<()> {
    match format {
        Format::Zarr2 | Format::Zarr3 => Group::open(storage)?.consolidate(),
        // Not written in the other formats.
        _ => Ok(()),
    }
}

type Call = fn(&Storage, Format) -> Result<()>;

/// Units are replaced and removed as they are.
fn units(storage: &Storage, _: Format) -> Result<()> {
    let a = Array::<u16>::open((storage, "a"))?;
    if let Some(bytes) = a.units().encoded(&[0, 0])? {
        a.units().write_encoded(&[0, 1], bytes)?;
    }
    a.units().erase(&[0, 1])?;
    block_on(asynchronous::Array::from(a).units().erase(&[0, 0]))
}

const CALLS: [Call; 11] = [
    writes,
    appends,
    appenders,
    units,
    resizes,
    attributes,
    creates,
    erases,
    converts,
    shards,
    consolidates,
];

fn hierarchy(folder: &Path, format: Format) {
    Group::create(folder, format).expect("a new group");
    builder(format)
        .create((folder, "a"))
        .expect("a new array")
        .fill(.., 5)
        .expect("it works");
    let sharded = Array::<u16>::builder([12])
        .chunks([2])
        .shards([6])
        .format(format);
    let made = sharded.create((folder, "s"));
    assert!(made.is_ok() || !matches!(format, Format::Zarr3 | Format::DraftA));
}

/// Each call by itself, and then all at once: every lock is waited for once, since the first
/// attempt is refused.
#[test]
fn calls_take_locks_in_one_order() {
    let order = LockOrder::new();
    for format in FORMATS {
        let folder = tempfile::tempdir().expect("a temporary folder");
        hierarchy(folder.path(), format);
        let call = |call: Call| {
            let storage = Storage::blocking(order.caller(FsStore::new(folder.path())));
            call(&storage, format)
        };
        for each in CALLS {
            call(each).unwrap_or_else(|error| panic!("{format:?}: {error}"));
        }
        let together = Barrier::new(CALLS.len());
        std::thread::scope(|scope| {
            for each in CALLS {
                let call = &call;
                let together = &together;
                scope.spawn(move || {
                    together.wait();
                    (0..3).for_each(|_| allowed(call(each)));
                });
            }
        });
        order.check();
    }
    // The order in ARCHITECTURE.md: the note of a copy; during a creation, the document of a group
    // that reserves the place; another document; a chunk.
    let pairs = order.pairs();
    let rank = |kind: &str| match kind {
        ".ndzarr-copy" => 0,
        ".zgroup" | ".group.json" => 1,
        "chunk" => 3,
        _ => 2,
    };
    assert!(
        pairs.iter().all(|(held, wanted)| rank(held) < rank(wanted)),
        "{pairs:?}"
    );
    // Appending and resizing.
    for document in [".zarray", "zarr.json", ".array.json", "attributes.json"] {
        assert!(
            pairs.contains(&(document.to_owned(), "chunk".to_owned())),
            "{pairs:?}"
        );
    }
}
