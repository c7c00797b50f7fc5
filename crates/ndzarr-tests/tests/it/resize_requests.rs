//! What resizing and appending read, write and list.

use ndarray::{Array1, Array2, ArrayD, array};
use ndzarr::{Any, Array, ErrorKind, MemoryStore, N5Axes, Storage, s};

use crate::requests::counting;
use crate::resize::{FORMS, Listless};

#[test]
fn growing_touches_only_the_document() {
    for form in &FORMS {
        let (store, storage) = counting();
        let mut a = form.1(Array::<u16>::builder([7, 5, 9]).chunks([3, 2, 4]))
            .create((&storage, "a"))
            .expect("new");
        a.fill([0..7, 0..5, 0..9], 3).expect("a write");
        store.reset();
        a.resize([8, 5, 1 << 60]).expect("a resize");
        let counts = store.counts();
        // For Zarr v3, the group above is read: it may have a copy of the document.
        let fetches = 1 + u64::from(a.format() == ndzarr::Format::Zarr3);
        assert_eq!(
            (counts.fetches, counts.puts, counts.erases, counts.lists),
            (fetches, 1, 0, 0),
            "{}",
            form.0
        );
        assert_eq!(a.shape(), [8, 5, 1 << 60]);
    }
}

#[test]
fn no_call_enumerates_the_grid() {
    for form in &FORMS {
        let (store, storage) = counting();
        let huge = [1 << 60, 1 << 60, 1 << 60];
        let mut a = form.1(Array::<u16>::builder(huge).chunks([3, 2, 4]))
            .create((&storage, "a"))
            .expect("new");
        let far = (1u64 << 60) - 2;
        a.fill([far..far + 2, 0..1, 0..1], 3).expect("a write");
        a.fill([0..9, 0..1, 0..1], 4).expect("a write");
        store.reset();
        a.resize([5, 1 << 59, 1]).expect("a resize");
        let counts = store.counts();
        assert!(
            counts.fetches <= 8 && counts.lists <= 40 && counts.erases <= 4,
            "{}: {counts:?}",
            form.0
        );
        a.resize(huge).expect("a resize");
        let read: Array1<u16> = a.read(s![0..9, 0, 0]).expect("it can be read");
        let fill = a.fill_value();
        assert_eq!(
            read,
            array![4, 4, 4, 4, 4, fill, fill, fill, fill],
            "{}",
            form.0
        );
        assert_eq!(
            a.read(&[far..far + 2, 0..1, 0..1][..])
                .expect("it can be read")
                .sum(),
            2 * fill
        );
    }
    // A store that cannot list refuses before anything is changed.
    let storage = Storage::blocking(Listless(MemoryStore::new()));
    let mut a = Array::<u8>::builder([1 << 60])
        .chunks([1])
        .create((&storage, "a"))
        .expect("a new array");
    let error = a.resize([1]).expect_err("too many to be tried");
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert_eq!(
        Array::<u8>::open((&storage, "a"))
            .expect("it exists")
            .shape(),
        [1 << 60]
    );
    a.resize([(1 << 60) - 1000]).expect("few enough");
}

#[test]
fn appending_touches_only_what_it_adds() {
    let (store, storage) = counting();
    let mut a = Array::<u16>::builder([4, 6])
        .chunks([2, 3])
        .create((&storage, "a"))
        .expect("a new array");
    a.fill([0..4, 0..6], 1).expect("a write");
    store.reset();
    a.append(0, &Array2::from_elem((2, 6), 2))
        .expect("an append");
    let counts = store.counts();
    // The document and that of the group above, and two new chunks: no old ones.
    assert_eq!(
        (counts.fetches, counts.puts, counts.lists),
        (2, 3, 0),
        "{counts:?}"
    );
    a.append(0, &Array2::from_elem((1, 6), 3))
        .expect("an append");
    store.reset();
    a.append(0, &Array2::from_elem((1, 6), 4))
        .expect("an append");
    let counts = store.counts();
    // Two chunks that were half full.
    assert_eq!(
        (counts.fetches, counts.puts, counts.lists),
        (4, 3, 0),
        "{counts:?}"
    );
    assert_eq!(
        a.read(s![.., 5]).expect("it can be read"),
        array![1, 1, 1, 1, 2, 2, 3, 4]
    );
}

#[test]
fn resizing_to_the_same_shape_tidies_up() {
    for form in &FORMS {
        let store = MemoryStore::new();
        let mut a = form.1(Array::<u16>::builder([7, 5, 9]).chunks([3, 2, 4]))
            .create((&store, "a"))
            .expect("new");
        let document = (store.keys().into_iter())
            .filter(|key| {
                store.get(key).is_some_and(|value| value.starts_with(b"{")) && key.contains('a')
            })
            .find(|key| String::from_utf8_lossy(&store.get(key).expect("it exists")).contains('9'))
            .expect("a document with the shape");
        let small = store.get(&document).expect("it exists");
        a.resize([9, 9, 12]).expect("a resize");
        a.fill([0..9, 0..9, 0..12], 3).expect("a write");
        // As if the process had been killed between the document and the chunks.
        store.set(&document, small).expect("a key");
        let options = ndzarr::OpenOptions::new().n5_axes(if form.0 == "n5 reversed" {
            N5Axes::Reversed
        } else {
            N5Axes::Native
        });
        let mut a = options.open_array::<Any>((&store, "a")).expect("it exists");
        a.resize([7, 5, 9]).expect("a resize");
        let values: Vec<_> = store.keys().iter().map(|key| store.get(key)).collect();
        a.resize([7, 5, 9]).expect("a resize");
        assert_eq!(
            store
                .keys()
                .iter()
                .map(|key| store.get(key))
                .collect::<Vec<_>>(),
            values
        );
        a.resize([9, 9, 12]).expect("a resize");
        let a = a.typed::<u16>().expect("u16");
        let all: ArrayD<u16> = a.read(..).expect("it can be read");
        let fill = a.fill_value();
        for (index, &element) in all.indexed_iter() {
            let inside = index[0] < 7 && index[1] < 5 && index[2] < 9;
            assert_eq!(
                element,
                if inside { 3 } else { fill },
                "{} {index:?}",
                form.0
            );
        }
    }
}
