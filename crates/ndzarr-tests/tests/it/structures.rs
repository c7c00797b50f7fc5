//! Rust structures as elements: read from other writers, written and read back, refused.

use std::path::Path;

use ndarray::{Array1, ArrayD, arr1, array};
use ndzarr::{
    AnyArray, Array, DataType, Datetime64, Element, Endian, ErrorKind, Field, Format, MemoryStore, Order,
    StructType, Structured, TimeUnit, codec, s, structured,
};

type Tested = Result<(), ndzarr::Error>;

fn case<T: Element>(case: &str) -> Result<Array<T>, ndzarr::Error> {
    Array::open(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(case).join("store"))
}

fn any_case(case: &str) -> Result<AnyArray, ndzarr::Error> {
    AnyArray::open(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(case).join("store"))
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Mixed {
    a: i16,
    b: [u8; 2],
    c: [f32; 2],
}
structured!(Mixed { a: i16, b: [u8; 2], c: [f32; 2] });

#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
struct Bar {
    baz: f32,
    qux: i32,
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

/// The same by derive, with another order of the fields, and every form that a field can have.
#[derive(Clone, Copy, Debug, PartialEq, Structured)]
pub(crate) struct Derived {
    /// Commas inside of angle brackets do not end a field.
    #[allow(dead_code, reason = "an attribute that is not ours")]
    pub(crate) c: Pair<f32, { 1 + 1 }>,
    #[structured(name = "a")]
    r#type: i16,
    pub b: [u8; 2],
}

type Pair<T, const N: usize> = [T; N];

#[test]
fn a_derived_struct_is_what_the_macro_makes() -> Tested {
    let by_macro = case::<Mixed>("zarr2/zp2-dtype-struct-mixed-endian")?.read(..)?;
    let derived = case::<Derived>("zarr2/zp2-dtype-struct-mixed-endian")?.read(..)?;
    let of = |derived: &Derived| Mixed { a: derived.r#type, b: derived.b, c: derived.c };
    assert_eq!(derived.mapv(|derived| of(&derived)), by_macro);
    assert!(by_macro.iter().any(|mixed| mixed.a != 0));

    /// In a module that has ndzarr under another name.
    mod elsewhere {
        use ndzarr as nd;

        #[derive(Clone, Copy, Debug, PartialEq, nd::Structured)]
        #[structured(crate = nd)]
        pub(super) struct Point {
            #[structured(name = "x [mm]")]
            pub(super) x: f32,
            pub(super) y: f32,
        }
    }
    let a = Array::<elsewhere::Point>::builder([2]).create((MemoryStore::new(), "a"))?;
    a.write([1..2], &array![elsewhere::Point { x: 1.5, y: 2.5 }])?;
    assert_eq!(AnyArray::from(a).read_field::<f32, _>("x [mm]", ..)?.into_raw_vec_and_offset().0, [0.0, 1.5]);
    Ok(())
}

fn mixed(a: i16, b: [u8; 2], c: [f32; 2]) -> Mixed {
    Mixed { a, b, c }
}

/// The values of `xtask/python/fixtures/zarr_python_2.py: structs`.
#[test]
fn v2_t18_mixed_byte_orders() -> Tested {
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
    assert_eq!(by_hand, array![mixed(2, *b"\0c", [3.0, 4.0]), mixed(1, *b"ac", [1.0, 2.0])]);
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
    let expected = [&b"\x01\0x\0\x3f\xc0\0\0\x40\x20\0\0"[..], b"\x02\0\0c\x40\x40\0\0\x40\x80\0\0"].concat();
    assert_eq!(a.units().encoded(&[0])?.as_deref(), Some(&expected[..]));
    Ok(())
}

#[test]
fn v2_t19_padding_is_no_field() -> Tested {
    let a = case::<Padded>("zarr2/hand-struct-padding")?;
    assert_eq!(a.read(s![..])?, array![Padded { a: 1, b: 0x0102_0304 }, Padded { a: 2, b: 0x0506_0708 }]);
    assert_eq!(a.fill_value(), Padded { a: 0, b: 0 });

    let store = MemoryStore::new();
    let document =
        br#"{"zarr_format":2,"shape":[2],"chunks":[2],"dtype":[["a","|u1"],["","|V3"],["b","<u4"]],
        "compressor":null,"filters":null,"order":"C","fill_value":"AAAAAAAAAAA="}"#;
    store.set("a/.zarray", document.to_vec())?;
    store.set("a/0", b"\x01\xaa\xbb\xcc\x04\x03\x02\x01\x02\xdd\xee\xff\x08\x07\x06\x05".to_vec())?;
    let a = Array::<Padded>::open((&store, "a"))?;
    a.fill(s![0..1], Padded { a: 3, b: 9 })?;
    let expected = b"\x03\0\0\0\x09\0\0\0\x02\xdd\xee\xff\x08\x07\x06\x05";
    assert_eq!(a.units().encoded(&[0])?.as_deref(), Some(&expected[..]), "the other element is as it was");
    Ok(())
}

#[test]
fn v2_t20_nested() -> Tested {
    let foo = |foo, baz, qux| Foo { foo, bar: Bar { baz, qux } };
    let a = case::<Foo>("zarr2/zp2-dtype-struct-nested")?;
    assert_eq!(a.read(s![..])?, array![foo(1.0, 2.0, 3), foo(4.0, 5.0, -6), foo(7.0, 8.0, 9)]);
    let empty = case::<Foo>("zarr2/hand-struct-nested-fill")?;
    assert_eq!(empty.read(s![..])?, array![foo(0.0, 0.0, 0), foo(0.0, 0.0, 0)]);
    Ok(())
}

#[test]
fn v3_t44_v3_t45_structures_of_zarr_v3() -> Tested {
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
    structured!(Triple { c: f32, a: i16, b: u8 });

    for name in ["zarr3/hand-struct-le", "zarr3/hand-struct-be"] {
        let a = case::<Pair>(name)?;
        assert_eq!(a.fill_value(), Pair { a: -1, b: 9 }, "{name}");
        let expected = array![Pair { a: 1, b: 2 }, Pair { a: 3, b: 4 }, Pair { a: -1, b: 9 }];
        assert_eq!(a.read(s![..])?, expected, "{name}");
    }
    let a = case::<Triple>("zarr3/zp3-dtype-structured")?;
    let triple = |a, b, c| Triple { c, a, b };
    let expected = array![triple(1, 2, 3.0), triple(-4, 5, f32::INFINITY), triple(7, 8, -0.0)];
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
        place: Bar { baz: 1.0 / (n as f32 + 1.0), qux: -n },
    }
}

/// As for an array of `Sample`: a date leaves its unit open.
fn sample_type() -> DataType {
    let float = |bits| DataType::Float { bits };
    let place =
        StructType::new([Field::new("baz", float(32)), Field::new("qux", DataType::Int { bits: 32 })]);
    let fields = StructType::new([
        Field::new("at", DataType::DateTime64 { unit: TimeUnit::Second, scale: 1 }),
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
            for (n, (rows, columns)) in
                [(0..5usize, 0..7usize), (1..3, 2..6), (4..5, 6..7), (0..2, 0..3)].into_iter().enumerate()
            {
                let mut part = model.slice_mut(s![rows.clone(), columns.clone()]);
                part.indexed_iter_mut()
                    .for_each(|((i, j), value)| *value = sample((n * 100 + i * 10 + j) as i32));
                let part = part.to_owned();
                a.write(s![rows, columns], &part)?;
                assert_eq!(a.read(..)?, model);
                assert_eq!(a.read(s![1..5;2, ..;-3])?.into_dyn(), model.slice(s![1..5;2, ..;-3]).into_dyn());
            }
            let column: Array1<Bar> = AnyArray::from(a.clone()).read_field("place", s![.., 1])?;
            assert_eq!(column, model.slice(s![.., 1]).map(|sample| sample.place));
        }
    }
    Ok(())
}

#[test]
fn shards_hold_structures() -> Tested {
    let a = Array::<Padded>::builder([6]).chunks([2]).shards([6]).fill_value(Padded { a: 1, b: 2 });
    let a = a.create((MemoryStore::new(), "a"))?;
    a.write(s![3..5], &array![Padded { a: 5, b: 6 }, Padded { a: 7, b: 8 }])?;
    let values = a.read(s![..])?.map(|value| (value.a, value.b));
    assert_eq!(values, array![(1, 2), (1, 2), (1, 2), (5, 6), (7, 8), (1, 2)]);
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
    structured!(OtherInside { foo: f32, bar: Inner });
    #[derive(Clone)]
    struct Missing {
        foo: f32,
        bar: Bar,
        other: u8,
    }
    structured!(Missing { foo: f32, bar: Bar, other: u8 });
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
    structured!(Longer { a: i16, b: [u8; 2], c: [f32; 3] });

    fn error<T: Element>(name: &str) -> String {
        let error = case::<T>(name).map(drop).expect_err("another type");
        assert_eq!(error.kind(), ErrorKind::WrongType);
        error.to_string()
    }
    let nested = "zarr2/zp2-dtype-struct-nested";
    for (error, named) in [
        (error::<OtherInside>(nested), r#"the field "bar.qux" is int32, not uint32"#),
        (error::<Missing>(nested), r#"the field "other" is missing"#),
        (error::<Fewer>(nested), r#"the field "bar" is stored, but "#),
        (error::<Longer>("zarr2/hand-struct-mixed"), r#"the field "c" is float32 x [2], not float32 x [3]"#),
        (error::<Bar>("zarr2/zp2-fill-complex"), "an element is complex"),
    ] {
        assert!(error.contains(named), "{error}");
    }
    let wrong = Array::<Bar>::builder([1]).data_type(sample_type()).create((MemoryStore::new(), "a"));
    assert!(wrong.is_err_and(|error| error.to_string().contains(r#"the field "baz" is missing"#)));
    let unit = Array::<Sample>::builder([1]).create((MemoryStore::new(), "a"));
    assert!(unit.is_err_and(|error| error.kind() == ErrorKind::InvalidArgument), "dates of no unit");
}

/// Macros pass parts on as groups without delimiters.
#[test]
fn macros_may_write_a_derived_struct() -> Tested {
    macro_rules! made {
        ($(#[$more:meta])* $vis:vis struct $name:ident { $($of:vis $field:ident as $text:literal: $type:ty,)* }) => {
            #[derive(Clone, Copy, Debug, PartialEq, Structured)]
            $(#[$more])*
            $vis struct $name {
                $(
                    #[structured(name = $text,)]
                    $of $field: $type,
                )*
            }
        };
    }
    made!(
        #[structured(crate = ::ndzarr)]
        pub(crate) struct Public {
            pub(crate) n as "of a macro": u8,
        }
    );
    made!(
        struct Private {
            n as "of a macro": [u8; 2],
            m as "another": Public,
        }
    );
    let a = Array::<Public>::builder([1]).create((MemoryStore::new(), "a"))?;
    a.write(s![..], &array![Public { n: 7 }])?;
    assert_eq!(a.read(s![..])?, array![Public { n: 7 }]);
    assert!(a.data_type().to_string().contains("of a macro"));
    let a = Array::<Private>::builder([1]).create((MemoryStore::new(), "a"))?;
    assert_eq!(a.read(s![..])?, array![Private { n: [0, 0], m: Public { n: 0 } }]);
    Ok(())
}

#[test]
fn texts_are_fields_too() -> Tested {
    #[derive(Clone, Debug, PartialEq)]
    struct Named {
        name: String,
        code: Vec<u8>,
    }
    structured!(Named { name: String, code: Vec<u8> });
    let fields = [
        Field::new("name", DataType::FixedUtf32 { chars: 3 }),
        Field::new("code", DataType::FixedBytes { bytes: 2 }),
    ];
    let data_type = DataType::Struct(StructType::new(fields).expect("two fields"));
    let a = Array::<Named>::builder([2]).data_type(data_type).format(Format::Zarr2);
    let a = a.create((MemoryStore::new(), "a"))?;
    let named = |name: &str, code: &[u8]| Named { name: name.to_owned(), code: code.to_owned() };
    a.write(s![1..], &array![named("Åse", b"x")])?;
    assert_eq!(a.read(s![..])?, array![named("", b""), named("Åse", b"x")]);
    let error = a.write(s![..1], &array![named("Grace", b"")]).expect_err("five characters");
    assert!(error.to_string().contains(r#"in the field "name""#), "{error}");
    Ok(())
}

#[test]
fn a_bool_that_is_none_is_an_error() -> Tested {
    #[derive(Clone, Debug, PartialEq)]
    struct Flag {
        n: u8,
        flag: bool,
    }
    structured!(Flag { n: u8, flag: bool });
    let store = MemoryStore::new();
    let a = Array::<Flag>::builder([1]).create((&store, "a"))?;
    store.set("a/c/0", vec![7, 1])?;
    assert_eq!(a.read(s![..])?, array![Flag { n: 7, flag: true }]);
    store.set("a/c/0", vec![7, 2])?;
    let error = Array::<Flag>::open((&store, "a"))?.read(s![..]).expect_err("a bool of 2");
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    // One field is read without the values of the others.
    let any = AnyArray::open((&store, "a"))?;
    assert_eq!(any.read_field::<u8, _>("n", s![..])?, array![7]);
    let error = any.read_field::<bool, _>("flag", s![..]).expect_err("a bool of 2");
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    Ok(())
}

#[test]
fn fields_are_found_by_paths() -> Tested {
    let nested = any_case("zarr2/zp2-dtype-struct-nested")?;
    assert_eq!(nested.read_field::<i32, _>("bar.qux", s![..])?, array![3, -6, 9]);
    assert_eq!(nested.read_field::<f32, _>("foo", s![1..])?, array![4.0, 7.0]);
    let inner = nested.read_field::<Bar, _>("bar", s![0])?.into_scalar();
    assert_eq!(inner, Bar { baz: 2.0, qux: 3 });
    for path in ["qux", "bar.", ".bar", "bar.qux.x", "foo.x", ""] {
        let error = nested.read_field::<i32, _>(path, s![..]).expect_err(path);
        assert!(error.to_string().contains(&format!("no field {path:?}")), "{error}");
    }
    let error = nested.read_field::<f32, _>("bar.qux", s![..]).expect_err("numbers of another type");
    assert!(error.to_string().contains(r#"the field "bar.qux" is int32, not float32"#), "{error}");

    let mixed = any_case("zarr2/zp2-dtype-struct-mixed-endian")?;
    let floats = mixed.read_field::<[f32; 2], _>("c", s![..])?;
    assert_eq!(floats, arr1(&[[1.5, 2.5], [3.0, 4.0], [f32::INFINITY, -0.0]]));
    assert!(mixed.read_field::<f32, _>("c", s![..]).is_err());
    assert_eq!(mixed.read_field::<Vec<u8>, _>("b", s![..2])?, array![b"x".to_vec(), b"c".to_vec()]);
    Ok(())
}
