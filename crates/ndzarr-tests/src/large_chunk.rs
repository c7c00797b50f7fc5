//! Large chunks, whose content is described by a few bytes: encoders use other paths for them than
//! for small ones.

use arbitrary::{Result, Unstructured};
use ndzarr::CodecRegistry;
use ndzarr::Endian;
use ndzarr::codec::{BloscCname, BloscShuffle, CodecConfig, CodecSpec};
use ndzarr::codec::{CodecError, Workspace};
use ndzarr::{DataType, FillValue};
use ndzarr_codec::CodecChain;
use ndzarr_codec::Elements;
use ndzarr_model::BloscConfig;

/// Memory limit for an input: chunks have up to 4 MiB.
pub const MAX_BYTES: usize = 64 << 20;

const MAX_LEN: usize = 4 << 20;

/// Runs an input.
pub fn check(data: &[u8]) {
    let mut choices = Unstructured::new(data);
    // An input that is too short describes no chunk.
    let _ = run(&mut choices);
}

fn run(choices: &mut Unstructured<'_>) -> Result<()> {
    let size = *choices.choose(&[1_u8, 2, 4, 8])?;
    let data_type = DataType::UInt { bits: 8 * size };
    let codec = codec(choices)?;
    let mut content = content(choices)?;
    content.truncate(content.len() / usize::from(size) * usize::from(size));
    let n = (content.len() / usize::from(size)) as u64;
    let specs = [
        CodecConfig::Bytes {
            endian: Some(Endian::Little),
        },
        codec,
    ]
    .map(CodecSpec::from);
    let fill = FillValue::zero(&data_type);
    let chain = CodecChain::bind(&specs, &data_type, &fill, 1, &CodecRegistry::new())
        .expect("the chain is valid");
    let mut workspace = Workspace::new();
    let mut encoded = Vec::new();
    chain
        .encode(&content, &[n], &mut workspace, &mut encoded)
        .expect("the chain encodes any numbers");
    chain
        .decode(&encoded, &[n], &mut workspace, |elements, layout| {
            let Elements::Fixed { bytes, .. } = elements else {
                panic!("integers have a fixed size")
            };
            let mut decoded = bytes.to_vec();
            layout.swap.apply(&mut decoded);
            assert!(decoded == content, "what was encoded is decoded");
            Ok::<_, CodecError>(())
        })
        .expect("what was encoded is decoded");
    // Earlier use of a workspace has no effect.
    let mut again = Vec::new();
    chain
        .encode(&content, &[n], &mut Workspace::new(), &mut again)
        .expect("the chain encodes any numbers");
    assert!(again == encoded, "the same content is encoded alike");
    Ok(())
}

fn codec(choices: &mut Unstructured<'_>) -> Result<CodecConfig> {
    Ok(match choices.int_in_range(0..=4)? {
        0 => CodecConfig::Gzip { level: 1 },
        1 => CodecConfig::Zlib { level: 1 },
        2 => CodecConfig::Zstd {
            level: 1,
            checksum: choices.arbitrary()?,
        },
        _ => CodecConfig::Blosc(BloscConfig {
            cname: *choices.choose(&[BloscCname::Lz4, BloscCname::Snappy, BloscCname::Zstd])?,
            clevel: choices.int_in_range(0..=9)?,
            shuffle: *choices.choose(&[
                BloscShuffle::None,
                BloscShuffle::Byte,
                BloscShuffle::Bit,
            ])?,
            typesize: None,
            blocksize: if choices.ratio(1, 4)? {
                choices.int_in_range(1..=1 << 20)?
            } else {
                0
            },
        }),
    })
}

/// Parts of noise, counters, constants, and copies of what came before.
pub(crate) fn content(choices: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let mut all = Vec::new();
    for _ in 0..choices.int_in_range(1..=8)? {
        let len = 1 << choices.int_in_range(0..=21)?;
        let len = (len + choices.int_in_range(0..=len)?).min(MAX_LEN - all.len());
        let mut random = random(choices.arbitrary()?);
        let bits = choices.int_in_range(1..=8)?;
        let unit = choices.int_in_range(1..=9)?;
        match choices.int_in_range(0..=4)? {
            0 => all.extend((0..len).map(|_| random(bits))),
            1 => all.extend((0..len).map(|i| {
                if i % unit == 0 {
                    random(bits)
                } else {
                    unit as u8
                }
            })),
            2 => all.resize(all.len() + len, bits as u8),
            3 => all.extend((0..len / 4).flat_map(|i| (i as u32 * bits).to_le_bytes())),
            _ => {
                let end = all.len() + len;
                while all.len() < end {
                    let back = usize::from(random(8)) << random(4) | 1;
                    let from = all.len().saturating_sub(back);
                    let to = (from + usize::from(random(bits))).min(all.len());
                    all.extend_from_within(from..to);
                    all.push(random(8));
                }
                all.truncate(end);
            }
        }
    }
    Ok(all)
}

/// Changes, adds or cuts off bytes of a value, at most three times.
pub(crate) fn damage(value: &mut Vec<u8>, choices: &mut Unstructured<'_>) -> Result<()> {
    for _ in 0..choices.int_in_range(0..=3)? {
        let place: usize = choices.arbitrary()?;
        let byte: u8 = choices.arbitrary()?;
        match choices.int_in_range(0..=3)? {
            0 => value.truncate(place % (value.len() + 1)),
            1 => value.push(byte),
            _ if value.is_empty() => {}
            _ => {
                let place = place % value.len();
                value[place] ^= byte;
            }
        }
    }
    Ok(())
}

/// Random-looking numbers of a given number of bits, by Lehmer's generator.
fn random(mut state: u64) -> impl FnMut(u32) -> u8 {
    move |bits| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> (64 - bits)) as u8
    }
}
