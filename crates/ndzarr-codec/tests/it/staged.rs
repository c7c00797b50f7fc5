//! Tests chains with codecs that change elements.

use ndzarr_codec::{
    Access, ArrayToArray, ArrayToBytes, BytesToBytes, CodecChain, CodecError, CodecRegistry,
};
use ndzarr_codec::{Dst, Workspace};
use ndzarr_model::{
    CastValueConfig, CodecConfig, DataType, Endian, FillValue, FilterTypes, IndexLocation,
    ReshapeDim, ScaleOffsetConfig, StoredType,
};
use proptest::prelude::*;
use std::sync::Arc;

use crate::it::support::{
    BIG, CRC32C, GZIP, LITTLE, PLAIN, U8, U16, bind, check, decode_full, encode, hex, sharded,
    sharding, specs, transpose, try_bind, u16s,
};

const F32: DataType = DataType::Float { bits: 32 };

fn stored(data_type: DataType, endian: Endian) -> StoredType {
    StoredType { data_type, endian }
}

fn delta(endian: Endian) -> CodecConfig {
    CodecConfig::Delta(FilterTypes {
        dtype: stored(U16, endian),
        astype: stored(U16, endian),
    })
}

fn shuffle(elementsize: Option<usize>) -> CodecConfig {
    CodecConfig::Shuffle { elementsize }
}

/// float32 to uint8, NaN as 255.
fn cast() -> CodecConfig {
    let nan = f32::NAN.to_ne_bytes().to_vec();
    CodecConfig::CastValue(Box::new(CastValueConfig {
        data_type: U8,
        rounding: Default::default(),
        out_of_range: None,
        encode_map: vec![(nan.clone(), vec![255])],
        decode_map: vec![(vec![255], nan)],
    }))
}

fn f32s(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|x| x.to_ne_bytes()).collect()
}

/// V2-T03, V2-T04: differences run in the stored order of elements.
#[test]
fn filters_follow_the_order_of_storage_v2_t04() {
    let elements = u16s(0..6);
    let chain = bind(
        &[transpose(&[1, 0]), LITTLE, delta(Endian::Little)],
        &U16,
        2,
    );
    check(&chain, &elements, &[2, 3], "00000300feff0300feff0300");
    let chain = bind(&[transpose(&[1, 0]), BIG, delta(Endian::Big)], &U16, 2);
    check(&chain, &elements, &[2, 3], "00000003fffe0003fffe0003");
    // In v3 the same codec comes before `bytes`.
    let chain = bind(&[transpose(&[1, 0]), delta(Endian::Little), BIG], &U16, 2);
    check(&chain, &elements, &[2, 3], "00000003fffe0003fffe0003");
    // A transpose after it reorders the differences: those of C order are 0 1 1 1 1 1.
    let chain = bind(
        &[delta(Endian::Little), transpose(&[1, 0]), LITTLE],
        &U16,
        2,
    );
    check(&chain, &elements, &[2, 3], "000001000100010001000100");
}

/// Any codec in any position, each with a separate view of the bytes.
#[test]
fn codecs_of_bytes_may_come_first_v2_093() {
    let elements = u16s([1, 2, 0x0304]);
    // The checksum makes it 10 bytes, which the filter views as 5 numbers.
    let chain = bind(&[LITTLE, CRC32C, delta(Endian::Little)], &U16, 1);
    let value = encode(&chain, &elements, &[3]).expect("it encodes");
    assert_eq!(value.len(), 10);
    assert_eq!(value[..6], hex("0100 0100 0203"));
    assert_eq!(
        decode_full(&chain, &value, &[3]).ok(),
        Some(elements.clone())
    );
    // V2-T36: without a configured size shuffle uses that of its input: first 2 bytes, then 1;
    // after a compressor it is unknown.
    let chain = bind(&[LITTLE, delta(Endian::Little), shuffle(None)], &U16, 1);
    check(&chain, &elements, &[3], "010102 000003");
    let narrow = CodecConfig::AsType(FilterTypes {
        dtype: stored(U16, Endian::Little),
        astype: stored(U8, Endian::Little),
    });
    let chain = bind(&[LITTLE, narrow, shuffle(None)], &U16, 1);
    check(&chain, &u16s([1, 2, 3]), &[3], "010203");
    try_bind(&[LITTLE, GZIP, shuffle(None)], &U16, &[0; 2], 1).expect_err("the size is unknown");
}

/// An inner chunk of fill values is empty, where the fill value is the result of the cast.
#[test]
fn fill_values_go_through_v3_113() {
    let shards = || sharded(sharding(&[2], &[PLAIN], IndexLocation::End));
    let nan = f32::NAN.to_ne_bytes();
    let chain = try_bind(&[cast(), shards()], &F32, &nan, 1).expect("it binds");
    let elements = f32s(&[f32::NAN, f32::NAN, 1.0, f32::NAN]);
    let value = encode(&chain, &elements, &[4]).expect("it encodes");
    // Only the second inner chunk, and an index of 2 entries.
    assert_eq!(value[..2], [1, 255]);
    assert_eq!(value[2..18], [255; 16]);
    assert_eq!(value.len(), 2 + 32 + 4);
    let decoded = decode_full(&chain, &value, &[4]).expect("it decodes");
    assert_eq!(decoded, elements);
    // Inside a shard each inner chunk goes through the cast.
    let inner = sharded(sharding(&[2], &[cast(), PLAIN], IndexLocation::End));
    let chain = try_bind(&[inner], &F32, &nan, 1).expect("it binds");
    assert_eq!(encode(&chain, &elements, &[4]).expect("it encodes"), value);
    assert_eq!(decode_full(&chain, &value, &[4]).ok(), Some(elements));
}

#[test]
fn only_chains_without_stages_are_read_in_part() {
    let access = |codecs: &[CodecConfig]| match bind(codecs, &U16, 1).access() {
        Access::Whole => "whole",
        Access::Raw { .. } => "raw",
        Access::Indexed(_) => "indexed",
    };
    assert_eq!(access(&[transpose(&[0]), LITTLE]), "raw");
    assert_eq!(access(&[delta(Endian::Little), LITTLE]), "whole");
    assert_eq!(access(&[LITTLE, delta(Endian::Little)]), "whole");
    let shards = |inner: &[CodecConfig]| sharded(sharding(&[2], inner, IndexLocation::End));
    assert_eq!(
        access(&[shards(&[delta(Endian::Little), LITTLE])]),
        "indexed"
    );
    assert_eq!(access(&[delta(Endian::Little), shards(&[LITTLE])]), "whole");
}

#[test]
fn codecs_in_wrong_places() {
    for codecs in [
        &[
            LITTLE,
            CodecConfig::ScaleOffset(ScaleOffsetConfig::default()),
        ][..],
        &[LITTLE, cast()],
        &[LITTLE, CodecConfig::Packbits(Default::default())],
        &[CodecConfig::Packbits(Default::default()), LITTLE],
        &[
            CodecConfig::Packbits(Default::default()),
            CodecConfig::Packbits(Default::default()),
        ],
        &[CodecConfig::Base64, LITTLE],
        &[delta(Endian::Little)],
        &[delta(Endian::Little), GZIP],
    ] {
        try_bind(codecs, &U16, &[0, 0], 1).expect_err("not in their places");
    }
    // The input type has another size than the filter's.
    try_bind(&[delta(Endian::Little), LITTLE], &U8, &[0], 1).expect_err("uint8 viewed as uint16");
}

#[derive(Debug)]
struct Negative;

impl ArrayToArray for Negative {
    fn name(&self) -> &'static str {
        "negative"
    }

    fn encoded_type(&self) -> DataType {
        U8
    }

    fn encode(&self, elements: &[u8], _: &[u64], out: &mut [u8]) -> Result<(), CodecError> {
        out.iter_mut()
            .zip(elements)
            .for_each(|(out, byte)| *out = !byte);
        Ok(())
    }

    fn decode(&self, encoded: &[u8], shape: &[u64], out: &mut [u8]) -> Result<(), CodecError> {
        self.encode(encoded, shape, out)
    }
}

#[derive(Debug)]
struct Backwards;

impl ArrayToBytes for Backwards {
    fn name(&self) -> &'static str {
        "backwards"
    }

    fn decode(
        &self,
        value: &[u8],
        _: &[u64],
        out: &mut [u8],
        _: &mut Workspace,
    ) -> Result<(), CodecError> {
        if value.len() != out.len() {
            return Err(CodecError::corrupt("backwards", "another length"));
        }
        out.iter_mut()
            .zip(value.iter().rev())
            .for_each(|(out, byte)| *out = *byte);
        Ok(())
    }

    fn encode(
        &self,
        elements: &[u8],
        _: &[u64],
        out: &mut Vec<u8>,
        _: &mut Workspace,
    ) -> Result<(), CodecError> {
        *out = elements.iter().rev().copied().collect();
        Ok(())
    }
}

#[derive(Debug)]
struct Same;

impl BytesToBytes for Same {
    fn name(&self) -> &'static str {
        "same"
    }

    fn decode(&self, src: &[u8], dst: Dst<'_>, _: &mut Workspace) -> Result<usize, CodecError> {
        match dst {
            Dst::Exact(out) if out.len() == src.len() => out.copy_from_slice(src),
            Dst::Grow { buf, max } if src.len() <= max => *buf = src.to_vec(),
            _ => return Err(CodecError::corrupt("same", "another length")),
        }
        Ok(src.len())
    }

    fn encode(&self, src: &[u8], dst: &mut Vec<u8>, _: &mut Workspace) -> Result<(), CodecError> {
        *dst = src.to_vec();
        Ok(())
    }
}

#[test]
fn codecs_of_the_callers_own_of_every_kind() {
    let registry = CodecRegistry::new()
        .with_array_to_array("negative", |_, _| Ok(Arc::new(Negative)))
        .with_array_to_bytes("backwards", |_, data_type| match data_type {
            &U8 => Ok(Arc::new(Backwards)),
            other => Err(CodecError::config(
                "backwards",
                format!("takes uint8, not {other}"),
            )),
        })
        .with("same", |_| Ok(Arc::new(Same)));
    let own = |name: &str| CodecConfig::Unknown {
        name: name.to_owned(),
        configuration: serde_json::Value::Null,
    };
    let bind = |codecs: &[CodecConfig], data_type: &DataType| {
        let fill = FillValue::zero(data_type);
        CodecChain::bind(&specs(codecs), data_type, &fill, 2, &registry)
    };
    let chain = bind(
        &[
            own("negative"),
            transpose(&[1, 0]),
            own("backwards"),
            own("same"),
            GZIP,
        ],
        &U8,
    )
    .expect("it binds");
    let elements: Vec<u8> = (0..6).collect();
    let value = encode(&chain, &elements, &[2, 3]).expect("it encodes");
    assert_eq!(
        decode_full(&chain, &value, &[2, 3]).ok(),
        Some(elements.clone())
    );
    let plain = bind(
        &[own("negative"), transpose(&[1, 0]), own("backwards")],
        &U8,
    )
    .expect("it binds");
    // Transposed 0 3 1 4 2 5, in reverse, each negated.
    check(&plain, &elements, &[2, 3], "fafdfbfefcff");
    decode_full(&plain, &value, &[2, 3]).expect_err("another length");
    for (codecs, data_type, names) in [
        (&[own("else"), LITTLE][..], U8, "\"else\""),
        (&[LITTLE, own("else")], U8, "\"else\""),
        (&[LITTLE, own("negative")], U8, "negative takes an array"),
        (&[own("same"), LITTLE], U8, "same"),
        (&[own("backwards")], U16, "takes uint8, not uint16"),
    ] {
        let error = bind(codecs, &data_type)
            .expect_err("it does not fit")
            .to_string();
        assert!(error.contains(names), "{error}");
    }
}

/// Codecs of elements that keep each uint16, whatever comes before them.
fn stage() -> impl Strategy<Value = Vec<CodecConfig>> {
    let wide = FilterTypes {
        dtype: stored(U16, Endian::Little),
        astype: stored(DataType::Float { bits: 64 }, Endian::Little),
    };
    let back = FilterTypes {
        dtype: wide.astype.clone(),
        astype: wide.dtype.clone(),
    };
    prop_oneof![
        Just(vec![delta(Endian::Little)]),
        Just(vec![CodecConfig::Bitround { keepbits: 16 }]),
        Just(vec![CodecConfig::AsType(wide), CodecConfig::AsType(back)]),
        Just(vec![CodecConfig::Reshape {
            shape: vec![ReshapeDim::InputDims(vec![0, 1]), ReshapeDim::Length(1)]
        }]),
        Just(vec![transpose(&[1, 0])]),
        Just(vec![]),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn what_is_encoded_decodes(
        stages in prop::collection::vec(stage(), 0..4),
        shape in (1u64..6, 1u64..6),
        seed in any::<u16>(),
        last in prop::sample::select(vec![0, 1, 2]),
    ) {
        let mut codecs: Vec<CodecConfig> = stages.concat();
        match last {
            0 => codecs.extend([BIG, shuffle(None), GZIP]),
            1 => codecs.push(CodecConfig::Packbits(Default::default())),
            _ => codecs.extend([LITTLE, CRC32C]),
        }
        let chain = bind(&codecs, &U16, 2);
        let shape = [shape.0, shape.1];
        chain.check(&shape).expect("it fits");
        let n = (shape[0] * shape[1]) as u16;
        let elements = u16s((0..n).map(|i| i.wrapping_mul(seed | 1).wrapping_add(seed)));
        let value = encode(&chain, &elements, &shape).expect("it encodes");
        prop_assert_eq!(chain.encoded_len(&shape).is_none_or(|len| len == value.len()), true);
        prop_assert_eq!(decode_full(&chain, &value, &shape).expect("it decodes"), elements);
        for len in 0..value.len() {
            decode_full(&chain, &value[..len], &shape).expect_err("it is cut off");
        }
    }
}
