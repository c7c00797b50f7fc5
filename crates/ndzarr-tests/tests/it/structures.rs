//! Rust structures as elements: read from other writers, written and read back, refused.

use std::path::Path;

use ndarray::{Array1, ArrayD, array};
use ndzarr::{
    AnyArray, Array, DataType, Datetime64, Element, Endian, ErrorKind, Field, Format, MemoryStore,
    Order, StructType, TimeUnit, codec, s, structured,
};

pub(crate) type Tested = Result<(), ndzarr::Error>;

pub(crate) fn case<T: Element>(case: &str) -> Result<Array<T>, ndzarr::Error> {
    Array::open(
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../testdata")
            .join(case)
            .join("store"),
    )
}

pub(crate) fn any_case(case: &str) -> Result<AnyArray, ndzarr::Error> {
    AnyArray::open(
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../testdata")
            .join(case)
            .join("store"),
    )
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Mixed {
    pub(crate) a: i16,
    pub(crate) b: [u8; 2],
    pub(crate) c: [f32; 2],
}
structured!(Mixed {
    a: i16,
    b: [u8; 2],
    c: [f32; 2]
});

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub(crate) struct Bar {
    pub(crate) baz: f32,
    pub(crate) qux: i32,
}
structured!(Bar { baz: f32, qux: i32 });

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Foo {
    foo: f32,
    bar: Bar,
}
structured!(Foo { foo: f32, bar: Bar });

#[derive(Clone, Copy, Debug, PartialEq)]
struct Padded {
    a: u8,
    b: u32,
}
structured!(Padded { a: u8, b: u32 });

fn mixed(a: i16, b: [u8; 2], c: [f32; 2]) -> Mixed {
    Mixed { a, b, c }
}

/// The values of `xtask/python/fixtures/zarr_python_2.py: structs`.
#[test]
fn v2_t18_mixed_byte_orders_are_read() -> Tested {
    let zarr_python = case::<Mixed>("zarr2/zp2-dtype-struct-mixed-endian")?.read(s![..])?;
    assert_eq!(
        zarr_python,
        array![
            mixed(1, *b"x\0", [1.5, 2.5]),
            mixed(2, *b"c\0", [3.0, 4.0]),
            mixed(-3, *b"yz", [f32::INFINITY, -0.0])
        ]
    );
    assert!(zarr_python[2].c[1].is_sign_negative());
    let by_hand = case::<Mixed>("zarr2/hand-struct-mixed")?.read(s![..;-1])?;
    assert_eq!(
        by_hand,
        array![mixed(2, *b"\0c", [3.0, 4.0]), mixed(1, *b"ac", [1.0, 2.0])]
    );
    let fill = case::<Mixed>("zarr2/hand-struct-mixed-fill")?;
    assert_eq!(fill.fill_value(), mixed(1, *b"x\0", [1.5, 2.5]));
    assert_eq!(fill.read(s![0])?.into_scalar(), fill.fill_value());
    Ok(())
}

#[test]
fn v2_t18_an_update_keeps_each_byte_order() -> Tested {
    let store = MemoryStore::new();
    let dtype = r#"[["a","<i2"],["b","|S2"],["c",">f4",[2]]]"#;
    let document = format!(
        r#"{{"zarr_format":2,"shape":[2],"chunks":[2],"dtype":{dtype},"compressor":null,"filters":null,
        "order":"C","fill_value":"AQB4AD/AAABAIAAA"}}"#
    );
    store.set("a/.zarray", document.into_bytes())?;
    let a = Array::<Mixed>::open((&store, "a"))?;
    a.write(s![1..], &array![mixed(2, *b"\0c", [3.0, 4.0])])?;
    // The fill value, then the second record of the checklist.
    let expected = [
        &b"\x01\0x\0\x3f\xc0\0\0\x40\x20\0\0"[..],
        b"\x02\0\0c\x40\x40\0\0\x40\x80\0\0",
    ]
    .concat();
    assert_eq!(a.units().encoded(&[0])?.as_deref(), Some(&expected[..]));
    Ok(())
}

#[test]
fn v2_t19_padding_is_no_field() -> Tested {
    let a = case::<Padded>("zarr2/hand-struct-padding")?;
    assert_eq!(
        a.read(s![..])?,
        array![
            Padded {
                a: 1,
                b: 0x0102_0304
            },
            Padded {
                a: 2,
                b: 0x0506_0708
            }
        ]
    );
    assert_eq!(a.fill_value(), Padded { a: 0, b: 0 });

    let store = MemoryStore::new();
    let document =
        br#"{"zarr_format":2,"shape":[2],"chunks":[2],"dtype":[["a","|u1"],["","|V3"],["b","<u4"]],
        "compressor":null,"filters":null,"order":"C","fill_value":"AAAAAAAAAAA="}"#;
    store.set("a/.zarray", document.to_vec())?;
    store.set(
        "a/0",
        b"\x01\xaa\xbb\xcc\x04\x03\x02\x01\x02\xdd\xee\xff\x08\x07\x06\x05".to_vec(),
    )?;
    let a = Array::<Padded>::open((&store, "a"))?;
    a.fill(s![0..1], Padded { a: 3, b: 9 })?;
    let expected = b"\x03\0\0\0\x09\0\0\0\x02\xdd\xee\xff\x08\x07\x06\x05";
    assert_eq!(
        a.units().encoded(&[0])?.as_deref(),
        Some(&expected[..]),
        "the other element is as it was"
    );
    Ok(())
}

#[test]
fn v2_t20_nested_structures_are_read() -> Tested {
    let foo = |foo, baz, qux| Foo {
        foo,
        bar: Bar { baz, qux },
    };
    let a = case::<Foo>("zarr2/zp2-dtype-struct-nested")?;
    assert_eq!(
        a.read(s![..])?,
        array![foo(1.0, 2.0, 3), foo(4.0, 5.0, -6), foo(7.0, 8.0, 9)]
    );
    let empty = case::<Foo>("zarr2/hand-struct-nested-fill")?;
    assert_eq!(
        empty.read(s![..])?,
        array![foo(0.0, 0.0, 0), foo(0.0, 0.0, 0)]
    );
    Ok(())
}

#[test]
fn v3_t44_v3_t45_structures_of_zarr_v3_are_written_and_read() -> Tested {
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Pair {
        a: i16,
        b: u8,
    }
    structured!(Pair { a: i16, b: u8 });
    #[derive(Clone, Copy, Debug, PartialEq)]
    struct Triple {
        c: f32,
        a: i16,
        b: u8,
    }
    // In another order than it is stored.
    structured!(Triple {
        c: f32,
        a: i16,
        b: u8
    });

    for name in ["zarr3/hand-struct-le", "zarr3/hand-struct-be"] {
        let a = case::<Pair>(name)?;
        assert_eq!(a.fill_value(), Pair { a: -1, b: 9 }, "{name}");
        let expected = array![
            Pair { a: 1, b: 2 },
            Pair { a: 3, b: 4 },
            Pair { a: -1, b: 9 }
        ];
        assert_eq!(a.read(s![..])?, expected, "{name}");
    }
    let a = case::<Triple>("zarr3/zp3-dtype-structured")?;
    let triple = |a, b, c| Triple { c, a, b };
    let expected = array![
        triple(1, 2, 3.0),
        triple(-4, 5, f32::INFINITY),
        triple(7, 8, -0.0)
    ];
    assert_eq!(a.read(s![..])?, expected);
    Ok(())
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Sample {
    at: Datetime64,
    value: num_complex::Complex<f32>,
    small: half::f16,
    tag: [u8; 3],
    ok: bool,
    place: Bar,
}
structured!(Sample {
    at: Datetime64,
    value: num_complex::Complex<f32>,
    small: half::f16,
    tag as "type": [u8; 3],
    ok: bool,
    place: Bar,
});

fn sample(n: i32) -> Sample {
    Sample {
        at: Datetime64(i64::from(n) << 33),
        value: num_complex::Complex::new(n as f32, -0.5),
        small: half::f16::from_f32(n as f32 / 4.0),
        tag: [n as u8, 0, 7],
        ok: n % 2 == 0,
        place: Bar {
            baz: 1.0 / (n as f32 + 1.0),
            qux: -n,
        },
    }
}

/// As for an array of `Sample`: a date leaves its unit open.
fn sample_type() -> DataType {
    let float = |bits| DataType::Float { bits };
    let place = StructType::new([
        Field::new("baz", float(32)),
        Field::new("qux", DataType::Int { bits: 32 }),
    ]);
    let fields = StructType::new([
        Field::new(
            "at",
            DataType::DateTime64 {
                unit: TimeUnit::Second,
                scale: 1,
            },
        ),
        Field::new("value", DataType::Complex { bits: 64 }),
        Field::new("small", float(16)),
        Field::new("type", DataType::Raw { bytes: 3 }),
        Field::new("ok", DataType::Bool),
        Field::new("place", DataType::Struct(place.expect("two fields"))),
    ]);
    DataType::Struct(fields.expect("six fields"))
}

#[test]
fn parts_are_overwritten_in_every_layout() -> Tested {
    for format in [Format::Zarr2, Format::Zarr3] {
        for (endian, order) in [(Endian::Little, Order::F), (Endian::Big, Order::C)] {
            let a = Array::<Sample>::builder([5, 7])
                .data_type(sample_type())
                .chunks([2, 3])
                .format(format)
                .endian(endian)
                .order(order)
                .codecs([codec::zstd(1)])
                .fill_value(sample(9))
                .create((MemoryStore::new(), "a"))?;
            let mut model = ArrayD::from_elem(vec![5, 7], sample(9));
            for (n, (rows, columns)) in [
                (0..5usize, 0..7usize),
                (1..3, 2..6),
                (4..5, 6..7),
                (0..2, 0..3),
            ]
            .into_iter()
            .enumerate()
            {
                let mut part = model.slice_mut(s![rows.clone(), columns.clone()]);
                part.indexed_iter_mut()
                    .for_each(|((i, j), value)| *value = sample((n * 100 + i * 10 + j) as i32));
                let part = part.to_owned();
                a.write(s![rows, columns], &part)?;
                assert_eq!(a.read(..)?, model);
                assert_eq!(
                    a.read(s![1..5;2, ..;-3])?.into_dyn(),
                    model.slice(s![1..5;2, ..;-3]).into_dyn()
                );
            }
            let column: Array1<Bar> = AnyArray::from(a.clone()).read_field("place", s![.., 1])?;
            assert_eq!(column, model.slice(s![.., 1]).map(|sample| sample.place));
        }
    }
    Ok(())
}

#[test]
fn shards_hold_structures() -> Tested {
    let a = Array::<Padded>::builder([6])
        .chunks([2])
        .shards([6])
        .fill_value(Padded { a: 1, b: 2 });
    let a = a.create((MemoryStore::new(), "a"))?;
    a.write(
        s![3..5],
        &array![Padded { a: 5, b: 6 }, Padded { a: 7, b: 8 }],
    )?;
    let values = a.read(s![..])?.map(|value| (value.a, value.b));
    assert_eq!(
        values,
        array![(1, 2), (1, 2), (1, 2), (5, 6), (7, 8), (1, 2)]
    );
    assert_eq!(a.data_type().to_string(), "struct[a: uint8, b: uint32]");
    Ok(())
}

#[test]
fn what_differs_is_named() {
    #[derive(Clone)]
    struct Inner {
        baz: f32,
        qux: u32,
    }
    structured!(Inner { baz: f32, qux: u32 });
    #[derive(Clone)]
    struct OtherInside {
        foo: f32,
        bar: Inner,
    }
    structured!(OtherInside {
        foo: f32,
        bar: Inner
    });
    #[derive(Clone)]
    struct Missing {
        foo: f32,
        bar: Bar,
        other: u8,
    }
    structured!(Missing {
        foo: f32,
        bar: Bar,
        other: u8
    });
    #[derive(Clone)]
    struct Fewer {
        foo: f32,
    }
    structured!(Fewer { foo: f32 });
    #[derive(Clone)]
    struct Longer {
        a: i16,
        b: [u8; 2],
        c: [f32; 3],
    }
    structured!(Longer {
        a: i16,
        b: [u8; 2],
        c: [f32; 3]
    });

    fn error<T: Element>(name: &str) -> String {
        let error = case::<T>(name).map(drop).expect_err("another type");
        assert_eq!(error.kind(), ErrorKind::WrongType);
        error.to_string()
    }
    let nested = "zarr2/zp2-dtype-struct-nested";
    for (error, named) in [
        (
            error::<OtherInside>(nested),
            r#"the field "bar.qux" is int32, not uint32"#,
        ),
        (error::<Missing>(nested), r#"the field "other" is missing"#),
        (error::<Fewer>(nested), r#"the field "bar" is stored, but "#),
        (
            error::<Longer>("zarr2/hand-struct-mixed"),
            r#"the field "c" is float32 x [2], not float32 x [3]"#,
        ),
        (
            error::<Bar>("zarr2/zp2-fill-complex"),
            "an element is complex",
        ),
    ] {
        assert!(error.contains(named), "{error}");
    }
    let wrong = Array::<Bar>::builder([1])
        .data_type(sample_type())
        .create((MemoryStore::new(), "a"));
    assert!(wrong.is_err_and(|error| error.to_string().contains(r#"the field "baz" is missing"#)));
    let unit = Array::<Sample>::builder([1]).create((MemoryStore::new(), "a"));
    assert!(
        unit.is_err_and(|error| error.kind() == ErrorKind::InvalidArgument),
        "dates of no unit"
    );
}
