//! The work between a fetched chunk and the result: the first touch of the result and the copy into
//! it.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use ndarray::{ArrayD, IxDyn};
use ndzarr::{Array, Endian, MemoryStore, codec};

fn scatter(c: &mut Criterion) {
    let side = 128usize;
    let data = ArrayD::from_shape_fn(IxDyn(&[side; 3]), |at| {
        (at[0] * 7 + at[1] * 3 + at[2]) as u16
    });
    let mut group = c.benchmark_group("scatter");
    group.throughput(Throughput::Bytes((side * side * side * 2) as u64));
    group.sample_size(20);
    for chunk in [16u64, 32, 64, 128] {
        let make = |builder: ndzarr::ArrayBuilder<u16>| {
            let array = builder
                .chunks([chunk; 3])
                .create((MemoryStore::new(), "a"))
                .expect("an array");
            array.write(.., &data).expect("a write");
            array
        };
        let shape = [side as u64; 3];
        let arrays = [
            ("rows", make(Array::builder(shape))),
            ("swapped", make(Array::builder(shape).endian(Endian::Big))),
            (
                "transposed",
                make(Array::builder(shape).codecs([codec::transpose([2, 1, 0])])),
            ),
        ];
        for (name, array) in &arrays {
            group.bench_function(BenchmarkId::new(*name, chunk), |b| {
                b.iter(|| array.read(..).expect("a read"))
            });
        }
        let mut out = ArrayD::<u16>::zeros(IxDyn(&[side; 3]));
        group.bench_function(BenchmarkId::new("rows, into touched memory", chunk), |b| {
            b.iter(|| arrays[0].1.read_into(.., &mut out).expect("a read"));
        });
    }
    group.finish();
}

/// The first touch of a result: a missing chunk costs nothing but it, and the fill value is not
/// zero.
fn first_touch(c: &mut Criterion) {
    let n = 256u64 << 20;
    let array = Array::<u8>::builder([n])
        .chunks([n / 64])
        .fill_value(1)
        .create((MemoryStore::new(), "a"))
        .expect("an array");
    let mut group = c.benchmark_group("first touch");
    group.throughput(Throughput::Bytes(n));
    group.sample_size(10);
    group.bench_function("fill 256 MiB", |b| {
        b.iter(|| array.read(..).expect("a read"))
    });
    group.bench_function("fill 256 MiB, 4 KiB pages", |b| {
        b.iter(|| {
            let mut out = ArrayD::<u8>::zeros(IxDyn(&[n as usize]));
            array.read_into(.., &mut out).expect("a read");
            out
        });
    });
    group.finish();
}

/// The same bytes as one large result, which is written past the caches, and as small ones, which
/// are not.
fn past_the_caches(c: &mut Criterion) {
    let shape = [64u64, 1024, 2048];
    let array = Array::<u16>::builder(shape)
        .chunks([64, 128, 128])
        .create((MemoryStore::new(), "a"))
        .expect("an array");
    let ones = ArrayD::from_elem(IxDyn(&shape.map(|n| n as usize)), 1);
    array.write(.., &ones).expect("a write");
    drop(ones);
    let mut group = c.benchmark_group("past the caches");
    group.throughput(Throughput::Bytes(shape.iter().product::<u64>() * 2));
    group.sample_size(20);
    for parts in [1_u64, 64] {
        let n = 1024 / parts;
        group.bench_function(format!("256 MiB in {parts}"), |b| {
            let read = |i| {
                array
                    .read(&[0..64, n * i..n * (i + 1), 0..2048][..])
                    .expect("a read")
            };
            b.iter(|| (0..parts).map(read).collect::<Vec<_>>());
        });
    }
    group.finish();
}

criterion_group!(benches, scatter, first_touch, past_the_caches);
criterion_main!(benches);
