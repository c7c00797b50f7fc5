//! Arrays whose element type is known only at run time: every call of a typed array, on both sides.

use std::sync::Arc;

use half::{bf16, f16};
use ndarray::{Array1, Array2, ArrayD, Ix0, Ix1, Ix2, array, s as slice};
use ndzarr::{
    AnyArray, AnyElements, Array, Cast, DataType, Endian, ErrorKind, Existing, FillRequest, Format,
    MemoryStore, Number, Order, Points, Storage, asynchronous, codec, s,
};
use ndzarr_testkit::{AsyncMemoryStore, CountingStore, Latency, block_on};
use serde_json::json;

pub(crate) type Outcome = Result<(), ndzarr::Error>;

pub(crate) fn new(shape: [u64; 2], name: &str) -> Result<AnyArray, ndzarr::Error> {
    let data_type = DataType::from_name(name).expect("a type");
    AnyArray::builder(shape)
        .chunks([2, 3])
        .data_type(data_type)
        .create((MemoryStore::new(), "a"))
}

/// 0 to 34 in five rows.
fn counted<T: Number>() -> Array2<T> {
    Array2::from_shape_fn((5, 7), |(y, x)| {
        T::from_f64((y * 7 + x) as f64, Cast::Checked).expect("it fits")
    })
}

#[test]
fn packed_bytes_take_any_selection() -> Outcome {
    for (format, order, endian) in [
        (Format::Zarr3, Order::C, Endian::Little),
        (Format::Zarr3, Order::F, Endian::Big),
        (Format::Zarr2, Order::F, Endian::Big),
        (Format::N5, Order::C, Endian::Big),
    ] {
        let a = Array::<u32>::builder([5, 7])
            .chunks([2, 3])
            .format(format)
            .order(order);
        let a = if format == Format::N5 {
            a
        } else {
            a.endian(endian)
        };
        let a = a
            .codecs([codec::gzip(1)])
            .create((MemoryStore::new(), "a"))?;
        let any = AnyArray::from(a);
        let mut model = counted::<u32>();
        let native = |elements: ndarray::ArrayView2<'_, u32>| -> Vec<u8> {
            elements
                .iter()
                .flat_map(|number| number.to_ne_bytes())
                .collect()
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
        assert_eq!(
            memory[1..],
            [33u32.to_ne_bytes(), 34u32.to_ne_bytes()].concat()
        );
        // Every second column from the end, so that no chunk is covered.
        let columns = Array2::from_shape_fn((5, 3), |(y, x)| (1000 + y * 3 + x) as u32);
        any.write_bytes(s![.., 1..;-2], &native(columns.view()))?;
        model.slice_mut(slice![.., 1..;-2]).assign(&columns);
        assert_eq!(
            any.read_bytes(..)?,
            native(model.view()),
            "{format} {order:?}"
        );
    }
    Ok(())
}

/// Lists in any order, points and masks; the expected values are of NumPy's rules, by hand.
#[test]
fn every_kind_of_selection_takes_bytes_and_elements() -> Outcome {
    for name in ["uint16", "complex128", "r24", "bool", "r40", "fixed"] {
        let data_type = DataType::from_name(name).unwrap_or(DataType::FixedBytes { bytes: 2 });
        let size = data_type.elem_size().expect("a fixed size");
        let any = AnyArray::builder([4, 3])
            .chunks([2, 2])
            .data_type(data_type);
        let any = any.create((MemoryStore::new(), "a"))?;
        // Each byte of element n is n; a bool is true if n is odd.
        let byte = |n: u8| if name == "bool" { n % 2 } else { n };
        let bytes = |numbers: &[u8]| -> Vec<u8> {
            numbers.iter().flat_map(|&n| vec![byte(n); size]).collect()
        };
        any.write_bytes(.., &bytes(&(0..12).collect::<Vec<u8>>()))?;

        let lists = (vec![3, 0, 3], vec![2, 1]);
        assert_eq!(
            any.read_bytes(lists.clone())?,
            bytes(&[11, 10, 2, 1, 11, 10]),
            "{name}"
        );
        assert_eq!(any.read_bytes((vec![0, 3], 1))?, bytes(&[1, 10]));
        let points = Points::new([[2, 1], [0, 0], [-1, 2], [2, 1]]);
        assert_eq!(any.read_bytes(&points)?, bytes(&[7, 0, 11, 7]));
        let mask = Array2::from_shape_fn((4, 3), |(y, x)| y == 1 && x > 0 || y == 3);
        assert_eq!(any.read_bytes(&mask)?, bytes(&[4, 5, 9, 10, 11]));
        let mut memory = vec![0xff; 4 * size + 1];
        any.read_bytes_into(&points, &mut memory[1..])?;
        assert_eq!(memory[1..], bytes(&[7, 0, 11, 7]));
        assert_eq!(any.read(&points)?.shape(), [4]);
        assert_eq!(
            any.read(lists)?,
            any.read_many([(vec![3, 0, 3], vec![2, 1])])?.remove(0)
        );

        any.write_bytes((vec![1, 0], vec![2, 0]), &bytes(&[20, 21, 22, 23]))?;
        any.write_bytes(Points::new([[2, 2], [3, 0], [2, 2]]), &bytes(&[30, 31, 32]))?;
        assert_eq!(
            any.read_bytes(..)?,
            bytes(&[23, 1, 22, 21, 4, 20, 6, 7, 32, 31, 10, 11]),
            "{name}"
        );
        let elements = any.read(&points)?;
        any.write(Points::new([[0, 0], [0, 1], [0, 2], [1, 0]]), &elements)?;
        assert_eq!(any.read_bytes([0..2, 0..3])?, bytes(&[7, 23, 11, 7, 4, 20]));
        any.fill(&mask, any.fill_value())?;
        assert_eq!(
            any.read_bytes([1..2, 0..3])?,
            [bytes(&[7]), vec![0; 2 * size]].concat()
        );
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
        any.read_bytes_into(.., &mut [0; 31])
            .expect_err("too short"),
        any.write_bytes([0..2], &[0; 17]).expect_err("too long"),
        any.write([0..2], &AnyElements::from(array![1.0]))
            .expect_err("too short"),
        any.write(.., &AnyElements::<Ix1>::Packed(Array2::zeros((4, 4))))
            .expect_err("of another size"),
        any.write_chunk(&[0], &AnyElements::from(array![1.0]))
            .expect_err("too short"),
    ] {
        assert_eq!(error.kind(), ErrorKind::WrongShape, "{error}");
    }
    for error in [
        any.write([0..1], &AnyElements::from(array![1f32]))
            .expect_err("another type"),
        any.fill([0..1], 1i64).expect_err("another type"),
        any.append(0, &AnyElements::from(array!["a".to_owned()]))
            .expect_err("another type"),
    ] {
        assert_eq!(error.kind(), ErrorKind::WrongType, "{error}");
        assert!(
            error
                .to_string()
                .starts_with("the elements are float64, not "),
            "{error}"
        );
    }
    let counts = store.counts();
    assert_eq!(
        (counts.fetches, counts.puts, counts.erases, counts.locks),
        (0, 0, 0, 0)
    );
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
    let name = T::data_type().to_string();
    let model = counted::<T>();
    let mut any = new([5, 7], &name)?;
    any.write(.., &AnyElements::from(model.clone()))?;
    let columns = any.read(s![1..4, ..;-3])?;
    assert_eq!(
        columns,
        model.slice(slice![1..4, ..;-3]).to_owned().into(),
        "{name}"
    );
    assert_eq!(columns.shape(), [3, 3]);
    assert_eq!(any.read((2, ..))?, model.row(2).to_owned().into());
    let rows = any.read_many([[0..1, 0..7], [4..5, 1..3]])?;
    assert_eq!(rows[1], model.slice(slice![4..5, 1..3]).to_owned().into());
    assert_eq!(rows.len(), 2);
    // The chunk [2, 2] has one element inside the array.
    let corner = any.read_chunk(&[2, 2])?;
    assert_eq!(
        corner,
        model.slice(slice![4..5, 6..7]).to_owned().into_dyn().into()
    );
    any.write_chunk(
        &[2, 2],
        &AnyElements::from(model.slice(slice![..1, 1..2]).to_owned()),
    )?;
    assert_eq!(any.read((4, 6))?, model[[0, 1]].into());
    any.fill([4..5, 6..7], model[[3, 0]])?;
    assert_eq!(any.read((4, -1))?, model[[3, 0]].into());
    any.fill([0..1, 0..7], any.fill_value())?;
    assert_eq!(
        any.read((0, ..))?,
        Array1::from_elem(7, T::default()).into()
    );
    any.append(
        0,
        &AnyElements::from(model.slice(slice![1..3, ..]).to_owned()),
    )?;
    assert_eq!(any.shape(), [7, 7]);
    assert_eq!(any.read((6, ..))?, model.row(2).to_owned().into());
    // The same elements as another type.
    let numbers: Array2<f64> = any.read_as((1..3, ..), Cast::Checked)?;
    assert_eq!(numbers, counted::<f64>().slice(slice![1..3, ..]));
    assert_eq!(
        any.read_as::<u8, _>((1..3, ..), Cast::Saturating)?,
        counted::<u8>().slice(slice![1..3, ..])
    );
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

#[test]
fn inner_chunks_are_written_one_by_one() -> Outcome {
    for name in ["float32", "r24"] {
        let data_type = DataType::from_name(name).expect("a type");
        let any = AnyArray::builder([4])
            .chunks([2])
            .shards([4])
            .data_type(data_type);
        let any = any.create((MemoryStore::new(), "a"))?;
        let elements = |n: usize| match name {
            "r24" => AnyElements::<Ix1>::Packed(Array2::from_elem((2, 3), n as u8)),
            _ => Array1::from_elem(2, n as f32).into(),
        };
        let writer = any.shard_writer(&[0])?;
        writer.write_chunk(&[1], &elements(7))?;
        let error = writer
            .write_chunk(&[0], &AnyElements::from(array![1u8, 2]))
            .expect_err("another type");
        assert_eq!(error.kind(), ErrorKind::WrongType);
        assert_eq!(
            writer
                .write_chunk(&[2], &elements(7))
                .expect_err("no such")
                .kind(),
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
            let any = any
                .data_type(DataType::Int { bits: 16 })
                .fill_value(FillRequest::Json(json!(4)));
            let mut any = any
                .existing(Existing::Replace)
                .create((&storage, "a"))
                .await?;
            assert_eq!(any.fill_value(), 4i16.into());
            any.write(s![1, ..], &AnyElements::from(array![-1i16, 300]))
                .await?;
            any.fill((2, 0), 8i16).await?;
            assert_eq!(
                any.read((.., ..)).await?,
                array![[4i16, 4], [-1, 300], [8, 4]].into()
            );
            assert_eq!(
                any.read_many([(1, 0), (2, 0)]).await?,
                [(-1i16).into(), 8i16.into()]
            );
            let floats: Array2<f32> = any.read_as((1..2, ..), Cast::Checked).await?;
            assert_eq!(floats, array![[-1.0, 300.0]]);
            let error = any
                .read_as::<i8, _>((1.., ..), Cast::Checked)
                .await
                .expect_err("300 is too large");
            assert!(
                error
                    .to_string()
                    .starts_with("300 at [0, 1] is out of range of int8"),
                "{error}"
            );
            let mut memory = [0; 5];
            any.read_bytes_into((2, ..), &mut memory[1..]).await?;
            assert_eq!(
                memory[1..],
                [8i16.to_ne_bytes(), 4i16.to_ne_bytes()].concat()
            );
            assert!(any.read_bytes_into((2, ..), &mut memory).await.is_err());
            any.write_chunk(&[1, 0], &AnyElements::from(array![[5i16, 6]]))
                .await?;
            any.append(0, &AnyElements::from(array![[7i16, 8]])).await?;
            assert_eq!(any.read((2.., 1)).await?, array![6i16, 8].into());
            Ok::<_, ndzarr::Error>(())
        })?;
    }
    Ok(())
}
