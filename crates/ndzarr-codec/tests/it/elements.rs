//! Tests the bytes codec, transposes, and the order of codecs.

use ndzarr_codec::{Access, CodecError, Workspace};
use ndzarr_model::{CodecConfig, CodecSpec, DataType, Endian};
use proptest::prelude::*;

use crate::it::support::*;

#[test]
fn vectors_of_the_checklists() {
    // V2-T03, V3-T06.
    let six = u16s(0..6);
    check(
        &bind(&[transpose(&[1, 0]), LITTLE], &U16, 2),
        &six,
        &[2, 3],
        "000003000100040002000500",
    );
    check(
        &bind(&[transpose(&[1, 0]), BIG], &U16, 2),
        &six,
        &[2, 3],
        "000000030001000400020005",
    );
    let bytes: Vec<u8> = (0..24).collect();
    check(
        &bind(&[transpose(&[2, 0, 1]), PLAIN], &U8, 3),
        &bytes,
        &[2, 3, 4],
        "0004080c10140105090d111502060a0e121603070b0f1317",
    );
    check(&bind(&[BIG], &U16, 1), &u16s([1, 2]), &[2], "00010002");
    check(&bind(&[BIG], &U8, 1), &[1, 2], &[2], "0102");
    // 0-d: one element, and an empty transpose.
    check(
        &bind(&[transpose(&[]), LITTLE], &U16, 0),
        &u16s([5]),
        &[],
        "0500",
    );
    // V2-T01.
    check(
        &bind(&[LITTLE], &DataType::Int { bits: 32 }, 0),
        &5i32.to_ne_bytes(),
        &[],
        "05000000",
    );
    // Components of complex numbers are swapped separately.
    let complex: Vec<u8> = [1.5f32, -2.0]
        .iter()
        .flat_map(|part| part.to_ne_bytes())
        .collect();
    check(
        &bind(&[BIG], &DataType::Complex { bits: 64 }, 1),
        &complex,
        &[1],
        "3fc00000c0000000",
    );
}

#[test]
fn endian_is_needed_where_it_matters() {
    for data_type in [DataType::Bool, U8, DataType::Raw { bytes: 5 }] {
        let fill = vec![0; data_type.elem_size().expect("fixed")];
        try_bind(&[PLAIN], &data_type, &fill, 1).expect("it does not matter");
    }
    for data_type in [
        U16,
        DataType::BFloat16,
        DataType::Complex { bits: 64 },
        DataType::Float { bits: 64 },
    ] {
        let fill = vec![0; data_type.elem_size().expect("fixed")];
        let error = try_bind(&[PLAIN], &data_type, &fill, 1).expect_err("it matters");
        assert!(error.to_string().contains("endian"), "{error}");
    }
}

#[test]
fn codecs_out_of_order_are_refused() {
    // V3-T05, V3-T18.
    for configs in [
        &[][..],
        &[GZIP, PLAIN],
        &[PLAIN, PLAIN],
        &[PLAIN, transpose(&[0])],
        &[PLAIN, GZIP, transpose(&[0])],
        &[GZIP],
        &[transpose(&[0])],
        &[transpose(&[1, 0]), PLAIN],
        &[transpose(&[1]), PLAIN],
        &[transpose(&[]), PLAIN],
    ] {
        let error = try_bind(configs, &U8, &[0], 1).expect_err("they are out of order");
        assert!(matches!(error, CodecError::Config { .. }), "{error}");
    }
    for order in [&[0, 0, 1][..], &[1, 2], &[1, 2, 3], &[0, 1, 2, 3]] {
        try_bind(&[transpose(order), PLAIN], &U8, &[0], 3).expect_err("no permutation");
    }
    let unknown = CodecConfig::Unknown {
        name: "https://example.com/x".into(),
        configuration: Default::default(),
    };
    let error = try_bind(&[PLAIN, unknown], &U8, &[0], 1).expect_err("nobody knows it");
    assert!(matches!(error, CodecError::Unknown { name } if name == "https://example.com/x"));
    // A fill value of another size than the elements.
    try_bind(&[LITTLE], &U16, &[0], 1).expect_err("one byte");
}

#[test]
fn lengths_must_be_right() {
    // V3-T15, V3-T16.
    let chain = bind(&[LITTLE], &U16, 1);
    for len in [0, 1, 3, 5, 6] {
        assert!(decode(&chain, &vec![0; len], &[2]).is_err_and(|error| error.is_corrupt()));
    }
    let chain = bind(&[LITTLE, GZIP], &U16, 1);
    for len in [0, 2, 6] {
        let value = encode(&bind(&[PLAIN, GZIP], &U8, 1), &vec![0; len], &[len as u64])
            .expect("it encodes");
        decode(&chain, &value, &[2]).expect_err("another length");
        let mut out = [0; 4];
        chain
            .decode_into(&value, &[2], &mut out, &mut Workspace::new())
            .expect_err("another length");
    }
    encode(&chain, &[0; 3], &[2]).expect_err("half an element");
    chain.check(&[2, 2]).expect_err("another number of axes");
    decode(&chain, &[0; 8], &[2, 2]).expect_err("another number of axes");
    decode(&chain, &[0; 8], &[]).expect_err("another number of axes");
    encode(&chain, &[0; 8], &[2, 2]).expect_err("another number of axes");
    for shape in [[u64::MAX, 1], [1 << 40, 1 << 40], [1 << 62, 2]] {
        bind(&[LITTLE], &U16, 2)
            .check(&shape)
            .expect_err("more than memory can hold");
    }
    bind(&[LITTLE], &U16, 2)
        .check(&[0, u64::MAX])
        .expect("it is empty");
}

#[test]
fn what_cannot_be_written_is_still_read() {
    let mut specs = specs(&[LITTLE, GZIP]);
    specs[1].unwritable = Some("level \"fast\" is not known".into());
    let fill = ndzarr_model::FillValue::defined([0, 0]);
    let bind = |specs: &[CodecSpec]| {
        ndzarr_codec::CodecChain::bind(specs, &U16, &fill, 1, &Default::default())
            .expect("it binds")
    };
    let value = encode(
        &bind(&crate::it::support::specs(&[LITTLE, GZIP])),
        &u16s([7, 8]),
        &[2],
    )
    .expect("it encodes");
    let chain = bind(&specs);
    assert_eq!(
        decode_full(&chain, &value, &[2]).expect("it decodes"),
        u16s([7, 8])
    );
    let error = encode(&chain, &u16s([7, 8]), &[2]).expect_err("it must not");
    assert_eq!(
        error.to_string(),
        "gzip cannot encode: level \"fast\" is not known"
    );
    let stored = chain.encode_stored(
        &mut u16s([7, 8]),
        &[2],
        &mut Workspace::new(),
        &mut Vec::new(),
    );
    stored.expect_err("neither this way");
    // Also inside of shards and N5 blocks.
    let mut config = sharding(&[1], &[], Default::default());
    config.codecs = specs.clone();
    let chain = bind(&crate::it::support::specs(&[sharded(config)]));
    encode(&chain, &u16s([7, 8]), &[2]).expect_err("it must not");
    let block = ndzarr_model::N5BlockConfig {
        compression: Some(specs[1].clone()),
        edge_blocks: Default::default(),
    };
    let chain = bind(&crate::it::support::specs(&[CodecConfig::N5Block(
        Box::new(block),
    )]));
    encode(&chain, &u16s([7, 8]), &[2]).expect_err("it must not");
}

#[test]
fn access_and_sizes() {
    let chain = bind(&[LITTLE], &U16, 1);
    assert!(matches!(chain.access(), Access::Raw { .. }));
    assert_eq!(chain.encoded_len(&[5]), Some(10));
    let chain = bind(&[LITTLE, CRC32C, CRC32C], &U16, 1);
    assert!(matches!(chain.access(), Access::Whole));
    assert_eq!(chain.encoded_len(&[5]), Some(18));
    assert_eq!(bind(&[LITTLE, GZIP], &U16, 1).encoded_len(&[5]), None);
    let sharding = sharding(&[1], &[LITTLE], Default::default());
    assert!(matches!(
        bind(&[sharded(sharding.clone())], &U16, 1).access(),
        Access::Indexed(_)
    ));
    // V3-T27.
    assert!(matches!(
        bind(&[sharded(sharding), CRC32C], &U16, 1).access(),
        Access::Whole
    ));
}

/// The result of transposes and the bytes codec, computed one index at a time.
fn oracle(
    elements: &[u8],
    shape: &[usize],
    orders: &[Vec<usize>],
    size: usize,
    swap: Option<usize>,
) -> Vec<u8> {
    let mut array = elements.to_vec();
    let mut shape = shape.to_vec();
    for order in orders {
        let new_shape: Vec<usize> = order.iter().map(|&axis| shape[axis]).collect();
        let mut new = Vec::new();
        for p in indices(&new_shape) {
            // B[p] = A[q] with p[i] = q[order[i]].
            let mut q = vec![0; p.len()];
            for (i, &axis) in order.iter().enumerate() {
                q[axis] = p[i];
            }
            let at = q.iter().zip(&shape).fold(0, |at, (&i, &n)| at * n + i);
            new.extend_from_slice(&array[at * size..(at + 1) * size]);
        }
        array = new;
        shape = new_shape;
    }
    if let Some(width) = swap {
        array.chunks_mut(width).for_each(<[u8]>::reverse);
    }
    array
}

fn data_types() -> Vec<DataType> {
    let mut types = vec![
        DataType::Bool,
        DataType::BFloat16,
        DataType::Raw { bytes: 3 },
        DataType::Raw { bytes: 20 },
    ];
    types.extend([8, 16, 32, 64].map(|bits| DataType::UInt { bits }));
    types.extend([16, 32, 64].map(|bits| DataType::Float { bits }));
    types.extend([64, 128].map(|bits| DataType::Complex { bits }));
    types
}

proptest! {
    #[test]
    fn transposes_and_byte_orders_agree_with_the_oracle(
        (shape, orders) in prop::collection::vec(1usize..5, 0..5).prop_flat_map(|shape| {
            let axes: Vec<usize> = (0..shape.len()).collect();
            (Just(shape), prop::collection::vec(Just(axes).prop_shuffle(), 0..4))
        }),
        data_type in prop::sample::select(data_types()),
        endian in prop::sample::select(vec![Endian::Little, Endian::Big]),
        compressed in any::<bool>(),
    ) {
        let size = data_type.elem_size().expect("fixed");
        let n: usize = shape.iter().product();
        let elements: Vec<u8> = (0..n * size).map(|i| (i * 7) as u8).collect();
        let mut configs: Vec<CodecConfig> = orders.iter().map(|order| transpose(order)).collect();
        configs.push(CodecConfig::Bytes { endian: Some(endian) });
        let swap = (endian != Endian::NATIVE && data_type.swap_width() > 1).then_some(data_type.swap_width());
        let expected = oracle(&elements, &shape, &orders, size, swap);
        let u64_shape: Vec<u64> = shape.iter().map(|&n| n as u64).collect();
        let chain = bind(&configs, &data_type, shape.len());
        prop_assert_eq!(&encode(&chain, &elements, &u64_shape).expect("it encodes"), &expected);
        prop_assert_eq!(&decode_full(&chain, &expected, &u64_shape).expect("it decodes"), &elements);
        if compressed {
            configs.extend([ZSTD, CRC32C, GZIP]);
            let chain = bind(&configs, &data_type, shape.len());
            let value = encode(&chain, &elements, &u64_shape).expect("it encodes");
            prop_assert_eq!(&decode_full(&chain, &value, &u64_shape).expect("it decodes"), &elements);
        }
    }
}
