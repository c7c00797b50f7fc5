//! Tests the decoders for systems without C with what libzstd and liblz4 write.

use std::io::Write;

use super::*;
use crate::BytesToBytes;
use crate::codecs::{lz4_in_rust, zstd_in_rust};

const IN_RUST: zstd_in_rust::Zstd = zstd_in_rust::Zstd {
    level: 1,
    checksum: false,
};

type Decode = fn(&[u8], Dst<'_>) -> Result<usize, CodecError>;

fn zstd(src: &[u8], dst: Dst<'_>) -> Result<usize, CodecError> {
    IN_RUST.decode(src, dst, &mut Workspace::new())
}

fn lz4_frame(src: &[u8], dst: Dst<'_>) -> Result<usize, CodecError> {
    lz4_in_rust::decode_frame("lz4", src, dst)
}

fn into_exact(decode: Decode, src: &[u8], len: usize) -> Result<Vec<u8>, CodecError> {
    let mut out = vec![0xa5; len];
    assert_eq!(decode(src, Dst::Exact(&mut out))?, len);
    Ok(out)
}

fn into_grown(decode: Decode, src: &[u8], max: usize) -> Result<Vec<u8>, CodecError> {
    let mut buf = vec![0xa5; 3];
    let n = decode(src, Dst::Grow { buf: &mut buf, max })?;
    assert!(n == buf.len() && n <= max);
    Ok(buf)
}

/// Checks a value: whole, cut short at every byte, with every bit flipped, and with more bytes
/// after it.
fn check(decode: Decode, encoded: &[u8], data: &[u8], has_checksum: bool) {
    let len = data.len();
    assert!(into_exact(decode, encoded, len).is_ok_and(|out| out == data));
    assert!(into_grown(decode, encoded, len).is_ok_and(|out| out == data));
    into_exact(decode, encoded, len - 1).expect_err("too long");
    into_exact(decode, encoded, len + 1).expect_err("too short");
    into_grown(decode, encoded, len - 1).expect_err("the limit is lower");
    into_exact(decode, &[encoded, b"more"].concat(), len).expect_err("more behind it");
    for cut in 0..encoded.len() {
        let prefix = encoded[..cut].to_vec();
        assert!(
            into_exact(decode, &prefix, len).is_err(),
            "{cut} of {}",
            encoded.len()
        );
        assert!(
            into_grown(decode, &prefix, len).is_err(),
            "{cut} of {}",
            encoded.len()
        );
    }
    for bit in 0..8 * encoded.len() {
        let mut flipped = encoded.to_vec();
        flipped[bit / 8] ^= 1 << (bit % 8);
        for result in [
            into_exact(decode, &flipped, len),
            into_grown(decode, &flipped, len + 100),
        ] {
            assert!(
                !has_checksum || result.is_err() || result.is_ok_and(|out| out == data),
                "bit {bit}"
            );
        }
    }
}

#[test]
fn frames_of_libzstd_are_decoded_in_rust() {
    let image = image(1 << 19, 8.0);
    for level in [-5, 1, 3, 9, 19] {
        for data in [
            &image[..],
            &[7; 100_000],
            &b"and more ".repeat(40_000),
            b"one",
            b"",
        ] {
            let frame = encoded(
                &CodecConfig::Zstd {
                    level,
                    checksum: level > 1,
                },
                data,
            );
            assert!(
                into_exact(zstd, &frame, data.len()).is_ok_and(|out| out == data),
                "{level}"
            );
            assert!(
                into_grown(zstd, &frame, data.len()).is_ok_and(|out| out == data),
                "{level}"
            );
            assert_eq!(
                IN_RUST.decoded_len(&frame).ok().flatten(),
                Some(data.len() as u64)
            );
        }
    }
    check(
        zstd,
        &encoded(&ZSTD_CHECKED, &image[..700]),
        &image[..700],
        true,
    );
    check(zstd, &encoded(&ZSTD, &image[..700]), &image[..700], false);
    // In a stream, without the size of the content; a skippable frame; two frames.
    let mut encoder = ::zstd::Encoder::new(Vec::new(), 3).expect("it starts");
    encoder.write_all(&image).expect("it encodes");
    let streamed = encoder.finish().expect("it ends");
    let skippable = [0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3];
    let twice = [&skippable[..], &streamed, &skippable, &streamed].concat();
    let expected = [&image[..], &image].concat();
    assert!(into_exact(zstd, &twice, expected.len()).is_ok_and(|out| out == expected));
    assert!(into_grown(zstd, &twice, expected.len()).is_ok_and(|out| out == expected));
}

#[test]
fn blocks_of_liblz4_are_decoded_in_rust() {
    let image = image(1 << 17, 8.0);
    for data in [
        &image[..],
        &[7; 100_000],
        &b"and more ".repeat(40_000),
        b"one",
    ] {
        // Without the length that numcodecs puts in front.
        let block = encoded(&LZ4, data).split_off(4);
        let mut out = vec![0; data.len()];
        assert_eq!(lz4_in_rust::decode_into(&block, &mut out), Some(data.len()));
        assert!(out == data);
        assert_eq!(
            lz4_in_rust::decode_into(&block, &mut vec![0; data.len() - 1]),
            None
        );
    }
    let block = encoded(&LZ4, &image[..700]).split_off(4);
    for bit in 0..8 * block.len() {
        let mut flipped = block.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let mut out = [0; 700];
        let theirs = ::lz4::block::decompress(&flipped, Some(700));
        match (lz4_in_rust::decode_into(&flipped, &mut out), theirs) {
            (Some(700), Ok(theirs)) if theirs.len() == 700 => {
                assert!(out[..] == theirs, "bit {bit}")
            }
            // It has no checksum, and one of the two decoders checks more.
            _ => {}
        }
    }
}

#[test]
fn frames_of_liblz4_are_decoded_in_rust() {
    let image = image(1 << 19, 8.0);
    let frame = |data: &[u8], mode: ::lz4::BlockMode, size: ::lz4::BlockSize| {
        let mut encoder = ::lz4::EncoderBuilder::new();
        let mut encoder = encoder
            .block_mode(mode)
            .block_size(size)
            .build(Vec::new())
            .expect("it starts");
        encoder.write_all(data).expect("it encodes");
        let (frame, result) = encoder.finish();
        result.expect("it ends");
        frame
    };
    for mode in [::lz4::BlockMode::Linked, ::lz4::BlockMode::Independent] {
        for size in [::lz4::BlockSize::Max64KB, ::lz4::BlockSize::Max4MB] {
            let whole = frame(&image, mode.clone(), size.clone());
            for decode in [lz4_frame, |src: &[u8], dst: Dst<'_>| {
                codec(&N5_LZ4).decode(src, dst, &mut Workspace::new())
            }] {
                assert!(into_exact(decode, &whole, image.len()).is_ok_and(|out| out == image));
                assert!(into_grown(decode, &whole, image.len()).is_ok_and(|out| out == image));
            }
            check(
                lz4_frame,
                &frame(&image[..700], mode.clone(), size),
                &image[..700],
                true,
            );
        }
    }
    // Without its end, between two blocks.
    let whole = frame(&image, ::lz4::BlockMode::Linked, ::lz4::BlockSize::Max64KB);
    let end = whole.len() - 8;
    into_exact(lz4_frame, &whole[..end], image.len()).expect_err("it is not whole");
    into_grown(lz4_frame, &whole[..end], image.len()).expect_err("it is not whole");
}
