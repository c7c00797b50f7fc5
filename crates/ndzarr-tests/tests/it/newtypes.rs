//! Elements of small floats, fixed byte strings and fixed strings.

use ndarray::arr1;
use ndzarr::{
    Array, DataType, Element, Endian, ErrorKind, FixedBytes, FixedUtf32, Float4E2M1Fn,
    Float6E2M3Fn, Float6E3M2Fn, Float8E3M4, Float8E4M3, Float8E4M3B11Fnuz, Float8E4M3Fn,
    Float8E4M3Fnuz, Float8E5M2, Float8E5M2Fnuz, Float8E8M0Fnu, Format, MemoryStore, structured,
};

fn stored<T: Element>(store: &MemoryStore, value: T) -> Vec<u8> {
    let a = Array::<T>::builder([1])
        .overwrite()
        .create((store, "a"))
        .expect("created");
    a.write([0..1], &arr1(&[value])).expect("written");
    a.units()
        .encoded(&[0])
        .expect("read")
        .map(|bytes| bytes.to_vec())
        .unwrap_or_default()
}

/// Codes of 1.0 in ml_dtypes 0.6.0.
#[test]
fn small_floats_are_their_codes() {
    macro_rules! check {
        ($($type:ident, $name:literal, $one:literal;)*) => {$(
            let store = MemoryStore::new();
            assert_eq!($type::KIND.name(), $name);
            let one = $type::from_bits($one);
            assert_eq!(f32::from(one), 1.0);
            assert_eq!(stored(&store, one), [$one], $name);
            let a = Array::<$type>::open((&store, "a")).expect("opens");
            assert_eq!(a.data_type(), &DataType::SmallFloat($type::KIND));
            assert_eq!(a.read([0..1]).expect("read"), arr1(&[one]));
            assert_eq!(Array::<u8>::open((&store, "a")).expect("opens").read([0..1]).expect("read"), arr1(&[$one]));
            assert_eq!(Array::<f32>::open((&store, "a")).expect_err("has to be refused").kind(), ErrorKind::WrongType);
        )*};
    }
    check! {
        Float4E2M1Fn, "float4_e2m1fn", 0x2;
        Float6E2M3Fn, "float6_e2m3fn", 0x8;
        Float6E3M2Fn, "float6_e3m2fn", 0xc;
        Float8E3M4, "float8_e3m4", 0x30;
        Float8E4M3, "float8_e4m3", 0x38;
        Float8E4M3B11Fnuz, "float8_e4m3b11fnuz", 0x58;
        Float8E4M3Fn, "float8_e4m3fn", 0x38;
        Float8E4M3Fnuz, "float8_e4m3fnuz", 0x40;
        Float8E5M2, "float8_e5m2", 0x3c;
        Float8E5M2Fnuz, "float8_e5m2fnuz", 0x40;
        Float8E8M0Fnu, "float8_e8m0fnu", 0x7f;
    }
    // Of another kind they are not.
    let store = MemoryStore::new();
    stored(&store, Float8E4M3::from_f32(1.0));
    assert_eq!(
        Array::<Float8E4M3Fn>::open((&store, "a"))
            .expect_err("has to be refused")
            .kind(),
        ErrorKind::WrongType
    );
}

#[test]
fn small_floats_are_compared_as_numbers() {
    assert_eq!(
        Float8E4M3::from_bits(0),
        Float8E4M3::from_bits(0x80),
        "zeros"
    );
    assert_ne!(
        Float8E4M3::from_f32(f32::NAN),
        Float8E4M3::from_f32(f32::NAN)
    );
    assert!(Float8E5M2::from_f32(-1.0) < Float8E5M2::from_f32(0.5));
    assert_eq!(
        Float4E2M1Fn::from_bits(0xf2).to_bits(),
        2,
        "the upper bits do not count"
    );
    assert_eq!(
        format!(
            "{} {:?}",
            Float8E4M3::from_f32(1.5),
            Float8E4M3::from_f32(1.0)
        ),
        "1.5 1.0"
    );
}

#[test]
fn bytes_and_texts_have_just_their_length() {
    let store = MemoryStore::new();
    assert_eq!(stored(&store, FixedBytes::<3>(*b"a\0b")), *b"a\0b");
    let read = Array::<FixedBytes<3>>::open((&store, "a"))
        .expect("opens")
        .read([0..1])
        .expect("read")[0];
    assert_eq!(read.as_bytes(), b"a\0b", "a NUL within stays");
    assert_eq!(format!("{read:?}"), r#"b"a\x00b""#);
    assert_eq!(
        Array::<FixedBytes<2>>::open((&store, "a"))
            .expect_err("has to be refused")
            .kind(),
        ErrorKind::WrongType
    );
    let raw = Array::<FixedBytes<3>>::builder([1]).data_type(DataType::Raw { bytes: 3 });
    let raw = raw.create((&store, "raw")).expect("created");
    raw.write([0..1], &arr1(&[FixedBytes([0, 1, 0])]))
        .expect("written");
    assert_eq!(raw.read([0..1]).expect("read")[0].0, [0, 1, 0]);

    // "Hi" in 12 bytes.
    let hi: FixedUtf32<3> = "Hi".parse().expect("not too long");
    assert_eq!(
        stored(&store, hi),
        [0x48, 0, 0, 0, 0x69, 0, 0, 0, 0, 0, 0, 0]
    );
    let a = Array::<FixedUtf32<3>>::builder([1])
        .endian(Endian::Big)
        .format(Format::Zarr2)
        .fill_value(hi);
    let a = a.create((MemoryStore::new(), "b")).expect("created");
    assert_eq!(a.read([0..1]).expect("read")[0].to_string(), "Hi");
    a.write([0..1], &arr1(&[FixedUtf32(['𝄞', 'a', '\0'])]))
        .expect("written");
    assert_eq!(
        a.units().encoded(&[0]).expect("read").as_deref(),
        Some(&[0, 1, 0xd1, 0x1e, 0, 0, 0, 0x61, 0, 0, 0, 0][..])
    );
    // V3-T47: not a character.
    store
        .set("a/c/0", vec![0, 0xd8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
        .expect("set");
    let error = Array::<FixedUtf32<3>>::open((&store, "a"))
        .expect("opens")
        .read([0..1])
        .expect_err("has to be refused");
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(
        Array::<FixedBytes<0>>::builder([1])
            .create((&store, "none"))
            .is_err()
    );
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Sample {
    name: FixedBytes<2>,
    place: FixedUtf32<1>,
    weights: [Float8E4M3; 2],
}
structured!(Sample { name: FixedBytes<2>, place: FixedUtf32<1>, weights: [Float8E4M3; 2] });

#[derive(Clone, Copy, Debug, PartialEq)]
struct Tag {
    name: FixedBytes<2>,
    weight: Float8E4M3,
}
structured!(Tag { name: FixedBytes<2>, weight: Float8E4M3 });

#[test]
fn newtypes_are_fields_of_structures() {
    let tag = Tag {
        name: FixedBytes(*b"ab"),
        weight: Float8E4M3::from_f32(1.0),
    };
    let store = MemoryStore::new();
    assert_eq!(stored(&store, tag), [b'a', b'b', 0x38]);
    assert_eq!(
        Array::<Tag>::open((&store, "a"))
            .expect("opens")
            .read([0..1])
            .expect("read")[0],
        tag
    );
    // A structure of v3 has no sub-arrays: its fields have a name and a type.
    let error = Array::<Sample>::builder([1])
        .create((MemoryStore::new(), "a"))
        .expect_err("has to be refused")
        .to_string();
    assert!(
        error.contains("\"weights\"") && error.contains("sub-array"),
        "{error}"
    );
}
