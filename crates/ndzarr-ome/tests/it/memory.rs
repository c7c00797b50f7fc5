//! The memory that making levels takes, counted by the allocator.

use ndarray::Array3;
use ndzarr::{Array, ArrayBuilder, DataType, Format, FsStore, RunOptions, Storage};
use ndzarr_ome::{Axis, Downsample, Multiscale, NewMultiscale};
use ndzarr_testkit::in_own_process;
use peak_alloc::PeakAlloc;

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

const MIB: usize = 1 << 20;

/// An image of 16 MiB, and the bytes that making its levels takes at most.
fn peak(chunk: u64, shard: u64, method: Downsample, bytes_in_flight: u64) -> usize {
    let folder = tempfile::tempdir().expect("there is room");
    let axes = ["z", "y", "x"].map(|name| (Axis::new(name), 256));
    let new = NewMultiscale::new(DataType::UInt { bits: 8 }, axes)
        .levels(3)
        .method(method);
    let place = Storage::blocking(FsStore::new(folder.path()));
    let image = Multiscale::create(&place, Format::Zarr3, &new, |layout| {
        layout
            .chunks([chunk, chunk, chunk])
            .shards([shard, shard, shard])
    })
    .expect("it is valid");
    let finest = image.array(0).expect("it is there");
    for z in 0..256 / shard {
        let slab = Array3::from_shape_fn((shard as usize, 256, 256), |(z, y, x)| {
            (z + y / 3 + x / 7) as u8
        });
        finest
            .write([z * shard..(z + 1) * shard, 0..256, 0..256], &slab.into())
            .expect("it fits");
    }
    let before = ALLOCATOR.current_usage();
    ALLOCATOR.reset_peak_usage();
    image
        .make_levels(
            method,
            &RunOptions::default().bytes_in_flight(bytes_in_flight),
        )
        .expect("they fit");
    let peak = ALLOCATOR.peak_usage() - before;
    let coarsest = image.array(2).expect("it is there");
    assert_eq!(coarsest.shape(), [64, 64, 64]);
    assert!(coarsest.units().stored().expect("folders list").len() > 0);
    peak
}

#[test]
fn levels_are_made_within_the_bytes_in_flight() {
    in_own_process!();
    for method in [Downsample::Mean, Downsample::Mode, Downsample::Stride] {
        let peak = peak(16, 32, method, 2 * MIB as u64);
        assert!(peak <= 2 * MIB, "{method:?}: {} KiB", peak / 1024);
    }
}

#[test]
fn only_one_larger_shard_is_made_at_a_time() {
    in_own_process!();
    // A shard of a level has 256 KiB and is made of 2 MiB, which are never in memory at once.
    let peak = peak(16, 64, Downsample::Mean, MIB as u64 / 4);
    assert!(peak <= 5 * MIB / 4, "{} KiB", peak / 1024);
}

#[test]
fn an_array_becomes_an_image_within_the_bytes_in_flight() {
    in_own_process!();
    let folder = tempfile::tempdir().expect("there is room");
    let plain = Array::<u8>::builder([256, 256, 256])
        .chunks([32, 32, 32])
        .create(folder.path().join("plain"));
    let plain = plain.expect("it is valid");
    for z in 0..8 {
        let slab = Array3::from_shape_fn((32, 256, 256), |(z, y, x)| (z + y / 3 + x / 7) as u8);
        plain
            .write([z * 32..(z + 1) * 32, 0..256, 0..256], &slab)
            .expect("it fits");
    }
    let axes = ["z", "y", "x"].map(|name| (Axis::new(name), 256));
    let new = NewMultiscale::new(DataType::UInt { bits: 8 }, axes).levels(3);
    let options = RunOptions::default().bytes_in_flight(2 * MIB as u64);
    let source = plain.into();
    let place = folder.path().join("image");
    let before = ALLOCATOR.current_usage();
    ALLOCATOR.reset_peak_usage();
    let layout = |layout: ArrayBuilder| layout.chunks([16, 16, 16]).shards([32, 32, 32]);
    let image = Multiscale::create_from(&source, place, Format::Zarr3, &new, layout, &options);
    let peak = ALLOCATOR.peak_usage() - before;
    assert!(peak <= 2 * MIB, "{} KiB", peak / 1024);
    let finest = image.expect("they fit").array(0).expect("it is there");
    assert_eq!(
        finest.read(..).expect("it is whole"),
        source.read(..).expect("it is whole")
    );
}
