//! Copies keep to their memory, whatever the chunks.

use std::num::NonZeroUsize;
use std::path::Path;

use ndarray::Array3;
use ndzarr::{Array, CopyOptions, DataType, RunOptions, codec, copy};
use ndzarr_testkit::in_own_process;

use crate::with_peak;

const LEN: usize = 256;

/// 32 MiB that do not compress.
fn source(folder: &Path, chunks: [u64; 3]) {
    let mut state = 1u64;
    let noise = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as u16
    };
    let data = Array3::from_shape_simple_fn((LEN, LEN, LEN), noise);
    let a = Array::<u16>::builder([LEN as u64; 3])
        .chunks(chunks)
        .codecs([codec::zstd(1)]);
    a.create((folder, "a"))
        .expect("a new array")
        .write(.., &data)
        .expect("elements");
}

/// The most bytes in memory during the copy.
fn peak(folder: &Path, options: &CopyOptions) -> u64 {
    let threads = RunOptions::default().threads(NonZeroUsize::new(2));
    let options = options.clone().run(threads);
    // What is allocated once: the pool, contexts of codecs.
    let one = Array::<u16>::builder([64; 3])
        .chunks([32; 3])
        .codecs([codec::zstd(1)]);
    one.overwrite()
        .create((folder, "warm"))
        .expect("a new array")
        .fill(.., 1)
        .expect("elements");
    let (copied, peak) = with_peak(|| copy((folder, "a"), (folder, "b"), &options));
    copied.expect("a copy");
    peak as u64
}

fn check_copied(folder: &Path) {
    let [a, b] = ["a", "b"].map(|name| Array::<u16>::open((folder, name)).expect("an array"));
    for plane in (0..LEN as u64).step_by(16) {
        assert!(
            a.read([plane..plane + 16, 0..256, 0..256])
                .expect("elements")
                == b.read([plane..plane + 16, 0..256, 0..256])
                    .expect("elements")
        );
    }
}

#[test]
fn cubes_into_cubes_that_do_not_nest() {
    in_own_process!();
    let folder = tempfile::tempdir().expect("a folder");
    source(folder.path(), [32; 3]);
    for memory in [8 << 20, 16 << 20] {
        let options = CopyOptions::new()
            .chunks([50; 3])
            .memory(memory)
            .existing(ndzarr::Existing::Replace);
        let peak = peak(folder.path(), &options);
        assert!(peak <= memory, "{peak} of {memory}");
        check_copied(folder.path());
    }
}

#[test]
fn planes_into_columns() {
    in_own_process!();
    let folder = tempfile::tempdir().expect("a folder");
    source(folder.path(), [2, 256, 256]);
    let memory = 8 << 20;
    let peak = peak(
        folder.path(),
        &CopyOptions::new().chunks([256, 16, 16]).memory(memory),
    );
    assert!(peak <= memory, "{peak} of {memory}");
    check_copied(folder.path());
}

/// CLI-09: shards that are larger than the memory.
#[test]
fn shards_larger_than_the_memory() {
    in_own_process!();
    let folder = tempfile::tempdir().expect("a folder");
    source(folder.path(), [32; 3]);
    let memory = 8 << 20;
    let options = CopyOptions::new()
        .chunks([32; 3])
        .shards([256; 3])
        .memory(memory);
    let peak = peak(folder.path(), &options);
    assert!(peak <= memory, "{peak} of {memory}");
    check_copied(folder.path());
}

#[test]
fn numbers_that_become_larger() {
    in_own_process!();
    let folder = tempfile::tempdir().expect("a folder");
    source(folder.path(), [32; 3]);
    let memory = 16 << 20;
    let options = CopyOptions::new()
        .chunks([32, 64, 64])
        .data_type(DataType::Float { bits: 64 })
        .memory(memory);
    let peak = peak(folder.path(), &options);
    assert!(peak <= memory, "{peak} of {memory}");
}

/// surface/H2: chunks along a long axis are counted, not kept.
#[test]
fn plans_of_long_axes() {
    in_own_process!();
    let store = ndzarr::MemoryStore::new();
    for (name, shape, chunks) in [
        ("a", vec![1_000_000_000], vec![1]),
        ("b", vec![0, 1 << 62], vec![1, 1]),
        ("c", vec![1 << 62], vec![1]),
    ] {
        let a = Array::<u8>::builder(shape.clone())
            .chunks(chunks)
            .create((&store, name));
        a.expect("a new array");
        let options = CopyOptions::new().chunks(vec![7; shape.len()]).dry_run();
        let (planned, peak) = with_peak(|| copy((&store, name), (&store, "target"), &options));
        planned.expect("planned");
        assert!(peak < 4 << 20, "{name}: {peak}");
    }
}
