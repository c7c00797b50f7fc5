//! Types that are known at run time: other than numbers, structures, small floats, values of
//! variable size.

use ndarray::{Array1, Array3, Ix0, Ix2, array, s as slice};
use ndzarr::{
    AnyArray, AnyElements, DataType, Datetime64, ErrorKind, Field, Format, MemoryStore, StructType,
    TimeUnit, s,
};
use num_complex::Complex;
use serde_json::json;

use crate::types_at_run_time::{Outcome, new};

/// The bytes are those that the specifications give; the expected values are the same by hand.
#[test]
fn other_types_have_their_rust_types() -> Outcome {
    let made = |data_type: DataType, bytes: &[&[u8]]| {
        let any = AnyArray::builder([2])
            .data_type(data_type)
            .create((MemoryStore::new(), "a"))?;
        any.write_bytes(.., &bytes.concat())?;
        any.read([0..2])
    };
    let one = [&1f32.to_ne_bytes()[..], &(-2f32).to_ne_bytes()].concat();
    assert_eq!(
        made(DataType::Bool, &[&[1, 0]])?,
        array![true, false].into()
    );
    assert_eq!(
        made(DataType::Complex { bits: 64 }, &[&one, &[0; 8]])?,
        array![Complex::new(1f32, -2.0), Complex::default()].into()
    );
    // 0x3c00 is 1 and 0xc000 is -2 as float16; 0x38 is 1 as float8_e4m3fn, 0xc0 is -2.
    let halves = [0x3c00u16.to_ne_bytes(), 0xc000u16.to_ne_bytes()].concat();
    let named = |name: &str| DataType::from_name(name).expect("a type");
    assert_eq!(
        made(named("complex_float16"), &[&halves, &[0; 4]])?,
        array![Complex::new(1f32, -2.0), Complex::default()].into()
    );
    assert_eq!(
        made(named("complex_float8_e4m3fn"), &[&[0x38, 0xc0], &[0; 2]])?,
        array![Complex::new(1f32, -2.0), Complex::default()].into()
    );
    assert_eq!(
        made(named("float8_e4m3fn"), &[&[0x38, 0xc0]])?,
        array![1f32, -2.0].into()
    );
    assert_eq!(made(named("int4"), &[&[0xf8, 7]])?, array![-8i8, 7].into());
    assert_eq!(made(named("uint2"), &[&[3, 0]])?, array![3u8, 0].into());
    let time = DataType::DateTime64 {
        unit: TimeUnit::Second,
        scale: 1,
    };
    assert_eq!(
        made(time, &[&7i64.to_ne_bytes(), &i64::MIN.to_ne_bytes()])?,
        array![Datetime64(7), Datetime64::NAT].into()
    );
    assert_eq!(
        made(DataType::FixedBytes { bytes: 3 }, &[b"ab\0xyz"])?,
        array![b"ab".to_vec(), b"xyz".to_vec()].into()
    );
    let text: Vec<u8> = ['ü', '\0', 'a', 'b']
        .iter()
        .flat_map(|&c| u32::from(c).to_ne_bytes())
        .collect();
    assert_eq!(
        made(DataType::FixedUtf32 { chars: 2 }, &[&text])?,
        array!["ü".to_owned(), "ab".to_owned()].into()
    );
    assert_eq!(
        made(DataType::Raw { bytes: 3 }, &[&[1, 2, 3], &[4, 5, 6]])?,
        AnyElements::Packed(array![[1, 2, 3], [4, 5, 6]])
    );
    Ok(())
}

#[test]
fn numbers_of_widths_that_no_format_has_are_refused() {
    for format in [
        Format::Zarr2,
        Format::Zarr3,
        Format::DraftA,
        Format::DraftB,
        Format::N5,
    ] {
        for data_type in [
            DataType::Int { bits: 24 },
            DataType::UInt { bits: 3 },
            DataType::Float { bits: 8 },
            DataType::Complex { bits: 32 },
        ] {
            let created = AnyArray::builder([2, 3])
                .format(format)
                .data_type(data_type.clone())
                .create((MemoryStore::new(), "a"));
            let error = created.expect_err("no format has such numbers");
            let kinds = [ErrorKind::InvalidArgument, ErrorKind::Unsupported];
            assert!(
                kinds.contains(&error.kind()),
                "{format:?} {data_type}: {error}"
            );
        }
    }
}

#[test]
fn small_floats_are_written_only_if_they_are_exact() -> Outcome {
    let any = new([1, 3], "float4_e2m1fn")?;
    any.write(.., &AnyElements::from(array![[0.5f32, -6.0, 1.5]]))?;
    assert_eq!(any.read_bytes(..)?, [0x1, 0xf, 0x3]);
    for wrong in [0.6, f32::NAN, 100.0] {
        let error = any
            .write((0, ..1), &AnyElements::from(array![wrong]))
            .expect_err("no such number");
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(
            error.to_string().contains("is not a float4_e2m1fn"),
            "{error}"
        );
    }
    let any = new([1, 2], "complex_bfloat16")?;
    any.write(
        ..,
        &AnyElements::from(array![[Complex::new(1f32, -2.0), Complex::new(0.5, 3.0)]]),
    )?;
    assert_eq!(
        any.read_bytes((0, ..1))?,
        [0x3f80u16.to_ne_bytes(), 0xc000u16.to_ne_bytes()].concat()
    );
    assert!(any.fill(.., Complex::new(1.001f32, 0.0)).is_err());
    Ok(())
}

#[test]
fn values_of_variable_size_are_written_and_read() -> Outcome {
    let made = |data_type: DataType, format| {
        AnyArray::builder([3])
            .chunks([2])
            .data_type(data_type)
            .format(format)
            .create((MemoryStore::new(), "a"))
    };
    let mut texts = made(DataType::String, Format::Zarr3)?;
    texts.write(
        [0..2],
        &AnyElements::from(array!["ü".to_owned(), "b".to_owned()]),
    )?;
    texts.fill([2..3], "c")?;
    texts.append(0, &AnyElements::from(array!["d".to_owned()]))?;
    assert_eq!(
        texts.read([1..4])?,
        array!["b", "c", "d"].mapv(str::to_owned).into()
    );
    assert_eq!(texts.fill_value(), "".into());

    let values = made(DataType::Json, Format::Zarr2)?;
    values.write(
        ..,
        &AnyElements::from(array![json!({"a": 1}), json!([]), json!("x")]),
    )?;
    assert_eq!(values.read((0,))?, json!({"a": 1}).into());

    let lists = made(
        DataType::VlenArray(DataType::Int { bits: 16 }.into()),
        Format::Zarr2,
    )?;
    let list = [1i16, -2].map(i16::to_ne_bytes).concat();
    lists.write([1..3], &AnyElements::from(array![list.clone(), vec![]]))?;
    assert_eq!(
        lists.read(..)?,
        array![vec![], list, vec![]].into_dyn().into()
    );
    let error = lists.fill(.., vec![1, 2, 3]).expect_err("half a number");
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    Ok(())
}

#[test]
fn structures_are_packed() -> Outcome {
    let fields = [
        Field::new("n", DataType::UInt { bits: 8 }),
        Field::new("x", DataType::Int { bits: 16 }),
    ];
    let data_type = DataType::Struct(StructType::new(fields).expect("two names"));
    for shards in [false, true] {
        let any = AnyArray::builder([4, 2])
            .chunks([2, 1])
            .data_type(data_type.clone());
        let any = if shards { any.shards([4, 2]) } else { any };
        let mut any = any.create((MemoryStore::new(), "a"))?;
        let element = |n: u8| [&[n][..], &(-i16::from(n)).to_ne_bytes()].concat();
        let bytes: Vec<u8> = (0..8).flat_map(element).collect();
        let all = Array3::from_shape_vec((4, 2, 3), bytes).expect("three bytes each");
        any.write((.., ..), &AnyElements::<Ix2>::Packed(all.clone()))?;
        assert_eq!(any.read((.., ..))?, AnyElements::Packed(all.clone()));
        assert_eq!(any.read((.., ..))?.shape(), [4, 2]);
        assert_eq!(
            any.read((2, 1))?,
            AnyElements::Packed(Array1::from(element(5)))
        );
        assert_eq!(
            any.read(s![..;-2, 1..])?,
            AnyElements::Packed(all.slice(slice![..;-2, 1.., ..]).to_owned())
        );
        let many = any.read_many([[3..4, 0..1], [0..1, 1..2]])?;
        assert_eq!(
            many[1],
            AnyElements::Packed(Array3::from_shape_vec((1, 1, 3), element(1)).expect("one"))
        );
        any.fill(
            [0..4, 0..1],
            AnyElements::<Ix0>::Packed(Array1::from(element(9))),
        )?;
        assert_eq!(
            any.read((1, 0))?,
            AnyElements::Packed(Array1::from(element(9)))
        );
        any.append(
            1,
            &AnyElements::<Ix2>::Packed(all.slice(slice![.., ..1, ..]).to_owned()),
        )?;
        assert_eq!(
            any.read((3, 2))?,
            AnyElements::Packed(Array1::from(element(6)))
        );
        assert_eq!(any.read_field::<i16, _>("x", (3, ..))?, array![-9, -7, -6]);
    }
    Ok(())
}
