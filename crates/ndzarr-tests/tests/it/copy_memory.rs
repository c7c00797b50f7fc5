//! The memory, reads and progress of copies.

use std::sync::{Arc, Mutex};

use ndarray::array;
use ndzarr::{
    AnyArray, Array, Cancel, CopyOptions, ErrorKind, Format, Group, MemoryStore, Progress, Storage,
    codec, copy,
};
use ndzarr_testkit::CountingStore;

use crate::copy::{OVERHEAD, numbers, two_threads};

#[test]
fn cli_06_an_error_for_too_little_memory_says_what_is_needed() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = MemoryStore::new();
    let a = Array::<u8>::builder([64, 64])
        .chunks([8, 64])
        .create((&store, "a"))
        .expect("a new array");
    a.fill(.., 9).expect("elements");
    for (target, shards) in [
        (Storage::from(&store), false),
        (Storage::folder(folder.path()), true),
    ] {
        let mut options = CopyOptions::new().chunks([64, 8]).run(two_threads());
        if shards {
            options = options.shards([64, 64]);
        }
        let few = options.clone().memory(10);
        let error = copy((&store, "a"), (&target, "b"), &few).expect_err("too little");
        assert_eq!(error.kind(), ErrorKind::OutOfMemory);
        assert!(AnyArray::open((&target, "b")).is_err());
        let message = error.to_string();
        let needed = message
            .split("take ")
            .nth(1)
            .and_then(|rest| rest.split(|c: char| !c.is_ascii_digit()).next());
        let needed: u64 = needed
            .and_then(|number| number.parse().ok())
            .unwrap_or_else(|| panic!("{message}"));
        copy(
            (&store, "a"),
            (&target, "b"),
            &options.clone().memory(needed - 1),
        )
        .expect_err("one byte less");
        copy((&store, "a"), (&target, "b"), &options.memory(needed)).expect("it is enough");
        let b = Array::<u8>::open((&target, "b")).expect("the copy");
        assert_eq!(
            b.read(..)
                .expect("elements")
                .iter()
                .map(|&n| u64::from(n))
                .sum::<u64>(),
            9 * 64 * 64
        );
    }
}

/// Units of 16 rows into units of 10, in blocks that hold few of them.
#[test]
fn what_the_next_block_needs_is_carried_over() {
    let memory = MemoryStore::new();
    let data = numbers([320, 32, 16]);
    let a = Array::<u16>::builder([320, 32, 16])
        .chunks([16, 32, 16])
        .create((&memory, "a"));
    a.expect("a new array").write(.., &data).expect("elements");
    let counted = CountingStore::new(memory);
    let counters = counted.clone();
    let source = Storage::blocking(counted);
    // A unit of the source takes 16 KiB, one of the target 10 KiB.
    let options = CopyOptions::new().chunks([10, 32, 16]).run(two_threads());
    let options = options.memory(OVERHEAD + 6 * (16 << 10) + 4 * (10 << 10) + 2 * (40 + 15) * 1024);
    counters.reset();
    let other = MemoryStore::new();
    let report = copy((&source, "a"), (&other, "b"), &options).expect("a copy");
    // Each chunk once, and the document.
    let fetches = counters.counts().fetches;
    assert!((20..=23).contains(&fetches), "{fetches} {report:?}");
    let b = Array::<u16>::open((&other, "b")).expect("the copy");
    assert_eq!(b.read(..).expect("elements"), data.into_dyn());
}

#[test]
fn what_is_not_stored_is_neither_read_nor_written() {
    let memory = MemoryStore::new();
    let a = Array::<u16>::builder([1 << 40, 8])
        .chunks([1 << 10, 8])
        .create((&memory, "a"))
        .expect("a new array");
    a.fill([1 << 30..(1 << 30) + 10, 0..8], 5)
        .expect("elements");
    let counted = CountingStore::new(memory);
    let counters = counted.clone();
    let other = MemoryStore::new();
    let options = CopyOptions::new().chunks([1 << 11, 4]);
    copy((Storage::blocking(counted), "a"), (&other, "b"), &options).expect("a copy");
    assert!(counters.counts().fetches < 5, "{:?}", counters.counts());
    let row = (1u64 << 30) >> 11;
    assert_eq!(
        other.keys(),
        [
            format!("b/c/{row}/0"),
            format!("b/c/{row}/1"),
            "b/zarr.json".to_owned(),
            "zarr.json".to_owned()
        ]
    );
    let b = Array::<u16>::open((&other, "b")).expect("the copy");
    assert_eq!(
        b.read([(1 << 30) - 1..(1 << 30) + 2, 0..1])
            .expect("elements"),
        array![[0], [5], [5]]
    );
}

#[test]
fn a_copy_of_a_group_has_one_progress_and_one_cancellation() {
    let store = MemoryStore::new();
    let root = Group::create((&store, "g"), Format::Zarr3).expect("a new group");
    for name in ["a", "b"] {
        let array = Array::<u8>::builder([64]).chunks([8]);
        root.create_array(name, array)
            .expect("a new array")
            .fill(.., 1)
            .expect("elements");
    }
    let reported = Arc::new(Mutex::new(Vec::new()));
    let reports = Arc::clone(&reported);
    let run = two_threads()
        .progress(move |progress: Progress| reports.lock().expect("no panic").push(progress));
    let options = CopyOptions::new().chunks([16]).run(run.clone());
    copy((&store, "g"), (&store, "h"), &options).expect("a copy");
    let reported = std::mem::take(&mut *reported.lock().expect("no panic"));
    assert!(
        reported.iter().all(|progress| progress.total == 8),
        "{reported:?}"
    );
    assert_eq!(reported.last().map(|progress| progress.done), Some(8));
    assert!(reported.is_sorted_by_key(|progress| progress.done));

    let cancel = Cancel::new();
    let stop = cancel.clone();
    let run = two_threads()
        .cancel(cancel)
        .progress(move |_| stop.cancel());
    let error = copy((&store, "g"), (&store, "i"), &options.run(run)).expect_err("it is cancelled");
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    assert!(Array::<u8>::open((&store, "i/b")).is_err());
}

/// Planes into columns: in a folder through a temporary array, which is removed; otherwise not.
#[test]
fn planes_become_columns() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = numbers([64, 64, 64]);
    let store = MemoryStore::new();
    let a = Array::<u16>::builder([64, 64, 64])
        .chunks([1, 64, 64])
        .create((&store, "a"))
        .expect("a new array");
    a.write(.., &data).expect("elements");
    // Less than a sixth of the array for blocks.
    let options = CopyOptions::new()
        .chunks([64, 4, 4])
        .run(two_threads())
        .memory(OVERHEAD + (200 << 10));
    let other = MemoryStore::new();
    let given = MemoryStore::new();
    for (target, temporary, twice) in [
        (Storage::folder(folder.path()), None, true),
        (Storage::from(&other), None, false),
        (Storage::from(MemoryStore::new()), Some(&given), true),
    ] {
        let mut options = options.clone();
        if let Some(temporary) = temporary {
            options = options.temporary((temporary, "t"));
        }
        let report = copy((&store, "a"), (&target, "b"), &options).expect("a copy");
        let notes = &report.nodes[0].notes;
        assert_eq!(
            notes
                .iter()
                .any(|note| note.contains("temporary array of up to 524288 bytes")),
            twice,
            "{notes:?}"
        );
        let b = Array::<u16>::open((&target, "b")).expect("the copy");
        assert!(b.read(..).expect("elements") == data.clone().into_dyn());
    }
    assert!(given.keys().is_empty(), "{:?}", given.keys());
    assert!(!folder.path().join("b/.ndzarr-temporary").exists());
    assert!(!folder.path().join("b/.ndzarr-copy").exists());
}

/// Zarr v3, in which temporary arrays are described otherwise, has no padding.
#[test]
fn planes_of_padded_structures_become_columns() {
    let store = MemoryStore::new();
    let document = br#"{"zarr_format": 2, "shape": [64, 64, 64], "chunks": [1, 64, 64],
        "dtype": [["a", "|u1"], ["", "|V3"], ["b", "<u4"]], "compressor": null, "filters": null, "order": "C",
        "fill_value": null}"#;
    store
        .set("a/.zarray", document.to_vec())
        .expect("it is a key");
    let element = |n: u32| [vec![n as u8, 0, 0, 0], n.to_le_bytes().to_vec()].concat();
    let plane = |z: u32| {
        (0..64 * 64)
            .flat_map(|at| element(z * 64 * 64 + at))
            .collect()
    };
    for z in 0..64 {
        let plane: Vec<u8> = plane(z);
        store
            .set(&format!("a/{z}.0.0"), plane)
            .expect("it is a key");
    }
    let options = CopyOptions::new()
        .chunks([64, 4, 4])
        .run(two_threads())
        .memory(OVERHEAD + (800 << 10))
        .temporary((MemoryStore::new(), "t"));
    let report = copy((&store, "a"), (&store, "b"), &options).expect("a copy");
    let notes = &report.nodes[0].notes;
    assert!(
        notes.iter().any(|note| note.contains("temporary array")),
        "{notes:?}"
    );
    let b = AnyArray::open((&store, "b")).expect("the copy");
    let expected: Vec<u8> = (0..64).flat_map(plane).collect();
    assert!(b.read_bytes(..).expect("elements") == expected);
}

#[test]
fn large_shards_are_put_together_piece_by_piece() {
    let folder = tempfile::tempdir().expect("a folder");
    let data = numbers([128, 64, 64]);
    let a = Array::<u16>::builder([128, 64, 64])
        .chunks([8, 64, 64])
        .create((folder.path(), "a"));
    a.expect("a new array").write(.., &data).expect("elements");
    // A shard takes 512 KiB.
    let options = CopyOptions::new()
        .chunks([8, 8, 8])
        .shards([64, 64, 64])
        .run(two_threads());
    let options = options
        .memory(OVERHEAD + (256 << 10) * 5 + (500 << 10))
        .codecs([codec::zstd(1)]);
    let source = (folder.path(), "a");
    copy(source, (folder.path(), "b"), &options).expect("a copy");
    let b = Array::<u16>::open((folder.path(), "b")).expect("the copy");
    assert!(b.read(..).expect("elements") == data.into_dyn());
    // A store in memory has no temporaries.
    let error =
        copy((folder.path(), "a"), (MemoryStore::new(), "b"), &options).expect_err("too little");
    assert_eq!(error.kind(), ErrorKind::OutOfMemory);
}
