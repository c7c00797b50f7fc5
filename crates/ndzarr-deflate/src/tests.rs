//! Compares one pass with steps: the same content, the same refusals.

use std::convert::Infallible;

use proptest::prelude::*;

use crate::{Container, DeflateError, Deflater, InflateError, Inflater, Output};

/// Memory that grows up to a limit.
struct Grow {
    bytes: Vec<u8>,
    room: [u8; 1000],
}

impl Output for Grow {
    type Error = Infallible;

    fn room(&mut self) -> Result<&mut [u8], Infallible> {
        Ok(&mut self.room)
    }

    fn advance(&mut self, n: usize) -> Result<(), Infallible> {
        self.bytes.extend_from_slice(&self.room[..n]);
        Ok(())
    }
}

fn in_steps(encoded: &[u8], container: Container) -> Result<Vec<u8>, InflateError<Infallible>> {
    let mut out = Grow {
        bytes: Vec::new(),
        room: [0; 1000],
    };
    Inflater::new().stream(encoded, container, &mut out)?;
    Ok(out.bytes)
}

#[cfg(feature = "libdeflate")]
fn in_one_pass(encoded: &[u8], container: Container, len: usize) -> Option<Vec<u8>> {
    const GUARD: usize = 32;
    let mut memory = vec![0xa5; len + 2 * GUARD];
    let filled = Inflater::new().fill(encoded, container, &mut memory[GUARD..GUARD + len]);
    assert!(
        memory[..GUARD]
            .iter()
            .chain(&memory[GUARD + len..])
            .all(|&byte| byte == 0xa5)
    );
    filled.then(|| memory[GUARD..GUARD + len].to_vec())
}

fn encoded_in_steps(src: &[u8], level: i32, container: Container) -> Vec<u8> {
    let mut out = Vec::new();
    Deflater::new()
        .append_in_steps(src, level, container, &mut out)
        .expect("it encodes");
    out
}

/// Only zlib rejects certain flaws in code tables. If one pass accepts such a stream, Adler-32
/// shows that the content is right; a bare stream has no checksum.
#[cfg(feature = "libdeflate")]
fn both_agree(
    container: Container,
    encoded: &[u8],
    len: usize,
    src: &[u8],
) -> Result<(), TestCaseError> {
    let fast = in_one_pass(encoded, container, len);
    let plain = in_steps(encoded, container)
        .ok()
        .filter(|content| content.len() == len);
    if plain.is_some() || (container == Container::Zlib && fast.as_deref() != Some(src)) {
        prop_assert_eq!(fast, plain);
    }
    Ok(())
}

/// Content that compresses, of lengths close to the step sizes.
fn content() -> impl Strategy<Value = Vec<u8>> {
    (prop::collection::vec(any::<u8>(), 1..300), 0usize..400).prop_map(|(unit, n)| unit.repeat(n))
}

fn container() -> impl Strategy<Value = Container> {
    prop::sample::select(vec![Container::Raw, Container::Zlib])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[cfg(feature = "libdeflate")]
    #[test]
    fn one_pass_and_steps_decode_the_same(
        src in content(),
        level in -1i32..10,
        container in container(),
        cut in 0usize..40,
        flip in prop::option::of((any::<prop::sample::Index>(), 0u8..8)),
        off in -1isize..2,
    ) {
        let mut encoded = encoded_in_steps(&src, level, container);
        prop_assert_eq!(in_one_pass(&encoded, container, src.len()), Some(src.clone()));
        both_agree(container, &encoded, src.len(), &src)?;
        both_agree(container, &encoded, src.len().saturating_add_signed(off), &src)?;
        both_agree(container, &encoded[..encoded.len() - cut.min(encoded.len())], src.len(), &src)?;
        if let Some((at, bit)) = flip {
            let mut flipped = encoded.clone();
            let at = at.index(flipped.len());
            flipped[at] ^= 1 << bit;
            both_agree(container, &flipped, src.len(), &src)?;
        }
        encoded.extend_from_slice(b"more");
        both_agree(container, &encoded, src.len(), &src)?;
    }

    #[test]
    fn what_is_encoded_is_decoded_in_steps(src in content(), level in -1i32..10, container in container()) {
        let mut encoded = b"before".to_vec();
        Deflater::new().append(&src, level, container, &mut encoded).expect("it encodes");
        prop_assert_eq!(&encoded[..6], b"before");
        prop_assert_eq!(in_steps(&encoded[6..], container).ok(), Some(src));
    }
}

#[test]
fn levels_are_those_of_zlib() {
    let mut deflater = Deflater::new();
    for level in [-2, 10, 12, i32::MAX] {
        for container in [Container::Raw, Container::Zlib] {
            let found = deflater.append(b"abc", level, container, &mut Vec::new());
            assert_eq!(found, Err(DeflateError::Level(level)));
            assert_eq!(
                deflater.append_in_steps(b"abc", level, container, &mut Vec::new()),
                Err(DeflateError::Level(level))
            );
        }
    }
}

/// zlib itself encodes "abc" as 78 9c 4b 4c 4a 06 00 02 4d 01 27 (RFC 1950, Python's
/// `zlib.compress(b"abc")`).
#[test]
fn a_stream_says_where_it_ends_and_whether_it_is_whole() {
    let abc = [
        0x78, 0x9c, 0x4b, 0x4c, 0x4a, 0x06, 0x00, 0x02, 0x4d, 0x01, 0x27,
    ];
    let mut out = Grow {
        bytes: Vec::new(),
        room: [0; 1000],
    };
    let behind = [&abc[..], b"behind"].concat();
    let n = Inflater::new()
        .stream(&behind, Container::Zlib, &mut out)
        .expect("it is whole");
    assert_eq!((n, &out.bytes[..]), (abc.len(), &b"abc"[..]));
    assert!(matches!(
        in_steps(&abc[..9], Container::Zlib),
        Err(InflateError::Truncated)
    ));
    let mut wrong = abc;
    wrong[10] ^= 1;
    assert!(matches!(
        in_steps(&wrong, Container::Zlib),
        Err(InflateError::Corrupt(_))
    ));
    assert_eq!(
        crate::crc32(b"123456789"),
        0xcbf4_3926,
        "the check value of CRC-32"
    );
}
