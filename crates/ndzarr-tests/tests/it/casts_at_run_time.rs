//! Numbers whose type is known at run time, converted or taken as any type.

use ndarray::{Array2, ArrayD, array};
use ndzarr::{
    AnyArray, AnyElements, Array, Cast, DataType, ErrorKind, MemoryStore, Number, Storage,
    asynchronous, for_each_type, s,
};
use ndzarr_testkit::{AsyncMemoryStore, CountingStore, Latency, block_on};
use num_complex::Complex;

use crate::types_at_run_time::{Outcome, new};

#[test]
fn for_each_type_needs_one_arm_for_all_types() -> Outcome {
    fn middle<T: Number>(array: &ArrayD<T>) -> f64 {
        array.iter().map(|number| number.to_f64()).sum::<f64>() / array.len() as f64
    }
    fn size<T: Number>(_: Array<T>) -> usize {
        size_of::<T>()
    }
    for (name, expected) in [("int8", 1), ("uint16", 2), ("bfloat16", 2), ("float64", 8)] {
        let any = new([5, 7], name)?;
        any.write_bytes(.., &vec![0; 35 * expected])?;
        assert_eq!(
            for_each_type!(any.read(..)?, |array: Number| middle(&array), _ => f64::NAN),
            0.0
        );
        assert_eq!(for_each_type!(&any.read(..)?, |array| array.ndim()), 2);
        let n =
            for_each_type!(any.data_type(), T: Number => size::<T>(any.clone().typed()?), _ => 0);
        assert_eq!(n, expected, "{name}");
    }
    let texts = new([5, 7], "string")?;
    let other = for_each_type!(texts.read(..)?, |array: Number| middle(&array).to_string(), other => {
        format!("{:?}", other.shape())
    });
    assert_eq!(other, "[5, 7]");
    assert_eq!(
        for_each_type!(texts.data_type(), T: Number => size_of::<T>(), _ => 0),
        0
    );
    Ok(())
}

/// By hand: 1e10 is 10,000,000,000, the greatest int32 2,147,483,647.
#[test]
fn numbers_are_converted_by_choice() -> Outcome {
    let any = new([1, 4], "float64")?;
    any.write(.., &AnyElements::from(array![[2.5, -3.5, 1e10, f64::NAN]]))?;
    assert_eq!(
        any.read_as::<i32, _>((0, ..), Cast::Saturating)?,
        array![2, -4, i32::MAX, 0]
    );
    assert_eq!(
        any.read_as::<i64, _>((0, ..3), Cast::Checked)?,
        array![2, -4, 10_000_000_000]
    );
    let error = any
        .read_as::<i32, _>((.., ..), Cast::Checked)
        .expect_err("1e10 is too large");
    assert_eq!(error.kind(), ErrorKind::WrongType);
    assert!(
        error
            .to_string()
            .starts_with("10000000000.0 at [0, 2] is out of range of int32 (key \"a/zarr.json\""),
        "{error}"
    );
    let error = any
        .read_as::<u8, _>((0, 3), Cast::Checked)
        .expect_err("NaN is not an integer");
    assert!(
        error
            .to_string()
            .starts_with("NaN at [] is out of range of uint8"),
        "{error}"
    );
    assert!(
        any.read_as::<f32, _>((0, 3), Cast::Checked)?
            .into_scalar()
            .is_nan()
    );

    let flags = new([1, 2], "bool")?;
    flags.fill((0, 1), true)?;
    assert_eq!(
        flags.read_as::<u8, _>((0, ..), Cast::Checked)?,
        array![0, 1]
    );
    let codes = new([1, 2], "float8_e4m3fn")?;
    codes.write_bytes(.., &[0x38, 0xc0])?;
    assert_eq!(
        codes.read_as::<i8, _>((0, ..), Cast::Checked)?,
        array![1, -2]
    );
    let error = new([1, 1], "string")?
        .read_as::<u8, _>(.., Cast::Saturating)
        .expect_err("texts");
    assert!(
        error
            .to_string()
            .starts_with("the elements are string, which are not real numbers"),
        "{error}"
    );
    Ok(())
}

/// Also of types whose elements are held as others, as bytes, or with contents of their own; on
/// both sides.
#[test]
fn any_elements_are_read_into() -> Outcome {
    for name in [
        "int16",
        "float8_e4m3",
        "complex_float8_e4m3",
        "r24",
        "string",
        "bool",
        "float64",
    ] {
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
        let other = AnyArray::builder([5, 7])
            .chunks([2, 3])
            .data_type(any.data_type().clone());
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
            let error =
                block_on(any.read_into(s![..;-2, 1..4], &mut wrong)).expect_err("another type");
            assert_eq!(error.kind(), ErrorKind::WrongType, "{name}");
        }
    }
    let store = CountingStore::new(MemoryStore::new());
    let any = AnyArray::builder([4])
        .data_type(DataType::Bool)
        .create((Storage::blocking(store.clone()), "a"))?;
    store.reset();
    let wrong = any.read_into(.., &mut AnyElements::from(array![0u8, 0, 0, 0]));
    assert_eq!(
        wrong.expect_err("another type").kind(),
        ErrorKind::WrongType
    );
    let wrong = any.read_into(.., &mut AnyElements::from(array![true, true]));
    assert_eq!(
        wrong.expect_err("another shape").kind(),
        ErrorKind::WrongShape
    );
    assert_eq!(store.reset().fetches, 0);
    Ok(())
}
