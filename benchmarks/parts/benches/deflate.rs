//! Measures encoding and decoding of ndzarr-deflate against libdeflate.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use libdeflater::{CompressionLvl, Compressor, Decompressor};
use ndzarr_deflate::{Container, Deflater, Inflater};

/// Waves with `bits` bits of noise, 16 bits each.
fn image(bits: u32) -> Vec<u8> {
    let mut noise = 1u32;
    let mut pixel = |i: u32| {
        noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let wave = 2000.0 + 600.0 * f64::from(i % 4096 / 9).sin();
        (wave as u16 + (noise >> (32 - bits)) as u16).to_le_bytes()
    };
    (0..1 << 20).flat_map(&mut pixel).collect()
}

fn codecs(c: &mut Criterion) {
    let labels = (0..1u32 << 19)
        .flat_map(|i| (i / 50).to_le_bytes())
        .collect();
    for (name, src) in [
        ("noise of 5 bits", image(5)),
        ("noise of 8 bits", image(8)),
        ("labels", labels),
    ] {
        let mut encoded = Vec::new();
        Deflater::new()
            .append(&src, 1, Container::Zlib, &mut encoded)
            .expect("it encodes");
        let mut out = vec![0; src.len()];
        let mut second = out.clone();

        let mut group = c.benchmark_group("encode at level 1");
        group.throughput(Throughput::Bytes(src.len() as u64));
        let mut theirs = Compressor::new(CompressionLvl::fastest());
        let mut buffer = vec![0; theirs.zlib_compress_bound(src.len())];
        group.bench_function(BenchmarkId::new("libdeflate", name), |b| {
            b.iter(|| theirs.zlib_compress(&src, &mut buffer));
        });
        let mut ours = Deflater::new();
        let mut dst = Vec::new();
        group.bench_function(BenchmarkId::new("ours", name), |b| {
            b.iter(|| {
                dst.clear();
                ours.append(&src, 1, Container::Zlib, &mut dst)
            });
        });
        group.finish();

        let mut group = c.benchmark_group("decode two");
        group.throughput(Throughput::Bytes(2 * src.len() as u64));
        let mut theirs = Decompressor::new();
        group.bench_function(BenchmarkId::new("libdeflate", name), |b| {
            b.iter(|| {
                (
                    theirs.zlib_decompress(&encoded, &mut out),
                    theirs.zlib_decompress(&encoded, &mut second),
                )
            });
        });
        let mut ours = Inflater::new();
        group.bench_function(BenchmarkId::new("ours", name), |b| {
            b.iter(|| {
                ours.fill_two(
                    [&encoded, &encoded],
                    Container::Zlib,
                    [&mut out, &mut second],
                )
            });
        });
    }
}

criterion_group!(benches, codecs);
criterion_main!(benches);
