//! Compares values of known length with values of unknown length: the same content, the same
//! refusals.

use std::io::Write;

use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use ndzarr_model::CodecConfig;
use proptest::prelude::*;

use super::{exact, grown};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Format {
    Gzip,
    Zlib,
}

/// Encodes with another encoder.
fn streamed(src: &[u8], level: i32, format: Format) -> Vec<u8> {
    let level = u32::try_from(level).map_or_else(|_| Compression::default(), Compression::new);
    let encoded = match format {
        Format::Gzip => {
            let mut encoder = GzEncoder::new(Vec::new(), level);
            encoder.write_all(src).and_then(|()| encoder.finish())
        }
        Format::Zlib => {
            let mut encoder = ZlibEncoder::new(Vec::new(), level);
            encoder.write_all(src).and_then(|()| encoder.finish())
        }
    };
    encoded.expect("it encodes")
}

fn config(format: Format, level: i32) -> CodecConfig {
    match format {
        Format::Gzip => CodecConfig::Gzip { level },
        Format::Zlib => CodecConfig::Zlib { level },
    }
}

/// A known length decodes in one pass, an unknown one in a stream. Only zlib rejects certain flaws
/// in code tables; one pass accepts such a stream with the right checksum, so its result is the
/// encoded content.
fn both_agree(format: Format, encoded: &[u8], len: usize, src: &[u8]) -> Result<(), TestCaseError> {
    let fast = exact(&config(format, 1), encoded, len).ok();
    let plain = grown(&config(format, 1), encoded, len)
        .ok()
        .filter(|content| content.len() == len);
    if plain.is_some() || fast.as_deref() != Some(src) {
        prop_assert_eq!(fast, plain);
    }
    Ok(())
}

/// Content that compresses, of lengths close to the step sizes.
fn content() -> impl Strategy<Value = Vec<u8>> {
    (prop::collection::vec(any::<u8>(), 1..300), 0usize..400).prop_map(|(unit, n)| unit.repeat(n))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn one_pass_and_stream_agree(
        src in content(),
        level in -1i32..10,
        format in prop::sample::select(vec![Format::Gzip, Format::Zlib]),
        after in prop::sample::select(vec![&b""[..], b"\0", b"\0\0\0\0\0\0\0\0\0", b"more"]),
        cut in 0usize..40,
        flip in prop::option::of((any::<prop::sample::Index>(), 0u8..8)),
        off in -1isize..2,
    ) {
        let mut encoded = streamed(&src, level, format);
        both_agree(format, &encoded, src.len(), &src)?;
        prop_assert_eq!(exact(&config(format, level), &encoded, src.len()).ok(), Some(src.clone()));
        both_agree(format, &encoded, src.len().saturating_add_signed(off), &src)?;
        both_agree(format, &encoded[..encoded.len() - cut.min(encoded.len())], src.len(), &src)?;
        if let Some((at, bit)) = flip {
            let mut flipped = encoded.clone();
            let at = at.index(flipped.len());
            flipped[at] ^= 1 << bit;
            both_agree(format, &flipped, src.len(), &src)?;
        }
        encoded.extend_from_slice(after);
        both_agree(format, &encoded, src.len(), &src)?;
    }

    #[test]
    fn what_one_pass_encodes_a_stream_decodes(
        src in content(),
        level in -1i32..10,
        format in prop::sample::select(vec![Format::Gzip, Format::Zlib]),
    ) {
        let encoded = super::encoded(&config(format, level), &src);
        prop_assert_eq!(grown(&config(format, level), &encoded, src.len()).ok(), Some(src));
    }

    #[test]
    fn several_members_are_one_value(a in content(), b in content()) {
        let whole = [&a[..], &b].concat();
        let encoded = [streamed(&a, 1, Format::Gzip), streamed(&b, 1, Format::Gzip)].concat();
        prop_assert_eq!(exact(&config(Format::Gzip, 1), &encoded, whole.len()).ok(), Some(whole));
    }
}
