//! c-blosc is the oracle: its chunks must decode to what it decodes them to.

use proptest::prelude::*;

use super::*;
use crate::compress::compress_by_c_blosc;
use crate::{Chunk, Compress, Compressor, compress};

const COMPRESSORS: [Compressor; 6] = [
    Compressor::BloscLz,
    Compressor::Lz4,
    Compressor::Lz4hc,
    Compressor::Snappy,
    Compressor::Zlib,
    Compressor::Zstd,
];
const SHUFFLES: [Shuffle; 3] = [Shuffle::None, Shuffle::Byte, Shuffle::Bit];

fn encoded(src: &[u8], parameters: &Compress) -> Vec<u8> {
    let mut chunk = Vec::new();
    match parameters.compressor {
        Compressor::Snappy => compress(src, parameters, &mut chunk),
        _ => compress_by_c_blosc(src, parameters, &mut chunk),
    }
    .expect("it encodes");
    chunk
}

/// Decodes without c-blosc, whatever the format. `None` for a stored chunk.
fn decoded(chunk: &[u8], header: &Header) -> Option<Result<Vec<u8>, Error>> {
    let mut out = vec![0xa5; header.nbytes()];
    let result = decompress(chunk, header, 0, &mut out);
    (!header.is_stored()).then(|| result.map(|()| out))
}

/// Numbers that grow by little, with some noise.
fn content(len: usize) -> Vec<u8> {
    let mut state = 7u32;
    let number = |at: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (at as u32 / 16).wrapping_add(state >> 31)
    };
    let mut bytes: Vec<u8> = (0..len.div_ceil(4))
        .map(number)
        .flat_map(u32::to_le_bytes)
        .collect();
    bytes.truncate(len);
    bytes
}

#[test]
fn every_format_and_order_is_decoded() {
    let mut n_stored = 0;
    for compressor in COMPRESSORS {
        for shuffle in SHUFFLES {
            for typesize in [1, 2, 3, 4, 8, 15, 16, 17, 255] {
                for (len, blocksize) in [(40_000, 0), (40_001, 4096), (70_003, 1000), (300, 0)] {
                    let parameters = Compress {
                        compressor,
                        level: 5,
                        shuffle,
                        typesize,
                        blocksize,
                    };
                    let src = content(len);
                    let chunk = encoded(&src, &parameters);
                    let header = Header::parse(&chunk).expect("a header");
                    let Some(out) = decoded(&chunk, &header) else {
                        n_stored += 1;
                        continue;
                    };
                    assert!(
                        out.expect("it decodes") == src,
                        "{len} bytes, {parameters:?}"
                    );
                }
            }
        }
    }
    // The chunks that an encoder did not make smaller.
    assert!(n_stored < 40, "{n_stored}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Both decode the same; a damaged chunk that both decode has no checksum that could tell.
    #[test]
    fn damage_is_an_error_and_no_panic(
        compressor in prop::sample::select(&COMPRESSORS[..]),
        shuffle in prop::sample::select(&SHUFFLES[..]),
        typesize in 1usize..20,
        len in 128usize..6000,
        at in any::<prop::sample::Index>(),
        bit in 0u8..8,
    ) {
        let src = content(len);
        let mut chunk = encoded(&src, &Compress { compressor, level: 5, shuffle, typesize, blocksize: 0 });
        let at = at.index(chunk.len());
        chunk[at] ^= 1 << bit;
        if let Ok(checked) = Chunk::parse(&chunk) {
            prop_assume!(checked.nbytes() < 1 << 20);
            let header = Header::parse(&chunk).expect("it was read before");
            let mut theirs = vec![0; checked.nbytes()];
            let theirs = checked.decompress(&mut theirs).map(|()| theirs);
            if let (Some(Ok(ours)), Ok(theirs)) = (decoded(&chunk, &header), theirs) {
                prop_assert_eq!(ours, theirs);
            }
        }
    }
}
