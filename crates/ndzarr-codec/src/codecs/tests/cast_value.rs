//! Tests `cast_value`.

use ndzarr_model::{OutOfRange, Rounding};

use super::arrays::{F64, bind, cast, encode, f64s, line, little};
use super::*;

const I8: DataType = DataType::Int { bits: 8 };

#[test]
fn cast_value_rounds_v3_t32() {
    let values = f64s(&[0.5, 1.5, -2.5, -0.4]);
    for (rounding, expected) in [
        (Rounding::NearestEven, "0002fe00"),
        (Rounding::TowardsZero, "0001fe00"),
        (Rounding::TowardsPositive, "0102fe00"),
        (Rounding::TowardsNegative, "0001fdff"),
        (Rounding::NearestAway, "0102fd00"),
    ] {
        let chain = line(cast(I8, rounding, None), &F64).expect("it binds");
        assert_eq!(
            encode(&chain, &values, &[4]).ok(),
            Some(hex(expected)),
            "{rounding:?}"
        );
    }
}

#[test]
fn cast_value_out_of_range_v3_t33_v3_t34() {
    let to = |data_type: &DataType, rounding, how, values: &[f64]| {
        let chain = line(cast(data_type.clone(), rounding, how), &F64).expect("it binds");
        encode(&chain, &f64s(values), &[values.len() as u64])
    };
    let even = Rounding::NearestEven;
    let zero = Rounding::TowardsZero;
    let wrap = to(
        &I8,
        zero,
        Some(OutOfRange::Wrap),
        &[128.0, -129.0, 255.9, -0.9],
    );
    assert_eq!(wrap.ok(), Some(hex("807fff00")));
    let clamp = to(
        &I8,
        even,
        Some(OutOfRange::Clamp),
        &[128.0, -129.0, 127.5, -0.5],
    );
    assert_eq!(clamp.ok(), Some(hex("7f807f00")));
    to(&I8, even, None, &[128.0]).expect_err("128 is no int8");
    for x in [f64::INFINITY, f64::NAN] {
        to(&I8, even, Some(OutOfRange::Clamp), &[x]).expect_err("no integer");
    }
    // Beyond 2^64 in either direction.
    let u64s = DataType::UInt { bits: 64 };
    let wrap = to(
        &u64s,
        even,
        Some(OutOfRange::Wrap),
        &[-1.0, 73_786_976_294_838_206_464.0 + 16384.0],
    );
    assert_eq!(wrap.ok(), Some(hex("ffffffffffffffff 0040000000000000")));
    to(&u64s, even, None, &[18_446_744_073_709_551_616.0]).expect_err("2^64");
    // V3-T34
    let f32 = DataType::Float { bits: 32 };
    to(&f32, even, None, &[1e39]).expect_err("beyond float32");
    assert_eq!(
        to(&f32, even, Some(OutOfRange::Clamp), &[1e39]).ok(),
        Some(hex("0000807f"))
    );
    assert_eq!(
        to(&f32, even, None, &[-0.0, f64::NAN]).ok(),
        Some(hex("00000080 0000c07f"))
    );
    line(cast(f32, even, Some(OutOfRange::Wrap)), &F64).expect_err("wrap is for integers");
    line(cast(I8, even, None), &DataType::Bool).expect_err("bool");
}

#[test]
fn cast_value_to_floats_v3_t35() {
    let i64 = DataType::Int { bits: 64 };
    let f32 = DataType::Float { bits: 32 };
    let to = |rounding, n: i64| {
        let chain = line(cast(f32.clone(), rounding, None), &i64).expect("it binds");
        let bytes = encode(&chain, &n.to_ne_bytes(), &[1]).expect("it fits");
        f32::from_le_bytes(bytes.try_into().expect("4 bytes"))
    };
    assert_eq!(to(Rounding::NearestEven, 16_777_217), 16_777_216.0);
    assert_eq!(to(Rounding::NearestEven, 16_777_219), 16_777_220.0);
    assert_eq!(to(Rounding::NearestAway, 16_777_217), 16_777_218.0);
    assert_eq!(to(Rounding::NearestAway, -16_777_217), -16_777_218.0);
    assert_eq!(to(Rounding::TowardsZero, 16_777_219), 16_777_218.0);
    assert_eq!(to(Rounding::TowardsZero, -16_777_219), -16_777_218.0);
    assert_eq!(to(Rounding::TowardsPositive, 16_777_217), 16_777_218.0);
    assert_eq!(to(Rounding::TowardsPositive, -16_777_219), -16_777_218.0);
    assert_eq!(to(Rounding::TowardsNegative, 16_777_219), 16_777_218.0);
    assert_eq!(to(Rounding::TowardsNegative, -16_777_217), -16_777_218.0);
    // The greatest finite float16 is 65504; from 65520 on the nearest is infinite.
    let f16 = DataType::Float { bits: 16 };
    let to = |rounding, x: f64| {
        let chain = line(cast(f16.clone(), rounding, None), &F64).expect("it binds");
        encode(&chain, &x.to_ne_bytes(), &[1]).ok()
    };
    assert_eq!(to(Rounding::NearestEven, 65_519.0), Some(hex("ff7b")));
    assert_eq!(to(Rounding::NearestEven, 65_520.0), None);
    assert_eq!(to(Rounding::TowardsZero, 65_535.0), Some(hex("ff7b")));
    assert_eq!(to(Rounding::TowardsZero, 65_536.0), None);
    assert_eq!(to(Rounding::TowardsPositive, 65_505.0), None);
    assert_eq!(to(Rounding::TowardsPositive, -65_505.0), Some(hex("fffb")));
    // A tie that does not go to the even one, and the least subnormal.
    assert_eq!(to(Rounding::NearestAway, 2049.0), Some(hex("0168")));
    assert_eq!(to(Rounding::NearestEven, 2049.0), Some(hex("0068")));
    assert_eq!(to(Rounding::TowardsPositive, 1e-30), Some(hex("0100")));
    // A fill value that no integer equals.
    let fill = f64::NAN.to_ne_bytes();
    let error = bind(
        [cast(I8, Rounding::default(), None), little()],
        &F64,
        &fill,
        1,
    )
    .expect_err("NaN");
    assert!(
        error.to_string().contains("the fill value is NaN"),
        "{error}"
    );
}

/// Values a little beyond half of a step, which two roundings in a row would round to even.
#[test]
fn cast_value_rounds_once() {
    let to = |from: &DataType, to: DataType, element: &[u8]| {
        let chain = line(cast(to, Rounding::NearestEven, None), from).expect("it binds");
        encode(&chain, element, &[1]).ok()
    };
    let i64 = DataType::Int { bits: 64 };
    let f16 = DataType::Float { bits: 16 };
    // 1 + 2^-11 + 2^-40, where the steps of float16 are 2^-10.
    let x = f64::from_bits(0x3ff0_0200_0000_1000);
    assert_eq!(to(&F64, f16.clone(), &x.to_ne_bytes()), Some(hex("013c")));
    assert_eq!(to(&F64, f16, &(-x).to_ne_bytes()), Some(hex("01bc")));
    // Steps of 2^-7.
    let x = 1.0 + (-8f64).exp2() + (-30f64).exp2();
    assert_eq!(
        to(&F64, DataType::BFloat16, &x.to_ne_bytes()),
        Some(hex("813f"))
    );
    // 2^40 + 2^32 + 1, then 2^62 + 2^54 + 1, which float64 cannot hold, in steps of 2^33 and 2^55.
    let n: i64 = (1 << 40) + (1 << 32) + 1;
    assert_eq!(
        to(&i64, DataType::BFloat16, &n.to_ne_bytes()),
        Some(hex("8153"))
    );
    let n: i64 = (1 << 62) + (1 << 54) + 1;
    assert_eq!(
        to(&i64, DataType::BFloat16, &n.to_ne_bytes()),
        Some(hex("815e"))
    );
    assert_eq!(
        to(&i64, DataType::BFloat16, &(-n).to_ne_bytes()),
        Some(hex("81de"))
    );
}
