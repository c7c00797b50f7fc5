//! Tests codecs of arrays.

use ndzarr_model::{
    CastValueConfig, CodecSpec, ComplexPart, FillValue, OutOfRange, PackbitsConfig,
    PaddingEncoding, ReshapeDim, Rounding, ScaleOffsetConfig, SmallFloat, TimeUnit,
};

use super::*;
use crate::{CodecChain, CodecRegistry, Elements};

pub(super) const F64: DataType = DataType::Float { bits: 64 };
const U8: DataType = DataType::UInt { bits: 8 };
const U16: DataType = DataType::UInt { bits: 16 };

pub(super) fn little() -> CodecConfig {
    CodecConfig::Bytes {
        endian: Some(Endian::Little),
    }
}

pub(super) fn bind(
    codecs: impl IntoIterator<Item = CodecConfig>,
    data_type: &DataType,
    fill: &[u8],
    ndim: usize,
) -> Result<CodecChain, CodecError> {
    let specs: Vec<CodecSpec> = codecs.into_iter().map(CodecSpec::from).collect();
    CodecChain::bind(
        &specs,
        data_type,
        &FillValue::defined(fill),
        ndim,
        &CodecRegistry::new(),
    )
}

/// A chain for elements in one dimension, with fill 0.
pub(super) fn line(codec: CodecConfig, data_type: &DataType) -> Result<CodecChain, CodecError> {
    let mut codecs = vec![codec];
    if !matches!(codecs[0], CodecConfig::Packbits(_)) {
        codecs.push(little());
    }
    let fill = vec![0; data_type.elem_size().expect("of fixed size")];
    bind(codecs, data_type, &fill, 1)
}

pub(super) fn encode(
    chain: &CodecChain,
    elements: &[u8],
    shape: &[u64],
) -> Result<Vec<u8>, CodecError> {
    let mut out = Vec::new();
    chain
        .encode(elements, shape, &mut Workspace::new(), &mut out)
        .map(|()| out)
}

/// The elements in C order and native byte order.
fn decode(chain: &CodecChain, value: &[u8], shape: &[u64]) -> Result<Vec<u8>, CodecError> {
    let mut out = Vec::new();
    chain.decode(value, shape, &mut Workspace::new(), |elements, layout| {
        let Elements::Fixed { bytes, .. } = elements else {
            panic!("elements of fixed size")
        };
        assert_eq!(layout.strides, crate::c_strides(&layout.extent));
        out = bytes.to_vec();
        layout.swap.apply(&mut out);
        Ok::<_, CodecError>(())
    })?;
    Ok(out)
}

fn native<const N: usize, T>(values: &[T], to: impl Fn(&T) -> [u8; N]) -> Vec<u8> {
    values.iter().flat_map(to).collect()
}

pub(super) fn f64s(values: &[f64]) -> Vec<u8> {
    native(values, |x| x.to_ne_bytes())
}

pub(super) fn cast(
    data_type: DataType,
    rounding: Rounding,
    out_of_range: Option<OutOfRange>,
) -> CodecConfig {
    CodecConfig::CastValue(Box::new(CastValueConfig {
        data_type,
        rounding,
        out_of_range,
        encode_map: vec![],
        decode_map: vec![],
    }))
}

fn scale_offset(offset: Option<Vec<u8>>, scale: Option<Vec<u8>>) -> CodecConfig {
    CodecConfig::ScaleOffset(ScaleOffsetConfig { offset, scale })
}

#[test]
fn scale_offset_and_cast_value_v3_t36() {
    let bits = |x: f64| x.to_ne_bytes().to_vec();
    let CodecConfig::CastValue(mut config) = cast(U8, Rounding::default(), None) else {
        panic!("a cast")
    };
    config.encode_map = vec![(bits(f64::NAN), vec![0])];
    config.decode_map = vec![(vec![0], bits(f64::NAN))];
    let chain = [
        scale_offset(Some(bits(-10.0)), Some(bits(0.1))),
        CodecConfig::CastValue(config),
        little(),
    ];
    let chain = bind(chain, &F64, &bits(f64::NAN), 1).expect("it binds");
    chain.check(&[4]).expect("it fits");
    let value = encode(&chain, &f64s(&[0.0, 2540.0, f64::NAN, 95.0]), &[4]).expect("it encodes");
    assert_eq!(value, hex("01ff000a"));
    let decoded = decode(&chain, &value, &[4]).expect("it decodes");
    let decoded: Vec<f64> = decoded
        .as_chunks()
        .0
        .iter()
        .map(|&bytes| f64::from_ne_bytes(bytes))
        .collect();
    assert_eq!((decoded[0], decoded[1], decoded[3]), (0.0, 2540.0, 90.0));
    assert!(decoded[2].is_nan());
}

#[test]
fn scale_offset_v3_t37_v3_t38() {
    let u16 = |n: u16| Some(n.to_ne_bytes().to_vec());
    let chain = |fill: u16| {
        let codecs = [
            scale_offset(u16(1000), None),
            cast(U8, Rounding::default(), None),
            little(),
        ];
        bind(codecs, &U16, &fill.to_ne_bytes(), 1)
    };
    let error = chain(0).expect_err("0 - 1000 is no uint16");
    assert!(error.to_string().contains("fill value"), "{error}");
    let chain = chain(1000).expect("it binds");
    encode(&chain, &999u16.to_ne_bytes(), &[1]).expect_err("999 - 1000 is no uint16");
    encode(&chain, &1256u16.to_ne_bytes(), &[1]).expect_err("256 is no uint8");
    assert_eq!(
        encode(&chain, &1255u16.to_ne_bytes(), &[1]).ok(),
        Some(vec![255])
    );
    // V3-T38
    let i16 = DataType::Int { bits: 16 };
    let scaled = line(scale_offset(None, u16(3)), &i16).expect("it binds");
    assert_eq!(
        decode(&scaled, &hex("0600"), &[1]).ok(),
        Some(2i16.to_ne_bytes().to_vec())
    );
    assert!(
        decode(&scaled, &hex("0100"), &[1])
            .expect_err("1 is not divided by 3")
            .is_corrupt()
    );
    let identity = line(scale_offset(None, None), &i16).expect("it binds");
    assert_eq!(
        encode(&identity, &7i16.to_ne_bytes(), &[1]).ok(),
        Some(hex("0700"))
    );
    line(scale_offset(None, u16(0)), &i16).expect_err("a scale of 0");
    // Floats: overflow is an error, in the type of the elements.
    let f32 = DataType::Float { bits: 32 };
    let scaled =
        line(scale_offset(None, Some(10f32.to_ne_bytes().to_vec())), &f32).expect("it binds");
    encode(&scaled, &3.4e38f32.to_ne_bytes(), &[1]).expect_err("beyond float32");
    encode(&scaled, &f32::INFINITY.to_ne_bytes(), &[1]).expect("it was infinite before");
}

#[test]
fn reshape_v3_t58() {
    let dims = |dims: &[usize]| ReshapeDim::InputDims(dims.to_vec());
    let chain = |shape: Vec<ReshapeDim>, ndim| {
        bind([CodecConfig::Reshape { shape }, little()], &U8, &[0], ndim)
    };
    chain(vec![dims(&[1]), dims(&[0])], 2).expect_err("dimensions go up");
    chain(vec![ReshapeDim::Rest, ReshapeDim::Rest], 2).expect_err("-1 twice");
    chain(vec![dims(&[2])], 2).expect_err("no dimension 2");
    let bound = chain(vec![ReshapeDim::Length(5)], 1).expect("it binds");
    bound.check(&[6]).expect_err("another product");
    bound.check(&[5]).expect("the same product");
    // [[0,1],-1] on [2,3,4] is [6,4]; then it is transposed.
    let elements: Vec<u8> = (0..24).collect();
    let shape = vec![dims(&[0, 1]), ReshapeDim::Rest];
    let codecs = [
        CodecConfig::Reshape { shape },
        CodecConfig::Transpose { order: vec![1, 0] },
        little(),
    ];
    let bound = bind(codecs, &U8, &[0], 3).expect("it binds");
    let value = encode(&bound, &elements, &[2, 3, 4]).expect("it encodes");
    let expected: Vec<u8> = (0..4)
        .flat_map(|column| (0..6).map(move |row| row * 4 + column))
        .collect();
    assert_eq!(value, expected);
    assert_eq!(decode(&bound, &value, &[2, 3, 4]).ok(), Some(elements));
    // [100,50,64,3] with [[0,1],[2],3]
    let bound = chain(vec![dims(&[0, 1]), dims(&[2]), ReshapeDim::Length(3)], 4).expect("it binds");
    bound.check(&[100, 50, 64, 3]).expect("[5000,64,3]");
    // [1] of [2,3,4] does not lie between dimensions of the same product if the first has length 4.
    chain(
        vec![ReshapeDim::Length(4), dims(&[1]), ReshapeDim::Length(2)],
        3,
    )
    .expect("it binds")
    .check(&[2, 3, 4])
    .expect_err("3 is elsewhere");
}

fn packed(padding: PaddingEncoding, first_bit: Option<u32>, last_bit: Option<u32>) -> CodecConfig {
    CodecConfig::Packbits(PackbitsConfig {
        padding,
        first_bit,
        last_bit,
    })
}

#[test]
fn packbits_v3_t29_v3_t31() {
    let none = packed(PaddingEncoding::None, None, None);
    let check = |config: &CodecConfig, data_type: &DataType, elements: &[u8], value: &str| {
        let chain = line(config.clone(), data_type).expect("it binds");
        let n = (elements.len() / data_type.elem_size().expect("of fixed size")) as u64;
        let value = hex(value);
        assert_eq!(
            encode(&chain, elements, &[n]).ok(),
            Some(value.clone()),
            "{config:?}"
        );
        assert_eq!(
            decode(&chain, &value, &[n]).ok(),
            Some(elements.to_vec()),
            "{config:?}"
        );
        assert_eq!(chain.encoded_len(&[n]), Some(value.len()));
        for len in 0..value.len() {
            decode(&chain, &value[..len], &[n]).expect_err("it is cut off");
        }
        decode(&chain, &[&value[..], &[0]].concat(), &[n]).expect_err("it is longer");
        for bit in 0..8 * value.len() {
            let mut flipped = value.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let _ = decode(&chain, &flipped, &[n]);
        }
    };
    check(&none, &DataType::Bool, &[1, 0, 1], "05");
    check(
        &packed(PaddingEncoding::FirstByte, None, None),
        &DataType::Bool,
        &[1, 0, 1],
        "0505",
    );
    check(
        &packed(PaddingEncoding::LastByte, None, None),
        &DataType::Bool,
        &[1, 0, 1],
        "0505",
    );
    check(&none, &DataType::Bool, &[1, 0, 1, 0, 0, 0, 0, 0, 1], "0501");
    // V3-T31: bits 4 to 11 of 0x0AB0, with sign.
    let range = packed(PaddingEncoding::None, Some(4), Some(11));
    let i16 = DataType::Int { bits: 16 };
    check(&range, &i16, &0xfab0u16.to_ne_bytes(), "ab");
    check(&range, &U16, &0x0ab0u16.to_ne_bytes(), "ab");
    let chain = line(range, &i16).expect("it binds");
    assert_eq!(
        encode(&chain, &0x0ab0u16.to_ne_bytes(), &[1]).ok(),
        Some(hex("ab"))
    );
    // Whole elements are little endian, 63 bits are packed.
    let i64 = DataType::Int { bits: 64 };
    let values = native(&[-1i64, 2, i64::MIN], |n| n.to_ne_bytes());
    check(
        &none,
        &i64,
        &values,
        "ffffffffffffffff 0200000000000000 0000000000000080",
    );
    let most = packed(PaddingEncoding::None, None, Some(62));
    let values = native(&[-1i64, 5, -4], |n| n.to_ne_bytes());
    check(
        &most,
        &i64,
        &values,
        "ffffffffffffffff 0200000000000000 ffffffffffffff1f",
    );
    // Each component of a complex number is packed separately.
    let complex = DataType::Complex { bits: 64 };
    let values = native(&[1.5f32, -2.0], |x| x.to_ne_bytes());
    check(&none, &complex, &values, "0000c03f 000000c0");
    for (first, last) in [(5, 4), (0, 16), (16, 16)] {
        line(packed(PaddingEncoding::None, Some(first), Some(last)), &U16)
            .expect_err("no such bits");
    }
    let padded = line(
        packed(PaddingEncoding::FirstByte, None, None),
        &DataType::Bool,
    )
    .expect("it binds");
    decode(&padded, &hex("0405"), &[3]).expect_err("5 bits are padding");
    // Padding bits that are set have no meaning.
    let plain = line(none, &DataType::Bool).expect("it binds");
    assert_eq!(decode(&plain, &hex("fd"), &[3]).ok(), Some(vec![1, 0, 1]));
}

#[test]
fn bitround_v3_t57() {
    let config = |keepbits| CodecConfig::Bitround { keepbits };
    let round = |data_type: &DataType, keepbits, elements: &[u8]| {
        let chain = line(config(keepbits), data_type).expect("it binds");
        let n = (elements.len() / data_type.elem_size().expect("of fixed size")) as u64;
        let value = encode(&chain, elements, &[n]).expect("it encodes");
        decode(&chain, &value, &[n]).expect("it decodes")
    };
    let f32 = DataType::Float { bits: 32 };
    let f32s = |values: &[f32]| native(values, |x| x.to_ne_bytes());
    assert_eq!(
        round(&f32, 3, &f32s(&[0.1, 123.4, 1234.5])),
        f32s(&[0.1015625, 120.0, 1280.0])
    );
    let nan = f32::from_bits(0x7fff_ffff);
    assert_eq!(
        round(&f32, 3, &f32s(&[nan, f32::MAX])),
        f32s(&[nan, f32::INFINITY])
    );
    assert_eq!(round(&f32, 40, &f32s(&[0.1])), f32s(&[0.1]));
    assert_eq!(
        round(&U8, 3, &[11, 123, 208, 209, 255, 0, 1]),
        [12, 128, 192, 224, 224, 0, 1]
    );
    assert_eq!(
        round(&DataType::UInt { bits: 64 }, 3, &u64::MAX.to_ne_bytes()),
        (7u64 << 61).to_ne_bytes()
    );
    let complex = DataType::Complex { bits: 64 };
    assert_eq!(
        round(&complex, 3, &f32s(&[0.1, 123.4])),
        f32s(&[0.1015625, 120.0])
    );
    // Components of 7 and 10 bits of mantissa, each just above half of a step of 2^-3.
    let u16s = |values: &[u16]| native(values, |x| x.to_ne_bytes());
    let complex = DataType::ComplexOf(ComplexPart::BFloat16);
    assert_eq!(
        round(&complex, 3, &u16s(&[0x3f89, 0x3f88])),
        u16s(&[0x3f90, 0x3f80])
    );
    let complex = DataType::ComplexOf(ComplexPart::Float16);
    assert_eq!(
        round(&complex, 3, &u16s(&[0x3c41, 0x3c40])),
        u16s(&[0x3c80, 0x3c00])
    );
    // Dates and durations are integers of 64 bits without a sign.
    let i64s = |values: &[i64]| native(values, |x| x.to_ne_bytes());
    for date in [
        DataType::DateTime64 {
            unit: TimeUnit::Second,
            scale: 1,
        },
        DataType::TimeDelta64 {
            unit: TimeUnit::Second,
            scale: 1,
        },
    ] {
        assert_eq!(
            round(&date, 3, &i64s(&[11, 209, -1])),
            i64s(&[12, 224, 7 << 61])
        );
    }
    let small = DataType::ComplexOf(ComplexPart::Small(SmallFloat::E5M2));
    line(config(3), &small).expect_err("the registry does not list it");
    line(config(3), &DataType::Int { bits: 4 }).expect_err("nor it");
    line(config(3), &DataType::Bool).expect_err("bool has no bits to round");
}

#[test]
fn packed_bits_of_numcodecs_are_an_array_of_bytes_v3_t67() {
    // After it, byte order does not matter.
    let codecs = [
        CodecConfig::NumcodecsPackbits,
        CodecConfig::Bytes { endian: None },
    ];
    let chain = bind(codecs, &DataType::Bool, &[0], 2).expect("it binds");
    let elements = [1, 0, 1, 0, 0, 0, 0, 0, 1];
    let value = encode(&chain, &elements, &[3, 3]).expect("it encodes");
    assert_eq!(value, hex("07a080"));
    assert_eq!(
        decode(&chain, &value, &[3, 3]).ok(),
        Some(elements.to_vec())
    );
    decode(&chain, &hex("06a080"), &[3, 3]).expect_err("10 elements where 9 are");
    // uint8 after a cast to int16 needs it.
    let codecs = [
        cast(DataType::Int { bits: 16 }, Rounding::default(), None),
        CodecConfig::Bytes { endian: None },
    ];
    bind(codecs, &U8, &[0], 1).expect_err("int16 has a byte order");
}
