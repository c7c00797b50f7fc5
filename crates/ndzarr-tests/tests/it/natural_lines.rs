//! Selections and data as users write them at the first attempt.

use ndarray::{Array1, Array2, ArrayD, array};
use ndzarr::{Array, ErrorKind, MemoryStore, Region, asynchronous, s};
use ndzarr_testkit::block_on;

/// 3 rows of 4 elements, counted from 0.
fn counted() -> Array<i16> {
    let a = Array::<i16>::builder([3, 4])
        .chunks([2, 2])
        .create((MemoryStore::new(), "a"))
        .expect("created");
    a.write(
        ..,
        &Array2::from_shape_fn((3, 4), |(row, column)| (4 * row + column) as i16),
    )
    .expect("written");
    a
}

#[test]
fn ranges_of_any_integer_select_the_same() {
    let a = counted();
    let expected = array![[1, 2], [5, 6]];
    let rows = 2_usize;
    let columns = 3_u64;
    let last = -1;
    assert_eq!(a.read([0..2, 1..3]).expect("read"), expected);
    assert_eq!(a.read([0..rows, 1..3]).expect("read"), expected);
    assert_eq!(a.read([0..2, 1..columns]).expect("read"), expected);
    assert_eq!(a.read((0..rows, 1..columns)).expect("read"), expected);
    assert_eq!(a.read((..2_i64, 1..last)).expect("read"), expected);
    assert_eq!(a.read((..=1_u32, 1..=2)).expect("read"), expected);
    assert_eq!(a.read((..-1, 1..columns)).expect("read"), expected);
    assert_eq!(
        a.read(s![0..a.shape()[0] - 1, 1..columns]).expect("read"),
        expected
    );
}

#[test]
fn ranges_whose_number_is_known_at_run_time_select_the_same() {
    let a = counted();
    let expected = array![[1, 2], [5, 6]].into_dyn();
    let ranges = vec![0..2, 1..3];
    assert_eq!(a.read(&ranges).expect("read"), expected);
    assert_eq!(a.read(&ranges[..]).expect("read"), expected);
    assert_eq!(a.read(ranges).expect("read"), expected);
    assert_eq!(a.read(&[0..2, 1..3]).expect("read").into_dyn(), expected);
    assert_eq!(a.read(&[0..2_usize, 1..3][..]).expect("read"), expected);
    assert_eq!(a.read(Region::new([0..2, 1..3])).expect("read"), expected);
}

#[test]
fn tuples_say_the_number_of_dimensions() {
    let a = counted();
    let all: Array2<i16> = a.read((.., ..)).expect("read");
    assert_eq!(all.shape(), [3, 4]);
    let row: Array1<i16> = a.read((2, ..)).expect("read");
    assert_eq!(row, array![8, 9, 10, 11]);
    assert_eq!(a.read((.., -1)).expect("read"), array![3, 7, 11]);
    assert_eq!(a.read((1_usize, 2_u64)).expect("read"), ndarray::arr0(6));
    assert_eq!(
        a.read((1.., ndarray::NewAxis, 0)).expect("read"),
        array![[4], [8]]
    );
    assert_eq!(
        a.read((ndarray::Slice::from(..).step_by(-2), 0))
            .expect("read"),
        array![8, 0]
    );
    // The dimensions are known to the compiler before the integers are.
    let part = a.read((1..3, ..2)).expect("read");
    let row = a.read(s![1, 2..]).expect("read");
    assert_eq!(
        (
            part[[1, 1]],
            row[[0]],
            a.read(s![0..2, 1..]).expect("read")[[1, 2]]
        ),
        (9, 6, 7)
    );
    let n = a.shape()[0];
    assert_eq!(a.read(s![n - 1, ..;2]).expect("read"), array![8, 10]);
}

#[test]
fn a_chunk_is_a_selection() {
    let a = counted();
    let blocks: Vec<ArrayD<i16>> = a
        .chunks()
        .map(|chunk| a.read(chunk).expect("read"))
        .collect();
    assert_eq!(blocks[1], array![[2, 3], [6, 7]].into_dyn());
    assert_eq!(blocks[2], array![[8, 9]].into_dyn());
    for chunk in a.chunks() {
        a.fill(&chunk, chunk.index[1] as i16).expect("filled");
    }
    assert_eq!(a.read((0, ..)).expect("read"), array![0, 0, 1, 1]);
}

#[test]
fn data_of_any_kind_is_written() {
    let a = counted();
    let column = vec![1, 2, 3];
    a.write((.., 0), &column).expect("a vector");
    a.write((.., 1), &[4, 5, 6]).expect("an array of Rust");
    a.write((.., 2), &column[..]).expect("a slice");
    a.write([0..3, 3..4], &array![[7], [8], [9]].view().into_dyn())
        .expect("a view");
    assert_eq!(
        a.read((.., ..)).expect("read"),
        array![[1, 4, 1, 7], [2, 5, 2, 8], [3, 6, 3, 9]]
    );
    a.write_chunk(&[1, 0], &array![[10, 20]]).expect("two axes");
    a.write(vec![0..1, 0..2], &array![[30, 40]])
        .expect("two axes");
    assert_eq!(
        a.read((.., ..2)).expect("read"),
        array![[30, 40], [2, 5], [10, 20]]
    );
    let mut out = ArrayD::zeros(vec![3, 2]);
    a.read_into((.., ..2), &mut out).expect("read");
    assert_eq!(out, a.read((.., ..2)).expect("read").into_dyn());
    let mut log = Array::<i16>::builder([0])
        .create((MemoryStore::new(), "log"))
        .expect("created");
    log.append(0, &column).expect("appended");
    assert_eq!(log.shape(), [3]);
}

#[test]
fn futures_take_selections_and_data_of_any_kind() {
    let a = asynchronous::Array::from(counted());
    block_on(async {
        a.write((.., 0), &vec![1, 2, 3]).await.expect("written");
        assert_eq!(a.read((..2, 0)).await.expect("read"), array![1, 2]);
        a.write_chunk(&[1, 0], &array![[10, 20]])
            .await
            .expect("written");
        let mut out = ArrayD::zeros(vec![2]);
        a.read_into((2, ..2_u64), &mut out).await.expect("read");
        assert_eq!(out, array![10, 20].into_dyn());
    });
}

#[test]
fn what_is_outside_is_an_error_and_never_wraps_around() {
    let a = counted();
    let kind = |result: ndzarr::Result<()>| result.expect_err("it is outside").kind();
    let most = u64::MAX;
    assert_eq!(
        kind(a.read((most - 1.., ..)).map(drop)),
        ErrorKind::WrongShape
    );
    assert_eq!(kind(a.read((most, ..)).map(drop)), ErrorKind::WrongShape);
    assert_eq!(
        kind(a.read(s![most - 1.., ..]).map(drop)),
        ErrorKind::WrongShape
    );
    assert_eq!(kind(a.read(s![most, ..]).map(drop)), ErrorKind::WrongShape);
    assert_eq!(
        kind(a.read((i64::MIN, ..)).map(drop)),
        ErrorKind::WrongShape
    );
    assert_eq!(kind(a.read((.., 0..5)).map(drop)), ErrorKind::WrongShape);
    assert_eq!(kind(a.read((-4, ..)).map(drop)), ErrorKind::WrongShape);
    assert_eq!(kind(a.read((.., .., ..)).map(drop)), ErrorKind::WrongShape);
    assert_eq!(kind(a.write((.., 0), &vec![1, 2])), ErrorKind::WrongShape);
    assert_eq!(kind(a.write((.., ..), &vec![0; 12])), ErrorKind::WrongShape);
    // As in NumPy, a range that ends before it starts is empty.
    let start = 2;
    let end = 1;
    assert_eq!(a.read((start..end, ..)).expect("read").shape(), [0, 4]);
}

#[test]
fn the_end_of_a_huge_axis_is_selected() {
    let a = Array::<u8>::builder([u64::MAX])
        .chunks([1 << 20])
        .create((MemoryStore::new(), "a"));
    let a = a.expect("created");
    a.write([u64::MAX - 2..u64::MAX], &[1, 2]).expect("written");
    assert_eq!(a.read((-2..,)).expect("read"), array![1, 2]);
    assert_eq!(a.read((u64::MAX - 1,)).expect("read"), ndarray::arr0(2));
    // ndarray's slices do not reach so far.
    let beyond = a
        .read(s![u64::MAX - 1..])
        .expect_err("it does not fit isize");
    assert_eq!(beyond.kind(), ErrorKind::WrongShape);
    assert_eq!(
        a.read(s![u64::MAX - 1]).expect_err("nor does this").kind(),
        ErrorKind::WrongShape
    );
}

#[test]
fn shapes_of_any_kind_create_arrays() {
    let data = Array2::<i16>::zeros((3, 4));
    for builder in [
        Array::<i16>::builder([3, 4]),
        Array::<i16>::builder((3, 4)),
        Array::<i16>::builder(data.shape()),
        Array::<i16>::builder(data.raw_dim()),
        Array::<i16>::builder(vec![3, 4]),
    ] {
        let mut a = builder
            .chunks((2, 2))
            .create((MemoryStore::new(), "a"))
            .expect("created");
        assert_eq!((a.shape(), a.chunk_shape()), (&[3, 4][..], vec![2, 2]));
        a.resize(data.t().shape()).expect("resized");
        assert_eq!(a.shape(), [4, 3]);
    }
}
