//! The chunks that a region overlaps.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ndzarr_grid::{ChunkGrid, Region, WindowCost, windows};

fn overlaps(c: &mut Criterion) {
    let mut group = c.benchmark_group("grid");
    let grid = ChunkGrid::regular(&[512; 3], &[32; 3]).expect("a grid");
    let whole = Region::whole(&[512; 3]);
    group.throughput(Throughput::Elements(4096));
    group.bench_function("4096 overlaps", |b| {
        b.iter(|| grid.overlaps(&whole).count())
    });
    let region = Region::new([17..401, 17..401, 17..401]);
    group.throughput(Throughput::Elements(1));
    group.bench_function("the overlaps of a region, counted", |b| {
        b.iter(|| grid.n_overlaps(&region))
    });
    // One chunk of a grid of 2^60 of them: nothing is enumerated.
    let huge = ChunkGrid::regular(&[1 << 40; 2], &[1 << 10; 2]).expect("a grid");
    let one = Region::new([1 << 39..(1 << 39) + 5, 7..9]);
    group.bench_function("one overlap in a grid of 2^60", |b| {
        b.iter(|| huge.overlaps(&one).count())
    });
    let cost = WindowCost {
        request: 8192,
        max_span: 2 << 20,
    };
    let inside = Region::new([17..128, 17..128, 17..128]);
    group.bench_function("windows of a region of a chunk", |b| {
        b.iter(|| windows(&[128; 3], &inside, cost))
    });
    group.finish();
}

criterion_group!(benches, overlaps);
criterion_main!(benches);
