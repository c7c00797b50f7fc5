//! Tests zfp with streams that zfpy 1.0.1 wrote, and with broken ones.

use ndzarr_model::{CodecSpec, FillValue, ZfpMode};

use super::*;
use crate::{CodecChain, CodecRegistry, Elements};

const F32: DataType = DataType::Float { bits: 32 };

fn bind(
    codecs: impl IntoIterator<Item = CodecConfig>,
    data_type: &DataType,
    ndim: usize,
) -> CodecChain {
    let specs: Vec<CodecSpec> = codecs.into_iter().map(CodecSpec::from).collect();
    let fill = FillValue::zero(data_type);
    CodecChain::bind(&specs, data_type, &fill, ndim, &CodecRegistry::new()).expect("it binds")
}

fn decode(chain: &CodecChain, value: &[u8], shape: &[u64]) -> Result<Vec<u8>, CodecError> {
    let mut out = Vec::new();
    chain.decode(value, shape, &mut Workspace::new(), |elements, _| {
        let Elements::Fixed { bytes, .. } = elements else {
            panic!("elements of fixed size")
        };
        out = bytes.to_vec();
        Ok::<_, CodecError>(())
    })?;
    Ok(out)
}

fn encode(chain: &CodecChain, elements: &[u8], shape: &[u64]) -> Vec<u8> {
    let mut out = Vec::new();
    chain
        .encode(elements, shape, &mut Workspace::new(), &mut out)
        .expect("it encodes");
    out
}

fn ramp() -> Vec<u8> {
    (0..6).flat_map(|i| (i as f32).to_ne_bytes()).collect()
}

fn check_damage(chain: &CodecChain, value: &[u8], shape: &[u64]) {
    for len in 0..value.len() - 7 {
        assert!(
            decode(chain, &value[..len], shape).is_err_and(|error| error.is_corrupt()),
            "{len}"
        );
    }
    for bit in 0..8 * value.len() {
        let mut flipped = value.to_vec();
        flipped[bit / 8] ^= 1 << (bit % 8);
        let _ = decode(chain, &flipped, shape);
    }
}

#[test]
fn zfpy_decodes_by_its_header_v2_t52() {
    // np.arange(6, dtype="<f4").reshape(2, 3), reversible; the configuration says otherwise.
    let value = hex("7a6670052600001000000088091289994432090000000000");
    let configured = CodecConfig::Zfpy(ZfpMode::FixedRate { rate: 8.0 });
    let bytes = || CodecConfig::Bytes {
        endian: Some(Endian::Little),
    };
    let chain = bind([bytes(), configured], &F32, 2);
    assert_eq!(decode(&chain, &value, &[2, 3]).ok(), Some(ramp()));
    decode(&chain, &value, &[2, 4]).expect_err("8 elements");
    check_damage(&chain, &value, &[2, 3]);
    // The written stream contains the array's shape.
    let chain = bind([bytes(), CodecConfig::Zfpy(ZfpMode::Reversible)], &F32, 2);
    assert_eq!(encode(&chain, &ramp(), &[2, 3]), value);
    // np.arange(5, dtype="<i4"), precision=32: with another compressor after it, and as a filter of
    // bytes.
    let value = hex("7a667005400000000000f081000000400d0000000c000000");
    let five: Vec<u8> = (0..5i32).flat_map(i32::to_ne_bytes).collect();
    let precision = || CodecConfig::Zfpy(ZfpMode::FixedPrecision { precision: 32 });
    let i32 = DataType::Int { bits: 32 };
    let chain = bind([bytes(), precision(), CRC32C], &i32, 1);
    let checked = encode(
        &bind([bytes(), CRC32C], &DataType::UInt { bits: 8 }, 1),
        &value,
        &[value.len() as u64],
    );
    // zfpy decodes it so: there are no guard bits left.
    let back: Vec<u8> = [-1i32, 1, 1, 3, 4]
        .into_iter()
        .flat_map(i32::to_ne_bytes)
        .collect();
    assert_eq!(decode(&chain, &checked, &[5]).ok(), Some(back.clone()));
    assert_eq!(encode(&chain, &five, &[5]), checked);
    assert_eq!(exact(&precision(), &value, 20).ok(), Some(back.clone()));
    assert_eq!(grown(&precision(), &value, 20).ok(), Some(back.clone()));
    grown(&precision(), &value, 19).expect_err("20 bytes");
}

#[test]
fn zfp_has_no_header() {
    // The same, rate=16, write_header=False.
    let value = hex("05711c9c428a0020010000000000000000000000000000000000000000000000");
    let chain = bind(
        [CodecConfig::Zfp(ZfpMode::FixedRate { rate: 16.0 })],
        &F32,
        2,
    );
    assert_eq!(encode(&chain, &ramp(), &[2, 3]), value);
    assert_eq!(decode(&chain, &value, &[2, 3]).ok(), Some(ramp()));
    check_damage(&chain, &value, &[2, 3]);
    // A scalar counts as one dimension; 5 are too many.
    let chain = bind([CodecConfig::Zfp(ZfpMode::Reversible)], &F32, 0);
    let value = encode(&chain, &1.5f32.to_ne_bytes(), &[]);
    assert_eq!(
        decode(&chain, &value, &[]).ok(),
        Some(1.5f32.to_ne_bytes().to_vec())
    );
    bind([CodecConfig::Zfp(ZfpMode::Reversible)], &F32, 5)
        .check(&[1; 5])
        .expect_err("5 dimensions");
}

#[test]
fn a_header_that_lies_takes_no_memory() {
    // 2^40 elements in a stream of a few bytes.
    let mut value = hex("7a6670052600001000000088091289994432090000000000");
    value[4..10].fill(0xff);
    let config = CodecConfig::Zfpy(ZfpMode::Reversible);
    grown(&config, &value, 1 << 20).expect_err("far more than there is place for");
    // 2^25 elements, 128 MiB, which would fit: 2^24 by 2.
    let mut value = hex("7a6670052600001000000088091289994432090000000000");
    value[4..8].copy_from_slice(&[0xf6, 0xff, 0xff, 0x1f]);
    let mut buf = Vec::new();
    let grow = Dst::Grow {
        buf: &mut buf,
        max: 1 << 30,
    };
    codec(&config)
        .decode(&value, grow, &mut Workspace::new())
        .expect_err("24 bytes cannot hold them");
    assert_eq!(buf.capacity(), 0);
}
