//! Tests against the decoders of libdeflate and zlib-rs, and the sizes of libdeflate at its level
//! 1.

use libdeflater::{CompressionLvl, Compressor, Decompressor};
use proptest::prelude::*;

use super::code::Code;
use super::{MIN_LEN, QuickDeflate};
use crate::noisy::{image, random};
use crate::symbols::{LENGTH_BASE, LENGTH_SYMBOL, distance_symbol};

/// Encodes, lets libdeflate encode the rest, and checks the result with two decoders. Returns the
/// number of bytes encoded here, and the size of the whole.
fn encoded(quick: &mut QuickDeflate, src: &[u8]) -> (usize, usize) {
    let mut stream = Vec::new();
    let n = quick.encode(src, &mut stream).expect("there is memory");
    if n < src.len() {
        stream.extend(libdeflate(&src[n..]));
    }
    let mut out = vec![0; src.len()];
    assert_eq!(
        Decompressor::new().deflate_decompress(&stream, &mut out),
        Ok(src.len())
    );
    assert!(out == src, "libdeflate decodes it");
    out.fill(0);
    let mut decoder = flate2::Decompress::new(false);
    let status = decoder
        .decompress(&stream, &mut out, flate2::FlushDecompress::Finish)
        .expect("it is valid");
    assert_eq!(
        (status, decoder.total_in()),
        (flate2::Status::StreamEnd, stream.len() as u64)
    );
    assert!(out == src, "zlib-rs decodes it");
    (n, stream.len())
}

fn libdeflate(src: &[u8]) -> Vec<u8> {
    let mut encoder = Compressor::new(CompressionLvl::new(1).expect("a level"));
    let mut out = vec![0; encoder.deflate_compress_bound(src.len())];
    let n = encoder
        .deflate_compress(src, &mut out)
        .expect("there is room");
    out.truncate(n);
    out
}

fn noise(n: usize) -> Vec<u8> {
    let mut random = random(3);
    (0..n).map(|_| random(8) as u8).collect()
}

#[test]
fn images_are_encoded_here_and_as_small_as_by_libdeflate() {
    let mut quick = QuickDeflate::new();
    for noise in [6.0, 8.0, 20.0, 100.0] {
        let src = image(1 << 20, noise);
        let (n, size) = encoded(&mut quick, &src);
        assert_eq!(n, src.len(), "noise {noise}");
        let peer = libdeflate(&src).len();
        assert!(
            size as f64 <= 1.01 * peer as f64,
            "noise {noise}: {size} bytes, libdeflate {peer}"
        );
    }
}

#[test]
fn what_repeats_is_left_to_libdeflate_from_where_it_begins() {
    let mut quick = QuickDeflate::new();
    let text = b"what repeats ".repeat(20_000);
    assert_eq!(encoded(&mut quick, &text), (0, libdeflate(&text).len()));
    assert_eq!(encoded(&mut quick, &vec![0; 1 << 20]).0, 0);
    let src = [image(1 << 18, 8.0), vec![0; 1 << 20], image(1000, 8.0)].concat();
    let (n, size) = encoded(&mut quick, &src);
    assert!((1 << 18..1 << 20).contains(&n), "{n}");
    assert!(size as f64 <= 1.01 * libdeflate(&src).len() as f64);
}

/// No code is shorter than the bytes themselves: blocks of type 0, each with at most 65,535 bytes.
#[test]
fn noise_is_stored() {
    let src = noise(100_000);
    let mut stream = Vec::new();
    assert_eq!(
        QuickDeflate::new()
            .encode(&src, &mut stream)
            .expect("there is memory"),
        src.len()
    );
    let mut rest = &stream[..];
    let mut at = 0;
    let mut n_blocks = 0;
    while let [header, len_low, len_high, not_low, not_high, content @ ..] = rest {
        let len = usize::from(u16::from_le_bytes([*len_low, *len_high]));
        assert_eq!([*not_low, *not_high], [!len_low, !len_high]);
        assert_eq!(content[..len], src[at..at + len]);
        at += len;
        n_blocks += 1;
        assert_eq!(*header, u8::from(at == src.len()), "only the last is final");
        rest = &content[len..];
    }
    assert_eq!((at, rest.len()), (src.len(), 0));
    assert!(n_blocks >= 2);
}

#[test]
fn what_came_before_does_not_matter() {
    let first = image(1 << 16, 20.0);
    let second = image(1 << 17, 8.0);
    let mut quick = QuickDeflate::new();
    let mut again = Vec::new();
    let mut from_new = Vec::new();
    quick.encode(&first, &mut again).expect("there is memory");
    again.clear();
    quick.encode(&second, &mut again).expect("there is memory");
    QuickDeflate::new()
        .encode(&second, &mut from_new)
        .expect("there is memory");
    assert!(again == from_new);
}

/// RFC 1951, 3.2.5: rows of its tables.
#[test]
fn symbols_are_those_of_the_standard() {
    for (length, symbol) in [
        (3, 257),
        (10, 264),
        (11, 265),
        (12, 265),
        (13, 266),
        (227, 284),
        (257, 284),
        (258, 285),
    ] {
        assert_eq!(
            257 + u32::from(LENGTH_SYMBOL[length]),
            symbol,
            "length {length}"
        );
    }
    assert_eq!(
        (LENGTH_BASE[8], LENGTH_BASE[20], LENGTH_BASE[27]),
        (11, 67, 227)
    );
    for (distance, symbol, extra) in [
        (1, 0, 0),
        (4, 3, 0),
        (5, 4, 0),
        (6, 4, 1),
        (7, 5, 0),
        (9, 6, 0),
        (24_576, 28, 8191),
        (32_768, 29, 8191),
    ] {
        assert_eq!(
            distance_symbol(distance),
            (symbol, extra),
            "distance {distance}"
        );
    }
}

/// RFC 1951, 3.2.2: the lengths (3, 3, 3, 3, 3, 2, 4, 4) of the letters A to H have the codes 010,
/// 011, 100, 101, 110, 00, 1110 and 1111.
#[test]
fn codes_are_those_of_the_example() {
    let code = Code::new(&[10, 11, 12, 13, 14, 40, 4, 5], 15);
    assert_eq!(code.lens, [3, 3, 3, 3, 3, 2, 4, 4]);
    let written = |code: u16, n: u32| code.reverse_bits() >> (16 - n);
    let expected = [
        (0b010, 3),
        (0b011, 3),
        (0b100, 3),
        (0b101, 3),
        (0b110, 3),
        (0b00, 2),
        (0b1110, 4),
        (0b1111, 4),
    ];
    assert_eq!(code.bits, expected.map(|(code, n)| written(code, n)));
}

/// Bytes as in numeric data: some repeat, some are rare, some parts are copies.
fn content() -> impl Strategy<Value = Vec<u8>> {
    let part = (0u8..5, 1u32..9, 1usize..40_000, any::<u64>(), 1usize..5);
    prop::collection::vec(part, 1..8).prop_map(|parts| {
        let mut all = Vec::new();
        for (kind, bits, n, seed, unit) in parts {
            let mut random = random(seed);
            match kind {
                0 => all.extend((0..n).map(|_| random(bits) as u8)),
                1 => all.extend((0..n).map(|i| if i % unit == 0 { random(bits) as u8 } else { 0 })),
                2 => all.extend(std::iter::repeat_n(bits as u8, n)),
                3 => all.extend((0..n / 4).flat_map(|i| (i as u32 * bits).to_le_bytes())),
                _ => {
                    // Copies from any distance, also from just beyond the greatest allowed one.
                    for _ in 0..n / 64 {
                        let from = all.len().saturating_sub(random(16) as usize + 1);
                        let copy: Vec<u8> = all[from..]
                            .iter()
                            .take(random(8) as usize)
                            .copied()
                            .collect();
                        all.extend(copy);
                        all.push(random(8) as u8);
                    }
                }
            }
        }
        while all.len() < MIN_LEN {
            all.extend_from_within(..);
            all.push(all.len() as u8);
        }
        all
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn decoders_give_back_what_was_encoded(all in prop::collection::vec(content(), 1..3)) {
        let mut quick = QuickDeflate::new();
        for src in all {
            encoded(&mut quick, &src);
        }
    }
}
