//! Arrays with custom chunk grids grow, shrink and refuse.

use ndarray::{Array2, ArrayD, IxDyn, arr1, s};
use ndzarr::{Array, CustomChunkGrid, ErrorKind, MemoryStore, Storage};
use ndzarr_testkit::AsyncMemoryStore;
use serde_json::json;

use crate::custom_grids::{bounded, document, listed, new_seasons, numbered, open};

#[test]
fn shrinking_trims_and_removes_and_growing_shows_nothing_old() {
    for storage in [
        Storage::from(MemoryStore::new()),
        Storage::asynchronous(AsyncMemoryStore::default()),
    ] {
        let new = Array::<u16>::builder([6, 9]).chunk_grid(new_seasons(&[2, 3, 1, 4], 4));
        let mut a = new.create((&storage, "a")).expect("created");
        let numbers = numbered(6, 9);
        a.write([0..6, 0..9], &numbers).expect("written");
        a.resize([4, 5]).expect("resized");
        assert_eq!(
            a.read([0..4, 0..5]).expect("read"),
            numbers.slice(s![..4, ..5])
        );
        a.resize([6, 9]).expect("resized");
        let mut expected = numbers.clone();
        expected.slice_mut(s![4.., ..]).fill(0);
        expected.slice_mut(s![.., 5..]).fill(0);
        assert_eq!(a.read([0..6, 0..9]).expect("read"), expected);
        a.append(1, &Array2::ones((6, 3)).into_dyn())
            .expect("appended");
        a.append(0, &Array2::from_elem((7, 12), 2).into_dyn())
            .expect("appended");
        let a = open(&storage, "a").expect("opens");
        assert_eq!(a.shape(), [13, 12]);
        assert_eq!(a.read([0..6, 0..9]).expect("read"), expected);
        assert_eq!(
            a.read([0..6, 9..12]).expect("read"),
            Array2::<u16>::ones((6, 3))
        );
        assert_eq!(
            a.read([6..13, 0..12]).expect("read"),
            Array2::<u16>::from_elem((7, 12), 2)
        );
        // 2, 3, 1, 4 and 4 rows.
        assert_eq!(a.chunks().grid_shape(), [5, 3]);
    }
}

#[test]
fn an_array_grows_to_the_end_of_its_list_and_no_further() {
    let store = MemoryStore::new();
    let grid = CustomChunkGrid::new("example.three", [listed(&[(2, 1), (3, 1), (4, 1)])]);
    let mut a = Array::<u8>::builder([4])
        .chunk_grid(grid)
        .create((&store, "a"))
        .expect("created");
    a.write(.., &arr1(&[1, 2, 3, 4])).expect("written");
    a.append(0, &arr1(&[5, 6, 7, 8, 9]).into_dyn())
        .expect("appended");
    for refused in [a.resize([10]), a.append(0, &arr1(&[10]).into_dyn())] {
        let error = refused.expect_err("has to be refused");
        assert_eq!(error.kind(), ErrorKind::WrongShape);
        assert!(
            error
                .to_string()
                .contains("chunks of 9 elements along axis 0, which has 10"),
            "{error}"
        );
    }
    assert_eq!(document(&store, "a")["shape"], json!([9]));
    assert_eq!(
        a.read([0..a.shape()[0]]).expect("read").to_vec(),
        [1, 2, 3, 4, 5, 6, 7, 8, 9]
    );
    a.resize([3]).expect("resized");
    a.resize([9]).expect("resized");
    assert_eq!(
        a.read([0..a.shape()[0]]).expect("read").to_vec(),
        [1, 2, 3, 0, 0, 0, 0, 0, 0]
    );
}

#[test]
fn axes_without_elements_have_no_chunks() {
    for storage in [
        Storage::from(MemoryStore::new()),
        Storage::asynchronous(AsyncMemoryStore::default()),
    ] {
        let grid = CustomChunkGrid::new("example.none", [listed(&[]), listed(&[(2, 3)])]);
        let a = Array::<u8>::builder([0, 5])
            .chunk_grid(grid)
            .create((&storage, "none"))
            .expect("created");
        assert_eq!(
            (a.chunks().count(), a.chunks().grid_shape()),
            (0, vec![0, 3])
        );
        assert_eq!(a.read(..).expect("read").shape(), [0, 5]);
        a.write(.., &Array2::<u8>::zeros((0, 5)).into_dyn())
            .expect("nothing to write");

        let new = Array::<u16>::builder([0, 5]).chunk_grid(new_seasons(&[1, 2], 3));
        let mut a = new.create((&storage, "a")).expect("created");
        a.append(0, &numbered(4, 5).into_dyn()).expect("appended");
        a.resize([4, 0]).expect("resized");
        assert_eq!(a.chunks().count(), 0);
        a.resize([4, 5]).expect("resized");
        assert_eq!(
            a.read(..).expect("read"),
            ArrayD::<u16>::zeros(IxDyn(&[4, 5]))
        );
    }
    let scalar = CustomChunkGrid::new("example.scalar", []);
    let a = Array::<u8>::builder([])
        .chunk_grid(scalar)
        .create((MemoryStore::new(), "a"))
        .expect("created");
    a.fill(.., 7).expect("written");
    assert_eq!(a.read(..).expect("read").sum(), 7);
}

/// A grid whose chunks change with the shape would show elements in other places after a resize.
#[test]
fn an_array_whose_chunks_would_change_is_not_resized() {
    let store = MemoryStore::new();
    let new = Array::<u16>::builder([6]).chunk_grid(bounded(&[6]));
    new.create((&store, "a")).expect("created");
    let mut a = open(&store, "a").expect("opens");
    a.write(.., &arr1(&[1, 2, 3, 4, 5, 6])).expect("written");
    assert_eq!(
        store.get("a/c/1").map(|value| value.len()),
        Some(4),
        "two elements"
    );
    let before = document(&store, "a");
    for shape in [7, 5] {
        a.resize([shape]).expect_err("has to be refused");
    }
    a.append(0, &arr1(&[7]).into_dyn())
        .expect_err("has to be refused");
    assert_eq!(document(&store, "a"), before);
    assert_eq!(
        a.read([0..a.shape()[0]]).expect("read").to_vec(),
        [1, 2, 3, 4, 5, 6]
    );
    // Both shapes have the first chunk, and only that.
    a.resize([4]).expect("resized");
    assert_eq!(store.get("a/c/1"), None);
    // More chunks for a larger shape are no change.
    a.resize([10]).expect("resized");
    a.write([8..10], &arr1(&[9, 10])).expect("written");
    assert_eq!(
        store.get("a/c/2").map(|value| value.len()),
        Some(4),
        "two elements"
    );
    let a = open(&store, "a").expect("opens");
    assert_eq!(
        a.read([0..a.shape()[0]]).expect("read").to_vec(),
        [1, 2, 3, 4, 0, 0, 0, 0, 9, 10]
    );
}
