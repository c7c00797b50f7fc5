//! Tests against libdeflate and zlib-rs, and with streams that are assembled here from symbols.

use libdeflater::{CompressionLvl, Compressor};
use proptest::prelude::*;

use super::{PAIRS_TO_SKIP, TwinInflate};
use crate::huffman;
use crate::noisy::{image, random};
use crate::symbols::{
    DISTANCE_BASE, END, FIRST_LENGTH, LENGTH_BASE, LENGTH_EXTRA, LENS_ORDER, N_DISTANCES,
    N_LITERALS, distance_extra,
};

/// The decoded content of both streams, and their lengths.
fn decoded(
    twins: &mut TwinInflate,
    src: [&[u8]; 2],
    len: [usize; 2],
) -> Option<([Vec<u8>; 2], [usize; 2])> {
    let mut out = len.map(|len| vec![0xa5; len]);
    let n_read = twins.decode(src, out.each_mut().map(|out| &mut out[..]))?;
    Some((out, n_read))
}

fn libdeflate(level: i32, src: &[u8]) -> Vec<u8> {
    let mut encoder = Compressor::new(CompressionLvl::new(level).expect("a level"));
    let mut out = vec![0; encoder.deflate_compress_bound(src.len())];
    let n = encoder
        .deflate_compress(src, &mut out)
        .expect("there is room");
    out.truncate(n);
    out
}

fn zlib_rs(level: u32, src: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::Compress::new(flate2::Compression::new(level), false);
    let mut out = Vec::with_capacity(src.len() + src.len() / 8 + 1024);
    let status = encoder
        .compress_vec(src, &mut out, flate2::FlushCompress::Finish)
        .expect("it encodes");
    assert_eq!(status, flate2::Status::StreamEnd);
    out
}

/// zlib-rs's decoding of a stream to this many bytes, and the length of the stream.
fn by_zlib_rs(src: &[u8], len: usize) -> Option<(Vec<u8>, usize)> {
    let mut decoder = flate2::Decompress::new(false);
    let mut out = vec![0; len];
    let status = decoder
        .decompress(src, &mut out, flate2::FlushDecompress::Finish)
        .ok()?;
    let is_right = status == flate2::Status::StreamEnd && decoder.total_out() == len as u64;
    is_right.then_some((out, decoder.total_in() as usize))
}

#[test]
fn images_of_all_encoders_and_levels() {
    let mut twins = TwinInflate::new();
    for noise in [3.0, 8.0, 40.0] {
        let src = [image(50_000, noise), image(70_000, noise)];
        let both = |encode: &dyn Fn(&[u8]) -> Vec<u8>| src.each_ref().map(|src| encode(src));
        let streams = (1..=12).map(|level| (level, both(&|src| libdeflate(level, src))));
        let streams =
            streams.chain((0..=9).map(|level| (-level, both(&|src| zlib_rs(level as u32, src)))));
        for (level, [a, b]) in streams {
            let lens = [src[0].len(), src[1].len()];
            let (out, n_read) = decoded(&mut twins, [&a, &b], lens).expect("it is done here");
            assert!(out == src, "noise {noise}, level {level}");
            assert_eq!(n_read, [a.len(), b.len()], "noise {noise}, level {level}");
        }
    }
}

#[test]
fn what_is_behind_the_streams_is_not_read() {
    let src = [image(40_000, 8.0), image(9_000, 8.0)];
    let streams = src.each_ref().map(|src| libdeflate(1, src));
    for n_after in [1, 4, 7, 8, 9, 100] {
        for after in [0, 0xff] {
            let longer = streams
                .each_ref()
                .map(|stream| [&stream[..], &vec![after; n_after]].concat());
            let found = decoded(
                &mut TwinInflate::new(),
                [&longer[0], &longer[1]],
                [src[0].len(), src[1].len()],
            );
            assert_eq!(
                found,
                Some((src.clone(), [streams[0].len(), streams[1].len()]))
            );
        }
    }
}

#[test]
fn another_length_is_not_right() {
    let src = image(20_000, 8.0);
    let stream = libdeflate(1, &src);
    let mut twins = TwinInflate::new();
    for len in [src.len() - 1, src.len() + 1, src.len() / 2, 0] {
        assert_eq!(
            decoded(&mut twins, [&stream, &stream], [src.len(), len]),
            None
        );
        assert_eq!(
            decoded(&mut twins, [&stream, &stream], [len, src.len()]),
            None
        );
    }
    assert!(decoded(&mut twins, [&stream, &stream], [src.len(); 2]).is_some());
}

/// RFC 1951, 3.2.4: the complement of the length.
#[test]
fn stored_blocks_say_their_length_twice() {
    let src = image(2_000, 8.0);
    let stream = zlib_rs(0, &src);
    assert!(decoded(&mut TwinInflate::new(), [&stream, &stream], [src.len(); 2]).is_some());
    for place in 1..5 {
        let mut broken = stream.clone();
        broken[place] ^= 1;
        assert_eq!(
            decoded(&mut TwinInflate::new(), [&stream, &broken], [src.len(); 2]),
            None
        );
    }
}

#[test]
fn what_repeats_is_given_up() {
    let src = [vec![0; 1 << 20], b"what repeats ".repeat(50_000)];
    let streams = src.each_ref().map(|src| libdeflate(6, src));
    assert_eq!(
        decoded(
            &mut TwinInflate::new(),
            [&streams[0], &streams[1]],
            [src[0].len(), src[1].len()]
        ),
        None
    );
}

/// Lengths with extra bits, which the table does not have. The next pairs are skipped, and then one
/// is tried again.
#[test]
fn long_matches_among_noise_are_given_up() {
    let mut bits = Bits::default();
    let mut out = Vec::new();
    let mut random = random(5);
    let token = |i: usize| match i % 60 {
        59 => Token::Match(12, 40),
        _ => Token::Literal(random(8) as u8),
    };
    let tokens: Vec<Token> = (0..50_000).map(token).collect();
    block(&mut bits, &tokens, None, true);
    expand(&mut out, &tokens);
    let stream = bits.bytes();
    let image = image(20_000, 8.0);
    let other = libdeflate(1, &image);
    let mut twins = TwinInflate::new();
    assert_eq!(
        decoded(&mut twins, [&other, &stream], [image.len(), out.len()]),
        None
    );
    for _ in 0..PAIRS_TO_SKIP {
        assert_eq!(
            decoded(&mut twins, [&other, &other], [image.len(); 2]),
            None
        );
    }
    assert!(decoded(&mut twins, [&other, &other], [image.len(); 2]).is_some());
}

#[test]
fn every_truncation_is_found() {
    let src = image(3_000, 8.0);
    for stream in [libdeflate(1, &src), zlib_rs(0, &src)] {
        let mut twins = TwinInflate::new();
        for n in 0..stream.len() {
            let found = decoded(&mut twins, [&stream, &stream[..n]], [src.len(); 2]);
            assert!(found.is_none(), "{n} of {} bytes", stream.len());
        }
    }
}

/// Packs bits, the lowest first.
#[derive(Default)]
struct Bits(Vec<bool>);

impl Bits {
    fn add(&mut self, value: usize, n: u32) {
        self.0.extend((0..n).map(|i| value >> i & 1 == 1));
    }

    /// A code, whose highest bit comes first.
    fn add_code(&mut self, (code, len): (u32, u8)) {
        self.0.extend((0..len).rev().map(|i| code >> i & 1 == 1));
    }

    fn bytes(&self) -> Vec<u8> {
        let byte = |bits: &[bool]| {
            bits.iter()
                .rev()
                .fold(0, |byte, &bit| byte << 1 | u8::from(bit))
        };
        self.0.chunks(8).map(byte).collect()
    }
}

/// The codes of RFC 1951, 3.2.2, by its steps.
fn codes(lens: &[u8]) -> Vec<(u32, u8)> {
    let count = |len: u8| lens.iter().filter(|&&l| l == len && l > 0).count() as u32;
    let mut next = [0; 16];
    for len in 1..16 {
        next[len] = (next[len - 1] + count(len as u8 - 1)) << 1;
    }
    let mut code = |&len: &u8| {
        let code = next[usize::from(len)];
        next[usize::from(len)] += u32::from(len > 0);
        (code, len)
    };
    lens.iter().map(&mut code).collect()
}

/// A literal, or a length and a distance.
#[derive(Clone, Copy, Debug)]
enum Token {
    Literal(u8),
    Match(usize, usize),
}

/// The symbol of a value, and its extra bits, from the tables of RFC 1951.
fn symbol(value: usize, base: &[u16]) -> (usize, usize) {
    // The largest length has a separate symbol.
    let symbol = base
        .iter()
        .rposition(|&base| usize::from(base) <= value)
        .expect("not below the least");
    (symbol, value - usize::from(base[symbol]))
}

/// One block, with codes for these lengths; with the fixed codes if `own` is `None`.
fn block(bits: &mut Bits, tokens: &[Token], own: Option<(&[u8], &[u8])>, last: bool) {
    bits.add(usize::from(last), 1);
    let fixed: Vec<u8> = (0..288)
        .map(|i| {
            [8, 9, 7, 8][[144, 256, 280, 288]
                .iter()
                .position(|&end| i < end)
                .expect("one")]
        })
        .collect();
    let (literals, distances) = own.unwrap_or((&fixed, &[5; 30]));
    match own {
        None => bits.add(1, 2),
        Some(_) => {
            bits.add(2, 2);
            bits.add(literals.len() - 257, 5);
            bits.add(distances.len() - 1, 5);
            bits.add(LENS_ORDER.len() - 4, 4);
            // Each length from 0 to 15 has a code of four bits.
            let own: Vec<u8> = (0..LENS_ORDER.len())
                .map(|symbol| if symbol < 16 { 4 } else { 0 })
                .collect();
            LENS_ORDER
                .iter()
                .for_each(|&symbol| bits.add(usize::from(own[symbol]), 3));
            let own = codes(&own);
            literals
                .iter()
                .chain(distances)
                .for_each(|&len| bits.add_code(own[usize::from(len)]));
        }
    }
    let literals = codes(literals);
    let distances = codes(distances);
    for &token in tokens {
        match token {
            Token::Literal(byte) => bits.add_code(literals[usize::from(byte)]),
            Token::Match(len, distance) => {
                let (length, extra) = symbol(len, &LENGTH_BASE);
                bits.add_code(literals[FIRST_LENGTH + length]);
                bits.add(extra, u32::from(LENGTH_EXTRA[length]));
                let (symbol, extra) = symbol(distance, &DISTANCE_BASE);
                bits.add_code(distances[symbol]);
                bits.add(extra, distance_extra(symbol));
            }
        }
    }
    bits.add_code(literals[END]);
}

fn expand(out: &mut Vec<u8>, tokens: &[Token]) {
    for &token in tokens {
        match token {
            Token::Literal(byte) => out.push(byte),
            Token::Match(len, distance) => {
                (0..len).for_each(|_| out.push(out[out.len() - distance]))
            }
        }
    }
}

/// Blocks with codes of any lengths, in which about one token in eight is a match, of any length
/// and distance.
fn any_stream(seed: u64, n_blocks: usize, n_tokens: usize) -> (Vec<u8>, Vec<u8>) {
    let mut random = random(seed);
    let mut bits = Bits::default();
    let mut out = Vec::new();
    for i in 0..n_blocks {
        let mut tokens = Vec::new();
        let mut n_out = out.len();
        for _ in 0..n_tokens {
            let is_match = n_out > 0 && random(3) == 0;
            let token = if is_match {
                // Mostly short and near ones.
                let len_bits = random(3) + 1;
                let distance_bits = random(4);
                let distance = random(distance_bits + 1) as usize % n_out.min(32_768) + 1;
                Token::Match((random(len_bits) as usize + 3).min(258), distance)
            } else {
                Token::Literal(random(8) as u8)
            };
            n_out += match token {
                Token::Literal(_) => 1,
                Token::Match(len, _) => len,
            };
            tokens.push(token);
        }
        // The claimed frequency of a symbol is unrelated to the real one.
        let steep = random(2) * 4 + 1;
        let limit = 9 + random(3) as usize % 7;
        let mut count = |_| 1 + (random(steep + 1) << random(4)) * u32::from(random(1) == 1);
        let literals = huffman::lengths::<N_LITERALS>(&std::array::from_fn(&mut count), limit);
        let distances = huffman::lengths::<N_DISTANCES>(&std::array::from_fn(&mut count), limit);
        let own = !(seed + i as u64).is_multiple_of(3);
        block(
            &mut bits,
            &tokens,
            own.then_some((&literals, &distances)),
            i + 1 == n_blocks,
        );
        expand(&mut out, &tokens);
    }
    (bits.bytes(), out)
}

#[test]
fn every_length_and_the_end_of_every_distance() {
    let mut bits = Bits::default();
    let mut out = Vec::new();
    let mut random = random(11);
    let literals: Vec<Token> = (0..40_000)
        .map(|_| Token::Literal(random(8) as u8))
        .collect();
    block(&mut bits, &literals, None, false);
    let lens = (3..=258).map(|len| Token::Match(len, 1 + len % 40));
    let ends = DISTANCE_BASE
        .iter()
        .enumerate()
        .flat_map(|(symbol, &base)| {
            let last = usize::from(base) + (1 << distance_extra(symbol)) - 1;
            [
                Token::Match(3, usize::from(base)),
                Token::Match(17, last),
                Token::Match(258, last),
            ]
        });
    let matches: Vec<Token> = lens.chain(ends).collect();
    let lens = huffman::lengths::<N_LITERALS>(&[1; N_LITERALS], 15);
    block(
        &mut bits,
        &matches,
        Some((
            &lens,
            &huffman::lengths::<N_DISTANCES>(&[1; N_DISTANCES], 15),
        )),
        true,
    );
    expand(&mut out, &literals);
    expand(&mut out, &matches);
    let stream = bits.bytes();
    assert_eq!(
        by_zlib_rs(&stream, out.len()),
        Some((out.clone(), stream.len()))
    );
    let found = decoded(&mut TwinInflate::new(), [&stream, &stream], [out.len(); 2]);
    assert_eq!(found, Some(([out.clone(), out], [stream.len(); 2])));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn streams_of_any_codes(
        seeds in prop::array::uniform2(any::<u32>()),
        n_blocks in prop::array::uniform2(1usize..5),
        n_tokens in prop::array::uniform2(1usize..70),
    ) {
        let streams = [0, 1].map(|i| any_stream(u64::from(seeds[i]), n_blocks[i], n_tokens[i]));
        let lens = streams.each_ref().map(|(_, out)| out.len());
        for (stream, out) in &streams {
            prop_assert_eq!(by_zlib_rs(stream, out.len()), Some((out.clone(), stream.len())));
        }
        let found = decoded(&mut TwinInflate::new(), [&streams[0].0, &streams[1].0], lens);
        let repeats = streams.iter().any(|(stream, out)| stream.len() < out.len() / 3);
        prop_assert_eq!(found.is_none(), repeats);
        if let Some((out, n_read)) = found {
            for i in 0..2 {
                prop_assert!(out[i] == streams[i].1);
                prop_assert_eq!(n_read[i], streams[i].0.len());
            }
        }
    }

    /// A damaged stream that is accepted is valid: zlib-rs gives the same result.
    #[test]
    fn damage(
        seed in any::<u32>(),
        of_image in any::<bool>(),
        flips in prop::collection::vec((any::<prop::sample::Index>(), 0u32..8), 1..4),
        lane in 0usize..2,
    ) {
        let (mut stream, out) = if of_image {
            let src = image(2_000 + seed as usize % 2_000, 8.0);
            (libdeflate(1 + (seed % 9) as i32, &src), src)
        } else {
            any_stream(u64::from(seed), 3, 100)
        };
        let whole = stream.clone();
        for (place, bit) in flips {
            let place = place.index(stream.len());
            stream[place] ^= 1 << bit;
        }
        let mut src = [&whole[..]; 2];
        src[lane] = &stream;
        if let Some((found, n_read)) = decoded(&mut TwinInflate::new(), src, [out.len(); 2]) {
            prop_assert!(found[1 - lane] == out);
            prop_assert_eq!(n_read[1 - lane], whole.len());
            prop_assert_eq!(by_zlib_rs(&stream, out.len()), Some((found[lane].clone(), n_read[lane])));
        }
    }
}
