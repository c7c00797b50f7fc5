//! Tests every codec with truncated, damaged and forged input.

use proptest::prelude::*;

use super::*;

/// Bytes that exercise every codec.
fn sample(len: usize) -> Vec<u8> {
    (0..len as u32)
        .map(|i| ((i / 9) ^ (i.wrapping_mul(2_654_435_761) >> 30)) as u8)
        .collect()
}

#[test]
fn what_is_encoded_decodes() {
    for (config, _) in all() {
        let mut workspace = Workspace::new();
        let codec = codec(&config);
        // The same contexts are used for all lengths, and after errors.
        for len in [1, 2, 63, 64, 65, 1000, 300_000] {
            let data = sample(len);
            let mut chunk = Vec::new();
            codec
                .encode(&data, &mut chunk, &mut workspace)
                .expect("it encodes");
            let mut out = vec![0; len];
            codec
                .decode(&chunk, Dst::Exact(&mut out), &mut workspace)
                .expect("it decodes");
            assert!(out == data, "{config:?} {len}");
            assert!(
                grown(&config, &chunk, len).is_ok_and(|out| out == data),
                "{config:?} {len}"
            );
            assert!(
                grown(&config, &chunk, 10 * len).is_ok_and(|out| out == data),
                "{config:?} {len}"
            );
            for wrong in [len - 1, len + 1] {
                let mut out = vec![0; wrong];
                codec
                    .decode(&chunk, Dst::Exact(&mut out), &mut workspace)
                    .expect_err("another length");
            }
            grown(&config, &chunk, len - 1).expect_err("the limit is lower");
        }
    }
}

#[test]
fn every_prefix_is_refused() {
    for (config, _) in all() {
        let data = sample(500);
        let chunk = encoded(&config, &data);
        for len in 0..chunk.len() {
            // In a separate allocation, so that a memory checker notices a read past the end.
            let prefix = chunk[..len].to_vec();
            assert!(
                exact(&config, &prefix, 500).is_err(),
                "{config:?}: {len} of {}",
                chunk.len()
            );
            assert!(
                grown(&config, &prefix, 500).is_err(),
                "{config:?}: {len} of {}",
                chunk.len()
            );
        }
    }
}

#[test]
fn flipped_bits_are_found_where_a_checksum_covers_them() {
    for (config, checked) in all() {
        let data = sample(500);
        let chunk = encoded(&config, &data);
        for bit in 0..8 * chunk.len() {
            let mut flipped = chunk.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            for result in [exact(&config, &flipped, 500), grown(&config, &flipped, 600)] {
                // Some bits have no meaning: gzip's time, the padding after the last deflate block.
                assert!(
                    !checked || result.is_err() || result.is_ok_and(|out| out == data),
                    "{config:?}: bit {bit}"
                );
            }
        }
    }
}

#[test]
fn lz4_frames_are_found_broken_too() {
    // We do not write checksums; the checksum of the content is on by default.
    use std::io::Write;
    let data = sample(500);
    let mut encoder = ::lz4::EncoderBuilder::new()
        .build(Vec::new())
        .expect("it starts");
    encoder.write_all(&data).expect("it encodes");
    let (frame, result) = encoder.finish();
    result.expect("it ends");
    assert_eq!(exact(&N5_LZ4, &frame, 500).ok(), Some(data.clone()));
    for len in 0..frame.len() {
        exact(&N5_LZ4, &frame[..len], 500).expect_err("it is not whole");
        grown(&N5_LZ4, &frame[..len], 500).expect_err("it is not whole");
    }
    for bit in 0..8 * frame.len() {
        let mut flipped = frame.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        for result in [exact(&N5_LZ4, &flipped, 500), grown(&N5_LZ4, &flipped, 600)] {
            assert!(
                result.is_err() || result.is_ok_and(|out| out == data),
                "bit {bit}"
            );
        }
    }
}

#[test]
fn v2_t58_bombs_end_at_the_limit() {
    // V2-T58. A content of 16 MiB where at most 64 KiB fit.
    const LEN: usize = 16 << 20;
    const MAX: usize = 64 << 10;
    let content = vec![0; LEN];
    for (config, _) in all() {
        if matches!(config, CodecConfig::Crc32c { .. }) {
            continue;
        }
        let chunk = encoded(&config, &content);
        assert!(
            exact(&config, &chunk, MAX).is_err_and(|error| error.is_corrupt()),
            "{config:?}"
        );
        assert!(
            grown(&config, &chunk, MAX).is_err_and(|error| error.is_corrupt()),
            "{config:?}"
        );
    }
}

#[test]
fn sizes_that_lie_take_no_memory() {
    // zstd: 2^60 bytes stated, in one block; 100 MB stated, and possible by the number of blocks,
    // which are garbage.
    let mut stated = hex("28b52ffde0 0000000000000010 210000 61616161");
    grown(&ZSTD, &stated, usize::MAX / 4).expect_err("the blocks cannot hold that");
    stated = hex("28b52ffda0 00e1f505");
    for i in 0..800 {
        stated.extend([if i == 799 { 0x15 } else { 0x14 }, 0, 0, 1, 2]);
    }
    let mut buf = Vec::new();
    let grow = Dst::Grow {
        buf: &mut buf,
        max: 1 << 30,
    };
    codec(&ZSTD)
        .decode(&stated, grow, &mut Workspace::new())
        .expect_err("the blocks are garbage");
    assert!(buf.capacity() <= 1 << 20, "{}", buf.capacity());
    // lz4: a length that so short a block cannot reach.
    let mut buf = Vec::new();
    let grow = Dst::Grow {
        buf: &mut buf,
        max: usize::MAX / 2,
    };
    codec(&LZ4)
        .decode(
            &hex("ffffff7d 1e610100506161616161"),
            grow,
            &mut Workspace::new(),
        )
        .expect_err("a lie");
    assert_eq!(buf.capacity(), 0);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_bytes_stay_inside(
        src in prop::collection::vec(any::<u8>(), 0..200),
        (config, _) in prop::sample::select(all()),
        len in 0usize..300,
    ) {
        let _ = exact(&config, &src, len);
        let _ = grown(&config, &src, len);
        let _ = codec(&config).decoded_len(&src);
    }

    #[test]
    fn changed_chunks_stay_inside(
        (config, checked) in prop::sample::select(all()),
        len in 1usize..400,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let data = sample(len);
        let mut chunk = encoded(&config, &data);
        for (at, byte) in changes {
            let at = at.index(chunk.len());
            chunk[at] = byte;
        }
        for result in [exact(&config, &chunk, len), grown(&config, &chunk, 2 * len)] {
            prop_assert!(!checked || result.is_err() || result.is_ok_and(|out| out == data), "{:?}", config);
        }
    }

    #[test]
    fn any_content_comes_back(
        (config, _) in prop::sample::select(all()),
        data in prop::collection::vec(prop_oneof![any::<u8>(), Just(0), Just(7)], 1..2000),
    ) {
        let chunk = encoded(&config, &data);
        prop_assert_eq!(exact(&config, &chunk, data.len()).ok(), Some(data.clone()));
        prop_assert_eq!(grown(&config, &chunk, data.len()).ok(), Some(data));
    }
}
