//! Measures the overhead of a chain, the index of a shard, and the codecs themselves.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use ndzarr_codec::{CodecChain, CodecError, CodecRegistry, Elements, Layout, Workspace};
use ndzarr_model::{
    BloscCname, BloscConfig, BloscShuffle, ChecksumLocation, CodecConfig, CodecSpec, DataType,
    Endian, FillValue, IndexLocation, PayloadBounds, ShardingConfig,
};

fn bind(configs: impl IntoIterator<Item = CodecConfig>) -> CodecChain {
    let specs: Vec<CodecSpec> = configs.into_iter().map(CodecSpec::from).collect();
    let fill = FillValue::defined(0u16.to_ne_bytes());
    CodecChain::bind(
        &specs,
        &DataType::UInt { bits: 16 },
        &fill,
        3,
        &CodecRegistry::new(),
    )
    .expect("a chain")
}

fn bytes() -> CodecConfig {
    CodecConfig::Bytes {
        endian: Some(Endian::Little),
    }
}

/// Waves with a little noise.
fn image(n: usize) -> Vec<u8> {
    let mut noise = 1u32;
    (0..n)
        .flat_map(|i| {
            noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let wave = 2000.0 + 600.0 * (i as f64 / 911.0).sin();
            (wave as u16 + (noise >> 27) as u16).to_le_bytes()
        })
        .collect()
}

fn chains(c: &mut Criterion) {
    let chains = [
        ("bytes", vec![bytes()]),
        (
            "bytes, crc32c",
            vec![
                bytes(),
                CodecConfig::Crc32c {
                    location: ChecksumLocation::End,
                },
            ],
        ),
        (
            "bytes, zstd",
            vec![
                bytes(),
                CodecConfig::Zstd {
                    level: 1,
                    checksum: false,
                },
            ],
        ),
        ("bytes, zlib", vec![bytes(), CodecConfig::Zlib { level: 1 }]),
        (
            "transpose, bytes",
            vec![
                CodecConfig::Transpose {
                    order: vec![2, 1, 0],
                },
                bytes(),
            ],
        ),
    ];
    let mut workspace = Workspace::new();
    for side in [4u64, 32] {
        let shape = [side; 3];
        let elements = image((side * side * side) as usize);
        let mut group = c.benchmark_group(format!("chain, {side}^3"));
        group.throughput(Throughput::Bytes(elements.len() as u64));
        for (name, configs) in &chains {
            let chain = bind(configs.clone());
            let mut encoded = Vec::new();
            chain
                .encode(&elements, &shape, &mut workspace, &mut encoded)
                .expect("it encodes");
            group.bench_function(BenchmarkId::new("decode", name), |b| {
                b.iter(|| {
                    chain.decode(&encoded, &shape, &mut workspace, |elements, _| {
                        std::hint::black_box(elements);
                        Ok::<_, ndzarr_codec::CodecError>(())
                    })
                });
            });
            let mut out = Vec::new();
            group.bench_function(BenchmarkId::new("encode", name), |b| {
                b.iter(|| chain.encode(&elements, &shape, &mut workspace, &mut out));
            });
        }
        group.finish();
    }
}

/// Two values of deflate, in sequence and at once.
fn two_values(c: &mut Criterion) {
    let shape = [128; 3];
    let elements = image(128 * 128 * 128);
    let chain = bind([bytes(), CodecConfig::Zlib { level: 1 }]);
    let mut workspace = Workspace::new();
    let mut encoded = Vec::new();
    chain
        .encode(&elements, &shape, &mut workspace, &mut encoded)
        .expect("it encodes");
    let keep = |elements: Elements<'_>| {
        std::hint::black_box(elements);
        Ok::<_, CodecError>(())
    };
    let mut group = c.benchmark_group("zlib, two of 128^3");
    group.throughput(Throughput::Bytes(2 * elements.len() as u64));
    group.bench_function("one after the other", |b| {
        b.iter(|| {
            for _ in 0..2 {
                chain
                    .decode(&encoded, &shape, &mut workspace, |elements, _| {
                        keep(elements)
                    })
                    .expect("it decodes");
            }
        });
    });
    group.bench_function("at once", |b| {
        b.iter(|| {
            let both = chain.decode_two([&encoded, &encoded], [&shape, &shape], &mut workspace);
            for ahead in both.expect("it is worth it") {
                chain
                    .put_ahead(ahead, &mut workspace, |elements, _| keep(elements))
                    .expect("it is put");
            }
        });
    });
    group.finish();
}

fn blosc(shuffle: BloscShuffle) -> CodecChain {
    blosc_of(shuffle, None)
}

fn blosc_of(shuffle: BloscShuffle, typesize: Option<usize>) -> CodecChain {
    let blosc = BloscConfig {
        cname: BloscCname::Lz4,
        clevel: 5,
        shuffle,
        typesize,
        blocksize: 0,
    };
    bind([bytes(), CodecConfig::Blosc(blosc)])
}

/// A chunk of blosc, made without c-blosc except for shuffled bits.
fn blosc_encode(c: &mut Criterion) {
    let shape = [128; 3];
    let elements = image(128 * 128 * 128);
    let mut workspace = Workspace::new();
    let mut out = Vec::new();
    let mut group = c.benchmark_group("blosc, encode 128^3");
    group.throughput(Throughput::Bytes(elements.len() as u64));
    for shuffle in [BloscShuffle::None, BloscShuffle::Byte, BloscShuffle::Bit] {
        let chain = blosc(shuffle);
        group.bench_function(BenchmarkId::new("at once", format!("{shuffle:?}")), |b| {
            b.iter(|| chain.encode(&elements, &shape, &mut workspace, &mut out));
        });
        if chain.piece_len(&shape).is_some() {
            group.bench_function(BenchmarkId::new("in pieces", format!("{shuffle:?}")), |b| {
                let mut make = |range, piece: &mut [u8]| piece.copy_from_slice(&elements[range]);
                b.iter(|| chain.encode_pieces(&shape, &mut make, &mut workspace, &mut out));
            });
        }
    }
    // The use of the vector code in ndzarr-blosc.
    for typesize in [4, 8] {
        let chain = blosc_of(BloscShuffle::Byte, Some(typesize));
        group.bench_function(BenchmarkId::new("at once, elements of", typesize), |b| {
            b.iter(|| chain.encode(&elements, &shape, &mut workspace, &mut out));
        });
    }
    group.finish();
}

/// One plane of a chunk of blosc: only its blocks, and all blocks.
fn blosc_plane(c: &mut Criterion) {
    let chain = blosc(BloscShuffle::Byte);
    let shape = [128; 3];
    let mut workspace = Workspace::new();
    let mut encoded = Vec::new();
    chain
        .encode(
            &image(128 * 128 * 128),
            &shape,
            &mut workspace,
            &mut encoded,
        )
        .expect("it encodes");
    let put = |elements: Elements<'_>, _: &Layout| {
        std::hint::black_box(elements);
        Ok::<_, CodecError>(())
    };
    let mut group = c.benchmark_group("blosc, one of 128 planes");
    group.bench_function("its blocks", |b| {
        b.iter(|| {
            chain.decode_window(
                &encoded,
                &shape,
                &[70..71, 0..128, 0..128],
                &mut workspace,
                put,
            )
        });
    });
    group.bench_function("all blocks", |b| {
        b.iter(|| chain.decode(&encoded, &shape, &mut workspace, put));
    });
    group.finish();
}

fn shard_index(c: &mut Criterion) {
    let mut group = c.benchmark_group("shard index");
    for n in [8u64, 16, 32] {
        let config = ShardingConfig {
            chunk_shape: vec![1; 3],
            codecs: vec![CodecSpec::from(bytes())],
            index_codecs: vec![
                CodecSpec::from(bytes()),
                CodecSpec::from(CodecConfig::Crc32c {
                    location: ChecksumLocation::End,
                }),
            ],
            index_location: IndexLocation::End,
            payload: PayloadBounds::Shard,
        };
        let chain = bind([CodecConfig::Sharding(Box::new(config))]);
        let ndzarr_codec::Access::Indexed(sharding) = chain.access() else {
            unreachable!("it is sharded")
        };
        let mut workspace = Workspace::new();
        let shape = [n; 3];
        let mut shard =
            ndzarr_codec::ShardBuilder::new(sharding.layout(&shape)).expect("there is memory");
        for _ in 0..n * n * n {
            shard.add(2).expect("it is small");
        }
        let (_, encoded) = sharding.end(shard, &mut workspace).expect("it encodes");
        let encoded = bytes::Bytes::from(encoded);
        group.throughput(Throughput::Elements(n * n * n));
        group.bench_function(BenchmarkId::new("decode", n * n * n), |b| {
            b.iter(|| {
                sharding.decode_index(
                    &encoded,
                    &shape,
                    n * n * n * 2 + encoded.len() as u64,
                    &mut workspace,
                )
            });
        });
    }
    group.finish();
}

criterion_group!(
    benches,
    chains,
    two_values,
    blosc_encode,
    blosc_plane,
    shard_index
);
criterion_main!(benches);
