//! Tests values that claim to be larger than possible.

use ndzarr_codec::{CodecChain, CodecError, Elements, Layout, Workspace};
use ndzarr_model::{
    BloscCname, BloscConfig, BloscShuffle, CodecConfig, IndexLocation, LzmaConfig, LzmaFormat,
};

use crate::it::support::*;

fn compressors() -> Vec<CodecConfig> {
    let lzma = LzmaConfig {
        format: LzmaFormat::Xz,
        check: -1,
        preset: Some(0),
        filters: None,
    };
    let blosc = BloscConfig {
        cname: BloscCname::Lz4,
        clevel: 5,
        shuffle: BloscShuffle::Byte,
        typesize: None,
        blocksize: 0,
    };
    vec![
        GZIP,
        CodecConfig::Zlib { level: 1 },
        ZSTD,
        CodecConfig::Bz2 { level: 9 },
        CodecConfig::Lz4 { acceleration: 1 },
        CodecConfig::N5Lz4 { block_size: 65_536 },
        CodecConfig::Lzma(lzma),
        CodecConfig::Blosc(blosc),
    ]
}

/// The error if one element in the middle is wanted.
fn window_error(chain: &CodecChain, value: &[u8], len: u64) -> String {
    let at = len as usize / 2;
    let put = |_: Elements<'_>, _: &Layout| Ok::<_, CodecError>(());
    let result = chain.decode_window(value, &[len], &[at..at + 1], &mut Workspace::new(), put);
    result.expect_err("it is not right").to_string()
}

#[test]
fn v2_t58_bombs_are_errors_at_each_stage() {
    // V2-T58: 8 MiB in a chunk of 1 KiB, with one compressor, with two, and inside a shard.
    let content = vec![0; 8 << 20];
    for compressor in compressors() {
        let stages = [
            vec![compressor.clone()],
            vec![compressor.clone(), GZIP],
            vec![GZIP, compressor.clone()],
        ];
        for stage in stages {
            let chain = bind(&[&[PLAIN], &stage[..]].concat(), &U8, 1);
            let value = encode(&chain, &content, &[8 << 20]).expect("it encodes");
            let error = decode(&chain, &value, &[1 << 10]).expect_err("it is far too long");
            assert!(error.is_corrupt(), "{error}");
            assert_eq!(window_error(&chain, &value, 1 << 10), error.to_string());
            let config = sharding(
                &[1 << 10],
                &[&[PLAIN], &stage[..]].concat(),
                IndexLocation::Start,
            );
            let mut config = config;
            config.index_codecs = specs(&[LITTLE]);
            let index = [16u64.to_le_bytes(), (value.len() as u64).to_le_bytes()].concat();
            let shard = [index, value].concat();
            decode(&bind(&[sharded(config)], &U8, 1), &shard, &[1 << 10])
                .expect_err("it is far too long");
        }
    }
}

#[test]
fn a_gzip_in_a_gzip_in_a_gzip() {
    let chain = bind(&[PLAIN, GZIP, GZIP, GZIP], &U8, 1);
    let value = encode(&chain, &vec![0; 32 << 20], &[32 << 20]).expect("it encodes");
    decode(&chain, &value, &[100]).expect_err("it is far too long");
    let mut out = vec![1; 32 << 20];
    let done = chain
        .decode_into(&value, &[32 << 20], &mut out, &mut Default::default())
        .expect("it decodes");
    assert!(done && out.iter().all(|&byte| byte == 0));
}

#[test]
fn chunks_that_the_metadata_makes_huge() {
    // As many bytes as a machine can address are stated, and only a few are present.
    const STATED: u64 = if cfg!(target_pointer_width = "64") {
        1 << 45
    } else {
        1 << 30
    };
    for compressor in compressors() {
        let chain = bind(&[PLAIN, compressor], &U8, 1);
        let value = encode(&chain, &[7; 1000], &[1000]).expect("it encodes");
        let error = decode(&chain, &value, &[STATED]).expect_err("it is far too short");
        assert!(error.is_corrupt(), "{error}");
        assert_eq!(window_error(&chain, &value, STATED), error.to_string());
    }
}

#[test]
fn one_value_of_a_size_beyond_trust_is_still_read() {
    // 96 MiB from a value smaller than a 256th of that: memory grows with the content.
    const LEN: u64 = 96 << 20;
    let chain = bind(&[PLAIN, ZSTD], &U8, 1);
    let value = encode(&chain, &vec![3; LEN as usize], &[LEN]).expect("it encodes");
    assert!(value.len() < LEN as usize / 256);
    let mut seen = false;
    chain
        .decode(&value, &[LEN], &mut Default::default(), |elements, _| {
            let ndzarr_codec::Elements::Fixed { bytes, .. } = elements else {
                panic!("no elements of fixed size")
            };
            seen = bytes.len() as u64 == LEN && bytes.iter().all(|&byte| byte == 3);
            Ok::<_, ndzarr_codec::CodecError>(())
        })
        .expect("it decodes");
    assert!(seen);
}
