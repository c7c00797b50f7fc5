//! Arrays whose element type is known only at run time: every call of a typed array, on both sides.

use std::sync::Arc;

use half::{bf16, f16};
use ndarray::{Array1, Array2, Array3, ArrayD, Ix0, Ix1, Ix2, array, s as slice};
use ndzarr::{
    AnyArray, AnyElements, Array, Cast, DataType, Datetime64, Endian, ErrorKind, Existing, Field,
    FillRequest, Format, MemoryStore, Number, Order, Points, Storage, StructType, TimeUnit, asynchronous,
    codec, for_each_type, s,
};
use ndzarr_testkit::{AsyncMemoryStore, CountingStore, Latency, block_on};
use num_complex::Complex;
use serde_json::json;

type Outcome = Result<(), ndzarr::Error>;

fn new(shape: [u64; 2], name: &str) -> Result<AnyArray, ndzarr::Error> {
    let data_type = DataType::from_name(name).expect("a type");
    AnyArray::builder(shape).chunks([2, 3]).data_type(data_type).create((MemoryStore::new(), "a"))
}

/// 0 to 34 in five rows.
fn counted<T: Number>() -> Array2<T> {
    Array2::from_shape_fn((5, 7), |(y, x)| T::from_f64((y * 7 + x) as f64, Cast::Checked).expect("it fits"))
}

#[test]
fn packed_bytes_take_any_selection() -> Outcome {
    for (format, order, endian) in [
        (Format::Zarr3, Order::C, Endian::Little),
        (Format::Zarr3, Order::F, Endian::Big),
        (Format::Zarr2, Order::F, Endian::Big),
        (Format::N5, Order::C, Endian::Big),
    ] {
        let a = Array::<u32>::builder([5, 7]).chunks([2, 3]).format(format).order(order);
        let a = if format == Format::N5 { a } else { a.endian(endian) };
        let a = a.codecs([codec::gzip(1)]).create((MemoryStore::new(), "a"))?;
        let any = AnyArray::from(a);
        let mut model = counted::<u32>();
        let native = |elements: ndarray::ArrayView2<'_, u32>| -> Vec<u8> {
            elements.iter().flat_map(|number| number.to_ne_bytes()).collect()
        };
        any.write_bytes(.., &native(model.view()))?;
        assert_eq!(
            any.read_bytes(s![1..5;3, ..;-2])?,
            native(model.slice(slice![1..5;3, ..;-2])),
            "{format}"
        );
        assert_eq!(any.read_bytes((-1, 2))?, 30u32.to_ne_bytes());
        let mut memory = [1; 9];
        any.read_bytes_into([4..5, 5..7], &mut memory[1..])?;
        assert_eq!(memory[1..], [33u32.to_ne_bytes(), 34u32.to_ne_bytes()].concat());
        // Every second column from the end, so that no chunk is covered.
        let columns = Array2::from_shape_fn((5, 3), |(y, x)| (1000 + y * 3 + x) as u32);
        any.write_bytes(s![.., 1..;-2], &native(columns.view()))?;
        model.slice_mut(slice![.., 1..;-2]).assign(&columns);
        assert_eq!(any.read_bytes(..)?, native(model.view()), "{format} {order:?}");
    }
    Ok(())
}

/// Lists in any order, points and masks; the expected values are of NumPy's rules, by hand.
#[test]
fn bytes_and_elements_of_every_kind_of_selection() -> Outcome {
    for name in ["uint16", "complex128", "r24", "bool", "r40", "fixed"] {
        let data_type = DataType::from_name(name).unwrap_or(DataType::FixedBytes { bytes: 2 });
        let size = data_type.elem_size().expect("a fixed size");
        let any = AnyArray::builder([4, 3]).chunks([2, 2]).data_type(data_type);
        let any = any.create((MemoryStore::new(), "a"))?;
        // Element n consists of bytes that say n; of a bool, whether n is odd.
        let byte = |n: u8| if name == "bool" { n % 2 } else { n };
        let bytes =
            |numbers: &[u8]| -> Vec<u8> { numbers.iter().flat_map(|&n| vec![byte(n); size]).collect() };
        any.write_bytes(.., &bytes(&(0..12).collect::<Vec<u8>>()))?;

        let lists = (vec![3, 0, 3], vec![2, 1]);
        assert_eq!(any.read_bytes(lists.clone())?, bytes(&[11, 10, 2, 1, 11, 10]), "{name}");
        assert_eq!(any.read_bytes((vec![0, 3], 1))?, bytes(&[1, 10]));
        let points = Points::new([[2, 1], [0, 0], [-1, 2], [2, 1]]);
        assert_eq!(any.read_bytes(&points)?, bytes(&[7, 0, 11, 7]));
        let mask = Array2::from_shape_fn((4, 3), |(y, x)| y == 1 && x > 0 || y == 3);
        assert_eq!(any.read_bytes(&mask)?, bytes(&[4, 5, 9, 10, 11]));
        let mut memory = vec![0xff; 4 * size + 1];
        any.read_bytes_into(&points, &mut memory[1..])?;
        assert_eq!(memory[1..], bytes(&[7, 0, 11, 7]));
        assert_eq!(any.read(&points)?.shape(), [4]);
        assert_eq!(any.read(lists)?, any.read_many([(vec![3, 0, 3], vec![2, 1])])?.remove(0));

        any.write_bytes((vec![1, 0], vec![2, 0]), &bytes(&[20, 21, 22, 23]))?;
        any.write_bytes(Points::new([[2, 2], [3, 0], [2, 2]]), &bytes(&[30, 31, 32]))?;
        assert_eq!(any.read_bytes(..)?, bytes(&[23, 1, 22, 21, 4, 20, 6, 7, 32, 31, 10, 11]), "{name}");
        let elements = any.read(&points)?;
        any.write(Points::new([[0, 0], [0, 1], [0, 2], [1, 0]]), &elements)?;
        assert_eq!(any.read_bytes([0..2, 0..3])?, bytes(&[7, 23, 11, 7, 4, 20]));
        any.fill(&mask, any.fill_value())?;
        assert_eq!(any.read_bytes([1..2, 0..3])?, [bytes(&[7]), vec![0; 2 * size]].concat());
    }
    Ok(())
}

#[test]
fn what_does_not_fit_is_refused_before_any_request() -> Outcome {
    let store = Arc::new(CountingStore::new(MemoryStore::new()));
    let any = AnyArray::builder([4]).data_type(DataType::Float { bits: 64 });
    let mut any = any.create((Storage::blocking(Arc::clone(&store)), "a"))?;
    store.reset();
    for error in [
        any.read_bytes_into(.., &mut [0; 31]).expect_err("too short"),
        any.write_bytes([0..2], &[0; 17]).expect_err("too long"),
        any.write([0..2], &AnyElements::from(array![1.0])).expect_err("too short"),
        any.write(.., &AnyElements::<Ix1>::Packed(Array2::zeros((4, 4)))).expect_err("of another size"),
        any.write_chunk(&[0], &AnyElements::from(array![1.0])).expect_err("too short"),
    ] {
        assert_eq!(error.kind(), ErrorKind::WrongShape, "{error}");
    }
    for error in [
        any.write([0..1], &AnyElements::from(array![1f32])).expect_err("another type"),
        any.fill([0..1], 1i64).expect_err("another type"),
        any.append(0, &AnyElements::from(array!["a".to_owned()])).expect_err("another type"),
    ] {
        assert_eq!(error.kind(), ErrorKind::WrongType, "{error}");
        assert!(error.to_string().starts_with("the elements are float64, not "), "{error}");
    }
    let counts = store.counts();
    assert_eq!((counts.fetches, counts.puts, counts.erases, counts.locks), (0, 0, 0, 0));
    Ok(())
}

/// What `T` gives through each call is the model's.
fn every_call<T: Number>() -> Outcome
where
    AnyElements<Ix2>: From<Array2<T>>,
    AnyElements<Ix1>: From<Array1<T>>,
    AnyElements<Ix0>: From<T>,
    AnyElements: From<ArrayD<T>>,
{
    let (name, model) = (T::data_type().to_string(), counted::<T>());
    let mut any = new([5, 7], &name)?;
    any.write(.., &AnyElements::from(model.clone()))?;
    let columns = any.read(s![1..4, ..;-3])?;
    assert_eq!(columns, model.slice(slice![1..4, ..;-3]).to_owned().into(), "{name}");
    assert_eq!(columns.shape(), [3, 3]);
    assert_eq!(any.read((2, ..))?, model.row(2).to_owned().into());
    let rows = any.read_many([[0..1, 0..7], [4..5, 1..3]])?;
    assert_eq!(rows[1], model.slice(slice![4..5, 1..3]).to_owned().into());
    assert_eq!(rows.len(), 2);
    // The chunk [2, 2] has one element inside the array.
    let corner = any.read_chunk(&[2, 2])?;
    assert_eq!(corner, model.slice(slice![4..5, 6..7]).to_owned().into_dyn().into());
    any.write_chunk(&[2, 2], &AnyElements::from(model.slice(slice![..1, 1..2]).to_owned()))?;
    assert_eq!(any.read((4, 6))?, model[[0, 1]].into());
    any.fill([4..5, 6..7], model[[3, 0]])?;
    assert_eq!(any.read((4, -1))?, model[[3, 0]].into());
    any.fill([0..1, 0..7], any.fill_value())?;
    assert_eq!(any.read((0, ..))?, Array1::from_elem(7, T::default()).into());
    any.append(0, &AnyElements::from(model.slice(slice![1..3, ..]).to_owned()))?;
    assert_eq!(any.shape(), [7, 7]);
    assert_eq!(any.read((6, ..))?, model.row(2).to_owned().into());
    // The same elements as another type.
    let numbers: Array2<f64> = any.read_as((1..3, ..), Cast::Checked)?;
    assert_eq!(numbers, counted::<f64>().slice(slice![1..3, ..]));
    assert_eq!(any.read_as::<u8, _>((1..3, ..), Cast::Saturating)?, counted::<u8>().slice(slice![1..3, ..]));
    Ok(())
}

#[test]
fn every_call_takes_every_number() -> Outcome {
    every_call::<i8>()?;
    every_call::<i16>()?;
    every_call::<i32>()?;
    every_call::<i64>()?;
    every_call::<u8>()?;
    every_call::<u16>()?;
    every_call::<u32>()?;
    every_call::<u64>()?;
    every_call::<f16>()?;
    every_call::<bf16>()?;
    every_call::<f32>()?;
    every_call::<f64>()
}

/// The bytes are those that the specifications give; the expected values are the same by hand.
#[test]
fn other_types_have_their_rust_types() -> Outcome {
    let made = |data_type: DataType, bytes: &[&[u8]]| {
        let any = AnyArray::builder([2]).data_type(data_type).create((MemoryStore::new(), "a"))?;
        any.write_bytes(.., &bytes.concat())?;
        any.read([0..2])
    };
    let one = [&1f32.to_ne_bytes()[..], &(-2f32).to_ne_bytes()].concat();
    assert_eq!(made(DataType::Bool, &[&[1, 0]])?, array![true, false].into());
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
    assert_eq!(made(named("float8_e4m3fn"), &[&[0x38, 0xc0]])?, array![1f32, -2.0].into());
    assert_eq!(made(named("int4"), &[&[0xf8, 7]])?, array![-8i8, 7].into());
    assert_eq!(made(named("uint2"), &[&[3, 0]])?, array![3u8, 0].into());
    let time = DataType::DateTime64 { unit: TimeUnit::Second, scale: 1 };
    assert_eq!(
        made(time, &[&7i64.to_ne_bytes(), &i64::MIN.to_ne_bytes()])?,
        array![Datetime64(7), Datetime64::NAT].into()
    );
    assert_eq!(
        made(DataType::FixedBytes { bytes: 3 }, &[b"ab\0xyz"])?,
        array![b"ab".to_vec(), b"xyz".to_vec()].into()
    );
    let text: Vec<u8> = ['ü', '\0', 'a', 'b'].iter().flat_map(|&c| u32::from(c).to_ne_bytes()).collect();
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
    for format in [Format::Zarr2, Format::Zarr3, Format::DraftA, Format::DraftB, Format::N5] {
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
            assert!(kinds.contains(&error.kind()), "{format:?} {data_type}: {error}");
        }
    }
}

#[test]
fn small_floats_are_written_only_if_they_are_exact() -> Outcome {
    let any = new([1, 3], "float4_e2m1fn")?;
    any.write(.., &AnyElements::from(array![[0.5f32, -6.0, 1.5]]))?;
    assert_eq!(any.read_bytes(..)?, [0x1, 0xf, 0x3]);
    for wrong in [0.6, f32::NAN, 100.0] {
        let error = any.write((0, ..1), &AnyElements::from(array![wrong])).expect_err("no such number");
        assert_eq!(error.kind(), ErrorKind::InvalidArgument);
        assert!(error.to_string().contains("is not a float4_e2m1fn"), "{error}");
    }
    let any = new([1, 2], "complex_bfloat16")?;
    any.write(.., &AnyElements::from(array![[Complex::new(1f32, -2.0), Complex::new(0.5, 3.0)]]))?;
    assert_eq!(any.read_bytes((0, ..1))?, [0x3f80u16.to_ne_bytes(), 0xc000u16.to_ne_bytes()].concat());
    assert!(any.fill(.., Complex::new(1.001f32, 0.0)).is_err());
    Ok(())
}

#[test]
fn values_of_variable_size() -> Outcome {
    let made = |data_type: DataType, format| {
        AnyArray::builder([3])
            .chunks([2])
            .data_type(data_type)
            .format(format)
            .create((MemoryStore::new(), "a"))
    };
    let mut texts = made(DataType::String, Format::Zarr3)?;
    texts.write([0..2], &AnyElements::from(array!["ü".to_owned(), "b".to_owned()]))?;
    texts.fill([2..3], "c")?;
    texts.append(0, &AnyElements::from(array!["d".to_owned()]))?;
    assert_eq!(texts.read([1..4])?, array!["b", "c", "d"].mapv(str::to_owned).into());
    assert_eq!(texts.fill_value(), "".into());

    let values = made(DataType::Json, Format::Zarr2)?;
    values.write(.., &AnyElements::from(array![json!({"a": 1}), json!([]), json!("x")]))?;
    assert_eq!(values.read((0,))?, json!({"a": 1}).into());

    let lists = made(DataType::VlenArray(DataType::Int { bits: 16 }.into()), Format::Zarr2)?;
    let list = [1i16, -2].map(i16::to_ne_bytes).concat();
    lists.write([1..3], &AnyElements::from(array![list.clone(), vec![]]))?;
    assert_eq!(lists.read(..)?, array![vec![], list, vec![]].into_dyn().into());
    let error = lists.fill(.., vec![1, 2, 3]).expect_err("half a number");
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    Ok(())
}

#[test]
fn structures_are_packed() -> Outcome {
    let fields = [Field::new("n", DataType::UInt { bits: 8 }), Field::new("x", DataType::Int { bits: 16 })];
    let data_type = DataType::Struct(StructType::new(fields).expect("two names"));
    for shards in [false, true] {
        let any = AnyArray::builder([4, 2]).chunks([2, 1]).data_type(data_type.clone());
        let any = if shards { any.shards([4, 2]) } else { any };
        let mut any = any.create((MemoryStore::new(), "a"))?;
        let element = |n: u8| [&[n][..], &(-i16::from(n)).to_ne_bytes()].concat();
        let bytes: Vec<u8> = (0..8).flat_map(element).collect();
        let all = Array3::from_shape_vec((4, 2, 3), bytes).expect("three bytes each");
        any.write((.., ..), &AnyElements::<Ix2>::Packed(all.clone()))?;
        assert_eq!(any.read((.., ..))?, AnyElements::Packed(all.clone()));
        assert_eq!(any.read((.., ..))?.shape(), [4, 2]);
        assert_eq!(any.read((2, 1))?, AnyElements::Packed(Array1::from(element(5))));
        assert_eq!(
            any.read(s![..;-2, 1..])?,
            AnyElements::Packed(all.slice(slice![..;-2, 1.., ..]).to_owned())
        );
        let many = any.read_many([[3..4, 0..1], [0..1, 1..2]])?;
        assert_eq!(many[1], AnyElements::Packed(Array3::from_shape_vec((1, 1, 3), element(1)).expect("one")));
        any.fill([0..4, 0..1], AnyElements::<Ix0>::Packed(Array1::from(element(9))))?;
        assert_eq!(any.read((1, 0))?, AnyElements::Packed(Array1::from(element(9))));
        any.append(1, &AnyElements::<Ix2>::Packed(all.slice(slice![.., ..1, ..]).to_owned()))?;
        assert_eq!(any.read((3, 2))?, AnyElements::Packed(Array1::from(element(6))));
        assert_eq!(any.read_field::<i16, _>("x", (3, ..))?, array![-9, -7, -6]);
    }
    Ok(())
}

#[test]
fn inner_chunks_are_written_one_by_one() -> Outcome {
    for name in ["float32", "r24"] {
        let data_type = DataType::from_name(name).expect("a type");
        let any = AnyArray::builder([4]).chunks([2]).shards([4]).data_type(data_type);
        let any = any.create((MemoryStore::new(), "a"))?;
        let elements = |n: usize| match name {
            "r24" => AnyElements::<Ix1>::Packed(Array2::from_elem((2, 3), n as u8)),
            _ => Array1::from_elem(2, n as f32).into(),
        };
        let writer = any.shard_writer(&[0])?;
        writer.write_chunk(&[1], &elements(7))?;
        let error = writer.write_chunk(&[0], &AnyElements::from(array![1u8, 2])).expect_err("another type");
        assert_eq!(error.kind(), ErrorKind::WrongType);
        assert_eq!(
            writer.write_chunk(&[2], &elements(7)).expect_err("no such").kind(),
            ErrorKind::WrongShape
        );
        writer.finish()?;
        assert_eq!(any.read_chunk(&[1])?, elements(7).into_dyn());
        assert_eq!(any.read_chunk(&[0])?, elements(0).into_dyn());
        block_on(async {
            let any = asynchronous::AnyArray::from(any.clone());
            let writer = any.shard_writer(&[0]).await?;
            writer.write_chunk(&[0], &elements(8)).await?;
            writer.finish().await?;
            assert_eq!(any.read([1..2]).await?.shape(), [1]);
            assert_eq!(any.read_chunk(&[0]).await?, elements(8).into_dyn());
            Ok::<_, ndzarr::Error>(())
        })?;
    }
    Ok(())
}

#[test]
fn asynchronous_calls_do_the_same() -> Outcome {
    let memory = MemoryStore::new();
    for storage in [
        Storage::from(memory.clone()),
        Storage::asynchronous(AsyncMemoryStore::over(memory.clone(), Latency::default())),
    ] {
        block_on(async {
            let any = asynchronous::AnyArray::builder([3, 2]).chunks([2, 2]);
            let any = any.data_type(DataType::Int { bits: 16 }).fill_value(FillRequest::Json(json!(4)));
            let mut any = any.existing(Existing::Replace).create((&storage, "a")).await?;
            assert_eq!(any.fill_value(), 4i16.into());
            any.write(s![1, ..], &AnyElements::from(array![-1i16, 300])).await?;
            any.fill((2, 0), 8i16).await?;
            assert_eq!(any.read((.., ..)).await?, array![[4i16, 4], [-1, 300], [8, 4]].into());
            assert_eq!(any.read_many([(1, 0), (2, 0)]).await?, [(-1i16).into(), 8i16.into()]);
            let floats: Array2<f32> = any.read_as((1..2, ..), Cast::Checked).await?;
            assert_eq!(floats, array![[-1.0, 300.0]]);
            let error = any.read_as::<i8, _>((1.., ..), Cast::Checked).await.expect_err("300 is too large");
            assert!(error.to_string().starts_with("300 at [0, 1] is out of range of int8"), "{error}");
            let mut memory = [0; 5];
            any.read_bytes_into((2, ..), &mut memory[1..]).await?;
            assert_eq!(memory[1..], [8i16.to_ne_bytes(), 4i16.to_ne_bytes()].concat());
            assert!(any.read_bytes_into((2, ..), &mut memory).await.is_err());
            any.write_chunk(&[1, 0], &AnyElements::from(array![[5i16, 6]])).await?;
            any.append(0, &AnyElements::from(array![[7i16, 8]])).await?;
            assert_eq!(any.read((2.., 1)).await?, array![6i16, 8].into());
            Ok::<_, ndzarr::Error>(())
        })?;
    }
    Ok(())
}

#[test]
fn one_arm_is_enough() -> Outcome {
    fn middle<T: Number>(array: &ArrayD<T>) -> f64 {
        array.iter().map(|number| number.to_f64()).sum::<f64>() / array.len() as f64
    }
    fn size<T: Number>(_: Array<T>) -> usize {
        size_of::<T>()
    }
    for (name, expected) in [("int8", 1), ("uint16", 2), ("bfloat16", 2), ("float64", 8)] {
        let any = new([5, 7], name)?;
        any.write_bytes(.., &vec![0; 35 * expected])?;
        assert_eq!(for_each_type!(any.read(..)?, |array: Number| middle(&array), _ => f64::NAN), 0.0);
        assert_eq!(for_each_type!(&any.read(..)?, |array| array.ndim()), 2);
        let n = for_each_type!(any.data_type(), T: Number => size::<T>(any.clone().typed()?), _ => 0);
        assert_eq!(n, expected, "{name}");
    }
    let texts = new([5, 7], "string")?;
    let other = for_each_type!(texts.read(..)?, |array: Number| middle(&array).to_string(), other => {
        format!("{:?}", other.shape())
    });
    assert_eq!(other, "[5, 7]");
    assert_eq!(for_each_type!(texts.data_type(), T: Number => size_of::<T>(), _ => 0), 0);
    Ok(())
}

/// By hand: 1e10 is 10,000,000,000, the greatest int32 2,147,483,647.
#[test]
fn numbers_are_converted_by_choice() -> Outcome {
    let any = new([1, 4], "float64")?;
    any.write(.., &AnyElements::from(array![[2.5, -3.5, 1e10, f64::NAN]]))?;
    assert_eq!(any.read_as::<i32, _>((0, ..), Cast::Saturating)?, array![2, -4, i32::MAX, 0]);
    assert_eq!(any.read_as::<i64, _>((0, ..3), Cast::Checked)?, array![2, -4, 10_000_000_000]);
    let error = any.read_as::<i32, _>((.., ..), Cast::Checked).expect_err("1e10 is too large");
    assert_eq!(error.kind(), ErrorKind::WrongType);
    assert!(
        error
            .to_string()
            .starts_with("10000000000.0 at [0, 2] is out of range of int32 (key \"a/zarr.json\""),
        "{error}"
    );
    let error = any.read_as::<u8, _>((0, 3), Cast::Checked).expect_err("NaN is not an integer");
    assert!(error.to_string().starts_with("NaN at [] is out of range of uint8"), "{error}");
    assert!(any.read_as::<f32, _>((0, 3), Cast::Checked)?.into_scalar().is_nan());

    let flags = new([1, 2], "bool")?;
    flags.fill((0, 1), true)?;
    assert_eq!(flags.read_as::<u8, _>((0, ..), Cast::Checked)?, array![0, 1]);
    let codes = new([1, 2], "float8_e4m3fn")?;
    codes.write_bytes(.., &[0x38, 0xc0])?;
    assert_eq!(codes.read_as::<i8, _>((0, ..), Cast::Checked)?, array![1, -2]);
    let error = new([1, 1], "string")?.read_as::<u8, _>(.., Cast::Saturating).expect_err("texts");
    assert!(error.to_string().starts_with("the elements are string, which are not real numbers"), "{error}");
    Ok(())
}

/// Also of types whose elements are held as others, as bytes, or with contents of their own; on both sides.
#[test]
fn any_elements_are_read_into() -> Outcome {
    for name in ["int16", "float8_e4m3", "complex_float8_e4m3", "r24", "string", "bool", "float64"] {
        let any = new([5, 7], name)?;
        match any.data_type() {
            DataType::Raw { .. } => any.write_bytes(.., &(0..105).collect::<Vec<u8>>())?,
            DataType::String => any.fill((2, ..), "text")?,
            DataType::Bool => any.fill((2, ..), true)?,
            DataType::SmallFloat(_) => any.fill((2, ..), 0.5f32)?,
            DataType::ComplexOf(_) => any.fill((2, ..), Complex::new(0.5f32, 1.0))?,
            DataType::Int { .. } => any.fill((2, ..), 5i16)?,
            _ => any.fill((2, ..), 5f64)?,
        }
        let expected = any.read(s![..;-2, 1..4])?;
        let mut out = any.read(s![2..5, 4..7])?;
        assert_ne!(out, expected, "{name}");
        any.read_into(s![..;-2, 1..4], &mut out)?;
        assert_eq!(out, expected, "{name}");
        let list = (vec![4_u64, 2, 2], 0..3);
        let picked = any.read(&list)?;
        any.read_into(&list, &mut out)?;
        assert_eq!(out, picked, "{name}");

        let slow = Storage::asynchronous(AsyncMemoryStore::new(Latency::default()));
        let other = AnyArray::builder([5, 7]).chunks([2, 3]).data_type(any.data_type().clone());
        let other = other.create((slow, "a"))?;
        other.write(.., &any.read(..)?)?;
        for any in [any, other] {
            let store = any.path().to_owned();
            let any = asynchronous::AnyArray::from(any);
            block_on(any.read_into(s![..;-2, 1..4], &mut out))?;
            assert_eq!(out, expected, "{name} {store}");
            let error = block_on(any.read_into((0, ..3), &mut out)).expect_err("another shape");
            assert_eq!(error.kind(), ErrorKind::WrongShape, "{name}");
            let mut wrong = AnyElements::from(Array2::from_elem((3, 3), 0u64));
            let error = block_on(any.read_into(s![..;-2, 1..4], &mut wrong)).expect_err("another type");
            assert_eq!(error.kind(), ErrorKind::WrongType, "{name}");
        }
    }
    let store = CountingStore::new(MemoryStore::new());
    let any =
        AnyArray::builder([4]).data_type(DataType::Bool).create((Storage::blocking(store.clone()), "a"))?;
    store.reset();
    let wrong = any.read_into(.., &mut AnyElements::from(array![0u8, 0, 0, 0]));
    assert_eq!(wrong.expect_err("another type").kind(), ErrorKind::WrongType);
    let wrong = any.read_into(.., &mut AnyElements::from(array![true, true]));
    assert_eq!(wrong.expect_err("another shape").kind(), ErrorKind::WrongShape);
    assert_eq!(store.reset().fetches, 0);
    Ok(())
}
